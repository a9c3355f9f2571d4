/* classify_block.cu - classifies with a block of threads, and room in device memory, what is too
 * crowded for a warp, and makes the calls of long fragments (classify.cuh) */
#include "cuda/kernels/hits_block.cuh"

namespace {

/* --- slices ------------------------------------------------------------------------- */
template <enum kh_gpu_pass P>
__device__ void slice_hits(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint32_t s)
{
	const slice_range range(q, q.slice[s]);

	if (P != KH_GPU_LISTS)
		block_sample(q, b, x, range.from, range.to);
	block_segment<P>(q, b, x, q.n + s, range.span, false);
}

/* Makes the notes of slice s from what was counted by taxon, if there is room. */
__device__ void note_counts(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			    uint32_t s)
{
	const uint32_t n = b.n_touched + b.n_voted + b.n_lcas;
	const uint32_t from[] = { 0, b.n_touched, b.n_touched + b.n_voted };
	uint32_t *const count[] = { x.h, x.votes, x.over };
	const uint32_t *const list[] = { x.touched, x.voted, x.lcas };
	const uint32_t what[] = { KH_GPU_NOTE_HITS, KH_GPU_NOTE_VOTES, KH_GPU_NOTE_OVER };

	if (threadIdx.x == 0) {
		b.room = note_room(q, n, &b.item);
		q.noted[s] = kh_gpu_segment { b.item, b.room ? n : UINT32_MAX };
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
		const int k = (i >= from[1]) + (i >= from[2]);
		const uint32_t taxon = list[k][i - from[k]];

		if (b.room)
			q.note[b.item + i] = kh_gpu_note { taxon, what[k] | count[k][taxon] };
		count[k][taxon] = 0;
	}
	__syncthreads();
}

/* A slice that was too crowded. */
template <enum kh_gpu_pass P>
__device__ void block_slice(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			    uint32_t s)
{
	kh_call *call = P == KH_GPU_FEATURES ? NULL : &q.call[q.slice[s].fragment];

	if (threadIdx.x == 0) {
		block_begin(b);
		if (P != KH_GPU_FEATURES && q.found) {
			b.found_at = q.found_at[q.slice[s].fragment];
			b.n_given = &call->found;
		}
	}
	__syncthreads();
	slice_hits<P>(q, b, x, s);
	if (P == KH_GPU_FEATURES)
		return;
	if (threadIdx.x == 0) {
		if (q.place)
			q.place[s] = b.best ? ~(uint32_t)b.best : KH_NO_BIN;
		atomicAdd(&call->features, b.features);
		if (!q.found)
			atomicAdd(&call->found, b.found);
	}
	note_counts(q, b, x, s);
}

template <enum kh_gpu_pass P>
__global__ void __launch_bounds__(THREADS) block_slice_kernel(kh_gpu_query q)
{
	__shared__ block_room b;
	const kh_gpu_scratch x = q.scratch[blockIdx.x];

	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0)
			b.item = atomicAdd(&q.counts[KH_GPU_SLICES_TAKEN], 1);
		__syncthreads();
		const uint32_t item = b.item;

		if (item >= q.counts[KH_GPU_SLICES_LEFT])
			return;
		__syncthreads();
		block_slice<P>(q, b, x, q.slice_left[item]);
	}
}

/* --- fragments ---------------------------------------------------------------------- */
/* Adds the votes for a species to each taxon of it that has hits; a species whose own taxon has
 * none gets its votes as h. */
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

/* Adds to h of each touched taxon what overpopulated features add; if no taxon is touched, finds
 * h of each of their LCAs and returns true. */
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

/* The best window in the form that rule.h uses. */
__device__ kh_best block_best(const kh_gpu_query &q, const block_room &b)
{
	const kh_bins &bins = q.ix.bins;
	const uint32_t first = ~(uint32_t)b.best;
	const uint32_t vote = first < bins.votes ? kh_bins_vote(&bins, target_of(q.ix, first))
						 : first;

	return kh_best { (uint32_t)(b.best >> 32), first, b.window, vote };
}

/* Marks in x.best the taxa, and species, that have a feature which the best window lacks; with
 * `clear` takes the marks away. */
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
			uint32_t *mark = &x.best[q.ix.bins.taxon[target_of(q.ix, bin)]];

			if (clear)
				*mark = 0;
			else
				atomicOr(mark, bin < q.ix.bins.votes ? KH_RIVAL_PLACE
								     : KH_RIVAL_VOTE);
		}
	}
	__syncthreads();
}

/* The extent of those taxa of the list that the decision asks for. */
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

