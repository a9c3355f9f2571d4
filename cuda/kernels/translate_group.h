/*
 * translate_group.h - fragments looked at by translated seeds, some by a block of threads   [HD]
 *
 * A group is as many fragments as have KH_GROUP_MATES mates.  Its threads share what there is to
 * do, step by step, each of which waits for the one before:
 *
 *	begin    a mate: which record it is
 *	take     a word of a mate; turn: of its reverse complement
 *	keys     one of six frames of a mate: where it has keys
 *	find     a key: where the section has it, and so how the mate would lie
 *	compare  such a place: its score, once of those that many keys lead to
 *	rank     a fragment: its best genus, and whether a mate is to be sought
 *	settle   a fragment: its genus, or none
 *
 * A fragment with more than there is room for is left to the host.  Nothing depends on the order in
 * which keys and places come.  For nvcc, and for the tests that do the same on the CPU.
 */
#ifndef KH_CUDA_KERNELS_TRANSLATE_GROUP_H
#define KH_CUDA_KERNELS_TRANSLATE_GROUP_H

#include "cuda/kernels/match_item.h"
#include "translated/letters.h"
#include "translated/score.h"

enum {
	KH_GROUP_MATES = 16,            /* with 32 the kernel takes 1.06 to 1.18 times as long */
	KH_GROUP_FRAMES = 6 * KH_GROUP_MATES,
	KH_GROUP_KEYS = 2048,           /* of all its mates: a read of 150 bases has some 25 */
	KH_GROUP_PLACES = 192,          /* of these keys: of a read's, the section has one or two */
	KH_GROUP_GENERA = 6             /* of a fragment */
};

/* A key of a mate, or where it lies: the mate's number, its strand, and the base of that at which
 * the key begins. */
typedef uint16_t kh_group_key;

static_assert(KH_GROUP_MATES <= 32 && KH_TEXT_SPAN <= 512, "a key has 16 bits");

static KH_HD kh_group_key kh_group_key_of(uint32_t mate, uint32_t strand, uint32_t pos)
{
	return (kh_group_key)(mate << 10 | strand << 9 | pos);
}

static KH_HD uint32_t kh_group_mate_of(kh_group_key key)
{
	return (uint32_t)key >> 10;
}

typedef struct kh_group_place {
	kh_group_key key;
	kh_translated_place lies;
} kh_group_place;

/* What a fragment is most like: its best genus. */
typedef struct kh_group_best {
	kh_translated_claim *claim;     /* n of them, in the group */
	uint32_t n, best, second, len[2];
	uint32_t mate;                  /* is to be sought, if seek is true */
	kh_translated_beside beside;
	bool any, seek;
} kh_group_best;

typedef struct kh_group {
	kh_oriented read[KH_GROUP_MATES][2];
	uint32_t word[KH_GROUP_MATES], len[KH_GROUP_MATES];     /* 0: too short, or there is none */
	uint32_t fragment[KH_GROUP_MATES];      /* UINT32_MAX: there is none */
	uint32_t mates;                         /* of a fragment: 1 or 2 */
	uint32_t n_keys, n_places;              /* also those that there was no room for */
	uint32_t full;                          /* bits of mates that had no room */
	uint8_t letter[64];                     /* kh_letter_of */
	kh_group_place place[KH_GROUP_PLACES];
	union {
		kh_group_key key[KH_GROUP_KEYS];
		/* when all keys have been looked up */
		kh_translated_claim claim[KH_GROUP_MATES][KH_GROUP_GENERA];
	} of;
} kh_group;

/* --- which fragments ------------------------------------------------------------------ */
/* Does the kernel look at fragment i?  If not, its genus is known, or the host does it, as it calls
 * long fragments, by their parts. */
static KH_HD bool kh_group_wants(const kh_gpu_query *q, uint32_t i)
{
	const uint32_t taxon = q->call[i].taxon;
	const uint32_t a = kh_gpu_mate(q, i, 0).len, b = kh_gpu_mate(q, i, 1).len;
	const bool fits = a <= KH_TEXT_SPAN && b <= KH_TEXT_SPAN;

	if (taxon == KH_NO_TAXON && fits &&
	    (a >= KH_TRANSLATED_SHORTEST || b >= KH_TRANSLATED_SHORTEST))
		return true;
	q->genus[i] = taxon == KH_GPU_CALL_LEFT || (taxon == KH_NO_TAXON && !fits)
			      ? KH_GPU_CALL_LEFT : KH_NO_TAXON;
	return false;
}

