/*
 * match_short.h - what a thread of match.cu does by itself: the short way of most fragments   [HD]
 *
 * Of ten reads, nine have seeds whose bins lie close together, the text has them at one place, or
 * at two on both sides of a gap, and no other one could be as good; or there is none at all.  A
 * thread decides these, as match_score.h would, with rooms for a few candidates and these places.
 * It asks first for seeds that do not overlap, and for all if these do not suffice, as the CPU
 * does.  Where regions are a crowd, it compares all of them, and sees whether that can matter; and
 * what is too little for a call need not be known better.  All that is not so simple is left to a
 * warp.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_H
#define KH_CUDA_KERNELS_MATCH_SHORT_H

#include "cuda/kernels/match_short_way.h"

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
	const kh_laid l = kh_match_laid(db, &r->read[back], len, kh_place_at(p), p->target);

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

/* --- features that are found ------------------------------------------------------------ */
/* Which of a mate's seeds the text has where it lies, as kh_places_have_seed, by their order. */
static KH_HD uint64_t kh_short_had(const kh_match_db *db, const kh_short_rooms *r,
				   const uint32_t *mark, const kh_mate *a, const kh_short_found *f)
{
	const uint32_t k = db->sampling.k, strand = f->n_places ? kh_place_strand(f->place) : 0;
	const uint64_t mask = kh_kmer_mask(k);
	uint64_t had = 0, bit = 1;

	for (uint32_t w = 0; 32 * w < a->len && f->n_places > 0; w++)
		for (uint32_t m = kh_small_marks(mark, a, k, w); m; m &= m - 1, bit <<= 1) {
			const kh_stands x = kh_short_stands(r, k, a->len,
							    32 * w + kh_lowest_bit(m));

			for (uint32_t d = 0; d < f->n_places; d++) {
				const int64_t at = kh_place_at(&f->place[d]) + x.at[strand];

				if (at >= 0 && (kh_text_bases(kh_match_text(db, at), (uint64_t)at) &
						mask) == x.bases[strand])
					had |= bit;
			}
		}
	return had;
}

/* Writes the keys of the seeds that the mates of a claim have; their number. */
static KH_HD uint32_t kh_short_give_had(const kh_match_db *db, const kh_small_job *j,
					const kh_claim *c, const kh_short_found f[2], uint64_t *key)
{
	const uint32_t k = db->sampling.k;
	uint32_t n = 0;

	for (uint32_t mate = 0; mate < 2; mate++) {
		const kh_mate *a = &j->s.mate[mate];
		uint64_t had = c->mates >> mate & 1 ? f[mate].had : 0;

		for (uint32_t w = 0; had && 32 * w < a->len; w++)
			for (uint32_t m = kh_small_marks(j->mark, a, k, w); m;
			     m &= m - 1, had >>= 1)
				if (had & 1)
					key[n++] = kh_small_key(a, 32 * w + kh_lowest_bit(m), k);
	}
	return n;
}

/* Gives the features of a fragment that its claim has, if it has one; their number. */
static KH_HD uint32_t kh_short_found_of(const kh_gpu_query *q, const kh_match_db *db,
					const kh_small_job *j, const kh_claims *claims,
					const kh_short_found f[2], uint32_t i)
{
	const uint32_t most = claims->n ? kh_count_bits((uint32_t)f[0].had) +
						  kh_count_bits((uint32_t)(f[0].had >> 32)) +
						  kh_count_bits((uint32_t)f[1].had) +
						  kh_count_bits((uint32_t)(f[1].had >> 32))
					: 0;

	q->found_at[i] = kh_gpu_add(&q->counts[KH_GPU_FOUND], most);
	return most ? kh_short_give_had(db, j, claims->v, f, q->found + q->found_at[i]) : 0;
}

/* --- a fragment ------------------------------------------------------------------------- */
/* Finds the regions of a mate, and keeps them in *list, too.  False: there is no room. */
static KH_HD bool kh_short_begin(kh_short_way *w, kh_short_rooms *r, const uint32_t *mark,
				 kh_mate *a, kh_short_list *list, kh_short_found *f)
{
	const uint32_t k = w->db->sampling.k;
	const uint32_t n = kh_short_choose(mark, a, k, w->all, r->pos);
	uint32_t known;
	const uint32_t candidates = n > KH_SHORT_SEEDS ? UINT32_MAX
						       : kh_short_ask(w->db, a, r, n, &known);

	if (candidates == UINT32_MAX)
		return kh_short_stop(w, KH_SHORT_LEFT);
	kh_text_read(r->read, a->bases, a->amb, a->at, a->len);
	kh_short_order(r, n, k, a->len, w->all);
	w->regions = kh_short_regions(w->db, r, a->len, candidates, known);
	w->all = a->asked == a->seeds;
	kh_short_keep(r, w->regions, list);
	f->unseen = kh_short_loss(r, known);
	return true;
}

