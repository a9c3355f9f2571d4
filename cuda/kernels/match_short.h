/*
 * match_short.h - what a thread of match_kernels.cuh does by itself: the short way of most
 * fragments   [HD]
 *
 * Of ten reads, nine have seeds whose bins lie close together, the text has them at one place, or
 * at two on both sides of a gap, and no other one could be as good; or there is none at all.  Or
 * all places are there by chance, each of another species.  A thread decides these, as
 * match_score.h would, with rooms for a few anchors and places.
 * It asks first for seeds that do not overlap, and for all if these do not suffice, as the CPU
 * does.  Where regions are a crowd, it compares all of them, and sees whether that can matter; and
 * what is too little for a call need not be known better.  All that is not so simple is left to a
 * warp.
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_H
#define KH_CUDA_KERNELS_MATCH_SHORT_H

#include "cuda/kernels/match_short_way.h"

/* --- k-mers that are counted ------------------------------------------------------------ */
/* The columns of a mate that differ from the text at each of its places. */
typedef struct kh_short_wrong {
	uint64_t at[KH_SHORT_PLACES][KH_TEXT_WORDS + 1];
} kh_short_wrong;

static KH_HD void kh_short_differ(const kh_match_db *db, const kh_short_rooms *r, uint32_t len,
				  const kh_short_found *f, kh_short_wrong *to)
{
	for (uint32_t d = 0; d < f->n_places; d++) {
		const kh_place *p = kh_short_place(f, d);
		const kh_laid l = kh_short_laid(db, r, len, p);

		for (uint32_t i = 0; i < len; i += 32)
			to->at[d][i / 32] = kh_text_differs(&l, kh_place_at(p), i);
		to->at[d][(len + 31) / 32] = 0;
	}
}

/* Counts the k-mers of a mate, and those that the text has where it lies: as kh_mate_kmers and
 * kh_place_hits. */
static KH_HD void kh_short_count(const kh_short_rooms *r, uint32_t len, const kh_short_wrong *wrong,
				 kh_short_found *f)
{
	const uint32_t k = KH_TEXT_KMER;
	const bool back = f->n_places && kh_place_strand(kh_short_place(f, 0)) != 0;
	uint64_t any = 0;

	f->kmers = f->hits = 0;
	for (uint32_t i = 0; i < len; i += 32)
		any |= r->read[0].unknown[i / 32];
	if (!any)
		f->kmers = len < k ? 0 : (len - k) / KH_TEXT_STEP + 1;
	for (uint32_t i = 0; any && i + k <= len; i += KH_TEXT_STEP)
		f->kmers += kh_packed_bits(r->read[0].unknown, i, k) == 0;
	for (uint32_t i = 0; f->n_places > 0 && i + k <= len; i += KH_TEXT_STEP) {
		const uint32_t from = back ? len - k - i : i;
		bool has = kh_packed_bits(wrong->at[0], from, k) == 0;

		if (!has && f->n_places > 1)
			has = kh_packed_bits(wrong->at[1], from, k) == 0;
		f->hits += has;
	}
}

/* --- features that are found ------------------------------------------------------------ */
/* Has the text a seed of a mate at a place, as kh_diagonals_have_seed? */
static KH_HD bool kh_short_has_seed(const kh_match_db *db, const kh_short_rooms *r,
				    const kh_place *p, const kh_seed_strands *x)
{
	const uint32_t k = db->sampling.k, strand = kh_place_strand(p);
	const int64_t at = kh_place_at(p) + x->at[strand];

	return at >= 0 && (kh_text_bases(kh_short_text(db, r, at, k), (uint64_t)at) &
			   kh_kmer_mask(k)) == x->bases[strand];
}

/* Do the columns that differ say which seeds the text has at a place?  Alleles, too, count as the
 * text's bases, and what is beside the target differs. */
