/*
 * match_place.h - the places of a mate: regions compared, the likeliest first; match.h   [HD]
 *
 * A region becomes places where its bins have the bases of its seeds (kh_region_compare).
 * match_score.h asks for those that could have some score.
 */
#ifndef KH_CLASSIFY_MATCH_PLACE_H
#define KH_CLASSIFY_MATCH_PLACE_H

#include "classify/match_region.h"
#include "classify/match_thin.h"
#include "kmer/fit.h"

/* --- places ------------------------------------------------------------------------------- */
/* How many places a mate may have, or a part: as many as a read where it matters how far other
 * species are behind, as a genus may have more than half of that at each place. */
static KH_HD uint32_t kh_places_most(const kh_match_db *db, const kh_segment *s)
{
	const bool all = s->mate[1].len == 0 && (s->whole || kh_match_wants_others(db));

	return all ? KH_MATCH_PLACES : KH_MATCH_PLACES / 2;
}

/* The mate of a place, and the place's target, to be compared. */
static KH_HD kh_laid kh_place_laid(const kh_matching *m, const kh_segment *s, const kh_place *p)
{
	const uint32_t mate = kh_place_mate(p);
	kh_laid l = kh_match_laid(m->db, &m->read[mate][kh_place_strand(p)], s->mate[mate].len,
				  kh_place_at(p), p->target);

	l.seen = s->whole ? NULL : m->seen;
	return l;
}

/* The best HSP of a place. */
static KH_HD kh_alignment kh_place_hsp(const kh_laid *l, const kh_place *p)
{
	const uint32_t score = p->hsp.score, columns = p->hsp.to - p->hsp.from;
	const kh_alignment fit = { score, (columns + score) / 2, columns, p->hsp.from,
				   p->hsp.to };

	return score > 0 ? fit : kh_text_fit(l, kh_place_at(p), 0, l->len);
}

/* Is the alignment of a read's place extended beyond its best HSP?  Not if that has less than a
 * quarter of the greatest score of an HSP at the places before; nor if the read has hardly more
 * than one seed there, as by chance. */
static KH_HD bool kh_read_has_ends(const kh_match_db *db, uint32_t anchors, uint32_t hsp,
				   uint32_t before)
{
	return 4 * hsp >= before &&
	       (anchors > 1 || hsp >= db->sampling.k + KH_MATCH_BEYOND);
}

/* The same of a part's place in a species: if its HSP has a greater score than all before, or as
 * great a one as the greatest, and is of the same species.  Other species are compared along the
 * chain of the best one in any case (match_chain.h).  Where more than the call is wanted, it
 * matters how far each is behind: then an equal score is enough, and in the species of the greatest
 * one a quarter of it. */
static KH_HD bool kh_part_has_ends(const kh_match_db *db, const kh_found *f, uint32_t row,
				   uint32_t hsp)
{
	const bool own = row == f->hsp_species_row;

	return kh_match_wants_others(db) ? hsp >= f->hsp || (own && 4 * hsp >= f->hsp)
					 : hsp + own > f->hsp;
}

/* One or the other, by what the segment is of its fragment. */
static KH_HD bool kh_place_has_ends(const kh_matching *m, const kh_segment *s, const kh_found *f,
				    uint32_t anchors, const kh_place *p)
{
	return s->whole ? kh_read_has_ends(m->db, anchors, p->hsp.score, f->hsp)
			: kh_part_has_ends(m->db, f, m->db->bins.species_row[p->target],
					   p->hsp.score);
}

/* Takes note of the best HSP of a place. */
static KH_HD void kh_place_see_hsp(const kh_matching *m, kh_found *f, const kh_place *p)
{
	if (p->hsp.score <= f->hsp)
		return;
	f->hsp = p->hsp.score;
	f->hsp_species_row = m->db->bins.species_row[p->target];
}

