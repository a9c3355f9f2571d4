#include <config.h>
#include "taxonomy/join.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/lineage_in.h"
#include "taxonomy/taxdump.h"

/* --- messages -------------------------------------------------------------------------- */
/* A path in a message, which has room for two, and for two names of databases. */
enum { PATH = 120 };
typedef struct path {
	char s[PATH + 4];
} path;

static const char *name_of(const kh_taxonomy *t, uint32_t i)
{
	return t->names + t->name[i];
}

/* The names of a taxon and of those above it, the root-most first; of a long path the end. */
static path path_of(const kh_taxonomy *t, uint32_t taxon)
{
	path p = { "" };
	size_t at = PATH + 3;           /* it is written from its end on */

	for (uint32_t i = taxon; i != 0; i = t->parent[i]) {
		const size_t n = strlen(name_of(t, i)), need = n + (i != taxon);

		if (need + 3 > at) {
			memcpy(p.s + (at -= 3), "...", 3);
			break;
		}
		if (i != taxon)
			p.s[--at] = ';';
		memcpy(p.s + (at -= n), name_of(t, i), n);
	}
	memmove(p.s, p.s + at, PATH + 4 - at);
	return p;
}

/* --- what volumes share -------------------------------------------------------------------- */
/* Was the tree made of lineages?  Then a taxon below the root was.  A tree without taxa was not. */
static int is_of_lineages(const kh_taxonomy *t, bool *is, kh_err *err)
{
	uint8_t *made = kh_array(t->n, sizeof *made, err);
	const int rc = made ? kh_lineages_made(t, made, err) : KH_ENOMEM;

	*is = false;
	for (uint32_t i = 1; !rc && i < t->n; i = t->end[i])
		*is |= made[i] == KH_MADE_OF_PATH;
	free(made);
	return rc;
}

/* Is taxon x of a the same as y of b, which has its taxid? */
static bool agree(const kh_taxonomy *a, uint32_t x, const kh_taxonomy *b, uint32_t y)
{
	return a->rank[x] == b->rank[y] && strcmp(name_of(a, x), name_of(b, y)) == 0 &&
	       a->taxid[a->parent[x]] == b->taxid[b->parent[y]];
}

static int disagree(const kh_taxonomy_volume *a, uint32_t x, const kh_taxonomy_volume *b,
		    uint32_t y, kh_err *err)
{
	const kh_taxonomy *s = a->tax, *t = b->tax;

	return kh_fail(err, KH_EUSAGE, "%.60s and %.60s do not agree on taxid %u: %s (%s) and %s "
		       "(%s): build both with one taxonomy", a->name, b->name,
		       (unsigned)s->taxid[x], path_of(s, x).s, kh_rank_name(s->rank[x]),
		       path_of(t, y).s, kh_rank_name(t->rank[y]));
}

/* Finds a taxon of volume k in one before it, and fails if they do not agree; *found: it is
 * there. */
static int find_before(const kh_taxonomy_volume *volume, size_t k, uint32_t x, bool *found,
		       kh_err *err)
{
	const kh_taxonomy *t = volume[k].tax;

	*found = false;
	for (size_t i = 0; i < k; i++) {
		const uint32_t y = kh_taxonomy_find(volume[i].tax, t->taxid[x]);

		if (y == KH_NO_TAXON)
			continue;
		if (!agree(volume[i].tax, y, t, x))
			return disagree(&volume[i], y, &volume[k], x, err);
		*found = true;
	}
	return KH_OK;
}

/* --- siblings of one name ------------------------------------------------------------------ */
struct sibling {
	const char *name;
	uint32_t parent, rank, i;
};

static int by_parent_and_name(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;
	int d = (x->parent > y->parent) - (x->parent < y->parent);

	d = d ? d : (x->rank > y->rank) - (x->rank < y->rank);
	d = d ? d : strcmp(x->name, y->name);
	return d ? d : (x->i > y->i) - (x->i < y->i);
}

/* The first volume that has a taxid. */
static const kh_taxonomy_volume *volume_with(const kh_taxonomy_volume *volume, size_t n,
					     uint32_t taxid)
{
	for (size_t i = 0; i < n; i++)
		if (kh_taxonomy_find(volume[i].tax, taxid) != KH_NO_TAXON)
			return &volume[i];
	return NULL;
}

static bool has_both(const kh_taxonomy_volume *volume, size_t n, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < n; i++)
		if (kh_taxonomy_find(volume[i].tax, a) != KH_NO_TAXON &&
		    kh_taxonomy_find(volume[i].tax, b) != KH_NO_TAXON)
			return true;
	return false;
}

/* A taxon may have two taxids, as its number was changed between two versions of a taxonomy.  If
 * two volumes have these, the joined tree would have the taxon twice. */
