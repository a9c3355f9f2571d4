/* classify_block.cu - a block of threads a fragment, with room in device memory (classify.cuh) */
#include "cuda/kernels/hits_block.cuh"

namespace {

/* Segment s, whose features have been sampled, by all threads. */
template <enum pass P>
__device__ void block_segment(const kh_gpu_query &q, block_room &b,
			      const kh_gpu_scratch &x, uint32_t s, uint64_t span,
			      bool one)
{
	__syncthreads();
	if (P == LISTS_GIVEN)
		block_given(q, b, x, q.segment[s]);
	else
		block_distinct(b, x);
	if (P == FEATURES_ONLY) {
		block_give(q, b, x, s);
		return;
	}
	block_find<P>(q, b, x, P == LISTS_GIVEN ? q.segment[s].at : 0);
	if (b.total > 0) {
		uint64_t size = table_size(b.total);

		block_count(q, b, x, size);
		block_windows(q, b, x, size, span, one);
	}
	if (threadIdx.x == 0) {
		b.features += b.n_distinct;
		b.found += b.n_found;
		b.n_last = b.n_distinct;
		b.window = kh_rule_window(&q.rule, span);
		b.n_key = b.n_distinct = b.n_found = b.total = b.n_seg = 0;
		b.most_hits = b.most_votes = 0;
	}
	__syncthreads();
}

/* Its segments from number s on; the one behind them. */
template <enum pass P>
__device__ uint32_t block_record(const kh_gpu_query &q, block_room &b,
				 const kh_gpu_scratch &x, const kh_gpu_record &r,
				 uint32_t s)
{
	const uint64_t span = q.rule.max_span, starts = starts_of(q.rule.sampling, r.len);
	const uint64_t first = (uint64_t)r.word * 32;

	for (uint64_t at = 0; at < r.len; at += span, s++) {
		if (P != LISTS_GIVEN)
			block_sample(q, b, x, first + at,
				     first + (at + span < starts ? at + span : starts));
		block_segment<P>(q, b, x, s, r.len < span ? r.len : span, false);
	}
	return s;
}

/* The number of the first of a fragment's several segments. */
template <enum pass P>
__device__ uint32_t block_first(const kh_gpu_query &q, block_room &b, const fragment &f,
				uint32_t i)
{
	if (P == FEATURES_ONLY) {
		if (threadIdx.x == 0) {
			uint32_t n = 0;

			for (int m = 0; m < 1 + f.mate; m++)
				n += (uint32_t)(((uint64_t)f.r[m].len + q.rule.max_span - 1)
						/ q.rule.max_span);
			q.segment[i] = kh_gpu_segment { q.n + atomicAdd(&q.counts[3], n),
							n };
		}
		__syncthreads();
	}
	return P == WHOLE ? 0 : q.segment[i].at;
}

/* Votes count for each taxon of their species; for the species itself, too. */
__device__ void block_add_votes(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x)
{
	for (uint32_t i = threadIdx.x; i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		x.h[t] += x.votes[kh_tree_own_species(&q.ix.tree, t)];
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_voted; i += THREADS) {
		const uint32_t s = x.voted[i];

		if (x.h[s] == 0) {
			x.h[s] = x.votes[s];
			x.touched[atomicAdd(&b.n_touched, 1)] = s;
		}
		x.votes[s] = 0;
	}
	__syncthreads();
}

/* h of each touched taxon with what the LCAs add; without any, of each LCA. */
__device__ bool block_over(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x)
{
	const bool only = b.n_touched == 0;
	const uint32_t n = only ? b.n_lcas : b.n_touched;
	const uint32_t *list = only ? x.lcas : x.touched;

	for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
		const uint32_t t = list[i];
		uint32_t h = x.h[t];

		for (uint32_t j = 0; j < b.n_lcas; j++) {
			const uint32_t lca = x.lcas[j];

			if (only ? kh_tree_within(&q.ix.tree, lca, t)
				 : kh_tree_related(&q.ix.tree, t, lca))
				h += x.over[lca];
		}
		x.h[t] = h;
	}
	__syncthreads();
	return only;
}

