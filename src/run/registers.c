#include <config.h>
#include "run/registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static const char magic[] = "#kmerhash-distinct\t2";

static void write_rows(kh_buf *b, const kh_distinct *d, const kh_taxonomy *tax)
{
	char text[64 + KH_HLL_SIZE];

	for (uint32_t i = 0; i < d->n; i++) {
		int n;

		if (!d->reg[i])
			continue;
		n = snprintf(text, sizeof text, "%" PRIu32 "\t%" PRIu64 "\t", tax->taxid[i],
			     d->found[i]);
		for (int k = 0; k < KH_HLL_SIZE; k++)
			text[n++] = (char)('0' + d->reg[i][k]);
		text[n++] = '\n';
		kh_buf_add(b, text, (size_t)n);
	}
}

/* The nearest self-or-ancestor of each taxon that has a row in the report: the root, or its clade
 * has reads. */
static uint32_t *find_rows(const kh_tally *t, const kh_taxonomy *tax, kh_err *err)
{
	uint32_t *row = kh_array(tax->n, sizeof *row, err);

	for (uint32_t i = 0; i < tax->n && row; i++)
		row[i] = t->direct[i] || i == 0 ? i : KH_NO_TAXON;
	for (uint32_t i = tax->n; i-- > 1 && row;)
		if (row[i] == i)
			row[tax->parent[i]] = tax->parent[i];
	for (uint32_t i = 1; i < tax->n && row; i++)
		if (row[i] != i)
			row[i] = row[tax->parent[i]];
	return row;
}

int kh_registers_write(kh_buf *b, const kh_tally *t, const kh_taxonomy *tax,
		       const kh_db_header *h, kh_err *err)
{
	const kh_distinct *d = &t->distinct;
	uint32_t *row = find_rows(t, tax, err);
	kh_distinct sum = { .n = 0 };
	int rc = row ? kh_distinct_init(&sum, d->n, err) : KH_ENOMEM;

	for (uint32_t i = 0; i < d->n && !rc; i++)
		if (d->reg[i])
			rc = kh_distinct_join(&sum, row[i], d, i, err);
	if (!rc) {
		kh_buf_print(b, "%s\t%d\t%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32
				  "\t%d\t%016" PRIx64 "\n", magic, KH_HLL_SIZE,
				  h->sampling.scheme == KH_SYNCMER ? "syncmer" : "minhash",
				  h->sampling.k, h->sampling.s, h->least, !h->no_repeats,
				  h->digest);
		write_rows(b, &sum, tax);
	}
	kh_distinct_clear(&sum);
	free(row);
	return rc;
}

/* --- reading ---------------------------------------------------------------------- */
static int bad(const kh_tsv *l, int column, kh_span found, const char *want, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s:%" PRIu64 ": column %d: \"%s\" is not %s", l->name,
		       l->line, column, kh_span_show(found).s, want);
}

/* Cuts the next column off what is left of a row. */
static kh_span next_column(kh_span *row)
{
	const char *tab = row->n ? memchr(row->p, '\t', row->n) : NULL;
	const size_t n = tab ? (size_t)(tab - row->p) : row->n;
	const kh_span c = { row->p, n };

	row->p += tab ? n + 1 : n;
	row->n -= tab ? n + 1 : n;
	return c;
}

static bool parse_hex(kh_span s, uint64_t *x)
{
	*x = 0;
	for (size_t i = 0; i < s.n; i++) {
		static const char digit[] = "0123456789abcdef";
		const char *d = memchr(digit, s.p[i], 16);

		if (!d)
			return false;
		*x = *x << 4 | (uint64_t)(d - digit);
	}
	return s.n == 16;
}

static bool same(const kh_features_of *a, const kh_features_of *b)
{
	return a->scheme == b->scheme && a->k == b->k && a->s == b->s && a->share == b->share &&
	       a->repeats == b->repeats && a->references == b->references;
}