/* Compares a mate at a place of a region, and extends the alignment if kh_place_has_ends. */
static KH_HD_CALLED void kh_places_add(kh_matching *m, const kh_segment *s, uint32_t mate,
				       const kh_region *r, uint32_t strand, int64_t at,
				       uint32_t bin)
{
	kh_found *f = &m->found[mate];
	kh_place p;
	kh_laid l;

	if (f->n_places == kh_places_most(m->db, s))
		return;
	p.number = kh_place_number(mate, strand, at);
	p.target = kh_match_target(m->db, bin);
	l = kh_place_laid(m, s, &p);
	p.fit = kh_text_fit(&l, at, 0, l.len);
	p.hsp = kh_hsp_of(&p.fit);
	if (kh_place_has_ends(m, s, f, r->n, &p))
		kh_text_fit_ends(&l, at, !s->whole, &p.fit);
	kh_place_see_hsp(m, f, &p);
	f->best = p.fit.score > f->best ? p.fit.score : f->best;
	f->n_places++;
	m->place[m->n_place++] = p;
}

/* A seed as it stands in a mate and in its reverse complement: k bases, and where they begin. */
typedef struct kh_seed_strands {
	uint32_t at[2];
	uint64_t bases[2];
} kh_seed_strands;

static KH_HD kh_seed_strands kh_seed_strands_of(const kh_matching *m, const kh_segment *s,
						uint32_t mate, uint32_t pos)
{
	const uint32_t k = m->db->sampling.k, back = s->mate[mate].len - k - pos;
	const kh_seed_strands x = { { pos, back },
				    { kh_packed_bits(m->read[mate][0].base, pos, k),
				      kh_packed_bits(m->read[mate][1].base, back, k) } };

	return x;
}

#define KH_ALIKE 4

/* Does a seed lie in a bin on one of the last n places?  Nearly all seeds of a region lie on the
 * place that the first one found. */
static KH_HD bool kh_places_have_anchor(const kh_matching *m, uint32_t n, const uint32_t at[2],
					uint32_t bin)
{
	const int64_t stride = m->db->sampling.stride, from = bin * stride;

	for (const kh_place *p = m->place + m->n_place - n; n > 0; n--, p++) {
		const int64_t here = kh_place_at(p) + at[kh_place_strand(p)];

		if (here >= from && here < from + stride &&
		    kh_match_in_target(m->db, p->target, bin))
			return true;
	}
	return false;
}

/* A seed's first bases, each 32 times, as it stands in a mate and in its reverse complement. */
typedef struct kh_seed_begins {
	uint64_t base[2][KH_ALIKE];
} kh_seed_begins;

/* Base i of some, 32 times. */
static KH_HD uint64_t kh_text_each(uint64_t bases, int i)
{
	return (bases >> 2 * i & 3) * KH_TEXT_LOW;
}

static KH_HD kh_seed_begins kh_seed_begins_of(const kh_seed_strands *f)
{
	const uint64_t a = f->bases[0], b = f->bases[1];
	const kh_seed_begins x = { { { kh_text_each(a, 0), kh_text_each(a, 1), kh_text_each(a, 2),
				       kh_text_each(a, 3) },
				     { kh_text_each(b, 0), kh_text_each(b, 1), kh_text_each(b, 2),
				       kh_text_each(b, 3) } } };

	return x;
}

/* Of 32 bases of the text, and the ones behind them: the low bit of those where the text goes on as
 * a seed begins. */
static KH_HD uint64_t kh_text_begin_so(const uint64_t base[KH_ALIKE], uint64_t here, uint64_t next)
{
	uint64_t differ = here ^ base[0];

	for (int i = 1; i < KH_ALIKE; i++)
		differ |= (here >> 2 * i | next << (64 - 2 * i)) ^ base[i];
	return ~(differ | differ >> 1) & KH_TEXT_LOW;
}

/* Compares the mate where the text has the seed, which begins with one of the bases `alike` from
 * base `from` on as it stands in a strand. */
static KH_HD void kh_anchor_compare_at(kh_matching *m, const kh_segment *s, uint32_t mate,
				       const kh_region *r, const kh_seed_strands *f, uint32_t bin,
				       int64_t from, const uint64_t alike[2])
{
	const uint64_t mask = kh_kmer_mask(m->db->sampling.k);
	const uint32_t *bases = kh_match_text(m->db, from);

	for (uint64_t any = alike[0] | alike[1]; any != 0; any &= any - 1) {
		const uint64_t bit = any & (0 - any);
		const int64_t at = from + kh_text_lowest(any);
		const uint64_t here = kh_text_bases(bases, (uint64_t)at) & mask;

		for (uint32_t strand = 0; strand < 2; strand++)
			if (alike[strand] & bit && here == f->bases[strand])
				kh_places_add(m, s, mate, r, strand, at - f->at[strand], bin);
	}
}

