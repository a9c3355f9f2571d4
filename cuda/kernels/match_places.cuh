/* match_places.cuh - a mate, compared by a warp at the places of its regions (match_warp.cuh) */
#ifndef KH_CUDA_KERNELS_MATCH_PLACES_CUH
#define KH_CUDA_KERNELS_MATCH_PLACES_CUH

#include "cuda/kernels/match_seeds.cuh"
#include "cuda/kernels/match_short.h"

namespace {

constexpr uint32_t MANY_REGIONS = 4;    /* so many, and more, are compared at once */

/* --- the HSP ----------------------------------------------------------------------- */
/* Columns that a lane has, one behind another, and the low bits of those that do not match. */
struct lane_columns {
	uint32_t from, n;
	uint64_t wrong;
};

__device__ lane_columns columns_of(const kh_laid *l, int64_t at, const kh_text_columns *c)
{
	const uint32_t each = (c->to - c->from + 31) / 32, from = c->from + lane_id() * each;
	lane_columns x = { from, from >= c->to ? 0 : min(each, c->to - from), 0 };

	if (x.n > 0)
		x.wrong = kh_laid_differ(l, kh_packed_bits(l->read->base, from, x.n),
					 (uint64_t)(at + from), 0) |
			  kh_packed_bits(l->read->unknown, from, x.n);
	return x;
}

/* The least x of the lanes before this one. */
__device__ uint32_t least_before(uint32_t x)
{
	for (unsigned d = 1; d < 32; d *= 2) {
		const uint32_t y = __shfl_up_sync(ALL, x, d);

		x = lane_id() >= d && y < x ? y : x;
	}
	x = __shfl_up_sync(ALL, x, 1);
	return lane_id() == 0 ? UINT32_MAX : x;
}

/* As kh_text_fit, by all lanes.  With P(i) for matches less mismatches in front of column i, a
 * HSP from i to j has the score P(j) - P(i): so each lane looks for the greatest one that ends
 * in its columns, and needs the least P in front of them.  Of equal ones the last i and the first j
 * are taken, as a sum that begins anew where it comes to 0 does. */
__device__ __noinline__ kh_alignment fit_together(const kh_laid *l, int64_t at, uint32_t from,
						  uint32_t to)
{
	enum { LOW = 10, COLUMN = (1 << LOW) - 1, ZERO = 1 << LOW };
	const kh_text_columns c = kh_text_on_target(l, at, from, to);
	const lane_columns x = columns_of(l, at, &c);
	const uint32_t wrong = kh_text_count(x.wrong & kh_text_first(x.n));
	const uint32_t before = ZERO + sum_before(x.n - 2 * wrong);
	uint32_t p = before, least = UINT32_MAX, most = 0, begin = 0;
	kh_alignment fit = { 0, 0, 0, 0, 0 };

	for (uint32_t i = 0; i < x.n; i++) {
		least = min(least, p << LOW | (COLUMN - (x.from + i)));
		p += x.wrong >> 2 * i & 1 ? UINT32_MAX : 1;
	}
	least = least_before(least);
	p = before;
	for (uint32_t i = 0; i < x.n; i++) {
		least = min(least, p << LOW | (COLUMN - (x.from + i)));
		p += x.wrong >> 2 * i & 1 ? UINT32_MAX : 1;
		if (p > least >> LOW) {
			const uint32_t end = (p - (least >> LOW)) << LOW |
					     (COLUMN - (x.from + i + 1));

			begin = end > most ? COLUMN - (least & COLUMN) : begin;
			most = max(most, end);
		}
	}
	const uint32_t best = __reduce_max_sync(ALL, most);
	const unsigned has = __ballot_sync(ALL, most == best);

	if (best == 0)
		return fit;
	fit.score = best >> LOW;
	fit.from = __shfl_sync(ALL, begin, (int)kh_lowest_bit(has));
	fit.to = COLUMN - (best & COLUMN);
	fit.columns = fit.to - fit.from;
	fit.matches = (fit.columns + fit.score) / 2;
	return fit;
}

/* --- the ends of a mate --------------------------------------------------------------- */
/* So many ways to lie aside, and fewer, are compared by all lanes, one after the other. */
constexpr int FEW_ASIDES = 6;

__device__ kh_alignment alignment_of_lane(const kh_alignment *fit, int lane)
{
	const kh_alignment x = { __shfl_sync(ALL, fit->score, lane),
				 __shfl_sync(ALL, fit->matches, lane),
				 __shfl_sync(ALL, fit->columns, lane),
				 __shfl_sync(ALL, fit->from, lane),
				 __shfl_sync(ALL, fit->to, lane) };

	return x;
}

/* As kh_text_fit_aside: a lane for each way to lie aside says whether it could be of use. */
__device__ kh_text_aside fit_aside(const kh_laid *l, int64_t at, bool here, uint32_t from,
				   uint32_t to)
{
	const uint32_t i = lane_id();
	const bool may = i >= (here ? 0u : 1u) && i < KH_ASIDES &&
			 kh_text_may_score(l, at + kh_text_aside_of(i), from, to);
	kh_text_aside best = { { 0, 0, 0, 0, 0 }, at };
	kh_alignment fit = best.fit;
	unsigned left = __ballot_sync(ALL, may);

	if (__popc(left) > FEW_ASIDES) {
		if (may)
			fit = kh_text_fit(l, at + kh_text_aside_of(i), from, to);
		fit.score = kh_text_less_gap(fit.score, i);
	}
	KH_ROLLED
	for (; left != 0 && __popc(left) <= FEW_ASIDES; left &= left - 1) {
		const int lane = (int)kh_lowest_bit(left);
		const kh_alignment x = fit_together(l, at + kh_text_aside_of((uint32_t)lane), from,
						    to);

		if ((int)i == lane) {
			fit = x;
			fit.score = kh_text_less_gap(x.score, i);
		}
	}
	const uint32_t top = __reduce_max_sync(ALL, fit.score << 5 | (31 - i));
	const int lane = (int)(31 - (top & 31));

	if (top >> 5 == 0)
		return best;
	best.fit = alignment_of_lane(&fit, lane);
	best.at = at + kh_text_aside_of((uint32_t)lane);
	return best;
}

/* As kh_text_fit_ends; *chain, unless it is NULL, becomes that of the place. */
__device__ __noinline__ void fit_ends(const kh_laid *l, int64_t at, bool part, kh_alignment *fit,
				      kh_chain *chain)
{
	const kh_alignment middle = *fit;

	__syncwarp();
	if (chain && lane_id() == 0) {
		chain->n = 0;
		kh_chain_add(chain, &middle, 0);
	}

	KH_ROLLED
	for (int i = 0; i < 2; i++) {
		kh_text_side side = kh_text_side_of(&middle, at, i == 1, part);
		kh_text_window x;

		KH_ROLLED
		while (kh_text_next_window(l, &side, &x)) {
			const kh_text_aside found =
				fit_aside(l, side.at, part, x.from, x.from + x.n);

			if (!kh_text_take_window(&side, &x, &found))
				continue;
			kh_text_add_end(fit, &found.fit);
			if (chain && lane_id() == 0)
				kh_chain_add(chain, &found.fit, side.at - at);
		}
	}
}

/* --- places --------------------------------------------------------------------------- */
/* Adds a place of a region of so many anchors whose best HSP is known, as the end of
 * kh_places_add does. */
__device__ __noinline__ void add_place(warp_match *w, uint32_t anchors, kh_place *p)
{
	kh_matching *m = &w->x.m;
	kh_found *f = &m->found[kh_place_mate(p)];
	const uint32_t n = m->n_place;

	if (f->n_places == kh_places_most(m->db, &w->j.s))
		return;
	const bool part = !w->j.s.whole;

	p->hsp = kh_hsp_of(&p->fit);
	if (kh_place_has_ends(m, &w->j.s, f, anchors, p)) {
		const kh_laid l = kh_place_laid(m, &w->j.s, p);

		fit_ends(&l, kh_place_at(p), part, &p->fit, part ? &w->chain[!w->best] : NULL);
	}
	__syncwarp();
	if (lane_id() == 0) {
		if (p->fit.score > f->best) {
			w->best = !w->best;
			w->number = p->number;
			w->target = p->target;
		}
		kh_place_see_hsp(m, f, p);
		f->best = p->fit.score > f->best ? p->fit.score : f->best;
		m->place[n] = *p;
		m->n_place = n + 1;
		f->n_places++;
	}
	__syncwarp();
}

/* Compares the mate at each place where the text of the bin has the seed. */
__device__ void look_in_bin(warp_match *w, uint32_t mate, uint32_t anchors,
			    const kh_seed_strands *f, uint32_t bin)
{
	const kh_match_db *db = w->x.m.db;
	const uint32_t stride = db->sampling.stride;
	const uint64_t mask = kh_kmer_mask(db->sampling.k);

	for (uint32_t first = 0; first < stride; first += 32) {
		const uint64_t from = (uint64_t)bin * stride + first;
		uint64_t here = 0;
		unsigned as_is, back;

		if (first + lane_id() < stride)
			here = kh_text_bases(kh_match_text(db, (int64_t)from), from + lane_id()) &
			       mask;
		as_is = __ballot_sync(ALL, first + lane_id() < stride && here == f->bases[0]);
		back = __ballot_sync(ALL, first + lane_id() < stride && here == f->bases[1]);
		for (unsigned any = as_is | back; any != 0; any &= any - 1) {
			const uint32_t i = kh_lowest_bit(any);

			for (uint32_t strand = 0; strand < 2; strand++) {
				kh_place p;

				if (!((strand ? back : as_is) >> i & 1))
					continue;
				p.number = kh_place_number(mate, strand,
							   (int64_t)(from + i) - f->at[strand]);
				p.target = kh_match_target(db, bin);
				const kh_laid l = kh_place_laid(&w->x.m, &w->j.s, &p);

				p.fit = fit_together(&l, kh_place_at(&p), 0, l.len);
				add_place(w, anchors, &p);
			}
		}
	}
}

/* As kh_region_compare: the lanes look which anchors lie on no place yet, of which nearly always
 * the first one is the only one. */
__device__ __noinline__ void compare_region(warp_match *w, uint32_t mate, kh_region *r)
{
	kh_matching *m = &w->x.m;
	const kh_found *f = &m->found[mate];
	const uint32_t before = m->n_place, end = r->from + r->n, k = m->db->sampling.k;
	const uint32_t len = w->j.s.mate[mate].len;

	__syncwarp();
	if (lane_id() == 0)
		r->loss = KH_REGION_DONE;
	for (uint32_t from = r->from; from < end;) {
		const uint32_t i = from + lane_id();
		bool away = false;

		if (i < end) {
			const uint32_t pos = f->pos[(uint32_t)f->anchor[i]];
			const uint32_t at[2] = { pos, len - k - pos };

			away = !kh_places_have_anchor(m, m->n_place - before, at,
						      kh_anchor_bin(f->anchor[i]));
		}
		const unsigned mask = __ballot_sync(ALL, away);

		if (mask == 0) {
			from += 32;
			continue;
		}
		if (m->n_place - before >= KH_MATCH_DIAGONALS)
			break;
		from += kh_lowest_bit(mask);
		const uint64_t c = f->anchor[from++];
		const kh_seed_strands x = kh_seed_strands_of(m, &w->j.s, mate, f->pos[(uint32_t)c]);

		look_in_bin(w, mate, r->n, &x, kh_anchor_bin(c));
	}
	__syncwarp();
}

/* --- many regions at once -------------------------------------------------------------- */
/* As kh_places_have_anchor, of one place. */
__device__ bool lies(const kh_match_db *db, const kh_place *p, const kh_seed_strands *f,
		     uint32_t bin)
{
	const int64_t stride = db->sampling.stride, from = bin * stride;
	const int64_t here = kh_place_at(p) + f->at[kh_place_strand(p)];

	return here >= from && here < from + stride && kh_match_in_target(db, p->target, bin);
}

/* Where the text of a region has the mate, for the region's lane: the number of places, or 2 if
 * there are more than one; *p: the only one, compared. */
__device__ uint32_t only_place_of(const warp_match *w, uint32_t mate, const kh_region *r,
				  kh_place *p)
{
	const kh_matching *m = &w->x.m;
	const kh_found *f = &m->found[mate];
	uint32_t n = 0;

	for (uint32_t i = r->from; i < (uint32_t)r->from + r->n && n < 2; i++) {
		const uint64_t c = f->anchor[i];
		const uint32_t bin = kh_anchor_bin(c);
		const kh_seed_strands x = kh_seed_strands_of(m, &w->j.s, mate, f->pos[(uint32_t)c]);

		if (n == 1 && lies(m->db, p, &x, bin))
			continue;
		const uint32_t *bases =
			kh_match_text(m->db, (int64_t)bin * m->db->sampling.stride);
		const uint32_t more = kh_short_look(m->db, bases, &x, mate, bin, &p->number);

		if (more > 0)
			p->target = kh_match_target(m->db, bin);
		n += more;
	}
	if (n == 1) {
		const kh_laid l = kh_place_laid(m, &w->j.s, p);

		p->fit = kh_text_fit(&l, kh_place_at(p), 0, l.len);
	}
	return n;
}

__device__ kh_place place_of_lane(const kh_place *p, int lane)
{
	const kh_place q = { __shfl_sync(ALL, p->number, lane),
			     __shfl_sync(ALL, p->target, lane), alignment_of_lane(&p->fit, lane),
			     { 0, 0, 0 } };

	return q;
}

/* Compares the mate in a region of each lane that has one, by its number, as compare_region would
 * in the order of the lanes; in a crowd only as long as there is room, and those that could be as
 * good as the best place before them, less `slack`.  Reading the text takes longest, so all lanes
 * do that at once; nearly all regions have one place. */
__device__ __noinline__ void compare_regions(warp_match *w, uint32_t mate, uint32_t number,
					     bool crowd, uint32_t slack)
{
	kh_found *f = &w->x.m.found[mate];
	const uint32_t len = w->j.s.mate[mate].len;
	kh_place p = { 0, 0, { 0, 0, 0, 0, 0 }, { 0, 0, 0 } };
	const uint32_t n = number != UINT32_MAX
				   ? only_place_of(w, mate, &f->region[number], &p) : 0;

	for (unsigned left = __ballot_sync(ALL, number != UINT32_MAX); left; left &= left - 1) {
		const int lane = (int)kh_lowest_bit(left);
		kh_region *r = &f->region[__shfl_sync(ALL, number, lane)];
		const uint32_t places = __shfl_sync(ALL, n, lane);
		kh_place q = place_of_lane(&p, lane);

		if (crowd && (f->n_places == kh_places_most(w->x.m.db, &w->j.s) ||
			      !kh_region_may(r, len, (int64_t)f->best - slack)))
			continue;
		if (places > 1) {
			compare_region(w, mate, r);
			continue;
		}
		__syncwarp();
		if (lane_id() == 0)
			r->loss = KH_REGION_DONE;
		if (places == 1)
			add_place(w, r->n, &q);
		__syncwarp();
	}
}

/* --- regions in turn ------------------------------------------------------------------- */
/* The least loss of a region that was not compared. */
__device__ uint32_t least_loss(const kh_found *f)
{
	uint32_t least = KH_REGION_DONE;

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32)
		least = f->region[i].loss < least ? f->region[i].loss : least;
	return __reduce_min_sync(ALL, least);
}

