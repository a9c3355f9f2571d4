/* read_profile.c - the rows of a profile, whose columns are found by their names */
#include <config.h>
#include "merge/read_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "run/profile.h"
#include "taxonomy/taxonomy.h"

enum column {
	TAXID, RANK, NAME, PARENT, READS, SHARE, ABUNDANCE, DETECTED,
	NEEDED,                 /* the others may be missing: they are for a page */
	WHY = NEEDED, DISTINCT, IDENTITY, COVERED, FOUND, EXPECTED, FIRST,
	COLUMNS
};

static const char *const column_name[COLUMNS] = {
	"taxid", "rank", "name", "parent", "reads", "reads_percent", "abundance_percent",
	"detected", "why", "distinct_reads", "identity_percent", "covered_percent",
	"stretches", "stretches_expected", "reads_first",
};

enum {
	MOST = 64,              /* columns of a profile; it has 22 */
	RANKS = 8              /* ranks that a profile has */
};

/* A row in its own words, and its values. */
struct row {
	kh_merge_row taxon;
	uint32_t parent;
	kh_merge_cell cell;
	kh_merge_evidence evidence;
	kh_span why;
	size_t word;                    /* where the name, and behind it why, is kept */
	uint64_t line;
	bool placed;
};

/* The rows of a table, in which parents stand behind their children, with their words. */
struct rows {
	struct row *v;
	size_t n, cap;
	kh_buf words;
};

/* --- values ----------------------------------------------------------------------- */
static bool parse_detected(kh_span s, kh_merge_cell *c)
{
	for (int d = KH_DETECTED; d >= 0; d--)
		if (kh_span_is(s, kh_detected_name((enum kh_detected)d))) {
			c->detected = (unsigned)d & 255;
			return true;
		}
	return false;
}

