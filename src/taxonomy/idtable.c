#include <config.h>
#include "taxonomy/idtable.h"


enum { SIMPLE = 4 };

#define BAD(t, err, fmt, ...) kh_fail(err, KH_EFORMAT, "%s:%llu: " fmt, (t)->tsv->name, \
	(unsigned long long)(t)->tsv->line, __VA_ARGS__)

static bool is_number(kh_span s)
{
	uint32_t x;

	return kh_span_u32(s, &x);
}

/* Does the first row say which columns there are? */
static bool find_names(kh_idtable *t)
{
	static const char *const id[] = { "accession.version", "seqid", "seq_id", "sequence_id",
					  "sequence", "id", "name", NULL };
	static const char *const accession[] = { "accession", NULL };
	static const char *const taxid[] = { "taxid", "tax_id", "taxonomy_id", NULL };

	t->taxid = kh_columns_find(&t->c, taxid);
	t->id = kh_columns_find(&t->c, id);
	t->base = kh_columns_find(&t->c, accession);
	t->base = t->base < 0 ? t->id : t->base;
	t->id = t->id < 0 ? t->base : t->id;
	return t->taxid >= 0 && t->id >= 0;
}

/* Without a header: which columns there are. */
static int guess(kh_idtable *t, kh_err *err)
{
	const kh_span *v = t->c.v;
	const bool second = t->n > 1 && is_number(v[1]), third = t->n > 2 && is_number(v[2]);

	t->base = 0;
	t->id = t->n > 2 && !second;
	t->taxid = t->id + 1;
	if (t->n < 2 || t->n > SIMPLE)
		return BAD(t, err, "%d column%s, expected an id and a taxid, or four columns as in "
			   "accession2taxid, or a header with taxid and accession, id or seqid",
			   t->n, kh_plural((uint64_t)t->n));
	if (t->n == 3 && second && third)
		return BAD(t, err, "both \"%s\" and \"%s\" may be the taxid of \"%s\": a header "
			   "with seqid and taxid says which", kh_span_show(v[1]).s,
			   kh_span_show(v[2]).s, kh_span_show(v[0]).s);
	if (t->n == SIMPLE) {
		t->id = 1;
		t->taxid = 2;
	}
	return KH_OK;
}

/* The first row that is no comment: *row says whether it is a row of values. */
static int begin(kh_idtable *t, kh_span text, bool *row, kh_err *err)
{
	kh_errs errs = { .v = NULL };
	int rc = kh_columns_first(&t->c, t->tsv, text, &errs, err);
	const bool bad = errs.found > 0;

	if (!rc && bad)
		rc = kh_fail(err, errs.v[0].code, "%s", errs.v[0].msg);
	kh_errs_clear(&errs);
	if (rc)
		return rc;
	*row = !find_names(t);
	if (*row && kh_row_is_comment(text))
		return KH_OK;
	t->n = t->c.n;
	t->simple = t->n <= SIMPLE && t->c.between == '\t';
	return *row ? guess(t, err) : KH_OK;
}

/* Splits a row: as many columns as the first one had, or empty ones behind them. */
static int split(kh_idtable *t, kh_span text, kh_err *err)
{
	kh_errs errs = { .v = NULL };
	int rc = KH_OK;

	t->c.n = t->simple ? kh_span_split(text, t->c.v, SIMPLE) : 0;
	if (t->c.n == t->n && is_number(t->c.v[t->taxid]) && text.p[0] != '"')
		return KH_OK;
	rc = kh_columns_split(&t->c, t->tsv, text, &errs, err);
	if (!rc && errs.found > 0)
		rc = kh_fail(err, errs.v[0].code, "%s", errs.v[0].msg);
	kh_errs_clear(&errs);
	while (!rc && t->c.n > t->n && t->c.v[t->c.n - 1].n == 0)
		t->c.n--;
	return rc || t->c.n == t->n ? rc
	       : BAD(t, err, "%d column%s, expected %d", t->c.n, kh_plural((uint64_t)t->c.n), t->n);
}

static int take(kh_idtable *t, kh_idrow *row, kh_err *err)
{
	const kh_span number = t->c.v[t->taxid];

	row->base = t->c.v[t->base];
	row->id = t->c.v[t->id];
	if (!kh_span_u32(number, &row->taxid))
		return BAD(t, err, "\"%s\" is not a taxid", kh_span_show(number).s);
	if (!row->id.n || !row->base.n)
		return BAD(t, err, "the %s is empty", "sequence id");
	return 1;
}

int kh_idtable_next(kh_idtable *t, kh_idrow *row, kh_err *err)
{
	kh_span text;
	int got, rc;

	while ((got = kh_tsv_next(t->tsv, &text, err)) > 0) {
		bool values = true;

		if (kh_row_is_blank(text) || (t->n > 0 && kh_row_is_comment(text)))
			continue;
		if ((rc = t->n > 0 ? split(t, text, err) : begin(t, text, &values, err)))
			return rc;
		if (values && t->n > 0)
			return take(t, row, err);
	}
	return got;
}
