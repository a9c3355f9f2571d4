/*
 * match_short.h - what a thread of match.cu does by itself: the short way of most fragments   [HD]
 *
 * Of ten reads, nine have seeds whose bins lie close together, the text has them at one place, or
 * at two on both sides of a gap, and no other one could be as good; or there is none at all.  A
 * thread decides these, as match_score.h would, with rooms for a few candidates and these places.
 * It asks first for seeds that do not overlap, and for all if these do not suffice, as the CPU
 * does.  All that is not so simple is left to a warp.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_H
#define KH_CUDA_KERNELS_MATCH_SHORT_H

#include "cuda/kernels/match_item.h"
#include "cuda/kernels/match_short_found.h"

enum { KH_SHORT_SEEDS = 32, KH_SHORT_CANDIDATES = 40 };

/* DONE: the fragment has its call; AGAIN: some seeds were not asked for, and what was is not
 * enough; LEFT: it is not as simple as that. */
typedef enum kh_short_end { KH_SHORT_DONE, KH_SHORT_AGAIN, KH_SHORT_LEFT } kh_short_end;

typedef struct kh_short_rooms {
	kh_oriented read[2];
	uint64_t key[KH_SHORT_SEEDS], candidate[KH_SHORT_CANDIDATES];
	uint16_t pos[KH_SHORT_SEEDS];
	uint16_t region[KH_SHORT_CANDIDATES];   /* its loss << 8 | its number */
	uint8_t from[KH_SHORT_CANDIDATES + 1];
} kh_short_rooms;

/* --- seeds ------------------------------------------------------------------------------ */
/* Finds the positions of a mate's seeds, all or those that begin behind the one before, and counts
 * all. */
static KH_HD uint32_t kh_short_choose(const uint32_t *mark, kh_mate *a, uint32_t k, bool all,
				      uint16_t *pos)
{
	uint32_t n = 0, next = 0, seeds = 0;

	for (uint32_t w = 0; 32 * w < a->len; w++) {
		uint32_t m = kh_small_marks(mark, a, k, w);

		seeds += kh_count_bits(m);
		for (; m; m &= m - 1) {
			const uint32_t at = 32 * w + kh_lowest_bit(m);

			if (at < next)
				continue;
			next = all ? at : at + k;
			if (n < KH_SHORT_SEEDS)
				pos[n] = (uint16_t)at;
			n++;
		}
	}
	a->seeds = seeds;
	a->asked = n;
	return n;
}

/* Begins to read 64 bytes that will be needed. */
static KH_HD void kh_short_soon(const void *p)
{
#ifdef __CUDA_ARCH__
	asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
	asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)p + 32));
#else
	__builtin_prefetch(p);
#endif
}

static KH_HD void kh_short_soon_bin(const kh_match_db *db, uint32_t bin)
{
	const uint64_t at = (uint64_t)bin * db->sampling.stride;

	kh_short_soon(kh_match_text(db, (int64_t)at) + at / KH_TEXT_WORD);
}

/* The bins of n seeds become candidates; *known: those whose list is whole.  Their number, or
 * UINT32_MAX: there are more than there is room for. */
static KH_HD uint32_t kh_short_ask(const kh_match_db *db, const kh_mate *a, kh_short_rooms *r,
				   uint32_t n, uint32_t *known)
{
	uint32_t have = 0;

	*known = 0;
	for (uint32_t i = 0; i < n; i++) {
		r->key[i] = kh_small_key(a, r->pos[i], db->sampling.k);
		kh_short_soon(kh_seed_begin(&db->seeds, r->key[i]).line);
	}
	for (uint32_t i = 0; i < n; i++) {
		const kh_small_list l = kh_small_bins(db, i, r->key[i], r->candidate + have,
						      KH_SHORT_CANDIDATES - have);

		if (!l.whole)
			continue;
		if (have + l.n > KH_SHORT_CANDIDATES)
			return UINT32_MAX;
		for (uint32_t c = have; c < have + l.n; c++)
			kh_short_soon_bin(db, kh_candidate_bin(r->candidate[c]));
		have += l.n;
		*known |= UINT32_C(1) << i;
	}
	return have;
}

/* --- regions ---------------------------------------------------------------------------- */
/* As kh_match_loss, of seeds that are missing. */
static KH_HD uint32_t kh_short_loss(const uint16_t *pos, uint32_t missing, uint32_t k, uint32_t len)
{
	uint32_t loss = 0, next = 0;

	for (; missing; missing &= missing - 1) {
		const uint32_t at = pos[kh_lowest_bit(missing)];

		if (at < next)
			continue;
		next = at + k;
		loss += at == 0 || next == len ? 1 : 2;
	}
	return loss;
}

