/*
 * answer.h - what one part of a collection says of a fragment
 *
 * A database may be one part of a collection.  A fragment whose seeds are in the index of one part
 * alone is compared with the same places by that part and by a database of all, so both decide
 * alike, but for the least score of a call, which follows from the bases of all.  So the answer has
 * the score, and is taken where the least score of the part and that of all say the same of it.
 *
 * With seeds in several parts, which places are compared, and how far, hangs on what all of them
 * have.  A fragment of one segment gets the answer of one part, the leader, all the same if no
 * region that the others have would be compared: if the score that each could have, by the seeds it
 * lacks, is below all that was asked for by the leader (match_place.h: kh_places_from), which then
 * comes to its end by the same steps.  That is so with the seeds that are looked up first, if they
 * suffice for the leader; or with all, if the others have none of the first ones, and so do not
 * change that these do not suffice.  Nor does a part count that has no place: its text lacks the
 * seeds, which the index found by chance, so its regions add nothing when they are compared, as
 * long as they do not crowd out others.  No list may have been passed over, nor may one be where
 * those of all parts are put together.
 */
#ifndef KH_CLASSIFY_ANSWER_H
#define KH_CLASSIFY_ANSWER_H

#include <stdbool.h>
#include "classify/rule.h"

#define KH_LEVELS 32            /* least scores, by the logarithm of a fragment's seeds */

enum {
	KH_ANSWER_FEW = 15,             /* candidates of a mate that may stand behind */
	KH_ANSWER_OTHERS = 8,           /* parts that do */
	KH_ANSWER_MOST = 112,           /* candidates of a mate of the leader */
	KH_ANSWER_LOAD = 16             /* all `load` of a mate: no mate is crowded */
};

typedef struct kh_answer {
	kh_call call;           /* without a regard to confidence; `found` is 0 */
	uint32_t score;         /* of the best claim; 0: there is none */
	uint8_t level;          /* the least score is this one; of several segments, the last one */
	bool any;               /* the index has seeds of it */
	/* of one segment: the scores that regions of each mate could have, at most; 0: it has none;
	 * by the seeds that are looked up first, or, if there are none of these (late), by all; no
	 * list is passed over, and there are KH_ANSWER_FEW candidates at most (few) */
	uint16_t bound[2];
	bool late, few;
	/* it may be the leader, with the first seeds, or, if it was settled later, with all;
	 * regions of each mate with this score and more are compared */
	bool leads, later;      /* with score 0: it counts for nothing beside others */
	uint16_t need[2];
	uint8_t load[2];        /* of each mate, regions and places; of one without places,
				 * candidates */
	/* of one that is to be taken: it must be compared after all */
	bool open;
	kh_candidates wanted;   /* if they are wanted */
} kh_answer;

#endif
