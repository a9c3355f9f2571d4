/*
 * match_warp.cuh - a fragment, or a part of a long one, compared by a warp
 *
 * The same as match_ask.c, match_region.h and match_score.h do on the CPU.  The lanes share what
 * there is much of: words of a mate, seeds, anchors, regions, bases of a bin, columns aside,
 * k-mers that are counted.  What is one after the other is done by the first lane, with the
 * functions of src/classify; and what only reads and gives a number, by all lanes alike.  All
 * lies in memory that the warp shares, as a thread would need kilobytes of local memory; and
 * threads that do so much, each its own way, take 1.6 ms.  The code has to fit into the caches of
 * a multiprocessor, as each of its warps is somewhere else in it: so what is called in several
 * places is no copy in each, and loops are not unrolled (KH_ROLLED).
 */
#ifndef KH_CUDA_KERNELS_MATCH_WARP_CUH
#define KH_CUDA_KERNELS_MATCH_WARP_CUH

#include "cuda/kernels/match_places.cuh"

namespace {

/* --- claims --------------------------------------------------------------------------- */
/* As kh_places_sort: a lane finds where its place belongs. */
__device__ void sort_places(kh_matching *m)
{
	const uint32_t n = m->n_place, i = lane_id();
	kh_place mine;
	uint32_t rank = 0;

	if (n < 2)
		return;
	if (i < n)
		mine = m->place[i];
	KH_ROLLED
	for (uint32_t k = 0; k < n && i < n; k++) {
		const uint64_t number = m->place[k].number;

		rank += number < mine.number || (number == mine.number && k < i);
	}
	__syncwarp();
	if (i < n)
		m->place[rank] = mine;
	__syncwarp();
}

/* Makes claims of the n places, which are of one mate: each lane has one, and that which is the
 * best of its species makes the claim.  Claims are in the order of their species' first places. */
__device__ void claim_each(kh_matching *m, uint32_t n)
{
	const uint32_t i = lane_id();
	kh_claim x = kh_claim_none(UINT32_MAX);
	uint32_t first = UINT32_MAX;
	bool best = i < n;

	if (i < n)
		x = kh_claim_of_place(m, i);
	KH_ROLLED
	for (uint32_t k = 0; k < n; k++) {
		kh_claim y = x;

		y.species_no = __shfl_sync(ALL, x.species_no, (int)k);
		y.score = __shfl_sync(ALL, x.score, (int)k);
		y.matches = __shfl_sync(ALL, x.matches, (int)k);
		y.columns = __shfl_sync(ALL, x.columns, (int)k);
		if (y.species_no != x.species_no)
			continue;
		first = k < first ? k : first;
		best = best && !kh_claim_better(&y, &x) && (k >= i || kh_claim_better(&x, &y));
	}
	const unsigned firsts = __ballot_sync(ALL, first == i);

	if (best) {
		const uint32_t at = kh_count_bits(firsts & ((1u << first) - 1));

		m->here.v[at] = x;
		m->here.alone[at].best[0] = x.mates & 1 ? i + 1 : 0;
		m->here.alone[at].best[1] = x.mates & 1 ? 0 : i + 1;
	}
	if (i == 0)
		m->here.n = kh_count_bits(firsts);
	__syncwarp();
}

/* As kh_match_claims. */
__device__ __noinline__ void make_claims(kh_matching *m)
{
	__syncwarp();
	if (lane_id() == 0)
		kh_claims_forget(&m->here);
	sort_places(m);
	__syncwarp();
	const uint32_t n = m->n_place, second = kh_places_second(m);

	/* places of both mates may have a part in a claim */
	if (second == n || second == 0) {
		claim_each(m, n);
		return;
	}
	const uint32_t species_no = lane_id() < n ? kh_claim_of_place(m, lane_id()).species_no : 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t x = __shfl_sync(ALL, species_no, (int)i);

		if (lane_id() == 0)
			kh_claims_add(m, kh_claims_of(&m->here, x), i, second);
	}
	if (lane_id() == 0)
		kh_claim_apart(m);
	__syncwarp();
}

/* As kh_match_compare. */
__device__ void compare_mates(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const uint32_t slack = kh_match_slack(m->db, &w->j.s);
	const kh_found *f = m->found;
	const uint32_t lone = kh_region_lone_loss(m->db, &w->j.s, f[0].n_regions, f[1].n_regions);
	bool more = false;

	KH_ROLLED
	for (uint32_t i = 0; i < 2; i++) {
		if (f[i].n_regions > 0)
			compare_best(w, i, slack);
		if (f[i].crowd && kh_segment_has_more(&w->j.s))
			return;
	}
	make_claims(m);
	if (m->here.n == 0 || ((f[0].best == 0 || f[1].best == 0) && lone == 0))
		return;
	const int64_t score = (int64_t)kh_match_best(&m->here)->score - slack;
	const int64_t from[2] = { score - kh_match_others(f[1].best, lone),
				  score - kh_match_others(f[0].best, lone) };

	KH_ROLLED
	for (uint32_t i = 0; i < 2; i++)
		more |= !f[i].crowd && compare_from(w, i, from[i], slack);
	if (more)
		make_claims(m);
}