/* Makes regions of n candidates; their number. */
static KH_HD uint32_t kh_short_regions(const kh_match_db *db, kh_short_rooms *r, uint32_t len,
				       uint32_t n, uint32_t known)
{
	const uint32_t k = db->sampling.k;
	const uint32_t far = len < k ? 0 : (len - k) / db->sampling.stride + 1;
	uint32_t regions = 0;

	kh_places_sort_candidates(r->candidate, NULL, n);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || kh_candidate_bin(r->candidate[i]) -
					      kh_candidate_bin(r->candidate[i - 1]) > far)
			r->from[regions++] = (uint8_t)i;
	r->from[regions] = (uint8_t)n;
	for (uint32_t i = 0; i < regions; i++) {
		uint32_t missing = known;

		for (uint32_t c = r->from[i]; c < r->from[i + 1]; c++)
			missing &= ~(UINT32_C(1) << (uint32_t)r->candidate[c]);
		r->region[i] = (uint16_t)(kh_short_loss(r->pos, missing, k, len) << 8 | i);
	}
	return regions;
}

/* The first region behind `last`, by loss and then in order; UINT32_MAX: there is none. */
static KH_HD uint32_t kh_short_next(const kh_short_rooms *r, uint32_t n, uint32_t last)
{
	uint32_t next = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (r->region[i] < next && (last == UINT32_MAX || r->region[i] > last))
			next = r->region[i];
	return next;
}

/* --- places ----------------------------------------------------------------------------- */
/* How often the text of a bin has a seed; the mate lies at *number where it was found last. */
static KH_HD uint32_t kh_short_look(const kh_match_db *db, const kh_stands *f, uint32_t mate,
				    uint32_t bin, uint64_t *number)
{
	const uint64_t mask = kh_kmer_mask(db->sampling.k);
	const uint32_t stride = db->sampling.stride;
	uint32_t n = 0;

	for (uint32_t i = 0; i < stride; i += 32) {
		const uint64_t from = (uint64_t)bin * stride + i;
		const uint64_t first = kh_text_first(stride - i < 32 ? stride - i : 32);
		const uint32_t *bases = kh_match_text(db, (int64_t)from);
		uint64_t text[KH_ALIKE];

		for (uint32_t t = 0; t < KH_ALIKE; t++)
			text[t] = kh_text_bases(bases, from + t);
		const uint64_t as_is = kh_text_alike(f->bases[0], text) & first;
		const uint64_t back = kh_text_alike(f->bases[1], text) & first;

		for (uint64_t any = as_is | back; any; any &= any - 1) {
			const uint64_t bit = any & (0 - any), at = from + kh_text_lowest(any);
			const uint64_t here = kh_text_bases(bases, at) & mask;

			for (uint32_t s = 0; s < 2; s++)
				if ((s ? back : as_is) & bit && here == f->bases[s]) {
					*number = kh_place_number(mate, s,
								  (int64_t)at - f->at[s]);
					n++;
				}
		}
	}
	return n;
}

static KH_HD kh_stands kh_short_stands(const kh_short_rooms *r, uint32_t k, uint32_t len,
				       uint32_t pos)
{
	const kh_stands x = { { pos, len - k - pos },
			      { kh_packed_bits(r->read[0].base, pos, k),
				kh_packed_bits(r->read[1].base, len - k - pos, k) } };

	return x;
}

/* As kh_places_have, of one place. */
static KH_HD bool kh_short_lies(const kh_match_db *db, const kh_spot *p, const kh_stands *f,
				uint32_t bin)
{
	const int64_t stride = db->sampling.stride, from = bin * stride;
	const int64_t here = kh_place_at(p) + f->at[kh_place_strand(p)];

	return here >= from && here < from + stride && kh_match_in_target(db, p->target, bin);
}

/* Compares the mate at a place, as kh_places_add does. */
static KH_HD kh_spot kh_short_fit(const kh_match_db *db, const kh_short_rooms *r, uint32_t len,
				  uint64_t number, uint32_t bin, kh_short_found *f)
{
	kh_spot spot = { number, kh_match_target(db, bin), { 0, 0, 0, 0, 0 } }, *p = &spot;
	const kh_laid l = { &r->read[kh_place_strand(p)], len, kh_match_text(db, kh_place_at(p)),
			    kh_match_begin(db, p->target), db->end[p->target] };

	p->fit = kh_text_fit(&l, kh_place_at(p), 0, len);
	const uint32_t stretch = p->fit.score;

	if (4 * stretch >= f->stretch)
		kh_text_fit_ends(&l, kh_place_at(p), false, &p->fit);
	f->stretch = stretch > f->stretch ? stretch : f->stretch;
	return spot;
}

/* Compares the mate in its regions, the best first, as kh_places_best does.  False: it is
 * not as simple as that. */