/* Compares a mate, if a thread has one; found: which of its seeds the text has is wanted. */
static KH_HD kh_short_end kh_short_mate(const kh_match_db *db, kh_small_job *j, uint32_t mate,
					bool has, bool all, bool found, kh_short_list *list,
					kh_short_found *f, kh_short_shared *shared)
{
	kh_mate *a = &j->s.mate[mate];
	kh_short_rooms r;
	kh_short_way w = { db, &r, &j->s, mate, 0, UINT32_MAX, 0, 0, 0, 0, all,
			   { 0, 0, { 0 }, { 0 }, { 0 } }, KH_SHORT_DONE };

	has = has && kh_short_begin(&w, &r, j->mark, a, list, f);
	kh_short_go(&w, has, f, shared);
	if (!has || w.ends != KH_SHORT_DONE)
		return w.ends;
	kh_short_count(db, &r, a->len, f);
	if (f->n_places > 0)
		f->strain = kh_short_strain(&w, f);
	if (found && a->seeds > 64)     /* as many as there are bits for */
		return KH_SHORT_LEFT;
	if (found)
		f->had = kh_short_had(db, &r, j->mark, a, f);
	return KH_SHORT_DONE;
}

/* Is it certain that some seeds have to be looked up that were not, as by kh_match_falls_short? */
static KH_HD bool kh_short_falls_short(const kh_mates *s, const kh_short_found f[2])
{
	const uint32_t slack = kh_match_slack_unseen(s);
	bool falls = false;

	for (uint32_t i = 0; i < 2; i++)
		falls |= s->mate[i].len > 0 && (f[i].crowd != UINT32_MAX ||
						f[i].best + f[i].unseen <= s->mate[i].len + slack);
	return falls;
}

/* Is what was found too little for a call, whatever species has it?  No claim has more than the
 * best places of both mates. */
static KH_HD bool kh_short_too_little(const kh_match_db *db, const kh_mates *s,
				      const kh_short_found f[2])
{
	int64_t least = 4 * KH_MATCH_GENUS;

	for (uint32_t i = 0; i < 2; i++)
		if (s->mate[i].len > 0 && kh_match_species_net(s->mate[i].len) < least)
			least = kh_match_species_net(s->mate[i].len);
	return !db->candidates && 4 * ((int64_t)f[0].net + f[1].net) < least &&
	       f[0].best < KH_RESCUE_SCORE && f[1].best < KH_RESCUE_SCORE;
}

/* Does a mate lie beside the other one, by places of one target? */
static KH_HD bool kh_short_beside_mate(uint64_t one, uint64_t two)
{
	const kh_spot a = { one, 0, { 0, 0, 0, 0, 0 }, 0 }, b = { two, 0, { 0, 0, 0, 0, 0 }, 0 };
	const int64_t apart = kh_place_at(&b) - kh_place_at(&a);

	return kh_place_strand(&a) != kh_place_strand(&b) && apart >= -KH_MATCH_SPAN &&
	       apart <= KH_MATCH_SPAN;
}

/* The claim of two mates that have a place each; `more`: and others.  False: they are of two
 * species, or one of them is as good as both, or another place might be beside the other mate. */
static KH_HD bool kh_short_both(const kh_match_db *db, const kh_spot place[2], bool more,
				kh_claim *both)
{
	const kh_spot *a = &place[0], *b = &place[1];
	const kh_claim one = kh_claim_of_one(db, place, 0), two = kh_claim_of_one(db, place, 1);
	const bool beside = a->target == b->target && kh_short_beside_mate(a->number, b->number);

	*both = kh_claim_together(&one, &two, beside ? 0 : KH_MATCH_APART);
	return one.species == two.species && (beside || !more) && kh_claim_better(both, &one) &&
	       kh_claim_better(both, &two);
}

/* Adds a claim that a species has, which has such a score, or raises it; the first one is the best,
 * and stays. */
static KH_HD void kh_short_add_claim(const kh_match_db *db, uint32_t target, uint32_t score,
				     kh_claims *claims)
{
	const uint32_t species = db->bins.species[target] - db->bins.n_targets;
	uint32_t i = 0;

	while (i < claims->n && claims->v[i].species != species)
		i++;
	if (i == claims->n)
		claims->v[claims->n++] = kh_claim_none(species);
	if (i > 0 && claims->v[i].score < (int32_t)score)
		claims->v[i].score = (int32_t)score;
}

/* Adds the claims of other species that are not further behind the best one than `slack`: there is
 * room for one of each place of a mate.  Those of two mates lie beside each other, as what is
 * apart, or one mate alone, is further behind. */
