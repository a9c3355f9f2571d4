/* sample_warp.cuh - the distinct features of a fragment, by a warp, in shared memory */
#ifndef KH_CUDA_KERNELS_SAMPLE_WARP_CUH
#define KH_CUDA_KERNELS_SAMPLE_WARP_CUH

#include "cuda/kernels/classify.cuh"

namespace {

constexpr unsigned WARPS = 4;           /* of a block */
constexpr unsigned FEATURES = 128;
constexpr unsigned TABLE = 512;
constexpr unsigned EACH = TABLE / 32;   /* places of a lane */
static_assert(FEATURES <= TABLE, "overpopulated features are candidates too");

struct warp_room {
	uint64_t key[FEATURES];
	uint64_t loc[FEATURES];         /* the bit where the list is */
	uint32_t before[FEATURES + 1];  /* locations of the features in front */
	uint32_t over[FEATURES];
	uint32_t n_over, n_found;
	uint32_t inside[FEATURES / 32]; /* features that the best window has */
	union {
		struct {
			uint32_t bin[TABLE];    /* bin + 1; 0: free */
			uint32_t count[TABLE];
		} t;
		uint32_t order[SMER_ROOM];
		uint64_t window[TABLE];
	} u;
};

/* Appends what is to be kept; false: no room. */
struct collector {
	warp_room &w;
	unsigned n;

	__device__ void add(bool keep, uint64_t key)
	{
		unsigned mask = __ballot_sync(ALL, keep),
			 at = n + __popc(mask & lanes_below());

		if (keep && at < FEATURES)
			w.key[at] = key;
		n += __popc(mask);
	}
};

__device__ void sample_record(const kh_gpu_query &q, const kh_gpu_record &r, collector &c)
{
	const kh_sampling &sk = q.rule.sampling;
	const uint64_t from = (uint64_t)r.word * 32, to = from + starts_of(sk, r.len);

	if (sk.scheme == KH_SYNCMER) {
		warp_syncmers(sk, q, from, to, 1, c.w.u.order,
			      [&](bool keep, uint64_t key) { c.add(keep, key); });
		return;
	}
	for (uint64_t at = from; at < to && c.n <= FEATURES; at += sk.stride) {
		uint64_t end = to - at < sk.stride ? to : at + sk.stride;
		unsigned n = c.n;

		c.n += warp_minhash(sk, q.bases, q.amb, at, end, c.w.u.window, TABLE,
				    [&](unsigned i, uint64_t key) {
			if (n + i < FEATURES)
				c.w.key[n + i] = key;
		});
	}
}

/* Keeps one of equal features, all lanes together; their number. */
__device__ unsigned distinct(warp_room &w, unsigned n)
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
__device__ unsigned sample_fragment(const kh_gpu_query &q, warp_room &w,
				    const fragment &f)
{
	collector col = { w, 0 };

	sample_record(q, f.r[0], col);
	if (f.mate && col.n <= FEATURES)
		sample_record(q, f.r[1], col);
	return col.n > FEATURES ? col.n : distinct(w, col.n);
}

} /* namespace */

#endif
