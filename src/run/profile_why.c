/*
 * profile_why.c - the verdict on a taxon, and the reason for it, in words
 */
#include <config.h>
#include "run/profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Text of at most KH_PROFILE_WHY - 1 bytes. */
typedef struct kh_why {
	char *text;
	size_t n;
} kh_why;

KH_PRINTF(2, 3) static void add(kh_why *w, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(w->text + w->n, KH_PROFILE_WHY - w->n, format, args);
	va_end(args);
	w->n = n < 0 || w->n + (size_t)n >= KH_PROFILE_WHY ? KH_PROFILE_WHY - 1 : w->n + (size_t)n;
}

/* --- species ----------------------------------------------------------------------- */
const char *kh_profile_name(const kh_profile *p, uint32_t taxon)
{
	return p->db->tax->names + p->db->tax->name[taxon];
}

/* What would make a low confidence a high one. */
static void add_doubt(const kh_presence *p, kh_why *w)
{
	const uint64_t rounded = (kh_presence_different(p) + 128) / 256;
	const uint64_t different = rounded < KH_SURE_READS ? rounded : KH_SURE_READS - 1;
	const double of = kh_profile_identity(p->fit.high), to = kh_profile_identity(p->fit.low);

	switch (p->doubt) {
	case KH_NO_DOUBT:
		break;
	case KH_DOUBT_READS:
		add(w, "; low: only %" PRIu64 " different read%s, yes needs %d",
		    different, kh_plural(different), KH_SURE_READS);
		break;
	case KH_DOUBT_SHARE:
		add(w, "; low: most reads that name it are of something else, yes needs more of "
		    "its own");
		break;
	case KH_DOUBT_IDENTITY:
		add(w, "; low: its identity is between %.1f and %.1f %%, yes needs more reads", of,
		    to);
		break;
	case KH_DOUBT_FAR:
		if (p->by_long)
			add(w, "; low: more than 4 %% from the nearest reference, yes needs less");
		else
			add(w, "; low: its identity may be %.1f %%, yes needs 93 %% or more", of);
		break;
	case KH_DOUBT_REST:
		add(w, "; low: %.1f %% of its reads fit nothing, yes needs 25 %% or less",
		    100 - (double)kh_fit_first(&p->fit) * 100 / KH_WEIGHT_ONE);
		break;
	}
}

static void why_there(const kh_profile_row *r, kh_why *w)
{
	const kh_presence *p = r->presence;

	if (kh_profile_has_identity(r))
		add(w, "%.*f %% of its reads fit one strain at %.1f %% identity",
		    p->called >= 1000, (double)p->fit.weight[0] * 100 / KH_WEIGHT_ONE,
		    kh_profile_identity(p->fit.shape[0]));
	else
		add(w, "its reads are too few of any length to tell how near it is");
	add_doubt(p, w);
}

/* Reads of the first pass, as what is not judged keeps its calls or loses them to what is. */
static void why_few(const kh_profile_row *r, kh_why *w)
{
	const kh_presence *p = r->presence;

	add(w, "%s: %" PRIu64 " read%s", kh_verdict_name(KH_TOO_FEW), p->called,
	    kh_plural(p->called));
	if (p->found > 0)
		add(w, " in %" PRIu64 " place%s", p->found, kh_plural(p->found));
	if (p->confidence == KH_LOW && p->found >= KH_SURE_READS)
		add(w, ", near it, among others that are not; no abundance of so few");
	else if (p->called > 0 && p->confidence == KH_LOW)
		add(w, ", near it; no abundance of so few; yes needs %d different ones",
		    KH_SURE_READS);
	else
		add(w, p->called > 0 ? ", not near enough to a reference; more would tell"
				     : "; others fit these, too");
}

static void why_relative(const kh_profile_row *r, kh_why *w)
{
	const kh_presence *p = r->presence;
	const char *name = kh_verdict_name(KH_RELATIVE);

	if (p->refuted)
		add(w, "%s: too little of its genome has reads that fit it alone", name);
	else if (kh_profile_has_identity(r))
		add(w, "%s, at %.1f %% identity", name,
		    kh_profile_identity(p->fit.shape[0]));
	else
		add(w, "%s: most of them fit nothing near it", name);
}

static const char *why_species(const kh_profile *of, const kh_profile_row *r,
			       char text[KH_PROFILE_WHY])
{
	const kh_presence *p = r->presence;
	kh_why w = { text, 0 };

	if (!p)
		return "its reads are too short to be judged: none has 8 features";
	switch (p->verdict) {
	case KH_PRESENT:
	case KH_DIVERGENT:
		why_there(r, &w);
		break;
	case KH_RELATIVE:
		why_relative(r, &w);
		break;
	case KH_ECHO:
		add(&w, "shared with %.200s, of which there is far more",
		    kh_profile_name(of, p->rival));
		break;
	case KH_NARROW:
		add(&w, "in %" PRIu64 " place%s only (plasmid, phage?), where %.1f were to be "
		    "expected", p->found, kh_plural(p->found), (double)p->expected / 256);
		break;
	case KH_TOO_FEW:
		why_few(r, &w);
		break;
	}
	if (r->part && r->detected >= KH_DETECTED_LOW)
		add(&w, "; %sits references are part of a genome: %" PRIu64 " bases, a plasmid or "
		    "fragment", p->verdict == KH_TOO_FEW ? "" : "no abundance, as ", r->genome);
	return text;
}

/* --- unknown organisms -------------------------------------------------------------- */
const char *kh_profile_unknown_name(const kh_profile *of, const kh_profile_unknown *u,
				    char text[KH_PROFILE_WHY])
{
	snprintf(text, KH_PROFILE_WHY, "unknown %s of %.200s", u->family ? "genus" : "species",
		 kh_profile_name(of, u->taxon));
	return text;
}

const char *kh_profile_unknown_why(const kh_profile *of, const kh_profile_unknown *u,
				   char text[KH_PROFILE_WHY])
{
	kh_why w = { text, 0 };

	add(&w, "%" PRIu64 " read%s are like proteins of %.100s only, all over the genome",
	    u->is.fragments, kh_plural(u->is.fragments), kh_profile_name(of, u->taxon));
	for (int i = 0; i < 2 && u->is.nearest[i] != KH_NO_TAXON; i++)
		add(&w, "%s%.100s", i ? ", " : "; nearest to ",
		    kh_profile_name(of, u->is.nearest[i]));
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
		snprintf(text, KH_PROFILE_WHY, "%s: they are like those of %.90s and %.90s, which "
			 "are not there", kh_profile_verdict(r), name,
			 kh_profile_name(of, r->like[1]));
	else
		snprintf(text, KH_PROFILE_WHY, "%s: they are like those of %.200s, which is not "
			 "there", kh_profile_verdict(r), name);
}

static const char *why_above(const kh_profile *of, const kh_profile_row *r,
			     char text[KH_PROFILE_WHY])
{
	const char *little = r->detected == KH_DETECTED_LOW ? ", by little evidence" : "";

	if (r->unknown) {
		char name[KH_PROFILE_WHY];

		kh_profile_unknown_name(of, r->unknown, name);
		snprintf(text, KH_PROFILE_WHY, "%.200s is there", name);
		return r->unknown->taxon == r->taxon
			       ? kh_profile_unknown_why(of, r->unknown, text) : text;
	}
	if (r->translated > 0) {
		snprintf(text, KH_PROFILE_WHY, "%" PRIu64 " read%s are like its proteins only, too "
			 "few or too unlike for an unknown species", r->translated,
			 kh_plural(r->translated));
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
