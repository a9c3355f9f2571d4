/* sample_warp.cuh - the distinct features of a fragment, by a warp, in shared memory */
#ifndef KH_CUDA_KERNELS_SAMPLE_WARP_CUH
#define KH_CUDA_KERNELS_SAMPLE_WARP_CUH

#include "cuda/kernels/classify.cuh"

namespace {

constexpr unsigned WARPS = 4;           /* of a block */

/* Room of a warp for F features and for C distinct bins of their lists, in a hash table of T
 * places. */
template <unsigned F, unsigned C, unsigned T>
struct warp_room {
	static constexpr unsigned FEATURES = F;
	static constexpr unsigned BINS = C;
	static constexpr unsigned TABLE = T;
	static constexpr unsigned EACH = (C + 31) / 32; /* bins of a lane */
	static constexpr unsigned WIDE = T < 128 ? 128 : T;     /* places for features or orders */
	/* up to 32 more may be put into the table before its bins are counted */
	static_assert(C + 32 <= T && (T & (T - 1)) == 0, "a free place ends every search");

	uint64_t key[F];
	uint64_t loc[F];                /* the bit where the list is */
	uint32_t before[F + 1];         /* locations of the features in front; first, where
					 * syncmers start */
	uint32_t over[F];
	uint32_t n_over, n_found;
	uint32_t inside[F / 32];        /* features that the best window has */
	uint16_t slot[C];               /* where the bins are in the table, as they have come */
	union {
		struct {
			uint32_t bin[T];        /* bin + 1; 0: free */
			uint32_t count[T];
		} t;
		uint32_t order[SMER_ROOM];
		uint64_t wide[WIDE];
	} u;
};

/* Nearly all fragments of one segment fit the small room, of which a multiprocessor holds enough
 * for as many warps as it can have: half of those of 150 bases in a collection with 45 strains a
 * species have two bins, one in a hundred more than six.  Segments of long fragments, and fragments
 * of crowded queries, get the large room. */
using small_room = warp_room<96, 32, 64>;
using large_room = warp_room<256, 480, 512>;

/* The same for syncmers: first all starts are found, then all lanes make keys of them, and leave
 * repeats out.  There is room if there is for all starts. */
template <class Room>
__device__ unsigned sample_syncmers(const kh_gpu_query &q, Room &w, uint64_t from, uint64_t to,
				    const unsigned n)
{
	unsigned end = n;

	warp_syncmers(q.rule.sampling, q, from, to, 1, w.u.order, [&](bool keep, uint64_t at) {
		const unsigned mask = __ballot_sync(ALL, keep);
		const unsigned i = end + __popc(mask & lanes_below());

		if (keep && i < Room::FEATURES)
			w.before[i] = (uint32_t)(at - from);
		end += __popc(mask);
	});
	if (end > Room::FEATURES)
		return end;
	unsigned kept = n;

	for (unsigned i = n + lane_id(); i - lane_id() < end; i += 32) {
		uint64_t key = 0;
		const bool keep = i < end && key_at(q, from + w.before[i], &key);
		const unsigned mask = __ballot_sync(ALL, keep);

		if (keep)
			w.key[kept + __popc(mask & lanes_below())] = key;
		kept += __popc(mask);
	}
	return kept;
}

/* Writes the features that start at [from, to) of the packed sequences from key[n] on, and
 * returns what n becomes; if that is more than FEATURES, there was no room for all. */
template <class Room>
__device__ unsigned sample_range(const kh_gpu_query &q, Room &w, uint64_t from, uint64_t to,
				 unsigned n)
{
	const kh_sampling &rule = q.rule.sampling;

	if (rule.scheme == KH_SYNCMER)
		return sample_syncmers(q, w, from, to, n);
	for (uint64_t at = from; at < to && n <= Room::FEATURES; at += rule.stride) {
		const uint64_t end = to - at < rule.stride ? to : at + rule.stride;

		n += warp_minhash(rule, q.bases, q.amb, at, end, w.u.wide, Room::WIDE,
				  [&](unsigned i, uint64_t key) {
			if (n + i < Room::FEATURES)
				w.key[n + i] = key;
		});
	}
	return n;
}

template <class Room>
__device__ unsigned sample_record(const kh_gpu_query &q, Room &w, const kh_gpu_record &r,
				  unsigned n)
{
	const uint64_t from = (uint64_t)r.word * 32;

	return sample_range(q, w, from, from + starts_of(q.rule.sampling, r.len), n);
}

/* Puts a feature into a hash table.  False: it is there already. */
template <class Room>
__device__ bool is_new(Room &w, uint64_t key)
{
	static_assert(Room::FEATURES <= Room::WIDE, "each has a place");
	constexpr unsigned mask = Room::WIDE - 1;

	for (unsigned at = (unsigned)key & mask;; at = (at + 1) & mask) {
		const unsigned long long old =
			atomicCAS((unsigned long long *)&w.u.wide[at], ~0ull,
				  (unsigned long long)key);

		if (old == ~0ull || old == key)
			return old == ~0ull;
	}
}

/* Keeps one of equal features, with all lanes together; returns how many are left. */
template <class Room>
__device__ unsigned distinct(Room &w, unsigned n)
{
	unsigned kept = 0;

	__syncwarp();
	if (n > 64)
		for (unsigned i = lane_id(); i < Room::WIDE; i += 32)
			w.u.wide[i] = ~UINT64_C(0);
	__syncwarp();
	for (unsigned from = 0; from < n; from += 32) {
		const unsigned i = from + lane_id();
		const uint64_t key = i < n ? w.key[i] : ~UINT64_C(0);
		const unsigned same = __match_any_sync(ALL, key);
		bool keep = i < n && (same & lanes_below()) == 0;

		if (n > 64)
			keep = keep && is_new(w, key);
		else
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

/* Finds the distinct features of a fragment; returns their number, or more than FEATURES if there
 * is no room for them. */
template <class Room>
__device__ unsigned sample_fragment(const kh_gpu_query &q, Room &w, const fragment &f)
{
	unsigned n = sample_record(q, w, f.r[0], 0);

	if (f.mate && n <= Room::FEATURES)
		n = sample_record(q, w, f.r[1], n);
	return n > Room::FEATURES ? n : distinct(w, n);
}

/* --- in two passes: features out, lists in ------------------------------------------ */
/* Takes the distinct features of a segment, which were sampled in the first pass; returns their
 * number. */
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
