/* read_report.c - the rows of a report: the tree of its taxa in preorder */
#include <config.h>
#include "merge/read_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "run/report.h"

#define NONE UINT32_MAX

struct row {
	kh_merge_row taxon;
	uint64_t clade, direct;
	size_t depth;
};

/* A row whose descendants are being read. */
struct open_row {
	uint32_t taxon;
	uint64_t line, clade, sum;      /* sum: its own reads and those of its children */
	uint64_t children;
};

struct reader {
	kh_merge_reader *r;
	struct open_row *open;
	size_t n_open, cap;
	int columns;                    /* of the first row: 6 or 8 */
};

#define BAD(x, ...) KH_MERGE_BAD((x)->r, __VA_ARGS__)

static unsigned long long line_of(const struct reader *r)
{
	return r->r->tsv.line;
}

/* Blanks, digits, and perhaps a point and more digits. */
static bool is_percent(kh_span s)
{
	size_t i = 0, digits = 0, points = 0;

	while (i < s.n && s.p[i] == ' ')
		i++;
	for (; i < s.n; i++) {
		const bool digit = s.p[i] >= '0' && s.p[i] <= '9';

		if (!digit && s.p[i] != '.')
			return false;
		digits += digit;
		points += !digit;
	}
	return digits > 0 && points < 2;
}

static bool has_letter(kh_span s)
{
	return s.n > 0 && memchr("URDKPCOFGS", s.p[0], 10);
}

/* A letter of "URDKPCOFGS" and perhaps digits; "-" or nothing where a report has no rank, and
 * digits alone, as Debian's Kraken 2.1.2 loses some letters. */
