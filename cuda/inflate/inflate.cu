/*
 * inflate.cu - where blocks and members begin, segments decoded, the chain (inflate.h)
 */
#include "cuda/inflate/chain.h"
#include "cuda/inflate/segment.h"
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/threads.cuh"

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

namespace {

constexpr unsigned FIND_WARPS = 8, DECODE_WARPS = 4, DECODE_BLOCKS = 7, CHAIN = 1024;
constexpr unsigned FILLED = 4096;

/* --- find ----------------------------------------------------------------------------- */
__device__ void add_key(const kh_inf_batch &b, uint64_t key)
{
	const uint32_t i = key ? atomicAdd(&b.c->n_key, 1) : KH_INF_SEGMENTS;

	if (i < KH_INF_SEGMENTS)
		b.key[i] = key;
}

__device__ void find_member(const kh_inf_batch &b, uint32_t word, uint32_t w0, uint32_t w1)
{
	for (uint32_t k = 0; k < 4; k++)
		if ((__funnelshift_r(w0, w1, 8 * k) & 0xffffff) == 0x088b1f &&
		    4 * word + k >= (b.start.bit + 7) / 8)
			add_key(b, kh_inf_member_key(&b, 4 * word + k));
}

/* Places of a warp's 32 words that may begin a block go to a queue, which all lanes look at. */
__device__ uint32_t queue_places(uint32_t mask, uint16_t *queue)
{
	uint32_t n = (uint32_t)__popc(mask), sum = n;

	for (unsigned d = 1; d < 32; d *= 2) {
		const uint32_t x = __shfl_up_sync(ALL, sum, d);

		if (lane_id() >= d)
			sum += x;
	}
	for (uint32_t q = sum - n; mask; mask &= mask - 1)
		queue[q++] = (uint16_t)(32 * lane_id() + (unsigned)__ffs((int)mask) - 1);
	__syncwarp();
	return __shfl_sync(ALL, sum, 31);
}

__global__ void __launch_bounds__(32 * FIND_WARPS)
maybe_kernel(const __grid_constant__ kh_inf_batch b)
{
	__shared__ uint8_t filled[FILLED];
	__shared__ uint32_t tiles[FIND_WARPS][36];
	__shared__ uint16_t queues[FIND_WARPS][1024];
	const unsigned warp = threadIdx.x / 32, lane = lane_id();
	const uint32_t n_words = (b.n + 3) / 4, step = gridDim.x * FIND_WARPS * 32;
	uint32_t *tile = tiles[warp];

	for (unsigned i = threadIdx.x; i < FILLED; i += blockDim.x)
		filled[i] = kh_inf_filled_by(i);
	__syncthreads();
	for (uint32_t at = b.start.bit / 1024 * 32 + (blockIdx.x * FIND_WARPS + warp) * 32;
	     at < n_words; at += step) {
		__syncwarp();
		tile[lane] = b.in[at + lane];
		if (lane < 4)
			tile[32 + lane] = b.in[at + 32 + lane];
		__syncwarp();
		find_member(b, at + lane, tile[lane], tile[lane + 1]);
		const uint64_t x = tile[lane] | (uint64_t)tile[lane + 1] << 32;
		const uint32_t n = queue_places(kh_inf_may_begin(x), queues[warp]);

		for (uint32_t q = lane; q < n; q += 32) {
			const uint32_t bit = queues[warp][q];

			if (!kh_inf_has_precode(filled, tile + bit / 32, bit & 31))
				continue;
			const uint32_t i = atomicAdd(&b.c->n_maybe, 1);
			if (i < KH_INF_MAYBE)
				b.maybe[i] = 32 * at + bit;
		}
	}
}

__global__ void __launch_bounds__(128) header_kernel(const __grid_constant__ kh_inf_batch b)
{
	const uint32_t n = min(b.c->n_maybe, (uint32_t)KH_INF_MAYBE);

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
	     i += gridDim.x * blockDim.x)
		if (b.maybe[i] > b.start.bit)
			add_key(b, kh_inf_block_key(&b, b.maybe[i]));
}

/* Segments of the sorted keys: the first one begins at the known place. */
__global__ void __launch_bounds__(CHAIN) segment_kernel(const __grid_constant__ kh_inf_batch b)
{
	typedef cub::BlockScan<uint32_t, CHAIN> scan;
	__shared__ typename scan::TempStorage room;
	const uint32_t n = min(b.c->n_key, (uint32_t)KH_INF_SEGMENTS);
	uint32_t base = 1;

	for (uint32_t from = 0; from < n; from += CHAIN) {
		const uint32_t i = from + threadIdx.x, bit = i < n ? b.sorted[i] >> 32 : 0;
		const bool is = bit > b.start.bit &&
				(i == 0 || (uint32_t)(b.sorted[i - 1] >> 32) != bit);
		uint32_t at, all;

		scan(room).ExclusiveSum((uint32_t)is, at, all);
		__syncthreads();
		if (is && base + at < KH_INF_SEGMENTS) {
			b.segment[base + at].bit = bit;
			b.segment[base + at].head = (uint32_t)b.sorted[i];
		}
		base += all;
	}
	if (threadIdx.x == 0) {
		b.segment[0].bit = b.start.bit;
		b.segment[0].head = b.start.head;
		b.c->n_segment = min(base, (uint32_t)KH_INF_SEGMENTS);
	}
}

