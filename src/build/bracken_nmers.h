/*
 * bracken_nmers.h - N-mers of references as the fragments of a job
 *
 * They are copied out of the sequence because a backend expects each fragment to begin at a word.
 *
 * The features of a read are those of its k-mers that are syncmers, and its call depends on these
 * alone.  Most N-mers have the same features as the one that begins a base earlier: such a run
 * is classified once.  (With minhash, or if N-mers are longer than a segment, each is classified.)
 */
#ifndef KH_BUILD_BRACKEN_NMERS_H
#define KH_BUILD_BRACKEN_NMERS_H

#include "classify/backend.h"

/* A run of N-mers that share one call: their sequence, and how many they are. */
typedef struct kh_nmer {
	uint64_t seq, n;
} kh_nmer;

/* Room for N-mers of one length at a time. */
typedef struct kh_nmers {
	kh_task task;
	kh_job job;                     /* .n: how many there are */
	kh_block block;
	kh_call *call;
	kh_nmer *of;
	unsigned number;                /* of the length, among those that are wanted */
	uint32_t length;
	size_t most;                    /* of this length */
	size_t words, n;                /* allocated */
} kh_nmers;

/* Room for about `bases` of N-mers of `shortest` bases and more; zero it first. */
int kh_nmers_open(kh_nmers *x, size_t bases, uint32_t shortest, kh_err *err);
void kh_nmers_close(kh_nmers *x);
/* Empties it, and sets the length of its N-mers. */
void kh_nmers_start(kh_nmers *x, unsigned number, uint32_t length);
/* Adds the N-mer at base `at` of b to those of x, fewer than x->most. Returns its run, whose n the
 * caller raises for each further N-mer with the same features. */
kh_nmer *kh_nmers_add(kh_nmers *x, const kh_block *b, uint64_t at, uint64_t seq);

#endif
