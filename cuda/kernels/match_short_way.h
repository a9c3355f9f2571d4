/*
 * match_short_way.h - the way of a mate through its regions by a thread (match_short.h): the places
 * that it compares, and what these say of the strain   [HD]
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_WAY_H
#define KH_CUDA_KERNELS_MATCH_SHORT_WAY_H

#include "classify/match_strain.h"
#include "cuda/kernels/match_short_ends.h"
#include "cuda/kernels/match_short_found.h"
#include "cuda/kernels/match_short_fetch.h"

/* DONE: the fragment has its call; AGAIN: some seeds were not asked for, and what was is not
 * enough; LEFT: it is not as simple as that. */
typedef enum kh_short_end { KH_SHORT_DONE, KH_SHORT_AGAIN, KH_SHORT_LEFT } kh_short_end;

/* --- places ----------------------------------------------------------------------------- */
/* How often the text of a bin, whose words count from `bases`, has a seed; the mate lies at *number
 * where it was found last. */
static KH_HD uint32_t kh_short_look(const kh_match_db *db, const uint32_t *bases,
				    const kh_seed_strands *f, uint32_t mate, uint32_t bin,
				    uint64_t *number)
{
	const uint32_t stride = db->sampling.stride;
	const uint64_t mask = kh_kmer_mask(db->sampling.k), begin = (uint64_t)bin * stride;
	const kh_seed_begins x = kh_seed_begins_of(f);
	uint64_t next = kh_text_bases(bases, begin);
	uint32_t n = 0;

	for (uint32_t i = 0; i < stride; i += 32) {
		const uint64_t from = begin + i, here = next;
		const uint64_t first = kh_text_first(stride - i < 32 ? stride - i : 32);

		next = kh_text_bases(bases, from + 32);
		const uint64_t as_is = kh_text_begin_so(x.base[0], here, next) & first;
		const uint64_t back = kh_text_begin_so(x.base[1], here, next) & first;

		for (uint64_t any = as_is | back; any; any &= any - 1) {
			const uint64_t bit = any & (0 - any), at = from + kh_text_lowest(any);
			const uint64_t found = kh_text_bases(bases, at) & mask;

			for (uint32_t s = 0; s < 2; s++)
				if ((s ? back : as_is) & bit && found == f->bases[s]) {
					*number = kh_place_number(mate, s,
								  (int64_t)at - f->at[s]);
					n++;
				}
		}
	}
	return n;
}

static KH_HD kh_seed_strands kh_short_stands(const kh_short_rooms *r, uint32_t k, uint32_t len,
					     uint32_t pos)
{
	const kh_seed_strands x = { { pos, len - k - pos },
				    { kh_packed_bits(r->read[0].base, pos, k),
				      kh_packed_bits(r->read[1].base, len - k - pos, k) } };

	return x;
}

enum { KH_SHORT_HERE = 4 };

/* The places of a region: where a seed at base `pos` of the mate is there, from `at` on, on targets
 * that have the bases begin .. end - 1. */
typedef struct kh_short_here {
	uint32_t n, turned;             /* bits of those on the other strand */
	int64_t at[KH_SHORT_HERE];
	uint64_t begin[KH_SHORT_HERE], end[KH_SHORT_HERE];
} kh_short_here;

static KH_HD void kh_short_add_here(kh_short_here *h, const kh_place *p, const kh_laid *l,
				    uint32_t k)
{
	const uint32_t turned = kh_place_strand(p);

	if (h->n == KH_SHORT_HERE)
		return;
	h->at[h->n] = kh_place_at(p) + (turned ? l->len - k : 0);
	h->begin[h->n] = l->begin;
	h->end[h->n] = l->end;
	h->turned |= turned << h->n;
	h->n++;
}

/* As kh_places_have_anchor, of a seed. */
static KH_HD bool kh_short_lies_here(const kh_match_db *db, const kh_short_here *h, int64_t pos,
				     uint32_t bin)
{
	const uint64_t stride = db->sampling.stride, from = bin * stride;
	bool lies = false;

	KH_ROLLED
	for (uint32_t i = 0; i < h->n; i++) {
		const int64_t here = h->turned >> i & 1 ? h->at[i] - pos : h->at[i] + pos;

		lies |= (uint64_t)here - from < stride && from >= h->begin[i] &&
			from < h->end[i];
	}
	return lies;
}

/* A mate of so many bases laid where it has a place. */
static KH_HD kh_laid kh_short_laid(const kh_match_db *db, const kh_short_rooms *r, uint32_t len,
				   const kh_place *p)
{
	const int64_t at = kh_place_at(p);
	kh_laid l = kh_match_laid(db, &r->read[kh_place_strand(p)], len, at, p->target);

	l.text = kh_short_text(db, r, at, len);
	return l;
}

