/*
 * profile.h - the profile of a sample: a row for each taxon, as a table
 *
 * It is made from the model of the second pass (pass.h). The reads of a species are those that
 * the model gives it, and the fragments without a class that were called that species.  Only a
 * species that was judged to be there has an abundance; the rest of the sample is unknown.
 */
#ifndef KH_RUN_PROFILE_H
#define KH_RUN_PROFILE_H

#include "run/results.h"

/* Was a species judged to be there?  Of a taxon above: the surest of its species. */
enum kh_detected { KH_NOT_JUDGED, KH_NOT_DETECTED, KH_DETECTED_LOW, KH_DETECTED };
/* "-", "no", "low" (it is there, by little evidence) and "yes" */
const char *kh_detected_name(enum kh_detected d);

/* An organism whose genus, or family, is known by its proteins, and that is no species, or genus,
 * of the database. */
typedef struct kh_profile_unknown {
	uint32_t taxon;                 /* the genus or family */
	bool family;
	kh_unknown is;
} kh_profile_unknown;

typedef struct kh_profile_row {
	uint32_t taxon;
	uint32_t parent;                /* the nearest ancestor that has a row; 0: none */
	const kh_presence *presence;    /* of a species; NULL above, or if it has none */
	enum kh_detected detected;
	/* Its species that are detected as it is: how many, and the two with most reads, or, if
	 * they are not there, with most reads in the first pass.  lead: what is known of the first
	 * one; NULL: nothing. */
	uint32_t n_like, like[2];
	const kh_presence *lead;
	/* fragments called the taxon or one below, in the first and in the second pass */
	uint64_t first, final;
	double reads;                   /* by the model */
	double different;               /* reads, those in one place once; of species */
	/* The abundance: share of the sample's bases, and the same by genomes. */
	double bases, genomes;
	bool part;                      /* its references are part of a genome only */
	uint64_t genome;                /* bases of it; of species */
	double covered;                 /* share of the genome that its reads cover; of species */
	uint64_t distinct;              /* different features; for species only */
	uint64_t translated;            /* of a genus: called it by translated seeds alone */
	/* the unknown organism with most fragments, of this taxon or one below it; NULL: none */
	const kh_profile_unknown *unknown;
} kh_profile_row;

typedef struct kh_profile {
	const kh_db *db;
	kh_profile_row *row;            /* taxa whose rank has a letter, in preorder */
	size_t n;
	kh_profile_unknown *unknown;    /* the most fragments first */
	size_t n_unknown;
	uint64_t fragments, first, final; /* first, final: of these unclassified */
	double named;                   /* reads of all species, at most all */
	/* abundance of what is unknown: all abundances add up to one with it */
	double unknown_bases, unknown_genomes;
	double bases;                   /* of the sample */
	bool changed;                   /* calls */
} kh_profile;

/* Of a sample that had a second pass. */
int kh_profile_make(kh_profile *p, const kh_db *db, const kh_results *r, kh_err *err);
void kh_profile_clear(kh_profile *p);

/* The share of `reads` in all fragments. */
double kh_profile_share(const kh_profile *p, double reads);
/* Has it an abundance by genomes?  A species has none if it has too few reads, or is there and its
 * references are part of a genome only.  A taxon above has none if none of its species has one. */
bool kh_profile_has_abundance(const kh_profile_row *r);

/* profile_text.c: makes it and appends its table to b. */
int kh_profile_table(kh_buf *b, const kh_db *db, const kh_results *r, kh_err *err);
/* Is there an estimate of its identity?  In per cent it is that of its fit's first shape. */
bool kh_profile_has_identity(const kh_profile_row *r);
double kh_profile_identity(uint32_t shape);
/* The share of its residues that its relatives have as well. */
double kh_profile_residues(const kh_profile_unknown *u);
/* profile_why.c */
enum { KH_PROFILE_WHY = 400 };
/* "unknown species of Vibrio", and what it is like, in words. */
const char *kh_profile_unknown_name(const kh_profile *p, const kh_profile_unknown *u,
				    char text[KH_PROFILE_WHY]);
const char *kh_profile_unknown_why(const kh_profile *p, const kh_profile_unknown *u,
				   char text[KH_PROFILE_WHY]);
const char *kh_profile_name(const kh_profile *p, uint32_t taxon);
/* The verdict in plain words, or "-"; of a taxon above species, that of like[0]. */
const char *kh_profile_verdict(const kh_profile_row *r);
/* The reason for what is detected, in words. */
const char *kh_profile_why(const kh_profile *p, const kh_profile_row *r,
			   char text[KH_PROFILE_WHY]);

#endif