static KH_HD bool kh_short_differs_tell(const kh_match_db *db, const kh_place *p, uint32_t len)
{
	const int64_t at = kh_place_at(p), begin = (int64_t)kh_match_begin(db, p->target);
	const kh_text_stretch *s = &db->stretch[p->target];

	return !(KH_ALLELES && s->alleles > 0) && at >= begin && at + len <= (int64_t)s->end;
}

/* Has the text a seed, the k-mer at base `pos`, at one of the places where a mate lies, as
 * kh_diagonals_have_seed?  Bit d of `tell`: the columns that differ say so of place d. */
static KH_HD bool kh_short_had(const kh_match_db *db, const kh_short_rooms *r, uint32_t len,
			       uint32_t pos, const kh_short_wrong *wrong,
			       const kh_short_found *f, uint32_t tell)
{
	const uint32_t k = db->sampling.k;
	bool has = false;

	for (uint32_t d = 0; d < f->n_places && !has; d++) {
		const kh_place *p = kh_short_place(f, d);
		const uint32_t from = kh_place_strand(p) ? len - k - pos : pos;

		if (tell >> d & 1) {
			has = kh_packed_bits(wrong->at[d], from, k) == 0;
		} else {
			const kh_seed_strands x = kh_short_stands(r, k, len, pos);

			has = kh_short_has_seed(db, r, p, &x);
		}
	}
	return has;
}

/* Writes which of a mate's seeds the text has where it lies (kh_gpu_query.had); how many. */
static KH_HD uint32_t kh_short_give_had(const kh_gpu_query *q, const kh_match_db *db,
					const kh_short_rooms *r, const kh_mate *a,
					const kh_short_wrong *wrong, const kh_short_found *f)
{
	uint32_t *const had = q->had + a->at / 32;
	uint32_t tell = 0, n = 0;

	for (uint32_t d = 0; d < f->n_places; d++)
		tell |= (uint32_t)kh_short_differs_tell(db, kh_short_place(f, d), a->len) << d;
	for (uint32_t w = 0; 32 * w < a->len; w++) {
		uint32_t m = kh_small_marks(q->mark, a, db->sampling.k, w), all = m;

		for (; m; m &= m - 1) {
			const uint32_t at = kh_lowest_bit(m);

			if (!kh_short_had(db, r, a->len, 32 * w + at, wrong, f, tell))
				all &= ~(UINT32_C(1) << at);
		}
		had[w] = all;
		n += kh_count_bits(all);
	}
	return n;
}

/* How many seeds of a fragment its claim has, if it has one; those of a mate that is not of the
 * claim are none of them. */
static KH_HD uint32_t kh_short_found_of(const kh_gpu_query *q, const kh_small_segment *j,
					const kh_claim *best, const kh_short_found f[2])
{
	uint32_t n = 0;

	for (uint32_t mate = 0; mate < 2 && best; mate++)
		if (best->mates >> mate & 1)
			n += f[mate].had;
		else
			kh_small_no_seeds(&j->s.mate[mate], q->had);
	return n;
}

/* --- a fragment ------------------------------------------------------------------------- */
/* Finds the regions of a mate.  False: there is no room. */
static KH_HD bool kh_short_begin(const kh_gpu_query *q, kh_short_way *w, kh_short_rooms *r,
				 kh_mate *a, kh_short_found *f)
{
	const kh_gpu_asked *asked = q->fetch.cap > 0 ? &q->asked[2 * w->s->number + w->mate]
						     : (const kh_gpu_asked *)0;
	const uint32_t k = w->db->sampling.k;
	const uint32_t n = kh_short_choose(q->mark, a, k, w->all, r->pos);
	uint32_t known, anchors = UINT32_MAX;

	r->n_windows = 0;
	if (asked)
		anchors = kh_short_take_asked(&q->fetch, asked, w->db, r, a->len, &known);
	else if (n <= KH_SHORT_SEEDS)
		anchors = kh_short_ask(w->db, a, r, n, &known);

	if (anchors == UINT32_MAX)
		return kh_short_stop(w, KH_SHORT_LEFT);
	kh_text_read(r->read, a->bases, a->amb, a->at, a->len);
	kh_short_order(r, n, k, a->len, w->all);
	kh_short_regions(w->db, r, a->len, anchors, known);
	w->all = a->asked == a->seeds;
	f->unseen = kh_short_loss(r, known);
	return true;
}

