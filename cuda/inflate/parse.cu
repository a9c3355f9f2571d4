/* parse.cu - four-line FASTQ to packed records (parse.h) */
#include "cuda/inflate/parse.h"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_scan.cuh>
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/threads.cuh"
#include "cuda/kernels/tuning.h"

namespace {

constexpr uint32_t LANES = 8;           /* of a record */
constexpr uint32_t EACH = KH_PARSE_TILE / THREADS;      /* bytes of a tile that a thread looks at */
static_assert(EACH == 16, "a thread loads its bytes at once");

/* The line feeds among the 16 bytes of a text that this thread has of tile `tile`, a bit each; *at:
 * the first of these bytes. */
__device__ uint32_t feeds_of(const kh_parse_text &t, uint32_t tile, uint32_t *at)
{
	*at = t.from / KH_PARSE_TILE * KH_PARSE_TILE + tile * KH_PARSE_TILE + threadIdx.x * EACH;
	if (*at >= t.to || *at + EACH <= t.from)
		return 0;
	const uint4 x = *(const uint4 *)(t.text + *at);
	const uint32_t word[4] = { x.x, x.y, x.z, x.w };
	uint32_t feeds = 0;

#pragma unroll
	for (uint32_t k = 0; k < 4; k++) {
		const uint32_t is = __vcmpeq4(word[k], 0x0a0a0a0a) & 0x08040201;

		feeds |= ((is | is >> 8 | is >> 16 | is >> 24) & 15) << 4 * k;
	}
	if (*at < t.from)
		feeds &= ~0u << (t.from - *at);
	if (t.to - *at < EACH)
		feeds &= (1u << (t.to - *at)) - 1;
	return feeds;
}

__device__ __host__ uint32_t tiles_of(const kh_parse_text &t)
{
	return (t.to + KH_PARSE_TILE - 1) / KH_PARSE_TILE - t.from / KH_PARSE_TILE;
}

__global__ void __launch_bounds__(THREADS) count_kernel(const __grid_constant__ kh_parse_batch b)
{
	typedef cub::BlockReduce<uint32_t, THREADS> reduce;
	__shared__ typename reduce::TempStorage room;
	const kh_parse_text &t = b.in[blockIdx.y];
	uint32_t at;

	if (blockIdx.x >= tiles_of(t))
		return;
	const uint32_t sum = reduce(room).Sum(__popc(feeds_of(t, blockIdx.x, &at)));
	if (threadIdx.x == 0)
		t.feeds_before[blockIdx.x] = sum;
}

/* A block a text. */
__global__ void __launch_bounds__(1024) sum_kernel(const __grid_constant__ kh_parse_batch b)
{
	typedef cub::BlockScan<uint32_t, 1024, cub::BLOCK_SCAN_WARP_SCANS> scan;
	__shared__ typename scan::TempStorage room;
	const kh_parse_text &t = b.in[blockIdx.x];
	const uint32_t n = tiles_of(t);
	uint32_t base = 0;

	for (uint32_t from = 0; from < n; from += 1024) {
		const uint32_t i = from + threadIdx.x;
		uint32_t mine = i < n ? t.feeds_before[i] : 0, all;

		scan(room).ExclusiveSum(mine, mine, all);
		__syncthreads();
		if (i < n)
			t.feeds_before[i] = base + mine;
		base += all;
	}
	if (threadIdx.x == 0) {
		b.result->n_feeds[blockIdx.x] = base;
		b.result->odd = UINT32_MAX;
	}
}

__global__ void __launch_bounds__(THREADS) lines_kernel(const __grid_constant__ kh_parse_batch b)
{
	typedef cub::BlockScan<uint32_t, THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan;
	__shared__ typename scan::TempStorage room;
	const kh_parse_text &t = b.in[blockIdx.y];
	uint32_t at, number;

	if (blockIdx.x >= tiles_of(t))
		return;
	uint32_t feeds = feeds_of(t, blockIdx.x, &at);
	scan(room).ExclusiveSum((uint32_t)__popc(feeds), number);
	number += t.feeds_before[blockIdx.x];
	for (; feeds && number < 4 * b.cap; feeds &= feeds - 1)
		t.feed[number++] = at + __ffs(feeds) - 1;
}

/* Eight lanes a fragment; those of a warp go together. */
__global__ void __launch_bounds__(THREADS) check_kernel(const __grid_constant__ kh_parse_batch b)
{
	const uint32_t i = (uint32_t)(thread_number() / LANES), lane = threadIdx.x % LANES;
	const uint32_t whole = kh_parse_whole(&b), mine = 0xffu << (lane_id() & ~(LANES - 1));
	bool good = true;

	for (uint32_t t = 0; t < b.texts && i < whole; t++) {
		const kh_four_lines r = kh_parse_lines(&b.in[t], i);

		good = kh_four_lines_are_plain(b.in[t].text, &r, lane, LANES) && good;
	}
	good = !(__ballot_sync(ALL, !good) & mine);
	if (lane != 0 || i > b.cap)
		return;
	if (i >= whole)
		kh_parse_skip(&b, i);
	else if (!kh_parse_note(&b, i, good))
		atomicMin(&b.result->odd, i);
}

__global__ void __launch_bounds__(THREADS) mates_kernel(const __grid_constant__ kh_parse_batch b)
{
	const uint32_t i = (uint32_t)thread_number();

	/* what stands behind an odd one may not be a record */
	if (i >= kh_parse_whole(&b) || i >= *(volatile uint32_t *)&b.result->odd)
		return;
	const kh_four_lines x = kh_parse_lines(&b.in[0], i), y = kh_parse_lines(&b.in[1], i);

	if (!kh_four_lines_are_mates(b.in[0].text, &x, b.in[1].text, &y))
		atomicMin(&b.result->odd, i);
}

__global__ void settle_kernel(const __grid_constant__ kh_parse_batch b)
{
	kh_parse_settle(&b);
}

__global__ void __launch_bounds__(THREADS) pack_kernel(const __grid_constant__ kh_parse_batch b)
{
	const uint32_t i = (uint32_t)(thread_number() / LANES);

	if (i < b.result->n)
		kh_parse_pack(&b, i, blockIdx.y, threadIdx.x % LANES, LANES);
}

__global__ void __launch_bounds__(THREADS) name_kernel(const __grid_constant__ kh_parse_batch b)
{
	const uint32_t i = (uint32_t)(thread_number() / LANES);

	if (i < b.result->n)
		kh_parse_name(&b, i, threadIdx.x % LANES, LANES);
}

/* Sums of cap + 1 numbers. */
cudaError_t add_up(const kh_parse_batch *b, const uint32_t *of, uint32_t *to, cudaStream_t stream)
{
	size_t bytes = b->scratch_bytes;

	return caught([&] {
		return cub::DeviceScan::ExclusiveSum(b->scratch, bytes, of, to, (int)b->cap + 1,
						     stream);
	});
}

} /* namespace */