static bool is_code(kh_span s)
{
	if (kh_span_is(s, "-"))
		return true;
	if (s.n >= KH_MERGE_CODE)
		return false;
	for (size_t i = has_letter(s); i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

/* Depth is half the number of blanks in front of the name. */
static int parse_name(struct reader *r, int column, kh_span s, struct row *x)
{
	size_t blanks = 0;

	while (blanks < s.n && s.p[blanks] == ' ')
		blanks++;
	x->depth = blanks / 2;
	x->taxon.name = (kh_span) { s.p + blanks, s.n - blanks };
	if (x->taxon.name.n == 0)
		return kh_merge_bad_column(r->r, column, s, "a name");
	if (!kh_span_is_printable(x->taxon.name))
		return kh_merge_bad_column(r->r, column, s, "printable text");
	if (blanks % 2)
		return BAD(r, "%s:%llu: column %d: %zu blanks in front of \"%s\", expected two for "
			   "each level", r->r->tsv.name, line_of(r), column, blanks,
			   kh_span_show(x->taxon.name).s);
	return KH_OK;
}

/* Reads the columns of a row, as far as they do not depend on other rows. */
static int parse_row(struct reader *r, kh_span row, struct row *x)
{
	enum { MOST = 8 };
	kh_span c[MOST] = { { NULL, 0 } };
	const int n = kh_span_split(row, c, MOST);
	uint64_t ignored;
	int rc = KH_OK;

	if (r->columns ? n != r->columns : n != 6 && n != 8)
		return BAD(r, "%s:%llu: %d%s column%s between tabs, expected %s%s", r->r->tsv.name,
			   line_of(r), n, n > MOST ? " or more" : "", kh_plural((uint64_t)n),
			   r->columns == 6 ? "6" : r->columns == 8 ? "8" : "6 or 8",
			   r->columns ? " as above" : ", as a report of Kraken 2 has");
	r->columns = n;
	if (!is_percent(c[0]))
		rc = kh_merge_bad_column(r->r, 1, c[0], "a percentage");
	if (!rc && !kh_span_u64(c[1], &x->clade))
		rc = kh_merge_bad_column(r->r, 2, c[1], "a number of reads");
	if (!rc && !kh_span_u64(c[2], &x->direct))
		rc = kh_merge_bad_column(r->r, 3, c[2], "a number of reads");
	for (int i = 3; !rc && i < n - 3; i++)
		if (!kh_span_u64(c[i], &ignored))
			rc = kh_merge_bad_column(r->r, i + 1, c[i], "a number of features");
	if (!rc && !is_code(c[n - 3]))
		rc = kh_merge_bad_column(r->r, n - 2, c[n - 3], "a rank code, such as G, S or S1");
	if (!rc && !kh_span_u32(c[n - 2], &x->taxon.taxid))
		rc = kh_merge_bad_column(r->r, n - 1, c[n - 2], "a taxid");
	if (!rc && x->direct > x->clade)
		rc = BAD(r, "%s:%llu: column 3: %llu read%s, more than the %llu of the whole clade",
			 r->r->tsv.name, line_of(r), (unsigned long long)x->direct,
			 kh_plural(x->direct), (unsigned long long)x->clade);
	x->taxon.code = has_letter(c[n - 3]) ? c[n - 3] : (kh_span) { c[n - 3].p, 0 };
	return rc ? rc : parse_name(r, n, c[n - 1], x);
}

/* Bracken rounds what it estimates, so that a clade of its reports may have a read more or less for
 * each of its parts. */
static bool is_rounded(const struct open_row *o)
{
	const uint64_t off = o->sum > o->clade ? o->sum - o->clade : o->clade - o->sum;

	return off <= o->children;
}

/* Ends the rows from `depth` on, and checks that their reads are those of their parts. */
static int close_rows(struct reader *r, size_t depth)
{
	int rc = KH_OK;

	while (r->n_open > depth && !rc) {
		const struct open_row *o = &r->open[--r->n_open];

		if (r->r->sound && o->sum != o->clade && is_rounded(o))
			r->r->m->rounded++;
		else if (r->r->sound && o->sum != o->clade)
			rc = BAD(r, "%s:%llu: column 2: %llu read%s in the clade, but %llu in its "
				 "parts: %s", r->r->tsv.name, (unsigned long long)o->line,
				 (unsigned long long)o->clade, kh_plural(o->clade),
				 (unsigned long long)o->sum,
				 r->n_open < KH_REPORT_LEVELS ? "rows are missing"
				 : "reports of taxonomies deeper than 1000 levels cannot be read");
	}
	return rc;
}

/* Adds the reads of a row that no other row counts. */
static int add_reads(struct reader *r, uint64_t n)
{
	uint64_t *reads = &r->r->m->reads;

	if (n > KH_MERGE_MOST - *reads)
		return BAD(r, "%s:%llu: column 2: %llu reads, and %llu before: more than 2^63 - 1 "
			   "cannot be counted", r->r->tsv.name, line_of(r), (unsigned long long)n,
			   (unsigned long long)*reads);
	*reads += n;
	return KH_OK;
}

static int unclassified(struct reader *r, const struct row *x)
{
	kh_merge_sample *s = &r->r->m->sample[r->r->sample];

	if (r->n_open > 0 || x->depth > 0 || x->direct != x->clade || s->unclassified > 0)
		return BAD(r, "%s:%llu: taxid 0 stands for the unclassified reads, in one row of "
			   "its own", r->r->tsv.name, line_of(r));
	s->unclassified = x->clade;
	return add_reads(r, x->clade);
}

/* The code of a row.  Reports of Kraken 2 have R1 for viruses where the NCBI calls their rank
 * acellular root: that is the place of a domain, and what follows is counted from it. */
static kh_span code_of(const struct reader *r, const struct row *x, uint32_t parent,
		       char code[KH_MERGE_CODE])
{
	enum { VIRUSES = 10239, MOST = 99999 };
	const kh_span said = x->taxon.code;
	const char *above = parent == NONE ? "" : r->r->m->taxon[parent].code;
	const unsigned long steps = above[0] == 'D' ? strtoul(above + 1, NULL, 10) : MOST;

	if (said.n < 2 || said.p[0] != 'R')
		return said;
	if (x->taxon.taxid == VIRUSES)
		return (kh_span) { "D", 1 };
	if (steps >= MOST)
		return said;
	return (kh_span) { code, (size_t)snprintf(code, KH_MERGE_CODE, "D%lu", steps + 1) };
}

/* Puts a row into the tree. */
static int place(struct reader *r, const struct row *x)
{
	char code[KH_MERGE_CODE];
	uint32_t parent, taxon;
	kh_merge_row row;
	int rc;

	if (x->depth > r->n_open || (x->depth == 0 && r->n_open > 0))
		return BAD(r, "%s:%llu: \"%s\" is indented by %zu blanks, expected %s%zu",
			   r->r->tsv.name, line_of(r), kh_span_show(x->taxon.name).s, 2 * x->depth,
			   r->n_open ? "2 to " : "", 2 * r->n_open);
	if (x->depth == 0 && x->taxon.taxid != 1)
		return BAD(r, "%s:%llu: column %d: the root has taxid %u, expected 1",
			   r->r->tsv.name, line_of(r), r->columns - 1, x->taxon.taxid);
	rc = close_rows(r, x->depth);
	if (rc || !r->r->sound)
		return rc;
	parent = x->depth ? r->open[x->depth - 1].taxon : NONE;
	row = x->taxon;
	row.code = code_of(r, x, parent, code);
	rc = kh_merge_find_taxon(r->r, &row, parent, &taxon);
	if (rc || taxon == NONE)
		return rc;
	rc = KH_GROW(r->open, r->cap, r->n_open + 1, r->r->err);
	if (rc)
		return rc;
	if (x->depth) {
		uint64_t *sum = &r->open[x->depth - 1].sum;

		*sum = x->clade < UINT64_MAX - *sum ? *sum + x->clade : UINT64_MAX;
		r->open[x->depth - 1].children++;
	} else {
		r->r->m->sample[r->r->sample].classified = x->clade;
		if ((rc = add_reads(r, x->clade)) || !r->r->sound)
			return rc;
	}
	r->open[r->n_open++] = (struct open_row) { taxon, r->r->tsv.line, x->clade, x->direct, 0 };
	return kh_merge_add_cell(r->r, &(kh_merge_cell) { .taxon = taxon, .sample = r->r->sample,
						       .clade = x->clade, .direct = x->direct });
}

static int read_rows(struct reader *r)
{
	uint64_t rows = 0;
	kh_span row;
	int got, rc = KH_OK;

	while (!rc && (got = kh_tsv_next(&r->r->tsv, &row, r->r->err)) > 0) {
		struct row x = { .clade = 0 };

		/* kraken2-inspect writes its parameters into comments */
		if (kh_row_is_blank(row) || (kh_row_is_comment(row) && rows == 0))
			continue;
		rows++;
		const size_t before = r->r->errs->found;
		rc = parse_row(r, row, &x);
		if (rows == 1 && !r->r->sound)
			return rc;      /* this is no report, and other rows would say it again */
		if (!rc && r->r->errs->found == before && r->r->sound)
			rc = x.taxon.taxid == 0 ? unclassified(r, &x) : place(r, &x);
	}
	if (!rc && got < 0)
		return kh_merge_unreadable(r->r);
	if (!rc && rows == 0)
		rc = BAD(r, "%s: is empty; expected a report, which has a row at least",
			 r->r->tsv.name);
	return rc ? rc : close_rows(r, 0);
}

int kh_merge_read_report(kh_merge_reader *reader)
{
	struct reader r = { .r = reader };
	const int rc = read_rows(&r);

	free(r.open);
	return rc;
}
