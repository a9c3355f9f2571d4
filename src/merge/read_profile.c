/* read_profile.c - the rows of a profile, whose columns are found by their names */
#include <config.h>
#include "merge/read_in.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "run/profile.h"
#include "taxonomy/taxonomy.h"

enum column {
	TAXID, RANK, NAME, PARENT, READS, SHARE, ABUNDANCE, DETECTED,
	NEEDED,                 /* the others may be missing: they are for a page */
	WHY = NEEDED, IDENTITY, COVERED, FOUND, EXPECTED, FIRST,
	COLUMNS
};

static const char *const column_name[COLUMNS] = {
	"taxid", "rank", "name", "parent", "reads", "reads_percent", "abundance_percent",
	"detected", "why", "identity_percent", "covered_percent", "stretches",
	"stretches_expected", "reads_first",
};

enum {
	MOST = 64,              /* columns of a profile; it has 21 */
	ROUNDS = 8              /* ranks that a profile has */
};

/* A row in its own words, and its values. */
struct row {
	kh_merge_row taxon;
	uint32_t parent;
	kh_merge_cell cell;
	kh_merge_told told;
	kh_span why;
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

/* What else is said of a species; the arguments are what a profile has. */
static kh_merge_told told_of(const kh_merge_cell *c, double identity, double covered, double found,
			     double expected, double first)
{
	return (kh_merge_told) { .detected = (uint8_t)c->detected,
				 .abundance = (double)c->abundance / KH_MERGE_ONE,
				 .identity = identity / 100, .covered = covered / 100,
				 .evenness = expected > 0 ? fmin(1, found / expected) : (double)NAN,
				 .first = first };
}

/* The code that a report has for a rank. */
static kh_span code_of(kh_span rank)
{
	const char *code = kh_merge_code(kh_rank_find(rank.p, rank.n));

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

/* `line`: of the table, or the number of the row in JSON. */
static int tell(kh_merge_reader *r, struct row *x)
{
	kh_merge *m = r->m;

	x->told.why = m->names.n;
	int rc = kh_grow((void **)&m->told, &m->told_cap, m->n_told + 1, sizeof *m->told, r->err);

	kh_buf_word(&m->names, x->why.p, x->why.n);
	if (!rc)
		rc = kh_buf_check(&m->names, r->err);
	x->told.taxon = x->cell.taxon;
	x->told.sample = r->sample;
	if (!rc)
		m->told[m->n_told++] = x->told;
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
	return rc || !r->m->tells ? rc : tell(r, x);
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
	if (!kh_merge_is_name(x->taxon.name))
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
	x->told = told_of(&x->cell, as_number(c, at[IDENTITY]), as_number(c, at[COVERED]),
			  as_number(c, at[FOUND]), as_number(c, at[EXPECTED]),
			  as_number(c, at[FIRST]));
	if (at[WHY] >= 0 && x->taxon.code.n > 0 && x->taxon.code.p[0] == 'S' &&
	    kh_merge_is_name(c[at[WHY]]))
		x->why = c[at[WHY]];
	if (kh_span_is(c[at[ABUNDANCE]], "-"))
		x->told.abundance = (double)NAN;
	return KH_OK;
}

static int keep(struct rows *rows, const struct row *x, kh_err *err)
{
	int rc = kh_grow((void **)&rows->v, &rows->cap, rows->n + 1, sizeof *rows->v, err);

	kh_buf_add(&rows->words, x->taxon.name.p, x->taxon.name.n);
	kh_buf_add(&rows->words, x->why.p, x->why.n);
	if (!rc && !(rc = kh_buf_check(&rows->words, err)))
		rows->v[rows->n++] = *x;
	return rc;
}

/* The last row is that of the unknown; behind it there is none. */
static int read_row(kh_merge_reader *r, kh_span row, const int at[COLUMNS], int columns,
		    struct rows *rows, bool *last)
{
	kh_span c[MOST];
	struct row x = { .line = kh_merge_line(r) };
	const int n = kh_span_split(row, c, MOST);
	const size_t before = r->errs->found;
	int rc;

	if (n != columns || *last)
		return KH_MERGE_BAD(r, "%s:%llu: %d columns between tabs, expected %s", r->tsv.name,
				    kh_merge_line(r), n, *last ? "no row below the unknown"
							       : "as in the header");
	rc = parse_row(r, c, at, &x);
	if (rc || r->errs->found > before)
		return rc;
	*last = x.taxon.taxid == 0;
	if (*last)
		r->m->sample[r->sample].unknown = x.cell;
	return *last || !r->sound ? KH_OK : keep(rows, &x, r->err);
}

/* Places rows from the last one on, so that their parents are there.  Where ranks are nested in
 * another order, a further round finds those. */
static int place_all(kh_merge_reader *r, struct rows *rows)
{
	int rc = KH_OK;

	for (int round = 0; round <= ROUNDS; round++) {
		size_t word = rows->words.n;

		for (size_t i = rows->n; i-- > 0 && !rc && r->sound;) {
			struct row *x = &rows->v[i];

			word -= x->taxon.name.n + x->why.n;
			if (x->placed || (round < ROUNDS && x->parent &&
					  kh_merge_find(r->m, x->parent) == KH_NO_TAXON))
				continue;
			x->taxon.name.p = rows->words.p + word;
			x->why.p = x->taxon.name.p + x->taxon.name.n;
			r->tsv.line = x->line;
			rc = place(r, x);
			x->placed = true;
		}
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
		rc = r->err->code == KH_ENOMEM ? KH_ENOMEM : kh_errs_add(r->errs, r->err, r->err);
	else if (!rc && !last && r->sound)
		rc = KH_MERGE_BAD(r, "%s: rows are missing: the last one is not that of the "
				  "unknown", r->tsv.name);
	if (!rc)
		rc = place_all(r, &rows);
	free(rows.v);
	free(rows.words.p);
	return rc;
}

/* --- JSON ------------------------------------------------------------------------- */
/* jansson reads through this one. */
struct stream {
	const kh_merge_input *in;
	kh_err *err;
	int rc;
};

static size_t more(void *to, size_t n, void *arg)
{
	struct stream *s = arg;
	const int64_t got = s->in->read(s->in->arg, to, n, s->err);

	if (got < 0)
		s->rc = (int)got;
	return got < 0 ? (size_t)-1 : (size_t)got;
}

static bool as_percent(const json_t *o, const char *key, uint32_t *v)
{
	const json_t *x = json_object_get(o, key);
	const double percent = json_number_value(x);

	if (!json_is_number(x) || !(percent >= 0) || percent > 100)
		return false;
	*v = (uint32_t)(percent * (KH_MERGE_ONE / 100) + 0.5);
	return true;
}

static bool as_taxid(const json_t *o, const char *key, uint32_t *v)
{
	const json_t *x = json_object_get(o, key);
	const json_int_t taxid = json_integer_value(x);

	*v = (uint32_t)taxid;
	return json_is_integer(x) && taxid >= 0 && taxid <= UINT32_MAX;
}

static kh_span as_text(const json_t *o, const char *key)
{
	const json_t *x = json_object_get(o, key);

	return json_is_string(x) ? (kh_span) { json_string_value(x), json_string_length(x) }
				 : (kh_span) { "", 0 };
}

/* The values that the unknown has as well. */
static bool as_reads(const json_t *o, kh_merge_cell *c)
{
	const json_t *x = json_object_get(o, column_name[READS]);
	const double reads = json_number_value(x);
	uint32_t share;

	if (!json_is_number(x) || !(reads >= 0) || reads > 1e14 ||
	    !as_percent(o, column_name[SHARE], &share))
		return false;
	c->reads = (uint64_t)(100 * reads + 0.5) & ((UINT64_C(1) << 56) - 1);
	c->share = share;
	return true;
}

static bool as_abundance(const json_t *o, kh_merge_cell *c)
{
	uint32_t abundance = 0;

	if (!json_is_null(json_object_get(o, column_name[ABUNDANCE])) &&
	    !as_percent(o, column_name[ABUNDANCE], &abundance))
		return false;
	c->abundance = abundance;
	return true;
}

static double json_number(const json_t *o, enum column c)
{
	const json_t *x = json_object_get(o, column_name[c]);

	return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static int json_row(kh_merge_reader *r, const json_t *o)
{
	struct row x = { .parent = 0 };
	const char *bad = NULL;
	const kh_span detected = as_text(o, column_name[DETECTED]);

	x.taxon.code = code_of(as_text(o, column_name[RANK]));
	x.taxon.name = as_text(o, column_name[NAME]);
	if (!as_taxid(o, column_name[TAXID], &x.taxon.taxid) || !x.taxon.taxid)
		bad = column_name[TAXID];
	else if (!as_taxid(o, column_name[PARENT], &x.parent))
		bad = column_name[PARENT];
	else if (x.taxon.code.n == 0)
		bad = column_name[RANK];
	else if (!kh_merge_is_name(x.taxon.name))
		bad = column_name[NAME];
	else if (!as_reads(o, &x.cell))
		bad = "reads or reads_percent";
	else if (!as_abundance(o, &x.cell))
		bad = column_name[ABUNDANCE];
	else if (detected.n > 0 && !parse_detected(detected, &x.cell))
		bad = column_name[DETECTED];
	if (bad)
		return KH_MERGE_BAD(r, "%s: row %llu of \"taxa\": %s is missing, or not what a "
				    "profile has", r->tsv.name, kh_merge_line(r), bad);
	x.told = told_of(&x.cell, json_number(o, IDENTITY), json_number(o, COVERED),
			 json_number(o, FOUND), json_number(o, EXPECTED), json_number(o, FIRST));
	x.why = as_text(o, column_name[WHY]);
	if (json_is_null(json_object_get(o, column_name[ABUNDANCE])))
		x.told.abundance = (double)NAN;
	return place(r, &x);
}

int kh_merge_read_json(kh_merge_reader *r, const kh_merge_input *in)
{
	struct stream s = { .in = in, .err = r->err };
	json_error_t e;
	json_t *root = json_load_callback(more, &s, 0, &e);
	const json_t *taxa = json_object_get(root, "taxa");
	const json_t *unknown = json_object_get(root, "unknown");
	kh_merge_cell *cell = &r->m->sample[r->sample].unknown;
	int rc = add_root(r);

	if (!rc && s.rc)
		rc = s.rc == KH_ENOMEM ? KH_ENOMEM : kh_errs_add(r->errs, r->err, r->err);
	else if (!rc && !root)
		rc = KH_MERGE_BAD(r, "%s:%d: column %d: %.100s", r->tsv.name, e.line, e.column,
				  e.text);
	else if (!rc && (!json_is_array(taxa) || !as_reads(unknown, cell) ||
			 !as_abundance(unknown, cell)))
		rc = KH_MERGE_BAD(r, "%s: there is no \"taxa\" or no \"unknown\", which a profile "
				  "has", r->tsv.name);
	for (size_t i = 0; i < json_array_size(taxa) && !rc && r->sound; i++) {
		r->tsv.line = i + 1;
		rc = json_row(r, json_array_get(taxa, i));
	}
	json_decref(root);
	return rc;
}
