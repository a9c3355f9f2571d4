/* slices_warp.cu - notes what each segment of a long fragment (a slice) says of taxa, by a warp
 * if the slice fits into its room */
#include "cuda/kernels/candidates_warp.cuh"

namespace {

__device__ uint32_t warp_sum(uint32_t x) { return __reduce_add_sync(ALL, x); }

/* A bit for each of a lane's candidates that is votes of a species. */
template <class Room>
__device__ uint32_t name_taxa(const kh_gpu_query &q, const Room &w, candidates<Room> &c)
{
	const kh_bins &bins = q.ix.bins;
	uint32_t votes = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		if (c.h[x] == 0)
			continue;
		const uint32_t bin = w.u.t.bin[w.slot[32 * x + lane_id()]] - 1;

		c.taxon[x] = bins.taxon[target_of(q.ix, bin)];
		votes |= (uint32_t)(bin >= bins.votes) << x;
	}
	return votes;
}

/* Makes the table one of taxa, each with the most hits of its windows. */
template <class Room>
__device__ void best_of_taxa(Room &w, const candidates<Room> &c, uint32_t votes, bin_table *t)
{
	const unsigned mask = (1u << t->bits) - 1;
	unsigned taxa = 0;

	__syncwarp();
	for (unsigned i = lane_id(); i < t->used; i += 32)
		w.u.t.bin[w.slot[i]] = w.u.t.count[w.slot[i]] = 0;
	__syncwarp();
	/* there are no more taxa than there were bins, so a free place ends every search */
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		bool fresh = false;
		uint32_t at = 0;

		if (32 * x >= t->used)
			break;
		if (c.h[x] > 0 && !(votes >> x & 1)) {
			for (at = slot_of(c.taxon[x], 32 - t->bits);; at = (at + 1) & mask) {
				const uint32_t old =
					atomicCAS(&w.u.t.bin[at], 0, c.taxon[x] + 1);

				fresh = old == 0;
				if (fresh || old == c.taxon[x] + 1)
					break;
			}
			atomicMax(&w.u.t.count[at], c.h[x]);
		}
		const unsigned mine = __ballot_sync(ALL, fresh);

		if (fresh)
			w.slot[taxa + __popc(mine & lanes_below())] = (uint16_t)at;
		taxa += __popc(mine);
	}
	t->used = taxa;
	__syncwarp();
}

/* Writes where slice s lies: the lowest bin whose window has the most hits. */
template <class Room>
__device__ void note_place(const kh_gpu_query &q, const Room &w, const candidates<Room> &c,
			   uint32_t votes, unsigned used, uint32_t s)
{
	uint32_t hits = 0, first = KH_NO_BIN;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		if (32 * x >= used)
			break;
		if (c.h[x] == 0 || (votes >> x & 1))
			continue;
		const uint32_t bin = w.u.t.bin[w.slot[32 * x + lane_id()]] - 1;

		if (c.h[x] > hits || (c.h[x] == hits && bin < first)) {
			hits = c.h[x];
			first = bin;
		}
	}
	const uint32_t most = warp_max(hits);

	first = warp_least(hits == most ? first : KH_NO_BIN);
	if (lane_id() == 0)
		q.place[s] = first;
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

/* Writes the notes of slice s: of the taxa in the table, of votes, and of LCAs.  False: there is no
 * room for them. */
template <class Room>
__device__ bool note_all(const kh_gpu_query &q, const Room &w, const candidates<Room> &c,
			 uint32_t votes, unsigned taxa, uint32_t s)
{
	const uint32_t n = warp_sum((uint32_t)__popc(votes)) + taxa + w.n_over;
	uint32_t at = 0;
	bool room = true;

	if (lane_id() == 0)
		room = note_room(q, n, &at);
	if (!__shfl_sync(ALL, room, 0))
		return false;
	at = __shfl_sync(ALL, at, 0);
	if (lane_id() == 0)
		q.noted[s] = kh_gpu_segment { at, n };
	for (unsigned i = lane_id(); i < taxa; i += 32)
		q.note[at + i] = kh_gpu_note { w.u.t.bin[w.slot[i]] - 1,
					       KH_GPU_NOTE_HITS | w.u.t.count[w.slot[i]] };
	at += taxa;
	for (unsigned i = lane_id(); i < w.n_over; i += 32)
		q.note[at + i] = kh_gpu_note { w.over[i], KH_GPU_NOTE_OVER | 1 };
	at += w.n_over;
	if (__any_sync(ALL, votes != 0)) {
#pragma unroll
		for (unsigned x = 0; x < Room::EACH; x++)
			at = add_notes(q, at, votes >> x & 1, c.taxon[x],
				       KH_GPU_NOTE_VOTES | c.h[x]);
	}
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

/* Counts a slice and writes its notes.  False: it does not fit into the room. */
template <enum kh_gpu_pass P, class Room>
__device__ bool one_slice(const kh_gpu_query &q, Room &w, uint32_t s)
{
	const slice_range range(q, q.slice[s]);
	candidates<Room> c;
	uint32_t votes = 0, at = 0;
	bin_table t = { 0, 0 };
	unsigned n;

	if (P == KH_GPU_LISTS) {
		n = given_features(q, w, q.segment[q.n + s]);
		at = q.segment[q.n + s].at;
	} else {
		n = sample_range(q, w, range.from, range.to, 0);
		n = n > Room::FEATURES ? n : distinct(w, n);
	}
	if (n > Room::FEATURES)
		return false;
	if (P == KH_GPU_FEATURES) {
		give_features(q, w, n, q.n + s);
		return true;
	}
	const uint32_t total = find_lists<P>(q, w, n, at);
	if (total > 0 && !count_bins(q, w, n, total, &t))
		return false;
	if (total > 0) {
		windows(q, w, n, kh_rule_window(&q.rule, range.span), t, c);
		votes = name_taxa(q, w, c);
	}
	if (q.place)
		note_place(q, w, c, votes, t.used, s);
	if (total > 0)
		best_of_taxa(w, c, votes, &t);
	if (!note_all(q, w, c, votes, t.used, s))
		return false;
	add_features(q, w, n, q.slice[s].fragment);
	return true;
}

template <enum kh_gpu_pass P>
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

	return launch_pass(q, [&](auto p) {
		slice_kernel<decltype(p)::value><<<blocks, 32 * WARPS, 0, stream>>>(*q);
	});
}
