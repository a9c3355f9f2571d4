/*
 * decide.cu - fragments to calls
 *
 * Two kernels that give what kh_classify_job gives.  In the first a warp takes a fragment
 * that is one segment: its features, their lists and a table bin -> matches stay in
 * shared memory.  What does not fit there, and what is more than one segment, is left to
 * the second: a block of threads a fragment, with room in device memory that always
 * suffices, and counts by taxon that are summed over segments.
 *
 * Hits of a window are looked up in the table bin by bin instead of by sorting.  For one
 * segment no table by taxon is needed: the greatest h of a taxon is that of its best
 * window, and what is added for overpopulated features depends on the taxon alone.
 */
#include "device.cuh"

namespace {

/* --- both --------------------------------------------------------------------------- */
struct fragment {
	kh_gpu_record r[2];
	bool mate;

	__device__ fragment(const kh_gpu_query &q, uint32_t i)
	{
		mate = q.mates != 0;
		r[0] = q.record[q.mates == UINT32_MAX ? 2 * i : i];
		r[1] = mate ? q.record[q.mates == UINT32_MAX ? 2 * i + 1 : q.mates + i]
			    : kh_gpu_record { 0, 0 };
	}

	__device__ bool one_segment(const kh_rule &rule) const
	{
		return (uint64_t)r[0].len + r[1].len <= rule.max_span;
	}
};

__device__ uint64_t starts_of(const kh_sketch &sk, uint64_t len)
{
	return len < sk.k ? 0 : len - sk.k + 1;
}

__device__ uint32_t warp_max(uint32_t x) { return __reduce_max_sync(ALL, x); }
__device__ uint32_t warp_least(uint32_t x) { return __reduce_min_sync(ALL, x); }

/* --- a warp a fragment -------------------------------------------------------------- */
constexpr unsigned WARPS = 4;           /* of a block */
constexpr unsigned FEATURES = 128;
constexpr unsigned TABLE = 512;
constexpr unsigned EACH = TABLE / 32;   /* places of a lane */
static_assert(FEATURES <= TABLE, "overpopulated features are candidates too");

struct warp_room {
	uint64_t key[FEATURES];
	uint64_t loc[FEATURES];
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

/* What a lane has of the candidates: windows, or overpopulated features. */
struct candidates {
	uint32_t h[EACH], taxon[EACH];
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
	const kh_sketch &sk = q.rule.sketch;
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

/* Lists of the features: before[], loc[], over[]; locations in all. */
__device__ uint32_t find_lists(const kh_gpu_query &q, warp_room &w, unsigned n)
{
	const unsigned lane = lane_id();
	uint32_t sum = 0;

	if (lane == 0)
		w.n_over = w.n_found = 0;
	__syncwarp();
	for (unsigned i = lane / 4; i < n; i += 8) {
		kh_list l = quad_find(q.ix, w.key[i]);

		if ((lane & 3) == 0) {
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

/* Matches by bin.  *bits: log2 of the table's size. False: too many bins. */
__device__ bool count_bins(const kh_gpu_query &q, warp_room &w, unsigned n,
			   uint32_t total, unsigned *bits)
{
	const uint32_t *word = (const uint32_t *)q.ix.image;
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
			unsigned lo = 0, hi = n; /* the last feature with before <= i */

			while (hi - lo > 1) {
				unsigned mid = (lo + hi) / 2;

				if (w.before[mid] <= i)
					lo = mid;
				else
					hi = mid;
			}
			uint32_t bin = __ldg(word + w.loc[lo] + (i - w.before[lo]));
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
	const uint32_t *word = (const uint32_t *)q.ix.image;

	for (uint32_t i = lane_id(); i < total; i += 32) {
		unsigned lo = 0, hi = n;        /* the last feature with before <= i */

		while (hi - lo > 1) {
			unsigned mid = (lo + hi) / 2;

			if (w.before[mid] <= i)
				lo = mid;
			else
				hi = mid;
		}
		fn(lo, __ldg(word + w.loc[lo] + (i - w.before[lo])));
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

/* False: left to the other kernel. */
__device__ bool one_fragment(const kh_gpu_query &q, warp_room &w, uint32_t i)
{
	const fragment f(q, i);
	collector col = { w, 0 };
	best_window best = { 0, 0 };
	unsigned bits = 0;
	candidates c;

	if (q.blocks_only || !f.one_segment(q.rule))
		return false;
	sample_record(q, f.r[0], col);
	if (f.mate && col.n <= FEATURES)
		sample_record(q, f.r[1], col);
	if (col.n > FEATURES)
		return false;
	const unsigned n = distinct(w, col.n);
	const uint32_t total = find_lists(q, w, n);
	const bool over = total == 0;

	if (over) {
		over_only(q, w, c);
	} else {
		if (!count_bins(q, w, n, total, &bits))
			return false;
		best = windows(q, w, n, f.mate ? q.rule.max_span : f.r[0].len, bits, c);
	}
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

__global__ void __launch_bounds__(32 * WARPS) warp_kernel(kh_gpu_query q)
{
	__shared__ warp_room room[WARPS];
	const uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32;

	if (i < q.n && !one_fragment(q, room[threadIdx.x / 32], i) && lane_id() == 0)
		q.left[atomicAdd(&q.counts[0], 1)] = i;
}

/* --- a block a fragment ------------------------------------------------------------- */
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

/* loc, n_loc (0: not found or overpopulated), counts of LCAs. */
__device__ void block_find(const kh_gpu_query &q, block_room &b, const kh_gpu_scratch &x)
{
	for (uint32_t i = threadIdx.x / 4; i < b.n_distinct; i += THREADS / 4) {
		kh_list l = quad_find(q.ix, x.key2[i]);

		if ((threadIdx.x & 3) != 0)
			continue;
		x.loc[i] = l.loc;
		x.n_loc[i] = l.over ? 0 : l.n;
		if (l.n == 0)
			continue;
		uint32_t at = atomicAdd(&b.n_found, 1);
		if (q.found)
			q.found[b.found_at + b.found + at] = x.key2[i];
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

/* The segment whose features have been sampled, by all threads. */
__device__ void block_segment(const kh_gpu_query &q, block_room &b,
			      const kh_gpu_scratch &x, uint64_t span, bool one)
{
	__syncthreads();
	block_distinct(b, x);
	block_find(q, b, x);
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

__device__ void block_record(const kh_gpu_query &q, block_room &b,
			     const kh_gpu_scratch &x, const kh_gpu_record &r)
{
	const uint64_t span = q.rule.max_span, starts = starts_of(q.rule.sketch, r.len);
	const uint64_t first = (uint64_t)r.word * 32;

	for (uint64_t at = 0; at < r.len; at += span) {
		block_sample(q, b, x, first + at,
			     first + (at + span < starts ? at + span : starts));
		block_segment(q, b, x, r.len < span ? r.len : span, false);
	}
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
		for (int m = 0; m < 1 + f.mate; m++) {
			const uint64_t from = (uint64_t)f.r[m].word * 32;

			block_sample(q, b, x, from, from + starts_of(sk, f.r[m].len));
			__syncthreads();
		}
		block_segment(q, b, x, f.mate ? q.rule.max_span : f.r[0].len, true);
	} else {
		for (int m = 0; m < 1 + f.mate; m++)
			block_record(q, b, x, f.r[m]);
	}
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
		block_fragment(q, b, x, q.left[b.item]);
	}
}

} /* namespace */

extern "C" int kh_gpu_query_run(const kh_gpu_query *q, cudaStream_t stream)
{
	if (q->n == 0)
		return cudaSuccess;
	warp_kernel<<<(q->n + WARPS - 1) / WARPS, 32 * WARPS, 0, stream>>>(*q);
	cudaError_t e = cudaGetLastError();
	if (e != cudaSuccess)
		return e;
	block_kernel<<<q->n_scratch, THREADS, 0, stream>>>(*q);
	return cudaGetLastError();
}