static int check_siblings(const kh_taxonomy *t, const kh_taxonomy_volume *volume, size_t n,
			  kh_err *err)
{
	struct sibling *s = kh_array(t->n, sizeof *s, err);
	int rc = s ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < t->n && !rc; i++)
		s[i] = (struct sibling) { name_of(t, i), t->parent[i], t->rank[i], i };
	if (!rc)
		qsort(s, t->n, sizeof *s, by_parent_and_name);
	for (uint32_t i = 1; i < t->n && !rc; i++) {
		const uint32_t a = t->taxid[s[i - 1].i], b = t->taxid[s[i].i];

		if (s[i].parent == s[i - 1].parent && s[i].rank == s[i - 1].rank &&
		    strcmp(s[i].name, s[i - 1].name) == 0 && !has_both(volume, n, a, b))
			rc = kh_fail(err, KH_EUSAGE,
				     "%.60s and %.60s do not agree on %s (%s): its "
				     "taxid is %u and %u: build both with one taxonomy",
				     volume_with(volume, n, a)->name,
				     volume_with(volume, n, b)->name, path_of(t, s[i].i).s,
				     kh_rank_name(t->rank[s[i].i]), (unsigned)a, (unsigned)b);
	}
	free(s);
	return rc;
}

/* --- the joined tree ---------------------------------------------------------------------- */
/* Adds the taxa of volume k that no volume before it has. */
static int add(kh_taxdump *d, const kh_taxonomy_volume *volume, size_t k, kh_err *err)
{
	const kh_taxonomy *t = volume[k].tax;
	int rc = KH_OK;

	for (uint32_t i = 1; i < t->n && !rc; i++) {
		const kh_taxnode x = { .taxid = t->taxid[i], .rank = t->rank[i],
				       .parent = t->taxid[t->parent[i]] };
		const kh_span name = { name_of(t, i), strlen(name_of(t, i)) };
		bool found;

		rc = find_before(volume, k, i, &found, err);
		if (!rc && !found)
			rc = kh_taxdump_add(d, &x, name, err);
	}
	return rc;
}

/* The tree of all nodes of a dump. */
static int whole_tree(kh_taxonomy **t, const kh_taxdump *d, kh_err *err)
{
	uint32_t *taxid = kh_array(d->n, sizeof *taxid, err);
	int rc = KH_ENOMEM;

	for (size_t i = 0; taxid && i < d->n; i++)
		taxid[i] = d->node[i].taxid;
	if (taxid)
		rc = kh_taxonomy_prune(t, d, taxid, d->n, err);
	free(taxid);
	return rc;
}

/* Of volumes of one kind. */
static int join_alike(kh_taxonomy **t, const kh_taxonomy_volume *volume, size_t n, kh_err *err)
{
	kh_taxdump *d = NULL;
	kh_taxonomy *all = NULL;
	int rc = kh_taxdump_new(&d, err);

	for (size_t k = 0; k < n && !rc; k++)
		rc = add(d, volume, k, err);
	if (!rc && !(rc = kh_taxdump_end(d, err)))
		rc = whole_tree(&all, d, err);
	if (!rc)
		rc = check_siblings(all, volume, n, err);
	for (size_t k = 0; k < n && !rc; k++)
		for (uint32_t i = 0; i < volume[k].tax->n; i++)
			volume[k].number[i] = kh_taxonomy_find(all, volume[k].tax->taxid[i]);
	kh_taxdump_close(d);
	if (rc)
		kh_taxonomy_free(all);
	else
		*t = all;
	return rc;
}

/* --- lineages beside dump files ------------------------------------------------------------- */
/* The lineage that ends in a taxon; false: it has taxa of ranks that lineages do not name. */
static bool lineage_of(const kh_taxonomy *t, uint32_t taxon, kh_buf *out)
{
	const uint32_t up = t->parent[taxon];
	const char letter = *kh_lineages_letters(t->rank[taxon]);

	if (!letter || (up != 0 && !lineage_of(t, up, out)))
		return false;
	kh_buf_print(out, "%s%c__%s", up != 0 ? ";" : "", letter, name_of(t, taxon));
	return true;
}

