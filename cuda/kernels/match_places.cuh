/* match_places.cuh - a fragment compared with text by a warp (match_warp.cuh): a mate, at the
 * places of its regions */
#ifndef KH_CUDA_KERNELS_MATCH_PLACES_CUH
#define KH_CUDA_KERNELS_MATCH_PLACES_CUH

#include "cuda/kernels/match_seeds.cuh"
#include "cuda/kernels/match_short.h"

namespace {

constexpr uint32_t MANY_REGIONS = 4;    /* so many, and more, are compared at once */

/* --- the ends of a mate --------------------------------------------------------------- */
/* As kh_text_fit_aside: a lane for each diagonal. */
__device__ kh_text_aside fit_aside(const kh_laid *l, int64_t at, bool here, uint32_t from,
				   uint32_t to)
{
	const uint32_t i = lane_id();
	const int64_t aside = i % 2 ? at + (i + 1) / 2 : at - i / 2;
	kh_text_aside best = { { 0, 0, 0, 0, 0 }, at };
	kh_alignment fit = best.fit;

	if (i >= (here ? 0u : 1u) && i <= 2 * KH_END_ASIDE)
		fit = kh_text_fit(l, aside, from, to);
	fit.score = fit.score < KH_END_SCORE ? 0 : fit.score - (i > 0 ? KH_GAP_COST : 0);
	const uint32_t most = __reduce_max_sync(ALL, fit.score << 5 | (31 - i));
	const int lane = (int)(31 - (most & 31));

	if (most >> 5 == 0)
		return best;
	best.fit.score = most >> 5;
	best.fit.matches = __shfl_sync(ALL, fit.matches, lane);
	best.fit.columns = __shfl_sync(ALL, fit.columns, lane);
	best.fit.from = __shfl_sync(ALL, fit.from, lane);
	best.fit.to = __shfl_sync(ALL, fit.to, lane);
	best.at = lane % 2 ? at + (lane + 1) / 2 : at - lane / 2;
	return best;
}

/* As kh_text_fit_ends. */
__device__ void fit_ends(const kh_laid *l, int64_t at, bool part, kh_alignment *fit)
{
	const kh_alignment middle = *fit;

	for (int i = 0; i < 2; i++) {
		kh_text_side side = kh_text_side_of(&middle, at, i == 1, part);
		kh_text_window x;

		while (kh_text_next_window(l, &side, &x)) {
			const kh_text_aside found =
				fit_aside(l, side.at, part, x.from, x.from + x.n);

			if (kh_text_take_window(&side, &x, &found))
				kh_text_add_end(fit, &found.fit);
		}
	}
}

/* --- places --------------------------------------------------------------------------- */
/* As kh_places_add. */
__device__ void add_place(warp_match *w, uint32_t mate, uint32_t strand, int64_t at, uint32_t bin)
{
	kh_matching *m = &w->x.m;
	kh_found *f = &m->found[mate];
	const uint32_t n = m->n_place, before = f->stretch;
	kh_spot p;

	if (f->n_places == kh_places_most(&w->j.s))
		return;
	p.number = kh_place_number(mate, strand, at);
	p.target = kh_match_target(m->db, bin);
	const kh_laid l = kh_places_laid(m, &w->j.s, &p);
	kh_alignment fit = kh_text_fit(&l, at, 0, l.len);
	const uint32_t stretch = fit.score;

	if (4 * stretch >= before)
		fit_ends(&l, at, !w->j.s.only, &fit);
	p.fit = fit;
	__syncwarp();
	if (lane_id() == 0) {
		f->stretch = stretch > before ? stretch : before;
		f->best = fit.score > f->best ? fit.score : f->best;
		m->place[n] = p;
		m->n_place = n + 1;
		f->n_places++;
	}
	__syncwarp();
}

/* Compares the mate at each place where the text of the bin has the seed. */
__device__ void look_in_bin(warp_match *w, uint32_t mate, const kh_stands *f, uint32_t bin)
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

			if (as_is >> i & 1)
				add_place(w, mate, 0, (int64_t)(from + i) - f->at[0], bin);
			if (back >> i & 1)
				add_place(w, mate, 1, (int64_t)(from + i) - f->at[1], bin);
		}
	}
}

/* As kh_places_compare: the lanes look which candidates lie on no place yet, of which nearly always
 * the first one is the only one. */
