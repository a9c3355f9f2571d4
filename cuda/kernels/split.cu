/*
 * split.cu - pairs to the owners of their ranges
 *
 * A block of pairs is split while references are still being read: stably, into n runs, of which
 * run i belongs to owner i.  One kernel counts pairs by tile and owner, one adds up the counts in
 * the order of owners, and one copies each pair to its place, which depends on the pairs before
 * it in its warp that have the same owner.
 */
#include "cuda/kernels/kernels.h"

#include <cub/device/device_radix_sort.cuh>

namespace {

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;
constexpr unsigned STRETCH = 512;               /* pairs of a warp */
constexpr unsigned TILE = WARPS * STRETCH;
constexpr unsigned SCANNERS = 1024;

__host__ __device__ uint32_t tiles_of(uint64_t bound)
{
	return (uint32_t)((bound + TILE - 1) / TILE);
}

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
	const unsigned lane = threadIdx.x % 32;

	for (unsigned i = lane; i < STRETCH; i += 32) {
		unsigned o = owner_at(s, from + i, count);
		unsigned same = __match_any_sync(0xffffffffu, o);

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
		s.room[(uint64_t)o * tiles + blockIdx.x] = sum;
	}
}

/* One block turns the counts into the sums of those before them, and finds the size of each owner's
 * run. */
__global__ void __launch_bounds__(SCANNERS) place_kernel(kh_gpu_split s, uint32_t tiles)
{
	__shared__ uint32_t before[SCANNERS];
	const uint64_t n = (uint64_t)s.n * tiles, each = (n + SCANNERS - 1) / SCANNERS;
	const uint64_t from = threadIdx.x * each, to = from + each < n ? from + each : n;
	uint32_t sum = 0;

	for (uint64_t i = from; i < to; i++)
		sum += s.room[i];
	before[threadIdx.x] = sum;
	__syncthreads();
	for (unsigned step = 1; step < SCANNERS; step *= 2) {
		uint32_t other = threadIdx.x >= step ? before[threadIdx.x - step] : 0;

		__syncthreads();
		before[threadIdx.x] += other;
		__syncthreads();
	}
	sum = before[threadIdx.x] - sum;
	for (uint64_t i = from; i < to; i++) {
		uint32_t here = s.room[i];

		s.room[i] = sum;
		sum += here;
	}
	__syncthreads();
	for (unsigned o = threadIdx.x; o < s.n && s.size; o += SCANNERS) {
		uint32_t end = o + 1 < s.n ? s.room[(uint64_t)(o + 1) * tiles] : *s.count;

		s.size[o] = end - s.room[(uint64_t)o * tiles];
	}
}

__global__ void __launch_bounds__(THREADS) split_kernel(kh_gpu_split s, uint32_t tiles)
{
	__shared__ uint32_t of[WARPS][KH_GPU_OWNERS];
	const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const uint64_t from = (uint64_t)blockIdx.x * TILE + warp * STRETCH;
	const uint32_t count = *s.count;

	if ((uint64_t)blockIdx.x * TILE >= count)
		return;
	count_tile(s, count, of);
	for (unsigned o = threadIdx.x; o < s.n; o += THREADS) {
		uint32_t to = s.room[(uint64_t)o * tiles + blockIdx.x];

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
		const unsigned same = __match_any_sync(0xffffffffu, o);
		const uint32_t to = o < s.n ? of[warp][o] : 0;

		__syncwarp();
		if (o < s.n) {
			uint32_t place = to + (uint32_t)__popc(same & ((1u << lane) - 1));

			s.key2[place] = s.key[at];
			s.bin2[place] = s.bin[at];
			if (lane == (unsigned)__ffs((int)same) - 1)
				of[warp][o] = to + (uint32_t)__popc(same);
		}
		__syncwarp();
	}
}

__global__ void __launch_bounds__(THREADS)
	weigh_kernel(const uint64_t *key, const uint32_t *count, uint64_t most,
		     unsigned long long *weight)
{
	__shared__ uint32_t of[KH_RANGES + 1];
	const uint64_t step = (uint64_t)gridDim.x * THREADS, n = count ? *count : most;

	for (unsigned i = threadIdx.x; i <= KH_RANGES; i += THREADS)
		of[i] = 0;
	__syncthreads();
	for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
		atomicAdd(&of[key[i] >> 40], 1);
	__syncthreads();
	for (unsigned i = threadIdx.x; i < KH_RANGES; i += THREADS)
		if (of[i])
			atomicAdd(&weight[i], (unsigned long long)of[i]);
}

} /* namespace */

extern "C" size_t kh_gpu_split_room(uint64_t bound, uint32_t n)
{
	return ((size_t)tiles_of(bound) * n + 1) * sizeof(uint32_t);
}

extern "C" int kh_gpu_split_run(const kh_gpu_split *s, cudaStream_t stream)
{
	const uint32_t tiles = tiles_of(s->bound);

	if (s->n > KH_GPU_OWNERS)
		return cudaErrorInvalidValue;
	if (tiles == 0)
		return cudaSuccess;
	tile_kernel<<<tiles, THREADS, 0, stream>>>(*s, tiles);
	place_kernel<<<1, SCANNERS, 0, stream>>>(*s, tiles);
	split_kernel<<<tiles, THREADS, 0, stream>>>(*s, tiles);
	return cudaGetLastError();
}

/* The pairs are *count, or n if count is NULL. */
static int weigh(const uint64_t *key, const uint32_t *count, uint64_t n, uint64_t *weight,
		 uint64_t most_blocks, cudaStream_t stream)
{
	const uint64_t blocks = (n + THREADS - 1) / THREADS;

	if (n > 0)
		weigh_kernel<<<(unsigned)(blocks < most_blocks ? blocks : most_blocks), THREADS, 0,
			       stream>>>(key, count, n, (unsigned long long *)weight);
	return cudaGetLastError();
}

extern "C" int kh_gpu_weigh(const uint64_t *key, uint64_t n, uint64_t *weight,
			    cudaStream_t stream)
{
	return weigh(key, nullptr, n, weight, 2048, stream);
}

extern "C" int kh_gpu_weigh_block(const uint64_t *key, const uint32_t *count, uint64_t bound,
				  uint64_t *weight, cudaStream_t stream)
{
	return weigh(key, count, bound, weight, 256, stream);
}

extern "C" int kh_gpu_by_range(kh_gpu_sort *s, cudaStream_t stream)
{
	cub::DoubleBuffer<uint64_t> key(s->key, s->key2);
	cub::DoubleBuffer<uint32_t> bin(s->bin, s->bin2);
	cudaError_t e = cub::DeviceRadixSort::SortPairs(s->room, s->room_bytes, key, bin,
							s->n, 40, s->bits, stream);

	s->key = key.Current();
	s->key2 = key.Alternate();
	s->bin = bin.Current();
	s->bin2 = bin.Alternate();
	return e;
}
