/*
 * fetch.h - chunks of the host's memory, fetched in the order in which they lie there   [HD]
 *
 * An index that lies on the host is read over the bus, at places that have nothing in common.  A
 * device reads 600 million chunks a second there, of 32 bytes or of 128, while they lie within some
 * 600 MB of each other.  Beyond that it does not know the addresses of most pages (64 KiB), and
 * finding these makes 45 million chunks a second, in whatever way the memory was taken, and however
 * many threads ask (H200, PCIe 5, a virtual machine).
 *
 * So the threads of a launch first say which chunks they will read.  These are put in order, by
 * buckets of addresses, and then few threads, as many as the bus needs, copy one after the other to
 * the device's memory, where the threads of the next kernel find them.  What there is no room for
 * is read where it lies.
 */
#ifndef KH_CUDA_KERNELS_FETCH_H
#define KH_CUDA_KERNELS_FETCH_H

#include "cuda/kernels/match_item.h"

/* Reserves n chunks, one behind the other, to be wanted: the first; KH_GPU_NOT_FETCHED: there is no
 * room for them. */
static KH_HD uint32_t kh_fetch_reserve(const kh_gpu_fetch *f, uint32_t n)
{
	const uint32_t at = n > 0 ? kh_gpu_add(f->n, n) : 0;

	if (n > 0 && at < f->cap && n <= f->cap - at)
		return at;
	for (uint32_t i = at; n > 0 && i < f->cap; i++)
		f->from[i] = 0;
	return KH_GPU_NOT_FETCHED;
}

/* Wants the chunk at p as number i; p may be NULL. */
static KH_HD void kh_fetch_want(const kh_gpu_fetch *f, uint32_t i, const void *p)
{
	const uint64_t from = (uint64_t)(uintptr_t)p;

	f->from[i] = from;
	if (from)
		f->rank[i] = kh_gpu_add(&f->bucket[from >> f->shift & (KH_GPU_BUCKETS - 1)], 1);
}

/* Where chunks that have been fetched are, from number i on. */
static KH_HD const char *kh_fetch_chunks(const kh_gpu_fetch *f, uint32_t i)
{
	return f->to + (uint64_t)i * KH_GPU_CHUNK;
}

#endif