extern "C" int kh_gpu_parse_prepare(uint32_t cap, uint64_t *scratch_bytes)
{
	size_t bytes = 0;
	const cudaError_t alike = share_alike(count_kernel, sum_kernel, lines_kernel, check_kernel,
					      mates_kernel, settle_kernel, pack_kernel,
					      name_kernel);
	const cudaError_t e = caught([&] {
		return cub::DeviceScan::ExclusiveSum(nullptr, bytes, (uint32_t *)nullptr,
						     (uint32_t *)nullptr,
						     (int)cap + 1);
	});

	*scratch_bytes = bytes;
	return alike == cudaSuccess ? e : alike;
}

extern "C" int kh_gpu_parse(const kh_parse_batch *b, void *on)
{
	cudaStream_t stream = (cudaStream_t)on;
	const uint32_t most = b->texts > 1 ? max(tiles_of(b->in[0]), tiles_of(b->in[1]))
					   : tiles_of(b->in[0]);
	const dim3 tiles(most, b->texts);
	/* one more, so that the last sum of words is known, too */
	const uint32_t records = blocks_for((uint64_t)LANES * (b->cap + 1));
	cudaError_t e = cudaMemsetAsync(b->result, 0, sizeof *b->result, stream);

	if (e != cudaSuccess)
		return e;
	count_kernel<<<tiles, THREADS, 0, stream>>>(*b);
	sum_kernel<<<b->texts, 1024, 0, stream>>>(*b);
	lines_kernel<<<tiles, THREADS, 0, stream>>>(*b);
	check_kernel<<<records, THREADS, 0, stream>>>(*b);
	if (b->texts > 1 && !b->any_names)
		mates_kernel<<<blocks_for(b->cap), THREADS, 0, stream>>>(*b);
	e = cudaPeekAtLastError();
	if (e == cudaSuccess)
		e = add_up(b, b->n_words, b->words_before, stream);
	if (e == cudaSuccess && kh_parse_wants_names(b))
		e = add_up(b, b->n_name, b->names_before, stream);
	if (e != cudaSuccess)
		return e;
	settle_kernel<<<1, 1, 0, stream>>>(*b);
	pack_kernel<<<dim3(records, b->texts), THREADS, 0, stream>>>(*b);
	if (kh_parse_wants_names(b))
		name_kernel<<<records, THREADS, 0, stream>>>(*b);
	return cudaGetLastError();
}
