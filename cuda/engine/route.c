/* route.c - puts the features of a round in order of owners, or of an index on the host */
#include <config.h>
#include "cuda/engine/rounds.h"

#include <string.h>

int kh_side_scratch(kh_side *s, size_t bytes, uint64_t n, kh_err *err)
{
	if (bytes == 0)
		return kh_fail(err, KH_EDEVICE, "cuda:%d: %llu numbers cannot be sorted or summed",
			       s->c->device, (unsigned long long)n);
	return kh_gpu_room(&s->room, bytes, err);
}

static int to_owners(kh_round *r, size_t i, kh_err *err)
{
	const kh_side *s = &r->side[i];
	kh_gpu_route route = { .key = s->key.p,
			       .n = s->dev.features,
			       .members = r->m->n,
			       .flag = r->last ? KH_ROUND_LAST : 0,
			       .sent = s->dev.sent,
			       .taken = s->dev.taken,
			       .out = s->out.p,
			       .place = s->place.p };

	memcpy(route.owner, r->m->owner, sizeof route.owner);
	return kh_gpu_check(kh_gpu_route_run(&route, r->stream[i]), "routing of features", err);
}

/* The number of features is known to the device alone, so all that there could be are sorted. */
static int in_order(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	int rc = kh_side_room(&s->order, s->features, 4, err);

	if (!rc)
		rc = kh_side_scratch(s, kh_gpu_order_room(s->features), s->features, err);
	if (rc)
		return rc;
	const kh_gpu_order o = { .key = s->key.p,
				 .n = s->dev.features,
				 .bound = s->features,
				 .members = r->m->n,
				 .self = kh_gpu_comm_first(r->m->comm) + (unsigned)i,
				 .flag = r->last ? KH_ROUND_LAST : 0,
				 .sent = s->dev.sent,
				 .out = s->out.p,
				 .place = s->place.p,
				 .order = s->order.p,
				 .room = s->room.p,
				 .room_bytes = s->room.bytes };
	return kh_gpu_check(kh_gpu_order_run(&o, r->stream[i]), "sorting of features", err);
}

int kh_side_route(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	int rc = kh_gpu_use(s->c->device, err);

	if (!rc)
		rc = kh_side_room(&s->out, s->features, 8, err);
	if (!rc)
		rc = kh_side_room(&s->place, s->features, 4, err);
	if (rc)
		return rc;
	return r->m->own ? in_order(r, i, err) : to_owners(r, i, err);
}