/* --- decode ---------------------------------------------------------------------------- */
__global__ void __launch_bounds__(32 * DECODE_WARPS, DECODE_BLOCKS)
decode_kernel(const __grid_constant__ kh_inf_batch b)
{
	extern __shared__ uint4 shared[];
	kh_inf_shared *w = (kh_inf_shared *)shared + threadIdx.x / 32;
	const int lane = (int)lane_id();

	for (;;) {
		uint32_t i = lane == 0 ? atomicAdd(&b.c->to_decode, 1) : 0;

		i = __shfl_sync(ALL, i, 0);
		if (i >= b.c->n_segment)
			return;
		kh_inf_decode_segment(lane, 32, &b, w, i);
		__syncwarp();
	}
}

/* --- chain ----------------------------------------------------------------------------- */
__global__ void __launch_bounds__(256) next_kernel(const __grid_constant__ kh_inf_batch b)
{
	const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < b.c->n_segment)
		b.segment[i].next = kh_inf_next(&b, i);
}

/* One thread walks; next[i] becomes 0 of a segment that is in the chain, else NONE. */
__device__ void walk(const kh_inf_batch &b, uint32_t *next, uint32_t n)
{
	uint32_t i = 0, end = 0;

	b.c->why = KH_INF_ROOM;
	while (i < n) {
		const uint32_t to = next[i];

		if (to == KH_INF_NONE) {
			b.c->why = b.segment[i].state;
			break;
		}
		next[i] = 0;
		end = i + 1;
		for (uint32_t k = i + 1; k < n && k < to; k++)
			next[k] = KH_INF_NONE;
		i = to;
	}
	for (uint32_t k = end; k < n; k++)
		next[k] = KH_INF_NONE;
	b.c->n_chain = end;
}

struct sums {
	uint64_t text;
	uint32_t units, members;
};

struct add_sums {
	__device__ sums operator()(const sums &a, const sums &b) const
	{
		const sums s = { a.text + b.text, a.units + b.units, a.members + b.members };

		return s;
	}
};

__device__ void place_units(const kh_inf_batch &b, uint32_t i, uint32_t to)
{
	const kh_inf_segment &s = b.segment[i];
	const kh_inf_member &m = b.member[s.member];
	uint32_t at = s.at;

	for (uint32_t j = s.first; j != KH_INF_NONE && s.n; j = b.stripe[j].next)
		for (uint32_t k = 0; k < KH_INF_UNITS; k++) {
			const uint32_t in_front = at - m.from + (s.member ? 0 : b.start.window);
			const kh_inf_unit u = { at, b.stripe[j].n[k],
						min(in_front, (uint32_t)KH_INF_WINDOW),
						j, k * KH_INF_UNIT, (k + 1) * KH_INF_UNIT, i };

			b.unit[to++] = u;
			at += u.n;
		}
}

/* Places of segments in the text, and their members, of which `from` is the sum before them. */
__device__ void place_segment(const kh_inf_batch &b, uint32_t i, const sums &from)
{
	kh_inf_segment &s = b.segment[i];
	const bool begins = s.head != KH_INF_NONE;

	s.at = (uint32_t)from.text;
	s.member = from.members + begins;
	s.next = from.units;            /* which is read no more */
	if (!begins)
		return;
	b.member[s.member].head = s.head;
	b.member[s.member].first = i;
	b.member[s.member].from = s.at;
}

__device__ void begin_members(const kh_inf_batch &b, uint32_t n)
{
	for (uint32_t i = threadIdx.x; i <= n; i += CHAIN) {
		const kh_inf_member none = { KH_INF_NONE, 0, KH_INF_NONE, 0, 0 };

		b.member[i] = none;
	}
	__syncthreads();
}

