#include <config.h>
#include "page/species.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

const kh_page_column kh_page_species[KH_PAGE_COLUMNS] = {
	[KH_PAGE_DETECTED] = { .key = "detected", .label = "Detected", .kind = KH_PAGE_TEXT,
			       .help = "yes; low: by little evidence; no" },
	[KH_PAGE_DISTINCT] = { .key = "distinct", .label = "Distinct", .kind = KH_PAGE_NUMBER,
			       .help = "reads, if those in one place count once" },
	[KH_PAGE_ABUNDANCE] = { .key = "abundance", .label = "Abundance",
				.kind = KH_PAGE_PERCENT, .digits = 3,
				.help = "share of genomes: bases by length of the genome" },
	[KH_PAGE_IDENTITY] = { .key = "identity", .label = "Identity", .kind = KH_PAGE_PERCENT,
			       .digits = 1,
			       .help = "of the sample's strain and the nearest reference" },
	[KH_PAGE_WHY] = { .key = "why", .label = "Why", .kind = KH_PAGE_TEXT,
			  .help = "what speaks for the species, or against it" },
	[KH_PAGE_EVENNESS] = { .key = "evenness", .label = "Evenness (found / expected)",
			       .kind = KH_PAGE_PERCENT, .digits = 0, .detail = true },
	[KH_PAGE_COVERED] = { .key = "covered", .label = "Genome covered",
			      .kind = KH_PAGE_PERCENT, .digits = 2, .detail = true },
	[KH_PAGE_FIRST] = { .key = "first", .label = "Called in the first pass",
			    .kind = KH_PAGE_NUMBER, .detail = true },
	[KH_PAGE_NEXT] = { .key = "next", .label = "Second-best species", .kind = KH_PAGE_TEXT,
			   .detail = true },
	[KH_PAGE_BLANK] = { .key = "blank", .label = "Blank", .kind = KH_PAGE_TEXT,
			    .help = "whether it is more than in the negative controls" },
	[KH_PAGE_RATE] = { .key = "rate", .label = "Of a million reads", .kind = KH_PAGE_NUMBER,
			   .digits = 2, .detail = true },
	[KH_PAGE_CONTROL] = { .key = "control", .label = "Of a million of the controls",
			      .kind = KH_PAGE_NUMBER, .digits = 2, .detail = true },
	[KH_PAGE_FREQUENCY] = { .key = "frequency", .label = "p of its frequency by concentration",
				.kind = KH_PAGE_NUMBER, .digits = 3, .detail = true },
};

int kh_page_rows_init(kh_page_rows *x, size_t n, kh_err *err)
{
	x->n = n;
	x->row = kh_array(n, sizeof *x->row, err);
	x->value = kh_array(n * KH_PAGE_COLUMNS, sizeof *x->value, err);
	if (!x->row || !x->value)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		kh_page_value *v = &x->value[i * KH_PAGE_COLUMNS];

		x->row[i].value = v;
		for (int k = 0; k < KH_PAGE_COLUMNS; k++)
			if (kh_page_species[k].kind == KH_PAGE_TEXT)
				v[k].text = NULL;
			else
				v[k].number = NAN;
	}
	return KH_OK;
}

void kh_page_rows_clear(kh_page_rows *x)
{
	free(x->row);
	free(x->value);
	free(x->why);
	free(x->next);
	*x = (kh_page_rows) { .n = 0 };
}

static void fill(kh_page_value *v, char why[KH_PROFILE_WHY], const kh_profile *p,
		 const kh_profile_row *r)
{
	v[KH_PAGE_WHY].text = kh_profile_why(p, r, why);
	if (r->detected)
		v[KH_PAGE_DETECTED].text = kh_detected_name(r->detected);
	if (r->unknown && r->unknown->taxon == r->taxon)
		v[KH_PAGE_IDENTITY].number = kh_profile_residues(r->unknown);
	if (p->db->tax->species[r->taxon] != r->taxon)
		return;
	v[KH_PAGE_FIRST].number = (double)r->first;
	v[KH_PAGE_DISTINCT].number = r->different;
	if (!r->presence)
		return;
	if (kh_profile_has_identity(r))
		v[KH_PAGE_IDENTITY].number =
			kh_profile_identity(r->presence->fit.shape[0]) / 100;
	if (r->presence->expected > 0)
		v[KH_PAGE_EVENNESS].number = fmin(1, (double)r->presence->found * 256 /
							     (double)r->presence->expected);
	if (!r->part)
		v[KH_PAGE_COVERED].number = r->covered;
}

int kh_page_rows_make(kh_page_rows *x, const kh_profile *p, kh_err *err)
{
	int rc = kh_page_rows_init(x, p->n, err);

	if (!rc && !(x->why = kh_array(p->n, sizeof *x->why, err)))
		rc = KH_ENOMEM;
	for (size_t i = 0; i < p->n && !rc; i++) {
		const kh_profile_row *r = &p->row[i];
		kh_page_value *v = &x->value[i * KH_PAGE_COLUMNS];

		x->row[i].taxon = r->taxon;
		if (kh_profile_has_abundance(r))
			v[KH_PAGE_ABUNDANCE].number = r->genomes;
		fill(v, x->why[i], p, r);
	}
	return rc;
}
