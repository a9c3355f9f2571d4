#include <config.h>
#include "taxonomy/lineage_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/mem.h"
#include "kmer/kmer.h"
#include "taxonomy/taxdump.h"

/* --- numbers ---------------------------------------------------------------------- */
struct key {
	kh_span s;
	size_t i;
};

int kh_lineages_compare(kh_span a, kh_span b)
{
	const size_t n = a.n < b.n ? a.n : b.n;
	const int d = n > 0 ? memcmp(a.p, b.p, n) : 0;

	return d ? d : (a.n > b.n) - (a.n < b.n);
}

static int by_bytes(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	const int d = kh_lineages_compare(x->s, y->s);

	return d ? d : (x->i > y->i) - (x->i < y->i);
}

static bool is_used(const kh_numbers *used, uint32_t number)
{
	size_t at = 0;
	uint32_t x;

	do
		x = kh_numbers_next(used, kh_fmix64(number), &at);
	while (x != KH_NO_NUMBER && x != number);
	return x == number;
}

/* Numbers nodes by their hashes; of nodes with the same hash, the path that comes first in the
 * order of bytes keeps it. Numbers of the dump, if there is one, are not free. */
static int number_nodes(kh_lineages *l, const kh_taxdump *d, const struct key *key, kh_err *err)
{
	kh_numbers used = { .n = 0 };
	int rc = KH_OK;

	for (size_t k = 0; k < l->n && !rc; k++) {
		uint64_t x = kh_lineages_hash(key[k].s) % KH_LINEAGES_NUMBERS;

		if (l->node[key[k].i].taxid)
			continue;
		while (is_used(&used, (uint32_t)x + 2) ||
		       (d && kh_taxdump_find(d, (uint32_t)x + 2)))
			x = (x + 1) % KH_LINEAGES_NUMBERS;
		l->node[key[k].i].taxid = (uint32_t)x + 2;
		rc = kh_numbers_add(&used, kh_fmix64(x + 2), (uint32_t)x + 2, err);
	}
	kh_numbers_clear(&used);
	return rc;
}

static int sort_entries(kh_lineages *l, kh_errs *errs, kh_err *err)
{
	struct key *key = kh_array(l->n_entries, sizeof *key, err);
	kh_lineage_entry *sorted = kh_array(l->n_entries, sizeof *sorted, err);
	int rc = key && sorted ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < l->n_entries && !rc; i++)
		key[i] = (struct key) { { l->text.p + l->entry[i].id, l->entry[i].id_len }, i };
	if (!rc)
		qsort(key, l->n_entries, sizeof *key, by_bytes);
	for (size_t i = 0; i < l->n_entries && !rc; i++) {
		sorted[i] = l->entry[key[i].i];
		if (i > 0 && kh_lineages_compare(key[i].s, key[i - 1].s) == 0 &&
		    sorted[i].node != sorted[i - 1].node)
			rc = kh_errs_note(errs, err, KH_EFORMAT,
					  "%s:%llu: column 1: \"%s\" has another lineage in "
					  "%s:%llu", sorted[i].file, sorted[i].line,
					  kh_span_show(key[i].s).s, sorted[i - 1].file,
					  sorted[i - 1].line);
	}
	free(key);
	if (rc) {
		free(sorted);
		return rc;
	}
	free(l->entry);
	l->entry = sorted;
	l->entries_cap = l->n_entries;
	return KH_OK;
}

/* Where a first part has lineages of more parts than there are places, as SILVA's Eukaryota do, the
 * place says nothing of the rank of what is below it, unless that is a species. */
static int settle_places(kh_lineages *l, kh_err *err)
{
	bool *deep = kh_array(l->n, sizeof *deep, err);

	if (!deep)
		return KH_ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		kh_lineage_node *x = &l->node[i];

		deep[i] = x->parent == UINT32_MAX ? x->deep : deep[x->parent];
		if (x->parent != UINT32_MAX && deep[i] && x->by_place && x->rank != KH_RANK_SPECIES)
			x->rank = KH_RANK_NONE;
	}
	free(deep);
	return KH_OK;
}