static KH_HD void kh_short_other_claims(const kh_match_db *db, const kh_short_found f[2], bool two,
					uint32_t slack, kh_claims *claims)
{
	static_assert(KH_MATCH_NEARBY < KH_MATCH_APART, "what is apart is no candidate");
	const uint32_t least = (uint32_t)claims->v->score - slack;
	const kh_short_found *one = &f[!two && f[0].n_places == 0];

	KH_ROLLED
	for (uint32_t i = 0; i < one->n_others; i++) {
		const kh_short_other *a = &one->other[i];

		if (!two && a->score >= least)
			kh_short_add_claim(db, a->target, a->score, claims);
		KH_ROLLED
		for (uint32_t k = 0; two && k < f[1].n_others; k++) {
			const kh_short_other *b = &f[1].other[k];

			if (a->target == b->target && a->score + b->score >= least &&
			    kh_short_beside_mate(a->number, b->number))
				kh_short_add_claim(db, a->target, a->score + b->score, claims);
		}
	}
}

/* Makes the claim of what the mates have found, if there is one, and those of candidates, in
 * claims->v. */
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
	if (f[0].tie || f[1].tie)
		return KH_SHORT_LEFT;
	if (n == 2 && (!kh_short_both(db, place, more, best) || f[0].best <= slack ||
		       f[1].best <= slack))
		return KH_SHORT_LEFT;
	for (int i = 0; i < 2 && n > 0; i++) {
		const int64_t len = s->mate[i].len, score = (int64_t)best->score - slack;
		const int64_t other = f[!i].best;

		/* as kh_match_compare, with both mates, and kh_match_unseen */
		if (n == 2 && f[i].next != UINT32_MAX && len - f[i].next >= score - other)
			return KH_SHORT_LEFT;
		unseen |= len > 0 && best->score <= len - f[i].unseen + other;
	}
	if (unseen && kh_mates_have_more(s))
		return KH_SHORT_AGAIN;
	if (n > 0 && kh_match_wants_hits(db, place, s, best))
		best->hits = f[0].hits + f[1].hits;
	if (n > 0 && slack > 0)
		kh_short_other_claims(db, f, n == 2, slack, claims);
	/* the other mate is to be sought */
	return n == 1 && s->mate[1].len > 0 && s->mate[0].len > 0 ? KH_SHORT_LEFT : KH_SHORT_DONE;
}

/* Compares fragment i, which is no long one, by all seeds or by some; without `has` a thread only
 * helps the others of its warp. */
static KH_HD kh_short_end kh_short_compare(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
					   bool has, bool all, kh_short_shared *shared)
{
	kh_small_job j = kh_gpu_item(q, i);
	kh_short_found f[2] = { kh_short_nothing(), kh_short_nothing() };
	kh_claim claim[1 + KH_SHORT_OTHERS];
	kh_claims claims = { claim, NULL, 0, 1 + KH_SHORT_OTHERS, NULL };
	kh_short_end end = KH_SHORT_DONE;
	kh_short_list list[2];

	list[1].n = 0;
	for (uint32_t mate = 0; mate < 2; mate++) {
		const bool go = has && end == KH_SHORT_DONE &&
				(mate == 0 || j.s.mate[mate].len > 0);

		if (!kh_short_any(go))
			continue;
		const kh_short_end how = kh_short_mate(db, &j, mate, go, all, q->found != NULL,
						       &list[mate], &f[mate], shared);

		end = go ? how : end;
	}
	if (!has || end != KH_SHORT_DONE)
		return end;
	const bool more = kh_mates_have_more(&j.s);
	const kh_spot place[2] = { f[0].place[0], f[1].place[0] };

	if (more && kh_short_falls_short(&j.s, f))
		return KH_SHORT_AGAIN;
	if (more || q->found || !kh_short_too_little(db, &j.s, f)) {
		for (uint32_t mate = 0; mate < 2; mate++)
			if (f[mate].unclear || kh_short_crowded(db, list, mate, f[mate].crowd))
				return KH_SHORT_LEFT;
		end = kh_short_claim(db, &j.s, f, place, &claims);
	}
	if (end != KH_SHORT_DONE)
		return end;
	kh_call c = kh_small_decide(db, place, &claims, &j.s, claims.n ? claim : NULL,
				    kh_extent_empty(), f[0].kmers + f[1].kmers, q->rule.confidence,
				    q->candidates ? &q->candidates[i] : NULL);
	/* the hits of the second-best species a warp finds out */
	if (claims.n > 1 && db->candidates == KH_WANT_SECOND)
		return KH_SHORT_LEFT;
	if (claims.n && kh_match_may_be_strain(db, claim->species, c.taxon)) {
		c.taxon = kh_short_strain_of(db, claim, f);
		if (c.taxon == KH_NO_TAXON)
			return KH_SHORT_LEFT;
	}
	if (q->found)
		c.found = kh_short_found_of(q, db, &j, &claims, f, i);
	q->call[i] = c;
	return KH_SHORT_DONE;
}

#endif
