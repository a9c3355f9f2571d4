/*
 * cami.c - what the CAMI challenges' programs read: OPAL a profile, AMBER a binning
 */
#include <config.h>
#include "merge/formats_in.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- the profile ------------------------------------------------------------------ */
/* Ancestors of all ranks of the profile down to `rank`, with nothing for those that are not
 * there. */
static void put_path(kh_merge_sink *s, const kh_merge *m, const kh_merge_lineage *lineage, int rank,
		     bool names)
{
	const char *between = "\t";

	for (int i = 0; i <= rank; i++) {
		if (!kh_merge_ranks[i].cami)
			continue;
		kh_buf_string(&s->b, between);
		between = "|";
		if (lineage->taxon[i] != KH_NO_TAXON && names)
			kh_merge_put_name(s, kh_merge_name(m, lineage->taxon[i]), "|");
		else if (lineage->taxon[i] != KH_NO_TAXON)
			kh_buf_print(&s->b, "%" PRIu32, m->taxon[lineage->taxon[i]].taxid);
	}
}

static void put_rank(const kh_merge *m, uint32_t sample, int rank, kh_merge_sink *s)
{
	for (size_t row = 0; row < m->n && !s->rc; row++) {
		const uint32_t taxon = m->order[row];
		const bool of_rank = kh_merge_rank_of(m, taxon) == rank;
		const kh_merge_cell *c = of_rank ? kh_merge_find_cell(m, row, sample) : NULL;

		if (!c || kh_merge_part(m, c) == 0)
			continue;
		const kh_merge_lineage lineage = kh_merge_lineage_of(m, taxon);
		kh_buf_print(&s->b, "%" PRIu32 "\t%s", m->taxon[taxon].taxid,
			       kh_merge_ranks[rank].cami);
		put_path(s, m, &lineage, rank, false);
		put_path(s, m, &lineage, rank, true);
		kh_buf_print(&s->b, "\t%.6f", 100 * kh_merge_share(kh_merge_part(m, c),
								 kh_merge_whole(m, sample)));
		kh_merge_end_row(s);
	}
}

void kh_merge_write_cami(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	for (size_t i = o->from; i < o->to && !s->rc; i++) {
		kh_buf_string(&s->b, i > o->from ? "\n@SampleID:" : "@SampleID:");
		kh_buf_string(&s->b, m->sample[i].name);
		kh_buf_string(&s->b, "\n@Version:0.10.0\n@Ranks:superkingdom|phylum|class|order|"
				  "family|genus|species\n");
		if (o->taxonomy_id) {
			kh_buf_string(&s->b, "@TaxonomyID:");
			kh_buf_string(&s->b, o->taxonomy_id);
			kh_merge_end_row(s);
		}
		kh_buf_string(&s->b, "@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n");
		for (int rank = 0; rank < KH_MERGE_RANKS; rank++)
			if (kh_merge_ranks[rank].cami &&
			    (!o->rank || o->rank[0] == kh_merge_ranks[rank].letter))
				put_rank(m, (uint32_t)i, rank, s);
		if (m->profiles)
			kh_buf_print(&s->b, "#unknown\t%.6f\n", 100 * kh_merge_share(
				m->sample[i].unknown.abundance, KH_MERGE_ONE));
	}
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

static int bad_row(const kh_tsv *t, kh_err *err, const char *fmt, ...) KH_PRINTF(3, 4);
static int bad_row(const kh_tsv *t, kh_err *err, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return kh_fail(err, KH_EFORMAT, "%s:%llu: %s", t->name, (unsigned long long)t->line,
		       text);
}

static int binning_row(const kh_tsv *t, kh_span row, kh_merge_sink *s)
{
	const char *end = row.p + row.n, *id, *tab, *last;
	kh_span taxid;

	if (row.n < 2 || (row.p[0] != 'C' && row.p[0] != 'U') || row.p[1] != '\t')
		return bad_row(t, s->err, "column 1: \"%s\" is neither C nor U",
			       kh_span_show(row).s);
	id = row.p + 2;
	tab = memchr(id, '\t', (size_t)(end - id));
	last = tab ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
	if (!last)
		return bad_row(t, s->err, "fewer than 4 columns between tabs, expected the lines "
			       "of classify, or of Kraken 2");
	const kh_span third = { tab + 1, (size_t)(last - tab - 1) };
	if (!taxid_of(third, &taxid))
		return bad_row(t, s->err, "column 3: \"%s\" has no taxid",
			       kh_span_show(third).s);
	if (row.p[0] == 'C') {
		kh_buf_add(&s->b, id, (size_t)(tab + 1 - id));
		kh_buf_add(&s->b, taxid.p, taxid.n);
		kh_merge_end_row(s);
	}
	return s->rc;
}

void kh_merge_binning(const kh_merge_input *in, kh_merge_sink *s)
{
	kh_tsv t;
	kh_span row;
	int got;

	kh_buf_string(&s->b, "@Version:0.10.0\n@SampleID:");
	kh_buf_string(&s->b, in->name);
	kh_buf_string(&s->b, "\n@@SEQUENCEID\tTAXID\n");
	kh_tsv_init(&t, in->path, in->read, in->arg);
	while (!s->rc && (got = kh_tsv_next(&t, &row, s->err)) != 0)
		s->rc = got < 0 ? got : binning_row(&t, row, s);
	kh_tsv_clear(&t);
}
