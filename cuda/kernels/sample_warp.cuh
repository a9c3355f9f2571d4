/* sample_warp.cuh - the distinct features of a fragment, by a warp, in shared memory */
#ifndef KH_CUDA_KERNELS_SAMPLE_WARP_CUH
#define KH_CUDA_KERNELS_SAMPLE_WARP_CUH

#include "cuda/kernels/classify.cuh"

namespace {

constexpr unsigned WARPS = 4;           /* of a block */

/* F features, and T places for what is told apart of their lists. */
template <unsigned F, unsigned T>
struct warp_room {
	static constexpr unsigned FEATURES = F;
	static constexpr unsigned TABLE = T;
	static constexpr unsigned EACH = T / 32;        /* places of a lane */
	static_assert(F <= T, "overpopulated features are candidates too");

	uint64_t key[F];
	uint64_t loc[F];                /* the bit where the list is */
	uint32_t before[F + 1];         /* locations of the features in front */
	uint32_t over[F];
	uint32_t n_over, n_found;
	uint32_t inside[F / 32];        /* features that the best window has */
	union {
		struct {
			uint32_t bin[T];        /* bin + 1; 0: free */
			uint32_t count[T];
		} t;
		uint32_t order[SMER_ROOM];
		uint64_t window[T];
	} u;
};

/* Nearly all fragments of one segment fit the small room, of which a multiprocessor holds enough
 * for as many warps as it can have; segments of long ones, and what is crowded, the large one. */
using small_room = warp_room<96, 128>;
using large_room = warp_room<256, 512>;

/* Appends what is to be kept; false: no room. */
template <class Room>
struct collector {
	Room &w;
	unsigned n;

	__device__ void add(bool keep, uint64_t key)
	{
		unsigned mask = __ballot_sync(ALL, keep),
			 at = n + __popc(mask & lanes_below());

		if (keep && at < Room::FEATURES)
			w.key[at] = key;
		n += __popc(mask);
	}
};

/* What starts at [from, to) of the packed sequences. */
template <class Room>
__device__ void sample_range(const kh_gpu_query &q, uint64_t from, uint64_t to,
			     collector<Room> &c)
{
	const kh_sampling &sk = q.rule.sampling;

	if (sk.scheme == KH_SYNCMER) {
		warp_syncmers(sk, q, from, to, 1, c.w.u.order,
			      [&](bool keep, uint64_t key) { c.add(keep, key); });
		return;
	}
	for (uint64_t at = from; at < to && c.n <= Room::FEATURES; at += sk.stride) {
		uint64_t end = to - at < sk.stride ? to : at + sk.stride;
		unsigned n = c.n;

		c.n += warp_minhash(sk, q.bases, q.amb, at, end, c.w.u.window, Room::TABLE,
				    [&](unsigned i, uint64_t key) {
			if (n + i < Room::FEATURES)
				c.w.key[n + i] = key;
		});
	}
}

template <class Room>
__device__ void sample_record(const kh_gpu_query &q, const kh_gpu_record &r, collector<Room> &c)
{
	const uint64_t from = (uint64_t)r.word * 32;

	sample_range(q, from, from + starts_of(q.rule.sampling, r.len), c);
}

/* Keeps one of equal features, all lanes together; their number. */
template <class Room>
__device__ unsigned distinct(Room &w, unsigned n)
{
	unsigned kept = 0;

	__syncwarp();
	for (unsigned from = 0; from < n; from += 32) {
		const unsigned i = from + lane_id();
		const uint64_t key = i < n ? w.key[i] : ~UINT64_C(0);
		const unsigned same = __match_any_sync(ALL, key);
		bool keep = i < n && (same & lanes_below()) == 0;

		for (unsigned j = 0; j < kept; j++)
			keep &= w.key[j] != key;
		unsigned mask = __ballot_sync(ALL, keep);
		__syncwarp();
		if (keep)
			w.key[kept + __popc(mask & lanes_below())] = key;
		kept += __popc(mask);
		__syncwarp();
	}
	return kept;
}

/* The distinct features of a fragment; their number, more than FEATURES: no room. */
template <class Room>
__device__ unsigned sample_fragment(const kh_gpu_query &q, Room &w, const fragment &f)
{
	collector<Room> col = { w, 0 };

	sample_record(q, f.r[0], col);
	if (f.mate && col.n <= Room::FEATURES)
		sample_record(q, f.r[1], col);
	return col.n > Room::FEATURES ? col.n : distinct(w, col.n);
}

/* --- in two passes: features out, lists in ------------------------------------------ */
/* The distinct features of a segment, sampled in the pass before; their number. */
template <class Room>
__device__ unsigned given_features(const kh_gpu_query &q, Room &w,
				   const kh_gpu_segment &s)
{
	if (q.found && s.n <= Room::FEATURES)
		for (unsigned i = lane_id(); i < s.n; i += 32)
			w.key[i] = q.key[s.at + i];
	return s.n;
}

/* Writes the features of segment i, for their lists to be fetched. */
template <class Room>
__device__ void give_features(const kh_gpu_query &q, const Room &w, unsigned n,
			      uint32_t i)
{
	uint32_t at = 0;

	if (lane_id() == 0) {
		at = atomicAdd(q.n_key, n);
		q.segment[i] = kh_gpu_segment { at, n };
	}
	at = __shfl_sync(ALL, at, 0);
	for (unsigned x = lane_id(); x < n; x += 32)
		q.key[at + x] = w.key[x];
}

} /* namespace */

#endif
