#include <config.h>
#include "run/slots.h"

kh_slot *kh_slot_to_join(kh_slot *slot, unsigned n, unsigned each)
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
