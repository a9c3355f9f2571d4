/*
 * candidates_warp.cuh - by a warp, in shared memory: from the features of a fragment to its
 * candidates
 */
#ifndef KH_CUDA_KERNELS_CANDIDATES_WARP_CUH
#define KH_CUDA_KERNELS_CANDIDATES_WARP_CUH

#include "cuda/kernels/sample_warp.cuh"

#include <cub/warp/warp_scan.cuh>

namespace {

/* What a lane has of the candidates: windows, or overpopulated features. */
template <class Room>
struct candidates {
	uint32_t h[Room::EACH], taxon[Room::EACH];
};

__device__ uint32_t warp_max(uint32_t x) { return __reduce_max_sync(ALL, x); }
__device__ uint32_t warp_least(uint32_t x) { return __reduce_min_sync(ALL, x); }

/* Finds the lists of the features: fills before[], loc[] and over[], and returns how many locations
 * there are in all.  With KH_GPU_LISTS the lists are those in q.list from `at` on. */
template <enum kh_gpu_pass P, class Room>
__device__ uint32_t find_lists(const kh_gpu_query &q, Room &w, unsigned n,
			       uint32_t at)
{
	const unsigned lane = lane_id();
	/* Prefetching memory of another GPU makes look-ups there 10 times slower (two H200). */
	const bool ahead = q.ix.image != NULL;
	uint32_t sum = 0;

	if (lane == 0)
		w.n_over = w.n_found = 0;
	for (unsigned i = 32 + lane; P != KH_GPU_LISTS && ahead && i < n; i += 32)
		ask_for_bucket(q.ix, w.key[i]);
	__syncwarp();
	for (unsigned i = lane; i < n; i += 32) {
		const kh_list l = P == KH_GPU_LISTS ? q.list[at + i] : lane_find(q.ix, w.key[i]);

		w.loc[i] = l.bit;
		w.before[i] = l.over ? 0 : l.n;
		if (l.n) {
			if (ahead)
				ask_for((const char *)q.ix.image + l.bit / 8);
			atomicAdd(&w.n_found, 1);
		}
		if (l.over)
			w.over[atomicAdd(&w.n_over, 1)] = kh_word(q.ix.image, l.bit, q.ix.bits);
		if (q.found && l.n == 0)
			w.key[i] = ~UINT64_C(0);
	}
	__syncwarp();
	for (unsigned from = 0; from < n; from += 32) {
		using scan = cub::WarpScan<uint32_t>;
		typename scan::TempStorage none;        /* lanes pass sums by registers */
		uint32_t before, all;

		scan(none).ExclusiveSum(from + lane < n ? w.before[from + lane] : 0, before, all);
		if (from + lane < n)
			w.before[from + lane] = sum + before;
		sum += all;
	}
	if (lane == 0)
		w.before[n] = sum;
	__syncwarp();
	return sum;
}

/* Writes the features that the index has to q.found, from `at` on, for the host to count. */
template <class Room>
__device__ void give_found(const kh_gpu_query &q, const Room &w, unsigned n, uint32_t at)
{
	for (unsigned from = 0; from < n; from += 32) {
		const unsigned x = from + lane_id();
		bool have = x < n && w.key[x] != ~UINT64_C(0);
		unsigned mask = __ballot_sync(ALL, have);

		if (have)
			q.found[at + __popc(mask & lanes_below())] = w.key[x];
		at += __popc(mask);
	}
}

__device__ uint32_t slot_of(uint32_t bin, unsigned shift)
{
	return bin * UINT32_C(0x9e3779b1) >> shift;
}

/* The i-th of all locations.  Its feature is the last one with before <= i. */
template <class Room>
__device__ uint32_t location(const kh_gpu_query &q, const Room &w, unsigned n, uint32_t i,
			     unsigned *feature)
{
	const unsigned f = last_of(0, n, [&](uint32_t x) { return w.before[x] <= i; });

	*feature = f;
	return kh_word(q.ix.image, w.loc[f] + (uint64_t)(i - w.before[f]) * q.ix.bits, q.ix.bits);
}

/* The table of bins: 2^bits places, of which the first `used` of slot[] are taken. */
struct bin_table {
	unsigned bits, used;
};

/* Counts matches by bin.  False: there are too many bins. */
template <class Room>
__device__ bool count_bins(const kh_gpu_query &q, Room &w, unsigned n,
			   uint32_t total, bin_table *t)
{
	const unsigned lane = lane_id();
	unsigned used = 0, b = 6;

	while ((1u << b) < 2 * total && (1u << b) < Room::TABLE)
		b++;
	const unsigned size = 1u << b, mask = size - 1;
	for (unsigned i = lane; i < size; i += 32)
		w.u.t.bin[i] = w.u.t.count[i] = 0;
	__syncwarp();
	for (uint32_t from = 0; from < total; from += 32) {
		const uint32_t i = from + lane;
		uint32_t at = 0;
		bool fresh = false;

		if (i < total) {
			unsigned feature;
			const uint32_t bin = location(q, w, n, i, &feature);

			for (at = slot_of(bin, 32 - b);; at = (at + 1) & mask) {
				uint32_t old = atomicCAS(&w.u.t.bin[at], 0, bin + 1);

				fresh = old == 0;
				if (fresh || old == bin + 1)
					break;
			}
			atomicAdd(&w.u.t.count[at], 1);
		}
		const unsigned mine = __ballot_sync(ALL, fresh);
		const unsigned nth = used + __popc(mine & lanes_below());

		used += __popc(mine);
		if (used > Room::BINS)
			return false;
		if (fresh)
			w.slot[nth] = (uint16_t)at;
	}
	__syncwarp();
	*t = bin_table { b, used };
	return true;
}

template <class Room>
__device__ uint32_t count_of(const Room &w, uint32_t bin, const bin_table &t)
{
	const unsigned mask = (1u << t.bits) - 1;

	for (uint32_t at = slot_of(bin, 32 - t.bits); w.u.t.bin[at]; at = (at + 1) & mask)
		if (w.u.t.bin[at] == bin + 1)
			return w.u.t.count[at];
	return 0;
}

/* Hits of the window that begins at a bin with matches. */
template <class Room>
__device__ uint32_t window_hits(const Room &w, uint32_t bin, uint32_t hits, uint32_t r,
				const bin_table &t)
{
	for (uint32_t d = 1; d < r && d < UINT32_MAX - bin; d++)
		hits += count_of(w, bin + d, t);
	return hits;
}

/* Fills c.h[x] with the hits of the window at bin 32 x + lane of the table, or with its votes.
 * Returns the most that any lane has found. */
template <class Room>
__device__ kh_hits_most windows(const kh_gpu_query &q, const Room &w, unsigned n,
				uint32_t r, const bin_table &t, candidates<Room> &c)
{
	uint32_t hits = 0, votes = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		const unsigned i = 32 * x + lane_id();

		c.h[x] = 0;
		if (i >= t.used)
			continue;
		const uint32_t bin = w.u.t.bin[w.slot[i]] - 1, count = w.u.t.count[w.slot[i]];

		if (bin >= q.ix.bins.votes) {
			c.h[x] = count;
			votes = count > votes ? count : votes;
			continue;
		}
		const uint32_t in_window = window_hits(w, bin, count, r, t);
		c.h[x] = in_window < n ? in_window : n;
		hits = c.h[x] > hits ? c.h[x] : hits;
	}
	return kh_hits_most { warp_max(hits), warp_max(votes), w.n_over };
}