__device__ void compare_region(warp_match *w, uint32_t mate, kh_region *r)
{
	kh_matching *m = &w->x.m;
	const kh_found *f = &m->found[mate];
	const uint32_t before = m->n_place, end = r->from + r->n, k = m->db->sampling.k;
	const uint32_t len = w->j.s.mate[mate].len;

	__syncwarp();
	if (lane_id() == 0)
		r->loss = KH_REGION_COMPARED;
	for (uint32_t from = r->from; from < end;) {
		const uint32_t i = from + lane_id();
		bool away = false;

		if (i < end) {
			const uint32_t pos = f->pos[(uint32_t)f->candidate[i]];
			const uint32_t at[2] = { pos, len - k - pos };

			away = !kh_places_have(m, m->n_place - before, at,
					       kh_candidate_bin(f->candidate[i]));
		}
		const unsigned mask = __ballot_sync(ALL, away);

		if (mask == 0) {
			from += 32;
			continue;
		}
		if (m->n_place - before >= KH_MATCH_DIAGONALS)
			break;
		from += kh_lowest_bit(mask);
		const uint64_t c = f->candidate[from++];
		const kh_stands x = kh_places_stands(m, &w->j.s, mate, f->pos[(uint32_t)c]);

		look_in_bin(w, mate, &x, kh_candidate_bin(c));
	}
	__syncwarp();
}

/* --- many regions at once -------------------------------------------------------------- */
/* Where the text of a region has the mate, for the region's lane: the number of places, of which
 * the last one is *p. */
__device__ uint32_t places_of(const warp_match *w, uint32_t mate, const kh_region *r, kh_spot *p)
{
	const kh_matching *m = &w->x.m;
	const kh_found *f = &m->found[mate];
	uint32_t n = 0;

	for (uint32_t i = r->from; i < (uint32_t)r->from + r->n && n < 2; i++) {
		const uint64_t c = f->candidate[i];
		const uint32_t bin = kh_candidate_bin(c);
		const kh_stands x = kh_places_stands(m, &w->j.s, mate, f->pos[(uint32_t)c]);

		if (n == 1 && kh_short_lies(m->db, p, &x, bin))
			continue;
		const uint32_t more = kh_short_look(m->db, &x, mate, bin, &p->number);

		if (more > 0)
			p->target = kh_match_target(m->db, bin);
		n += more;
	}
	return n;
}

/* The greatest x of the lanes before this one, or `first`. */
__device__ uint32_t most_before(uint32_t x, uint32_t first)
{
	uint32_t most = x;

	for (unsigned d = 1; d < 32; d *= 2) {
		const uint32_t y = __shfl_up_sync(ALL, most, d);

		most = lane_id() >= d && y > most ? y : most;
	}
	most = __shfl_up_sync(ALL, most, 1);
	return lane_id() == 0 || most < first ? first : most;
}

/* Compares the ends of the places of these lanes, one after the other. */
__device__ void fit_ends_of(const warp_match *w, unsigned lanes, kh_spot *p)
{
	for (; lanes; lanes &= lanes - 1) {
		const int lane = (int)kh_lowest_bit(lanes);
		const kh_spot q = { __shfl_sync(ALL, p->number, lane),
				    __shfl_sync(ALL, p->target, lane),
				    { __shfl_sync(ALL, p->fit.score, lane),
				      __shfl_sync(ALL, p->fit.matches, lane),
				      __shfl_sync(ALL, p->fit.columns, lane),
				      __shfl_sync(ALL, p->fit.from, lane),
				      __shfl_sync(ALL, p->fit.to, lane) } };
		const kh_laid l = kh_places_laid(&w->x.m, &w->j.s, &q);
		kh_alignment fit = q.fit;

		fit_ends(&l, kh_place_at(&q), !w->j.s.only, &fit);
		if ((int)lane_id() == lane)
			p->fit = fit;
	}
}

/* Compares the mate in a region of each lane that has one, as compare_region would in their order;
 * false: one of these has several places, or they have too many, and nothing was done. */
