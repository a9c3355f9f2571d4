/*
 * translate.cu - fragments without a call looked at by translated seeds
 *
 * Of several queries at once, one kernel lists them, another takes them group by group
 * (translate_group.h says how), a block of threads each: a thread does a frame of a mate, then
 * keys, then places; then a lane a fragment, some of each warp.  Where a mate is to be sought
 * beside the other one, all lanes of a warp do that.
 */
#include "cuda/kernels/queries.cuh"
#include "cuda/kernels/translate_group.h"
#include "cuda/kernels/tuning.h"

namespace {

constexpr unsigned BLOCK = KH_GROUP_FRAMES, WARPS = BLOCK / 32;
static_assert(BLOCK % 32 == 0 && BLOCK >= 64, "warps are whole, and threads take all letters");

__global__ void __launch_bounds__(THREADS) list_kernel(const __grid_constant__ queries all)
{
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = blockIdx.x * THREADS + threadIdx.x;

	if (i < q.n && kh_group_wants(&q, i))
		q.again[atomicAdd(&q.counts[KH_GPU_UNCALLED], 1)] = i;
}

/* Of the places b->from .. b->to, the first one where a mate fits best, by all lanes. */
__device__ int64_t nearest(const kh_laid &l, int64_t from, int64_t to)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = lane_id(); from + i <= to; i += 32) {
		const uint32_t x = kh_text_begins(&l, (uint64_t)(from + i)) << 16 | i;

		least = x < least ? x : least;
	}
	for (int d = 16; d > 0; d /= 2) {
		const uint32_t x = __shfl_xor_sync(ALL, least, d);

		least = x < least ? x : least;
	}
	return from + (least & 0xffff);
}

/* Seeks the mates of the fragments that lanes have, one after the other. */
__device__ void seek(const kh_group &g, const kh_translated &t, kh_group_best *b)
{
	for (unsigned want = __ballot_sync(ALL, b->seek); want; want &= want - 1) {
		const int of = __ffs((int)want) - 1;
		kh_translated_place p = b->beside.place;
		const uint32_t mate = __shfl_sync(ALL, b->mate, of);
		const int64_t from = __shfl_sync(ALL, b->beside.from, of);
		const int64_t to = __shfl_sync(ALL, b->beside.to, of);

		p.stretch = __shfl_sync(ALL, p.stretch, of);
		p.strand = (uint16_t)__shfl_sync(ALL, (uint32_t)p.strand, of);
		const int64_t at = nearest(kh_group_sought(&g, &t, mate, &p), from, to);

		if ((int)lane_id() == of)
			b->beside.place.at = at;
	}
}

__device__ void take(kh_group *g, const kh_gpu_query &q)
{
	const uint32_t m = threadIdx.x % KH_GROUP_MATES;

	if (threadIdx.x < KH_GROUP_MATES)
		kh_group_begin(g, &q, blockIdx.x, threadIdx.x);
	if (threadIdx.x < 64)
		g->letter[threadIdx.x] = q.translated.letter[threadIdx.x];
	__syncthreads();
	for (uint32_t w = threadIdx.x / KH_GROUP_MATES; 32 * w < g->len[m];
	     w += BLOCK / KH_GROUP_MATES)
		kh_group_take(g, &q, m, w);
	__syncthreads();
	for (uint32_t w = threadIdx.x / KH_GROUP_MATES; 32 * w < g->len[m];
	     w += BLOCK / KH_GROUP_MATES)
		kh_group_turn(g, m, w);
	__syncthreads();
}

template <uint32_t K>
__global__ void __launch_bounds__(BLOCK) group_kernel(const __grid_constant__ queries all)
{
	__shared__ kh_group g;
	__shared__ kh_translated t;
	const kh_gpu_query &q = all.q[blockIdx.y];
	const uint32_t i = threadIdx.x;

	if (blockIdx.x * (KH_GROUP_MATES / kh_group_mates(&q)) >= q.counts[KH_GPU_UNCALLED])
		return;
	if (i == 0)
		t = q.translated.seeds;
	take(&g, q);
	kh_group_keys(&g, K, i);
	__syncthreads();
	for (uint32_t n = i; n < kh_group_n(g.n_keys, KH_GROUP_KEYS); n += BLOCK)
		kh_group_find(&g, &t, K, n);
	__syncthreads();
	for (uint32_t n = i; n < kh_group_n(g.n_places, KH_GROUP_PLACES); n += BLOCK)
		kh_group_compare(&g, &t, n);
	__syncthreads();
	const uint32_t f = lane_id() * WARPS + i / 32;
	const bool is = f * g.mates < KH_GROUP_MATES && g.fragment[f * g.mates] != UINT32_MAX;
	kh_group_best b;
	bool left = false;

	b.any = b.seek = false;
	if (is)
		left = !kh_group_rank(&g, &t, f, &b);
	__syncwarp();
	seek(g, t, &b);
	if (is)
		q.genus[g.fragment[f * g.mates]] =
			left ? KH_GPU_CALL_LEFT : kh_group_settle(&g, &t, &b);
}

uint32_t mates_of(const kh_gpu_query &q) { return q.n * kh_group_mates(&q); }

} /* namespace */

extern "C" int kh_gpu_query_translate_prepare(void)
{
	return share_alike(list_kernel, group_kernel<8>, group_kernel<KH_KEY_MOST>);
}

extern "C" int kh_gpu_queries_translate(const kh_gpu_query *const q[], uint32_t n,
					cudaStream_t stream)
{
	const queries all = gather(q, n, [](const kh_gpu_query &x) { return x.genus && x.n > 0; });
	const dim3 blocks = blocks_of(all, KH_GROUP_MATES, mates_of);

	if (all.n == 0)
		return cudaSuccess;
	list_kernel<<<blocks_of(all, THREADS, fragments_of), THREADS, 0, stream>>>(all);
	if (all.q[0].translated.k == 8)
		group_kernel<8><<<blocks, BLOCK, 0, stream>>>(all);
	else
		group_kernel<KH_KEY_MOST><<<blocks, BLOCK, 0, stream>>>(all);
	return cudaGetLastError();
}