/* Compares a mate whose regions are known, if a thread has one. */
static KH_HD kh_short_end kh_short_mate(const kh_gpu_query *q, kh_small_segment *j, kh_short_way *w,
					bool has, kh_short_found *f, kh_short_shared *shared)
{
	const kh_mate *a = &j->s.mate[w->mate];
	kh_short_wrong wrong;

	f->first = f->kept->n;
	kh_short_go(w, has, f, shared);
	if (!has || w->ends != KH_SHORT_DONE)
		return w->ends;
	kh_short_differ(w->db, w->r, a->len, f, &wrong);
	kh_short_count(w->r, a->len, &wrong, f);
	if (f->n_places > 0)
		f->strain = kh_short_strain(w, f);
	if (q->found)
		f->had = kh_short_give_had(q, w->db, w->r, a, &wrong, f);
	return KH_SHORT_DONE;
}

/* Is it certain that some seeds have to be looked up that were not, as by kh_match_falls_short? */
static KH_HD bool kh_short_falls_short(const kh_segment *s, const kh_short_found f[2])
{
	bool falls = false;

	for (uint32_t i = 0; i < 2; i++)
		falls |= s->mate[i].len > 0 && (f[i].crowd != UINT32_MAX ||
						f[i].best + f[i].unseen <= s->mate[i].len);
	return falls;
}

/* Is what was found too little for a call, and for candidates, if these are wanted, whatever
 * species has it?  No claim has more than the best places of both mates. */
static KH_HD bool kh_short_too_little(const kh_match_db *db, const kh_segment *s,
				      const kh_short_found f[2])
{
	int64_t least = 4 * KH_MATCH_GENUS;

	for (uint32_t i = 0; i < 2; i++)
		if (s->mate[i].len > 0 && kh_match_species_net(s->mate[i].len) < least)
			least = kh_match_species_net(s->mate[i].len);
	const bool little = kh_match_wants_others(db)
				    ? !kh_match_may_want_by(db, s, (int64_t)f[0].best + f[1].best)
				    : 4 * ((int64_t)f[0].net + f[1].net) < least;

	return little && f[0].best < KH_RESCUE_SCORE && f[1].best < KH_RESCUE_SCORE;
}

/* The claim of two mates by their best places; `more`: there are others.  False: these are of two
 * species, or one of them is as good as both, or another place might be beside the other mate. */
static KH_HD bool kh_short_both(const kh_match_db *db, const kh_short_found f[2], bool more,
				kh_claim *both)
{
	const kh_place *v = f[0].kept->v;
	const kh_claim one = kh_claim_of_one(db, v, f[0].place[0]);
	const kh_claim two = kh_claim_of_one(db, v, f[1].place[0]);
	const bool beside = kh_places_beside(&v[f[0].place[0]], &v[f[1].place[0]]);

	*both = kh_claim_together(&one, &two, beside ? 0 : KH_MATCH_APART);
	return one.species_no == two.species_no && (beside || !more) &&
	       kh_claim_better(both, &one) &&
	       kh_claim_better(both, &two);
}

/* Is a claim by the best places of its mates, where hits were counted? */
static KH_HD bool kh_short_is_counted(const kh_claim *c, const kh_place *places,
				      const kh_place best[2])
{
	bool counted = true;

	for (int i = 0; i < 2; i++) {
		const kh_place *p = &places[c->place[i]];

		counted = counted && (!(c->mates >> i & 1) || (p->number == best[i].number &&
							       p->target == best[i].target));
	}
	return counted;
}

/* Makes the claims of all places, and puts these in order; the best one, or NULL: hits were not
 * counted where it has the mates. */
