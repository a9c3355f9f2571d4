/*
 * qualities.h - the share of k-mers without an error in long reads, by their qualities
 *
 * Long reads lack k-mers because of errors and of divergence alike.  Qualities give the part of the
 * errors, for sample/long.c.  Each worker counts for itself.
 */
#ifndef KH_SAMPLE_QUALITIES_H
#define KH_SAMPLE_QUALITIES_H

#include "seqio/batch.h"

typedef struct kh_qualities {
	uint64_t share;                 /* of k-mers without an error, 1/2^24, summed over reads */
	uint64_t reads;                 /* long ones with qualities */
	uint32_t least, most;           /* of kh_record.errors */
} kh_qualities;

/* Counts the long reads of a job, for k-mers of k bases. */
void kh_qualities_add(kh_qualities *q, const kh_job *job, uint32_t k);
void kh_qualities_join(kh_qualities *q, const kh_qualities *other);
/* The mean share, in 1/2^24; 0: not known, as if all qualities are the same. */
uint32_t kh_qualities_share(const kh_qualities *q);

#endif