/* The lineages of all taxa of a tree, numbered beside a dump. */
static int lineages_of(kh_lineages *l, const kh_taxonomy_volume *volume, const kh_taxdump *d,
		       kh_err *err)
{
	const kh_taxonomy *t = volume->tax;
	kh_buf b = { .n = 0 };
	kh_errs errs = { .n = 0 };
	int rc = KH_OK;

	for (uint32_t i = 1; i < t->n && !rc; i++) {
		kh_lineage_row row = { .file = volume->name, .line = i };

		b.n = 0;
		if (!lineage_of(t, i, &b))
			rc = kh_fail(err, KH_EUSAGE, "%.200s: its lineages have no ranks, so its "
				     "taxa cannot be found by name and rank: %s", volume->name,
				     path_of(t, i).s);
		else if (!(rc = kh_buf_check(&b, err))) {
			row.lineage = (kh_span) { b.p, b.n };
			rc = kh_lineages_add(l, &row, &errs, err);
		}
	}
	if (!rc)
		rc = kh_lineages_finish(l, d, true, &errs, err);
	if (!rc && errs.found > 0)
		rc = kh_fail(err, errs.v[0].code, "%s", errs.v[0].msg);
	kh_errs_clear(&errs);
	free(b.p);
	return rc;
}

/* Joins the tree of lineages with a dump; taxid[i] becomes that of its taxon i. */
static int join_lineages(kh_taxonomy **t, kh_taxdump *d, const kh_taxonomy_volume *lineages,
			 uint32_t *taxid, kh_err *err)
{
	kh_lineages *l = NULL;
	int rc = kh_lineages_new(&l, err);

	if (!rc && !(rc = lineages_of(l, lineages, d, err)) &&
	    !(rc = kh_lineages_numbers(l, lineages->tax, taxid, err)) &&
	    !(rc = kh_lineages_taxdump(l, &d, err)))
		rc = whole_tree(t, d, err);
	kh_lineages_free(l);
	return rc;
}

/* Raises the numbers of volumes, which are those of a tree, to those of the tree of all. */
static void number_volumes(const kh_taxonomy_volume *volume, size_t n, const kh_taxonomy *all,
			   const uint32_t *taxid)
{
	for (size_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < volume[k].tax->n; i++)
			volume[k].number[i] = kh_taxonomy_find(all, taxid[volume[k].number[i]]);
}

/* Volumes of both kinds, those of dump files first: n of them, and m of lineages. */
static int join_both(kh_taxonomy **t, const kh_taxonomy_volume *volume, size_t n, size_t m,
		     kh_err *err)
{
	kh_taxonomy *of_dumps = NULL, *of_lineages = NULL;
	uint32_t *taxid = NULL;
	kh_taxdump *d = NULL;
	int rc;

	if (!(rc = join_alike(&of_dumps, volume, n, err)) &&
	    !(rc = join_alike(&of_lineages, volume + n, m, err)) &&
	    !(rc = kh_taxdump_new(&d, err))) {
		const kh_taxonomy_volume dumps = { of_dumps, volume->name, NULL };
		const kh_taxonomy_volume lineages = { of_lineages, volume[n].name, NULL };

		taxid = kh_array(of_lineages->n, sizeof *taxid, err);
		rc = taxid ? add(d, &dumps, 0, err) : KH_ENOMEM;
		if (!rc && !(rc = kh_taxdump_end(d, err)))
			rc = join_lineages(t, d, &lineages, taxid, err);
	}
	if (!rc) {
		number_volumes(volume, n, *t, of_dumps->taxid);
		number_volumes(volume + n, m, *t, taxid);
	}
	kh_taxdump_close(d);
	kh_taxonomy_free(of_dumps);
	kh_taxonomy_free(of_lineages);
	free(taxid);
	return rc;
}

int kh_taxonomy_join(kh_taxonomy **t, const kh_taxonomy_volume *volume, size_t n, bool by_name,
		     kh_err *err)
{
	kh_taxonomy_volume *dumps = kh_array(n, sizeof *dumps, err);
	kh_taxonomy_volume *lineages = kh_array(n, sizeof *lineages, err);
	const kh_taxonomy_volume *of_dumps = NULL;        /* that has taxa */
	size_t n_dumps = 0, n_lineages = 0;
	int rc = dumps && lineages ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++) {
		bool is;

		if ((rc = is_of_lineages(volume[i].tax, &is, err)))
			break;
		of_dumps = of_dumps || is || volume[i].tax->n == 1 ? of_dumps : &volume[i];
		*(is ? &lineages[n_lineages++] : &dumps[n_dumps++]) = volume[i];
	}
	if (!rc && (!of_dumps || n_lineages == 0)) {
		rc = join_alike(t, volume, n, err);
	} else if (!rc && !by_name) {
		rc = kh_fail(err, KH_EUSAGE, "%.120s and %.120s: the taxonomy of the second was "
			     "made of lineages and that of the first was not, so their taxids "
			     "differ: --set join=names finds taxa by name and rank",
			     of_dumps->name, lineages->name);
	} else if (!rc) {
		memcpy(dumps + n_dumps, lineages, n_lineages * sizeof *lineages);
		rc = join_both(t, dumps, n_dumps, n_lineages, err);
	}
	free(dumps);
	free(lineages);
	return rc;
}