static KH_HD bool kh_short_places(const kh_match_db *db, const kh_short_rooms *r, uint32_t mate,
				  uint32_t len, uint32_t regions, uint32_t slack, uint32_t most,
				  kh_short_found *f)
{
	const uint32_t k = db->sampling.k;
	uint32_t region = UINT32_MAX, c = 0, end = 0, score = 0, places = 0;

	f->n_places = f->stretch = f->n_worse = 0;
	f->tie = KH_SHORT_ONE;
	for (;;) {
		if (c == end) {
			const uint32_t loss = region >> 8;

			region = kh_short_next(r, regions, region);
			f->next = region == UINT32_MAX ? UINT32_MAX : region >> 8;
			if (f->next != loss &&
			    (f->next >= len || len - f->next + slack < score))
				return true;
			c = r->from[region & 255];
			end = r->from[(region & 255) + 1];
		}
		const uint64_t candidate = r->candidate[c++];
		const uint32_t bin = kh_candidate_bin(candidate);
		const kh_stands x = kh_short_stands(r, k, len, r->pos[(uint32_t)candidate]);
		bool lies = false;
		uint64_t number = 0;

		for (uint32_t i = 0; i < f->n_places; i++)
			lies |= kh_short_lies(db, &f->place[i], &x, bin);
		if (lies)
			continue;
		const uint32_t n = kh_short_look(db, &x, mate, bin, &number);

		if (n == 0)
			continue;
		/* it might be a crowd */
		if (n > 1 || regions + places++ >= most)
			return false;
		const kh_spot p = kh_short_fit(db, r, len, number, bin, f);

		if (!kh_short_add(db, &p, slack, f))
			return false;
		score = f->place[0].fit.score;
	}
}

/* --- k-mers that are counted ------------------------------------------------------------ */
/* Those of a mate, and those that the text has where it lies: as kh_places_kmers and
 * kh_places_hits_of. */
static KH_HD void kh_short_count(const kh_match_db *db, const kh_short_rooms *r, uint32_t len,
				 kh_short_found *f)
{
	const kh_spot *p = f->place;
	const uint32_t k = KH_TEXT_KMER;
	const bool back = f->n_places && kh_place_strand(p) != 0;
	uint64_t wrong[KH_SHORT_PLACES][KH_TEXT_WORDS + 1], any = 0;

	f->kmers = f->hits = 0;
	for (uint32_t i = 0; i < len; i += 32)
		any |= r->read[0].unknown[i / 32];
	if (!any)
		f->kmers = len < k ? 0 : (len - k) / KH_TEXT_STEP + 1;
	for (uint32_t i = 0; any && i + k <= len; i += KH_TEXT_STEP)
		f->kmers += kh_packed_bits(r->read[0].unknown, i, k) == 0;
	if (f->n_places == 0)
		return;
	const kh_laid l = { &r->read[back], len, kh_match_text(db, kh_place_at(p)),
			    kh_match_begin(db, p->target), db->end[p->target] };

	for (uint32_t d = 0; d < f->n_places; d++) {
		for (uint32_t i = 0; i < len; i += 32)
			wrong[d][i / 32] = kh_text_differs(&l, kh_place_at(&p[d]), i);
		wrong[d][(len + 31) / 32] = 0;
	}
	for (uint32_t i = 0; i + k <= len; i += KH_TEXT_STEP) {
		const uint32_t from = back ? len - k - i : i;
		bool has = kh_packed_bits(wrong[0], from, k) == 0;

		if (!has && f->n_places > 1)
			has = kh_packed_bits(wrong[1], from, k) == 0;
		f->hits += has;
	}
}

/* --- a fragment ------------------------------------------------------------------------- */
/* Compares a mate.  False: it is not as simple as that. */
static KH_HD bool kh_short_mate(const kh_match_db *db, const uint32_t *mark, kh_mates *s,
				uint32_t mate, bool all, kh_short_found *f)
{
	kh_mate *a = &s->mate[mate];
	kh_short_rooms r;
	uint32_t known;
	const uint32_t n = kh_short_choose(mark, a, db->sampling.k, all, r.pos);
	const uint32_t candidates = n > KH_SHORT_SEEDS ? UINT32_MAX
						       : kh_short_ask(db, a, &r, n, &known);

	if (candidates == UINT32_MAX)
		return false;
	kh_text_read(r.read, a->bases, a->amb, a->at, a->len);
	const uint32_t regions = kh_short_regions(db, &r, a->len, candidates, known);

	f->unseen = kh_short_loss(r.pos, known, db->sampling.k, a->len);
	if (regions > kh_places_most(s) ||
	    !kh_short_places(db, &r, mate, a->len, regions, kh_match_slack(db, s),
			     kh_places_most(s), f))
		return false;
	kh_short_count(db, &r, a->len, f);
	return true;
}

