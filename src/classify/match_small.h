/*
 * match_small.h - a fragment compared by a kernel   [HD]
 *
 * What kernels need beside match_long.h: they do the same as match_region.h and match_score.h do
 * for a segment, and look seeds up in their own way.
 */
#ifndef KH_CLASSIFY_MATCH_SMALL_H
#define KH_CLASSIFY_MATCH_SMALL_H

#include "classify/match_long.h"
#include "classify/match_strain.h"

/* A fragment of one segment, or a part of one.  Bit i of `mark` says whether the k-mer at base i of
 * the packed sequences is a feature, if it lies inside its record. */
typedef struct kh_small_segment {
	kh_segment s;
	const uint32_t *mark;
} kh_small_segment;

typedef struct kh_small {
	kh_matching m;
	uint32_t pos[2][KH_MATCH_SEEDS];
	uint8_t length[KH_MATCH_SEEDS];         /* of a mate's lists */
	uint64_t anchor[2][KH_MATCH_ANCHORS];
	kh_region region[2][KH_MATCH_ANCHORS];
	kh_place place[KH_MATCH_PLACES + KH_RESCUE_MOST];
	kh_claim claim[KH_MATCH_PLACES];
	kh_alone alone[KH_MATCH_PLACES];
} kh_small;

static KH_HD void kh_small_init(kh_small *x, const kh_match_db *db)
{
	kh_matching *m = &x->m;

	m->db = db;
	for (int i = 0; i < 2; i++) {
		m->found[i].anchor = x->anchor[i];
		m->found[i].region = x->region[i];
		m->found[i].seed = NULL;
	}
	m->sorted = NULL;               /* a warp sorts them in place */
	m->seen = NULL;
	m->place = x->place;
	m->here.v = x->claim;
	m->here.alone = x->alone;
	m->here.n = 0;
	m->here.cap = KH_MATCH_PLACES;
	m->here.of = NULL;
}

/* --- bits ------------------------------------------------------------------------------- */
static KH_HD uint32_t kh_count_bits(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popc(x);
#else
	return (uint32_t)__builtin_popcount(x);
#endif
}

/* --- seeds ------------------------------------------------------------------------------ */
/* The seeds among the k-mers that begin in word w of a mate, of all marks. */
static KH_HD uint32_t kh_small_marks(const uint32_t *marks, const kh_mate *a, uint32_t k,
				     uint32_t w)
{
	const uint32_t starts = a->len < k ? 0 : a->len - k + 1;
	const uint64_t at = a->at + 32 * w;
	const uint32_t *mark = marks + at / 32, sh = at % 32;
	uint32_t left, here;

	if (32 * w >= starts)
		return 0;
	left = starts - 32 * w;
	here = sh ? mark[0] >> sh | mark[1] << (32 - sh) : mark[0];
	return left < 32 ? here & ((UINT32_C(1) << left) - 1) : here;
}

static KH_HD uint64_t kh_small_key(const kh_mate *a, uint32_t pos, uint32_t k)
{
	return kh_key(kh_bits_canonical(kh_packed_bits(a->bases, a->at + pos, k), k));
}

/* --- look-ups --------------------------------------------------------------------------- */
/* A bit for each slot of a line with this tag; free ones have tag 0. */
static KH_HD uint32_t kh_small_slots(const void *line, uint32_t tag, uint32_t slots)
{
	const uint32_t low = UINT32_C(0x7f7f7f7f);
	uint32_t equal = 0;
#ifdef __CUDA_ARCH__
	const uint4 four = *(const uint4 *)line;        /* at once: a line begins at 64 bytes */
	const uint32_t tags[4] = { four.x, four.y, four.z, four.w };
#else
	const uint32_t *tags = (const uint32_t *)line;
#endif

	for (int i = 0; i < 4; i++) {
		/* the high bit of each byte that is equal, and from these four bits */
		const uint32_t x = tags[i] ^ tag * UINT32_C(0x01010101);
		const uint32_t bit = ~(((x & low) + low) | x | low);

		equal |= ((bit >> 7) * UINT32_C(0x01020408) >> 24 & 15) << 4 * i;
	}
	return equal & ((UINT32_C(1) << slots) - 1);
}

/* The bins of a seed: how many; whole: these are all. */
typedef struct kh_small_list {
	uint32_t n;
	bool whole;
} kh_small_list;

