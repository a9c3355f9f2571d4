#include <config.h>
#include "run/select.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "taxonomy/tsv.h"

struct marking {
	kh_select *s;
	const kh_taxonomy *tax;
	const char *option;
	enum kh_side side;
	kh_errs *errs;
};

static void mark(const struct marking *m, uint32_t taxon)
{
	for (uint32_t i = taxon; i < m->tax->end[taxon]; i++)
		m->s->side[i] = (uint8_t)m->side;
}

/* Marks the taxa of a name, of which there may be several. */
static uint32_t mark_name(const struct marking *m, kh_span name)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < m->tax->n; i++)
		if (kh_span_is(name, m->tax->names + m->tax->name[i])) {
			mark(m, i);
			found++;
		}
	return found;
}

static int mark_word(const struct marking *m, kh_span word, kh_err *err)
{
	uint32_t taxid, taxon;

	if (!kh_span_u32(word, &taxid)) {
		if (mark_name(m, word) > 0)
			return KH_OK;
		return kh_errs_note(m->errs, err, KH_EUSAGE, "--%s: \"%s\" is neither a taxid nor "
				    "the name of a taxon of the database", m->option,
				    kh_span_show(word).s);
	}
	taxon = kh_taxonomy_find(m->tax, taxid);
	if (taxon == KH_NO_TAXON)
		return kh_errs_note(m->errs, err, KH_EUSAGE, "--%s: taxid %u is no taxon of the "
				    "database", m->option, taxid);
	mark(m, taxon);
	return KH_OK;
}

static int mark_list(const struct marking *m, const char *list, kh_err *err)
{
	int rc = KH_OK;

	for (const char *p = list; p && !rc;) {
		const char *comma = strchr(p, ',');
		const kh_span word = kh_span_trim(p, comma ? comma : p + strlen(p));

		rc = mark_word(m, word, err);
		p = comma ? comma + 1 : NULL;
	}
	return rc;
}

int kh_select_open(kh_select *s, const kh_taxonomy *tax, const kh_select_options *o, kh_errs *errs,
		   kh_err *err)
{
	const struct marking in = { s, tax, "extract", KH_SIDE_CLASSIFIED, errs };
	const struct marking out = { s, tax, "exclude", KH_SIDE_NEITHER, errs };
	int rc = KH_OK;

	if (o->n_extract + o->n_exclude == 0)
		return KH_OK;
	s->side = kh_array(tax->n, 1, err);
	if (!s->side)
		return KH_ENOMEM;
	memset(s->side, o->n_extract ? KH_SIDE_UNCLASSIFIED : KH_SIDE_CLASSIFIED, tax->n);
	for (size_t i = 0; i < o->n_extract && !rc; i++)
		rc = mark_list(&in, o->extract[i], err);
	for (size_t i = 0; i < o->n_exclude && !rc; i++)
		rc = mark_list(&out, o->exclude[i], err);
	return rc;
}

void kh_select_close(kh_select *s)
{
	free(s->side);
	s->side = NULL;
}