/* The heaviest region that could be as good as the best place, less `slack`, of those behind `last`
 * in this order: its weight << 16 | 65535 - its number; 0: there is none. */
__device__ uint32_t next_heaviest(const kh_found *f, uint32_t len, uint32_t slack, uint32_t last)
{
	uint32_t most = 0;

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32) {
		const kh_region r = f->region[i];
		const uint32_t x = (uint32_t)r.weight << 16 | (UINT16_MAX - i);

		if (kh_region_may(&r, len, (int64_t)f->best - slack) && x > most && x < last)
			most = x;
	}
	return __reduce_max_sync(ALL, most);
}

/* What kh_regions_weigh adds to the anchors of a region: those of the other mate's beside it. */
__device__ uint32_t weight_beside(const kh_matching *m, uint32_t mate, const kh_region *r)
{
	const kh_found *f = &m->found[!mate];
	const uint32_t near = KH_MATCH_SPAN / m->db->sampling.stride + 1;
	const uint32_t bin = kh_region_bin(&m->found[mate], r);
	uint32_t lo = 0;                /* the first one that is not in front of that */

	for (uint32_t n = f->n_regions; n > 0;) {
		const uint32_t half = n / 2;
		const bool before = kh_region_bin(f, &f->region[lo + half]) + near < bin;

		lo += before ? half + 1 : 0;
		n = before ? n - half - 1 : half;
	}
	const bool beside = lo < f->n_regions && kh_region_bin(f, &f->region[lo]) <= bin + near;
	return beside ? f->region[lo].n : 0;
}

