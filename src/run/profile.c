/* profile.c - rows from the model; the table and CAMI's profile */
#include <config.h>
#include "run/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* --- rows ------------------------------------------------------------------------- */
/* Of a taxon and all below it. */
struct sum {
	uint64_t first, final, direct, bases;   /* bases: called in the first pass */
	double reads;
	/* bases of species that are there; of those of them that have a whole genome; and these a
	 * stretch of it */
	double weight, whole, depth;
	double covered;
	const kh_presence *presence;
};

/* What is known of each species' references. */
struct lengths {
	uint64_t *stretches;
	bool *part;
};

static bool is_there(const kh_presence *p)
{
	return p && (p->verdict == KH_PRESENT || p->verdict == KH_DIVERGENT);
}

/* The reads of a species are its own fragments that were seen, divided by the share of them that
 * can be seen.  With too few to be judged they are those that were called. */
static double reads_of(const struct sum *s)
{
	const kh_presence *p = s->presence;

	if (p && p->verdict == KH_TOO_FEW)
		return (double)s->final;
	if (!p || p->seen == 0)
		return (double)s->direct;
	return (double)s->direct + (double)kh_fit_own(&p->fit) * 256.0 / (double)p->seen;
}

/* The share of the genome that reads cover which lie as evenly as these do. */
static double covered_by(const kh_presence *p, double bases, double genome)
{
	const double even = p && p->expected > 0 ? (double)p->found * 256 / (double)p->expected : 1;

	return (even < 1 ? even : 1) * -expm1(-bases / genome);
}

static void add_species(const kh_profile_input *in, const struct lengths *l, uint32_t t,
			struct sum *s)
{
	const double fragments = in->fragments > 0 ? (double)in->fragments : 1;
	const double each = s->first > 0 ? (double)s->bases / (double)s->first
					 : (double)in->bases / fragments;
	const double stretch = KH_STRETCH * (double)in->db->h->sampling.stride;

	s->reads = reads_of(s);
	s->covered = covered_by(s->presence, s->reads * each, (double)l->stretches[t] * stretch);
	s->weight = is_there(s->presence) ? s->reads * each : 0;
	s->whole = l->part[t] ? 0 : s->weight;
	s->depth = s->whole / (double)l->stretches[t];
}

static void add_up(const kh_profile_input *in, const struct lengths *l, struct sum *s)
{
	const kh_taxonomy *tax = in->db->tax;
	const kh_model *m = in->result->model;

	for (uint32_t t = 0; t < tax->n; t++)
		s[t] = (struct sum) { .first = in->result->first[t],
				      .final = in->tally->direct[t],
				      .direct = in->result->direct[t],
				      .bases = in->tally->bases[t] };
	for (uint32_t i = 0; i < m->n; i++)
		s[m->at[i].taxon].presence = &m->at[i];
	for (uint32_t t = tax->n - 1; t > 0; t--) {
		struct sum *above = &s[tax->parent[t]];

		if (tax->species[t] == t)
			add_species(in, l, t, &s[t]);
		above->first += s[t].first;
		above->final += s[t].final;
		above->direct += s[t].direct;
		above->bases += s[t].bases;
		above->reads += s[t].reads;
		above->weight += s[t].weight;
		above->whole += s[t].whole;
		above->depth += s[t].depth;
	}
}

static int count_distinct(const kh_profile_input *in, uint32_t species, uint64_t *n, kh_err *err)
{
	const kh_taxonomy *tax = in->db->tax;
	kh_distinct one;
	int rc;

	if (in->tally->distinct.n == 0)
		return KH_OK;
	rc = kh_distinct_init(&one, 1, err);
	for (uint32_t t = species; t < tax->end[species] && !rc; t++)
		rc = kh_distinct_join(&one, 0, &in->tally->distinct, t, err);
	if (!rc)
		*n = kh_distinct_count(&one, 0);
	kh_distinct_clear(&one);
	return rc;
}