/* As kh_text_nearest. */
__device__ uint64_t nearest(const kh_laid *l, uint64_t from, uint64_t to, uint32_t *differ)
{
	uint32_t least = UINT32_MAX, where = UINT32_MAX;

	for (uint64_t i = from + lane_id(); i <= to; i += 32) {
		const uint32_t d = kh_text_begins(l, i);

		if (d < least) {
			least = d;
			where = (uint32_t)(i - from);
		}
	}
	*differ = __reduce_min_sync(ALL, least);
	return from + __reduce_min_sync(ALL, least == *differ ? where : UINT32_MAX);
}

/* As kh_match_rescue. */
__device__ void rescue(warp_match *w, uint32_t place, uint32_t beside)
{
	kh_matching *m = &w->x.m;
	const kh_place *a = &m->place[place];
	const uint32_t mate = !kh_place_mate(a), strand = !kh_place_strand(a);
	const uint32_t len = w->j.s.mate[mate].len;
	kh_place b = { kh_place_number(mate, strand, kh_place_at(a)), a->target,
		       { 0, 0, 0, 0, 0 }, { 0, 0, 0 } };
	const kh_laid l = kh_place_laid(m, &w->j.s, &b);
	int64_t from, to, found;
	uint32_t differ;

	if (!kh_rescue_range(m, &w->j.s, a, &from, &to))
		return;
	found = (int64_t)nearest(&l, (uint64_t)from, (uint64_t)to, &differ);
	if (2 * differ > (len < 64 ? len : 64))
		return;
	kh_alignment fit = fit_together(&l, found, 0, len);
	if (fit.score < KH_RESCUE_FIT)
		return;
	fit_ends(&l, found, false, &fit, NULL);
	b.fit = fit;
	b.number = kh_place_number(mate, strand, found);
	__syncwarp();
	if (lane_id() == 0)
		kh_match_rescued(m, place, beside, &b);
	__syncwarp();
}

/* As kh_match_rescue_mate. */
__device__ void rescue_mate(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const kh_claim *best = kh_match_best(&m->here);
	uint32_t p = UINT32_MAX;

	if (!best || best->mates == 3)
		return;
	const int32_t near = best->score - KH_RESCUE_NEAR;

	KH_ROLLED
	for (uint32_t i = 0; i < KH_RESCUE_MOST; i++) {
		p = kh_places_next_best(m, p);
		if (p == UINT32_MAX || m->place[p].fit.score < KH_RESCUE_SCORE ||
		    (int32_t)m->place[p].fit.score < near)
			break;
		if (w->j.s.mate[!kh_place_mate(&m->place[p])].len >= KH_RESCUE_LEN)
			rescue(w, p, m->n_place + i);
	}
}

/* --- a part of a long read ------------------------------------------------------------ */
/* As kh_chain_of, of a part: that which was kept of the best place, if it is of this one. */
__device__ const kh_chain *find_chain(warp_match *w, const kh_laid *l, const kh_place *p)
{
	if (p->number != w->number || p->target != w->target) {
		kh_alignment fit = fit_together(l, kh_place_at(p), 0, l->len);

		fit_ends(l, kh_place_at(p), true, &fit, &w->chain[w->best]);
	}
	__syncwarp();
	return &w->chain[w->best];
}

/* As kh_match_along: a lane has a species. */
__device__ void compare_along(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const kh_claim *best = kh_match_best(&m->here);
	const uint32_t i = lane_id();

	if (!best || m->here.n < 2)
		return;
	const kh_claim b = *best;
	const kh_place *at = &m->place[b.place[0]];
	const kh_laid l = kh_place_laid(m, &w->j.s, at);

	const kh_chain *chain = find_chain(w, &l, at);

	if (i < m->here.n)
		kh_chain_raise(m, &w->j.s, chain, &b, i);
	__syncwarp();
}

