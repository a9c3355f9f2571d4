/* decide_block.cu - a block of threads a fragment, with room in device memory (decide.cuh) */
#include "decide.cuh"

namespace {

constexpr unsigned THREADS = 256;

struct block_room {
	uint32_t order[THREADS / 32][SMER_ROOM];
	uint64_t orders[THREADS / 32][128];     /* of a minhash window */
	uint32_t item;
	uint32_t n_key, n_distinct;     /* of the segment */
	uint32_t n_found, total;
	uint32_t n_seg, n_touched, n_lcas;
	uint32_t features, found, found_at;
	uint32_t h1, lo, hi;
	unsigned long long
		best; /* most hits above, and below the complement of the lowest bin */
	uint32_t n_last, window; /* of the last segment: features, bins of a window */
};

/* The features of [from, to) of a packed sequence, to key[n_key ..]. */
__device__ void block_sample(const kh_gpu_query &q, block_room &b,
			     const kh_gpu_scratch &x, uint64_t from, uint64_t to)
{
	const kh_sketch &sk = q.rule.sketch;
	const unsigned warp = threadIdx.x / 32, warps = THREADS / 32;

	if (sk.scheme == KH_SYNCMER) {
		const uint64_t skip = (uint64_t)warp * SMER_TILE;

		if (from + skip >= to)
			return;
		warp_syncmers(sk, q, from + skip, to, warps, b.order[warp],
			      [&](bool keep, uint64_t key) {
				      if (keep)
					      x.key[atomicAdd(&b.n_key, 1)] = key;
			      });
		return;
	}
	for (uint64_t at = from + (uint64_t)warp * sk.stride; at < to;
	     at += (uint64_t)warps * sk.stride) {
		uint64_t end = to - at < sk.stride ? to : at + sk.stride;

		warp_minhash(sk, q.bases, q.amb, at, end, b.orders[warp], 128,
			     [&](unsigned, uint64_t key) {
				     x.key[atomicAdd(&b.n_key, 1)] = key;
			     });
	}
}

/* One of equal features, to key2. */
__device__ void block_distinct(block_room &b, const kh_gpu_scratch &x)
{
	const uint64_t mask = x.cap_seen - 1;

	for (uint32_t i = threadIdx.x; i < b.n_key; i += THREADS) {
		unsigned long long key = x.key[i], old;
		uint64_t at = key & mask;

		for (;; at = (at + 1) & mask) {
			old = atomicCAS((unsigned long long *)&x.seen[at], ~0ull, key);
			if (old == ~0ull || old == key)
				break;
		}
		if (old == ~0ull) {
			uint32_t to = atomicAdd(&b.n_distinct, 1);

			x.key2[to] = key;
			x.loc[to] = at;
		}
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_distinct; i += THREADS)
		x.seen[x.loc[i]] = ~UINT64_C(0);
	__syncthreads();
}

/* Distinct features that were sampled before, to key2. */
__device__ void block_given(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			    const kh_gpu_segment &s)
{
	if (threadIdx.x == 0)
		b.n_distinct = s.n;
	for (uint32_t i = threadIdx.x; i < s.n; i += THREADS)
		x.key2[i] = q.key[s.at + i];
	__syncthreads();
}

/* Hands the distinct features of segment s over, for their lists to be fetched. */
__device__ void block_give(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint32_t s)
{
	if (threadIdx.x == 0) {
		b.found_at = atomicAdd(q.n_key, b.n_distinct);
		q.segment[s] = kh_gpu_segment { b.found_at, b.n_distinct };
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_distinct; i += THREADS)
		q.key[b.found_at + i] = x.key2[i];
	__syncthreads();
	if (threadIdx.x == 0)
		b.n_key = b.n_distinct = 0;
	__syncthreads();
}

/* loc, n_loc (0: not found or overpopulated), counts of LCAs.  Given: lists from `at`. */
template <enum pass P>
__device__ void block_find(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint32_t at)
{
	constexpr unsigned SHARE = P == LISTS_GIVEN ? 1 : 4;

	for (uint32_t i = threadIdx.x / SHARE; i < b.n_distinct; i += THREADS / SHARE) {
		const kh_list l = P == LISTS_GIVEN ? q.list[at + i]
						   : quad_find(q.ix, x.key2[i]);

		if (threadIdx.x % SHARE != 0)
			continue;
		x.loc[i] = l.loc;
		x.n_loc[i] = l.over ? 0 : l.n;
		if (l.n == 0)
			continue;
		const uint32_t nth = atomicAdd(&b.n_found, 1);
		if (q.found)
			q.found[b.found_at + b.found + nth] = x.key2[i];
		if (!l.over) {
			atomicAdd(&b.total, l.n);
			continue;
		}
		uint32_t lca = ((const uint32_t *)q.ix.image)[l.loc];
		if (atomicAdd(&x.over[lca], 1) == 0)
			x.lcas[atomicAdd(&b.n_lcas, 1)] = lca;
	}
	__syncthreads();
}

/* The table's size for so many locations. */
__device__ uint64_t table_size(uint32_t total)
{
	uint64_t size = 64;

	while (size < 2 * (uint64_t)total)
		size *= 2;
	return size;
}

__device__ void block_count(const kh_gpu_query &q, const block_room &b,
			    const kh_gpu_scratch &x, uint64_t size)
{
	const uint32_t *word = (const uint32_t *)q.ix.image;
	const uint64_t mask = size - 1;

	for (uint64_t i = threadIdx.x; i < size; i += THREADS)
		x.bin[i] = x.count[i] = 0;
	__syncthreads();
	for (uint32_t f = threadIdx.x / 32; f < b.n_distinct; f += THREADS / 32)
		for (uint32_t j = lane_id(); j < x.n_loc[f]; j += 32) {
			uint32_t bin = word[x.loc[f] + j];
			uint64_t at = bin * UINT32_C(0x9e3779b1) & mask;

			for (;; at = (at + 1) & mask) {
				uint32_t old = atomicCAS(&x.bin[at], 0, bin + 1);

				if (old == 0 || old == bin + 1)
					break;
			}
			atomicAdd(&x.count[at], 1);
		}
	__syncthreads();
}

__device__ uint32_t block_count_of(const kh_gpu_scratch &x, uint32_t bin, uint64_t mask)
{
	for (uint64_t at = bin * UINT32_C(0x9e3779b1) & mask; x.bin[at];
	     at = (at + 1) & mask)
		if (x.bin[at] == bin + 1)
			return x.count[at];
	return 0;
}

/* Hits of each window, and the best of them. */
__device__ void block_hits(block_room &b, const kh_gpu_scratch &x, uint64_t size,
			   uint32_t r)
{
	const uint32_t n = b.n_distinct;
	unsigned long long best = 0;

	for (uint64_t i = threadIdx.x; i < size; i += THREADS) {
		if (x.bin[i] == 0)
			continue;
		const uint32_t bin = x.bin[i] - 1;
		uint32_t hits = x.count[i];

		for (uint32_t d = 1; d < r && d < UINT32_MAX - bin && hits < n; d++)
			hits += block_count_of(x, bin + d, size - 1);
		hits = hits < n ? hits : n;
		x.hits[i] = hits;
		unsigned long long mine = (unsigned long long)hits << 32 | (uint32_t)~bin;
		best = mine > best ? mine : best;
	}
	atomicMax(&b.best, best);
	__syncthreads();
}

/* The best window of each taxon, then h += best.  `one`: windows that cannot come near h1
 * are left out. */
__device__ void block_windows(const kh_gpu_query &q, block_room &b,
			      const kh_gpu_scratch &x, uint64_t size, uint64_t span,
			      bool one)
{
	uint32_t least = 1;

	block_hits(b, x, size, kh_rule_window(&q.rule, span));
	if (one) {
		const uint32_t most = (uint32_t)(b.best >> 32),
			       genus = kh_rule_near_genus(most);
		uint32_t near = kh_rule_near_species(&q.rule, most, b.n_distinct),
			 over = 0;

		near = genus < near ? genus : near;
		for (uint32_t j = 0; j < b.n_lcas; j++)
			over += x.over[x.lcas[j]];
		least = near > over ? near - over : 1;
	}
	for (uint64_t i = threadIdx.x; i < size; i += THREADS) {
		if (x.bin[i] == 0 || x.hits[i] < least)
			continue;
		const uint32_t taxon =
			q.ix.bins.taxon[kh_bins_target(&q.ix.bins, x.bin[i] - 1)];
		if (atomicMax(&x.best[taxon], x.hits[i]) == 0)
			x.touched2[atomicAdd(&b.n_seg, 1)] = taxon;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < b.n_seg; i += THREADS) {
		uint32_t taxon = x.touched2[i];

		if (x.h[taxon] == 0)
			x.touched[atomicAdd(&b.n_touched, 1)] = taxon;
		x.h[taxon] += x.best[taxon];
		x.best[taxon] = 0;
	}
	__syncthreads();
}

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
	}
	__syncthreads();
}