#ifdef KH_TEXT_SSE2
/* Compares the mate at each place where the text of the anchor's bin has the seed: by its first
 * four bases in 16 places at a time, then by all. */
static inline void kh_anchor_compare(kh_matching *m, const kh_segment *s, uint32_t mate,
				     const kh_region *r, const kh_seed_strands *f, uint32_t bin)
{
	const uint64_t mask = kh_kmer_mask(m->db->sampling.k);
	const int64_t from = (int64_t)bin * m->db->sampling.stride;
	const uint32_t *text = kh_match_text(m->db, from);
	const __m128i begin[2] = { _mm_set1_epi8((char)f->bases[0]),
				   _mm_set1_epi8((char)f->bases[1]) };

	for (uint32_t i = 0; i < m->db->sampling.stride; i += KH_TEXT_WORD) {
		const uint64_t here = kh_text_bases(text, (uint64_t)from + i);
		const __m128i fours = kh_text_fours_of(here);
		uint32_t alike[2];

		for (uint32_t strand = 0; strand < 2; strand++)
			alike[strand] = (uint32_t)_mm_movemask_epi8(
				_mm_cmpeq_epi8(fours, begin[strand]));
		for (uint32_t any = alike[0] | alike[1]; any != 0; any &= any - 1) {
			const uint32_t j = (uint32_t)__builtin_ctz(any);
			const int64_t at = from + i + j;
			const uint64_t bases = kh_text_bases(text, (uint64_t)at) & mask;

			for (uint32_t strand = 0; strand < 2; strand++)
				if (alike[strand] >> j & 1 && bases == f->bases[strand])
					kh_places_add(m, s, mate, r, strand, at - f->at[strand],
						      bin);
		}
	}
}
#else
/* Compares the mate at each place where the text of the anchor's bin has the seed. */
static KH_HD void kh_anchor_compare(kh_matching *m, const kh_segment *s, uint32_t mate,
				    const kh_region *r, const kh_seed_strands *f, uint32_t bin)
{
	const uint32_t stride = m->db->sampling.stride;
	const int64_t from = (int64_t)bin * stride;
	const uint32_t *bases = kh_match_text(m->db, from);
	const kh_seed_begins x = kh_seed_begins_of(f);
	uint64_t next = kh_text_bases(bases, (uint64_t)from);

	for (uint32_t i = 0; i < stride; i += 32) {
		const uint64_t first = kh_text_first(stride - i < 32 ? stride - i : 32);
		const uint64_t here = next;
		uint64_t alike[2];

		next = kh_text_bases(bases, (uint64_t)from + i + 32);
		alike[0] = kh_text_begin_so(x.base[0], here, next) & first;
		alike[1] = kh_text_begin_so(x.base[1], here, next) & first;
		kh_anchor_compare_at(m, s, mate, r, f, bin, from + i, alike);
	}
}
#endif

/* Where the seeds of a mate that lies at a place are: one at base `pos` of the mate is at base
 * `at` + pos, or, if the mate is turned, `at` - pos. */
typedef struct kh_place_seeds {
	int64_t at;
	uint32_t turned;
	uint32_t first, bins;           /* bins of its target */
} kh_place_seeds;

static KH_HD kh_place_seeds kh_place_seeds_of(const kh_matching *m, const kh_segment *s,
					      const kh_place *p)
{
	const uint32_t stride = m->db->sampling.stride, first = m->db->bins.first[p->target];
	const uint32_t back = s->mate[kh_place_mate(p)].len - m->db->sampling.k;
	const uint64_t end = m->db->stretch[p->target].end;
	const kh_place_seeds x = { kh_place_at(p) + (kh_place_strand(p) ? back : 0),
				   kh_place_strand(p), first,
				   (uint32_t)((end + stride - 1) / stride) - first };

	return x;
}

