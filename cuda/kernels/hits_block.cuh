/*
 * hits_block.cuh - by a block of threads, in device memory: from the features of a segment to the
 * best windows of its taxa
 */
#ifndef KH_CUDA_KERNELS_HITS_BLOCK_CUH
#define KH_CUDA_KERNELS_HITS_BLOCK_CUH

#include "cuda/kernels/classify.cuh"

namespace {

struct block_room {
	uint32_t order[THREADS / 32][SMER_ROOM];
	uint64_t orders[THREADS / 32][128];     /* of a minhash window */
	uint32_t item;
	uint32_t n_key, n_distinct;     /* of the segment */
	uint32_t n_found, total;
	uint32_t n_seg, n_touched, n_lcas, n_voted;
	uint32_t features, found, found_at;
	uint32_t *n_given;              /* how many features found have been written from there on;
					 * NULL: they are not wanted, or have been */
	uint32_t h1, lo, hi;
	uint32_t most_hits, most_votes; /* of a window, of a species, in the segment */
	unsigned long long best;        /* the greatest score above, and below the complement of
					 * the lowest bin that has it; of a slice the greatest
					 * number of hits */
	uint32_t n_last, window;        /* of the last segment: features, bins of a window */
	uint32_t given;
	bool room;
};

/* One thread sets all to nothing known yet. */
__device__ void block_begin(block_room &b)
{
	b.n_key = b.n_distinct = b.n_found = b.total = b.n_seg = 0;
	b.n_touched = b.n_lcas = b.n_voted = b.features = b.found = b.given = b.h1 = 0;
	b.most_hits = b.most_votes = 0;
	b.best = 0;
	b.n_given = NULL;
}

/* Appends the features of [from, to) of a packed sequence to key, which has n_key. */
__device__ void block_sample(const kh_gpu_query &q, block_room &b,
			     const kh_gpu_scratch &x, uint64_t from, uint64_t to)
{
	const kh_sampling &rule = q.rule.sampling;
	const unsigned warp = threadIdx.x / 32, warps = THREADS / 32;

	if (rule.scheme == KH_SYNCMER) {
		const uint64_t skip = (uint64_t)warp * SMER_TILE;

		if (from + skip >= to)
			return;
		warp_syncmers(rule, q, from + skip, to, warps, b.order[warp],
			      [&](bool keep, uint64_t at) {
				      uint64_t key;

				      if (keep && key_at(q, at, &key))
					      x.key[atomicAdd(&b.n_key, 1)] = key;
			      });
		return;
	}
	for (uint64_t at = from + (uint64_t)warp * rule.stride; at < to;
	     at += (uint64_t)warps * rule.stride) {
		uint64_t end = to - at < rule.stride ? to : at + rule.stride;

		warp_minhash(rule, q.bases, q.amb, at, end, b.orders[warp], 128,
			     [&](unsigned, uint64_t key) {
				     x.key[atomicAdd(&b.n_key, 1)] = key;
			     });
	}
}

/* Copies one of equal features to key2. */
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

/* Copies distinct features that were sampled in the first pass to key2. */
__device__ void block_given(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			    const kh_gpu_segment &s)
{
	if (threadIdx.x == 0)
		b.n_distinct = s.n;
	for (uint32_t i = threadIdx.x; i < s.n; i += THREADS)
		x.key2[i] = q.key[s.at + i];
	__syncthreads();
}

/* Writes the distinct features of segment s, for their lists to be fetched. */
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
}

/* Finds the lists of the features: fills loc and n_loc (0: not found or overpopulated) and counts
 * LCAs. With KH_GPU_LISTS the lists are those in q.list from `at` on. */
template <enum kh_gpu_pass P>
__device__ void block_find(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint32_t at)
{
	constexpr unsigned SHARE = P == KH_GPU_LISTS ? 1 : 4;

	for (uint32_t i = threadIdx.x / SHARE; i < b.n_distinct; i += THREADS / SHARE) {
		const kh_list l = P == KH_GPU_LISTS ? q.list[at + i]
						   : quad_find(q.ix, x.key2[i]);

		if (threadIdx.x % SHARE != 0)
			continue;
		x.loc[i] = l.bit;
		x.n_loc[i] = l.over ? 0 : l.n;
		if (l.n == 0)
			continue;
		atomicAdd(&b.n_found, 1);
		if (b.n_given)
			q.found[b.found_at + atomicAdd(b.n_given, 1)] = x.key2[i];
		if (!l.over) {
			atomicAdd(&b.total, l.n);
			continue;
		}
		uint32_t lca = kh_word(q.ix.image, l.bit, q.ix.bits);
		if (atomicAdd(&x.over[lca], 1) == 0)
			x.lcas[atomicAdd(&b.n_lcas, 1)] = lca;
	}
	__syncthreads();
}

/* Places of the table of bins for so many locations. */
__device__ uint64_t table_size(uint32_t total)
{
	uint64_t size = 64;

	while (size < 2 * (uint64_t)total)
		size *= 2;
	return size;
}

/* Word j of the list of feature f. */
__device__ uint32_t block_word(const kh_gpu_query &q, const kh_gpu_scratch &x, uint32_t f,
			       uint32_t j)
{
	return kh_word(q.ix.image, x.loc[f] + (uint64_t)j * q.ix.bits, q.ix.bits);
}