/* As kh_regions_compare_crowd: so many of the heaviest regions at once as there is room for. */
__device__ void compare_crowd(warp_match *w, uint32_t mate, uint32_t slack)
{
	const kh_segment *s = &w->j.s;
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &w->x.m.found[mate];
	const bool more = kh_segment_has_more(s);
	uint32_t most = 1;

	for (uint32_t i = lane_id(); !more && i < f->n_regions; i += 32) {
		kh_region *r = &f->region[i];

		r->weight = (uint16_t)(r->n + weight_beside(&w->x.m, mate, r));
		most = r->weight > most ? r->weight : most;
	}
	most = __reduce_max_sync(ALL, most);
	__syncwarp();
	if (lane_id() == 0)
		f->crowd = most;
	__syncwarp();
	while (!more && f->n_places < kh_places_most(w->x.m.db, s)) {
		const uint32_t room = kh_places_most(w->x.m.db, s) - f->n_places;
		uint32_t mine = UINT32_MAX, last = UINT32_MAX, n = 0;

		for (; n < room && (last = next_heaviest(f, len, slack, last)) != 0; n++)
			mine = n == lane_id() ? UINT16_MAX - (last & UINT16_MAX) : mine;
		if (n == 0)
			break;
		compare_regions(w, mate, mine, true, slack);
	}
}

