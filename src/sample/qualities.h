/*
 * qualities.h - the share of features that errors leave in long reads, by their qualities
 *
 * Long reads lack features by errors and by divergence alike; so the model (sample/long.c) is told
 * what share of features errors leave.  Each worker counts for itself.
 */
#ifndef KH_SAMPLE_QUALITIES_H
#define KH_SAMPLE_QUALITIES_H

#include "seqio/batch.h"

typedef struct kh_qualities {
	uint64_t share;                 /* of features, in 1/2^24: the sum over reads */
	uint64_t reads;                 /* long ones with qualities */
	uint32_t least, most;           /* kh_record.errors */
} kh_qualities;

/* Counts the long reads of a job. */
void kh_qualities_add(kh_qualities *q, const kh_job *job, uint32_t k);
void kh_qualities_join(kh_qualities *q, const kh_qualities *other);
/* The mean share of features that errors leave, in 1/2^24; 0: not known, as where all qualities
 * are the same. */
uint32_t kh_qualities_share(const kh_qualities *q);

#endif
