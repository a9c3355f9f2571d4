/*
 * kraken2.cu - fragments by a database of Kraken 2: minimizers, look-ups, the decision
 *
 * A warp a fragment.  Its lanes take 32 l-mers in a row, and with each the k-mer that ends there:
 * what scan.c, lookup.c and decide.c in src/kraken2 do one after the other, they do side by side.
 * What a fragment may need more room for is left to the host.
 */
#include "cuda/kernels/kraken2.h"
#include "cuda/kernels/threads.cuh"

namespace {

constexpr unsigned WARPS = 8;           /* of a block */
constexpr unsigned HITS = 64;           /* taxa of a fragment */
constexpr unsigned RUNS = 96;           /* that wait to be written; more than two lots of 32 */

struct room {
	/* the l-mers of a k-mer but for its last one, then 32 more; UINT64_MAX: ambiguous */
	uint64_t candidate[KH_GPU_K2_WINDOW + 32];
	uint32_t hit[HITS], hits[HITS];
	kh_k2_run run[RUNS];
};

/* A fragment while it is worked on; the same in all lanes. */
struct fragment {
	uint32_t number;
	uint32_t n_hits, groups;
	uint32_t items;                 /* k-mers and borders so far */
	uint32_t last;                  /* what the last one was called */
	uint32_t n_runs;                /* that wait; their `n` is the number of the first item */
	uint32_t link;                  /* the last one written */
	bool left;
	/* of the sequence: the last k-mer that asked */
	uint64_t key;
	uint32_t taxon;
};

__device__ __forceinline__ unsigned last_of(unsigned lanes)
{
	return 31 - __clz(lanes);
}

__device__ uint32_t sum(uint32_t x)
{
	for (unsigned by = 16; by > 0; by /= 2)
		x += __shfl_xor_sync(ALL, x, by);
	return x;
}

__device__ uint32_t greatest(uint32_t x)
{
	for (unsigned by = 16; by > 0; by /= 2)
		x = max(x, __shfl_xor_sync(ALL, x, by));
	return x;
}

/* --- minimizers ------------------------------------------------------------------- */
/* The l-mer from base p of a record on, as it is compared; UINT64_MAX if it is ambiguous. */
__device__ uint64_t candidate_at(const kh_gpu_kraken2 &q, const kh_gpu_record &r, uint32_t p)
{
	const uint32_t word = r.word + (p >> 5), by = p & 31;
	const uint32_t amb = __funnelshift_r(q.amb[word], q.amb[word + 1], by);
	uint64_t x = q.bases[word] >> (2 * by), rc;

	if (amb & ((UINT32_C(1) << q.rule.l) - 1))
		return UINT64_MAX;
	if (by)
		x |= q.bases[word + 1] << (64 - 2 * by);
	x &= q.rule.mask;
	rc = ~x & q.rule.mask;          /* packed, the first base is the lowest: reversed */
	x = __brevll(x);
	x = (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555)) << 1;
	return kh_k2_candidate(&q.rule, x >> (64 - 2 * q.rule.l), rc);
}

/* Looks the key up, as kh_k2_find, in a table that may have shards. */
__device__ uint32_t look_up(const kh_gpu_kraken2 &q, uint64_t key)
{
	const uint64_t hash = kh_fmix64(key), key_part = hash >> (64 - q.rule.key_bits);
	uint64_t cell = kh_k2_cell(&q.rule, hash);

	if (hash < q.rule.least_hash)
		return KH_NO_TAXON;
	for (uint64_t left = q.rule.capacity; left > 0; left--) {
		const uint64_t n = q.n_shards > 1 ? cell / q.per_shard : 0;
		const kh_k2_content c = kh_k2_read(&q.rule, q.shard[n], cell - n * q.per_shard);

		if (c.value == 0)
			return KH_NO_TAXON;
		if (c.key == key_part)
			return c.value < q.rule.n_nodes ? q.taxon[c.value] : KH_NO_TAXON;
		cell = cell + 1 == q.rule.capacity ? 0 : cell + 1;
	}
	return KH_NO_TAXON;
}

/* --- hits and runs ---------------------------------------------------------------- */
__device__ void add_hits(room &m, fragment &f, uint32_t taxon, uint32_t n)
{
	const unsigned lane = lane_id();
	uint32_t at = HITS;

	for (unsigned from = 0; from < f.n_hits && at == HITS; from += 32) {
		const unsigned here = __ballot_sync(ALL, from + lane < f.n_hits &&
							 m.hit[from + lane] == taxon);

		if (here)
			at = from + last_of(here);
	}
	if (at == HITS && f.n_hits == HITS) {
		f.left = true;
		return;
	}
	const bool is_new = at == HITS;
	at = is_new ? f.n_hits++ : at;
	__syncwarp();                   /* all lanes have read */
	if (lane == 0) {
		m.hit[at] = taxon;
		m.hits[at] = (is_new ? 0 : m.hits[at]) + n;
	}
	__syncwarp();
}