/* Decides the taxon, with all threads, and sets b.h1. */
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
/* Finds the least species from `from` on, or UINT32_MAX, of the touched taxa that are near: to
 * b.lo, and its greatest h to b.hi. */
__device__ void block_next_species(const kh_gpu_query &q, block_room &b,
				   const kh_gpu_scratch &x, bool one, uint32_t from)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		b.lo = UINT32_MAX;
		b.hi = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		if (kh_candidate_near(x.h[t], b.h1, one))
			atomicMin(&b.lo, kh_candidate_species(&q.ix.tree, t, from));
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		if (q.ix.tree.species[t] == b.lo && kh_candidate_near(x.h[t], b.h1, one))
			atomicMax(&b.hi, x.h[t]);
	}
	__syncthreads();
}

/* With all threads.  `windows`: h comes from windows; `one`: it is one segment. */
__device__ void block_candidates(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
				 bool windows, bool one, uint32_t i)
{
	kh_candidates out = kh_candidates_none();
	uint32_t from = 0;
	bool any = false;
	int n = 0;

	for (uint32_t j = threadIdx.x; j < b.n_touched; j += THREADS)
		any |= kh_candidate_near(x.h[x.touched[j]], b.h1, one) &&
		       q.ix.tree.species[x.touched[j]] == KH_NO_TAXON;
	if (__syncthreads_or(any) || !windows)
		n = KH_CANDIDATES + 1;
	for (; n <= KH_CANDIDATES; n++, from = b.lo + 1) {
		block_next_species(q, b, x, one, from);
		if (b.lo == UINT32_MAX)
			break;
		if (n < KH_CANDIDATES) {
			out.species[n] = b.lo;
			out.drop[n] = (uint8_t)(b.h1 - b.hi);
		}
	}
	if (n > KH_CANDIDATES)
		out = kh_candidates_none();
	else if (one && block_best(q, b).first < q.ix.bins.votes)
		out.bin = block_best(q, b).first;
	if (threadIdx.x == 0)
		q.candidates[i] = out;
	__syncthreads();
}

/* The least of the touched taxa with that h, of another species than `group` unless that is
 * KH_NO_TAXON.  With all threads. */
__device__ uint32_t block_least_taxon(const kh_gpu_query &q, block_room &b,
				      const kh_gpu_scratch &x, uint32_t h, uint32_t group)
{
	__syncthreads();
	if (threadIdx.x == 0)
		b.lo = KH_NO_TAXON;
	__syncthreads();
	for (uint32_t i = threadIdx.x; h > 0 && i < b.n_touched; i += THREADS) {
		const uint32_t t = x.touched[i];

		if (x.h[t] == h && kh_second_group(&q.ix.tree, t) != group)
			atomicMin(&b.lo, t);
	}
	__syncthreads();
	return b.lo;
}

/* The second-best taxon, with all threads.  `windows`: h comes from windows. */
__device__ void block_second(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			     bool windows, uint32_t i)
{
	const uint32_t best = block_least_taxon(q, b, x, windows ? b.h1 : 0, KH_NO_TAXON);
	const uint32_t group =
		best != KH_NO_TAXON ? kh_second_group(&q.ix.tree, best) : KH_NO_TAXON;

	__syncthreads();
	if (threadIdx.x == 0)
		b.hi = 0;
	__syncthreads();
	for (uint32_t j = threadIdx.x; best != KH_NO_TAXON && j < b.n_touched; j += THREADS) {
		const uint32_t t = x.touched[j];

		if (kh_second_group(&q.ix.tree, t) != group)
			atomicMax(&b.hi, x.h[t]);
	}
	__syncthreads();
	const uint32_t h = b.hi, second = block_least_taxon(q, b, x, h, group);

	if (threadIdx.x == 0)
		q.candidates[i] = kh_candidates_second(second, h);
	__syncthreads();
}

/* Makes the call of fragment i from what was counted by taxon, and clears that.  `one`: it is one
 * segment. */
__device__ void call_fragment(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			      uint32_t i, bool one)
{
	block_add_votes(q, b, x);
	const bool only = block_over(q, b, x);
	const uint32_t taxon = block_decide(q, b, x, only, one);

	if (threadIdx.x == 0)
		q.call[i] = kh_call { taxon, b.features,
				      b.h1 < b.features ? b.h1 : b.features, b.found };
	if (q.candidates && q.rule.candidates == KH_WANT_SECOND)
		block_second(q, b, x, !only, i);
	else if (q.candidates)
		block_candidates(q, b, x, !only, one, i);
	__syncthreads();
	for (uint32_t j = threadIdx.x; j < b.n_touched; j += THREADS)
		x.h[x.touched[j]] = 0;
	for (uint32_t j = threadIdx.x; j < b.n_lcas; j += THREADS)
		x.h[x.lcas[j]] = x.over[x.lcas[j]] = 0;
	__syncthreads();
}