/* The best window, as the decision needs it. */
__device__ kh_best block_best(const kh_gpu_query &q, const block_room &b)
{
	const kh_bins &bins = q.ix.bins;
	const uint32_t first = ~(uint32_t)b.best;
	const uint32_t vote = first < bins.votes ? kh_bins_vote(&bins, kh_bins_target(&bins, first))
						 : first;

	return kh_best { (uint32_t)(b.best >> 32), first, b.window, vote };
}

/* Marks in x.best the taxa, and species, that have a feature which the best window lacks; or
 * takes the marks of all that have a feature away. */
__device__ void block_mark(const kh_gpu_query &q, const block_room &b,
			   const kh_gpu_scratch &x, bool clear)
{
	const kh_best best = block_best(q, b);

	for (uint32_t f = threadIdx.x / 32; f < b.n_last; f += THREADS / 32) {
		const uint32_t n = x.n_loc[f];
		bool inside = false;

		for (uint32_t j = lane_id(); j < n; j += 32)
			inside |= kh_best_has(&best, block_word(q, x, f, j)) != 0;
		if (__any_sync(ALL, inside) && !clear)
			continue;
		for (uint32_t j = lane_id(); j < n; j += 32) {
			const uint32_t bin = block_word(q, x, f, j);
			uint32_t *mark = &x.best[q.ix.bins.taxon[kh_bins_target(&q.ix.bins, bin)]];

			if (clear)
				*mark = 0;
			else
				atomicOr(mark, bin < q.ix.bins.votes ? KH_RIVAL_PLACE
								     : KH_RIVAL_VOTE);
		}
	}
	__syncthreads();
}

/* The taxa of the list that the decision asks for. */
__device__ kh_extent block_asked_for(const kh_gpu_query &q, block_room &b,
				     const kh_gpu_scratch &x, const uint32_t *list, uint32_t n,
				     const kh_decision &d)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		b.lo = UINT32_MAX;
		b.hi = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
		const uint32_t t = list[i];

		const uint32_t own = kh_tree_own_species(&q.ix.tree, t);

		if (kh_decision_takes(&d, x.h[t], kh_rival(x.best[t], x.best[own]))) {
			atomicMin(&b.lo, t);
			atomicMax(&b.hi, t);
		}
	}
	__syncthreads();
	const kh_extent e = { b.lo, b.hi };
	return e;
}

/* The taxon, by all threads; b.h1 is set. */
__device__ uint32_t block_decide(const kh_gpu_query &q, block_room &b,
				 const kh_gpu_scratch &x, bool only, bool one)
{
	const uint32_t n = only ? b.n_lcas : b.n_touched;
	const uint32_t *list = only ? x.lcas : x.touched;

	for (uint32_t i = threadIdx.x; i < n; i += THREADS)
		atomicMax(&b.h1, x.h[list[i]]);
	__syncthreads();
	kh_decision d = kh_decision_begin(&q.rule, b.h1, b.features, !only, one);
	while (d.ask != KH_ASK_NOTHING) {
		const bool rivals = d.ask == KH_ASK_RIVALS;

		if (rivals)
			block_mark(q, b, x, false);
		kh_decision_go_on(&d, &q.ix.tree, block_asked_for(q, b, x, list, n, d));
		if (rivals)
			block_mark(q, b, x, true);
	}
	return d.taxon;
}

/* --- what the fragment could be (kh_candidates) -------------------------------------- */
/* Of the touched taxa that are near, the least species from `from` on, or UINT32_MAX, to b.lo; its
 * greatest h to b.hi. */
__device__ void block_next_species(const kh_gpu_query &q, block_room &b,
				   const kh_gpu_scratch &x, uint32_t from)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		b.lo = UINT32_MAX;
		b.hi = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		if (kh_candidate_near(x.h[t], b.h1))
			atomicMin(&b.lo, kh_candidate_species(&q.ix.tree, t, from));
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		if (q.ix.tree.species[t] == b.lo && kh_candidate_near(x.h[t], b.h1))
			atomicMax(&b.hi, x.h[t]);
	}
	__syncthreads();
}