/* Its segments from number s on; the one behind them. */
template <enum pass P>
__device__ uint32_t block_record(const kh_gpu_query &q, block_room &b,
				 const kh_gpu_scratch &x, const kh_gpu_record &r,
				 uint32_t s)
{
	const uint64_t span = q.rule.max_span, starts = starts_of(q.rule.sketch, r.len);
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

			if (only ? lca <= t && t < q.ix.tree.end[lca]
				 : kh_tree_related(&q.ix.tree, t, lca) != 0)
				h += x.over[lca];
		}
		x.h[t] = h;
	}
	__syncthreads();
	return only;
}

/* x.best of all taxa that have a feature which the best window lacks, or of all that have
 * one at all. */
__device__ void block_mark(const kh_gpu_query &q, const block_room &b,
			   const kh_gpu_scratch &x, bool all, uint32_t mark)
{
	const uint32_t *word = (const uint32_t *)q.ix.image;
	const uint32_t first = ~(uint32_t)b.best;

	for (uint32_t f = threadIdx.x / 32; f < b.n_last; f += THREADS / 32) {
		const uint32_t *loc = word + x.loc[f], n = x.n_loc[f];
		bool inside = false;

		for (uint32_t j = lane_id(); j < n; j += 32)
			inside |= loc[j] >= first && loc[j] - first < b.window;
		if (__any_sync(ALL, inside) && !all)
			continue;
		for (uint32_t j = lane_id(); j < n; j += 32)
			x.best[q.ix.bins.taxon[kh_bins_target(&q.ix.bins, loc[j])]] =
				mark;
	}
	__syncthreads();
}