/* The claim of two mates that have a place each; `more`: and others.  False: they are of two
 * species, or one of them is as good as both, or another place might be beside the other mate. */
static KH_HD bool kh_short_both(const kh_match_db *db, const kh_spot place[2], bool more,
				kh_claim *both)
{
	const kh_spot *a = &place[0], *b = &place[1];
	const int64_t apart = kh_place_at(b) - kh_place_at(a);
	const kh_claim one = kh_claim_of_one(db, place, 0), two = kh_claim_of_one(db, place, 1);
	const bool beside = a->target == b->target && kh_place_strand(a) != kh_place_strand(b) &&
			    apart >= -KH_MATCH_SPAN && apart <= KH_MATCH_SPAN;

	*both = kh_claim_together(&one, &two, beside ? 0 : KH_MATCH_APART);
	return one.species == two.species && (beside || !more) && kh_claim_better(both, &one) &&
	       kh_claim_better(both, &two);
}

/* Does it matter whose of several equal places is taken?  Not of two of the only mate that has any,
 * if their claim is too little for a call. */
static KH_HD bool kh_short_open(const kh_match_db *db, const kh_mates *s,
				const kh_short_found f[2], const kh_claim *only)
{
	const kh_short_tie tie = f[0].tie > f[1].tie ? f[0].tie : f[1].tie;
	const uint32_t seeds = s->mate[0].seeds + s->mate[1].seeds;

	return tie != KH_SHORT_ONE && (tie == KH_SHORT_UNSURE || !only ||
				       only->score >= (int32_t)db->least[kh_log2(seeds)]);
}

/* Makes the claim of what the mates have found, if there is one, in claims->v. */
static KH_HD kh_short_end kh_short_claim(const kh_match_db *db, const kh_mates *s,
					 const kh_short_found f[2], const kh_spot place[2],
					 kh_claims *claims)
{
	const uint32_t slack = kh_match_slack(db, s);
	const uint32_t n = (f[0].n_places > 0) + (f[1].n_places > 0);
	const bool more = f[0].n_places > 1 || f[1].n_places > 1 ||
			  f[0].n_worse + f[1].n_worse > 0;
	kh_claim *best = claims->v;
	bool unseen = n == 0;

	claims->n = n > 0;
	if (n == 1)
		*best = kh_claim_of_one(db, place, f[0].n_places ? 0 : 1);
	if (kh_short_open(db, s, f, n == 1 ? best : NULL))
		return KH_SHORT_LEFT;
	if (n == 2 && !kh_short_both(db, place, more, best))
		return KH_SHORT_LEFT;
	for (int i = 0; i < 2 && n > 0; i++) {
		const int64_t len = s->mate[i].len, score = (int64_t)best->score - slack;
		const int64_t other = f[!i].n_places ? f[!i].place[0].fit.score : 0;

		/* as kh_match_compare, with both mates, and kh_match_unseen */
		if (n == 2 && f[i].next != UINT32_MAX && len - f[i].next >= score - other)
			return KH_SHORT_LEFT;
		unseen |= len > 0 && score <= len - f[i].unseen + other;
	}
	if (unseen && s->mate[0].asked + s->mate[1].asked < s->mate[0].seeds + s->mate[1].seeds)
		return KH_SHORT_AGAIN;
	if (n > 0)
		best->hits = f[0].hits + f[1].hits;
	/* the other mate is to be sought */
	return n == 1 && s->mate[1].len > 0 && s->mate[0].len > 0 ? KH_SHORT_LEFT : KH_SHORT_DONE;
}

/* Compares fragment i, which is no long one, by all seeds or by some. */
static KH_HD kh_short_end kh_short_compare(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
					   bool all)
{
	kh_small_job j = kh_gpu_item(q, i);
	kh_short_found f[2];
	kh_claim claim = kh_claim_none(0);
	kh_claims claims = { &claim, NULL, 0, 1, NULL };
	kh_short_end end;

	f[1].tie = KH_SHORT_ONE;
	f[1].n_worse = f[1].n_places = f[1].kmers = f[1].hits = f[1].unseen = 0;
	for (uint32_t mate = 0; mate < 2; mate++)
		if ((mate == 0 || j.s.mate[mate].len > 0) &&
		    !kh_short_mate(db, j.mark, &j.s, mate, all, &f[mate]))
			return KH_SHORT_LEFT;
	const kh_spot place[2] = { f[0].place[0], f[1].place[0] };

	end = kh_short_claim(db, &j.s, f, place, &claims);
	if (end == KH_SHORT_DONE)
		q->call[i] = kh_small_decide(db, place, &claims, &j.s, claims.n ? &claim : NULL,
					     kh_extent_empty(), f[0].kmers + f[1].kmers,
					     q->rule.confidence,
					     q->candidates ? &q->candidates[i] : NULL);
	return end;
}

#endif