/* Digits, perhaps a point and more of them, of which `places` count. */
static bool parse_decimal(kh_span s, unsigned places, uint64_t *v)
{
	const char *point = memchr(s.p, '.', s.n);
	const size_t whole = point ? (size_t)(point - s.p) : s.n;

	if (!kh_span_u64((kh_span) { s.p, whole }, v) || *v > UINT64_C(1000000000000))
		return false;
	for (size_t i = whole + 1; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	for (size_t i = whole + 1; places > 0; i++, places--)
		*v = 10 * *v + (i < s.n ? (uint64_t)(s.p[i] - '0') : 0);
	return !point || whole + 1 < s.n;
}

static bool parse_percent(kh_span s, uint32_t *v)
{
	uint64_t x;

	if (!parse_decimal(s, 6, &x) || x > KH_MERGE_ONE)
		return false;
	*v = (uint32_t)x;
	return true;
}

/* '-' stands for an abundance that a species does not have. */
static bool parse_abundance(kh_span s, uint32_t *v)
{
	*v = 0;
	return kh_span_is(s, "-") || parse_percent(s, v);
}

/* NaN: it is not known. */
static double as_number(const kh_span *c, int at)
{
	uint64_t x;

	return at >= 0 && parse_decimal(c[at], 6, &x) ? (double)x * 1e-6 : (double)NAN;
}

/* The code that a report has for a rank. */
static kh_span code_of(kh_span rank)
{
	const char *code = kh_merge_code(kh_rank_place(kh_rank_find(rank.p, rank.n)));

	return code ? (kh_span) { code, 1 } : (kh_span) { "", 0 };
}

/* --- rows ------------------------------------------------------------------------- */
/* All rows are below this one, which has no cells. */
static int add_root(kh_merge_reader *r)
{
	static const kh_merge_row root = { 1, { "R", 1 }, { "root", 4 } };
	const kh_merge_taxon t = { .taxid = 1, .parent = KH_NO_TAXON, .sample = r->sample };
	uint32_t number;

	return r->m->n > 0 ? KH_OK : kh_merge_add_taxon(r->m, &t, &root, &number, r->err);
}

static int add_evidence(kh_merge_reader *r, struct row *x)
{
	kh_merge *m = r->m;

	x->evidence.why = m->names.n;
	int rc = KH_GROW(m->evidence, m->evidence_cap, m->n_evidence + 1, r->err);

	kh_buf_word(&m->names, x->why.p, x->why.n);
	if (!rc)
		rc = kh_buf_check(&m->names, r->err);
	x->evidence.taxon = x->cell.taxon;
	x->evidence.sample = r->sample;
	if (!rc)
		m->evidence[m->n_evidence++] = x->evidence;
	return rc;
}

static int place(kh_merge_reader *r, struct row *x)
{
	const uint32_t parent = x->parent ? kh_merge_find(r->m, x->parent) : 0;
	int rc;

	if (parent == KH_NO_TAXON)
		return KH_MERGE_BAD(r, "%s:%llu: taxid %u is below taxid %u, which has no row "
				    "above it", r->tsv.name, kh_merge_line(r), x->taxon.taxid,
				    x->parent);
	rc = kh_merge_find_taxon(r, &x->taxon, parent, &x->cell.taxon);
	if (rc || !r->sound)
		return rc;
	x->cell.sample = r->sample;
	rc = kh_merge_add_cell(r, &x->cell);
	return rc || !r->m->wants_evidence ? rc : add_evidence(r, x);
}

/* --- the table -------------------------------------------------------------------- */
/* Where each column is. */
static int find_columns(kh_merge_reader *r, kh_span header, int at[COLUMNS], int *columns)
{
	kh_span c[MOST];
	int rc = KH_OK;

	*columns = kh_span_split(header, c, MOST);
	for (int i = 0; i < COLUMNS && !rc; i++) {
		at[i] = 0;
		while (at[i] < *columns && at[i] < MOST && !kh_span_is(c[at[i]], column_name[i]))
			at[i]++;
		if (at[i] < *columns && at[i] < MOST)
			continue;
		at[i] = -1;
		if (i < NEEDED)
			rc = KH_MERGE_BAD(r, "%s:1: there is no column %s; expected a profile of "
					  "this version", r->tsv.name, column_name[i]);
	}
	return rc;
}

static int bad(kh_merge_reader *r, const kh_span *c, const int *at, enum column which,
	       const char *want)
{
	return kh_merge_bad_column(r, at[which] + 1, c[at[which]], want);
}

/* What else is said of a species. */
static void parse_evidence(const kh_span *c, const int at[COLUMNS], struct row *x)
{
	const double found = as_number(c, at[FOUND]), expected = as_number(c, at[EXPECTED]);

	x->evidence = (kh_merge_evidence) {
		.detected = (uint8_t)x->cell.detected,
		.abundance = kh_span_is(c[at[ABUNDANCE]], "-")
				     ? (double)NAN : (double)x->cell.abundance / KH_MERGE_ONE,
		.distinct = as_number(c, at[DISTINCT]),
		.identity = as_number(c, at[IDENTITY]) / 100,
		.covered = as_number(c, at[COVERED]) / 100,
		.evenness = expected > 0 ? fmin(1, found / expected) : (double)NAN,
		.first = as_number(c, at[FIRST]),
	};
	if (at[WHY] >= 0 && kh_span_is_printable(c[at[WHY]]))
		x->why = c[at[WHY]];
}

static int parse_row(kh_merge_reader *r, const kh_span *c, const int at[COLUMNS], struct row *x)
{
	uint64_t reads;

	if (!kh_span_u32(c[at[TAXID]], &x->taxon.taxid))
		return bad(r, c, at, TAXID, "a taxid");
	if (!kh_span_u32(c[at[PARENT]], &x->parent))
		return bad(r, c, at, PARENT, "a taxid");
	x->taxon.code = code_of(c[at[RANK]]);
	if (x->taxon.taxid && x->taxon.code.n == 0)
		return bad(r, c, at, RANK, "a rank from domain to species");
	x->taxon.name = c[at[NAME]];
	if (!kh_span_is_printable(x->taxon.name))
		return bad(r, c, at, NAME, "printable text");
	if (!parse_decimal(c[at[READS]], 2, &reads))
		return bad(r, c, at, READS, "a number of reads");
	if (!parse_percent(c[at[SHARE]], &x->cell.share))
		return bad(r, c, at, SHARE, "a number from 0 to 100");
	if (!parse_abundance(c[at[ABUNDANCE]], &x->cell.abundance))
		return bad(r, c, at, ABUNDANCE, "a number from 0 to 100");
	x->cell.reads = reads & ((UINT64_C(1) << 56) - 1);
	if (!parse_detected(c[at[DETECTED]], &x->cell))
		return bad(r, c, at, DETECTED, "yes, low, no or -");
	parse_evidence(c, at, x);
	return KH_OK;
}

static int keep(struct rows *rows, struct row *x, kh_err *err)
{
	int rc = KH_GROW(rows->v, rows->cap, rows->n + 1, err);

	x->word = rows->words.n;
	kh_buf_add(&rows->words, x->taxon.name.p, x->taxon.name.n);
	kh_buf_add(&rows->words, x->why.p, x->why.n);
	if (!rc && !(rc = kh_buf_check(&rows->words, err)))
		rows->v[rows->n++] = *x;
	return rc;
}

/* Is it the row of an unknown species or genus?  It may be another one in each sample, and its
 * reads are some of the unknown ones. */
static bool is_organism(const kh_span *c, const int at[COLUMNS])
{
	return kh_span_is(c[at[TAXID]], "0") && !kh_span_is(c[at[PARENT]], "0");
}

/* Parses and keeps a row.  The last one is that of the unknown. */
static int take_row(kh_merge_reader *r, const kh_span *c, const int at[COLUMNS],
		    struct rows *rows, bool *last)
{
	struct row x = { .line = kh_merge_line(r) };
	const size_t before = r->errs->found;
	int rc = parse_row(r, c, at, &x);

	if (rc || r->errs->found > before)
		return rc;
	*last = x.taxon.taxid == 0;
	if (*last)
		r->m->sample[r->sample].unknown = x.cell;
	return *last || !r->sound ? KH_OK : keep(rows, &x, r->err);
}

/* Behind the last row there is none. */
static int read_row(kh_merge_reader *r, kh_span row, const int at[COLUMNS], int columns,
		    struct rows *rows, bool *last)
{
	kh_span c[MOST];
	const int n = kh_span_split(row, c, MOST);

	if (n != columns || *last)
		return KH_MERGE_BAD(r, "%s:%llu: %d column%s between tabs, expected %s",
				    r->tsv.name, kh_merge_line(r), n, kh_plural((uint64_t)n),
				    *last ? "no row below the unknown" : "as in the header");
	return is_organism(c, at) ? KH_OK : take_row(r, c, at, rows, last);
}

/* Places rows, from the last one on, so that their parents are there.  Where ranks are
 * nested in another order, a further pass finds those. */
static int place_all(kh_merge_reader *r, struct rows *rows)
{
	int rc = KH_OK;

	for (int pass = 0; pass <= RANKS; pass++)
		for (size_t i = 0; i < rows->n && !rc && r->sound; i++) {
			struct row *x = &rows->v[rows->n - 1 - i];

			if (x->placed || (pass < RANKS && x->parent &&
					  kh_merge_find(r->m, x->parent) == KH_NO_TAXON))
				continue;
			x->taxon.name.p = rows->words.p + x->word;
			x->why.p = x->taxon.name.p + x->taxon.name.n;
			r->tsv.line = x->line;
			rc = place(r, x);
			x->placed = true;
		}
	return rc;
}

int kh_merge_read_profile(kh_merge_reader *r)
{
	int at[COLUMNS], columns = 0, got, rc = add_root(r);
	bool last = false, header = true;
	struct rows rows = { .n = 0 };
	kh_span row;

	while (!rc && (got = kh_tsv_next(&r->tsv, &row, r->err)) > 0) {
		if (!header)
			rc = read_row(r, row, at, columns, &rows, &last);
		else if (!(rc = find_columns(r, row, at, &columns)) && !r->sound)
			return KH_OK;
		header = false;
	}
	if (!rc && got < 0)
		rc = kh_merge_unreadable(r);
	else if (!rc && !last && r->sound)
		rc = KH_MERGE_BAD(r, "%s: rows are missing: the last one is not that of the "
				  "unknown", r->tsv.name);
	if (!rc)
		rc = place_all(r, &rows);
	free(rows.v);
	free(rows.words.p);
	return rc;
}