__device__ void block_count(const kh_gpu_query &q, const block_room &b,
			    const kh_gpu_scratch &x, uint64_t size)
{
	const uint64_t mask = size - 1;

	for (uint64_t i = threadIdx.x; i < size; i += THREADS)
		x.bin[i] = x.count[i] = 0;
	__syncthreads();
	for (uint32_t f = threadIdx.x / 32; f < b.n_distinct; f += THREADS / 32)
		for (uint32_t j = lane_id(); j < x.n_loc[f]; j += 32) {
			uint32_t bin = block_word(q, x, f, j);
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

/* Adds the votes of a species in the segment to those in the fragment. */
__device__ void block_vote(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint32_t bin, uint32_t votes)
{
	const uint32_t species = q.ix.bins.taxon[target_of(q.ix, bin)];

	if (x.votes[species] == 0)
		x.voted[atomicAdd(&b.n_voted, 1)] = species;
	x.votes[species] += votes;      /* one bin, so one thread, a species */
}

/* Counts the hits of each window and the votes of each species, and finds the most of each. */
__device__ void block_hits(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x,
			   uint64_t size, uint32_t r)
{
	const uint32_t n = b.n_distinct;
	uint32_t most_hits = 0, most_votes = 0;

	for (uint64_t i = threadIdx.x; i < size; i += THREADS) {
		if (x.bin[i] == 0)
			continue;
		const uint32_t bin = x.bin[i] - 1;
		uint32_t hits = x.count[i];

		if (bin >= q.ix.bins.votes) {
			x.hits[i] = hits;
			most_votes = hits > most_votes ? hits : most_votes;
			block_vote(q, b, x, bin, hits);
			continue;
		}
		for (uint32_t d = 1; d < r && d < UINT32_MAX - bin && hits < n; d++)
			hits += block_count_of(x, bin + d, size - 1);
		hits = hits < n ? hits : n;
		x.hits[i] = hits;
		most_hits = hits > most_hits ? hits : most_hits;
	}
	atomicMax(&b.most_hits, most_hits);
	atomicMax(&b.most_votes, most_votes);
	__syncthreads();
}

/* For a fragment of one segment: windows with fewer hits cannot matter. */
__device__ uint32_t block_least(const kh_gpu_query &q, const block_room &b,
				const kh_gpu_scratch &x)
{
	kh_hits_most most = { b.most_hits, b.most_votes, 0 };

	for (uint32_t j = 0; j < b.n_lcas; j++)
		most.over += x.over[x.lcas[j]];
	return kh_rule_least(&q.rule, most, b.n_distinct);
}

/* Finds the best window of each taxon and adds it to its h; and the best of all windows and
 * votes. */
__device__ void block_windows(const kh_gpu_query &q, block_room &b,
			      const kh_gpu_scratch &x, uint64_t size, uint64_t span,
			      bool one)
{
	const kh_bins &bins = q.ix.bins;
	unsigned long long best = 0;

	block_hits(q, b, x, size, kh_rule_window(&q.rule, span));
	const uint32_t least = one ? block_least(q, b, x) : 1;
	for (uint64_t i = threadIdx.x; i < size; i += THREADS) {
		if (x.bin[i] == 0 || x.hits[i] < least)
			continue;
		const uint32_t bin = x.bin[i] - 1;
		uint32_t score = x.hits[i];

		if (bin < bins.votes) {
			const uint32_t t = target_of(q.ix, bin), taxon = bins.taxon[t];

			if (one && b.most_votes)
				score += block_count_of(x, kh_bins_vote(&bins, t), size - 1);
			if (atomicMax(&x.best[taxon], x.hits[i]) == 0)
				x.touched2[atomicAdd(&b.n_seg, 1)] = taxon;
		} else if (!one) {
			continue;
		}
		const unsigned long long mine = (unsigned long long)score << 32 | (uint32_t)~bin;

		best = mine > best ? mine : best;
	}
	atomicMax(&b.best, best);
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

/* Counts segment s of `span` bases, whose features have been sampled, with all threads.  `one`:
 * it is all of its fragment. */
template <enum kh_gpu_pass P>
__device__ void block_segment(const kh_gpu_query &q, block_room &b,
			      const kh_gpu_scratch &x, uint32_t s, uint64_t span,
			      bool one)
{
	__syncthreads();
	if (P == KH_GPU_LISTS)
		block_given(q, b, x, q.segment[s]);
	else
		block_distinct(b, x);
	if (P == KH_GPU_FEATURES) {
		block_give(q, b, x, s);
		return;
	}
	block_find<P>(q, b, x, P == KH_GPU_LISTS ? q.segment[s].at : 0);
	const uint32_t total = b.total;
	if (total > 0) {
		uint64_t size = table_size(total);

		block_count(q, b, x, size);
		block_windows(q, b, x, size, span, one);
	}
	if (threadIdx.x == 0) {
		b.features += b.n_distinct;
		b.found += b.n_found;
		b.n_last = b.n_distinct;
		b.window = kh_rule_window(&q.rule, span);
		b.n_key = b.n_distinct = b.n_found = b.n_seg = 0;
		b.most_hits = b.most_votes = 0;
		if (total > 0)          /* otherwise the others may read it still */
			b.total = 0;
	}
	__syncthreads();
}

} /* namespace */

#endif