int kh_lineages_finish(kh_lineages *l, const kh_taxdump *d, bool moves, kh_errs *errs,
		       kh_err *err)
{
	struct key *key = kh_array(l->n, sizeof *key, err);
	int rc = key ? settle_places(l, err) : KH_ENOMEM;

	l->moves = moves;
	if (!rc && d)
		rc = kh_lineages_use_numbers(l, d, errs, err);
	for (size_t i = 0; i < l->n && !rc; i++)
		key[i] = (struct key) { kh_lineages_path(l, &l->node[i]), i };
	if (!rc) {
		qsort(key, l->n, sizeof *key, by_bytes);
		rc = number_nodes(l, d, key, err);
	}
	free(key);
	return rc ? rc : sort_entries(l, errs, err);
}

const kh_errs *kh_lineages_doubts(const kh_lineages *l)
{
	return &l->doubts;
}

/* --- what they are used for --------------------------------------------------------- */
uint32_t kh_lineages_taxid(const kh_lineages *l, const char *id, size_t len)
{
	const kh_span want = kh_lineages_plain_id((kh_span) { id, len });
	size_t lo = 0, hi = l->n_entries;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		const kh_lineage_entry *e = &l->entry[mid];
		const int d = kh_lineages_compare((kh_span) { l->text.p + e->id, e->id_len }, want);

		if (d == 0)
			return l->node[e->node].taxid;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

int kh_lineages_taxdump(const kh_lineages *l, kh_taxdump **d, kh_err *err)
{
	int rc = KH_OK;

	if (*d)
		kh_taxdump_reopen(*d);
	else
		rc = kh_taxdump_new(d, err);
	for (size_t i = 0; i < l->n && !rc; i++) {
		const kh_lineage_node *x = &l->node[i];
		const kh_taxnode node = {
			.taxid = x->taxid, .rank = x->rank,
			.parent = x->parent == UINT32_MAX ? 1 : l->node[x->parent].taxid };

		if (l->moves || !kh_taxdump_find(*d, x->taxid))
			rc = kh_taxdump_add(*d, &node, kh_lineages_name(l, x), err);
	}
	return rc ? rc : kh_taxdump_end(*d, err);
}

/* The node of a taxon: of the path with letters of ranks in front of its parts, and of that
 * without; 1 + its number, 0 if there is none. */
struct forms {
	uint32_t node[2];
};

/* The name of a species without that of its genus, from which it was made perhaps. */
static const char *epithet(const char *name, const char *genus)
{
	const size_t n = strlen(genus);

	return strncmp(name, genus, n) == 0 && name[n] == ' ' ? name + n + 1 : name;
}

/* 1 + the node of a part, with that letter in front if it is not 0, below node up - 1, or below the
 * root; 0: there is none. */
static uint32_t find_part(const kh_lineages *l, uint32_t up, char letter, const char *name,
			  kh_buf *path)
{
	path->n = 0;
	if (up) {
		const kh_span s = kh_lineages_path(l, &l->node[up - 1]);

		kh_buf_add(path, s.p, s.n);
		kh_buf_string(path, ";");
	}
	if (letter)
		kh_buf_print(path, "%c__", letter);
	kh_buf_string(path, name);
	return kh_lineages_find(l, (kh_span) { path->p, path->n }) + 1;
}

/* Finds the nodes of a taxon below those of its parent. */
static void find_below(const kh_lineages *l, const kh_taxonomy *t, uint32_t taxon,
		       const struct forms *above, kh_buf *path, struct forms *out)
{
	const uint32_t parent = t->parent[taxon];
	const char *name = t->names + t->name[taxon];
	const char *rest = epithet(name, t->names + t->name[parent]);
	const char *const letters = kh_lineages_letters(t->rank[taxon]);

	for (int form = 0; form < 2; form++) {
		const uint32_t up = above->node[form];
		uint32_t *found = &out->node[form];

		if (parent != 0 && !up)
			continue;
		for (const char *letter = form ? "" : letters; !*found && (form || *letter);
		     letter++) {
			*found = find_part(l, up, *letter, name, path);
			if (!*found && rest != name)
				*found = find_part(l, up, *letter, rest, path);
			if (form)
				break;
		}
	}
}

int kh_lineages_numbers(const kh_lineages *l, const kh_taxonomy *t, uint32_t *number,
			kh_err *err)
{
	struct forms *at = kh_array(t->n, sizeof *at, err);
	kh_buf path = { .n = 0 };
	int rc = at ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < t->n && !rc; i++) {
		const uint32_t up = t->parent[i];

		number[i] = i == 0 ? 1 : 0;
		if (i > 0)
			find_below(l, t, i, &at[up], &path, &at[i]);
		/* if it is there in both forms, the one that keeps its number is meant */
		for (int form = 0; form < 2; form++) {
			const uint32_t n = at[i].node[form];

			if (n && (!number[i] || l->node[n - 1].taxid == t->taxid[i]))
				number[i] = l->node[n - 1].taxid;
		}
	}
	if (!rc)
		rc = kh_buf_check(&path, err);
	free(path.p);
	free(at);
	return rc;
}