/* The first of so many places of the output; UINT32_MAX: there are not so many. */
__device__ uint32_t take_places(const kh_gpu_kraken2 &q, uint32_t n)
{
	uint32_t at = 0;

	if (lane_id() == 0)
		at = atomicAdd(&q.counts[KH_GPU_K2_RUNS], n);
	at = __shfl_sync(ALL, at, 0);
	return at < q.cap_runs && q.cap_runs - at >= n ? at : UINT32_MAX;
}

/* Writes the runs that wait, of which the last ends before item `end`: behind a link, unless these
 * are all runs of the fragment. */
__device__ void write_runs(const kh_gpu_kraken2 &q, room &m, fragment &f, uint32_t end, bool all)
{
	const unsigned lane = lane_id();
	const bool link = !all || f.link != KH_GPU_K2_NONE;
	const uint32_t at = take_places(q, f.n_runs + link), n = f.n_runs;

	f.n_runs = 0;
	f.left |= at == UINT32_MAX;
	if (f.left)
		return;
	__syncwarp();
	for (unsigned i = lane; i < n; i += 32) {
		kh_k2_run run = m.run[i];

		run.n = (i + 1 < n ? m.run[i + 1].n : end) - run.n;
		q.run[at + link + i] = run;
	}
	if (lane == 0 && link) {
		q.run[at].what = KH_GPU_K2_NONE;
		q.run[at].n = n;
		if (f.link != KH_GPU_K2_NONE)
			q.run[f.link].what = at;
	}
	if (lane == 0 && f.link == KH_GPU_K2_NONE) {
		q.list[f.number].from = at;
		q.list[f.number].n = link ? KH_GPU_K2_LINKED : n;
	}
	f.link = at;
	__syncwarp();
}

/* Adds the items of the lanes `are`, which are neighbours: each is called `code`. */
__device__ void add_items(const kh_gpu_kraken2 &q, room &m, fragment &f, unsigned are,
			  uint32_t code)
{
	const unsigned lane = lane_id(), first = __ffs(are) - 1;
	const bool is = are >> lane & 1;
	uint32_t before = __shfl_up_sync(ALL, code, 1);

	if (lane == first)
		before = f.last;
	const bool starts = is && code != before;
	const unsigned all = __ballot_sync(ALL, starts);
	if (q.run) {
		if (f.n_runs + __popc(all) > RUNS)
			write_runs(q, m, f, f.items + (__ffs(all) - 1 - first), false);
		if (starts) {
			kh_k2_run &run = m.run[f.n_runs + __popc(all & lanes_below())];

			run.what = code;
			run.n = f.items + (lane - first);
		}
		f.n_runs += __popc(all);
	}
	f.items += __popc(are);
	f.last = __shfl_sync(ALL, code, last_of(are));
}

/* --- a sequence ------------------------------------------------------------------- */
/* Of 32 k-mers, those `is_kmer`: asks for the minimizers that are new, and counts. */
__device__ void ask(const kh_gpu_kraken2 &q, room &m, fragment &f, bool is_kmer, bool certain,
		    uint64_t least)
{
	const unsigned self = 1u << lane_id(), sure = __ballot_sync(ALL, certain);
	const unsigned below = sure & lanes_below();
	uint64_t before = __shfl_sync(ALL, least, below ? last_of(below) : 0);

	if (!below)
		before = f.key;
	const bool is_new = certain && least != before;
	const unsigned asked = __ballot_sync(ALL, is_new);
	const uint32_t found = is_new ? look_up(q, kh_k2_key(&q.rule, least)) : KH_NO_TAXON;
	const unsigned upto = asked & (lanes_below() | self);
	uint32_t taxon = __shfl_sync(ALL, found, upto ? last_of(upto) : 0);

	if (!upto)
		taxon = f.taxon;
	f.groups += __popc(__ballot_sync(ALL, is_new && found != KH_NO_TAXON));
	if (sure) {
		f.key = __shfl_sync(ALL, least, last_of(sure));
		f.taxon = __shfl_sync(ALL, taxon, last_of(sure));
	}
	const uint32_t code = certain ? taxon : KH_K2_AMBIGUOUS;
	const unsigned kmers = __ballot_sync(ALL, is_kmer);
	const bool hit = is_kmer && code < KH_K2_CODES;
	for (unsigned left = __ballot_sync(ALL, hit); left;) {
		const uint32_t of = __shfl_sync(ALL, code, last_of(left));
		const unsigned same = __ballot_sync(ALL, hit && code == of);

		add_hits(m, f, of, __popc(same));
		left &= ~same;
	}
	if (kmers)
		add_items(q, m, f, kmers, code);
}

