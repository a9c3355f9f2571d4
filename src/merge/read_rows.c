/* read_rows.c - what a row of a report or of a profile adds to the table: read_in.h */
#include <config.h>
#include "merge/read_in.h"

#include "base/mem.h"

int kh_merge_bad_column(kh_merge_reader *r, int column, kh_span found, const char *want)
{
	return KH_MERGE_BAD(r, "%s:%llu: column %d: \"%s\" is not %s", r->tsv.name,
			    kh_merge_line(r), column, kh_span_show(found).s, want);
}

static const char *name_or_root(const kh_merge *m, uint32_t taxon)
{
	return taxon == KH_NO_TAXON ? "none" : kh_merge_name(m, taxon);
}

int kh_merge_find_taxon(kh_merge_reader *r, const kh_merge_row *x, uint32_t parent,
			uint32_t *number)
{
	kh_merge *m = r->m;
	const uint32_t had = kh_merge_find(m, x->taxid);

	*number = KH_NO_TAXON;
	if (had == KH_NO_TAXON) {
		const kh_merge_taxon t = { .taxid = x->taxid, .parent = parent,
					   .sample = r->sample, .line = r->tsv.line };

		return kh_merge_add_taxon(m, &t, x, number, r->err);
	}
	const kh_merge_taxon *t = &m->taxon[had];

	if (t->parent != parent)
		return KH_MERGE_BAD(r, "%s:%llu: taxid %u below \"%.60s\", but in %s:%llu below "
				    "\"%.60s\": two taxonomies", r->tsv.name, kh_merge_line(r),
				    x->taxid, name_or_root(m, parent), m->sample[t->sample].path,
				    (unsigned long long)t->line, name_or_root(m, t->parent));
	m->renamed += !kh_span_is(x->name, kh_merge_name(m, had)) || !kh_span_is(x->code, t->code);
	*number = had;
	return KH_OK;
}

int kh_merge_add_cell(kh_merge_reader *r, const kh_merge_cell *c)
{
	kh_merge *m = r->m;
	int rc = KH_GROW(m->cell, m->cells_cap, m->n_cells + 1, r->err);

	if (!rc)
		m->cell[m->n_cells++] = *c;
	return rc;
}

int kh_merge_unreadable(kh_merge_reader *r)
{
	return r->err->code == KH_ENOMEM ? KH_ENOMEM : kh_errs_add(r->errs, r->err, r->err);
}