#ifndef __CUDACC__
/* As kh_anchors_first_off, where all bins are of the target. */
static inline uint32_t kh_anchors_first_off_in(const kh_found *f, kh_place_seeds x, int64_t stride,
					       uint32_t i, uint32_t end)
{
	const int64_t minus = -(int64_t)x.turned;

	for (; i < end; i++) {
		const int64_t pos = f->pos[(uint32_t)f->anchor[i]];
		const int64_t here = x.at + ((pos ^ minus) - minus);

		if ((uint64_t)(here - kh_anchor_bin(f->anchor[i]) * stride) >=
		    (uint64_t)stride)
			break;
	}
	return i;
}
#endif

/* The first anchor from number i on, of those in front of `end`, whose seed is not there. */
static KH_HD uint32_t kh_anchors_first_off(const kh_found *f, kh_place_seeds x, int64_t stride,
					   uint32_t i, uint32_t end)
{
#ifndef __CUDACC__
	if (i < end && kh_anchor_bin(f->anchor[i]) - x.first < x.bins &&
	    kh_anchor_bin(f->anchor[end - 1]) - x.first < x.bins)
		return kh_anchors_first_off_in(f, x, stride, i, end);
#endif
	for (; i < end; i++) {
		const uint32_t bin = kh_anchor_bin(f->anchor[i]);
		const int64_t pos = f->pos[(uint32_t)f->anchor[i]];
		const int64_t here = x.turned ? x.at - pos : x.at + pos;

		if ((uint64_t)(here - bin * stride) >= (uint64_t)stride ||
		    bin - x.first >= x.bins)
			break;
	}
	return i;
}

static KH_HD_CALLED void kh_region_compare(kh_matching *m, const kh_segment *s, uint32_t mate,
					   kh_region *r)
{
	const kh_found *f = &m->found[mate];
	const uint32_t before = m->n_place, stride = m->db->sampling.stride;
	const uint32_t back = s->mate[mate].len - m->db->sampling.k, end = r->from + r->n;
	kh_place_seeds first = { 0, 0, 0, 0 };  /* of the first place, on which nearly all lie */

	if (kh_match_is_thin(m->db)) {
		kh_thin_places(m, s, mate, r, kh_places_most(m->db, s));
		return;
	}
	r->loss = KH_REGION_DONE;
	for (uint32_t i = r->from; i < end; i++) {
		if (first.bins > 0)
			i = kh_anchors_first_off(f, first, stride, i, end);
		if (i == end || m->n_place - before >= KH_MATCH_DIAGONALS)
			break;
		const uint32_t bin = kh_anchor_bin(f->anchor[i]);
		const uint32_t pos = f->pos[(uint32_t)f->anchor[i]];
		const uint32_t n = m->n_place - before, at[2] = { pos, back - pos };

		if (n == 0 || !kh_places_have_anchor(m, n, at, bin)) {
			const kh_seed_strands x = kh_seed_strands_of(m, s, mate, pos);

			kh_anchor_compare(m, s, mate, r, &x, bin);
			if (n == 0 && m->n_place > before)
				first = kh_place_seeds_of(m, s, &m->place[before]);
		}
	}
}

/* --- too many regions --------------------------------------------------------------------- */
/* May the comparison ask for other seeds?  That of a part does not: whether its other seeds are
 * looked up is decided before (kh_part_has_enough). */
static KH_HD bool kh_segment_has_more(const kh_segment *s)
{
	return s->whole &&
	       s->mate[0].asked + s->mate[1].asked < s->mate[0].seeds + s->mate[1].seeds;
}

/* There are too many regions for all to be compared: the heaviest are, when all seeds are known. */
static KH_HD void kh_regions_compare_crowd(kh_matching *m, const kh_segment *s, uint32_t mate,
					   uint32_t slack)
{
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &m->found[mate];
	uint16_t order[KH_MATCH_ANCHORS];

	if (kh_segment_has_more(s)) {
		f->crowd = 1;
		return;
	}
	kh_regions_weigh(m, mate);
	kh_regions_by_weight(f, order);
	for (uint32_t i = 0; i < f->n_regions && f->n_places < kh_places_most(m->db, s); i++)
		if (kh_region_may(&f->region[order[i]], len, (int64_t)f->best - slack))
			kh_region_compare(m, s, mate, &f->region[order[i]]);
}

