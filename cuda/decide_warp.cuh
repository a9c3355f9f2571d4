/* decide_warp.cuh - a warp a fragment, all in shared memory: from features to a call */
#ifndef KH_DECIDE_WARP_CUH
#define KH_DECIDE_WARP_CUH

#include "sample_warp.cuh"

namespace {

/* What a lane has of the candidates: windows, or overpopulated features. */
struct candidates {
	uint32_t h[EACH], taxon[EACH];
};

__device__ uint32_t warp_max(uint32_t x) { return __reduce_max_sync(ALL, x); }
__device__ uint32_t warp_least(uint32_t x) { return __reduce_min_sync(ALL, x); }

/* Lists of the features: before[], loc[], over[]; locations in all.  Given: of those from
 * `at`. */
template <enum pass P>
__device__ uint32_t find_lists(const kh_gpu_query &q, warp_room &w, unsigned n,
			       uint32_t at)
{
	constexpr unsigned SHARE = P == LISTS_GIVEN ? 1 : 4;
	const unsigned lane = lane_id();
	uint32_t sum = 0;

	if (lane == 0)
		w.n_over = w.n_found = 0;
	__syncwarp();
	for (unsigned i = lane / SHARE; i < n; i += 32 / SHARE) {
		const kh_list l = P == LISTS_GIVEN ? q.list[at + i]
						   : quad_find(q.ix, w.key[i]);

		if (lane % SHARE == 0) {
			w.loc[i] = l.loc;
			w.before[i] = l.over ? 0 : l.n;
			if (l.n)
				atomicAdd(&w.n_found, 1);
			if (l.over)
				w.over[atomicAdd(&w.n_over, 1)] =
					((const uint32_t *)q.ix.image)[l.loc];
			if (q.found && l.n == 0)
				w.key[i] = ~UINT64_C(0);
		}
	}
	__syncwarp();
	for (unsigned from = 0; from < n; from += 32) {
		uint32_t x = from + lane < n ? w.before[from + lane] : 0, up = x;

		for (int d = 1; d < 32; d *= 2) {
			uint32_t y = __shfl_up_sync(ALL, up, d);

			if (lane >= (unsigned)d)
				up += y;
		}
		if (from + lane < n)
			w.before[from + lane] = sum + up - x;
		sum += __shfl_sync(ALL, up, 31);
	}
	if (lane == 0)
		w.before[n] = sum;
	__syncwarp();
	return sum;
}

__device__ uint32_t slot_of(uint32_t bin, unsigned shift)
{
	return bin * UINT32_C(0x9e3779b1) >> shift;
}

/* The i-th of all locations, and whose it is: of the last feature with before <= i. */
__device__ uint32_t location(const kh_gpu_query &q, const warp_room &w, unsigned n, uint32_t i,
			     unsigned *feature)
{
	unsigned lo = 0, hi = n;

	while (hi - lo > 1) {
		const unsigned mid = (lo + hi) / 2;

		if (w.before[mid] <= i)
			lo = mid;
		else
			hi = mid;
	}
	*feature = lo;
	return __ldg((const uint32_t *)q.ix.image + w.loc[lo] + (i - w.before[lo]));
}

/* Matches by bin.  *bits: log2 of the table's size. False: too many bins. */
__device__ bool count_bins(const kh_gpu_query &q, warp_room &w, unsigned n,
			   uint32_t total, unsigned *bits)
{
	const unsigned lane = lane_id();
	unsigned used = 0, b = 6;

	while ((1u << b) < 2 * total && (1u << b) < TABLE)
		b++;
	const unsigned size = 1u << b, mask = size - 1;
	for (unsigned i = lane; i < size; i += 32)
		w.u.t.bin[i] = w.u.t.count[i] = 0;
	__syncwarp();
	for (uint32_t from = 0; from < total; from += 32) {
		const uint32_t i = from + lane;
		bool fresh = false;

		if (i < total) {
			unsigned feature;
			const uint32_t bin = location(q, w, n, i, &feature);
			uint32_t at = slot_of(bin, 32 - b);

			for (;; at = (at + 1) & mask) {
				uint32_t old = atomicCAS(&w.u.t.bin[at], 0, bin + 1);

				fresh = old == 0;
				if (fresh || old == bin + 1)
					break;
			}
			atomicAdd(&w.u.t.count[at], 1);
		}
		used += __popc(__ballot_sync(ALL, fresh));
		if (used > size - 32)           /* and a free place ends every search */
			return false;
	}
	__syncwarp();
	*bits = b;
	return true;
}

__device__ uint32_t count_of(const warp_room &w, uint32_t bin, unsigned bits)
{
	const unsigned mask = (1u << bits) - 1;

	for (uint32_t at = slot_of(bin, 32 - bits); w.u.t.bin[at]; at = (at + 1) & mask)
		if (w.u.t.bin[at] == bin + 1)
			return w.u.t.count[at];
	return 0;
}

/* What the best window is: the lowest bin with the most hits. */
struct best_window {
	uint32_t first, bins;
};

/* Candidates: the windows that matter, with what overpopulated features add. */
__device__ best_window windows(const kh_gpu_query &q, const warp_room &w, unsigned n,
			       uint64_t span, unsigned bits, candidates &c)
{
	const uint32_t r = kh_rule_window(&q.rule, span);
	const unsigned size = 1u << bits;
	uint32_t max = 0, first = UINT32_MAX;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++) {
		const unsigned i = 32 * x + lane_id();
		uint32_t hits = 0;

		if (i < size && w.u.t.bin[i]) {
			const uint32_t bin = w.u.t.bin[i] - 1;

			hits = w.u.t.count[i];
			for (uint32_t d = 1; d < r && d < UINT32_MAX - bin; d++)
				hits += count_of(w, bin + d, bits);
			hits = hits < n ? hits : n;
			if (hits > max || (hits == max && bin < first))
				first = bin;
		}
		c.h[x] = hits;
		max = hits > max ? hits : max;
	}
	const uint32_t most = warp_max(max);
	uint32_t near = kh_rule_near_species(&q.rule, most, n);

