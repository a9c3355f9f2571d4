/*
 * tiles.c - where index and text lie that are not whole on each device: index/shares.h
 *
 * Each device has a run of its tiles, which the others read there; or all devices have the same
 * run, and the host the other tiles.
 */
#include <config.h>
#include "cuda/engine/engine_in.h"

static uint32_t shift_of(const kh_engine *e)
{
	return kh_shares_shift(e->bytes);
}

uint64_t kh_cuda_tiles(const kh_engine *e)
{
	return (e->bytes >> shift_of(e)) + 1;
}

/* The bytes of tiles `first` up to `end`, and what is beside them. */
static void run_of(const kh_engine *e, uint64_t first, uint64_t end, uint64_t *from, uint64_t *to)
{
	const uint64_t all = e->bytes;
	const uint64_t behind = (end << shift_of(e)) + KH_SHARES_BESIDE;

	*from = first > 0 ? (first << shift_of(e)) - KH_SHARES_BESIDE : 0;
	*to = first == end ? *from : behind < all ? behind : all;
}

void kh_cuda_cut_text(kh_engine *e)
{
	const uint64_t all = e->bytes, n = kh_cuda_tiles(e);

	for (size_t i = 0; i < e->n; i++) {
		struct kh_cuda_copy *c = &e->copy[i];

		c->from = all * i / e->n;
		c->to = all * (i + 1) / e->n;
		if (e->placement == KH_PLACE_SHARD)
			run_of(e, n * i / e->n, n * (i + 1) / e->n, &c->from, &c->to);
	}
}

uint64_t kh_cuda_index_room(const kh_engine *e)
{
	const uint64_t n = (e->index_bytes >> shift_of(e)) + 1;

	return (n << shift_of(e)) + 2 * KH_SHARES_BESIDE;
}

void kh_cuda_cut_text_for_host(kh_engine *e, uint64_t room)
{
	const bool index_first = e->file->index < e->file->text;
	const uint64_t n = kh_cuda_tiles(e), beside = 2 * KH_SHARES_BESIDE;
	uint64_t here = room > beside ? (room - beside) >> shift_of(e) : 0;

	here = here < n ? here : n;
	if (index_first) {
		run_of(e, 0, here, &e->on_device.from, &e->on_device.to);
		run_of(e, here, n, &e->on_host.from, &e->on_host.to);
	} else {
		run_of(e, n - here, n, &e->on_device.from, &e->on_device.to);
		run_of(e, 0, n - here, &e->on_host.from, &e->on_host.to);
	}
}

/* Has it the bytes from .. to - 1? */
static bool has(uint64_t first, uint64_t end, uint64_t from, uint64_t to)
{
	return from >= first && to <= end;
}

uint64_t kh_cuda_tile(const kh_engine *e, const struct kh_cuda_copy *c, uint64_t tile)
{
	const bool shard = e->placement == KH_PLACE_SHARD;
	const kh_cuda_run *on_device = &e->on_device, *on_host = &e->on_host;
	uint64_t from, to;

	run_of(e, tile, tile + 1, &from, &to);
	for (size_t i = 0; i < e->n && shard; i++)
		if (has(e->copy[i].from, e->copy[i].to, from, to))
			return (uint64_t)(uintptr_t)e->copy[i].image.p - e->copy[i].from;
	if (!shard && has(on_device->from, on_device->to, from, to))
		return (uint64_t)(uintptr_t)c->image.p - on_device->from;
	if (!shard && has(on_host->from, on_host->to, from, to))
		return (uint64_t)(uintptr_t)e->host - on_host->from;
	return 0;                       /* there is no such tile */
}