static KH_HD kh_claim *kh_short_all_claims(const kh_match_db *db, const kh_short_found f[2],
					   kh_claims *claims)
{
	kh_short_places *kept = f[0].kept;
	const kh_place best[2] = { *kh_short_place(&f[0], 0), *kh_short_place(&f[1], 0) };
	kh_matching m;

	m.db = db;
	m.place = kept->v;
	m.n_place = kept->n;
	m.here = *claims;
	m.here.n = 0;
	kh_match_claims(&m);
	claims->n = m.here.n;
	kh_claim *c = claims->v + (kh_match_best(claims) - claims->v);

	return kh_short_is_counted(c, kept->v, best) ? c : NULL;
}

/* Could a claim with a place elsewhere, together with the best one of the other mate, be no farther
 * behind this score than `slack`? */
static KH_HD bool kh_short_others_matter(const kh_short_found f[2], int64_t score, uint32_t slack)
{
	bool matter = false;

	for (uint32_t i = 0; i < 2; i++)
		matter |= f[i].others && (int64_t)f[i].elsewhere + f[!i].best + slack >= score;
	return matter;
}

/* Makes the claims of what the mates have found, and *best of these, NULL if there is none; `lone`:
 * what losses are greater by (kh_region_lone_loss).  Most fragments have one, as no place matters
 * but those of one species. */
static KH_HD kh_short_end kh_short_claim(const kh_match_db *db, const kh_segment *s,
					 const kh_short_found f[2], uint32_t lone,
					 kh_claims *claims, kh_claim **best)
{
	const kh_place *places = f[0].kept->v;
	const uint32_t slack = kh_match_slack(db, s);
	const uint32_t n = (f[0].n_places > 0) + (f[1].n_places > 0);
	const bool crowd = f[0].crowd != UINT32_MAX || f[1].crowd != UINT32_MAX;
	const bool others = f[0].others || f[1].others, tie = f[0].tie || f[1].tie;
	const bool more = others || crowd || f[0].n_places > 1 || f[1].n_places > 1;
	kh_claim *c = claims->v;
	bool unseen = false, one = n == 1;

	if (n == 0)
		return kh_segment_has_more(s) ? KH_SHORT_AGAIN : KH_SHORT_DONE;
	claims->n = 1;
	if (n == 1)
		*c = kh_claim_of_one(db, places, f[f[0].n_places == 0].place[0]);
	else
		one = kh_short_both(db, f, more, c);
	one = one && !tie;
	if (!one && (crowd || f[0].kept->left_out > 0))
		return KH_SHORT_LEFT;
	const bool matter = kh_short_others_matter(f, c->score, slack);

	if (!one || matter)
		c = kh_short_all_claims(db, f, claims);
	if (!c || (matter && f[0].kept->left_out > 0))
		return KH_SHORT_LEFT;
	for (int i = 0; i < 2; i++) {
		const int64_t len = s->mate[i].len, score = (int64_t)c->score - slack;

		/* as kh_match_compare, and kh_match_unseen */
		if ((n == 2 || lone > 0) && f[i].next != UINT32_MAX &&
		    len - f[i].next >= score - kh_match_others(f[!i].best, lone))
			return KH_SHORT_LEFT;
		unseen |= len > 0 && c->score <= len - f[i].unseen + (int64_t)f[!i].best;
	}
	if (unseen && kh_segment_has_more(s))
		return KH_SHORT_AGAIN;
	if (kh_match_wants_hits(db, places, s, c))
		c->hits = (c->mates & 1 ? f[0].hits : 0) + (c->mates & 2 ? f[1].hits : 0);
	*best = c;
	/* the other mate is to be sought, as kh_match_rescue_mate does */
	return c->mates != 3 && s->mate[0].len > 0 && s->mate[1].len > 0 &&
			       (f[0].best >= KH_RESCUE_SCORE || f[1].best >= KH_RESCUE_SCORE)
		       ? KH_SHORT_LEFT : KH_SHORT_DONE;
}

