/*
 * text.cu - symbols, windows, text, and what is proven of it (inflate.h)
 *
 * Groups are runs of units, as many as there are multiprocessors.  The map of a group says of which
 * byte of the window in front of it each byte of the window behind it is a copy; maps are made side
 * by side, then windows go through them one after the other.
 */
#include "cuda/inflate/chain.h"
#include "cuda/inflate/unit.h"
#include "cuda/kernels/threads.cuh"

namespace {

constexpr unsigned RESOLVE_WARPS = 4, TEXT = 1024, SETTLE = 1024, WINDOW = KH_INF_WINDOW;

__global__ void __launch_bounds__(32 * RESOLVE_WARPS)
resolve_kernel(const __grid_constant__ kh_inf_batch b)
{
	__shared__ kh_inf_ring rings[RESOLVE_WARPS];

	for (;;) {
		uint32_t i = lane_id() == 0 ? atomicAdd(&b.c->to_resolve, 1) : 0;

		i = __shfl_sync(ALL, i, 0);
		if (i >= b.c->n_unit)
			return;
		if (b.unit[i].n)
			kh_inf_resolve(&b, &b.unit[i], &rings[threadIdx.x / 32]);
		__syncwarp();
	}
}

/* --- windows ---------------------------------------------------------------------------- */
struct run {
	uint32_t from, to;              /* units */
};

__device__ run group_of(const kh_inf_batch &b, uint32_t g)
{
	const uint64_t n = b.c->n_unit;
	const run r = { (uint32_t)(n * g / b.groups), (uint32_t)(n * (g + 1) / b.groups) };

	return r;
}

/* `now` becomes that of the window behind the unit, of `before` in front of it. */
__device__ void map_unit(const kh_inf_batch &b, const kh_inf_unit &u, const uint16_t *before,
			 uint16_t *now)
{
	const uint16_t *symbol = b.symbol + u.at;

	for (uint32_t i = threadIdx.x; i < WINDOW; i += TEXT) {
		if (u.n < WINDOW && i < WINDOW - u.n) {
			now[i] = before[i + u.n];
			continue;
		}
		const uint16_t v = symbol[u.n + i - WINDOW];

		now[i] = v & KH_INF_MARK ? before[v - KH_INF_MARK] : v;
	}
}

__global__ void __launch_bounds__(TEXT) map_kernel(const __grid_constant__ kh_inf_batch b)
{
	extern __shared__ uint16_t maps[];
	const run r = group_of(b, blockIdx.x);
	uint16_t *now = maps, *then = maps + WINDOW;

	for (uint32_t i = threadIdx.x; i < WINDOW; i += TEXT)
		now[i] = (uint16_t)(KH_INF_MARK + i);
	__syncthreads();
	for (uint32_t k = r.from; k < r.to; k++) {
		if (b.unit[k].n == 0)
			continue;
		map_unit(b, b.unit[k], now, then);
		__syncthreads();
		uint16_t *x = now;

		now = then;
		then = x;
	}
	for (uint32_t i = threadIdx.x; i < WINDOW; i += TEXT)
		b.map[(uint64_t)blockIdx.x * WINDOW + i] = now[i];
}

/* Four symbols of a map, of a window. */
__device__ uint32_t four_bytes(uint2 v, const uint8_t *window)
{
	const uint32_t s[4] = { v.x & 0xffff, v.x >> 16, v.y & 0xffff, v.y >> 16 };
	uint32_t x = 0;

	for (int i = 0; i < 4; i++)
		x |= (s[i] & KH_INF_MARK ? window[s[i] - KH_INF_MARK] : s[i]) << 8 * i;
	return x;
}

/* Windows in front of groups; each step reads the next map while it waits. */
__global__ void __launch_bounds__(TEXT) window_kernel(const __grid_constant__ kh_inf_batch b)
{
	constexpr unsigned EACH = WINDOW / 8 / TEXT;
	extern __shared__ uint8_t bytes[];
	uint8_t *now = bytes, *then = bytes + WINDOW;
	const uint4 *map = (const uint4 *)b.map;
	uint4 x[EACH], y[EACH];

	for (uint32_t i = threadIdx.x; i < WINDOW / 4; i += TEXT)
		((uint32_t *)now)[i] = ((const uint32_t *)b.window)[i];
	for (unsigned k = 0; k < EACH; k++)
		x[k] = map[threadIdx.x + k * TEXT];
	__syncthreads();
	for (uint32_t g = 0; g < b.groups; g++) {
		for (unsigned k = 0; k < EACH; k++)
			if (g + 1 < b.groups)
				y[k] = map[(uint64_t)(g + 1) * (WINDOW / 8) + threadIdx.x +
					   k * TEXT];
		for (unsigned k = 0; k < EACH; k++) {
			const unsigned i = threadIdx.x + k * TEXT;

			((uint2 *)(b.windows + (uint64_t)g * WINDOW))[i] = ((uint2 *)now)[i];
			((uint2 *)then)[i] = make_uint2(
				four_bytes(make_uint2(x[k].x, x[k].y), now),
				four_bytes(make_uint2(x[k].z, x[k].w), now));
			x[k] = y[k];
		}
		__syncthreads();
		uint8_t *z = now;

		now = then;
		then = z;
	}
}

/* --- text ------------------------------------------------------------------------------- */
__device__ void unit_text(const kh_inf_batch &b, const kh_inf_unit &u, const uint8_t *window)
{
	const uint32_t skew = u.at & 3;
	const uint16_t *symbol = b.symbol + u.at;
	uint8_t *text = b.text + u.at;

	for (uint32_t q = threadIdx.x; 4 * q < u.n + skew; q += TEXT) {
		const int i = (int)(4 * q) - (int)skew;

		if (i >= 0 && i + 4 <= (int)u.n) {
			*(uint32_t *)(text + i) = four_bytes(*(const uint2 *)(symbol + i), window);
			continue;
		}
		for (int k = max(i, 0); k < min(i + 4, (int)u.n); k++) {
			const uint32_t v = symbol[k];

			text[k] = (uint8_t)(v & KH_INF_MARK ? window[v - KH_INF_MARK] : v);
		}
	}
}

__global__ void __launch_bounds__(TEXT) text_kernel(const __grid_constant__ kh_inf_batch b)
{
	extern __shared__ uint8_t bytes[];
	const run r = group_of(b, blockIdx.x);
	const uint32_t *window = (const uint32_t *)(b.windows + (uint64_t)blockIdx.x * WINDOW);
	uint8_t *now = bytes, *then = bytes + WINDOW;

	for (uint32_t i = threadIdx.x; i < WINDOW / 4; i += TEXT)
		((uint32_t *)now)[i] = window[i];
	__syncthreads();
	for (uint32_t k = r.from; k < r.to; k++) {
		const kh_inf_unit u = b.unit[k];

		if (u.n == 0)
			continue;
		unit_text(b, u, now);
		__syncthreads();
		for (uint32_t i = threadIdx.x; i < WINDOW; i += TEXT)
			then[i] = u.n < WINDOW && i < WINDOW - u.n
					  ? now[i + u.n]
					  : b.text[u.at + u.n + i - WINDOW];
		__syncthreads();
		uint8_t *x = now;

		now = then;
		then = x;
	}
}

/* --- sums ------------------------------------------------------------------------------- */
/* Word at byte `i` of the text, of which bytes in front of `from` count as zeros. */
__device__ uint32_t word_from(const uint8_t *text, int64_t i, int64_t from)
{
	uint32_t x = 0;

	for (int k = 0; k < 4; k++)
		if (i + k >= from)
			x |= (uint32_t)text[i + k] << 8 * k;
	return x;
}

/* A warp sums up a segment in rows of 128 bytes, the last of which ends where it ends: each lane
 * has a word of each row, and moves on by a row with a table for each byte of its sum.  All rows
 * but the first one are whole; several are read at a time, as each takes long to come. */
__device__ uint32_t crc_of(const kh_inf_batch &b, const kh_inf_segment &s,
			   const uint32_t (*table)[256])
{
	const int64_t end = (int64_t)s.at + s.n, rows = ((int64_t)s.n + 127) / 128;
	const int64_t i = end - 128 * rows + 4 * (int64_t)lane_id();
	const uint32_t *w = (const uint32_t *)(b.text + (i & ~(int64_t)3));
	const uint32_t shift = 8 * (uint32_t)(i & 3), beside = shift > 0;
	uint32_t x = rows > 0 ? word_from(b.text, i, s.at) : 0;

#pragma unroll 8
	for (int64_t r = 1; r < rows; r++) {
		const uint32_t *const at = w + 32 * r;
		const uint32_t next = __funnelshift_r(at[0], at[beside], shift);

		x = next ^ table[0][x & 255] ^ table[1][x >> 8 & 255] ^
		    table[2][x >> 16 & 255] ^ table[3][x >> 24];
	}
	x = kh_inf_crc_times(x, kh_inf_crc_power(4 * (32 - lane_id())));
	for (int d = 16; d > 0; d /= 2)
		x ^= __shfl_xor_sync(ALL, x, d);
	return x;
}

__global__ void __launch_bounds__(256) crc_kernel(const __grid_constant__ kh_inf_batch b)
{
	__shared__ uint32_t table[4][256];
	const uint32_t row = kh_inf_crc_power(128);

	for (unsigned k = 0; k < 4; k++)
		table[k][threadIdx.x] = kh_inf_crc_times(threadIdx.x << 8 * k, row);
	__syncthreads();
	for (uint32_t i = (blockIdx.x * 256 + threadIdx.x) / 32; i < b.c->n_chain;
	     i += gridDim.x * 8) {
		kh_inf_segment &s = b.segment[i];

		if (s.at == KH_INF_NONE)
			continue;
		const uint32_t x = crc_of(b, s, table), last = b.member[s.member].last;
		if (lane_id() != 0)
			continue;
		s.crc = x;
		if (last < b.c->n_chain)
			atomicXor(&b.member[s.member].crc,
				  kh_inf_crc_part(&s, b.segment[last].at + b.segment[last].n));
	}
}

/* --- settle ----------------------------------------------------------------------------- */
/* The least x of all threads of the block. */
__device__ uint32_t least_of_block(uint32_t x, uint32_t *shared)
{
	__syncthreads();
	if (threadIdx.x == 0)
		*shared = KH_INF_NONE;
	__syncthreads();
	atomicMin(shared, x);
	__syncthreads();
	return *shared;
}

__device__ bool ends_here(const kh_inf_batch &b, uint32_t member)
{
	return b.member[member].last < b.c->n_chain;
}

__device__ kh_inf_verdict verdict_of(const kh_inf_batch &b, uint32_t *shared)
{
	kh_inf_verdict v = { KH_INF_NONE, KH_INF_NONE };

	for (uint32_t m = threadIdx.x; m <= b.c->n_member; m += SETTLE)
		if (ends_here(b, m) && m < v.wrong && !kh_inf_is_right(&b, m))
			v.wrong = m;
	v.wrong = least_of_block(v.wrong, shared);
	/* the last one has the least distance to LAST */
	uint32_t before = KH_INF_NONE;
	for (uint32_t m = threadIdx.x; m <= b.c->n_member && m < v.wrong; m += SETTLE)
		if (ends_here(b, m) && b.member[m].last < b.c->bad_segment)
			before = KH_INF_LAST - b.member[m].last;
	before = least_of_block(before, shared);
	if (before != KH_INF_NONE)
		v.final = KH_INF_LAST - before;
	return v;
}

/* The window behind what counts. */
__device__ void window_behind(const kh_inf_batch &b, uint32_t n_text)
{
	for (uint32_t i = threadIdx.x; i < WINDOW; i += SETTLE)
		b.window_behind[i] = n_text < WINDOW && i < WINDOW - n_text
					     ? b.window[i + n_text]
					     : b.text[n_text + i - WINDOW];
}

__global__ void __launch_bounds__(SETTLE) settle_kernel(const __grid_constant__ kh_inf_batch b)
{
	__shared__ uint32_t shared, sum, n_text;
	const kh_inf_verdict v = verdict_of(b, &shared);
	uint32_t stop;
	const uint32_t last = kh_inf_last_proven(&b, &v, &stop);

	if (threadIdx.x == 0)
		sum = n_text = 0;
	__syncthreads();
	if (last != KH_INF_NONE) {
		const kh_inf_segment &s = b.segment[last];

		for (uint32_t i = threadIdx.x; i <= last; i += SETTLE)
			if (b.segment[i].at != KH_INF_NONE && b.segment[i].member == s.member)
				atomicXor(&sum, kh_inf_crc_part(&b.segment[i], s.at + s.n));
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		kh_inf_settle(&b, last, sum, stop);
		n_text = b.c->n_text;
	}
	__syncthreads();
	window_behind(b, n_text);
}

} /* namespace */