static int read_header(const kh_tsv *l, kh_span row, kh_features_of *of, kh_err *err)
{
	const size_t n = sizeof magic - 1;
	kh_features_of here = { .k = 0 };
	uint32_t size;
	kh_span rest = row;

	if (row.n <= n || memcmp(row.p, magic, n) != 0 || row.p[n] != '\t')
		return kh_fail(err, KH_EFORMAT, "%s:1: expected \"#kmerhash-distinct\" and 2, as "
			       "classify --set registers=FILE writes it", l->name);
	rest.p += n + 1;
	rest.n -= n + 1;
	if (!kh_span_u32(next_column(&rest), &size) || size != KH_HLL_SIZE)
		return kh_fail(err, KH_EFORMAT, "%s:1: not %d registers", l->name, KH_HLL_SIZE);
	const kh_span scheme = next_column(&rest);
	here.scheme = kh_span_is(scheme, "syncmer") ? KH_SYNCMER : KH_MINHASH;
	if ((here.scheme == KH_MINHASH && !kh_span_is(scheme, "minhash")) ||
	    !kh_span_u32(next_column(&rest), &here.k) || here.k == 0 ||
	    !kh_span_u32(next_column(&rest), &here.s) ||
	    !kh_span_u32(next_column(&rest), &here.share) ||
	    !kh_span_u32(next_column(&rest), &here.repeats) ||
	    !parse_hex(next_column(&rest), &here.references) || rest.n > 0)
		return kh_fail(err, KH_EFORMAT, "%s:1: expected a scheme, k, s, a share, repeats "
			       "and the digest of references", l->name);
	if (of->k == 0)
		*of = here;
	if (!same(of, &here))
		return kh_fail(err, KH_EFORMAT, "%s:1: these features are of another kind, or of "
			       "another database (k = %u, s = %u, references %016" PRIx64 ") than "
			       "those of the files before (k = %u, s = %u, references %016" PRIx64
			       ")", l->name, here.k, here.s, here.references, of->k, of->s,
			       of->references);
	return KH_OK;
}

static int read_row(kh_distinct *d, const kh_registers_input *in, const kh_tsv *l, kh_span row,
		    kh_err *err)
{
	const kh_span taxid = next_column(&row), found = next_column(&row), reg = row;
	uint8_t value[KH_HLL_SIZE];
	uint32_t id, taxon;
	uint64_t n;

	if (!kh_span_u32(taxid, &id))
		return bad(l, 1, taxid, "a taxid", err);
	if (!kh_span_u64(found, &n))
		return bad(l, 2, found, "a number of features", err);
	if (reg.n != KH_HLL_SIZE)
		return kh_fail(err, KH_EFORMAT, "%s:%" PRIu64 ": column 3: %zu registers, expected "
			       "%d", l->name, l->line, reg.n, KH_HLL_SIZE);
	for (size_t i = 0; i < KH_HLL_SIZE; i++) {
		value[i] = (uint8_t)(reg.p[i] - '0');
		if (value[i] > KH_HLL_MOST)
			return bad(l, 3, (kh_span) { reg.p + i, 1 }, "a register", err);
	}
	taxon = in->find(in->of, id);
	if (taxon == KH_NO_TAXON)
		return kh_fail(err, KH_EFORMAT, "%s:%" PRIu64 ": column 1: taxid %u has no row in "
			       "the report", l->name, l->line, id);
	if (n > (uint64_t)INT64_MAX - d->found[taxon])
		return bad(l, 2, found, "a number of features that can be counted with those "
			   "before", err);
	return kh_distinct_take(d, taxon, n, value, err);
}

int kh_registers_read(kh_distinct *d, const kh_registers_input *in, kh_features_of *of,
		      kh_err *err)
{
	bool head = false;
	kh_span row;
	kh_tsv l;
	int got = 0, rc = KH_OK;

	kh_tsv_init(&l, in->path, in->read, in->arg);
	while (!rc && (got = kh_tsv_next(&l, &row, err)) == 1) {
		rc = head ? read_row(d, in, &l, row, err) : read_header(&l, row, of, err);
		head = true;
	}
	if (!rc && got < 0)
		rc = got;
	if (!rc && !head)
		rc = kh_fail(err, KH_EFORMAT, "%s: is empty", in->path);
	kh_tsv_clear(&l);
	return rc;
}
