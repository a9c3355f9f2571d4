#include <config.h>
#include "run/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

int kh_tally_init(kh_tally *t, uint32_t n_taxa, bool distinct, kh_err *err)
{
	*t = (kh_tally) { .n = n_taxa };
	t->direct = kh_array(n_taxa, sizeof *t->direct, err);
	if (!t->direct)
		return KH_ENOMEM;
	return distinct ? kh_distinct_init(&t->distinct, n_taxa, err) : KH_OK;
}

int kh_tally_want_bases(kh_tally *t, kh_err *err)
{
	t->bases = kh_array(t->n, sizeof *t->bases, err);
	return t->bases ? KH_OK : KH_ENOMEM;
}

void kh_tally_clear(kh_tally *t)
{
	free(t->direct);
	free(t->bases);
	kh_distinct_clear(&t->distinct);
	*t = (kh_tally) { .n = 0 };
}

int kh_tally_add(kh_tally *sum, const kh_tally *t, kh_err *err)
{
	int rc = KH_OK;

	sum->unclassified += t->unclassified;
	for (uint32_t i = 0; i < sum->n; i++)
		sum->direct[i] += t->direct[i];
	for (uint32_t i = 0; i < sum->n && t->bases; i++)
		sum->bases[i] += t->bases[i];
	for (uint32_t i = 0; i < t->distinct.n && !rc; i++)
		rc = kh_distinct_join(&sum->distinct, i, &t->distinct, i, err);
	return rc;
}

/* --- the tree in the order of a report -------------------------------------------- */
struct row {
	uint64_t clade;
	uint32_t taxon, depth, taxid;
};

struct table {
	kh_buf *b;
	const kh_taxonomy *tax;
	kh_tally *t;
	const kh_report_options *o;
	uint64_t *clade;                /* by taxon */
	uint64_t total;
	struct row *stack, *child;
	size_t n;
	kh_buf *path;                   /* mpa: the lineage to each depth */
};

/* The order of the children of a taxon: more fragments first, then the smaller taxid. The stack
 * wants the first of them last. */
static int by_clade(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->clade != y->clade)
		return x->clade < y->clade ? -1 : 1;
	return x->taxid > y->taxid ? -1 : x->taxid < y->taxid;
}

static void push_children(struct table *s, const struct row *r)
{
	const kh_taxonomy *tax = s->tax;
	size_t n = 0;

	for (uint32_t c = r->taxon + 1; c < tax->end[r->taxon]; c = tax->end[c])
		if (s->clade[c] > 0 || s->o->zero_counts)
			s->child[n++] =
				(struct row) { s->clade[c], c, r->depth + 1, tax->taxid[c] };
	qsort(s->child, n, sizeof *s->child, by_clade);
	memcpy(s->stack + s->n, s->child, n * sizeof *s->child);
	s->n += n;
}

/* The name without quotation marks at its beginning, as programs that read CSV would misread
 * them. */
static const char *plain_name(const struct table *s, uint32_t taxon)
{
	const char *name = s->tax->names + s->tax->name[taxon];

	return s->o->plain ? name : name + strspn(name, "\"");
}

static int counts(struct table *s, uint64_t clade, uint64_t direct, kh_err *err)
{
	double percent = s->total > 0 ? 100.0 * (double)clade / (double)s->total : 0;

	return kh_buf_print(s->b, err, "%6.2f\t%" PRIu64 "\t%" PRIu64 "\t", percent, clade, direct);
}

/* Indents by two blanks for each level, up to a limit: without one, the size of a report could
 * grow with the square of the depth. */
static int indent(kh_buf *b, uint32_t depth, kh_err *err)
{
	const size_t n = 2 * (size_t)(depth < KH_REPORT_LEVELS ? depth : KH_REPORT_LEVELS);
	int rc = kh_buf_room(b, n, err);

	if (rc || n == 0)
		return rc;
	memset(b->p + b->n, ' ', n);
	b->n += n;
	return KH_OK;
}

static int kraken_row(struct table *s, const struct row *r, kh_err *err)
{
	const char *name = plain_name(s, r->taxon);
	char code[16];
	int rc = counts(s, s->clade[r->taxon], s->t->direct[r->taxon], err);

	if (!rc && s->o->minimizer_data)
		rc = kh_buf_print(s->b, err, "%" PRIu64 "\t%" PRIu64 "\t",
				  s->t->distinct.found[r->taxon],
				  kh_distinct_count(&s->t->distinct, r->taxon));
	kh_taxonomy_code(s->tax, r->taxon, code);
	if (!rc)
		rc = kh_buf_print(s->b, err, "%s\t%" PRIu32 "\t", code, r->taxid);
	if (!rc)
		rc = indent(s->b, r->depth, err);
	if (!rc)
		rc = kh_buf_add(s->b, name, strlen(name), err);
	return rc ? rc : kh_buf_add(s->b, "\n", 1, err);
}