/* --- k-mers that are counted ---------------------------------------------------------- */
/* As kh_place_hits: a lane has a word of the bases that differ, and looks at some k-mers. */
__device__ uint32_t hits_of(warp_match *w, uint32_t place)
{
	const kh_matching *m = &w->x.m;
	const kh_place p = m->place[place];
	const uint32_t mate = kh_place_mate(&p), len = w->j.s.mate[mate].len, k = KH_TEXT_KMER;
	const uint32_t kmers = len < k ? 0 : (len - k) / KH_TEXT_STEP + 1, lane = lane_id();
	const bool back = kh_place_strand(&p) != 0;
	const kh_laid l = kh_place_laid(m, &w->j.s, &p);
	uint32_t n = 0, had = 0;

	__syncwarp();
	if (lane == 0)
		n = kh_place_diagonals(m, place, w->at);
	n = __shfl_sync(ALL, n, 0);
	__syncwarp();
	KH_ROLLED
	for (uint32_t d = 0; d < n; d++) {
		const uint64_t wrong = 32 * lane < len ? kh_text_differs(&l, w->at[d], 32 * lane)
						       : 0;

		KH_ROLLED
		for (uint32_t t = 0; 32 * t < kmers; t++) {
			const uint32_t i = (32 * t + lane) * KH_TEXT_STEP;
			const bool has = 32 * t + lane < kmers;
			const uint32_t from = !has ? 0 : back ? len - k - i : i;
			const uint64_t x[2] = { __shfl_sync(ALL, wrong, (int)(from / 32)),
						__shfl_sync(ALL, wrong, (int)(from / 32 + 1)) };

			if (has && kh_packed_bits(x, from % 32, k) == 0)
				had |= 1u << t;
		}
	}
	return __reduce_add_sync(ALL, kh_count_bits(had));
}

/* As kh_match_count_hits. */
__device__ void count_hits(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const kh_claim *best = kh_match_best(&m->here);

	if (!best || !kh_match_wants_hits(m->db, m->place, &w->j.s, best))
		return;
	KH_ROLLED
	for (uint32_t i = 0; i < m->here.n; i++) {
		kh_claim *c = &m->here.v[i];
		uint32_t hits = 0;

		if (!kh_match_counts(w->x.m.db, &w->j.s, best, c))
			continue;
		KH_ROLLED
		for (uint32_t mate = 0; mate < 2; mate++)
			if (c->mates >> mate & 1)
				hits += hits_of(w, c->place[mate]);
		__syncwarp();
		if (lane_id() == 0)
			c->hits = hits;
		__syncwarp();
	}
}

/* --- a fragment ----------------------------------------------------------------------- */
/* As kh_match_crowd, for all mates. */
__device__ void find_crowd(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const kh_claim *best = kh_match_best(&m->here);
	kh_extent e = kh_extent_empty();

	KH_ROLLED
	for (uint32_t mate = 0; best && w->j.s.whole && mate < 2; mate++)
		KH_ROLLED
		for (uint32_t i = lane_id(); m->found[mate].crowd && i < m->found[mate].n_regions;
		     i += 32)
			e = kh_match_crowded(m, &w->j.s, mate, i, best->score, e);
	e.lo = __reduce_min_sync(ALL, e.lo);
	e.hi = __reduce_max_sync(ALL, e.hi);
	if (lane_id() == 0)
		m->crowd = e;
	__syncwarp();
}

/* As kh_match_segment. */
__device__ bool compare_segment(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const kh_mate *a = w->j.s.mate;

	if (lane_id() == 0)
		m->n_place = 0;
	__syncwarp();
	compare_mates(w);
	if (kh_segment_has_more(&w->j.s) && kh_match_unseen(m, &w->j.s))
		return true;
	if (a[0].len > 0 && a[1].len > 0)
		rescue_mate(w);
	if (!w->j.s.whole)
		compare_along(w);
	find_crowd(w);
	count_hits(w);
	return false;
}

/* Compares number i of all. */
__device__ void compare(const kh_gpu_query *q, const kh_match_db *db, warp_match *w, uint32_t i)
{
	kh_matching *m = &w->x.m;
	bool again = true;

	__syncwarp();
	if (lane_id() == 0) {
		kh_small_init(&w->x, db);
		w->best = 0;
		w->j = kh_gpu_item(q, i);
		w->kept = kh_gpu_kept(q, i);
		kh_found_begin(&m->found[1], w->x.pos[1], 0);
		m->found[1].n_regions = 0;
	}
	__syncwarp();
	/* without a second mate, its part stays as it is */
	const uint32_t mates = w->j.s.mate[1].len > 0 ? 2 : 1;

	KH_ROLLED
	for (uint32_t mate = 0; mate < mates; mate++)
		read_mate(w, mate);
	KH_ROLLED
	for (int all = kh_match_asks_all(db, &w->j.s); all < 2 && again; all++) {
		if (lane_id() == 0)
			kh_claims_forget(&m->here);
		KH_ROLLED
		for (uint32_t mate = 0; mate < mates; mate++)
			ask_seeds(w, mate, all != 0);
		KH_ROLLED
		for (uint32_t mate = 0; mate < mates; mate++)
			make_regions(w, mate);
		if (!w->j.s.whole && pass_over_regions(w))
			continue;
		raise_lone(w);
		again = compare_segment(w);
	}
	__syncwarp();
	if (lane_id() == 0)
		kh_gpu_give(q, &w->x, &w->j, i);
}

} /* namespace */

#endif
