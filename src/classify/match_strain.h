/*
 * match_strain.h - a call below the species: match.h   [HD]
 *
 * Where a read lies, the database knows the LCA of the strains whose text is like that: `same` of
 * those that are the same there, `other` of those that have alleles.  A read that matches the text
 * where it has alleles is of the former, one that matches the alleles of the latter, and where it
 * covers none it may be of both.  So each run of columns with the same strains gives a taxon, and
 * the read is of the lowest of these, if they lie on one lineage; of the LCA, if they do not.
 * Parts of a long read are of the taxon below the species that nearly all of them agree on, as some
 * of its many errors are alleles.
 */
#ifndef KH_CLASSIFY_MATCH_STRAIN_H
#define KH_CLASSIFY_MATCH_STRAIN_H

#include "classify/match_score.h"

enum {
	KH_STRAIN_TO_ONE = 4,   /* so many alleles tell, where one more says otherwise */
	KH_STRAIN_WRONG = 4,    /* columns of a read that do not match, for each of these */
	KH_STRAIN_EDGE = 16     /* columns beside a gap in which none does */
};

/* --- taxa on one lineage ------------------------------------------------------------------ */
/* The LCA of those of some taxa that have none of the others below them. */
typedef struct kh_strain {
	uint32_t taxon;
	bool split;             /* there are two such taxa or more */
} kh_strain;

static KH_HD kh_strain kh_strain_of(uint32_t taxon)
{
	const kh_strain s = { taxon, false };

	return s;
}

/* Adds a taxon. */
static KH_HD void kh_strain_add(const kh_tree *tree, kh_strain *s, uint32_t taxon)
{
	if (kh_tree_within(tree, taxon, s->taxon))
		return;
	if (kh_tree_within(tree, s->taxon, taxon)) {
		s->taxon = s->split ? s->taxon : taxon;
		return;
	}
	s->taxon = taxon < s->taxon ? kh_tree_lca(tree, taxon, s->taxon)
				    : kh_tree_lca(tree, s->taxon, taxon);
	s->split = true;
}

/* --- a place ------------------------------------------------------------------------------ */
/* A mate where it lies in a species. */
typedef struct kh_strain_place {
	kh_laid laid;
	int64_t at;
	kh_alignment fit;       /* its best HSP there */
	uint32_t first, last;   /* columns of that whose alleles are asked for */
	bool part;              /* of a long read */
} kh_strain_place;

/* Beside a gap, or where the mate does not fit, another strain may have been laid along the text in
 * another way, and what it has there is no allele. */
static KH_HD kh_strain_place kh_strain_place_of(const kh_laid *l, int64_t at, kh_alignment fit,
						bool part)
{
	const uint32_t edge = KH_STRAIN_EDGE;
	const kh_strain_place p = {
		*l, at, fit, fit.from > 0 ? fit.from + edge : 0,
		fit.to == l->len ? fit.to : fit.to > edge ? fit.to - edge : 0,
		part
	};

	return p;
}

/* Of some columns, how many match the text where it has an allele, and how many the allele. */
typedef struct kh_strain_columns {
	uint32_t text, alleles;
} kh_strain_columns;

static KH_HD kh_strain_columns kh_strain_count(const kh_strain_place *p, uint32_t from,
					       uint32_t to)
{
	const kh_laid *l = &p->laid;
	kh_strain_columns n = { 0, 0 };

	from = from > p->first ? from : p->first;
	to = to < p->last ? to : p->last;
	for (uint32_t i = from; i < to; i = (i / 32 + 1) * 32) {
		const uint32_t w = i / 32, skip = i % 32, end = to - 32 * w;
		const uint64_t base = (uint64_t)(p->at + (int64_t)i);
		const uint64_t allele = kh_text_bases(l->alleles, base) << 2 * skip;
		const uint64_t x = l->read->base[w] ^ kh_text_bases(l->text, base) << 2 * skip;
		uint64_t has = kh_text_differ(allele, 0) & ~l->read->unknown[w];

		has &= kh_text_first(end < 32 ? end : 32) >> 2 * skip << 2 * skip;
		n.text += kh_text_count(has & ~kh_text_differ(x, 0));
		n.alleles += kh_text_count(has & ~kh_text_differ(x, allele));
	}
	return n;
}