__device__ bool compare_many(warp_match *w, uint32_t mate, kh_region *r)
{
	kh_matching *m = &w->x.m;
	kh_found *f = &m->found[mate];
	kh_spot p = { 0, 0, { 0, 0, 0, 0, 0 } };
	const uint32_t n = r ? places_of(w, mate, r, &p) : 0;
	const unsigned has = __ballot_sync(ALL, n > 0);
	const uint32_t at = m->n_place + kh_count_bits(has & lanes_below());

	if (__any_sync(ALL, n > 1) ||
	    kh_count_bits(has) > kh_places_most(&w->j.s) - f->n_places)
		return false;
	if (n > 0) {
		const kh_laid l = kh_places_laid(m, &w->j.s, &p);

		p.fit = kh_text_fit(&l, kh_place_at(&p), 0, l.len);
	}
	const uint32_t stretch = p.fit.score, before = most_before(stretch, f->stretch);

	fit_ends_of(w, __ballot_sync(ALL, n > 0 && 4 * stretch >= before), &p);
	const uint32_t longest = __reduce_max_sync(ALL, stretch > before ? stretch : before);
	const uint32_t best = __reduce_max_sync(ALL, p.fit.score);

	__syncwarp();
	if (r)
		r->loss = KH_REGION_COMPARED;
	if (n > 0)
		m->place[at] = p;
	if (lane_id() == 0) {
		f->stretch = longest;
		f->best = best > f->best ? best : f->best;
		f->n_places += kh_count_bits(has);
		m->n_place += kh_count_bits(has);
	}
	__syncwarp();
	return true;
}

/* --- regions in turn ------------------------------------------------------------------- */
/* The least loss of a region that was not compared. */
__device__ uint32_t least_loss(const kh_found *f)
{
	uint32_t least = KH_REGION_COMPARED;

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32)
		least = f->region[i].loss < least ? f->region[i].loss : least;
	return __reduce_min_sync(ALL, least);
}

/* As kh_places_heaviest. */
__device__ kh_region *heaviest(kh_found *f, uint32_t len, uint32_t slack)
{
	uint32_t most = 0;              /* weight << 16 | 65535 - number */

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32) {
		const kh_region r = f->region[i];
		const uint32_t x = (uint32_t)r.weight << 16 | (UINT16_MAX - i);

		if (kh_region_may(&r, len, (int64_t)f->best - slack) && x > most)
			most = x;
	}
	most = __reduce_max_sync(ALL, most);
	return most > 0 ? &f->region[UINT16_MAX - (most & UINT16_MAX)] : NULL;
}

/* As kh_places_crowd. */
__device__ void compare_crowd(warp_match *w, uint32_t mate, uint32_t slack)
{
	const kh_mates *s = &w->j.s;
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &w->x.m.found[mate];
	uint32_t most = 0;

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32) {
		kh_region *r = &f->region[i];

		r->weight = (uint16_t)(r->n + kh_places_beside(&w->x.m, mate, r));
		most = r->weight > most ? r->weight : most;
	}
	most = __reduce_max_sync(ALL, most);
	__syncwarp();
	if (lane_id() == 0)
		f->crowd = most;
	__syncwarp();
	while (!kh_mates_have_more(s) && f->n_places < kh_places_most(s)) {
		kh_region *r = heaviest(f, len, slack);

		if (!r)
			break;
		compare_region(w, mate, r);
	}
}

/* As kh_places_from. */
__device__ bool compare_from(warp_match *w, uint32_t mate, int64_t score, uint32_t slack)
{
	const uint32_t len = w->j.s.mate[mate].len;
	kh_found *f = &w->x.m.found[mate];
	uint32_t n = 0;

	for (uint32_t i = lane_id(); i < f->n_regions; i += 32)
		n += kh_region_may(&f->region[i], len, score);
	n = __reduce_add_sync(ALL, n);
	if (n > kh_places_most(&w->j.s) - f->n_places) {
		compare_crowd(w, mate, slack);
		return true;
	}
	for (uint32_t first = 0; first < f->n_regions && n > 0; first += 32) {
		const uint32_t i = first + lane_id();
		const bool wanted = i < f->n_regions && kh_region_may(&f->region[i], len, score);
		unsigned mask = __ballot_sync(ALL, wanted);

		if (kh_count_bits(mask) >= MANY_REGIONS &&
		    compare_many(w, mate, wanted ? &f->region[i] : NULL))
			continue;
		for (; mask != 0; mask &= mask - 1)
			compare_region(w, mate, &f->region[first + kh_lowest_bit(mask)]);
	}
	return n > 0;
}

/* As kh_places_best. */
__device__ void compare_best(warp_match *w, uint32_t mate, uint32_t slack)
{
	const kh_found *f = &w->x.m.found[mate];
	const uint32_t len = w->j.s.mate[mate].len;

	while (!f->crowd) {
		const uint32_t loss = least_loss(f);

		if (loss >= len || len - loss + slack < f->best)
			break;
		compare_from(w, mate, (int64_t)len - loss, slack);
	}
}

} /* namespace */

#endif
