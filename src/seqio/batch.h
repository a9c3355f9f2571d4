/*
 * batch.h - sequences that are in memory already, as a job
 *
 * The functions that pack the reader's sequences pack these, so a backend cannot distinguish the
 * job from one of a file.  Names and qualities are not kept.
 */
#ifndef KH_SEQIO_BATCH_H
#define KH_SEQIO_BATCH_H

#include "seqio/reader.h"

typedef struct kh_bases {
	const char *p;
	size_t n;
} kh_bases;

/* Zero it first. */
typedef struct kh_batch {
	kh_parsed parsed;               /* the caller may set its mask */
	kh_block block;
	kh_job job;                     /* of the last kh_batch_job */
	size_t n;                       /* fragments */
	uint64_t bases;
} kh_batch;

/* Adds a fragment: a sequence, or, if mate->p is not NULL, two. All fragments of a batch have a
 * mate, or none has. `number`: the number of the fragment in messages, counted from 0. */
int kh_batch_add(kh_batch *b, const kh_bases *seq, const kh_bases *mate, uint64_t number,
		 kh_err *err);
/* The job of all fragments that were added, at least one; lent until the next call. */
const kh_job *kh_batch_job(kh_batch *b);
/* Empties it; its memory is used again. */
void kh_batch_reset(kh_batch *b);
void kh_batch_free(kh_batch *b);

#endif
