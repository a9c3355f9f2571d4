/*
 * batch.h - sequences that are in memory already, as a job
 *
 * They are packed as the reader packs those of files, by the same functions, so a backend cannot
 * tell one job from the other.  Nothing but the bases is kept.
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
	kh_parsed parsed;               /* its mask may be set by the caller */
	kh_block block;
	kh_job job;                     /* of what has been added, when kh_batch_job was called */
	size_t n;                       /* fragments */
	uint64_t bases;
} kh_batch;

/* Adds a fragment: a sequence, or, if mate->p is not NULL, two. All fragments of a batch have a
 * mate, or none has. `number`: the number of the fragment in messages, counted from 0. */
int kh_batch_add(kh_batch *b, const kh_bases *seq, const kh_bases *mate, uint64_t number,
		 kh_err *err);
/* The job of all that was added, which is at least one fragment; lent until the next call. */
const kh_job *kh_batch_job(kh_batch *b);
/* Empties it; its memory stays for what is added next. */
void kh_batch_reset(kh_batch *b);
void kh_batch_free(kh_batch *b);

#endif