	first = warp_least(max == most ? first : UINT32_MAX);
	if (kh_rule_near_genus(most) < near)
		near = kh_rule_near_genus(most);
	const uint32_t least = near > w.n_over ? near - w.n_over : 1;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++) {
		if (c.h[x] < least) {
			c.h[x] = 0;
			continue;
		}
		const uint32_t bin = w.u.t.bin[32 * x + lane_id()] - 1;
		const uint32_t taxon = q.ix.bins.taxon[kh_bins_target(&q.ix.bins, bin)];

		for (uint32_t j = 0; j < w.n_over; j++)
			c.h[x] += (uint32_t)kh_tree_related(&q.ix.tree, taxon, w.over[j]);
		c.taxon[x] = taxon;
	}
	return best_window{ first, r };
}

/* No windows: each LCA has the sum of those on its way from the root. */
__device__ void over_only(const kh_gpu_query &q, const warp_room &w, candidates &c)
{
#pragma unroll
	for (unsigned x = 0; x < EACH; x++) {
		const unsigned i = 32 * x + lane_id();

		c.h[x] = 0;
		if (i >= w.n_over)
			continue;
		c.taxon[x] = w.over[i];
		for (uint32_t j = 0; j < w.n_over; j++)
			c.h[x] += w.over[j] <= w.over[i] &&
				  w.over[i] < q.ix.tree.end[w.over[j]];
	}
}

/* Calls fn(feature, location) for all locations. */
template <class Fn>
__device__ void each_location(const kh_gpu_query &q, const warp_room &w, unsigned n,
			      uint32_t total, Fn fn)
{
	for (uint32_t i = lane_id(); i < total; i += 32) {
		unsigned feature;
		const uint32_t bin = location(q, w, n, i, &feature);

		fn(feature, bin);
	}
	__syncwarp();
}

/* Which candidates have a feature that the best window lacks: a bit each.  Counts are not
 * needed any more: they become 1 + the taxon of bins with such a feature. */
