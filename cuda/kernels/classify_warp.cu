/* classify_warp.cu - fragments to calls (classify.cuh): a warp a fragment, if it has room */
#include "cuda/kernels/candidates_warp.cuh"

namespace {

/* --- deciding ----------------------------------------------------------------------- */
/* Calls fn(feature, location) for all locations. */
template <class Room, class Fn>
__device__ void each_location(const kh_gpu_query &q, const Room &w, unsigned n,
			      uint32_t total, Fn fn)
{
	for (uint32_t i = lane_id(); i < total; i += 32) {
		unsigned feature;
		const uint32_t bin = location(q, w, n, i, &feature);

		fn(feature, bin);
	}
	__syncwarp();
}

/* Marks in the table, whose counts are not needed any more, the bins with a feature that the best
 * window lacks: their counts become 1 + the taxon of the target, or species. */
template <class Room>
__device__ void mark_bins(const kh_gpu_query &q, Room &w, unsigned n, uint32_t total,
			  const bin_table &t, const kh_best &best)
{
	const unsigned mask = (1u << t.bits) - 1;

	__syncwarp();
	for (unsigned i = lane_id(); i < t.used; i += 32)
		w.u.t.count[w.slot[i]] = 0;
	for (unsigned i = lane_id(); i < Room::FEATURES / 32; i += 32)
		w.inside[i] = 0;
	__syncwarp();
	each_location(q, w, n, total, [&](unsigned f, uint32_t bin) {
		if (kh_best_has(&best, bin))
			atomicOr(&w.inside[f / 32], 1u << f % 32);
	});
	each_location(q, w, n, total, [&](unsigned f, uint32_t bin) {
		uint32_t at = slot_of(bin, 32 - t.bits);

		if (w.inside[f / 32] >> f % 32 & 1)
			return;
		while (w.u.t.bin[at] != bin + 1)
			at = (at + 1) & mask;
		atomicOr(&w.u.t.count[at], 1);
	});
	for (unsigned i = lane_id(); i < t.used; i += 32) {
		uint32_t &mark = w.u.t.count[w.slot[i]];

		if (mark)
			mark = 1 + q.ix.bins.taxon[target_of(q.ix, w.u.t.bin[w.slot[i]] - 1)];
	}
	__syncwarp();
}

/* Which candidates are rivals: a bit each. */
template <class Room>
__device__ uint32_t rivals(const kh_gpu_query &q, Room &w, unsigned n, uint32_t total,
			   const bin_table &t, const kh_best &best,
			   const candidates<Room> &c)
{
	uint32_t own[Room::EACH], marks = 0;

	mark_bins(q, w, n, total, t, best);
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		own[x] = c.h[x] > 0 ? kh_tree_own_species(&q.ix.tree, c.taxon[x]) : 0;
	for (unsigned i = 0; i < t.used; i++) {
		const uint32_t mark = w.u.t.count[w.slot[i]], taxon = mark - 1;
		const bool vote = w.u.t.bin[w.slot[i]] - 1 >= q.ix.bins.votes;

		if (mark == 0)
			continue;
#pragma unroll
		for (unsigned x = 0; x < Room::EACH; x++) {
			const uint32_t place = c.taxon[x] == taxon ? KH_RIVAL_PLACE : 0;
			const uint32_t species = own[x] == taxon ? KH_RIVAL_VOTE : 0;

			marks |= (uint32_t)(c.h[x] > 0 &&
					    kh_rival(vote ? 0 : place, vote ? species : 0)) << x;
		}
	}
	return marks;
}

/* The extent of the taxa that the decision asks for.  marks: a bit for each candidate that is a
 * rival. */
template <class Room>
__device__ kh_extent taxa_asked_for(const candidates<Room> &c, const kh_decision &d, uint32_t marks)
{
	kh_extent e = kh_extent_empty();

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		if (kh_decision_takes(&d, c.h[x], marks >> x & 1))
			e = kh_extent_add(e, c.taxon[x]);
	e.lo = warp_least(e.lo);
	e.hi = warp_max(e.hi);
	return e;
}

/* Fills in the call.  `over`: there are no windows; `rival` gives the marks. */
template <class Room, class Rival>
__device__ void decide(const kh_gpu_query &q, const candidates<Room> &c, bool over, kh_call *call,
		       Rival rival)
{
	const uint32_t n = call->features;
	uint32_t h1 = 0, marks = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
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

/* --- what the fragment could be (kh_candidates) -------------------------------------- */
/* Whether a candidate that is near has no species. */
template <class Room>
__device__ bool any_without_species(const kh_gpu_query &q, const candidates<Room> &c, uint32_t h1)
{
	bool any = false;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		any |= c.h[x] > 0 && kh_candidate_near(c.h[x], h1, true) &&
		       q.ix.tree.species[c.taxon[x]] == KH_NO_TAXON;
	return __any_sync(ALL, any);
}

/* The least species from `from` on of the candidates that are near, or UINT32_MAX; its greatest h
 * to *most. */
template <class Room>
__device__ uint32_t next_species(const kh_gpu_query &q, const candidates<Room> &c, uint32_t h1,
				 uint32_t from, uint32_t *most)
{
	uint32_t least = UINT32_MAX, h = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		if (c.h[x] > 0 && kh_candidate_near(c.h[x], h1, true)) {
			const uint32_t s = kh_candidate_species(&q.ix.tree, c.taxon[x], from);

			least = s < least ? s : least;
		}
	least = warp_least(least);
	if (least == UINT32_MAX)
		return least;
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		if (c.h[x] > h && q.ix.tree.species[c.taxon[x]] == least)
			h = c.h[x];
	*most = warp_max(h);
	return least;
}

/* Fills q.candidates[i] with the second-best taxon.  `over`: there are no windows. */
template <class Room>
__device__ void choose_second(const kh_gpu_query &q, const candidates<Room> &c, bool over,
			      uint32_t i)
{
	const kh_tree *t = &q.ix.tree;
	uint32_t best = KH_NO_TAXON, second = KH_NO_TAXON, h1 = 0, h = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		h1 = c.h[x] > h1 ? c.h[x] : h1;
	h1 = warp_max(h1);
#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		if (h1 > 0 && c.h[x] == h1 && c.taxon[x] < best)
			best = c.taxon[x];
	best = warp_least(best);
	if (best != KH_NO_TAXON && !over) {
		const uint32_t group = kh_second_group(t, best);

#pragma unroll
		for (unsigned x = 0; x < Room::EACH; x++)
			if (c.h[x] > h && kh_second_group(t, c.taxon[x]) != group)
				h = c.h[x];
		h = warp_max(h);
#pragma unroll
		for (unsigned x = 0; x < Room::EACH; x++)
			if (h > 0 && c.h[x] == h && c.taxon[x] < second &&
			    kh_second_group(t, c.taxon[x]) != group)
				second = c.taxon[x];
		second = warp_least(second);
	}
	if (lane_id() == 0)
		q.candidates[i] = kh_candidates_second(second, h);
}

/* Fills q.candidates[i], a lane a species.  `over`: there are no windows. */
template <class Room>
__device__ void choose(const kh_gpu_query &q, const candidates<Room> &c, bool over,
		       const kh_best &best, uint32_t i)
{
	kh_candidates *out = &q.candidates[i];
	const unsigned lane = lane_id();
	uint32_t h1 = 0, from = 0, h = 0, s, n = 0, mine = KH_NO_TAXON, drop = 0;

#pragma unroll
	for (unsigned x = 0; x < Room::EACH; x++)
		h1 = c.h[x] > h1 ? c.h[x] : h1;
	h1 = warp_max(h1);
	if (over || any_without_species(q, c, h1))
		n = KH_CANDIDATES + 1;
	for (; n <= KH_CANDIDATES; n++, from = s + 1) {
		s = next_species(q, c, h1, from, &h);
		if (s == UINT32_MAX)
			break;
		if (lane == n) {
			mine = s;
			drop = h1 - h;
		}
	}
	const bool none = n > KH_CANDIDATES;

	if (lane < KH_CANDIDATES) {
		out->species[lane] = none ? KH_NO_TAXON : mine;
		out->drop[lane] = (uint8_t)(none ? 0 : drop);
	}
	if (lane == 0)
		out->bin = !none && best.first < q.ix.bins.votes ? best.first : KH_NO_BIN;
}

/* Prepares the call of a fragment of several segments, for its slices to add to. */
__device__ void begin_long(const kh_gpu_query &q, const fragment &f, uint32_t i)
{
	if (lane_id() != 0)
		return;
	q.call[i] = kh_call { KH_NO_TAXON, 0, 0, 0 };
	if (q.found)
		q.found_at[i] = atomicAdd(&q.counts[KH_GPU_FOUND], found_most(q, f));
}

/* Takes places in q.found for the features of a fragment of one segment, and writes them. */
template <class Room>
__device__ void give_found_of(const kh_gpu_query &q, const Room &w, unsigned n, uint32_t i)
{
	uint32_t at = 0;

	if (lane_id() == 0)
		q.found_at[i] = at = atomicAdd(&q.counts[KH_GPU_FOUND], w.n_found);
	give_found(q, w, n, __shfl_sync(ALL, at, 0));
}

/* Classifies a fragment of one segment.  False: it does not fit into the room. */
template <enum kh_gpu_pass P, class Room>
__device__ bool one_segment(const kh_gpu_query &q, Room &w, const fragment &f, uint32_t i)
{
	kh_best best = { 0, 0, 0, 0 };
	bin_table t = { 0, 0 };
	candidates<Room> c;
	const unsigned n = P == KH_GPU_LISTS ? given_features(q, w, q.segment[i])
					    : sample_fragment(q, w, f);

	if (n > Room::FEATURES)
		return false;
	if (P == KH_GPU_FEATURES) {
		give_features(q, w, n, i);
		return true;
	}
	const uint32_t total = find_lists<P>(q, w, n, P == KH_GPU_LISTS ? q.segment[i].at : 0);
	const bool over = total == 0;

	if (!(over ? over_only(q, w, c) : count_bins(q, w, n, total, &t)))
		return false;
	if (!over)
		best = make_candidates(q, w, n, f.mate ? q.rule.max_span : f.r[0].len, t, c);
	kh_call call = { KH_NO_TAXON, n, 0, w.n_found };
	decide(q, c, over, &call, [&] { return rivals(q, w, n, total, t, best, c); });
	if (q.candidates && q.rule.candidates == KH_WANT_SECOND)
		choose_second(q, c, over, i);
	else if (q.candidates)
		choose(q, c, over, best, i);
	if (q.found)
		give_found_of(q, w, n, i);
	if (lane_id() == 0)
		q.call[i] = call;
	return true;
}

/* How many blocks a multiprocessor should hold at a time; the compiler limits registers for that.
 * */
template <class Room> constexpr unsigned RESIDENT = 5;
template <> constexpr unsigned RESIDENT<small_room> = 12;

/* Each warp has a fragment. */
template <enum kh_gpu_pass P, class Room>
__global__ void __launch_bounds__(32 * WARPS, RESIDENT<Room>) warp_kernel(kh_gpu_query q)
{
	__shared__ Room room[WARPS];
	const uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32;

	if (i >= q.n)
		return;
	const fragment f(q, i);
	if (!f.one_segment(q.rule)) {
		if (P != KH_GPU_FEATURES)
			begin_long(q, f, i);
	} else if (!one_segment<P>(q, room[threadIdx.x / 32], f, i) && lane_id() == 0) {
		q.left[atomicAdd(&q.counts[KH_GPU_LEFT], 1)] = i;
	}
}

} /* namespace */

extern "C" int kh_gpu_query_warps(const kh_gpu_query *q, cudaStream_t stream)
{
	const uint32_t blocks = (q->n + WARPS - 1) / WARPS;

	return launch_pass(q, [&](auto p) {
		constexpr enum kh_gpu_pass P = decltype(p)::value;

		if (q->more_output)
			warp_kernel<P, large_room><<<blocks, 32 * WARPS, 0, stream>>>(*q);
		else
			warp_kernel<P, small_room><<<blocks, 32 * WARPS, 0, stream>>>(*q);
	});
}

static int run_by_counting(const kh_gpu_query *q, cudaStream_t stream)
{
	int e = kh_gpu_query_warps(q, stream);

	if (e == cudaSuccess && q->n_slices > 0)
		e = kh_gpu_query_slices(q, stream);
	if (e == cudaSuccess && q->n_slices > 0)
		e = kh_gpu_query_slices_left(q, stream);
	return e == cudaSuccess ? kh_gpu_query_left(q, stream) : e;
}

/* What is made of the calls. */
static int use_calls(const kh_gpu_query *q, cudaStream_t stream)
{
	int e = cudaSuccess;

	if (q->class_of)
		e = kh_gpu_census_add(q, stream);
	if (e == cudaSuccess && q->counters.set)
		e = kh_gpu_counters_add(q, stream);
	if (e == cudaSuccess && q->genus)
		e = kh_gpu_query_translate(q, stream);
	return e;
}

extern "C" int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream)
{
	int e;

	if (q->text.text)
		return kh_gpu_queries_run(&q, 1, stream);
	if (q->n == 0)
		return cudaSuccess;
	e = run_by_counting(q, stream);
	return e == cudaSuccess && q->pass != KH_GPU_FEATURES ? use_calls(q, stream) : e;
}

extern "C" int kh_gpu_queries_run(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	int e = kh_gpu_queries_match(q, n, stream);

	for (uint32_t i = 0; i < n && e == cudaSuccess; i++)
		if (q[i]->n > 0)
			e = use_calls(q[i], stream);
	return e;
}
