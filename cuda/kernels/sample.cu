/*
 * sample.cu - (key, bin) pairs of a block of references, in order of bins
 *
 * Syncmers: a thread marks the starts in its 32-base word as bits, a scan of their
 * numbers says where each word's pairs go, and a second kernel makes them.  Minhash: a
 * warp selects the features of a window into a slot of fixed size, and what is in the
 * slots is moved together.
 */
#include "cuda/kernels/builder.h"
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/syncmers.cuh"
#include "cuda/kernels/threads.cuh"

#include <cub/device/device_scan.cuh>

namespace {

/* The last piece that starts in or before 32-base word w, or -1. */
__device__ int piece_of_word(const kh_gpu_sample &s, uint32_t w)
{
	const auto begun = [&](uint32_t i) { return s.piece[i].at >> 5 <= w; };

	return s.n_pieces > 0 && begun(0) ? (int)last_of(0, s.n_pieces, begun) : -1;
}

__device__ uint64_t bits_at(const kh_gpu_sample &s, uint32_t w, unsigned i)
{
	return kh_packed_bits(s.bases, ((uint64_t)w << 5) + i, s.sampling.k);
}

template <int H>
__global__ void __launch_bounds__(256)
	mark_kernel(kh_gpu_sample s, uint32_t *mark, uint32_t *number)
{
	uint32_t w = blockIdx.x * blockDim.x + threadIdx.x, keep = 0;

	if (w > s.n_words)
		return;
	int i = w < s.n_words ? piece_of_word(s, w) : -1;
	if (i >= 0) {
		uint64_t first = (uint64_t)w << 5, at = s.piece[i].at,
			 end = at + s.piece[i].starts;

		if (end > first) {
			uint64_t amb = s.amb[w] | (uint64_t)s.amb[w + 1] << 32;

			keep = syncmers_of<H>(s.bases[w], s.bases[w + 1], s.sampling.s);
			keep &= ~smear(amb, s.sampling.k);
			if (at > first)
				keep &= ~0u << (at - first);
			if (end - first < 32)
				keep &= (1u << (end - first)) - 1;
			keep = leave_out(s.sampling, s.bases, w, keep);
		}
	}
	if (w < s.n_words)
		mark[w] = keep;
	number[w] = __popc(keep);
}

__global__ void __launch_bounds__(256) emit_kernel(kh_gpu_sample s, const uint32_t *mark,
						   const uint32_t *from)
{
	uint32_t w = blockIdx.x * blockDim.x + threadIdx.x;

	if (w == 0)
		*s.count = from[s.n_words];
	if (w >= s.n_words || mark[w] == 0)
		return;
	const kh_gpu_piece p = s.piece[piece_of_word(s, w)];
	uint32_t out = from[w];

	for (uint32_t m = mark[w]; m; m &= m - 1) {
		const unsigned i = (unsigned)__ffs((int)m) - 1;
		const uint64_t at = ((uint64_t)w << 5) + i;

		s.key[out] = kh_key(kh_bits_canonical(bits_at(s, w, i), s.sampling.k));
		s.bin[out++] = p.bin + (uint32_t)((at - p.at) / s.sampling.stride);
	}
}

/* --- minhash ------------------------------------------------------------------------ */
/* fmix64 is a bijection: its inverse. */
__device__ __forceinline__ uint64_t unmix64(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0x9cb4b2f8129337db);
	x ^= x >> 33;
	x *= UINT64_C(0x4f74430c22a54005);
	return x ^ x >> 33;
}

__device__ __forceinline__ uint64_t warp_min(uint64_t x)
{
	for (int d = 16; d > 0; d /= 2) {
		uint64_t y = __shfl_xor_sync(ALL, x, d);

		x = y < x ? y : x;
	}
	return x;
}

/* Calls emit(i, key) in lane 0 for the features of one minhash window that are left in, ascending
 * by order; returns their number.  The first `cap` orders are kept in `room`, the others are
 * computed each time.  All ones mean that there is none, because the only number with that order
 * is not a canonical k-mer. */
template <class Emit>
__device__ unsigned warp_minhash(const kh_sampling &rule, const uint64_t *bases,
				 const uint32_t *amb, uint64_t at, uint64_t end,
				 uint64_t *room, unsigned cap, Emit emit)
{
	const unsigned lane = lane_id(), m = (unsigned)(end - at);
	uint64_t last = 0;
	unsigned n = 0, taken = 0;
	auto order = [&](unsigned i) {
		return kh_packed_ambiguous(amb, at + i, rule.k)
			       ? ~UINT64_C(0)
			       : kh_minhash_order(kh_bits_canonical(
					 kh_packed_bits(bases, at + i, rule.k), rule.k));
	};

	for (unsigned i = lane; i < m && i < cap; i += 32)
		room[i] = order(i);
	for (; n < rule.s; n++) {
		uint64_t least = ~UINT64_C(0);

		for (unsigned i = lane; i < m; i += 32) {
			uint64_t h = i < cap ? room[i] : order(i);

			if ((n == 0 || h > last) && h < least)
				least = h;
		}
		least = warp_min(least);
		if (least == ~UINT64_C(0))
			break;
		const uint64_t kmer = unmix64(least) ^ KH_ORDER_SEED, key = kh_key(kmer);

		if (kh_sampling_takes(&rule, key) && !kh_sampling_repeat(&rule, kmer)) {
			if (lane == 0)
				emit(taken, key);
			taken++;
		}
		last = least;
	}
	__syncwarp();
	return taken;
}

