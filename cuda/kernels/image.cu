/*
 * image.cu - entries of the index to the buckets and lists of its ranges
 *
 * It continues where encode.cu ends: the entries, their slots, the lengths of their lists and the
 * words before each are known.
 */
#include "cuda/kernels/builder.h"
#include "cuda/kernels/threads.cuh"

namespace {

/* Where the buckets of range p are in `start`: B + 1 of them and the end. */
__device__ uint64_t start_of(const kh_gpu_encode &e, uint64_t p)
{
	return e.range[p].start;
}

/* start[bucket] = the first entry that lies in it or behind it. */
__global__ void start_kernel(kh_gpu_encode e)
{
	uint64_t i = thread_number();

	if (i >= e.n_entries)
		return;
	const uint64_t p = e.key[e.entry[i]] >> 40;
	uint32_t *start = e.start + start_of(e, p);
	const bool first = i == e.range[p].entry, last = i + 1 == e.range[p + 1].entry;
	uint32_t b = e.slot[i] / KH_BUCKET_SLOTS;

	for (uint32_t x = first ? 0 : e.slot[i - 1] / KH_BUCKET_SLOTS + 1; x <= b; x++)
		start[x] = (uint32_t)i;
	if (last)
		for (uint32_t x = b + 1; x <= e.range[p].B + 1; x++)
			start[x] = (uint32_t)i + 1;
}

/* Ranges without entries. */
__global__ void empty_kernel(kh_gpu_encode e)
{
	const uint32_t p = threadIdx.x;

	if (p >= KH_RANGES || e.range[p].B == 0 ||
	    e.range[p].entry != e.range[p + 1].entry)
		return;
	for (uint32_t x = 0; x <= e.range[p].B + 1; x++)
		e.start[start_of(e, p) + x] = (uint32_t)e.range[p].entry;
}

__device__ uint64_t place_of_entry(const kh_gpu_encode &e, uint64_t p, uint32_t i)
{
	return kh_key_place(e.key[e.entry[i]], e.range[p].B);
}

/* The range whose buckets have number b, all ranges' counted (those without a range in
 * this wave have none). */
__device__ uint32_t range_of_bucket(const kh_gpu_encode &e, uint64_t b)
{
	return last_of(0, KH_RANGES, [&](uint32_t p) { return start_of(e, p) <= b; });
}

__global__ void __launch_bounds__(THREADS)
	bucket_kernel(kh_gpu_encode e, uint64_t n_start)
{
	const uint64_t at = thread_number();

	if (at >= n_start)
		return;
	const uint32_t p = range_of_bucket(e, at);
	const uint32_t b = (uint32_t)(at - start_of(e, p));

	if (b > e.range[p].B)           /* the place behind a range's last bucket */
		return;
	const uint32_t *start = e.start + start_of(e, p);
	const uint32_t from = start[b], to = start[b + 1];
	uint64_t base = e.lead[from] - e.range[p].word;
	uint32_t word[16] = { 0 };
	unsigned flags = 0;
	uint8_t *byte = (uint8_t *)word;

	for (int i = 0; i < 6; i++, base >>= 8)
		byte[i] = (uint8_t)base;
	for (uint32_t i = from; i < to; i++) {
		uint64_t place = place_of_entry(e, p, i);
		uint32_t pos = e.slot[i] % KH_BUCKET_SLOTS;

		flags += (place >> 16) < b;
		byte[7 + pos] = e.len[i];
		byte[26 + 2 * pos] = (uint8_t)place;
		byte[27 + 2 * pos] = (uint8_t)(place >> 8);
	}
	if (b < e.range[p].B && start[b + 1] < start[b + 2]
	    && place_of_entry(e, p, start[b + 1]) >> 16 == b)
		flags |= KH_BUCKET_GOES_ON;
	byte[6] = (uint8_t)flags;
	uint4 *out = (uint4 *)(e.image + e.range[p].bucket + b);
	for (int i = 0; i < 4; i++)
		out[i] = make_uint4(word[4 * i], word[4 * i + 1], word[4 * i + 2],
				    word[4 * i + 3]);
}

/* Writes a word of e.bins.bits bits to bit `bit` of `to`, which is zero there; atomically, as other
 * threads write to the same 32 bits. */
__device__ void put_word(const kh_gpu_encode &e, uint32_t *to, uint64_t bit, uint32_t word)
{
	const uint32_t shift = bit & 31;

	to += bit >> 5;
	atomicOr(to, word << shift);
	if (shift + e.bins.bits > 32)
		atomicOr(to + 1, word >> (32 - shift));
}

/* The words of a list stand where its pairs' bins were (encode.cu). */
__global__ void list_kernel(kh_gpu_encode e)
{
	const uint64_t i = thread_number();

	if (i >= e.n_entries)
		return;
	const uint32_t from = e.entry[i], n = kh_list_words(e.len[i]);
	const kh_gpu_range &r = e.range[e.key[from] >> 40];
	const uint64_t at = e.lead[i] - r.word;

	for (uint32_t j = 0; j < n; j++)
		put_word(e, (uint32_t *)e.image + r.loc, (at + j) * e.bins.bits, e.bin[from + j]);
}

} /* namespace */

extern "C" int kh_gpu_fill(const kh_gpu_encode *e, uint64_t n_start, cudaStream_t stream)
{
	empty_kernel<<<1, KH_RANGES, 0, stream>>>(*e);
	if (e->n_entries > 0)
		start_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
	bucket_kernel<<<blocks_for(n_start), THREADS, 0, stream>>>(*e, n_start);
	if (e->n_entries > 0)
		list_kernel<<<blocks_for(e->n_entries), THREADS, 0, stream>>>(*e);
	return cudaGetLastError();
}
