#include <config.h>
#include "cmd/profile_json.h"
#include "cmd/record.h"

#include <stdlib.h>
#include <string.h>

static double identity(uint32_t shape)
{
	return (1000 - kh_divergence[shape]) / 10.0;
}

static json_t *presence(const kh_profile_row *r)
{
	const kh_presence *p = r->presence;
	char why[KH_PROFILE_WHY];
	json_t *o = json_pack("{s:I, s:s}", "distinct_features", (json_int_t)r->distinct, "why",
			      kh_profile_why(r, why));

	if (!o || !p)
		return o;
	if (kh_profile_has_ani(r))
		json_object_update_new(o, json_pack("{s:f, s:f, s:f}", "ani",
						    identity(p->fit.shape[0]), "ani_low",
						    identity(p->fit.high), "ani_high",
						    identity(p->fit.low)));
	json_object_update_new(
		o, json_pack("{s:f, s:s, s:I, s:f, s:f}", "covered", r->covered, "verdict",
			     kh_verdict_name(p->verdict), "stretches", (json_int_t)p->found,
			     "stretches_expected", (double)p->expected / 256, "mean_share",
			     p->fit.total ? (double)p->share * 4 / (double)p->fit.total : 0.0));
	return o;
}

static json_t *row(const kh_profile *p, const kh_profile_row *r)
{
	const kh_taxonomy *tax = p->db->tax;
	json_t *o = json_pack(
		"{s:I, s:s, s:o, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "taxid",
		(json_int_t)tax->taxid[r->taxon], "rank", kh_rank_name(tax->rank[r->taxon]), "name",
		kh_record_path(tax->names + tax->name[r->taxon]), "parent",
		(json_int_t)(r->parent ? tax->taxid[r->parent] : 0), "reads_first",
		(json_int_t)r->first, "reads_final", (json_int_t)r->final, "reads", r->reads,
		"share", kh_profile_share(p, r->reads), "abundance_reads", r->bases,
		"abundance_genomes", r->part ? json_null() : json_real(r->genomes));

	if (o && tax->species[r->taxon] == r->taxon)
		json_object_update_new(o, presence(r));
	return o;
}

json_t *kh_profile_json(const kh_profile *p)
{
	const double unknown = (double)p->fragments > p->named ? (double)p->fragments - p->named
							       : 0.0;
	json_t *taxa = json_array(), *o;

	for (size_t i = 0; taxa && i < p->n; i++)
		if (json_array_append_new(taxa, row(p, &p->row[i])) != 0) {
			json_decref(taxa);
			taxa = NULL;
		}
	o = json_pack("{s:b, s:I, s:{s:I, s:I, s:f, s:f, s:f, s:f}, s:o}", "calls_changed",
		      (int)p->changed, "fragments", (json_int_t)p->fragments, "unknown",
		      "reads_first", (json_int_t)p->first, "reads_final", (json_int_t)p->final,
		      "reads", unknown, "share", kh_profile_share(p, unknown), "abundance_reads",
		      p->unknown_bases, "abundance_genomes", p->unknown_genomes, "taxa", taxa);
	return o;
}

int kh_profile_json_text(const kh_profile *p, kh_buf *b, kh_err *err)
{
	json_t *root = kh_profile_json(p);
	char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
	int rc = text ? kh_buf_add(b, text, strlen(text), err) : kh_fail_nomem(err);

	free(text);
	json_decref(root);
	return rc ? rc : kh_buf_add(b, "\n", 1, err);
}
