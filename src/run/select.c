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

/* Finds the taxon of a name, of those below one another the uppermost.  If there are more, *other
 * is the next one, and it is not said which is meant. */
static uint32_t find_name(const kh_taxonomy *tax, kh_span name, uint32_t *other)
{
	uint32_t found = KH_NO_TAXON;

	*other = KH_NO_TAXON;
	for (uint32_t i = 0; i < tax->n; i++) {
		if (!kh_span_is(name, tax->names + tax->name[i]))
			continue;
		if (found == KH_NO_TAXON)
			found = i;
		else if (i >= tax->end[found] && *other == KH_NO_TAXON)
			*other = i;
	}
	return found;
}

static int mark_name(const struct marking *m, kh_span name, kh_err *err)
{
	const kh_taxonomy *tax = m->tax;
	uint32_t other;
	const uint32_t taxon = find_name(tax, name, &other);

	if (taxon == KH_NO_TAXON)
		return kh_errs_note(m->errs, err, KH_EUSAGE, "--%s: \"%s\" is neither a taxid nor "
				    "the name of a taxon of the database (kmerhash inspect --find "
				    "'%s' looks for names like it)", m->option,
				    kh_span_show(name).s, kh_span_show(name).s);
	if (other != KH_NO_TAXON)
		return kh_errs_note(m->errs, err, KH_EUSAGE, "--%s: \"%s\" is the name of several "
				    "taxa, such as taxid %u (%s, below %.60s) and taxid %u (%s, "
				    "below %.60s): name the taxid that is meant", m->option,
				    kh_span_show(name).s,
				    tax->taxid[taxon], kh_rank_name(tax->rank[taxon]),
				    tax->names + tax->name[tax->parent[taxon]],
				    tax->taxid[other], kh_rank_name(tax->rank[other]),
				    tax->names + tax->name[tax->parent[other]]);
	mark(m, taxon);
	return KH_OK;
}

static int mark_word(const struct marking *m, kh_span word, kh_err *err)
{
	uint32_t taxid, taxon;

	if (!kh_span_u32(word, &taxid))
		return mark_name(m, word, err);
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