/* The best of what the lanes have found. */
__device__ kh_best best_of_lanes(const kh_best &mine)
{
	const uint32_t score = warp_max(mine.score);
	const uint32_t first = warp_least(mine.score == score ? mine.first : KH_NO_BIN);
	const unsigned has = __ballot_sync(ALL, mine.score == score && mine.first == first);
	const uint32_t vote = __shfl_sync(ALL, mine.vote, __ffs((int)has) - 1);

	return kh_best { score, first, mine.bins, vote };
}

/* Makes the candidates: the windows that matter and the species with votes, each with what votes
 * and overpopulated features add.  Returns the best window. */
template <class Room>
__device__ kh_best make_candidates(const kh_gpu_query &q, const Room &w, unsigned n,
				   uint64_t span, const bin_table &t, candidates<Room> &c)
{
	const kh_bins &bins = q.ix.bins;
	const uint32_t r = kh_rule_window(&q.rule, span);
	const kh_hits_most most = windows(q, w, n, r, t, c);
	const uint32_t least = kh_rule_least(&q.rule, most, n);
	kh_best best = { 0, KH_NO_BIN, r, KH_NO_BIN };

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		if (c.h[x] < least) {
			c.h[x] = 0;
			continue;
		}
		const uint32_t bin = w.u.t.bin[w.slot[32 * x + lane_id()]] - 1;
		const uint32_t target = target_of(q.ix, bin), taxon = bins.taxon[target];
		uint32_t vote = bin;

		if (bin < bins.votes) {
			vote = kh_bins_vote(&bins, target);
			c.h[x] += most.votes ? count_of(w, vote, t) : 0;
		}
		if (kh_best_below(&best, c.h[x], bin))
			best = kh_best { c.h[x], bin, r, vote };
		for (uint32_t j = 0; j < w.n_over; j++)
			c.h[x] += (uint32_t)kh_tree_related(&q.ix.tree, taxon, w.over[j]);
		c.taxon[x] = taxon;
	}
	return best_of_lanes(best);
}

/* Makes candidates where there are no windows: each LCA gets the number of the overpopulated
 * features whose LCA is the same or above it.  False: there are too many of them. */
template <class Room>
__device__ bool over_only(const kh_gpu_query &q, const Room &w, candidates<Room> &c)
{
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++) {
		const unsigned i = 32 * x + lane_id();

		c.h[x] = 0;
		if (i >= w.n_over)
			continue;
		c.taxon[x] = w.over[i];
		for (uint32_t j = 0; j < w.n_over; j++)
			c.h[x] += (uint32_t)kh_tree_within(&q.ix.tree, w.over[j], w.over[i]);
	}
	return w.n_over <= 32 * Room::EACH;
}

} /* namespace */

#endif