__device__ void sequence(const kh_gpu_kraken2 &q, room &m, fragment &f, const kh_gpu_record &r)
{
	const unsigned lane = lane_id(), more = kh_k2_window(&q.rule) - 1;

	f.key = UINT64_MAX;
	f.taxon = KH_NO_TAXON;
	if (r.len < q.rule.k)
		return;
	for (unsigned i = lane; i < more; i += 32)
		m.candidate[i] = UINT64_MAX;
	const uint32_t lmers = r.len - q.rule.l + 1;
	for (uint32_t from = 0; from < lmers; from += 32) {
		const uint32_t at = from + lane;
		const bool is_kmer = at < lmers && at >= more;
		uint64_t least = UINT64_MAX;
		bool certain = is_kmer;

		__syncwarp();
		m.candidate[more + lane] = at < lmers ? candidate_at(q, r, at) : UINT64_MAX;
		__syncwarp();
		for (unsigned i = 0; i <= more; i++) {
			const uint64_t x = m.candidate[lane + i];

			least = min(least, x);
			/* the first of them may be ambiguous */
			certain = certain && (x != UINT64_MAX || (i == 0 && more > 0));
		}
		for (unsigned i = lane; i - lane < more; i += 32) {
			const uint64_t x = m.candidate[i + 32];

			__syncwarp();
			if (i < more)
				m.candidate[i] = x;
		}
		ask(q, m, f, is_kmer, certain, least);
	}
}

/* --- the decision ----------------------------------------------------------------- */
/* Hits in [from, to) of the preorder. */
__device__ uint32_t hits_in(const room &m, const fragment &f, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (unsigned i = lane_id(); i < f.n_hits; i += 32)
		n += m.hit[i] >= from && m.hit[i] < to ? m.hits[i] : 0;
	return sum(n);
}

/* The score of hit i: what lies on its way to the root. */
__device__ uint32_t score_of(const kh_tree &t, const room &m, const fragment &f, unsigned i)
{
	uint32_t score = 0;

	for (unsigned j = 0; j < f.n_hits; j++)
		if (i < f.n_hits && kh_tree_within(&t, m.hit[j], m.hit[i]))
			score += m.hits[j];
	return score;
}

/* The lowest common ancestor of the taxa with the best score. */
__device__ uint32_t best(const kh_tree &t, const room &m, const fragment &f, uint32_t *score)
{
	const unsigned lane = lane_id();
	uint32_t own[HITS / 32], most = 0, lo = UINT32_MAX, hi = 0;

	for (unsigned i = 0; i < HITS / 32; i++) {
		own[i] = 32 * i < f.n_hits ? score_of(t, m, f, 32 * i + lane) : 0;
		most = max(most, own[i]);
	}
	most = greatest(most);
	for (unsigned i = 0; i < HITS / 32; i++)
		if (own[i] == most && 32 * i + lane < f.n_hits) {
			lo = min(lo, m.hit[32 * i + lane]);
			hi = max(hi, m.hit[32 * i + lane]);
		}
	*score = most;
	return kh_tree_lca(&t, ~greatest(~lo), greatest(hi));
}

__device__ kh_call decide(const kh_gpu_kraken2 &q, const room &m, const fragment &f, uint32_t kmers)
{
	const uint32_t required = kh_k2_required(&q.rule, kmers);
	kh_call c;

	c.taxon = KH_NO_TAXON;
	c.kmers = kmers;
	c.hits = 0;
	c.found = f.groups;
	if (f.n_hits > 0)
		c.taxon = best(q.tree, m, f, &c.hits);
	if (c.taxon != KH_NO_TAXON && required > 0 &&
	    hits_in(m, f, c.taxon, c.taxon + 1) < required)
		while (c.taxon != KH_NO_TAXON &&
		       hits_in(m, f, c.taxon, q.tree.end[c.taxon]) < required)
			c.taxon = c.taxon == 0 ? KH_NO_TAXON : q.tree.parent[c.taxon];
	if (f.groups < q.rule.min_groups)
		c.taxon = KH_NO_TAXON;
	return c;
}

__global__ void __launch_bounds__(32 * WARPS) kraken2_kernel(const kh_gpu_kraken2 q)
{
	__shared__ room rooms[WARPS];
	room &m = rooms[threadIdx.x / 32];
	const uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32;

	if (i >= q.n)
		return;
	const kh_gpu_record *record = q.record + q.order.step * i;
	const bool pair = q.order.mate > 0;
	fragment f = {};

	f.number = i;
	f.last = KH_K2_FRAMES;          /* which there are none of */
	f.link = KH_GPU_K2_NONE;
	sequence(q, m, f, record[0]);
	if (pair) {
		add_items(q, m, f, 1, KH_K2_MATES);
		sequence(q, m, f, record[q.order.mate]);
	}
	const bool links = f.link != KH_GPU_K2_NONE;
	if (q.run)
		write_runs(q, m, f, f.items, true);
	__syncwarp();
	kh_call c = decide(q, m, f, f.items - (pair ? 1 : 0));
	if (f.left)
		c.taxon = KH_GPU_K2_LEFT;
	if (lane_id() == 0) {
		q.call[i] = c;
		if (f.left || links)
			atomicAdd(&q.counts[KH_GPU_K2_ODD], 1);
	}
}

} /* namespace */

int kh_gpu_kraken2_run(const kh_gpu_kraken2 *q, void *stream)
{
	if (q->n > 0)
		kraken2_kernel<<<(q->n + WARPS - 1) / WARPS, 32 * WARPS, 0,
				 (cudaStream_t)stream>>>(*q);
	return (int)cudaGetLastError();
}