/* By all threads.  `windows`: h comes from them, in one segment. */
__device__ void block_candidates(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
				 bool windows, uint32_t i)
{
	kh_candidates out = kh_candidates_none();
	uint32_t from = 0;
	bool any = false;
	int n = 0;

	for (uint32_t j = threadIdx.x; j < b.n_touched; j += THREADS)
		any |= kh_candidate_near(x.h[x.touched[j]], b.h1) &&
		       q.ix.tree.species[x.touched[j]] == KH_NO_TAXON;
	if (__syncthreads_or(any) || !windows)
		n = KH_CANDIDATES + 1;
	for (; n <= KH_CANDIDATES; n++, from = b.lo + 1) {
		block_next_species(q, b, x, from);
		if (b.lo == UINT32_MAX)
			break;
		if (n < KH_CANDIDATES) {
			out.species[n] = b.lo;
			out.drop[n] = (uint8_t)(b.h1 - b.hi);
		}
	}
	if (n > KH_CANDIDATES)
		out = kh_candidates_none();
	else if (block_best(q, b).first < q.ix.bins.votes)
		out.bin = block_best(q, b).first;
	if (threadIdx.x == 0)
		q.candidates[i] = out;
	__syncthreads();
}

template <enum pass P>
__device__ void block_fragment(const kh_gpu_query &q, block_room &b,
			       const kh_gpu_scratch &x, uint32_t i)
{
	const fragment f(q, i);
	const kh_sampling &sk = q.rule.sampling;

	if (threadIdx.x == 0) {
		b.n_key = b.n_distinct = b.n_found = b.total = b.n_seg = 0;
		b.n_touched = b.n_lcas = b.n_voted = b.features = b.found = b.h1 = 0;
		b.most_hits = b.most_votes = 0;
		b.best = 0;
		if (q.found) {
			uint32_t most = 0;

			for (int m = 0; m < 1 + f.mate; m++)
				most += (uint32_t)(kh_sampling_bound(&sk, f.r[m].len) +
						   (f.r[m].len / q.rule.max_span + 1) *
							   (sk.s + 1));
			q.found_at[i] = b.found_at = atomicAdd(&q.counts[2], most);
		}
	}
	__syncthreads();
	if (f.one_segment(q.rule)) {
		for (int m = 0; P != LISTS_GIVEN && m < 1 + f.mate; m++) {
			const uint64_t from = (uint64_t)f.r[m].word * 32;

			block_sample(q, b, x, from, from + starts_of(sk, f.r[m].len));
			__syncthreads();
		}
		block_segment<P>(q, b, x, i, f.mate ? q.rule.max_span : f.r[0].len, true);
	} else {
		uint32_t s = block_first<P>(q, b, f, i);

		for (int m = 0; m < 1 + f.mate; m++)
			s = block_record<P>(q, b, x, f.r[m], s);
	}
	if (P == FEATURES_ONLY)
		return;
	block_add_votes(q, b, x);
	const bool only = block_over(q, b, x);
	const uint32_t taxon = block_decide(q, b, x, only, f.one_segment(q.rule));

	if (threadIdx.x == 0)
		q.call[i] = kh_call { taxon, b.features,
				      b.h1 < b.features ? b.h1 : b.features, b.found };
	if (q.candidates)
		block_candidates(q, b, x, !only && f.one_segment(q.rule), i);
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < b.n_touched; j += THREADS)
		x.h[x.touched[j]] = 0;
	for (uint32_t j = threadIdx.x; j < b.n_lcas; j += THREADS)
		x.h[x.lcas[j]] = x.over[x.lcas[j]] = 0;
	__syncthreads();
}

template <enum pass P>
__global__ void __launch_bounds__(THREADS) block_kernel(kh_gpu_query q)
{
	__shared__ block_room b;
	const kh_gpu_scratch x = q.scratch[blockIdx.x];

	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0)
			b.item = atomicAdd(&q.counts[1], 1);
		__syncthreads();
		if (b.item >= q.counts[0])
			return;
		block_fragment<P>(q, b, x, q.left[b.item]);
	}
}

} /* namespace */

extern "C" int kh_gpu_query_left(const kh_gpu_query *q, cudaStream_t stream)
{
	if (!q->segment)
		block_kernel<WHOLE><<<q->n_scratch, THREADS, 0, stream>>>(*q);
	else if (!q->list)
		block_kernel<FEATURES_ONLY><<<q->n_scratch, THREADS, 0, stream>>>(*q);
	else
		block_kernel<LISTS_GIVEN><<<q->n_scratch, THREADS, 0, stream>>>(*q);
	return cudaGetLastError();
}
