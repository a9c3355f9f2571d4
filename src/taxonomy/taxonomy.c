/*
 * taxonomy.c - the preorder tree of a database
 */
#include <config.h>
#include "taxonomy/taxonomy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "taxonomy/taxdump.h"

static const char letters[] = "RDKPCOFGS";

/* --- the object ------------------------------------------------------------ */
void kh_taxonomy_free(kh_taxonomy *t)
{
	if (!t)
		return;
	free(t->taxid);
	free(t->parent);
	free(t->end);
	free(t->rank);
	free(t->name);
	free(t->names);
	free(t->species);
	free(t->genus);
	free(t->steps);
	free(t->level);
	free(t->letter);
	free(t->by_taxid);
	free(t);
}

kh_taxonomy *kh_taxonomy_new(uint32_t n, size_t names_len, kh_err *err)
{
	kh_taxonomy *t = kh_array(1, sizeof *t, err);

	if (!t)
		return NULL;
	t->n = n;
	t->names_len = names_len;
	if ((t->taxid = kh_array(n, sizeof *t->taxid, err)) &&
	    (t->parent = kh_array(n, sizeof *t->parent, err)) &&
	    (t->end = kh_array(n, sizeof *t->end, err)) &&
	    (t->rank = kh_array(n, sizeof *t->rank, err)) &&
	    (t->name = kh_array(n, sizeof *t->name, err)) &&
	    (t->names = kh_array(names_len, 1, err)) &&
	    (t->species = kh_array(n, sizeof *t->species, err)) &&
	    (t->genus = kh_array(n, sizeof *t->genus, err)) &&
	    (t->steps = kh_array(n, sizeof *t->steps, err)) &&
	    (t->level = kh_array(n, sizeof *t->level, err)) &&
	    (t->letter = kh_array(n, sizeof *t->letter, err)) &&
	    (t->by_taxid = kh_array(n, sizeof *t->by_taxid, err)))
		return t;
	kh_taxonomy_free(t);
	return NULL;
}

static uint8_t level_of(char letter)
{
	return (uint8_t)(strchr(letters, letter) - letters);
}

/* Gives letters: of a lineage the root-most taxon that can have one. */
static int give_letters(kh_taxonomy *t, kh_err *err)
{
	uint16_t *above = kh_array(t->n, sizeof *above, err);   /* a bit for each letter */

	if (!above)
		return KH_ENOMEM;
	for (uint32_t i = 1; i < t->n; i++) {
		const char place = kh_rank_place(t->rank[i]);
		const uint16_t bit = place ? (uint16_t)(1u << level_of(place)) : 0;

		above[i] = above[t->parent[i]];
		t->letter[i] = above[i] & bit ? 0 : place;
		above[i] |= bit;
	}
	free(above);
	return KH_OK;
}

/* Parents come before children, so what is inherited needs only one pass. */
static void inherit(kh_taxonomy *t)
{
	t->species[0] = t->genus[0] = KH_NO_TAXON;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t p = t->parent[i];
		kh_rank r = t->rank[i];
		char letter = t->kraken ? kh_rank_letter(r) : t->letter[i];

		t->species[i] = r == KH_RANK_SPECIES ? i : t->species[p];
		if (r == KH_RANK_GENUS)
			t->genus[i] = i;
		else if (t->genus[p] != KH_NO_TAXON || r < KH_RANK_GENUS)
			t->genus[i] = t->genus[p];
		else
			t->genus[i] = p;
		t->level[i] = letter ? level_of(letter) : t->level[p];
		t->steps[i] = letter ? 0 : t->steps[p] + 1;
	}
}

/* Fills by_taxid; fails if a taxid is there twice. */
static int order_taxids(kh_taxonomy *t, kh_err *err)
{
	uint64_t *key = kh_array(t->n, sizeof *key, err);
	int rc = KH_OK;

	if (!key)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		key[i] = (uint64_t)t->taxid[i] << 32 | i;
	qsort(key, t->n, sizeof *key, kh_by_u64);
	for (uint32_t i = 0; i < t->n && !rc; i++) {
		t->by_taxid[i] = (uint32_t)key[i];
		if (i && key[i] >> 32 == key[i - 1] >> 32)
			rc = kh_fail(err, KH_EFORMAT, "taxonomy: taxid %u is there twice",
				     (unsigned)(key[i] >> 32));
	}
	free(key);
	return rc;
}

int kh_taxonomy_derive(kh_taxonomy *t, kh_err *err)
{
	const int rc = give_letters(t, err);

	if (rc)
		return rc;
	inherit(t);
	return order_taxids(t, err);
}

/* --- from the dump --------------------------------------------------------- */
/* The nodes kept, in the dump's order, and as a tree of first children and next
 * siblings; all by position among them. */
typedef struct subset {
	const kh_taxdump *d;
	uint32_t n;
	uint32_t *at;           /* by node: its position + 1, 0: not kept */
	uint32_t *node;         /* n, the node */
	uint32_t *child, *next; /* n */
	size_t names_end;       /* of names that were taken */
} subset;

