/*
 * census.cu - fragments counted by class, and the masks of stretches (classify/class.h)
 *
 * A thread a fragment.  All queues of a device count in one open-addressed table, which has far
 * fewer classes than there are fragments: nearly always the class is there, and is found by
 * reading.  A new class is written to a place of its own first, and then its slot is taken by one
 * atomic operation, so that what a slot names is complete, and nothing waits.  Where two threads
 * bring the same class at once, one of them leaves its place unused, with a count of 0.
 */
#include "cuda/kernels/classify.cuh"

namespace {

constexpr unsigned THREADS = 256;

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

/* Writes a class to a place of its own, or returns KH_NO_CLASS. */
__device__ uint32_t take_place(const kh_gpu_census &c, const kh_class &k)
{
	if (__ldcg(c.n) >= c.cap)
		return KH_NO_CLASS;
	const uint32_t at = atomicAdd(c.n, 1);

	if (at >= c.cap)
		return KH_NO_CLASS;
	memcpy(&c.at[at], &k, KH_CLASS_KEY);
	__threadfence();
	return at;
}

/* The place of a class, or KH_NO_CLASS if it is new and there is no room. */
__device__ uint32_t place_of(const kh_gpu_census &c, const kh_class &k)
{
	const uint64_t mix = kh_class_mix(&k), upper = ~UINT64_C(0) << 32;
	const uint32_t mask = (1u << c.bits) - 1;
	uint32_t mine = KH_NO_CLASS;

	for (uint32_t at = (uint32_t)mix & mask;; at = (at + 1) & mask) {
		auto *slot = (unsigned long long *)&c.slot[at];
		unsigned long long old = __ldcg(slot);

		if (old == 0) {
			if (mine == KH_NO_CLASS && (mine = take_place(c, k)) == KH_NO_CLASS)
				return KH_NO_CLASS;
			old = atomicCAS(slot, 0, (mix & upper) | (mine + 1));
			if (old == 0)
				return mine;
		}
		if (((old ^ mix) & upper) == 0 && is_class(&c.at[(uint32_t)old - 1], k))
			return (uint32_t)old - 1;
	}
}

/* Counts fragment i; many: of the block of threads. */
__device__ uint32_t count(const kh_gpu_query &q, uint32_t i, uint32_t *many)
{
	const kh_call call = q.call[i];
	const kh_candidates cand = q.candidates[i];

	if (!kh_has_class(&q.rule, &call, &cand))
		return KH_NO_CLASS;
	const uint32_t best = kh_class_best(&cand);
	const uint32_t target = best == KH_NO_TAXON ? 0 : target_of(q.ix, cand.bin);
	const bool located =
		best != KH_NO_TAXON && q.ix.tree.species[q.ix.bins.taxon[target]] == best;
	const uint32_t place =
		place_of(q.census, kh_class_make(&q.rule, &call, &cand, located));

	if (place == KH_NO_CLASS) {
		atomicAdd(&q.counts[KH_GPU_UNCOUNTED], 1);
		return KH_UNCOUNTED;
	}
	atomicAdd((unsigned long long *)&q.census.at[place].many, 1ull);
	atomicAdd(&many[call.features], 1);
	if (located) {
		uint32_t *mask = &q.census.mask[kh_class_stretch(q.census.stretch, &q.ix.bins,
								 target, cand.bin)];
		const uint32_t bit = 1u << kh_class_share(&call);

		if (!(__ldcg(mask) & bit))
			atomicOr(mask, bit);
	}
	return place;
}

__global__ void __launch_bounds__(THREADS) count_kernel(kh_gpu_query q)
{
	__shared__ uint32_t many[KH_N_MOST + 1];
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

/* A warp a target. */
__global__ void __launch_bounds__(THREADS) search_kernel(kh_gpu_census_search s)
{
	const uint32_t t = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
	uint32_t found = 0;

	if (t >= s.n)
		return;
	const uint32_t own = s.own[t];

	if (own)
		for (uint64_t i = s.stretch[t] + lane_id(); i < s.stretch[t + 1]; i += 32)
			found += (s.mask[i] & own) != 0;
	found = __reduce_add_sync(ALL, found);
	if (lane_id() == 0)
		s.found[t] = found;
}

} /* namespace */

extern "C" int kh_gpu_census_add(const kh_gpu_query *q, cudaStream_t stream)
{
	count_kernel<<<(q->n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(*q);
	return cudaGetLastError();
}

extern "C" int kh_gpu_census_join(uint32_t *mask, const uint32_t *other, uint64_t n,
				  cudaStream_t stream)
{
	if (n == 0)
		return cudaSuccess;
	join_kernel<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(mask, other,
										     n);
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