/* A fragment of one segment. */
template <enum kh_gpu_pass P>
__device__ void block_fragment(const kh_gpu_query &q, block_room &b,
			       const kh_gpu_scratch &x, uint32_t i)
{
	const fragment f(q, i);

	if (threadIdx.x == 0) {
		block_begin(b);
		if (P != KH_GPU_FEATURES && q.found) {
			b.found_at = atomicAdd(&q.counts[KH_GPU_FOUND], found_most(q, f));
			q.found_at[i] = b.found_at;
			b.n_given = &b.given;
		}
	}
	__syncthreads();
	for (int m = 0; P != KH_GPU_LISTS && m < 1 + f.mate; m++) {
		const uint64_t from = (uint64_t)f.r[m].word * 32;

		block_sample(q, b, x, from,
			     from + starts_of(q.rule.sampling, f.r[m].len));
		__syncthreads();
	}
	block_segment<P>(q, b, x, i, f.mate ? q.rule.max_span : f.r[0].len, true);
	if (P != KH_GPU_FEATURES)
		call_fragment(q, b, x, i, true);
}

__device__ void take_note(block_room &b, const kh_gpu_scratch &x, const kh_gpu_note &note)
{
	const uint32_t count = note.what & KH_GPU_NOTE_COUNT, t = note.taxon;

	if (note.what & KH_GPU_NOTE_VOTES) {
		if (atomicAdd(&x.votes[t], count) == 0)
			x.voted[atomicAdd(&b.n_voted, 1)] = t;
	} else if (note.what & KH_GPU_NOTE_OVER) {
		if (atomicAdd(&x.over[t], count) == 0)
			x.lcas[atomicAdd(&b.n_lcas, 1)] = t;
	} else if (atomicAdd(&x.h[t], count) == 0) {
		x.touched[atomicAdd(&b.n_touched, 1)] = t;
	}
}

/* A fragment of several segments: adds up the notes of its slices, each slice by a warp.  Slices
 * whose notes found no room are counted again. */
template <enum kh_gpu_pass P>
__device__ void block_long(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   const kh_gpu_long &l)
{
	if (threadIdx.x == 0)
		block_begin(b);
	__syncthreads();
	for (uint32_t s = threadIdx.x / 32; s < l.n; s += THREADS / 32) {
		const kh_gpu_segment n = q.noted[l.first + s];

		for (uint32_t j = lane_id(); n.n != UINT32_MAX && j < n.n; j += 32)
			take_note(b, x, q.note[n.at + j]);
	}
	__syncthreads();
	for (uint32_t s = 0; s < l.n; s++)
		if (q.noted[l.first + s].n == UINT32_MAX)
			slice_hits<P>(q, b, x, l.first + s);
	if (threadIdx.x == 0) {
		b.features = q.call[l.fragment].features;
		b.found = q.call[l.fragment].found;
	}
	__syncthreads();
	call_fragment(q, b, x, l.fragment, false);
}

template <enum kh_gpu_pass P>
__global__ void __launch_bounds__(THREADS) block_kernel(kh_gpu_query q)
{
	__shared__ block_room b;
	const kh_gpu_scratch x = q.scratch[blockIdx.x];
	const uint32_t left = q.counts[KH_GPU_LEFT];
	const uint32_t n = left + (P == KH_GPU_FEATURES ? 0 : q.n_longs);

	for (;;) {
		__syncthreads();
		if (threadIdx.x == 0)
			b.item = atomicAdd(&q.counts[KH_GPU_LEFT_TAKEN], 1);
		__syncthreads();
		const uint32_t item = b.item;

		if (item >= n)
			return;
		if (item < left)
			block_fragment<P>(q, b, x, q.left[item]);
		else if (P != KH_GPU_FEATURES)
			block_long<P>(q, b, x, q.longs[item - left]);
	}
}

} /* namespace */

extern "C" int kh_gpu_query_slices_left(const kh_gpu_query *q, cudaStream_t stream)
{
	return launch_pass(q, [&](auto p) {
		block_slice_kernel<decltype(p)::value><<<q->n_scratch, THREADS, 0, stream>>>(*q);
	});
}

extern "C" int kh_gpu_query_left(const kh_gpu_query *q, cudaStream_t stream)
{
	return launch_pass(q, [&](auto p) {
		block_kernel<decltype(p)::value><<<q->n_scratch, THREADS, 0, stream>>>(*q);
	});
}
