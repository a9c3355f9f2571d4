/* slots.h - samples under way, and which of them a worker joins */
#ifndef KH_RUN_SLOTS_H
#define KH_RUN_SLOTS_H

#include "run/flow.h"

/* A sample under way, or a place for one. */
typedef struct kh_slot {
	bool used, opening, joinable;
	/* number of the sample, and of its reads that are being read now */
	size_t sample, reads;
	unsigned workers;
	kh_worker_fn *work;             /* what a worker that joins does: kh_flow_work, _rewrite */
	kh_monitor *m;
	kh_feed *feed;
	kh_flow flow;
	kh_results results;
	double started;
} kh_slot;

/* The sample with the fewest workers; NULL: none, or it is being opened, and the others have as
 * many workers as each is to have. Otherwise all workers without one would join the sample that is
 * opened first. */
static inline kh_slot *kh_slot_to_join(kh_slot *slot, unsigned n, unsigned each)
{
	kh_slot *best = NULL, *opening = NULL;

	for (unsigned i = 0; i < n; i++) {
		kh_slot *t = &slot[i], **least = t->opening ? &opening : &best;

		if ((t->opening || t->joinable) && (!*least || t->workers < (*least)->workers))
			*least = t;
	}
	if (best && opening && best->workers >= each && opening->workers < best->workers)
		return NULL;
	return best;
}

#endif
