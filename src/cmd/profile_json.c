#include <config.h>
#include "cmd/profile_json.h"
#include "cmd/record.h"

#include <stdlib.h>
#include <string.h>

/* Adds the members of `more`, which it takes over; *o becomes NULL if there is no memory. */
static void add(json_t **o, json_t *more)
{
	if (more && *o && json_object_update(*o, more) == 0) {
		json_decref(more);
		return;
	}
	json_decref(more);
	json_decref(*o);
	*o = NULL;
}

static json_t *species(const kh_profile *of, const kh_profile_row *r)
{
	const kh_presence *p = r->presence;
	char why[KH_PROFILE_WHY];
	json_t *o = json_pack("{s:o, s:I}", "why", kh_record_path(kh_profile_why(of, r, why)),
			      "distinct_features", (json_int_t)r->distinct);

	if (kh_profile_has_identity(r))
		add(&o, json_pack("{s:f, s:f, s:f}", "identity_percent",
				  kh_profile_identity(p->fit.shape[0]), "identity_low",
				  kh_profile_identity(p->fit.high), "identity_high",
				  kh_profile_identity(p->fit.low)));
	if (p)
		add(&o, json_pack("{s:s, s:f, s:I, s:f, s:f}", "verdict",
				  kh_verdict_name(p->verdict), "covered_percent", 100 * r->covered,
				  "stretches", (json_int_t)p->found, "stretches_expected",
				  (double)p->expected / 256, "features_percent",
				  100 * kh_profile_features(p)));
	return o;
}

static json_t *row(const kh_profile *p, const kh_profile_row *r)
{
	const kh_taxonomy *tax = p->db->tax;
	char why[KH_PROFILE_WHY];
	json_t *o = json_pack(
		"{s:o, s:s, s:s?, s:f, s:f, s:o, s:I, s:I, s:I, s:I, s:f}", "name",
		kh_record_path(tax->names + tax->name[r->taxon]), "rank",
		kh_rank_name(tax->rank[r->taxon]), "detected",
		r->detected ? kh_detected_name(r->detected) : NULL, "reads", r->reads,
		"reads_percent", 100 * kh_profile_share(p, r->reads),
		"abundance_percent", r->part ? json_null() : json_real(100 * r->genomes), "taxid",
		(json_int_t)tax->taxid[r->taxon], "parent",
		(json_int_t)(r->parent ? tax->taxid[r->parent] : 0), "reads_first",
		(json_int_t)r->first, "reads_final", (json_int_t)r->final, "bases_percent",
		100 * r->bases);

	if (tax->species[r->taxon] == r->taxon)
		add(&o, species(p, r));
	else if (kh_profile_why(p, r, why))
		add(&o, json_pack("{s:o}", "why", kh_record_path(kh_profile_why(p, r, why))));
	return o;
}

json_t *kh_profile_json(const kh_profile *p)
{
	const double unknown = kh_profile_unknown(p);
	json_t *taxa = json_array(), *o;

	for (size_t i = 0; taxa && i < p->n; i++)
		if (json_array_append_new(taxa, row(p, &p->row[i])) != 0) {
			json_decref(taxa);
			taxa = NULL;
		}
	o = json_pack("{s:b, s:I, s:{s:f, s:f, s:f, s:I, s:I, s:f}, s:o}", "calls_changed",
		      (int)p->changed, "fragments", (json_int_t)p->fragments, "unknown",
		      "reads", unknown, "reads_percent", 100 * kh_profile_share(p, unknown),
		      "abundance_percent", 100 * p->unknown_genomes, "reads_first",
		      (json_int_t)p->first, "reads_final", (json_int_t)p->final, "bases_percent",
		      100 * p->unknown_bases, "taxa", taxa);
	return o;
}

int kh_profile_json_text(const kh_profile *p, kh_buf *b, kh_err *err)
{
	return kh_record_text(b, kh_profile_json(p), JSON_REAL_PRECISION(12), err);
}