/* How many regions have such a loss. */
static KH_HD uint32_t kh_short_like(const kh_short_rooms *r, uint32_t loss)
{
	uint32_t like = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < r->n_regions; i++)
		like += (uint32_t)r->region[i] >> 8 == loss;
	return like;
}

/* A mate's way through its regions, the best first, as kh_regions_compare_best goes; through all of
 * them, if they are a crowd. */
typedef struct kh_short_way {
	const kh_match_db *db;
	const kh_short_rooms *r;
	const kh_segment *s;
	uint32_t mate;
	uint32_t region, c, end;        /* where it is: c of its anchors up to `end` is next */
	uint32_t anchors, places;       /* of the region, and so far */
	bool all;                       /* all seeds have been asked for */
	kh_short_here here;
	kh_short_end ends;              /* how it ends */
} kh_short_way;

static KH_HD kh_short_way kh_short_way_of(const kh_match_db *db, const kh_segment *s, uint32_t mate,
					  const kh_short_rooms *r, bool all)
{
	kh_short_way w;

	w.db = db;
	w.r = r;
	w.s = s;
	w.mate = mate;
	w.region = UINT32_MAX;
	w.c = w.end = w.anchors = w.places = 0;
	w.all = all;
	w.ends = KH_SHORT_DONE;
	return w;
}

static KH_HD bool kh_short_stop(kh_short_way *w, kh_short_end how)
{
	w->ends = how;
	return false;
}

/* Goes on to the next region.  False: the way ends. */
static KH_HD bool kh_short_next_region(kh_short_way *w, kh_short_found *f)
{
	const uint32_t loss = w->region >> 8, len = w->s->mate[w->mate].len;

	w->region = kh_short_next(w->r, w->region);
	f->next = w->region == UINT32_MAX ? UINT32_MAX : w->region >> 8;
	if (f->next != loss) {
		if (f->next >= len || len - f->next + kh_match_slack(w->db, w->s) < f->best)
			return kh_short_stop(w, KH_SHORT_DONE);
		if (f->crowd == UINT32_MAX &&
		    kh_short_like(w->r, f->next) + w->places > kh_places_most(w->db, w->s)) {
			if (!w->all)
				return kh_short_stop(w, KH_SHORT_AGAIN);
			f->crowd = f->next;
			f->before = f->hsp;
		}
	}
	w->c = w->r->from[w->region & 255];
	w->end = w->r->from[(w->region & 255) + 1];
	w->anchors = w->end - w->c;
	w->here.n = w->here.turned = 0;
	return true;
}

/* Goes on to the next place, and finds the mate's best HSP there.  False: the way ends. */
static KH_HD bool kh_short_go_on(kh_short_way *w, kh_short_found *f, kh_place *p)
{
	const uint32_t k = w->db->sampling.k, len = w->s->mate[w->mate].len;
	uint32_t n = 0;

	while (n == 0) {
		if (w->c == w->end && !kh_short_next_region(w, f))
			return false;
		const uint64_t anchor = w->r->anchor[w->c++];
		const uint32_t bin = kh_anchor_bin(anchor);
		const uint32_t pos = w->r->pos[(uint32_t)anchor];

		if (kh_short_lies_here(w->db, &w->here, pos, bin))
			continue;
		const kh_seed_strands x = kh_short_stands(w->r, k, len, pos);

		const uint32_t stride = w->db->sampling.stride;
		const uint32_t *bases =
			kh_short_text(w->db, w->r, (int64_t)bin * stride, stride);

		n = kh_short_look(w->db, bases, &x, w->mate, bin, &p->number);
		if (n == 1)
			p->target = kh_match_target(w->db, bin);
	}
	return n == 1 || kh_short_stop(w, KH_SHORT_LEFT);
}

/* Takes a place that was compared, whose best HSP has this score, with its ends or without
 * them.  What is not as simple as that is unclear, and may yet be too little for a call.  False:
 * the way ends. */
