#include <config.h>
#include "run/report.h"

#include <inttypes.h>
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

void kh_moves_add(kh_moves *m, uint32_t from, uint32_t to, uint64_t n)
{
	if (from == to)
		return;
	if (from == KH_NO_TAXON) {
		m->tally->unclassified -= n;
		m->classified += (int64_t)n;
	} else {
		m->direct[from] -= n;
		m->tally->direct[from] -= n;
	}
	if (to == KH_NO_TAXON) {
		m->tally->unclassified += n;
		m->classified -= (int64_t)n;
	} else {
		m->direct[to] += n;
		m->tally->direct[to] += n;
	}
	m->changed += n;
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
	uint32_t *path;                 /* by depth, for the taxon of a row and those above it */
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

static void push_children(struct table *t, const struct row *r)
{
	const kh_taxonomy *tax = t->tax;
	size_t n = 0;

	for (uint32_t c = r->taxon + 1; c < tax->end[r->taxon]; c = tax->end[c])
		if (t->clade[c] > 0 || t->o->zero_counts)
			t->child[n++] =
				(struct row) { t->clade[c], c, r->depth + 1, tax->taxid[c] };
	qsort(t->child, n, sizeof *t->child, by_clade);
	memcpy(t->stack + t->n, t->child, n * sizeof *t->child);
	t->n += n;
}

/* The name without quotation marks at its beginning, as programs that read CSV would misread
 * them. */
static const char *plain_name(const struct table *t, uint32_t taxon)
{
	const char *name = t->tax->names + t->tax->name[taxon];

	return t->o->plain ? name : name + strspn(name, "\"");
}

static void counts(struct table *t, uint64_t clade, uint64_t direct)
{
	double percent = t->total > 0 ? 100.0 * (double)clade / (double)t->total : 0;

	kh_buf_print(t->b, "%6.2f\t%" PRIu64 "\t%" PRIu64 "\t", percent, clade, direct);
}

static void kraken_row(struct table *t, const struct row *r)
{
	char code[16];

	counts(t, t->clade[r->taxon], t->t->direct[r->taxon]);
	if (t->o->minimizer_data)
		kh_buf_print(t->b, "%" PRIu64 "\t%" PRIu64 "\t", t->t->distinct.found[r->taxon],
			     kh_distinct_count(&t->t->distinct, r->taxon));
	kh_taxonomy_code(t->tax, r->taxon, code);
	kh_buf_print(t->b, "%s\t%" PRIu32 "\t", code, r->taxid);
	/* without a limit, the size of a report could grow with the square of the depth */
	for (uint32_t i = 0; i < r->depth && i < KH_REPORT_LEVELS; i++)
		kh_buf_add(t->b, "  ", 2);
	kh_buf_string(t->b, plain_name(t, r->taxon));
	kh_buf_string(t->b, "\n");
}

static char letter_of(const struct table *s, uint32_t taxon)
{
	return s->o->plain ? kh_rank_letter(s->tax->rank[taxon]) : s->tax->letter[taxon];
}

/* "d__Bacteria|p__...": taxa without a letter are left out. */
static void mpa_row(struct table *s, const struct row *r)
{
	const kh_taxonomy *tax = s->tax;
	const char *between = "";

	if (r->taxon == 0 || !letter_of(s, r->taxon))
		return;
	for (uint32_t i = r->depth, t = r->taxon; i > 0; t = tax->parent[t])
		s->path[i--] = t;
	for (uint32_t i = 1; i <= r->depth; i++) {
		const char letter = letter_of(s, s->path[i]);

		if (!letter)
			continue;
		kh_buf_print(s->b, "%s%c__", between, letter | 0x20);
		kh_buf_string(s->b, plain_name(s, s->path[i]));
		between = "|";
	}
	kh_buf_print(s->b, "\t%" PRIu64 "\n", s->clade[r->taxon]);
}

/* Levels below the root. */
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
static int sum_clades(struct table *t, kh_err *err)
{
	const kh_taxonomy *tax = t->tax;
	int rc = KH_OK;

	memcpy(t->clade, t->t->direct, tax->n * sizeof *t->clade);
	for (uint32_t i = tax->n - 1; i > 0 && !rc; i--) {
		t->clade[tax->parent[i]] += t->clade[i];
		if (t->o->minimizer_data)
			rc = kh_distinct_join(&t->t->distinct, tax->parent[i], &t->t->distinct, i,
					      err);
	}
	t->total = t->clade[0] + t->t->unclassified;
	return rc;
}

static void rows(struct table *t)
{
	if (!t->o->mpa && !t->o->taxa_only &&
	    (t->t->unclassified > 0 || t->o->zero_counts || t->total == 0)) {
		counts(t, t->t->unclassified, t->t->unclassified);
		kh_buf_print(t->b, "%sU\t0\tunclassified\n",
			     t->o->minimizer_data ? "0\t0\t" : "");
	}
	if (t->clade[0] > 0 || t->o->zero_counts || !t->o->plain)
		t->stack[t->n++] = (struct row) { t->clade[0], 0, 0, t->tax->taxid[0] };
	while (t->n > 0) {
		struct row r = t->stack[--t->n];

		if (t->o->mpa)
			mpa_row(t, &r);
		else
			kraken_row(t, &r);
		push_children(t, &r);
	}
}

int kh_report(kh_buf *b, const kh_taxonomy *tax, kh_tally *t, const kh_report_options *o,
	      kh_err *err)
{
	struct table s = { .b = b, .tax = tax, .t = t, .o = o };
	uint32_t *depth = kh_array(tax->n, sizeof *depth, err), levels;
	int rc = KH_ENOMEM;

	s.clade = kh_array(tax->n, sizeof *s.clade, err);
	s.stack = kh_array(tax->n, sizeof *s.stack, err);
	s.child = kh_array(tax->n, sizeof *s.child, err);
	if (!depth || !s.clade || !s.stack || !s.child)
		goto out;
	levels = max_depth(tax, depth);
	if (levels > KH_REPORT_LEVELS && !o->mpa)
		kh_log(KH_WARN, "the taxonomy has %" PRIu32 " levels below the root: the report "
		       "indents rows by %d levels at most", levels, KH_REPORT_LEVELS);
	s.path = depth;
	rc = sum_clades(&s, err);
	if (!rc)
		rows(&s);
out:
	free(s.child);
	free(s.stack);
	free(s.clade);
	free(depth);
	return rc;
}
