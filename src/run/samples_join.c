#include <config.h>
#include "run/samples_in.h"

struct sample_slot *sample_to_join(struct sample_slot *slot, unsigned n, unsigned share)
{
	struct sample_slot *best = NULL, *opening = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct sample_slot *t = &slot[i], **least = t->opening ? &opening : &best;

		if ((t->opening || t->joinable) && (!*least || t->workers < (*least)->workers))
			*least = t;
	}
	if (best && opening && best->workers >= share && opening->workers < best->workers)
		return NULL;
	return best;
}