/* Adds the bins of a seed that the line of a search has as anchors, up to `cap` of them in
 * all. */
static KH_HD kh_small_list kh_small_add_line(kh_small_list l, const kh_seed_index *x,
					     const kh_seed_search *s, uint32_t first_bin,
					     uint32_t seed, uint64_t *to, uint32_t cap)
{
	uint32_t with = kh_small_slots(s->line, s->tag, kh_seed_slots(x->bits));

	for (; with; with &= with - 1) {
		const uint32_t value = kh_seed_value(s->line, kh_lowest_bit(with), x->bits);
		const uint32_t *word;
		uint32_t one, more = KH_SEED_MORE;

		if (value == 0)
			break;
		word = kh_seed_bins(x, s->range, value, &one);
		for (; more; word++, l.n++) {
			const uint32_t bin = *word & ~KH_SEED_MORE;

			more = *word & KH_SEED_MORE;
			l.whole = l.whole && bin != KH_SEED_MANY;
			if (l.n < cap)
				to[l.n] = (uint64_t)(first_bin + bin) << 32 | seed;
		}
	}
	return l;
}

/* The same of all lines of an index. */
static KH_HD kh_small_list kh_small_add_bins(kh_small_list l, const kh_seed_index *x, uint64_t key,
					     uint32_t first_bin, uint32_t seed, uint64_t *to,
					     uint32_t cap)
{
	kh_seed_search s = kh_seed_begin(x, key);

	for (; s.line; kh_seed_go_on(x, &s))
		l = kh_small_add_line(l, x, &s, first_bin, seed, to, cap);
	return l;
}

/* Writes the bins of a seed as anchors, `cap` of them at most.  Of several databases they may be
 * KH_LIST_OVER and more, which are passed over as those are that are not all. */
static KH_HD kh_small_list kh_small_bins(const kh_match_db *db, uint32_t seed, uint64_t key,
					 uint64_t *to, uint32_t cap)
{
	kh_small_list l = { 0, true };

	l = kh_small_add_bins(l, &db->seeds, key, 0, seed, to, cap);
	KH_ROLLED
	for (uint32_t i = 0; KH_SEVERAL && i < db->n_beside; i++) {
		const kh_seed_volume *p = &db->beside[i];

		l = kh_small_add_bins(l, &p->index, key, p->first_bin, seed, to, cap);
	}
	return l;
}

/* Copies of lines.  next[i]: if number i is the first line of a seed that goes on in the next
 * level, the number of its line there; KH_SMALL_NOT_COPIED: that is read where it lies. */
typedef struct kh_small_lines {
	const char *copy;               /* 64 bytes each */
	const uint32_t *next;
} kh_small_lines;

#define KH_SMALL_NOT_COPIED UINT32_MAX

/* As kh_small_add_bins, of a seed whose first line is number i of the copies. */
static KH_HD kh_small_list kh_small_add_copied(kh_small_list l, const kh_seed_index *x,
					       uint64_t key, const kh_small_lines *c, uint32_t i,
					       uint32_t first_bin, uint32_t seed, uint64_t *to,
					       uint32_t cap)
{
	kh_seed_search s = kh_seed_begin(x, key);
	uint32_t at = i;

	while (s.line) {
		if (at != KH_SMALL_NOT_COPIED)
			s.line = (const uint8_t *)c->copy + UINT64_C(64) * at;
		l = kh_small_add_line(l, x, &s, first_bin, seed, to, cap);
		kh_seed_go_on(x, &s);
		at = s.line && s.level == 1 ? c->next[i] : KH_SMALL_NOT_COPIED;
	}
	return l;
}

/* As kh_small_bins, with copies: number `line` is the seed's first line in the first database, and
 * so on. */
static KH_HD kh_small_list kh_small_bins_copied(const kh_match_db *db, uint32_t seed, uint64_t key,
						const kh_small_lines *c, uint32_t line,
						uint64_t *to, uint32_t cap)
{
	kh_small_list l = { 0, true };

	l = kh_small_add_copied(l, &db->seeds, key, c, line, 0, seed, to, cap);
	KH_ROLLED
	for (uint32_t i = 0; KH_SEVERAL && i < db->n_beside; i++) {
		const kh_seed_volume *p = &db->beside[i];

		l = kh_small_add_copied(l, &p->index, key, c, line + 1 + i, p->first_bin, seed, to,
					cap);
	}
	return l;
}