static kh_profile_row row_of(const kh_profile *p, uint32_t t, const struct sum *s, bool part)
{
	const kh_taxonomy *tax = p->db->tax;
	uint32_t parent = tax->parent[t];

	while (parent != 0 && !kh_rank_letter(tax->rank[parent]))
		parent = tax->parent[parent];
	return (kh_profile_row) {
		.taxon = t,
		.parent = parent,
		.presence = s[t].presence,
		.first = s[t].first,
		.final = s[t].final,
		.reads = s[t].reads,
		.bases = p->bases > 0 ? s[t].weight / p->bases : 0,
		.genomes = s[0].depth > 0
				   ? s[0].whole / p->bases * (s[t].depth / s[0].depth) : 0,
		.part = part && is_there(s[t].presence),
		.covered = s[t].covered,
	};
}

/* Whatever is counted for a taxon is counted for its ancestors, so each of these has a row if its
 * rank has a letter. */
static int make_rows(kh_profile *p, const kh_profile_input *in, const struct sum *s,
		     const bool *part, kh_err *err)
{
	const kh_taxonomy *tax = in->db->tax;
	int rc = KH_OK;

	for (uint32_t t = 1; t < tax->n && !rc; t++) {
		kh_profile_row *r = &p->row[p->n];

		if (!kh_rank_letter(tax->rank[t]) ||
		    (tax->species[t] != KH_NO_TAXON && tax->species[t] != t) ||
		    (!s[t].first && !s[t].final && s[t].reads < 1))
			continue;
		*r = row_of(p, t, s, part[t]);
		if (tax->species[t] == t)
			rc = count_distinct(in, t, &r->distinct, err);
		p->n++;
	}
	return rc;
}

/* s[0]: of all taxa. */
static void sum_up(kh_profile *p, const kh_profile_input *in, const struct sum *s)
{
	p->first = in->fragments - s[0].first;
	p->final = in->fragments - s[0].final;
	p->named = s[0].reads;
	p->bases = s[0].weight > (double)in->bases ? s[0].weight : (double)in->bases;
	p->unknown_bases = p->bases > 0 ? 1 - s[0].weight / p->bases : 1;
	p->unknown_genomes = s[0].depth > 0 ? 1 - s[0].whole / p->bases : 1;
	p->changed = in->result->model->changes;
}

int kh_profile_make(kh_profile *p, const kh_profile_input *in, kh_err *err)
{
	const uint32_t n = in->db->tax->n;
	struct sum *s = kh_array(n, sizeof *s, err);
	const struct lengths l = { kh_array(n, sizeof *l.stretches, err),
				   kh_array(n, sizeof *l.part, err) };
	int rc = KH_ENOMEM;

	*p = (kh_profile) { .db = in->db, .fragments = in->fragments };
	p->row = kh_array(n, sizeof *p->row, err);
	if (s && l.stretches && l.part && p->row) {
		kh_species_stretches(in->db, l.stretches);
		rc = kh_species_parts(in->db, l.stretches, l.part, err);
	}
	if (!rc) {
		add_up(in, &l, s);
		sum_up(p, in, s);
		rc = make_rows(p, in, s, l.part, err);
	}
	free(l.stretches);
	free(l.part);
	free(s);
	if (rc)
		kh_profile_clear(p);
	return rc;
}

void kh_profile_clear(kh_profile *p)
{
	free(p->row);
	*p = (kh_profile) { .row = NULL };
}

double kh_profile_share(const kh_profile *p, double reads)
{
	const double all = p->named > (double)p->fragments ? p->named : (double)p->fragments;

	return all > 0 ? reads / all : 0;
}

/* --- text ------------------------------------------------------------------------- */
static const char *name_of(const kh_profile *p, uint32_t taxon)
{
	return p->db->tax->names + p->db->tax->name[taxon];
}

static double percent_off(uint32_t shape)
{
	return (1000 - kh_divergence[shape]) / 10.0;
}

bool kh_profile_has_ani(const kh_profile_row *r)
{
	const kh_presence *p = r->presence;

	return p && p->verdict != KH_TOO_FEW && p->fitted >= 5 * 256 &&
	       (p->fit.own || p->fit.weight[0] >= KH_WEIGHT_ONE / 2);
}

bool kh_profile_is_there(const kh_profile_row *r)
{
	return is_there(r->presence);
}

