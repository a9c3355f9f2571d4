/*
 * split.cu - pairs to the owners of their ranges
 *
 * A block of pairs is split while references are still being read: stably, into n runs, of which
 * run i belongs to owner i.  One kernel counts pairs by tile and owner, a scan adds up the counts
 * in the order of owners, and another kernel copies each pair to its place, which depends on the
 * pairs before it in its warp that have the same owner.
 */
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/builder.h"
#include "cuda/kernels/threads.cuh"

#include <cub/device/device_scan.cuh>

namespace {

constexpr unsigned WARPS = THREADS / 32;
constexpr unsigned STRETCH = 512;               /* pairs of a warp */
constexpr unsigned TILE = WARPS * STRETCH;

/* The owner of a pair by kh_shards_even, or 0 if its range is wanted; n if it is not, and behind
 * the end of the pairs. */
__device__ unsigned owner_at(const kh_gpu_split &s, uint64_t at, uint64_t count)
{
	if (at >= count)
		return s.n;
	const unsigned range = (unsigned)(s.key[at] >> 40);

	if (s.to > 0)
		return range >= s.from && range < s.to ? 0 : s.n;
	return range * s.n >> 8;
}

/* count[o]: pairs of owner o in the warp's stretch; zero before. */
__device__ void count_stretch(const kh_gpu_split &s, uint64_t from, uint64_t count,
			      uint32_t *of)
{
	const unsigned lane = lane_id();

	for (unsigned i = lane; i < STRETCH; i += 32) {
		unsigned o = owner_at(s, from + i, count);
		unsigned same = __match_any_sync(ALL, o);

		if (o < s.n && lane == (unsigned)__ffs((int)same) - 1)
			of[o] += (uint32_t)__popc(same);
		__syncwarp();
	}
}

/* Counts the pairs of this block by warp and owner. */
__device__ void count_tile(const kh_gpu_split &s, uint64_t count,
			   uint32_t (*of)[KH_GPU_OWNERS])
{
	const unsigned warp = threadIdx.x / 32;

	for (unsigned i = threadIdx.x; i < WARPS * KH_GPU_OWNERS; i += THREADS)
		of[i / KH_GPU_OWNERS][i % KH_GPU_OWNERS] = 0;
	__syncthreads();
	count_stretch(s, (uint64_t)blockIdx.x * TILE + warp * STRETCH, count, of[warp]);
	__syncthreads();
}

__global__ void __launch_bounds__(THREADS) tile_kernel(kh_gpu_split s, uint32_t tiles)
{
	__shared__ uint32_t of[WARPS][KH_GPU_OWNERS];

	count_tile(s, *s.count, of);
	for (unsigned o = threadIdx.x; o < s.n; o += THREADS) {
		uint32_t sum = 0;

		for (unsigned w = 0; w < WARPS; w++)
			sum += of[w][o];
		s.scratch[(uint64_t)o * tiles + blockIdx.x] = sum;
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		s.scratch[(uint64_t)s.n * tiles] = 0;
}

__global__ void __launch_bounds__(THREADS) split_kernel(kh_gpu_split s, uint32_t tiles)
{
	__shared__ uint32_t of[WARPS][KH_GPU_OWNERS];
	const unsigned warp = threadIdx.x / 32, lane = lane_id();
	const uint64_t from = (uint64_t)blockIdx.x * TILE + warp * STRETCH;
	const uint32_t count = *s.count;

	if (blockIdx.x == 0 && s.size)
		for (unsigned o = threadIdx.x; o < s.n; o += THREADS)
			s.size[o] = s.scratch[(uint64_t)(o + 1) * tiles] -
				    s.scratch[(uint64_t)o * tiles];
	if ((uint64_t)blockIdx.x * TILE >= count)
		return;
	count_tile(s, count, of);
	for (unsigned o = threadIdx.x; o < s.n; o += THREADS) {
		uint32_t to = s.scratch[(uint64_t)o * tiles + blockIdx.x];

		for (unsigned w = 0; w < WARPS; w++) {
			uint32_t here = of[w][o];

			of[w][o] = to;
			to += here;
		}
	}
	__syncthreads();
	for (unsigned i = lane; i < STRETCH; i += 32) {
		const uint64_t at = from + i;
		const unsigned o = owner_at(s, at, count);
		const unsigned same = __match_any_sync(ALL, o);
		const uint32_t to = o < s.n ? of[warp][o] : 0;

		__syncwarp();
		if (o < s.n) {
			uint32_t place = to + (uint32_t)__popc(same & lanes_below());

			s.key2[place] = s.key[at];
			s.bin2[place] = s.bin[at];
			if (lane == (unsigned)__ffs((int)same) - 1)
				of[warp][o] = to + (uint32_t)__popc(same);
		}
		__syncwarp();
	}
}

/* --- scratch ------------------------------------------------------------------------ */
/* Counts of each owner's tiles, one behind the other, and their sum; then what CUB needs. */
struct layout {
	uint32_t tiles;
	size_t counts, scan, bytes;     /* their number; bytes for CUB; bytes of all */
	cudaError_t error;
};

/* Turns the counts into the sums of those before them. */
cudaError_t sum_counts(uint32_t *count, layout *l, cudaStream_t stream)
{
	void *scratch = count ? (char *)count + up(l->counts * sizeof *count) : nullptr;

	return caught([&] {
		return cub::DeviceScan::ExclusiveSum(scratch, l->scan, count, count, l->counts,
						     stream);
	});
}

layout lay_out(uint64_t bound, uint32_t n)
{
	layout l = {};

	l.tiles = (uint32_t)((bound + TILE - 1) / TILE);
	l.counts = (size_t)l.tiles * n + 1;
	l.error = sum_counts(nullptr, &l, nullptr);
	l.bytes = up(l.counts * sizeof(uint32_t)) + l.scan;
	return l;
}

} /* namespace */

extern "C" size_t kh_gpu_split_scratch(uint64_t bound, uint32_t n)
{
	return lay_out(bound, n).bytes;
}

extern "C" int kh_gpu_split_run(const kh_gpu_split *s, cudaStream_t stream)
{
	layout l = lay_out(s->bound, s->n);
	cudaError_t e = s->n > KH_GPU_OWNERS ? cudaErrorInvalidValue : l.error;

	if (e != cudaSuccess || l.tiles == 0)
		return e;
	tile_kernel<<<l.tiles, THREADS, 0, stream>>>(*s, l.tiles);
	if ((e = cudaGetLastError()) == cudaSuccess)
		e = sum_counts(s->scratch, &l, stream);
	if (e != cudaSuccess)
		return e;
	split_kernel<<<l.tiles, THREADS, 0, stream>>>(*s, l.tiles);
	return cudaGetLastError();
}