static KH_HD bool kh_short_take(kh_short_way *w, const kh_place *p, const kh_laid *l,
				uint32_t hsp, bool ends, kh_short_found *f)
{
	const uint32_t net = kh_short_net(&p->fit), slack = kh_match_slack(w->db, w->s);
	const bool room = w->places++ < kh_places_most(w->db, w->s) && w->here.n < KH_SHORT_HERE;
	/* in a crowd, whether ends are compared hangs on the order of places, which the CPU has
	 * another one of */
	const bool other = !ends && f->before != UINT32_MAX &&
			   kh_read_has_ends(w->db, w->anchors, hsp, f->before);

	f->hsp = hsp > f->hsp ? hsp : f->hsp;
	if (other)
		return kh_short_stop(w, KH_SHORT_LEFT);
	f->best = p->fit.score > f->best ? p->fit.score : f->best;
	f->net = net > f->net ? net : f->net;
	f->unclear = f->unclear || (!room && f->crowd == UINT32_MAX) ||
		     !kh_short_add(w->db, p, slack, f);
	kh_short_add_here(&w->here, p, l, w->db->sampling.k);
	return !f->unclear || (w->all && f->best < KH_RESCUE_SCORE) ||
	       kh_short_stop(w, KH_SHORT_LEFT);
}

/* Goes a way, if a thread has one, while other threads of the warp go theirs. */
static KH_HD kh_short_end kh_short_go(kh_short_way *w, bool has, kh_short_found *f,
				      kh_short_shared *shared)
{
	while (kh_short_any(has)) {
		bool ends = false;
		kh_place p;
		kh_laid l;

		has = has && kh_short_go_on(w, f, &p);
		if (has) {
			l = kh_short_laid(w->db, w->r, w->s->mate[w->mate].len, &p);
			p.fit = kh_text_fit(&l, kh_place_at(&p), 0, l.len);
			ends = kh_read_has_ends(w->db, w->anchors, p.fit.score, f->hsp);
		}
		const uint32_t hsp = p.fit.score;

		kh_short_fit_ends(&l, kh_place_at(&p), ends && kh_text_may_go_on(&l, &p.fit),
				  &p.fit, shared);
		has = has && kh_short_take(w, &p, &l, hsp, ends, f);
	}
	return w->ends;
}

/* --- strains ---------------------------------------------------------------------------- */
/* Do regions that were not compared have alleles of the species of a place, by which the mate may
 * fit as well? */
static KH_HD bool kh_short_has_alleles(const kh_short_way *w, const kh_place *here)
{
	const kh_match_db *db = w->db;
	bool has = false;

	for (uint32_t i = 0; i < w->r->n_regions && KH_ALLELES && !has; i++) {
		const uint32_t first = w->r->from[w->r->region[i] & 255];
		const uint32_t target =
			kh_match_target(db, kh_anchor_bin(w->r->anchor[first]));

		has = w->r->region[i] >= w->region && db->stretch[target].alleles > 0 &&
		      db->bins.species_row[target] == db->bins.species_row[here->target];
	}
	return has;
}

/* What the only place of a mate says of the strain, as kh_strain_of_mate; KH_NO_TAXON: it is not as
 * simple as that. */
static KH_HD uint32_t kh_short_strain(const kh_short_way *w, const kh_short_found *f)
{
	const kh_match_db *db = w->db;
	const kh_place *here = kh_short_place(f, 0);
	const kh_mate *a = &w->s->mate[w->mate];
	const uint32_t n = w->r->from[w->r->n_regions];
	bool known = false;

	if (f->n_places != 1 || f->tie || f->crowd != UINT32_MAX ||
	    !kh_species_has_strains(db, kh_bins_species_no(&db->bins, here->target)) ||
	    kh_short_has_alleles(w, here))
		return KH_NO_TAXON;
	const uint32_t species =
		kh_species_taxon(db, kh_bins_species_no(&db->bins, here->target));

	KH_ROLLED
	for (uint32_t i = 0; i < n && !known; i++)
		known = kh_strain_is_known(db, a, here, w->r->anchor, NULL, n, i,
					   w->r->pos[(uint32_t)w->r->anchor[i]]);
	if (!known)
		return species;
	const kh_laid l = kh_short_laid(db, w->r, a->len, here);
	const kh_alignment fit = kh_text_fit(&l, kh_place_at(here), 0, l.len);
	const kh_strain_place p = kh_strain_place_of(&l, kh_place_at(here), fit, false);

	return kh_strain_of_place(db, &p, here->target, species);
}

/* The strain of a claim that may be of one, as kh_strain_of_claim; KH_NO_TAXON: a warp finds it. */
static KH_HD uint32_t kh_short_strain_of(const kh_match_db *db, const kh_claim *c,
					 const kh_short_found f[2])
{
	kh_strain of = kh_strain_of(kh_species_taxon(db, c->species_no));

	for (uint32_t mate = 0; mate < 2; mate++) {
		if (!(c->mates >> mate & 1))
			continue;
		if (f[mate].strain == KH_NO_TAXON)
			return KH_NO_TAXON;
		kh_strain_add(&db->tree, &of, f[mate].strain);
	}
	return of.taxon;
}

#endif