static void subset_clear(subset *s)
{
	free(s->at);
	free(s->node);
	free(s->child);
	free(s->next);
}

/* Marks nodes and their ancestors, and counts them. */
static int mark(subset *s, const uint32_t *taxid, size_t n, kh_err *err)
{
	s->at = kh_array(s->d->n, sizeof *s->at, err);
	if (!s->at)
		return KH_ENOMEM;
	s->at[0] = 1;
	s->n = 1;
	for (size_t k = 0; k < n; k++) {
		uint32_t i = kh_taxdump_node(s->d, taxid[k]);
		if (i == KH_NO_TAXON)
			return kh_fail(err, KH_EUSAGE, "taxid %u is not in the taxonomy",
				       taxid[k]);
		for (; !s->at[i]; i = s->d->node[i].parent) {
			s->at[i] = 1;
			s->n++;
		}
	}
	return KH_OK;
}

/* Goes through the nodes in descending order, so that each list of children ascends. */
static int make_subset(subset *s, const uint32_t *taxid, size_t n, kh_err *err)
{
	int rc = mark(s, taxid, n, err);

	if (rc)
		return rc;
	if (!(s->node = kh_array(s->n, sizeof *s->node, err)) ||
	    !(s->child = kh_array(s->n, sizeof *s->child, err)) ||
	    !(s->next = kh_array(s->n, sizeof *s->next, err)))
		return KH_ENOMEM;
	uint32_t k = 0;
	for (uint32_t i = 0; i < s->d->n; i++)
		if (s->at[i]) {
			s->child[k] = KH_NO_TAXON;
			s->node[k] = i;
			s->at[i] = ++k;
		}
	for (k = s->n; --k > 0;) {
		uint32_t p = s->at[s->d->node[s->node[k]].parent] - 1;
		s->next[k] = s->child[p];
		s->child[p] = k;
	}
	s->next[0] = KH_NO_TAXON;
	return KH_OK;
}

static size_t subset_names(const subset *s)
{
	size_t n = 0;

	for (uint32_t k = 0; k < s->n; k++) {
		const kh_taxnode *x = &s->d->node[s->node[k]];
		size_t others;
		const kh_taxother *other = kh_taxdump_others(s->d, x->taxid, &others);

		n += strlen(s->d->names.p + x->name) + 1;
		for (size_t i = 0; i < others; i++)
			n += strlen(s->d->names.p + other[i].name) + 1;
	}
	return n;
}

static void take_name(kh_taxonomy *t, subset *s, uint32_t name)
{
	const char *text = s->d->names.p + name;
	const size_t n = strlen(text) + 1;

	memcpy(t->names + s->names_end, text, n);
	s->names_end += n;
}

/* Takes over the node at position k of the subset as taxon i. */
static void take(kh_taxonomy *t, subset *s, uint32_t i, uint32_t k)
{
	const kh_taxnode *x = &s->d->node[s->node[k]];
	size_t others;
	const kh_taxother *other = kh_taxdump_others(s->d, x->taxid, &others);

	s->at[s->node[k]] = i;
	t->taxid[i] = x->taxid;
	t->parent[i] = s->at[x->parent];
	t->rank[i] = x->rank;
	t->name[i] = (uint32_t)s->names_end;
	take_name(t, s, x->name);
	for (size_t n = 0; n < others; n++)
		take_name(t, s, other[n].name);
}

const char *kh_taxonomy_next_name(const kh_taxonomy *t, uint32_t taxon, const char *name)
{
	const char *next = name + strlen(name) + 1;
	const size_t end = taxon + 1 < t->n ? t->name[taxon + 1] : t->names_len;

	return next >= t->names && (size_t)(next - t->names) < end ? next : NULL;
}

/* Numbers in preorder; position[] (n) is scratch: where in the subset a number is. */
static void number(kh_taxonomy *t, subset *s, uint32_t *position)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		take(t, s, i, k);
		position[i] = k;
		if (s->child[k] != KH_NO_TAXON) {
			k = s->child[k];
			continue;
		}
		/* Up to where a sibling is left; the clades left behind end here. */
		uint32_t up = i;
		t->end[up] = i + 1;
		while (up && s->next[position[up]] == KH_NO_TAXON) {
			up = t->parent[up];
			t->end[up] = i + 1;
		}
		k = s->next[position[up]];
	}
}

int kh_taxonomy_prune(kh_taxonomy **out, const kh_taxdump *d, const uint32_t *taxid,
		      size_t n, kh_err *err)
{
	subset s = { .d = d };
	kh_taxonomy *t = NULL;
	int rc = make_subset(&s, taxid, n, err);

	if (rc)
		goto out;
	if (!(t = kh_taxonomy_new(s.n, subset_names(&s), err))) {
		rc = KH_ENOMEM;
		goto out;
	}
	number(t, &s, t->by_taxid);
	if ((rc = kh_taxonomy_derive(t, err)))
		goto out;
	*out = t;
	t = NULL;
out:
	kh_taxonomy_free(t);
	subset_clear(&s);
	return rc;
}

