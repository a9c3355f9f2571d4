/* samples_in.h - samples under way, and which of them a worker joins */
#ifndef KH_RUN_SAMPLES_IN_H
#define KH_RUN_SAMPLES_IN_H

#include "run/flow.h"

/* A sample under way, or room for one. */
struct sample_slot {
	bool used, opening, joinable;
	/* number of the sample, and of its reads that are being read now */
	size_t sample, reads;
	unsigned workers;
	kh_monitor *m;
	kh_feed *feed;
	kh_flow flow;
	kh_results results;
	double started;
};

/* The sample with the fewest workers; NULL: none, or it is being opened, and the others have their
 * share. Otherwise all workers without one would join the sample that is opened first. */
struct sample_slot *sample_to_join(struct sample_slot *slot, unsigned n, unsigned share);

#endif