/* "d__Bacteria|p__...": taxa without a letter are left out. */
static int mpa_row(struct table *s, const struct row *r, kh_err *err)
{
	char letter = kh_rank_letter(s->tax->rank[r->taxon]);
	const char *name = plain_name(s, r->taxon);
	kh_buf *path = &s->path[r->depth];
	int rc = KH_OK;

	path->n = 0;
	if (r->depth > 0)
		rc = kh_buf_add(path, path[-1].p, path[-1].n, err);
	if (rc || !letter || r->taxon == 0)
		return rc;
	rc = kh_buf_print(path, err, "%s%c__", path->n > 0 ? "|" : "", letter | 0x20);
	if (!rc)
		rc = kh_buf_add(path, name, strlen(name), err);
	if (!rc)
		rc = kh_buf_add(s->b, path->p, path->n, err);
	return rc ? rc : kh_buf_print(s->b, err, "\t%" PRIu64 "\n", s->clade[r->taxon]);
}

static uint32_t max_depth(const kh_taxonomy *tax, uint32_t *depth)
{
	uint32_t max = 0;

	for (uint32_t i = 1; i < tax->n; i++) {
		depth[i] = depth[tax->parent[i]] + 1;
		max = depth[i] > max ? depth[i] : max;
	}
	return max;
}

/* Sums up clades from the last taxon to the root, as a parent has a smaller number. */
static int sum_clades(struct table *s, kh_err *err)
{
	const kh_taxonomy *tax = s->tax;
	int rc = KH_OK;

	memcpy(s->clade, s->t->direct, tax->n * sizeof *s->clade);
	for (uint32_t i = tax->n - 1; i > 0 && !rc; i--) {
		s->clade[tax->parent[i]] += s->clade[i];
		if (s->o->minimizer_data)
			rc = kh_distinct_join(&s->t->distinct, tax->parent[i], &s->t->distinct, i,
					      err);
	}
	s->total = s->clade[0] + s->t->unclassified;
	return rc;
}

static int rows(struct table *s, kh_err *err)
{
	int rc = KH_OK;

	if (!s->o->mpa && (s->t->unclassified > 0 || s->o->zero_counts || s->total == 0)) {
		rc = counts(s, s->t->unclassified, s->t->unclassified, err);
		if (!rc)
			rc = kh_buf_print(s->b, err, "%sU\t0\tunclassified\n",
					  s->o->minimizer_data ? "0\t0\t" : "");
	}
	if (s->clade[0] > 0 || s->o->zero_counts || !s->o->plain)
		s->stack[s->n++] = (struct row) { s->clade[0], 0, 0, s->tax->taxid[0] };
	while (s->n > 0 && !rc) {
		struct row r = s->stack[--s->n];

		rc = s->o->mpa ? mpa_row(s, &r, err) : kraken_row(s, &r, err);
		push_children(s, &r);
	}
	return rc;
}

int kh_report(kh_buf *b, const kh_taxonomy *tax, kh_tally *t, const kh_report_options *o,
	      kh_err *err)
{
	struct table s = { .b = b, .tax = tax, .t = t, .o = o };
	uint32_t *depth = kh_array(tax->n, sizeof *depth, err), levels = 0;
	int rc = KH_ENOMEM;

	s.clade = kh_array(tax->n, sizeof *s.clade, err);
	s.stack = kh_array(tax->n, sizeof *s.stack, err);
	s.child = kh_array(tax->n, sizeof *s.child, err);
	if (!depth || !s.clade || !s.stack || !s.child)
		goto out;
	levels = max_depth(tax, depth) + 1;
	if (levels > KH_REPORT_LEVELS + 1 && !o->mpa)
		kh_log(KH_WARN, "the taxonomy has %" PRIu32 " levels below the root: the report "
		       "indents rows by %d levels at most", levels - 1, KH_REPORT_LEVELS);
	s.path = kh_array(levels, sizeof *s.path, err);
	if (!s.path)
		goto out;
	rc = sum_clades(&s, err);
	if (!rc)
		rc = rows(&s, err);
out:
	for (uint32_t i = 0; s.path && i < levels; i++)
		free(s.path[i].p);
	free(s.path);
	free(s.child);
	free(s.stack);
	free(s.clade);
	free(depth);
	return rc;
}
