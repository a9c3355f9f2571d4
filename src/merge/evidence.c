/* evidence.c - gives reports the evidence that profiles of the same samples have of species */
#include <config.h>
#include "merge/read_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static int add(kh_merge *m, const kh_merge *from, uint32_t taxon, uint32_t parent,
	       uint32_t *number, kh_err *err)
{
	const kh_merge_taxon *t = &from->taxon[taxon];
	const char *name = kh_merge_name(from, taxon);
	const kh_merge_row row = { t->taxid, { t->code, strlen(t->code) },
				   { name, strlen(name) } };

	return kh_merge_add_taxon(m, &(kh_merge_taxon) { .taxid = t->taxid, .parent = parent,
							 .sample = t->sample, .line = t->line },
				  &row, number, err);
}

/* Finds the taxa of profiles in reports, and adds those that are needed and have no reads left.
 * In a table parents have lesser numbers than their children. */
static int find_taxa(kh_merge *reports, const kh_merge *profiles, const bool *needed,
		     uint32_t *number, kh_err *err)
{
	int rc = KH_OK;

	for (uint32_t t = 0; t < profiles->n && !rc; t++) {
		const uint32_t parent = profiles->taxon[t].parent;

		number[t] = t == 0 && reports->n > 0 ? 0
			    : kh_merge_find(reports, profiles->taxon[t].taxid);
		if (number[t] == KH_NO_TAXON && needed[t])
			rc = add(reports, profiles, t,
				 t > 0 && parent != KH_NO_TAXON ? number[parent] : KH_NO_TAXON,
				 &number[t], err);
	}
	return rc;
}

static int copy(kh_merge *reports, const kh_merge *profiles, const uint32_t *number, kh_err *err)
{
	int rc = KH_GROW(reports->evidence, reports->evidence_cap, profiles->n_evidence, err);

	for (size_t i = 0; i < profiles->n_evidence && !rc; i++) {
		kh_merge_evidence x = profiles->evidence[i];
		const char *why = profiles->names.p + x.why;

		x.taxon = number[x.taxon];
		x.why = reports->names.n;
		kh_buf_word(&reports->names, why, strlen(why));
		reports->evidence[reports->n_evidence++] = x;
	}
	return rc ? rc : kh_buf_check(&reports->names, err);
}

int kh_merge_add_evidence(kh_merge *reports, const kh_merge *profiles, kh_err *err)
{
	bool *needed = kh_array(profiles->n, sizeof *needed, err);
	uint32_t *number = kh_array(profiles->n, sizeof *number, err);
	int rc = needed && number ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < profiles->n_evidence && !rc; i++)
		needed[profiles->evidence[i].taxon] = true;
	for (size_t t = profiles->n; t-- > 1 && !rc;)
		if (needed[t])
			needed[profiles->taxon[t].parent] = true;
	if (!rc)
		rc = find_taxa(reports, profiles, needed, number, err);
	if (!rc)
		rc = copy(reports, profiles, number, err);
	free(needed);
	free(number);
	return rc;
}