static const char *why_there(const kh_profile_row *r, double own, char text[KH_PROFILE_WHY])
{
	static const char part[] = "; no abundance by genomes, as its references are part of one";

	if (kh_profile_has_ani(r))
		snprintf(text, KH_PROFILE_WHY,
			 "%.1f %% of its fragments fit one strain at %.1f %% identity%s", own,
			 percent_off(r->presence->fit.shape[0]), r->part ? part : "");
	else
		snprintf(text, KH_PROFILE_WHY,
			 "its fragments are long ones, which do not tell how near it is%s",
			 r->part ? part : "");
	return text;
}

const char *kh_profile_why(const kh_profile_row *r, char text[KH_PROFILE_WHY])
{
	const kh_presence *p = r->presence;
	const double own = p ? (double)p->fit.weight[0] * 100 / KH_WEIGHT_ONE : 0;

	if (!p)
		return "no fragment with 8 features and more names it";
	switch (p->verdict) {
	case KH_PRESENT:
	case KH_DIVERGENT:
		return why_there(r, own, text);
	case KH_RELATIVE:
		if (p->seldom)
			return "too few of its fragments fit it alone: they fit a relative as well";
		if (!kh_profile_has_ani(r))
			return "most of its fragments fit nothing that is near it";
		snprintf(text, KH_PROFILE_WHY, "its fragments fit a relative at %.1f %% identity",
			 percent_off(p->fit.shape[0]));
		return text;
	case KH_ECHO:
		return "few beside those of a species of its family: what the two have in common";
	case KH_NARROW:
		snprintf(text, KH_PROFILE_WHY,
			 "%" PRIu64 " stretches where %.1f were to be expected", p->found,
			 (double)p->expected / 256);
		return text;
	case KH_TOO_FEW:
		break;
	}
	return "fewer than 5 fragments";
}

/* --- the table -------------------------------------------------------------------- */
static int add_presence(kh_buf *b, const kh_profile_row *r, kh_err *err)
{
	const kh_presence *p = r->presence;
	char why[KH_PROFILE_WHY];
	int rc;

	if (!kh_profile_has_ani(r))
		rc = kh_buf_string(b, "\t-\t-\t-", err);
	else
		rc = kh_buf_print(b, err, "\t%.1f\t%.1f\t%.1f", percent_off(p->fit.shape[0]),
				  percent_off(p->fit.high), percent_off(p->fit.low));
	if (rc)
		return rc;
	if (!p)
		return kh_buf_print(b, err, "\t-\t-\t%" PRIu64 "\t-\t-\t%s\n", r->distinct,
				    kh_profile_why(r, why));
	return kh_buf_print(b, err, "\t%" PRIu64 "\t%.1f\t%" PRIu64 "\t%.4f\t%s\t%s\n", p->found,
			    (double)p->expected / 256, r->distinct,
			    p->fit.total ? (double)p->share * 4 / (double)p->fit.total : 0.0,
			    kh_verdict_name(p->verdict), kh_profile_why(r, why));
}

static int add_row(const kh_profile *p, const kh_profile_row *r, kh_buf *b, kh_err *err)
{
	const kh_taxonomy *tax = p->db->tax;
	int rc = kh_buf_print(b, err, "%" PRIu32 "\t%s\t", tax->taxid[r->taxon],
			      kh_rank_name(tax->rank[r->taxon]));

	if (!rc)
		rc = kh_buf_string(b, name_of(p, r->taxon), err);
	if (!rc)
		rc = kh_buf_print(b, err, "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu64
				  "\t%.2f\t%.8f\t%.8f",
				  r->parent ? tax->taxid[r->parent] : 0, r->first, r->final,
				  r->reads, kh_profile_share(p, r->reads), r->bases);
	if (!rc)
		rc = r->part ? kh_buf_string(b, "\t-", err)
			     : kh_buf_print(b, err, "\t%.8f", r->genomes);
	if (rc)
		return rc;
	return tax->species[r->taxon] == r->taxon
		       ? add_presence(b, r, err)
		       : kh_buf_string(b, "\t-\t-\t-\t-\t-\t-\t-\t-\t-\n", err);
}