int kh_taxdump_count_species(const kh_taxdump *d, const kh_taxonomy *t, uint32_t *species,
			     kh_err *err)
{
	uint32_t *number = kh_array(d->n, sizeof *number, err);         /* and 1, of nodes */

	if (!number)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		number[kh_taxdump_node(d, t->taxid[i])] = i + 1;
		species[i] = 0;
	}
	for (size_t i = 0; i < d->n; i++) {
		size_t up = i;

		if (d->node[i].rank != KH_RANK_SPECIES)
			continue;
		while (number[up] == 0)         /* the root is in every tree */
			up = d->node[up].parent;
		species[number[up] - 1]++;
	}
	for (uint32_t i = t->n; i-- > 1;)
		species[t->parent[i]] += species[i];
	free(number);
	return KH_OK;
}

/* --- from a database ------------------------------------------------------- */
static int check_names(const kh_taxonomy *t, kh_err *err)
{
	if (!t->names_len || t->names[t->names_len - 1])
		return kh_fail(err, KH_EFORMAT, "taxonomy: names do not end with a NUL");
	for (size_t i = 0; i < t->names_len; i++) {
		unsigned char c = (unsigned char)t->names[i];
		if (c && (c < ' ' || c == 0x7f))
			return kh_fail(err, KH_EFORMAT,
				       "taxonomy: control character at byte %zu of the names", i);
	}
	for (uint32_t i = 0; i < t->n; i++)
		if (t->name[i] >= t->names_len || !t->names[t->name[i]])
			return kh_fail(err, KH_EFORMAT,
				       "taxonomy: taxon %u: name at byte %u of %zu is empty", i,
				       t->name[i], t->names_len);
	return KH_OK;
}

static int check_root(const kh_taxonomy *t, kh_err *err)
{
	if (!t->n || t->n == KH_NO_TAXON)
		return kh_fail(err, KH_EFORMAT, "taxonomy: %u taxa", t->n);
	if (t->taxid[0] != 1 || t->parent[0] || t->end[0] != t->n)
		return kh_fail(err, KH_EFORMAT,
			       "taxonomy: taxon 0 with taxid %u, parent %u, end %u is no root",
			       t->taxid[0], t->parent[0], t->end[0]);
	if (t->rank[0] != KH_RANK_NONE || strcmp(t->names + t->name[0], "root"))
		return kh_fail(err, KH_EFORMAT, "taxonomy: the root has another name or a rank");
	return KH_OK;
}

/* Each taxon must hang on the innermost clade that is still open at its number, which
 * is on the way up from the number before; and end inside it. */
static int check_tree(const kh_taxonomy *t, kh_err *err)
{
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t open = i - 1, before = 0;
		while (t->end[open] == i) {
			before = open;
			open = t->parent[open];
		}
		if (t->parent[i] != open || t->end[i] <= i || t->end[i] > t->end[open])
			return kh_fail(
				err, KH_EFORMAT,
				"taxonomy: taxon %u with parent %u and end %u, expected "
				"parent %u and end %u to %u",
				i, t->parent[i], t->end[i], open, i + 1, t->end[open]);
		if (!t->taxid[i] || (before && t->taxid[before] >= t->taxid[i]))
			return kh_fail(err, KH_EFORMAT,
				       "taxonomy: taxon %u: taxid %u behind that of its "
				       "sibling, %u",
				       i, t->taxid[i], before ? t->taxid[before] : 0);
		if (t->rank[i] >= KH_RANKS)
			return kh_fail(err, KH_EFORMAT, "taxonomy: taxon %u: rank %u is unknown",
				       i, t->rank[i]);
	}
	return KH_OK;
}

int kh_taxonomy_check(const kh_taxonomy *t, kh_err *err)
{
	int rc = t->n ? check_names(t, err) : KH_OK;

	if (!rc)
		rc = check_root(t, err);
	return rc ? rc : check_tree(t, err);
}

/* --- questions ------------------------------------------------------------- */
uint32_t kh_taxonomy_find(const kh_taxonomy *t, uint32_t taxid)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (t->taxid[t->by_taxid[mid]] < taxid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == t->n || t->taxid[t->by_taxid[lo]] != taxid)
		return KH_NO_TAXON;
	return t->by_taxid[lo];
}

kh_tree kh_taxonomy_tree(const kh_taxonomy *t)
{
	return (kh_tree) { .n = t->n, .parent = t->parent, .end = t->end, .species = t->species,
			   .genus = t->genus };
}

void kh_taxonomy_code(const kh_taxonomy *t, uint32_t i, char code[KH_CODE_SIZE])
{
	code[0] = letters[t->level[i]];
	code[1] = 0;
	if (t->steps[i])
		snprintf(code + 1, KH_CODE_SIZE - 1, "%u", (unsigned)t->steps[i]);
}
