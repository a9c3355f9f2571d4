/*
 * profile.h - what is in a sample: a row a taxon, as a table, as JSON, as CAMI's profile
 *
 * From the model of the second pass (second.h).  Reads of a species are those that are its own by
 * the model, and of the fragments that have no class those that were called it.
 */
#ifndef KH_RUN_PROFILE_H
#define KH_RUN_PROFILE_H

#include "run/second.h"

typedef struct kh_profile_row {
	uint32_t taxon;
	const kh_presence *presence;    /* of a species; NULL above, or if it has none */
	uint64_t first, final;          /* fragments called it or below, in either pass */
	double reads;                   /* by the model */
	double genomes;                 /* reads a base, among all that is named: a share */
	uint64_t distinct;              /* features; of species */
} kh_profile_row;

typedef struct kh_profile {
	const kh_db *db;
	kh_profile_row *row;            /* taxa whose rank has a letter, in preorder */
	size_t n;
	uint64_t fragments, first, final; /* first, final: of these unclassified */
	double named;                   /* reads of all species */
	bool changed;                   /* calls */
} kh_profile;

typedef struct kh_profile_input {
	const kh_db *db;
	const kh_second_result *result;
	const kh_tally *tally;          /* final */
	uint64_t fragments;
} kh_profile_input;

int kh_profile_make(kh_profile *p, const kh_profile_input *in, kh_err *err);
void kh_profile_clear(kh_profile *p);

/* Each appends to b. */
int kh_profile_table(const kh_profile *p, kh_buf *b, kh_err *err);
int kh_profile_cami(const kh_profile *p, const char *sample, kh_buf *b, kh_err *err);
/* Is there an identity to tell? */
bool kh_profile_has_ani(const kh_profile_row *r);
/* What stands in the column `why`, in words. */
const char *kh_profile_why(const kh_profile_row *r, char text[160]);
/* Among `named`, or of all fragments. */
double kh_profile_share(const kh_profile *p, double reads);

#endif