extern "C" int kh_gpu_inflate_text_prepare(void)
{
	const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
	cudaError_t e = share_alike(resolve_kernel, map_kernel, window_kernel, text_kernel,
				    crc_kernel, settle_kernel);

	if (e == cudaSuccess)
		e = cudaFuncSetAttribute(map_kernel, most, 4 * WINDOW);
	if (e == cudaSuccess)
		e = cudaFuncSetAttribute(window_kernel, most, 2 * WINDOW);
	return e == cudaSuccess ? cudaFuncSetAttribute(text_kernel, most, 2 * WINDOW) : e;
}

extern "C" int kh_gpu_inflate_text(const kh_inf_batch *b, void *on)
{
	cudaStream_t stream = (cudaStream_t)on;

	resolve_kernel<<<12 * b->groups, 32 * RESOLVE_WARPS, 0, stream>>>(*b);
	map_kernel<<<b->groups, TEXT, 4 * WINDOW, stream>>>(*b);
	window_kernel<<<1, TEXT, 2 * WINDOW, stream>>>(*b);
	text_kernel<<<b->groups, TEXT, 2 * WINDOW, stream>>>(*b);
	crc_kernel<<<8 * b->groups, 256, 0, stream>>>(*b);
	settle_kernel<<<1, SETTLE, 0, stream>>>(*b);
	return cudaPeekAtLastError();
}
