/* classify_warp.cu - fragments to calls (classify.cuh): a warp a fragment, if it has room */
#include "cuda/kernels/candidates_warp.cuh"

namespace {

/* --- in two passes: features out, lists in ------------------------------------------ */
/* The distinct features of a fragment, sampled in the pass before; their number. */
__device__ unsigned given_features(const kh_gpu_query &q, warp_room &w,
				   const kh_gpu_segment &s)
{
	if (q.found && s.n <= FEATURES)
		for (unsigned i = lane_id(); i < s.n; i += 32)
			w.key[i] = q.key[s.at + i];
	return s.n;
}

/* Writes the features, for their lists to be fetched. */
__device__ void give_features(const kh_gpu_query &q, const warp_room &w, unsigned n,
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

/* --- deciding ----------------------------------------------------------------------- */
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

/* Marks in the table, whose counts are not needed any more, the bins with a feature that the
 * best window lacks: they become 1 + the taxon of the target, or species. */
__device__ void mark_bins(const kh_gpu_query &q, warp_room &w, unsigned n, uint32_t total,
			  unsigned bits, const kh_best &best)
{
	const unsigned size = 1u << bits, mask = size - 1;

	__syncwarp();
	for (unsigned i = lane_id(); i < size; i += 32)
		w.u.t.count[i] = 0;
	for (unsigned i = lane_id(); i < FEATURES / 32; i += 32)
		w.inside[i] = 0;
	__syncwarp();
	each_location(q, w, n, total, [&](unsigned f, uint32_t bin) {
		if (kh_best_has(&best, bin))
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
}

/* Which candidates are rivals: a bit each. */
__device__ uint32_t rivals(const kh_gpu_query &q, warp_room &w, unsigned n, uint32_t total,
			   unsigned bits, const kh_best &best, const candidates &c)
{
	uint32_t own[EACH], marks = 0;

	mark_bins(q, w, n, total, bits, best);
#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		own[x] = c.h[x] > 0 ? kh_tree_own_species(&q.ix.tree, c.taxon[x]) : 0;
	for (unsigned i = 0; i < 1u << bits; i++) {
		const uint32_t taxon = w.u.t.count[i] - 1;
		const bool vote = w.u.t.bin[i] - 1 >= q.ix.bins.votes;

		if (w.u.t.count[i] == 0)
			continue;
#pragma unroll
		for (unsigned x = 0; x < EACH; x++) {
			const uint32_t place = c.taxon[x] == taxon ? KH_RIVAL_PLACE : 0;
			const uint32_t species = own[x] == taxon ? KH_RIVAL_VOTE : 0;

			marks |= (uint32_t)(c.h[x] > 0 &&
					    kh_rival(vote ? 0 : place, vote ? species : 0)) << x;
		}
	}
	return marks;
}

/* The taxa that the decision asks for.  marks: a bit for each candidate that is a rival. */
__device__ kh_extent taxa_asked_for(const candidates &c, const kh_decision &d, uint32_t marks)
{
	kh_extent e = kh_extent_empty();

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		if (kh_decision_takes(&d, c.h[x], marks >> x & 1))
			e = kh_extent_add(e, c.taxon[x]);
	e.lo = warp_least(e.lo);
	e.hi = warp_max(e.hi);
	return e;
}

/* Fills in the call.  `over`: there are no windows; `rival` gives the marks. */
template <class Rival>
__device__ void decide(const kh_gpu_query &q, const candidates &c, bool over, kh_call *call,
		       Rival rival)
{
	const uint32_t n = call->features;
	uint32_t h1 = 0, marks = 0;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		h1 = c.h[x] > h1 ? c.h[x] : h1;
	h1 = warp_max(h1);
	kh_decision d = kh_decision_begin(&q.rule, h1, n, !over, true);
	while (d.ask != KH_ASK_NOTHING) {
		if (d.ask == KH_ASK_RIVALS)
			marks = rival();
		kh_decision_go_on(&d, &q.ix.tree, taxa_asked_for(c, d, marks));
	}
	call->hits = h1 < n ? h1 : n;
	call->taxon = d.taxon;
}

/* Writes the features that the index has, for the host to count. */
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

/* --- what the fragment could be (kh_candidates) -------------------------------------- */
/* Is it near, and has it no species? */
__device__ bool any_without_species(const kh_gpu_query &q, const candidates &c, uint32_t h1)
{
	bool any = false;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		any |= c.h[x] > 0 && kh_candidate_near(c.h[x], h1) &&
		       q.ix.tree.species[c.taxon[x]] == KH_NO_TAXON;
	return __any_sync(ALL, any);
}

/* Of what is near, the least species from `from` on, or UINT32_MAX; its greatest h. */
__device__ uint32_t next_species(const kh_gpu_query &q, const candidates &c, uint32_t h1,
				 uint32_t from, uint32_t *most)
{
	uint32_t least = UINT32_MAX, h = 0;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		if (c.h[x] > 0 && kh_candidate_near(c.h[x], h1)) {
			const uint32_t s = kh_candidate_species(&q.ix.tree, c.taxon[x], from);

			least = s < least ? s : least;
		}
	least = warp_least(least);
	if (least == UINT32_MAX)
		return least;
#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		if (c.h[x] > h && q.ix.tree.species[c.taxon[x]] == least)
			h = c.h[x];
	*most = warp_max(h);
	return least;
}

/* `over`: there are no windows. */
__device__ kh_candidates choose(const kh_gpu_query &q, const candidates &c, bool over,
				const kh_best &best)
{
	kh_candidates out = kh_candidates_none();
	uint32_t h1 = 0, from = 0, h = 0, s;

#pragma unroll
	for (unsigned x = 0; x < EACH; x++)
		h1 = c.h[x] > h1 ? c.h[x] : h1;
	h1 = warp_max(h1);
	if (over || any_without_species(q, c, h1))
		return out;
	for (int n = 0; (s = next_species(q, c, h1, from, &h)) != UINT32_MAX; n++, from = s + 1) {
		if (n == KH_CANDIDATES)
			return kh_candidates_none();
		/* at places known when it is compiled, so that `out` stays in registers */
#pragma unroll
		for (int j = 0; j < KH_CANDIDATES; j++)
			if (j == n) {
				out.species[j] = s;
				out.drop[j] = (uint8_t)(h1 - h);
			}
	}
	if (best.first < q.ix.bins.votes)
		out.bin = best.first;
	return out;
}

/* False: left to the other kernel. */
template <enum pass P>
__device__ bool one_fragment(const kh_gpu_query &q, warp_room &w, uint32_t i)
{
	const fragment f(q, i);
	kh_best best = { 0, 0, 0, 0 };
	unsigned bits = 0, n;
	uint32_t at = 0;
	candidates c;

	if (!f.one_segment(q.rule))
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
	const uint32_t total = find_lists<P>(q, w, n, at);
	const bool over = total == 0;

	if (over) {
		over_only(q, w, c);
	} else {
		if (!count_bins(q, w, n, total, &bits))
			return false;
		best = make_candidates(q, w, n, f.mate ? q.rule.max_span : f.r[0].len, bits, c);
	}
	kh_call call = { KH_NO_TAXON, n, 0, w.n_found };
	decide(q, c, over, &call, [&] { return rivals(q, w, n, total, bits, best, c); });
	if (q.candidates) {
		const kh_candidates out = choose(q, c, over, best);

		if (lane_id() == 0)
			q.candidates[i] = out;
	}
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

extern "C" int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream)
{
	cudaError_t e;

	if (q->n == 0)
		return cudaSuccess;
	if (!q->segment)
		e = launch_warps<WHOLE>(q, stream);
	else if (!q->list)
		e = launch_warps<FEATURES_ONLY>(q, stream);
	else
		e = launch_warps<LISTS_GIVEN>(q, stream);
	return e != cudaSuccess ? e : kh_gpu_query_left(q, stream);
}