/* Segments that text has no room for are cut off: n_chain becomes less. */
__global__ void __launch_bounds__(CHAIN) chain_kernel(const __grid_constant__ kh_inf_batch b)
{
	typedef cub::BlockScan<sums, CHAIN, cub::BLOCK_SCAN_WARP_SCANS> scan;
	extern __shared__ uint32_t next[];
	__shared__ typename scan::TempStorage room;
	const uint32_t n = b.c->n_segment;
	sums base = { 0, 0, 0 };

	for (uint32_t i = threadIdx.x; i < n; i += CHAIN)
		next[i] = b.segment[i].next;
	begin_members(b, n);
	if (threadIdx.x == 0)
		walk(b, next, n);
	__syncthreads();
	for (uint32_t from = 0; from < n; from += CHAIN) {
		const uint32_t i = from + threadIdx.x;
		const bool in = i < n && next[i] == 0;
		const sums none = { 0, 0, 0 };
		sums mine = none, at, all;

		if (in) {
			const kh_inf_segment &s = b.segment[i];

			mine.text = s.n;
			mine.units = s.n ? KH_INF_UNITS * s.stripes : 0;
			mine.members = s.head != KH_INF_NONE;
		}
		scan(room).ExclusiveScan(mine, at, none, add_sums(), all);
		__syncthreads();
		at = add_sums()(base, at);
		const bool fits = in && at.text + mine.text <= b.cap_text;
		if (fits)
			place_segment(b, i, at);
		else if (i < n)
			b.segment[i].at = KH_INF_NONE;
		if (in && !fits) {
			atomicMin(&b.c->n_chain, i);
			b.c->why = KH_INF_ROOM;
		}
		if (fits) {
			atomicMax(&b.c->n_unit, at.units + mine.units);
			atomicMax(&b.c->n_member, at.members + mine.members);
		}
		base = add_sums()(base, all);
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += CHAIN) {
		kh_inf_segment &s = b.segment[i];

		if (s.at == KH_INF_NONE)
			continue;
		place_units(b, i, s.next);
		if (s.state == KH_INF_FINAL)
			b.member[s.member].last = i;
	}
}

} /* namespace */

extern "C" int kh_gpu_inflate_prepare(bool *fits, uint32_t *groups, uint64_t *scratch)
{
	const int decode = (int)(DECODE_WARPS * sizeof(kh_inf_shared));
	const int chain = KH_INF_SEGMENTS * 4;
	int device = 0, most = 0, n = 0;
	size_t bytes = 0;
	cudaError_t e = cudaGetDevice(&device);

	if (e == cudaSuccess)
		e = share_alike(maybe_kernel, header_kernel, segment_kernel, decode_kernel,
				next_kernel, chain_kernel);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device);
	/* the maps of two windows, and what the runtime has */
	*fits = most >= 4 * KH_INF_WINDOW + 1024;
	*groups = (uint32_t)n;
	if (e != cudaSuccess || !*fits)
		return e;
	e = cudaFuncSetAttribute(decode_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
				 decode);
	if (e == cudaSuccess)
		e = cudaFuncSetAttribute(chain_kernel,
					 cudaFuncAttributeMaxDynamicSharedMemorySize, chain);
	if (e == cudaSuccess)
		e = caught([&] {
			return cub::DeviceRadixSort::SortKeys(nullptr, bytes,
							      (const uint64_t *)nullptr,
							      (uint64_t *)nullptr,
							      (int)KH_INF_SEGMENTS);
		});
	*scratch = bytes;
	return e == cudaSuccess ? kh_gpu_inflate_text_prepare() : e;
}

extern "C" int kh_gpu_inflate(const kh_inf_batch *b, void *on)
{
	cudaStream_t stream = (cudaStream_t)on;
	size_t bytes = b->n_scratch;
	cudaError_t e = cudaMemsetAsync(b->c, 0, sizeof *b->c, stream);

	if (e == cudaSuccess)           /* those that are not found are sorted behind all others */
		e = cudaMemsetAsync(b->key, 0xff, KH_INF_SEGMENTS * sizeof *b->key, stream);
	if (e == cudaSuccess)
		e = cudaMemsetAsync(&b->c->bad_segment, 0xff, sizeof b->c->bad_segment, stream);
	if (e != cudaSuccess)
		return e;
	maybe_kernel<<<8 * b->groups, 32 * FIND_WARPS, 0, stream>>>(*b);
	header_kernel<<<8 * b->groups, 128, 0, stream>>>(*b);
	e = caught([&] {
		return cub::DeviceRadixSort::SortKeys(b->scratch, bytes, (const uint64_t *)b->key,
						      b->sorted, (int)KH_INF_SEGMENTS, 0, 64,
						      stream);
	});
	if (e != cudaSuccess)
		return e;
	segment_kernel<<<1, CHAIN, 0, stream>>>(*b);
	decode_kernel<<<DECODE_BLOCKS * b->groups, 32 * DECODE_WARPS,
			DECODE_WARPS * sizeof(kh_inf_shared), stream>>>(*b);
	next_kernel<<<KH_INF_SEGMENTS / 256, 256, 0, stream>>>(*b);
	chain_kernel<<<1, CHAIN, KH_INF_SEGMENTS * 4, stream>>>(*b);
	e = cudaPeekAtLastError();
	return e == cudaSuccess ? kh_gpu_inflate_text(b, on) : e;
}
