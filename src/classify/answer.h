/*
 * answer.h - what one volume of a collection says of a fragment
 *
 * A collection may be too large for one machine: then it has several databases, its volumes, each
 * of which classifies the reads by itself.  What all of them together would say follows from their
 * answers in most cases:
 *
 *	one volume alone has seeds of the fragment
 *		It compares the same places as a database of the whole collection would, so both
 *		have the same best score.  Only the least score of a call differs, as it follows
 *		from the bases of all.  The answer has the score, and is taken if both least scores
 *		decide alike.
 *	several volumes have seeds, and the fragment is one segment
 *		One volume leads.  Its answer is taken if no region of the others would be
 *		compared: if the score that each of these could have, by the seeds it lacks, is
 *		below the score that the leader's regions had to reach (match_place.h:
 *		kh_regions_compare_from).  That holds for the seeds that are looked up first, if
 *		they suffice for the leader; or for all seeds, if the others have none of the
 *		first ones.  A volume whose text has no place for its seeds counts as none: the
 *		index found these by chance.  No list may have been passed over, in one volume or
 *		where the lists of all are put together.
 *	else
 *		The fragment is open: it is compared with all volumes.
 */
#ifndef KH_CLASSIFY_ANSWER_H
#define KH_CLASSIFY_ANSWER_H

#include <stdbool.h>
#include "classify/rule.h"

#define KH_LEVELS 32            /* least scores, by the logarithm of a fragment's seeds: kh_least */

enum {
	KH_ANSWER_FEW = 15,             /* anchors of a mate that may stand behind */
	KH_ANSWER_OTHERS = 8,           /* volumes that do */
	KH_ANSWER_MOST = 112,           /* anchors of a mate of the leader */
	KH_ANSWER_LOAD = 16             /* all `load` of a mate: no mate is crowded */
};

/* Bits of an answer. */
enum {
	KH_ANSWER_ANY = 1,              /* the index has seeds of the fragment */
	/* of one segment: it has none of the seeds that are looked up first, the early ones; */
	KH_ANSWER_NONE_EARLY = 2,
	/* no list is passed over, and there are KH_ANSWER_FEW anchors at most; */
	KH_ANSWER_SMALL = 4,
	/* it may be the leader, or, with score 0, counts for nothing beside others, */
	KH_ANSWER_LEADS = 8,
	KH_ANSWER_ALL_SEEDS = 16,       /* settled with all seeds, and not with the early ones */
	KH_ANSWER_PLACED = 32,          /* it has a score */
	KH_ANSWER_BITS = 63,
	KH_ANSWER_OPEN = 64,            /* of one that is to be taken: it must be compared */
	/* of a load: all regions of the mate are far behind, by whatever seeds */
	KH_ANSWER_FAR = 128
};

/* So much below the length of a mate is the score of a region that is far behind: more than chance
 * seeds leave it, and than a few mismatches take away. */
static inline uint32_t kh_answer_far(uint32_t len)
{
	return len / 20;
}

typedef struct kh_answer {
	kh_call call;           /* without a regard to confidence; `found` is 0 */
	uint32_t score;         /* of the best claim; 0: there is none */
	/* of one segment: the scores that regions of each mate could have, at most; 0: it has none;
	 * by the seeds that are looked up first, or, if it is late, by all */
	uint16_t bound[2];
	uint16_t need[2];       /* of a leader: regions with this score and more are compared */
	/* of each mate of a leader, regions and places, or, without places, anchors, 127 at
	 * most; and KH_ANSWER_FAR */
	uint8_t load[2];
	uint8_t level;          /* the least score is this one; of several segments, the last one */
	uint8_t bits;           /* KH_ANSWER_... */
} kh_answer;

static_assert(sizeof(kh_answer) == 32, "there are many");

#endif
