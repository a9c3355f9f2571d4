/*
 * census.cu - fragments counted by class, and the masks of intervals (classify/class.h)
 *
 * A thread a fragment.  All queues of a device count in one open-addressed table, which has far
 * fewer classes than there are fragments: nearly always the class is there, and is found by
 * reading.  Of the threads that bring a new class, one takes the slot, writes the class to a place
 * of its own, and then lets the slot name it; the others wait these few instructions.  If each of
 * them wrote it before it took the slot, none had to wait; but the first kernels bring most classes
 * a thousand times at once, and then seven of eight places were left unused.
 */
#include "cuda/kernels/queries.cuh"
#include "cuda/kernels/tuning.h"

namespace {

__device__ bool is_class(const kh_class *at, const kh_class &k)
{
	uint64_t key[KH_CLASS_KEY / 8], same = 0;

	static_assert(KH_CLASS_KEY % 8 == 0, "a key is words");
	memcpy(key, &k, KH_CLASS_KEY);
	/* from where atomic operations work: what another multiprocessor wrote may not be in this
	 * one's cache */
#pragma unroll
	for (int i = 0; i < KH_CLASS_KEY / 8; i++)
		same |= key[i] ^ __ldcg((const unsigned long long *)at + i);
	return same == 0;
}

/* In place of the lower half of a slot: the class is being written. */
constexpr unsigned long long BUSY = UINT32_MAX;

/* Writes a class to a place of its own; returns what its slot is to be: 0 if there is no room, as
 * before.  Classes behind that slot may not be found any more then; so they are left to the host,
 * too, as no place is given any more. */
__device__ unsigned long long fill(const kh_gpu_census &c, const kh_class &k,
				   unsigned long long upper)
{
	const uint32_t at = atomicAdd(c.n, 1);

	if (at >= c.cap)
		return 0;
	memcpy(&c.at[at], &k, KH_CLASS_KEY);
	__threadfence();
	return upper | (at + 1);
}

/* The place of a class, or KH_NO_CLASS if it is new and there is no room. */
__device__ uint32_t place_of(const kh_gpu_census &c, const kh_class &k)
{
	const uint64_t mix = kh_class_mix(&k);
	const unsigned long long half = UINT32_MAX, upper = mix & ~half;
	const uint32_t mask = (1u << c.bits) - 1;

	for (uint32_t at = (uint32_t)mix & mask;;) {
		auto *slot = (unsigned long long *)&c.slot[at];
		unsigned long long now = *(volatile unsigned long long *)slot;

		if (now == 0) {
			if (__ldcg(c.n) >= c.cap)
				return KH_NO_CLASS;
			now = atomicCAS(slot, 0, upper | BUSY);
			/* within the loop, where threads of this warp may wait for it */
			if (now == 0) {
				now = fill(c, k, upper);
				atomicExch(slot, now);
			}
		}
		if (now == 0 || now == (upper | BUSY))
			continue;
		if ((now & ~half) == upper && is_class(&c.at[(uint32_t)now - 1], k))
			return (uint32_t)now - 1;
		at = (at + 1) & mask;
	}
}

/* Notes a share found, of a fragment that lies there. */
__device__ void mark(const kh_gpu_census &c, uint32_t target, uint32_t bin, uint32_t share)
{
	uint32_t *mask = &c.mask[(c.origin[target] + bin) / KH_INTERVAL];
	const uint32_t bit = 1u << share;

	if (!(__ldcg(mask) & bit))
		atomicOr(mask, bit);
}

/* Counts fragment i; many: of the block of threads. */
__device__ uint32_t count(const kh_gpu_query &q, uint32_t i, uint32_t *many)
{
	const kh_call call = q.call[i];
	const kh_candidates cand = q.beside.candidates[i];

	if (call.taxon == KH_GPU_CALL_LEFT) {
		atomicAdd(&q.counts[KH_GPU_UNCOUNTED], 1);
		return KH_UNCOUNTED;
	}
	if (!kh_has_class(&call, &cand))
		return KH_NO_CLASS;
	if (kh_gpu_called_later(&q, i)) {
		atomicAdd(&q.counts[KH_GPU_UNCOUNTED], 1);
		return KH_UNCOUNTED;
	}
	const uint32_t best = kh_class_best(&cand);
	const kh_match_db &db = q.db;
	const uint32_t target = best == KH_NO_TAXON ? 0 : kh_match_target(&db, cand.bin);
	const bool located =
		best != KH_NO_TAXON && db.tree.species[db.bins.taxon[target]] == best;
	const kh_class_rest rest = kh_class_rest_of(&q.rule, &call, located);
	const uint32_t place = place_of(q.census, kh_class_make(&cand, &rest));

	if (place == KH_NO_CLASS) {
		atomicAdd(&q.counts[KH_GPU_UNCOUNTED], 1);
		return KH_UNCOUNTED;
	}
	atomicAdd((unsigned long long *)&q.census.at[place].many, 1ull);
	atomicAdd(&many[kh_class_counted(call.kmers)], 1);
	if (located)
		mark(q.census, target, cand.bin, kh_class_share(&call));
	return place;
}

__global__ void __launch_bounds__(THREADS) count_kernel(const __grid_constant__ queries all)
{
	__shared__ uint32_t many[KH_N_MOST + 1];
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	for (unsigned x = threadIdx.x; x <= KH_N_MOST; x += THREADS)
		many[x] = 0;
	__syncthreads();
	if (i < q.n)
		q.class_of[i] = count(q, i, many);
	__syncthreads();
	for (unsigned x = threadIdx.x; x <= KH_N_MOST; x += THREADS)
		if (many[x])
			atomicAdd((unsigned long long *)&q.census.many[x],
				  (unsigned long long)many[x]);
}

__global__ void __launch_bounds__(THREADS)
	join_kernel(uint32_t *mask, const uint32_t *other, uint64_t n)
{
	const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

	if (i < n)
		mask[i] |= other[i];
}

/* A warp a target: 32 intervals at a time, so that lanes read what lies side by side.  A tract of
 * them is counted where its first interval with such a mask is. */
__global__ void __launch_bounds__(THREADS) search_kernel(kh_gpu_census_search s)
{
	const uint32_t t = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
	uint32_t found = 0;
	uint64_t last = UINT64_MAX;     /* the tract that was counted last */

	if (t >= s.n)
		return;
	const uint32_t own = s.own[t], shift = s.shift[t];
	const uint64_t from = s.interval[t], n = s.interval[t + 1] - from;

	for (uint64_t i = 0; own && i < n; i += 32) {
		const uint64_t x = i + lane_id();
		const bool is = x < n && (s.mask[from + x] & own) != 0;
		const uint32_t all = __ballot_sync(ALL, is), before = all & ((1u << lane_id()) - 1);
		const uint64_t prior = before ? (i + 31 - __clz(before)) >> shift : last;

		found += is && x >> shift != prior;
		last = all ? (i + 31 - __clz(all)) >> shift : last;
	}
	found = __reduce_add_sync(ALL, found);
	if (lane_id() == 0)
		s.found[t] = found;
}

} /* namespace */

extern "C" int kh_gpu_census_prepare(void)
{
	return share_alike(count_kernel);
}

extern "C" int kh_gpu_census_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	const queries all = gather(q, n, [](const kh_gpu_query &x) {
		return x.class_of && x.n > 0;
	});

	if (all.n > 0)
		count_kernel<<<blocks_of(all, THREADS, fragments_of), THREADS, 0, stream>>>(all);
	return cudaGetLastError();
}

extern "C" int kh_gpu_census_join(uint32_t *mask, const uint32_t *other, uint64_t n,
				  cudaStream_t stream)
{
	if (n == 0)
		return cudaSuccess;
	join_kernel<<<blocks_for(n), THREADS, 0, stream>>>(mask, other, n);
	return cudaGetLastError();
}

extern "C" int kh_gpu_census_search_run(const kh_gpu_census_search *s, cudaStream_t stream)
{
	const uint32_t targets = THREADS / 32;

	if (s->n == 0)
		return cudaSuccess;
	search_kernel<<<(s->n + targets - 1) / targets, THREADS, 0, stream>>>(*s);
	return cudaGetLastError();
}