/* --- a fragment ------------------------------------------------------------------------- */
/* The call of a fragment of so many k-mers that was compared, but for the features found; `to`
 * gets what is wanted beside it.  `best`: of the claims, or NULL, of these places. */
static KH_HD kh_call kh_small_decide(const kh_match_db *db, const kh_place *places,
				     const kh_claims *claims, const kh_segment *s,
				     const kh_claim *best, kh_extent crowd, uint32_t kmers,
				     uint32_t confidence, kh_beside to)
{
	kh_call c = { KH_NO_TAXON, kmers, 0, 0 };

	kh_beside_clear(to);
	if (best && s->mate[0].seeds + s->mate[1].seeds > 0) {
		c.hits = best->hits;
		c.taxon = kh_match_taxon(db, places, claims, s, best, crowd);
		if (!kh_extent_any(crowd))
			kh_claims_give(db, places, claims, s, best, to);
	}
	if (!kh_call_is_confident(&c, confidence))
		c.taxon = KH_NO_TAXON;
	return c;
}

static KH_HD kh_call kh_small_call(const kh_small *x, const kh_small_segment *j,
				   uint32_t confidence, kh_beside to)
{
	const kh_matching *m = &x->m;
	const uint32_t kmers = kh_mate_kmers(m, &j->s, 0) + kh_mate_kmers(m, &j->s, 1);
	const kh_claim *best = kh_match_best(&m->here);
	kh_call c = kh_small_decide(m->db, m->place, &m->here, &j->s, best, m->crowd, kmers,
				    confidence, to);

	c.taxon = kh_match_strain(m, &j->s, best, c.taxon);
	return c;
}

/* The same of a fragment of several parts, by their sums; `best`: of these, or UINT32_MAX;
 * `strain`: the taxon of its species that the parts agree on. */
static KH_HD kh_call kh_small_call_long(const kh_match_db *db, const kh_sums *sums, uint32_t best,
					uint32_t strain, uint64_t bases, uint32_t kmers,
					uint32_t confidence, kh_beside to)
{
	kh_call c = { KH_NO_TAXON, kmers, 0, 0 };

	kh_beside_clear(to);
	if (best != UINT32_MAX) {
		c.hits = sums->claims.v[best].hits;
		c.taxon = kh_match_long_taxon(db, sums, best, bases);
		if (kh_match_may_be_strain(db, sums->claims.v[best].species_no, c.taxon))
			c.taxon = strain;
		kh_sums_give(db, sums, best, to);
	}
	if (!kh_call_is_confident(&c, confidence))
		c.taxon = KH_NO_TAXON;
	return c;
}

/* --- features found --------------------------------------------------------------------- */
/* In an array with a bit for each base, as `mark`: none of a mate's seeds are found. */
static KH_HD void kh_small_no_seeds(const kh_mate *a, uint32_t *had)
{
	for (uint32_t w = 0; 32 * w < a->len; w++)
		had[a->at / 32 + w] = 0;
}

/* Writes to it which seeds of a fragment, which begins at a word of it, the text has where the best
 * claim has the mates; how many. */
static KH_HD uint32_t kh_small_found(const kh_small *x, const kh_small_segment *j, uint32_t *had)
{
	const kh_claim *best = kh_match_best(&x->m.here);
	const uint32_t k = x->m.db->sampling.k;
	uint32_t n = 0;

	for (uint32_t mate = 0; mate < 2; mate++) {
		const kh_mate *a = &j->s.mate[mate];
		kh_diagonals lies;

		kh_small_no_seeds(a, had);
		if (!best || !(best->mates >> mate & 1))
			continue;
		lies = kh_claim_diagonals(&x->m, best, mate);
		for (uint32_t w = 0; 32 * w < a->len; w++)
			for (uint32_t m = kh_small_marks(j->mark, a, k, w); m; m &= m - 1) {
				const uint32_t at = kh_lowest_bit(m);

				if (!kh_diagonals_have_seed(&x->m, &j->s, mate, &lies, 32 * w + at))
					continue;
				had[a->at / 32 + w] |= UINT32_C(1) << at;
				n++;
			}
	}
	return n;
}

#endif