/* Compares the mate in the regions that could have this score, if there is room.  Was there one? */
static KH_HD bool kh_regions_compare_from(kh_matching *m, const kh_segment *s, uint32_t mate,
					  int64_t score, uint32_t slack)
{
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &m->found[mate];
	uint32_t n = 0;

#ifndef __CUDA_ARCH__
	f->least = score < f->least ? (int32_t)score : f->least;
#endif
	for (uint32_t i = 0; i < f->n_regions; i++)
		n += kh_region_may(&f->region[i], len, score);
	if (n > kh_places_most(m->db, s) - f->n_places) {
		kh_regions_compare_crowd(m, s, mate, slack);
		return true;
	}
	for (uint32_t i = 0; i < f->n_regions && n > 0; i++)
		if (kh_region_may(&f->region[i], len, score))
			kh_region_compare(m, s, mate, &f->region[i]);
	return n > 0;
}

#ifndef __CUDACC__
/* The regions with the least loss, of those that were not compared, in order; their number. */
static inline uint32_t kh_regions_likeliest(const kh_found *f, uint16_t which[KH_MATCH_ANCHORS],
					    uint32_t *loss)
{
	uint32_t n = 0, least = KH_REGION_DONE;

	KH_UNROLLED
	for (uint32_t i = 0; i < f->n_regions; i++) {
		const uint32_t here = f->region[i].loss;

		n = here < least ? 0 : n;
		least = here < least ? here : least;
		which[n] = (uint16_t)i;
		n += here == least;
	}
	*loss = least;
	return n;
}

/* As kh_regions_compare_from, of these regions. */
static inline void kh_regions_compare_these(kh_matching *m, const kh_segment *s, uint32_t mate,
					    const uint16_t *which, uint32_t n, uint32_t loss,
					    uint32_t slack)
{
	const int32_t score = (int32_t)s->mate[mate].len - (int32_t)loss;
	kh_found *f = &m->found[mate];

	f->least = score < f->least ? score : f->least;
	if (n > kh_places_most(m->db, s) - f->n_places) {
		kh_regions_compare_crowd(m, s, mate, slack);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		kh_region_compare(m, s, mate, &f->region[which[i]]);
}
/* Compares the mate in regions that could be as good as its best one, less `slack`: those first
 * that could be best. */
static KH_HD void kh_regions_compare_best(kh_matching *m, const kh_segment *s, uint32_t mate,
					  uint32_t slack)
{
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &m->found[mate];
	uint16_t which[KH_MATCH_ANCHORS];

	while (!f->crowd) {
		uint32_t loss, n = kh_regions_likeliest(f, which, &loss);

		if (loss >= len || len - loss + slack < f->best)
			break;
		kh_regions_compare_these(m, s, mate, which, n, loss, slack);
	}
}
#else
static KH_HD void kh_regions_compare_best(kh_matching *m, const kh_segment *s, uint32_t mate,
					  uint32_t slack)
{
	const uint32_t len = s->mate[mate].len;
	kh_found *f = &m->found[mate];
	uint32_t loss;

	while (!f->crowd && (loss = kh_regions_least_loss(f)) < len &&
	       len - loss + slack >= f->best)
		kh_regions_compare_from(m, s, mate, (int64_t)len - loss, slack);
}
#endif

/* --- their order -------------------------------------------------------------------------- */
/* Puts places in order.  Equal ones stay as they are. */
static KH_HD void kh_places_sort(kh_matching *m)
{
	kh_place *p = m->place;

	for (uint32_t i = 1; i < m->n_place; i++) {
#ifndef __CUDACC__
		if (p[i - 1].number <= p[i].number)
			continue;
#endif
		const kh_place x = p[i];
		uint32_t j = i;

		for (; j > 0 && p[j - 1].number > x.number; j--)
			p[j] = p[j - 1];
		p[j] = x;
	}
}

#endif
