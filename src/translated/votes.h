/*
 * votes.h - the genus of a long fragment by its parts, two at a time: kmerhash-method(7)
 */
#ifndef KH_TRANSLATED_VOTES_H
#define KH_TRANSLATED_VOTES_H

#include <stddef.h>
#include "translated/section.h"

/* By how much genera have been best, each in some pairs of parts. */
typedef struct kh_votes {
	size_t pairs;                   /* of parts so far; 0: nothing is under way */
	struct kh_votes_genus {
		uint32_t genus;
		uint64_t ahead, family;
	} *v;
	size_t n, cap;
} kh_votes;

void kh_votes_clear(kh_votes *t);
/* Of a pair of parts a genus, or KH_NO_TAXON, by how much it is ahead of others, and its family of
 * other families. */
int kh_votes_add(kh_votes *t, uint32_t genus, uint32_t ahead, uint32_t family, kh_err *err);
/* The taxon that all parts are called, or KH_NO_TAXON; then nothing is under way. */
uint32_t kh_votes_end(kh_votes *t, const kh_translated *of);

#endif