static KH_HD uint32_t kh_group_mates(const kh_gpu_query *q)
{
	return q->order.mate == 0 ? 1 : 2;
}

/* Mate m of group number `group`. */
static KH_HD void kh_group_begin(kh_group *g, const kh_gpu_query *q, uint32_t group, uint32_t m)
{
	const uint32_t mates = kh_group_mates(q);
	const uint32_t at = group * (KH_GROUP_MATES / mates) + m / mates;
	kh_gpu_record r = { 0, 0 };

	g->fragment[m] = UINT32_MAX;
	if (at < q->counts[KH_GPU_UNCALLED]) {
		g->fragment[m] = q->again[at];
		r = kh_gpu_mate(q, q->again[at], (int)(m % mates));
	}
	g->word[m] = r.word;
	g->len[m] = r.len < KH_TRANSLATED_SHORTEST ? 0 : r.len;
	if (m == 0) {
		g->mates = mates;
		g->n_keys = g->n_places = g->full = 0;
	}
}

/* Takes word w of mate m, if it has so many. */
static KH_HD void kh_group_take(kh_group *g, const kh_gpu_query *q, uint32_t m, uint32_t w)
{
	if (32 * w < g->len[m])
		kh_text_take_word(&g->read[m][0], q->bases, q->amb, (uint64_t)g->word[m] * 32,
				  g->len[m], w);
}

static KH_HD void kh_group_turn(kh_group *g, uint32_t m, uint32_t w)
{
	if (32 * w < g->len[m])
		kh_text_turn_word(&g->read[m][1], &g->read[m][0], g->len[m], w);
}

/* --- keys ----------------------------------------------------------------------------- */
static KH_HD void kh_group_is_full(kh_group *g, uint32_t m)
{
#ifdef __CUDA_ARCH__
	atomicOr(&g->full, UINT32_C(1) << m);
#else
	g->full |= UINT32_C(1) << m;
#endif
}

static KH_HD void kh_group_put_key(kh_group *g, uint32_t m, uint32_t strand, uint32_t pos)
{
	const uint32_t at = kh_gpu_add(&g->n_keys, 1);

	if (at < KH_GROUP_KEYS)
		g->of.key[at] = kh_group_key_of(m, strand, pos);
	else
		kh_group_is_full(g, m);
}

/* The kept keys of k letters of one frame of a mate that lie in runs of enough codons.  Those of
 * the first codons of a run wait, as bits, until there are enough. */
static KH_HD void kh_group_keys(kh_group *g, uint32_t k, uint32_t frame)
{
	const uint32_t m = frame / 6, strand = frame % 6 / 3, len = g->len[m];
	const uint32_t row = kh_translated_run(len);
	const kh_oriented *o = &g->read[m][strand];
	uint64_t key = 0, x = 0, unknown = 0;
	uint32_t run = 0, wait = 0;

	for (uint32_t at = frame % 3, have = 0; at + 3 <= len; at += 3, have--) {
		if (have == 0) {                /* ten codons of 32 bases */
			x = kh_bases_at(o->base, at);
			unknown = kh_bases_at(o->unknown, at);
			have = 10;
		}
		const uint32_t letter = unknown & 63 ? KH_STOP : g->letter[x & 63];

		x >>= 6;
		unknown >>= 6;
		key = key << 4 | letter;
		run = letter == KH_STOP ? 0 : run + 1;
		wait = run == 0 ? 0 : wait;
		if (run >= k && kh_key_kept(key, k)) {
			if (run <= row)
				wait |= UINT32_C(1) << (run - k);
			else
				kh_group_put_key(g, m, strand, at - 3 * (k - 1));
		}
		for (; run == row && wait; wait &= wait - 1)
			kh_group_put_key(g, m, strand,
					 at - 3 * (row - 1) + 3 * kh_lowest_bit(wait));
	}
}

/* What the key is known by. */
static KH_HD uint32_t kh_group_key_mix(const kh_group *g, kh_group_key at, uint32_t k)
{
	const kh_oriented *o = &g->read[kh_group_mate_of(at)][at >> 9 & 1];
	uint64_t x = kh_bases_at(o->base, at & 511), key = 0;

	for (uint32_t i = 0; i < k; i++, x >>= 6)
		key = key << 4 | g->letter[x & 63];
	return kh_key_mix(key);
}