int kh_profile_table(const kh_profile *p, kh_buf *b, kh_err *err)
{
	const double unknown = (double)p->fragments > p->named ? (double)p->fragments - p->named
							       : 0.0;
	int rc = kh_buf_string(b,
			       "taxid\trank\tname\tparent\treads_first\treads_final\treads\tshare\t"
			       "abundance_reads\tabundance_genomes\tani\tani_low\tani_high\t"
			       "stretches\tstretches_expected\tdistinct_features\tmean_share\t"
			       "verdict\twhy\n",
			       err);

	for (size_t i = 0; i < p->n && !rc; i++)
		rc = add_row(p, &p->row[i], b, err);
	return rc ? rc
		  : kh_buf_print(b, err,
				 "0\t-\tunknown\t0\t%" PRIu64 "\t%" PRIu64
				 "\t%.2f\t%.8f\t%.8f\t%.8f\t-\t-\t-\t-\t-\t-\t-\t-\t%s\n",
				 p->first, p->final, unknown, kh_profile_share(p, unknown),
				 p->unknown_bases, p->unknown_genomes,
				 "what belongs to no species that was judged to be there");
}

/* --- CAMI's profile --------------------------------------------------------------- */
static const struct {
	char letter;
	const char *name;
} ranks[] = { { 'D', "superkingdom" }, { 'P', "phylum" }, { 'C', "class" },  { 'O', "order" },
	      { 'F', "family" },       { 'G', "genus" },  { 'S', "species" } };
enum { N_RANKS = sizeof ranks / sizeof *ranks };

static int rank_of(const kh_taxonomy *tax, uint32_t taxon)
{
	for (int i = 0; i < N_RANKS; i++)
		if (kh_rank_letter(tax->rank[taxon]) == ranks[i].letter)
			return i;
	return -1;
}

/* A bar stands between the parts of a path, so one in a name becomes '_', as merge has it. */
static int cami_name(kh_buf *b, const char *name, kh_err *err)
{
	const size_t from = b->n;
	int rc = kh_buf_string(b, name, err);

	for (size_t i = from; i < b->n && !rc; i++)
		if (b->p[i] == '|')
			b->p[i] = '_';
	return rc;
}

static int cami_path(const kh_profile *p, uint32_t taxon, int rank, bool names, kh_buf *b,
		     kh_err *err)
{
	const kh_taxonomy *tax = p->db->tax;
	uint32_t at[N_RANKS] = { 0 };
	int rc = kh_buf_string(b, "\t", err);

	for (; taxon != 0; taxon = tax->parent[taxon]) {
		const int i = rank_of(tax, taxon);

		if (i >= 0)
			at[i] = taxon;
	}
	for (int i = 0; i <= rank && !rc; i++) {
		if (i > 0)
			rc = kh_buf_string(b, "|", err);
		if (!rc && at[i])
			rc = names ? cami_name(b, name_of(p, at[i]), err)
				   : kh_buf_print(b, err, "%" PRIu32, tax->taxid[at[i]]);
	}
	return rc;
}

static int cami_rows(const kh_profile *p, int rank, kh_buf *b, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < p->n && !rc; i++) {
		const kh_profile_row *r = &p->row[i];

		if (rank_of(p->db->tax, r->taxon) != rank || !(r->genomes > 0))
			continue;
		rc = kh_buf_print(b, err, "%" PRIu32 "\t%s", p->db->tax->taxid[r->taxon],
				  ranks[rank].name);
		if (!rc)
			rc = cami_path(p, r->taxon, rank, false, b, err);
		if (!rc)
			rc = cami_path(p, r->taxon, rank, true, b, err);
		if (!rc)
			rc = kh_buf_print(b, err, "\t%.6f\n", 100 * r->genomes);
	}
	return rc;
}

int kh_profile_cami(const kh_profile *p, const char *sample, kh_buf *b, kh_err *err)
{
	int rc = kh_buf_string(b, "@SampleID:", err);

	if (!rc)
		rc = kh_buf_string(b, sample, err);
	if (!rc)
		rc = kh_buf_string(
			b,
			"\n@Version:0.10.0\n@Ranks:superkingdom|phylum|class|order|family|"
			"genus|species\n@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n",
			err);
	for (int rank = 0; rank < N_RANKS && !rc; rank++)
		rc = cami_rows(p, rank, b, err);
	return rc ? rc : kh_buf_print(b, err, "#unknown\t%.6f\n", 100 * p->unknown_genomes);
}