/* --- which taxa were made of lineages ------------------------------------------------ */
/* The hashes that the path of a taxon may have, as the tree does not tell how its lineage was
 * written: with letters, the same without the kingdom, which a dump has between, and without
 * letters. */
struct hashes {
	uint64_t of[3];
};

/* Is it the taxid of a path with this hash, or the next one, which the greater of two paths has? */
static bool is_number(uint64_t hash, uint32_t taxid)
{
	const uint64_t x = hash % KH_LINEAGES_NUMBERS;

	return taxid == x + 2 || taxid == (x + 1) % KH_LINEAGES_NUMBERS + 2;
}

static uint64_t add_part(uint64_t above, char letter, const char *name)
{
	const char prefix[] = { letter, '_', '_' };
	uint64_t h = above == KH_LINEAGES_EMPTY ? above : kh_lineages_hash_on(above, ";", 1);

	if (letter)
		h = kh_lineages_hash_on(h, prefix, sizeof prefix);
	return kh_lineages_hash_on(h, name, strlen(name));
}

/* Goes on from the hash of the parent, *h, to that of the taxon: to the one that its taxid follows
 * from, if there is one. */
static bool goes_on(const kh_taxonomy *t, uint32_t taxon, const char *letters, uint64_t *h)
{
	const char *name = t->names + t->name[taxon];
	const char *rest = epithet(name, t->names + t->name[t->parent[taxon]]);
	const uint64_t above = *h;

	*h = add_part(above, letters[0], name);
	do {
		for (int form = 0; form < (rest == name ? 1 : 2); form++) {
			const uint64_t x = add_part(above, *letters, form ? rest : name);

			if (is_number(x, t->taxid[taxon])) {
				*h = x;
				return true;
			}
		}
	} while (*letters && *++letters);
	return false;
}

int kh_lineages_made(const kh_taxonomy *t, uint8_t *made, kh_err *err)
{
	struct hashes *h = kh_array(t->n, sizeof *h, err);

	if (!h)
		return KH_ENOMEM;
	h[0] = (struct hashes) { { KH_LINEAGES_EMPTY, KH_LINEAGES_EMPTY, KH_LINEAGES_EMPTY } };
	for (uint32_t i = 1; i < t->n; i++) {
		const uint32_t up = t->parent[i];
		const char *letters = kh_lineages_letters(t->rank[i]);

		h[i] = h[up];
		made[i] = made[up] ? KH_MADE_BELOW : KH_MADE_ELSE;
		for (int form = 0; form < 3; form++)
			if ((form == 2 || (*letters && !(form == 1 && *letters == 'k'))) &&
			    goes_on(t, i, form == 2 ? "" : letters, &h[i].of[form]))
				made[i] = KH_MADE_OF_PATH;
	}
	free(h);
	return KH_OK;
}

int kh_lineages_map(const kh_lineages *l, kh_idmap *m, kh_err *err)
{
	int rc = KH_OK;

	kh_idmap_next(m);
	for (size_t i = 0; i < l->n_entries && !rc; i++) {
		const kh_lineage_entry *e = &l->entry[i];

		rc = kh_idmap_note(m, (kh_span) { l->text.p + e->id, e->id_len },
				   l->node[e->node].taxid, err);
	}
	return rc;
}
