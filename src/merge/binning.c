/*
 * binning.c - lines of classify as CAMI's binning: a sequence and its taxid a row
 *
 * Streamed: a run may have more lines than memory.
 */
#include <config.h>
#include "merge/formats.h"

#include <string.h>

/* "562", or the number of "Escherichia coli (taxid 562)". */
static bool taxid_of(kh_span s, kh_span *taxid)
{
	static const char tag[] = "(taxid ";
	const size_t n_tag = sizeof tag - 1;
	uint32_t x;

	*taxid = s;
	if (s.n > 0 && s.p[s.n - 1] == ')') {
		size_t i = --s.n;

		while (i > 0 && s.p[i - 1] >= '0' && s.p[i - 1] <= '9')
			i--;
		if (i < n_tag || memcmp(s.p + i - n_tag, tag, n_tag) != 0)
			return false;
		*taxid = (kh_span) { s.p + i, s.n - i };
	}
	return kh_span_u32(*taxid, &x);
}

static int binning_row(const kh_tsv *l, kh_span row, kh_merge_sink *s, kh_err *err)
{
	const char *end = row.p + row.n, *id, *tab = NULL, *last = NULL;
	kh_span taxid;
	int rc;

	if (row.n < 2 || (row.p[0] != 'C' && row.p[0] != 'U') || row.p[1] != '\t')
		return kh_fail(err, KH_EFORMAT, "%s:%llu: column 1: \"%s\" is neither C nor U",
			       l->name, (unsigned long long)l->line, kh_span_show(row).s);
	id = row.p + 2;
	tab = memchr(id, '\t', (size_t)(end - id));
	last = tab ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
	if (!last)
		return kh_fail(err, KH_EFORMAT,
			       "%s:%llu: fewer than 4 columns between tabs, expected the lines of "
			       "classify, or of Kraken 2", l->name, (unsigned long long)l->line);
	if (!taxid_of((kh_span) { tab + 1, (size_t)(last - tab - 1) }, &taxid))
		return kh_fail(err, KH_EFORMAT, "%s:%llu: column 3: \"%s\" has no taxid", l->name,
			       (unsigned long long)l->line,
			       kh_span_show((kh_span) { tab + 1, (size_t)(last - tab - 1) }).s);
	if (row.p[0] == 'U')
		return KH_OK;
	if ((rc = kh_buf_add(&s->b, id, (size_t)(tab + 1 - id), err)) ||
	    (rc = kh_buf_add(&s->b, taxid.p, taxid.n, err)) ||
	    (rc = kh_buf_add(&s->b, "\n", 1, err)))
		return rc;
	return kh_merge_flush(s, false, err);
}

int kh_merge_binning(const kh_merge_input *in, kh_merge_sink *s, kh_err *err)
{
	static const char head[] = "@Version:0.10.0\n@SampleID:";
	static const char columns[] = "\n@@SEQUENCEID\tTAXID\n";
	kh_tsv l;
	kh_span row;
	int got, rc = kh_buf_add(&s->b, head, sizeof head - 1, err);

	if (!rc)
		rc = kh_buf_add(&s->b, in->name, strlen(in->name), err);
	if (!rc)
		rc = kh_buf_add(&s->b, columns, sizeof columns - 1, err);
	if (rc)
		return rc;
	kh_tsv_init(&l, in->path, in->read, in->arg);
	while (!rc && (got = kh_tsv_next(&l, &row, err)) != 0)
		rc = got < 0 ? got : binning_row(&l, row, s, err);
	kh_tsv_clear(&l);
	return rc;
}