/* Do n columns tell, where others say otherwise, in a place with so many that do not match? */
static KH_HD bool kh_strain_tells(const kh_strain_place *p, uint32_t n, uint32_t others)
{
	const uint32_t wrong = p->fit.columns - p->fit.matches;

	return n > 0 && n >= KH_STRAIN_TO_ONE * others &&
	       (p->part || wrong <= KH_STRAIN_WRONG * n);
}

/* The strains of columns where `x` says which have their text. */
static KH_HD uint32_t kh_strain_of_columns(const kh_tree *tree, const kh_strain_place *p,
					   const kh_text_strains *x, kh_strain_columns n)
{
	if (kh_strain_tells(p, n.alleles, n.text))
		return x->other;
	/* of several strains, each has some of the alleles */
	if (tree->end[x->other] == x->other + 1 && kh_strain_tells(p, n.text, n.alleles))
		return x->same;
	return x->same < x->other ? kh_tree_lca(tree, x->same, x->other)
				  : kh_tree_lca(tree, x->other, x->same);
}

/* The first of the records that ends behind a bin. */
static KH_HD uint32_t kh_strains_first(const kh_match_db *db, uint32_t bin)
{
	uint32_t lo = 0;

	for (uint32_t n = db->n_strains; n > 0;) {
		const uint32_t half = n / 2;
		const kh_text_strains *x = &db->strains[lo + half];

		if (x->bin + x->bins <= bin) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* The strains of a mate at a place in a target of a species, which is called `species`. */
static KH_HD_CALLED uint32_t kh_strain_of_place(const kh_match_db *db, const kh_strain_place *p,
						uint32_t target, uint32_t species)
{
	const int64_t stride = db->sampling.stride;
	uint32_t i = kh_strains_first(db, (uint32_t)((p->at + p->fit.from) / stride));
	kh_strain s = kh_strain_of(species);

	for (uint32_t from = p->fit.from, to = p->fit.to; from < p->fit.to; from = to) {
		int64_t begin = p->fit.to;
		kh_strain_columns n = { 0, 0 };

		to = p->fit.to;
		if (i < db->n_strains)
			begin = db->strains[i].bin * stride - p->at;
		if (begin > (int64_t)from) {    /* in front of it all are of one taxon */
			to = begin < (int64_t)to ? (uint32_t)begin : to;
			kh_strain_add(&db->tree, &s, db->bins.taxon[target]);
			continue;
		}
		const kh_text_strains *x = &db->strains[i];
		const int64_t end = begin + x->bins * stride;

		to = end < (int64_t)to ? (uint32_t)end : to;
		if (KH_ALLELES && p->laid.alleles)
			n = kh_strain_count(p, from, to);
		kh_strain_add(&db->tree, &s, kh_strain_of_columns(&db->tree, p, x, n));
		i++;
	}
	return s.taxon;
}

/* --- a fragment --------------------------------------------------------------------------- */
/* Has a species strains that could be called? */
static KH_HD bool kh_species_has_strains(const kh_match_db *db, uint32_t species_no)
{
	const uint32_t taxon = kh_species_taxon(db, species_no);

	return db->tree.end[taxon] > taxon + 1 && db->tree.species[taxon] != KH_NO_TAXON;
}

/* Adds the strains of a mate at another place of the species, if it fits there as well as it does
 * `here`. */
static KH_HD void kh_strain_also(const kh_matching *m, const kh_segment *s, const kh_place *here,
				 const kh_place *there, uint32_t species, kh_extent *e)
{
	const kh_laid l = kh_place_laid(m, s, there);
	const int64_t at = kh_place_at(there);

	if (kh_text_matches(&l, at, 0, l.len) < here->fit.score)
		return;
	const kh_alignment fit = kh_text_fit(&l, at, 0, l.len);
	const kh_strain_place p = kh_strain_place_of(&l, at, fit, !s->whole);

	if (fit.score >= here->fit.score)
		*e = kh_extent_add(*e, kh_strain_of_place(m->db, &p, there->target, species));
}

/* The same where the text of an anchor's bin has its seed; *last: where that was before. */
static KH_HD void kh_strain_look(const kh_matching *m, const kh_segment *s, const kh_place *here,
				 uint64_t anchor, uint32_t species, int64_t *last, kh_extent *e)
{
	const uint32_t mate = kh_place_mate(here), bin = kh_anchor_bin(anchor);
	const uint32_t target = kh_match_target(m->db, bin), stride = m->db->sampling.stride;
	const uint64_t mask = kh_kmer_mask(m->db->sampling.k), from = (uint64_t)bin * stride;
	const kh_seed_strands f =
		kh_seed_strands_of(m, s, mate, m->found[mate].pos[(uint32_t)anchor]);
	const uint32_t *text = kh_match_text(m->db, (int64_t)from);

	for (uint64_t i = from; i < from + stride; i++)
		for (uint32_t strand = 0; strand < 2; strand++) {
			const int64_t at = (int64_t)i - f.at[strand];

			const kh_place p = { kh_place_number(mate, strand, at), target,
					     { 0, 0, 0, 0, 0 }, { 0, 0, 0 } };

			if (at == *last || (kh_text_bases(text, i) & mask) != f.bases[strand])
				continue;
			*last = at;
			kh_strain_also(m, s, here, &p, species, e);
		}
}

/* Adds the strains of regions that were not compared, as they have few of the seeds, but have
 * alleles, by which the mate may fit as well. */
static KH_HD_CALLED void kh_strain_regions(const kh_matching *m, const kh_segment *s,
					   const kh_place *here, uint32_t species, kh_extent *e)
{
	const kh_found *f = &m->found[kh_place_mate(here)];
	const kh_bins *b = &m->db->bins;

	for (uint32_t i = 0; i < f->n_regions; i++) {
		const kh_region *r = &f->region[i];
		int64_t last = INT64_MIN;

		if (r->loss == KH_REGION_DONE)
			continue;
		const uint32_t target = kh_match_target(m->db, kh_region_bin(f, r));

		if (m->db->stretch[target].alleles == 0 ||
		    b->species_row[target] != b->species_row[here->target])
			continue;
		for (uint32_t k = r->from; k < (uint32_t)r->from + r->n; k++)
			kh_strain_look(m, s, here, f->anchor[k], species, &last, e);
	}
}

/* Adds the strains of a mate at one of its places. */
static KH_HD kh_extent kh_strain_add_place(const kh_matching *m, const kh_segment *s,
					   const kh_place *p, uint32_t species, kh_extent e)
{
	const kh_laid l = kh_place_laid(m, s, p);
	const kh_strain_place x = kh_strain_place_of(&l, kh_place_at(p),
						     kh_place_hsp(&l, p), !s->whole);

	return kh_extent_add(e, kh_strain_of_place(m->db, &x, p->target, species));
}

/* Is an anchor in a species? */
static KH_HD bool kh_strain_is_in(const kh_match_db *db, uint64_t anchor, uint32_t row)
{
	return db->bins.species_row[kh_match_target(db, kh_anchor_bin(anchor))] == row;
}

#ifdef KH_TEXT_SSE2
/* Which of 16 anchors, or of n, are of a seed, as bits? */
static inline uint32_t kh_strain_of_seed(const uint8_t *seeds, uint32_t n, uint32_t seed)
{
	const __m128i all = _mm_loadu_si128((const __m128i *)seeds);
	const __m128i same = _mm_cmpeq_epi8(all, _mm_set1_epi8((char)seed));

	return (uint32_t)_mm_movemask_epi8(same) & (n < 16 ? (1u << n) - 1 : UINT16_MAX);
}
#endif

/* How many of n anchors are of a seed, and in the species of a row?  seeds: of each anchor, as
 * bytes, which is faster; NULL: there are none.  Anchors have them, too. */
static KH_HD uint32_t kh_strain_bins(const kh_match_db *db, const uint64_t *anchor,
				     const uint8_t *seeds, uint32_t n, uint32_t seed,
				     uint32_t row)
{
	uint32_t bins = 0, i = 0;

#ifdef KH_TEXT_SSE2
	for (; seeds && i < n; i += 16)
		for (uint32_t x = kh_strain_of_seed(seeds + i, n - i, seed); x != 0; x &= x - 1)
			bins += kh_strain_is_in(db, anchor[i + (uint32_t)__builtin_ctz(x)],
						row);
#else
	(void)seeds;
#endif
	for (; i < n; i++)
		bins += (uint32_t)anchor[i] == seed &&
			kh_strain_is_in(db, anchor[i], row);
	return bins;
}

/* Would other strains that have the text where a mate lies have been found?  Of a seed there that
 * has fewer bins in the species than its list may have, all bins are in that.  i: of the mate's n
 * anchors, one whose seed is `pos` bases behind the mate's first one. */
static KH_HD bool kh_strain_is_known(const kh_match_db *db, const kh_mate *a, const kh_place *here,
				     const uint64_t *anchor, const uint8_t *seeds, uint32_t n,
				     uint32_t i, uint32_t pos)
{
	const uint32_t bin = kh_anchor_bin(anchor[i]);
	const uint32_t ahead = kh_place_strand(here) ? a->len - db->sampling.k - pos : pos;

	return (kh_place_at(here) + ahead) / db->sampling.stride == bin &&
	       kh_match_in_target(db, here->target, bin) &&
	       kh_strain_bins(db, anchor, seeds, n, (uint32_t)anchor[i],
			      db->bins.species_row[here->target]) < KH_SPECIES_PLACES;
}

/* Nothing but the anchors in the bins where the mate lies is asked for that. */
static KH_HD bool kh_strain_any_is_known(const kh_matching *m, const kh_segment *s,
					 const kh_place *here)
{
	const kh_mate *a = &s->mate[kh_place_mate(here)];
	const kh_found *f = &m->found[kh_place_mate(here)];
	const int64_t at = kh_place_at(here), stride = m->db->sampling.stride;
	const int64_t first = (at > 0 ? at : 0) / stride, last = (at + a->len) / stride;
	uint32_t i = 0;

	for (uint32_t n = f->n_anchors; n > 0;) {
		const uint32_t half = n / 2;
		const bool before = kh_anchor_bin(f->anchor[i + half]) < first;

		i = before ? i + half + 1 : i;
		n = before ? n - half - 1 : half;
	}
	for (; i < f->n_anchors && kh_anchor_bin(f->anchor[i]) <= last; i++)
		if (kh_strain_is_known(m->db, a, here, f->anchor, f->seed, f->n_anchors, i,
				       f->pos[(uint32_t)f->anchor[i]]))
			return true;
	return false;
}

/* The strains that a mate may be of by a claim: it may also lie where it fits as well. */
static KH_HD uint32_t kh_strain_of_mate(const kh_matching *m, const kh_segment *s,
					const kh_claim *c, uint32_t mate)
{
	const uint32_t species = kh_species_taxon(m->db, c->species_no);
	const kh_place *here = &m->place[c->place[mate]];

	if (!kh_strain_any_is_known(m, s, here))
		return species;
	kh_extent e = kh_strain_add_place(m, s, here, species, kh_extent_empty());

	if (KH_ALLELES)
		kh_strain_regions(m, s, here, species, &e);
	for (uint32_t i = 0; i < m->n_place; i++) {
		const kh_place *p = &m->place[i];

		if (i != c->place[mate] && kh_place_mate(p) == mate &&
		    p->fit.score >= here->fit.score &&
		    m->db->bins.species_row[p->target] == m->db->bins.n_targets + c->species_no)
			e = kh_strain_add_place(m, s, p, species, e);
	}
	return kh_tree_lca(&m->db->tree, e.lo, e.hi);
}

/* The strains that a segment may be of by a claim. */
static KH_HD uint32_t kh_strain_of_claim(const kh_matching *m, const kh_segment *s,
					 const kh_claim *c)
{
	const bool has = kh_species_has_strains(m->db, c->species_no) && !kh_match_is_thin(m->db);
	kh_strain of = kh_strain_of(kh_species_taxon(m->db, c->species_no));

	for (uint32_t mate = 0; mate < 2 && has; mate++)
		if (c->mates >> mate & 1)
			kh_strain_add(&m->db->tree, &of, kh_strain_of_mate(m, s, c, mate));
	return of.taxon;
}

/* --- several parts ------------------------------------------------------------------------ */
/* The strains of parts, by which their species is gone down, from a taxon to one below it as long
 * as that has nearly all of them. */
typedef struct kh_strain_poll {
	uint32_t taxon, parts;  /* how many are of it; 0: of the species, which needs none */
	uint32_t child, lead;   /* the one below it that may have most of the parts */
	uint32_t in, out;       /* parts of that one, and of others */
} kh_strain_poll;

static KH_HD kh_strain_poll kh_strain_poll_of(uint32_t taxon, uint32_t parts)
{
	const kh_strain_poll p = { taxon, parts, taxon, 0, 0, 0 };

	return p;
}

/* First each part is seen, */
static KH_HD void kh_strain_poll_see(const kh_tree *tree, kh_strain_poll *p, uint32_t strain)
{
	if (strain == p->taxon || !kh_tree_within(tree, p->taxon, strain))
		return;
	while (tree->parent[strain] != p->taxon)
		strain = tree->parent[strain];
	if (p->lead == 0)
		p->child = strain;
	p->lead = p->child == strain ? p->lead + 1 : p->lead - 1;
}

/* then each is counted, */
static KH_HD void kh_strain_poll_count(const kh_tree *tree, kh_strain_poll *p, uint32_t strain)
{
	if (p->child == p->taxon)
		return;
	if (kh_tree_within(tree, p->child, strain))
		p->in++;
	else if (!kh_tree_within(tree, strain, p->child))
		p->out++;
}

/* and if it is not enough, that is all. */
static KH_HD bool kh_strain_poll_next(kh_strain_poll *p)
{
	const bool enough = p->in > 0 && p->in >= KH_STRAIN_TO_ONE * p->out;

	if (enough)
		*p = kh_strain_poll_of(p->child, p->in);
	return enough;
}

/* Could more parts say more?  Not if some agree, and none says anything below that; nor if none
 * says anything, as where a species has very many strains. */
static KH_HD bool kh_strain_poll_is_open(const kh_strain_poll *p)
{
	return p->child != p->taxon || (p->parts > 0 && p->parts < KH_STRAIN_TO_ONE);
}

/* --- calls -------------------------------------------------------------------------------- */
/* May the call of a species be of its strains?  Not if it is not that of the species. */
static KH_HD bool kh_match_may_be_strain(const kh_match_db *db, uint32_t species_no, uint32_t taxon)
{
	return taxon == kh_species_taxon(db, species_no) && kh_species_has_strains(db, species_no);
}

/* The call of a fragment that is one segment, which is called `taxon` by species, of whose claims
 * this is the best one. */
static KH_HD uint32_t kh_match_strain(const kh_matching *m, const kh_segment *s,
				      const kh_claim *best, uint32_t taxon)
{
	return best && kh_match_may_be_strain(m->db, best->species_no, taxon) &&
			       !kh_extent_any(m->crowd)
		       ? kh_strain_of_claim(m, s, best) : taxon;
}

#endif
