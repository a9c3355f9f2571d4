/* slices_warp.cu - what the segments of long fragments say of taxa: a warp a slice, if it fits */
#include "cuda/kernels/candidates_warp.cuh"

namespace {

__device__ uint32_t warp_sum(uint32_t x) { return __reduce_add_sync(ALL, x); }

/* Which of a lane's candidates are votes: a bit each. */
template <class Room>
__device__ uint32_t name_taxa(const kh_gpu_query &q, const Room &w, candidates<Room> &c)
{
	const kh_bins &bins = q.ix.bins;
	uint32_t votes = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		if (c.h[x] == 0)
			continue;
		const uint32_t bin = w.u.t.bin[32 * x + lane_id()] - 1;

		c.taxon[x] = bins.taxon[target_of(q.ix, bin)];
		votes |= (uint32_t)(bin >= bins.votes) << x;
	}
	return votes;
}

/* The table becomes one of taxa, each with the most hits of its windows. */
template <class Room>
__device__ void best_of_taxa(Room &w, const candidates<Room> &c, uint32_t votes, unsigned bits)
{
	const unsigned size = 1u << bits, mask = size - 1;

	__syncwarp();
	for (unsigned i = lane_id(); i < size; i += 32)
		w.u.t.bin[i] = w.u.t.count[i] = 0;
	__syncwarp();
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		if (c.h[x] == 0 || votes >> x & 1)
			continue;
		/* no more taxa than bins: a free place ends every search */
		for (uint32_t at = slot_of(c.taxon[x], 32 - bits);; at = (at + 1) & mask) {
			const uint32_t old = atomicCAS(&w.u.t.bin[at], 0, c.taxon[x] + 1);

			if (old == 0 || old == c.taxon[x] + 1) {
				atomicMax(&w.u.t.count[at], c.h[x]);
				break;
			}
		}
	}
	__syncwarp();
}

/* Appends a note of each lane that has one. */
__device__ uint32_t add_notes(const kh_gpu_query &q, uint32_t at, bool mine, uint32_t taxon,
			      uint32_t what)
{
	const unsigned mask = __ballot_sync(ALL, mine);

	if (mine)
		q.note[at + __popc(mask & lanes_below())] = kh_gpu_note { taxon, what };
	return at + __popc(mask);
}

/* What is known of slice s, to its notes.  total: locations; bits: of the table, if there are any.
 * False: there is no room for them. */
template <class Room>
__device__ bool note_all(const kh_gpu_query &q, const Room &w, const candidates<Room> &c,
			 uint32_t votes, unsigned size, uint32_t s)
{
	uint32_t n = (uint32_t)__popc(votes), at = 0;
	bool room = true;

	for (unsigned i = lane_id(); i < size; i += 32)
		n += w.u.t.bin[i] != 0;
	n = warp_sum(n) + w.n_over;
	if (lane_id() == 0)
		room = note_room(q, n, &at);
	if (!__shfl_sync(ALL, room, 0))
		return false;
	at = __shfl_sync(ALL, at, 0);
	if (lane_id() == 0)
		q.noted[s] = kh_gpu_segment { at, n };
	for (unsigned i = lane_id(); i < size; i += 32)
		at = add_notes(q, at, w.u.t.bin[i] != 0, w.u.t.bin[i] - 1,
			       KH_GPU_NOTE_HITS | w.u.t.count[i]);
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		at = add_notes(q, at, votes >> x & 1, c.taxon[x], KH_GPU_NOTE_VOTES | c.h[x]);
	for (unsigned i = lane_id(); i < ((w.n_over + 31) & ~31u); i += 32)
		at = add_notes(q, at, i < w.n_over, i < w.n_over ? w.over[i] : 0,
			       KH_GPU_NOTE_OVER | 1);
	return true;
}

/* Adds the slice's features to those of its fragment. */
template <class Room>
__device__ void add_features(const kh_gpu_query &q, const Room &w, unsigned n, uint32_t i)
{
	uint32_t at = 0;

	if (lane_id() == 0) {
		atomicAdd(&q.call[i].features, n);
		at = atomicAdd(&q.call[i].found, w.n_found);
	}
	if (q.found)
		give_found(q, w, n, q.found_at[i] + __shfl_sync(ALL, at, 0));
}

/* False: there is not room enough. */
template <enum pass P, class Room>
__device__ bool one_slice(const kh_gpu_query &q, Room &w, uint32_t s)
{
	const slice_range range(q, q.slice[s]);
	candidates<Room> c;
	uint32_t votes = 0, at = 0;
	unsigned bits = 0, n;

	if (P == LISTS_GIVEN) {
		n = given_features(q, w, q.segment[q.n + s]);
		at = q.segment[q.n + s].at;
	} else {
		collector<Room> col = { w, 0 };

		sample_range(q, range.from, range.to, col);
		n = col.n > Room::FEATURES ? col.n : distinct(w, col.n);
	}
	if (n > Room::FEATURES)
		return false;
	if (P == FEATURES_ONLY) {
		give_features(q, w, n, q.n + s);
		return true;
	}
	const uint32_t total = find_lists<P>(q, w, n, at);
	if (total > 0) {
		if (!count_bins(q, w, n, total, &bits))
			return false;
		windows(q, w, n, kh_rule_window(&q.rule, range.span), bits, c);
		votes = name_taxa(q, w, c);
		best_of_taxa(w, c, votes, bits);
	}
	if (!note_all(q, w, c, votes, total > 0 ? 1u << bits : 0, s))
		return false;
	add_features(q, w, n, q.slice[s].fragment);
	return true;
}

template <enum pass P>
__global__ void __launch_bounds__(32 * WARPS) slice_kernel(kh_gpu_query q)
{
	__shared__ large_room room[WARPS];
	const uint32_t s = blockIdx.x * WARPS + threadIdx.x / 32;

	if (s < q.n_slices && !one_slice<P>(q, room[threadIdx.x / 32], s) && lane_id() == 0)
		q.slice_left[atomicAdd(&q.counts[KH_GPU_SLICES_LEFT], 1)] = s;
}

} /* namespace */

extern "C" int kh_gpu_query_slices(const kh_gpu_query *q, cudaStream_t stream)
{
	const uint32_t blocks = (q->n_slices + WARPS - 1) / WARPS;

	if (!q->segment)
		slice_kernel<WHOLE><<<blocks, 32 * WARPS, 0, stream>>>(*q);
	else if (!q->list)
		slice_kernel<FEATURES_ONLY><<<blocks, 32 * WARPS, 0, stream>>>(*q);
	else
		slice_kernel<LISTS_GIVEN><<<blocks, 32 * WARPS, 0, stream>>>(*q);
	const cudaError_t e = cudaGetLastError();
	return e != cudaSuccess ? e : kh_gpu_query_slices_left(q, stream);
}