/* As kh_regions_compare_from. */
__device__ __noinline__ bool compare_from(warp_match *w, uint32_t mate, int64_t score,
					  uint32_t slack)
{
	const uint32_t len = w->j.s.mate[mate].len;
	kh_found *f = &w->x.m.found[mate];
	uint32_t n = 0;

	KH_ROLLED
	for (uint32_t i = lane_id(); i < f->n_regions; i += 32)
		n += kh_region_may(&f->region[i], len, score);
	n = __reduce_add_sync(ALL, n);
	if (n > kh_places_most(w->x.m.db, &w->j.s) - f->n_places) {
		compare_crowd(w, mate, slack);
		return true;
	}
	KH_ROLLED
	for (uint32_t first = 0; first < f->n_regions && n > 0; first += 32) {
		const uint32_t i = first + lane_id();
		const bool wanted = i < f->n_regions && kh_region_may(&f->region[i], len, score);
		unsigned mask = __ballot_sync(ALL, wanted);

		if (kh_count_bits(mask) >= MANY_REGIONS) {
			compare_regions(w, mate, wanted ? i : UINT32_MAX, false, 0);
			continue;
		}
		KH_ROLLED
		for (; mask != 0; mask &= mask - 1)
			compare_region(w, mate, &f->region[first + kh_lowest_bit(mask)]);
	}
	return n > 0;
}

/* As kh_regions_compare_best. */
__device__ void compare_best(warp_match *w, uint32_t mate, uint32_t slack)
{
	const kh_found *f = &w->x.m.found[mate];
	const uint32_t len = w->j.s.mate[mate].len;

	KH_ROLLED
	while (!f->crowd) {
		const uint32_t loss = least_loss(f);

		if (loss >= len || len - loss + slack < f->best)
			break;
		compare_from(w, mate, (int64_t)len - loss, slack);
	}
}

} /* namespace */

#endif