__device__ uint32_t rivals(const kh_gpu_query &q, warp_room &w, unsigned n,
			   uint32_t total, unsigned bits, const best_window &best,
			   const candidates &c)
{
	const unsigned size = 1u << bits, mask = size - 1;
	uint32_t marks = 0;

	__syncwarp();
	for (unsigned i = lane_id(); i < size; i += 32)
		w.u.t.count[i] = 0;
	for (unsigned i = lane_id(); i < FEATURES / 32; i += 32)
		w.inside[i] = 0;
	__syncwarp();
	each_location(q, w, n, total, [&](unsigned f, uint32_t bin) {
		if (bin >= best.first && bin - best.first < best.bins)
			atomicOr(&w.inside[f / 32], 1u << f % 32);
	});
	each_location(q, w, n, total, [&](unsigned f, uint32_t bin) {
		uint32_t at = slot_of(bin, 32 - bits);

		if (w.inside[f / 32] >> f % 32 & 1)
			return;
		while (w.u.t.bin[at] != bin + 1)
			at = (at + 1) & mask;
		atomicOr(&w.u.t.count[at], 1);
	});
	for (unsigned i = lane_id(); i < size; i += 32)
		if (w.u.t.count[i])
			w.u.t.count[i] = 1 + q.ix.bins.taxon[kh_bins_target(
						     &q.ix.bins, w.u.t.bin[i] - 1)];
	__syncwarp();
	for (unsigned i = 0; i < size; i++) {
		const uint32_t taxon = w.u.t.count[i];

		if (taxon == 0)
			continue;
#pragma unroll
		for (unsigned x = 0; x < EACH; x++)
			marks |= (uint32_t)(c.h[x] > 0 && c.taxon[x] + 1 == taxon) << x;
	}
	return marks;
}

/* Taxa with h >= near; those below h1 only if marked. */
__device__ kh_extent near_taxa(const candidates &c, uint32_t near, uint32_t h1,
			       uint32_t marks)
{
	kh_extent e = { UINT32_MAX, 0 };

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		if (c.h[x] >= near && (c.h[x] == h1 || (marks >> x & 1)))
			e = kh_extent_add(e, c.taxon[x]);
	e.lo = warp_least(e.lo);
	e.hi = warp_max(e.hi);
	return e;
}

/* `rival`: gives the marks. */
template <class Rival>
__device__ uint32_t decide(const kh_gpu_query &q, const candidates &c, uint32_t n,
			   kh_call *call, Rival rival)
{
	uint32_t h1 = 0;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		h1 = c.h[x] > h1 ? c.h[x] : h1;
	h1 = warp_max(h1);
	call->hits = h1 < n ? h1 : n;
	if (!kh_rule_enough(&q.rule, h1, n))
		return KH_TAXON_NONE;
	if (h1 >= kh_rule_minimum(&q.rule, n).species) {
		const uint32_t near = kh_rule_near_species(&q.rule, h1, n);
		uint32_t taxon = kh_rule_species(&q.ix.tree, near_taxa(c, near, h1, ~0u)),
			 marks;

		if (taxon == KH_TAXON_NONE && rival(&marks))
			taxon = kh_rule_species(&q.ix.tree,
						near_taxa(c, near, h1, marks));
		if (taxon != KH_TAXON_NONE)
			return taxon;
	}
	return kh_rule_genus(&q.ix.tree, near_taxa(c, kh_rule_near_genus(h1), h1, ~0u));
}

/* Hands the features that were found to the host. */
__device__ void give_found(const kh_gpu_query &q, const warp_room &w, unsigned n,
			   uint32_t i)
{
	uint32_t at = 0;

	if (lane_id() == 0) {
		at = atomicAdd(&q.counts[2], w.n_found);
		q.found_at[i] = at;
	}
	at = __shfl_sync(ALL, at, 0);
	for (unsigned from = 0; from < n; from += 32) {
		const unsigned x = from + lane_id();
		bool have = x < n && w.key[x] != ~UINT64_C(0);
		unsigned mask = __ballot_sync(ALL, have);

		if (have)
			q.found[at + __popc(mask & lanes_below())] = w.key[x];
		at += __popc(mask);
	}
}