__device__ uint32_t piece_of_window(const kh_gpu_sample &s, uint64_t window)
{
	return last_of(0, s.n_pieces, [&](uint32_t i) { return s.piece[i].window <= window; });
}

constexpr unsigned WINDOW_ROOM = 256;   /* orders that are kept */

__global__ void __launch_bounds__(256)
	window_kernel(kh_gpu_sample s, uint64_t *stage, uint32_t *number)
{
	__shared__ uint64_t room[8][WINDOW_ROOM];
	uint64_t window = (uint64_t)blockIdx.x * 8 + threadIdx.x / 32;

	if (window > s.n_windows)
		return;
	if (window == s.n_windows) {
		if (lane_id() == 0)
			number[window] = 0;
		return;
	}
	const kh_gpu_piece p = s.piece[piece_of_window(s, window)];
	const uint64_t at = (window - p.window) * s.sampling.stride;
	const uint64_t end =
		p.starts - at < s.sampling.stride ? p.starts : at + s.sampling.stride;
	uint64_t *out = stage + window * s.sampling.s;
	unsigned n = warp_minhash(s.sampling, s.bases, s.amb, p.at + at, p.at + end,
				  room[threadIdx.x / 32], WINDOW_ROOM,
				  [&](unsigned i, uint64_t key) { out[i] = key; });

	if (lane_id() == 0)
		number[window] = n;
}

__global__ void __launch_bounds__(256) move_kernel(kh_gpu_sample s, const uint64_t *stage,
						   const uint32_t *from)
{
	uint64_t window = (uint64_t)blockIdx.x * 8 + threadIdx.x / 32;

	if (window == 0 && lane_id() == 0)
		*s.count = from[s.n_windows];
	if (window >= s.n_windows)
		return;
	const kh_gpu_piece p = s.piece[piece_of_window(s, window)];

	for (uint32_t i = from[window] + lane_id(); i < from[window + 1]; i += 32) {
		s.key[i] = stage[window * s.sampling.s + i - from[window]];
		s.bin[i] = p.bin + (uint32_t)(window - p.window);
	}
}

/* --- scratch ------------------------------------------------------------------------ */
struct layout {
	uint64_t *stage;
	uint32_t *mark, *number, *from;
	void *scan;
	size_t scan_bytes, bytes, items;
	cudaError_t error;
};

layout lay_out(const kh_gpu_sample *s)
{
	layout l = {};
	bool minhash = s->sampling.scheme == KH_MINHASH;
	char *at = (char *)s->scratch;

	l.items = (minhash ? (size_t)s->n_windows : s->n_words) + 1;
	l.error = caught([&] {
		return cub::DeviceScan::ExclusiveSum(nullptr, l.scan_bytes,
						     (uint32_t *)nullptr,
						     (uint32_t *)nullptr, l.items);
	});
	l.number = (uint32_t *)at;
	at += up(l.items * 4);
	l.from = (uint32_t *)at;
	at += up(l.items * 4);
	l.mark = (uint32_t *)at;
	l.stage = (uint64_t *)at;
	at += up(minhash ? (size_t)s->n_windows * s->sampling.s * 8
			 : (size_t)s->n_words * 4);
	l.scan = at;
	l.bytes = (size_t)(at - (char *)s->scratch) + up(l.scan_bytes);
	return l;
}

template <int H>
void mark(const kh_gpu_sample *s, const layout &l, cudaStream_t stream)
{
	mark_kernel<H><<<s->n_words / 256 + 1, 256, 0, stream>>>(*s, l.mark, l.number);
}

void mark_any(const kh_gpu_sample *s, const layout &l, cudaStream_t stream)
{
	switch ((s->sampling.k - s->sampling.s) / 2) {
	case 1: mark<1>(s, l, stream); break;
	case 2: mark<2>(s, l, stream); break;
	case 3: mark<3>(s, l, stream); break;
	case 4: mark<4>(s, l, stream); break;
	case 5: mark<5>(s, l, stream); break;
	case 6: mark<6>(s, l, stream); break;
	case 7: mark<7>(s, l, stream); break;
	default: mark<8>(s, l, stream); break;
	}
}

} /* namespace */

extern "C" size_t kh_gpu_sample_scratch(const kh_gpu_sample *s)
{
	return lay_out(s).bytes;
}

extern "C" int kh_gpu_sample_run(const kh_gpu_sample *s, cudaStream_t stream)
{
	layout l = lay_out(s);
	bool minhash = s->sampling.scheme == KH_MINHASH;
	unsigned blocks =
		(unsigned)(minhash ? s->n_windows / 8 + 1 : s->n_words / 256 + 1);

	if (l.error != cudaSuccess)
		return l.error;
	if (l.bytes > s->scratch_bytes)
		return cudaErrorInvalidValue;
	if (minhash)
		window_kernel<<<blocks, 256, 0, stream>>>(*s, l.stage, l.number);
	else
		mark_any(s, l, stream);
	cudaError_t e = cudaGetLastError();
	if (e == cudaSuccess)
		e = caught([&] {
			return cub::DeviceScan::ExclusiveSum(l.scan, l.scan_bytes,
							     l.number, l.from, l.items,
							     stream);
		});
	if (e != cudaSuccess)
		return e;
	if (minhash)
		move_kernel<<<blocks, 256, 0, stream>>>(*s, l.stage, l.from);
	else
		emit_kernel<<<blocks, 256, 0, stream>>>(*s, l.mark, l.from);
	return cudaGetLastError();
}