/* Compares the mates of a fragment, if a thread has one. */
static KH_HD kh_short_end kh_short_mates(const kh_gpu_query *q, const kh_match_db *db,
					 kh_small_segment *j, bool has, bool all,
					 kh_short_rooms rooms[2], kh_short_found f[2],
					 kh_short_shared *shared)
{
	kh_short_way way[2] = { kh_short_way_of(db, &j->s, 0, &rooms[0], all),
				kh_short_way_of(db, &j->s, 1, &rooms[1], all) };
	kh_short_end end = KH_SHORT_DONE;

	rooms[0].n_regions = rooms[1].n_regions = 0;
	KH_ROLLED
	for (uint32_t mate = 0; mate < 2; mate++)
		if (has && end == KH_SHORT_DONE && j->s.mate[mate].len > 0 &&
		    !kh_short_begin(q, &way[mate], &rooms[mate], &j->s.mate[mate], &f[mate]))
			end = way[mate].ends;
	if (has && end == KH_SHORT_DONE)
		kh_short_raise_lone(db, &j->s, rooms);
	KH_ROLLED
	for (uint32_t mate = 0; mate < 2; mate++) {
		const bool go = has && end == KH_SHORT_DONE && j->s.mate[mate].len > 0;

		if (!kh_short_any(go))
			continue;
		const kh_short_end how = kh_short_mate(q, j, &way[mate], go, &f[mate], shared);

		end = go ? how : end;
	}
	return end;
}

/* Compares fragment i, which is no long one, by all seeds or by some; without `has` a thread only
 * helps the others of its warp. */
static KH_HD kh_short_end kh_short_compare(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
					   bool has, bool all, kh_short_shared *shared)
{
	kh_small_segment j = kh_gpu_item(q, i);
	kh_short_places kept;
	kh_short_found f[2] = { kh_short_nothing(&kept), kh_short_nothing(&kept) };
	kh_claim claim[KH_SHORT_KEPT], *best = NULL;
	kh_alone alone[KH_SHORT_KEPT];
	kh_claims claims = { claim, alone, 0, KH_SHORT_KEPT, NULL };
	kh_short_rooms rooms[2];

	kept.n = kept.left_out = 0;
	kh_short_end end = kh_short_mates(q, db, &j, has, all, rooms, f, shared);

	if (!has || end != KH_SHORT_DONE)
		return end;
	const bool more = kh_segment_has_more(&j.s);

	if (more && kh_short_falls_short(&j.s, f))
		return KH_SHORT_AGAIN;
	if (more || !kh_short_too_little(db, &j.s, f)) {
		for (uint32_t mate = 0; mate < 2; mate++)
			if (f[mate].unclear ||
			    kh_short_crowded(db, rooms, mate, f[mate].crowd))
				return KH_SHORT_LEFT;
		const uint32_t lone = kh_region_lone_loss(db, &j.s, rooms[0].n_regions,
							  rooms[1].n_regions);

		end = kh_short_claim(db, &j.s, f, lone, &claims, &best);
	}
	if (end != KH_SHORT_DONE)
		return end;
	kh_call c = kh_small_decide(db, kept.v, &claims, &j.s, best, kh_extent_empty(),
				    f[0].kmers + f[1].kmers, q->rule.confidence,
				    kh_gpu_beside(q, i));
	/* the hits of the second-best species a warp finds out */
	if (db->want == KH_WANT_SECOND && best &&
	    kh_claims_near(&claims, best->score, KH_MATCH_REACH) > 1)
		return KH_SHORT_LEFT;
	if (best && kh_match_may_be_strain(db, best->species_no, c.taxon)) {
		c.taxon = kh_short_strain_of(db, best, f);
		if (c.taxon == KH_NO_TAXON)
			return KH_SHORT_LEFT;
	}
	if (q->found && c.taxon != KH_NO_TAXON)
		c.found = kh_short_found_of(q, &j, best, f);
	q->call[i] = c;
	return KH_SHORT_DONE;
}

#endif