static KH_HD void kh_group_find(kh_group *g, const kh_translated *t, uint32_t k, uint32_t number)
{
	const kh_group_key key = g->of.key[number];
	const uint32_t m = kh_group_mate_of(key);
	uint32_t n;
	const uint32_t place = kh_translated_look_up(t, kh_group_key_mix(g, key, k), &n);
	const uint32_t at = n > 0 ? kh_gpu_add(&g->n_places, n) : 0;

	for (uint32_t i = 0; i < n; i++)
		if (at + i < KH_GROUP_PLACES) {
			kh_group_place *p = &g->place[at + i];

			p->key = key;
			p->lies = kh_translated_lay(t, g->len[m], key >> 9 & 1, key & 511,
						    kh_translated_at(t, place + i));
		} else {
			kh_group_is_full(g, m);
		}
}

/* --- places ----------------------------------------------------------------------------- */
/* How many there are, of `most` at most. */
static KH_HD uint32_t kh_group_n(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* Does a key in front of this one lead to the same place?  Stretches of the text may touch, so the
 * first key says in which one it is. */
static KH_HD bool kh_group_seen(const kh_group *g, const kh_group_place *p)
{
	const uint32_t n = kh_group_n(g->n_places, KH_GROUP_PLACES);

	for (uint32_t i = 0; i < n; i++)
		if (g->place[i].key < p->key &&
		    kh_group_mate_of(g->place[i].key) == kh_group_mate_of(p->key) &&
		    kh_translated_same(&g->place[i].lies, &p->lies))
			return true;
	return false;
}

static KH_HD void kh_group_compare(kh_group *g, const kh_translated *t, uint32_t number)
{
	kh_group_place *p = &g->place[number];
	const uint32_t m = kh_group_mate_of(p->key);
	const kh_oriented *o = &g->read[m][p->lies.strand];

	if (!kh_group_seen(g, p))
		kh_translated_compare(t, o, g->len[m], &p->lies);
}

/* --- genera --------------------------------------------------------------------------- */
/* Claims of fragment f of the group; false: there are too many. */
static KH_HD bool kh_group_claims(kh_group *g, const kh_translated *t, uint32_t f, uint32_t *n)
{
	const uint32_t places = kh_group_n(g->n_places, KH_GROUP_PLACES);

	*n = 0;
	for (uint32_t i = 0; i < places; i++) {
		const kh_translated_place *p = &g->place[i].lies;
		const uint32_t m = kh_group_mate_of(g->place[i].key);

		if (m / g->mates == f && kh_translated_near(p) > 0 &&
		    !kh_translated_claim_add(t, g->of.claim[f], n, KH_GROUP_GENERA, m % g->mates,
					     p))
			return false;
	}
	return true;
}

/* Fragment f, whose first mate is m.  False: it is left to the host. */
static KH_HD bool kh_group_rank(kh_group *g, const kh_translated *t, uint32_t f, kh_group_best *b)
{
	const uint32_t m = f * g->mates;
	const uint32_t ours = (UINT32_C(1) << g->mates) - 1;
	uint32_t n;

	b->any = b->seek = false;
	b->len[0] = g->len[m];
	b->len[1] = g->mates == 2 ? g->len[m + 1] : 0;
	if ((g->full >> m & ours) || !kh_group_claims(g, t, f, &n))
		return false;
	b->any = n > 0;
	if (n == 0)
		return true;
	b->claim = g->of.claim[f];
	b->n = n;
	b->best = kh_translated_best(b->claim, n, &b->second);
	if (kh_translated_enough(t, &b->claim[b->best], b->second))
		return true;
	for (uint32_t i = 0; i < 2 && !b->seek; i++) {
		b->mate = m + i;
		b->seek = kh_translated_seek(t, &b->claim[b->best], b->len, i, false, &b->beside);
	}
	return true;
}

/* The mate that is sought, and the stretch of the text where. */
static KH_HD kh_laid kh_group_sought(const kh_group *g, const kh_translated *t, uint32_t mate,
				     const kh_translated_place *p)
{
	return kh_translated_laid(t, &g->read[mate][p->strand], g->len[mate], p->stretch);
}

/* The taxon that is called, or KH_NO_TAXON.  A mate that was sought is at b->beside.place. */
static KH_HD uint32_t kh_group_settle(const kh_group *g, const kh_translated *t, kh_group_best *b)
{
	kh_translated_place *p = &b->beside.place;

	if (!b->any)
		return KH_NO_TAXON;
	if (b->seek) {
		kh_translated_place *of = &b->claim[b->best].best[b->mate % g->mates];

		kh_translated_fit(t, &g->read[b->mate][p->strand], g->len[b->mate], p);
		if (kh_translated_score_of(p) > kh_translated_score_of(of))
			*of = *p;
	}
	return kh_translated_call_of(t, b->claim, b->n, b->best, b->second, b->len);
}

#endif