/* Taxa of the list with h >= near; those below h1 only if marked. */
__device__ kh_extent block_near(block_room &b, const kh_gpu_scratch &x,
				const uint32_t *list, uint32_t n, uint32_t near,
				bool marked)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		b.lo = UINT32_MAX;
		b.hi = 0;
	}
	__syncthreads();
	for (uint32_t i = threadIdx.x; i < n; i += THREADS) {
		const uint32_t t = list[i];

		if (x.h[t] >= near && (!marked || x.h[t] == b.h1 || x.best[t])) {
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
	if (!kh_rule_enough(&q.rule, b.h1, b.features))
		return KH_TAXON_NONE;
	if (b.h1 >= kh_rule_minimum(&q.rule, b.features).species) {
		const uint32_t near = kh_rule_near_species(&q.rule, b.h1, b.features);
		uint32_t taxon = kh_rule_species(&q.ix.tree,
						 block_near(b, x, list, n, near, false));

		if (taxon == KH_TAXON_NONE && one && !only) {
			block_mark(q, b, x, false, 1);
			taxon = kh_rule_species(&q.ix.tree,
						block_near(b, x, list, n, near, true));
			block_mark(q, b, x, true, 0);
		}
		if (taxon != KH_TAXON_NONE)
			return taxon;
	}
	return kh_rule_genus(&q.ix.tree,
			     block_near(b, x, list, n, kh_rule_near_genus(b.h1), false));
}

template <enum pass P>
__device__ void block_fragment(const kh_gpu_query &q, block_room &b,
			       const kh_gpu_scratch &x, uint32_t i)
{
	const fragment f(q, i);
	const kh_sketch &sk = q.rule.sketch;

	if (threadIdx.x == 0) {
		b.n_key = b.n_distinct = b.n_found = b.total = b.n_seg = 0;
		b.n_touched = b.n_lcas = b.features = b.found = b.h1 = 0;
		b.best = 0;
		if (q.found) {
			uint32_t most = 0;

			for (int m = 0; m < 1 + f.mate; m++)
				most += (uint32_t)(kh_sketch_bound(&sk, f.r[m].len) +
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
	const bool only = block_over(q, b, x);
	uint32_t taxon = block_decide(q, b, x, only, f.one_segment(q.rule));

	if (only && taxon != KH_TAXON_NONE && q.ix.tree.species[taxon] != KH_TAXON_NONE)
		taxon = q.ix.tree.species[taxon];
	if (threadIdx.x == 0)
		q.call[i] = kh_call { taxon, b.features,
				      b.h1 < b.features ? b.h1 : b.features, b.found };
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
