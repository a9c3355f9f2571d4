/* route.c - puts the features of a round in order of owners, or of an index on the host */
#include <config.h>
#include "cuda/engine/rounds.h"

/* Where a device reads the index itself: the first 24 bits tell places apart that are some hundred
 * bytes, or, in a large index, a page of the host's memory away from each other. */
enum { BY_PLACE = KH_KEY_BITS - 24 };

int kh_side_scratch(kh_side *s, size_t bytes, uint64_t n, kh_err *err)
{
	if (bytes == 0)
		return kh_fail(err, KH_EDEVICE, "cuda:%d: %llu numbers cannot be sorted or summed",
			       s->c->device, (unsigned long long)n);
	return kh_gpu_room(&s->sorting, bytes, err);
}

/* The number of features is known to the device alone, so all that there could be are sorted. */
int kh_side_route(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	const unsigned self = kh_gpu_comm_first(r->m->comm) + (unsigned)i;
	const int from = r->m->own ? BY_PLACE : KH_RANGE_BIT;
	int rc = kh_gpu_use(s->c->device, err);

	if (rc || (rc = kh_side_room(&s->out, s->features, 8, err)) ||
	    (rc = kh_side_room(&s->place, s->features, 4, err)) ||
	    (rc = kh_side_room(&s->order, s->features, 4, err)) ||
	    (rc = kh_side_scratch(s, kh_gpu_route_scratch(s->features, from), s->features,
				  err)))
		return rc;
	kh_gpu_route route = { .key = s->key.p,
			       .n = s->dev.features,
			       .bound = s->features,
			       .from = from,
			       .members = r->m->n,
			       .flag = r->last ? KH_ROUND_LAST : 0,
			       .sent = s->dev.sent,
			       .out = s->out.p,
			       .place = s->place.p,
			       .order = s->order.p,
			       .scratch = s->sorting.p,
			       .scratch_bytes = s->sorting.bytes };
	for (unsigned m = 0; m <= r->m->n; m++)
		route.first[m] = !r->m->own ? r->m->e->shards.first[m] : m > self ? KH_RANGES : 0;
	return kh_gpu_check(kh_gpu_route_run(&route, r->stream[i]), "sorting of features", err);
}