/* What the fragment has come to so far, so that it has to be computed. */
template <enum pass P>
__device__ bool cut_off(const kh_gpu_query &q, const warp_room &w, unsigned n, uint32_t i)
{
	kh_call call = { 0, n, 0, 0 };
	uint32_t x = 0;

	for (unsigned j = lane_id(); j < n; j += 32) {
		x += (uint32_t)w.key[j];
		if (P == UPTO_LOOK_UP)
			x += (uint32_t)w.loc[j];
	}
	call.taxon = __reduce_add_sync(ALL, x);
	if (P == UPTO_LOOK_UP) {
		call.hits = w.before[n];
		call.found = w.n_found;
	}
	if (lane_id() == 0)
		q.call[i] = call;
	return true;
}

__device__ bool cut_off(const kh_gpu_query &q, const candidates &c, uint32_t i)
{
	uint32_t h = 0, taxon = 0;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++) {
		h += c.h[x];
		taxon += c.h[x] ? c.taxon[x] : 0;
	}
	h = __reduce_add_sync(ALL, h);
	taxon = __reduce_add_sync(ALL, taxon);
	if (lane_id() == 0)
		q.call[i] = kh_call { taxon, 0, h, 0 };
	return true;
}

/* False: left to the other kernel. */
template <enum pass P>
__device__ bool one_fragment(const kh_gpu_query &q, warp_room &w, uint32_t i)
{
	const fragment f(q, i);
	best_window best = { 0, 0 };
	unsigned bits = 0, n;
	uint32_t at = 0;
	candidates c;

	if (q.blocks_only || !f.one_segment(q.rule))
		return false;
	if (P == LISTS_GIVEN) {
		n = given_features(q, w, q.segment[i]);
		at = q.segment[i].at;
	} else {
		n = sample_fragment(q, w, f);
	}
	if (n > FEATURES)
		return false;
	if (P == FEATURES_ONLY) {
		give_features(q, w, n, i);
		return true;
	}
	if constexpr (P == UPTO_SAMPLE)
		return cut_off<P>(q, w, n, i);
	const uint32_t total = find_lists<P>(q, w, n, at);
	const bool over = total == 0;

	if constexpr (P == UPTO_LOOK_UP)
		return cut_off<P>(q, w, n, i);
	if (over) {
		over_only(q, w, c);
	} else {
		if (!count_bins(q, w, n, total, &bits))
			return false;
		best = windows(q, w, n, f.mate ? q.rule.max_span : f.r[0].len, bits, c);
	}
	if constexpr (P == UPTO_CANDIDATES)
		return cut_off(q, c, i);
	kh_call call = { KH_TAXON_NONE, n, 0, w.n_found };
	call.taxon = decide(q, c, n, &call, [&](uint32_t *marks) {
		if (!over)
			*marks = rivals(q, w, n, total, bits, best, c);
		return !over;
	});
	if (over && call.taxon != KH_TAXON_NONE &&
	    q.ix.tree.species[call.taxon] != KH_TAXON_NONE)
		call.taxon = q.ix.tree.species[call.taxon];
	if (q.found)
		give_found(q, w, n, i);
	if (lane_id() == 0)
		q.call[i] = call;
	return true;
}

template <enum pass P>
__global__ void __launch_bounds__(32 * WARPS) warp_kernel(kh_gpu_query q)
{
	__shared__ warp_room room[WARPS];
	const uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32;

	if (i < q.n && !one_fragment<P>(q, room[threadIdx.x / 32], i) && lane_id() == 0)
		q.left[atomicAdd(&q.counts[0], 1)] = i;
}

template <enum pass P>
cudaError_t launch_warps(const kh_gpu_query *q, cudaStream_t stream)
{
	warp_kernel<P><<<(q->n + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*q);
	return cudaGetLastError();
}

} /* namespace */

#endif
