/*
 * cami.c - what the CAMI challenges' programs read: OPAL a profile, AMBER a binning
 */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <string.h>

/* --- the profile ------------------------------------------------------------------ */
/* Ancestors of all ranks of the profile down to `rank`, with nothing for those that are not
 * there. */
static int cami_path(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *l, int rank,
		     bool names, kh_err *err)
{
	int rc = kh_buf_add(&s->b, "\t", 1, err);

	for (int i = 0; i <= rank && !rc; i++) {
		if (!kh_merge_ranks[i].cami)
			continue;
		if (i > 0)
			rc = kh_buf_add(&s->b, "|", 1, err);
		if (rc || l->taxon[i] == KH_NO_TAXON)
			continue;
		rc = names ? kh_merge_put_name(s, kh_merge_name(m, l->taxon[i]), "|", err)
			   : kh_buf_print(&s->b, err, "%" PRIu32, m->taxon[l->taxon[i]].taxid);
	}
	return rc;
}

static int cami_rows(const kh_merge *m, uint32_t sample, int rank, kh_merge_sink *s, kh_err *err)
{
	int rc = KH_OK;

	for (size_t row = 0; row < m->n && !rc; row++) {
		const uint32_t taxon = m->order[row];
		const bool of_rank = kh_merge_rank_of(m, taxon) == rank;
		const kh_merge_cell *c = of_rank ? kh_merge_find_cell(m, row, sample) : NULL;

		if (!c || kh_merge_part(m, c) == 0)
			continue;
		const kh_merge_lineage l = kh_merge_lineage_of(m, taxon);
		rc = kh_buf_print(&s->b, err, "%" PRIu32 "\t%s", m->taxon[taxon].taxid,
				  kh_merge_ranks[rank].cami);
		if (!rc)
			rc = cami_path(s, m, &l, rank, false, err);
		if (!rc)
			rc = cami_path(s, m, &l, rank, true, err);
		if (!rc)
			rc = kh_buf_print(&s->b, err, "\t%.6f",
					  100 * kh_merge_share(kh_merge_part(m, c),
							       kh_merge_whole(m, sample)));
		if (!rc)
			rc = kh_merge_end_row(s, err);
	}
	return rc;
}

int kh_merge_write_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s,
			kh_err *err)
{
	static const char ranks[] = "\n@Version:0.10.0\n"
				    "@Ranks:superkingdom|phylum|class|order|family|"
				    "genus|species\n";
	static const char columns[] = "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n";
	int rc = KH_OK;

	for (size_t i = o->from; i < o->to && !rc; i++) {
		rc = kh_buf_string(&s->b, i > o->from ? "\n@SampleID:" : "@SampleID:", err);
		if (!rc)
			rc = kh_buf_string(&s->b, m->sample[i].name, err);
		if (!rc)
			rc = kh_buf_string(&s->b, ranks, err);
		if (!rc && o->taxonomy_id && !(rc = kh_buf_string(&s->b, "@TaxonomyID:", err)) &&
		    !(rc = kh_buf_string(&s->b, o->taxonomy_id, err)))
			rc = kh_merge_end_row(s, err);
		if (!rc)
			rc = kh_buf_string(&s->b, columns, err);
		for (int rank = 0; rank < KH_MERGE_RANKS && !rc; rank++)
			if (kh_merge_ranks[rank].cami &&
			    (!o->rank || o->rank[0] == kh_merge_ranks[rank].letter))
				rc = cami_rows(m, (uint32_t)i, rank, s, err);
	}
	return rc;
}

/* --- the binning ------------------------------------------------------------------ */
/* Streamed: a run may have more lines than memory. */

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
