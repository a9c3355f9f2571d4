/*
 * match_thin.h - the places of a mate in a database that has no text   [HD]
 *
 * There is nothing to compare the mate with, so a place is as good as the bases that its seeds on
 * one diagonal cover, of those that all seeds cover that were looked up.  A bin tells a diagonal
 * only as near as it is wide, and no strand: a seed by itself has a place on both.
 */
#ifndef KH_CLASSIFY_MATCH_THIN_H
#define KH_CLASSIFY_MATCH_THIN_H

#include "classify/match_types.h"

/* Of a mate's seeds, the bases that some cover. */
static KH_HD uint32_t kh_thin_cover(const kh_found *f, uint32_t k, const kh_seed_set *set)
{
	uint32_t sum = 0, end = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		if (!kh_seed_has(set, i))
			continue;
		sum += f->pos[i] + k - (f->pos[i] > end ? f->pos[i] : end);
		end = f->pos[i] + k;
	}
	return sum;
}

/* Where the mate would begin by an anchor, on a strand. */
static KH_HD int64_t kh_thin_at(const kh_matching *m, const kh_segment *s, uint32_t mate,
				uint64_t anchor, uint32_t strand)
{
	const uint32_t pos = m->found[mate].pos[(uint32_t)anchor];
	const uint32_t back = s->mate[mate].len - m->db->sampling.k - pos;

	return (int64_t)(anchor >> 32) * m->db->sampling.stride - (strand ? back : pos);
}

/* The seeds of anchors from .. to - 1 that lie on the diagonal of a place, or a few bases
 * aside. */
static KH_HD kh_seed_set kh_thin_seeds(const kh_matching *m, const kh_segment *s, const kh_place *p,
				       uint32_t from, uint32_t to)
{
	const uint32_t mate = kh_place_mate(p);
	const kh_found *f = &m->found[mate];
	const int64_t far = m->db->sampling.stride + KH_END_ASIDE;
	kh_seed_set set = kh_seed_none();

	for (uint32_t i = from; i < to; i++) {
		const uint64_t c = f->anchor[i];
		const int64_t d = kh_thin_at(m, s, mate, c, kh_place_strand(p)) - kh_place_at(p);

		if (d < far && d > -far &&
		    kh_match_in_target(m->db, p->target, (uint32_t)(c >> 32)))
			kh_seed_add(&set, (uint32_t)c);
	}
	return set;
}

/* The place of some anchors, all in one target, on a strand, that has most: of equal ones the
 * first. */
static KH_HD kh_place kh_thin_best(const kh_matching *m, const kh_segment *s, uint32_t mate,
				   uint32_t from, uint32_t to, uint32_t strand)
{
	const kh_found *f = &m->found[mate];
	const uint32_t k = m->db->sampling.k;
	kh_place best = { 0, 0, { 0, 0, 0, 0, 0 }, { 0, 0, 0 } };

	for (uint32_t i = from; i < to; i++) {
		const uint64_t c = f->anchor[i];
		kh_place p = { kh_place_number(mate, strand, kh_thin_at(m, s, mate, c, strand)),
			       kh_match_target(m->db, (uint32_t)(c >> 32)), { 0, 0, 0, 0, 0 },
			       { 0, 0, 0 } };
		const kh_seed_set set = kh_thin_seeds(m, s, &p, from, to);

		p.fit.score = p.fit.matches = kh_thin_cover(f, k, &set);
		p.fit.columns = kh_thin_cover(f, k, &f->known);
		if (p.fit.score > best.fit.score)
			best = p;
	}
	return best;
}

static KH_HD void kh_thin_add(kh_matching *m, uint32_t mate, const kh_place *p, uint32_t most)
{
	kh_found *f = &m->found[mate];

	if (f->n_places == most)
		return;
	f->best = p->fit.score > f->best ? p->fit.score : f->best;
	f->n_places++;
	m->place[m->n_place++] = *p;
}

/* Makes places of a region, of a mate that has so many at most: in each target the best one, or one
 * on each strand, if they are equal. */
static KH_HD void kh_thin_places(kh_matching *m, const kh_segment *s, uint32_t mate, kh_region *r,
				 uint32_t most)
{
	const kh_found *f = &m->found[mate];
	const uint32_t end = (uint32_t)r->from + r->n;

	r->loss = KH_REGION_DONE;
	for (uint32_t i = r->from, j; i < end; i = j) {
		const uint32_t t = kh_match_target(m->db, (uint32_t)(f->anchor[i] >> 32));

		for (j = i + 1; j < end; j++)
			if (!kh_match_in_target(m->db, t, (uint32_t)(f->anchor[j] >> 32)))
				break;
		const kh_place a = kh_thin_best(m, s, mate, i, j, 0);
		const kh_place b = kh_thin_best(m, s, mate, i, j, 1);

		if (a.fit.score >= b.fit.score)
			kh_thin_add(m, mate, &a, most);
		if (b.fit.score >= a.fit.score)
			kh_thin_add(m, mate, &b, most);
	}
}

/* The seeds that a place has, of all anchors of its mate. */
static KH_HD uint32_t kh_thin_hits(const kh_matching *m, const kh_segment *s, const kh_place *p)
{
	const kh_found *f = &m->found[kh_place_mate(p)];
	const kh_seed_set set = kh_thin_seeds(m, s, p, 0, f->n_anchors);
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += (uint32_t)kh_seed_has(&set, i);
	return n;
}

/* Has a place the seed that begins at `pos` of its mate? */
static KH_HD bool kh_thin_has(const kh_matching *m, const kh_segment *s, const kh_place *p,
			      uint32_t pos)
{
	const kh_found *f = &m->found[kh_place_mate(p)];
	const kh_seed_set set = kh_thin_seeds(m, s, p, 0, f->n_anchors);

	for (uint32_t i = 0; i < f->n && f->pos[i] <= pos; i++)
		if (f->pos[i] == pos)
			return kh_seed_has(&set, i);
	return false;
}

#endif
