/*
 * profile_why.c - the verdict on a taxon, and the reason for it, in words
 */
#include <config.h>
#include "run/profile.h"

#include <inttypes.h>
#include <stdio.h>

const char *kh_profile_name(const kh_profile *p, uint32_t taxon)
{
	return p->db->tax->names + p->db->tax->name[taxon];
}

static void why_there(const kh_profile_row *r, char text[KH_PROFILE_WHY])
{
	const char *part = r->part ? "; no abundance, as its references are part of a genome" : "";

	if (kh_profile_has_identity(r))
		snprintf(text, KH_PROFILE_WHY, "%.1f %% of its reads fit one strain at %.1f %% "
			 "identity%s", (double)r->presence->fit.weight[0] * 100 / KH_WEIGHT_ONE,
			 kh_profile_identity(r->presence->fit.shape[0]), part);
	else
		snprintf(text, KH_PROFILE_WHY,
			 "its reads are too few of any length to tell how near it is%s", part);
}

static void why_relative(const kh_profile_row *r, char text[KH_PROFILE_WHY])
{
	const kh_presence *p = r->presence;
	const char *name = kh_verdict_name(KH_RELATIVE);

	if (p->refuted)
		snprintf(text, KH_PROFILE_WHY, "%s: too few of its reads fit it alone", name);
	else if (kh_profile_has_identity(r))
		snprintf(text, KH_PROFILE_WHY, "%s: its reads fit one at %.1f %% identity", name,
			 kh_profile_identity(p->fit.shape[0]));
	else
		snprintf(text, KH_PROFILE_WHY, "%s: most of its reads fit nothing near it", name);
}

/* --- species ----------------------------------------------------------------------- */
static const char *why_species(const kh_profile *of, const kh_profile_row *r,
			       char text[KH_PROFILE_WHY])
{
	const kh_presence *p = r->presence;

	if (!p)
		return "its reads are too short to be judged: none has 8 features";
	switch (p->verdict) {
	case KH_PRESENT:
	case KH_DIVERGENT:
		why_there(r, text);
		break;
	case KH_RELATIVE:
		why_relative(r, text);
		break;
	case KH_ECHO:
		snprintf(text, KH_PROFILE_WHY, "shared with %.200s, of which there is far more",
			 kh_profile_name(of, p->rival));
		break;
	case KH_NARROW:
		snprintf(text, KH_PROFILE_WHY, "in %" PRIu64 " places only (plasmid, phage?), "
			 "where %.1f were to be expected", p->found, (double)p->expected / 256);
		break;
	case KH_TOO_FEW:
		if (p->confidence == KH_LOW)
			snprintf(text, KH_PROFILE_WHY, "%s: %" PRIu64 ", which are near it",
				 kh_verdict_name(KH_TOO_FEW), p->near);
		else
			snprintf(text, KH_PROFILE_WHY, "%s: fewer than 5",
				 kh_verdict_name(KH_TOO_FEW));
		break;
	}
	return text;
}

/* --- what is above them ------------------------------------------------------------ */
/* It is like its first species, or its first two. */
static void why_absent(const kh_profile *of, const kh_profile_row *r, char text[KH_PROFILE_WHY])
{
	const char *name = kh_profile_name(of, r->like[0]);

	if (r->lead->verdict == KH_ECHO)
		snprintf(text, KH_PROFILE_WHY, "shared with %.90s, of which there is far more: "
			 "reads like those of %.90s, which is not there",
			 kh_profile_name(of, r->lead->rival), name);
	else if (r->n_like > 1)
		snprintf(text, KH_PROFILE_WHY, "%s: reads like those of %.90s and %.90s, which are "
			 "not there", kh_profile_verdict(r), name, kh_profile_name(of, r->like[1]));
	else
		snprintf(text, KH_PROFILE_WHY, "%s: reads like those of %.200s, which is not there",
			 kh_profile_verdict(r), name);
}

static const char *why_above(const kh_profile *of, const kh_profile_row *r,
			     char text[KH_PROFILE_WHY])
{
	const char *little = r->detected == KH_DETECTED_LOW ? ", by little evidence" : "";

	if (r->translated > 0) {
		snprintf(text, KH_PROFILE_WHY, "new species of %.200s? %" PRIu64 " reads are like "
			 "its proteins only", kh_profile_name(of, r->taxon), r->translated);
		return text;
	}
	switch (r->detected) {
	case KH_DETECTED:
	case KH_DETECTED_LOW:
		if (r->n_like > 1)
			snprintf(text, KH_PROFILE_WHY, "%" PRIu32 " of its species are there%s, "
				 "most of all %.200s", r->n_like, little,
				 kh_profile_name(of, r->like[0]));
		else
			snprintf(text, KH_PROFILE_WHY, "%.200s is there%s",
				 kh_profile_name(of, r->like[0]), little);
		return text;
	case KH_NOT_DETECTED:
		why_absent(of, r, text);
		return text;
	case KH_NOT_JUDGED:
		break;
	}
	return r->n_like > 0 ? "none of its species has enough reads to be judged"
			     : "none of its reads names a species";
}

const char *kh_profile_verdict(const kh_profile_row *r)
{
	return r->lead ? kh_verdict_name(r->lead->verdict) : "-";
}

const char *kh_profile_why(const kh_profile *of, const kh_profile_row *r,
			   char text[KH_PROFILE_WHY])
{
	const bool species = of->db->tax->species[r->taxon] == r->taxon;

	return species ? why_species(of, r, text) : why_above(of, r, text);
}
