/*
 * class.h - the class of a fragment, for what is decided by the whole sample   [HD]
 *
 * Fragments of one class have the same call, the same candidates with the same drops, nearly as
 * many k-mers (within a power of two), and the same share of these found (in 32nds).  The k-mers
 * are those that kh_call counts: KH_TEXT_KMER bases each, one at every KH_TEXT_STEP bases of the
 * fragment.  A k-mer is found if the text has it where the best species lies.  The drop of a
 * candidate is, for a fragment of one segment, its mismatches beyond those of the best one
 * (match_call.h); for a longer one, what its parts say for another species (match_long.h).
 *
 * Example: a read of 100 bases has 18 k-mers, of which 16 are found.  Its size class is
 * log2(18) - 3 = 1, its share 32 * 16 / 18 = 28, and its cell 32 * 1 + 28 = 60.
 *
 * The second pass treats fragments of one class alike, so a count of each class is nearly all that
 * it has to know, and its memory does not grow with the reads.  Besides, a fragment is located if
 * it has one best species, and if its best claim has its place in a target of that species.  Then
 * its share is noted, as a bit, in the mask of the interval of that target.
 */
#ifndef KH_CLASSIFY_CLASS_H
#define KH_CLASSIFY_CLASS_H

#include <string.h>
#include "classify/rule.h"

/* In place of the number of a fragment's class: it has none; it has one, and is not counted yet. */
#define KH_NO_CLASS UINT32_MAX
#define KH_UNCOUNTED (KH_NO_CLASS - 1)

/* Bins of an interval of a genome, which has a mask; some in a row are a tract (census.h).  The
 * columns "stretches" of a profile count intervals. */
#define KH_INTERVAL 8

enum {
	KH_SHARES = 32,         /* shares of k-mers found, h / n */
	KH_H_LEAST = 2,         /* k-mers found of a fragment that has a class */
	KH_N_LEAST = 8,         /* and all k-mers of it */
	KH_N_MOST = 127,        /* with more, it is long */
	KH_LONG = 4,            /* size class of long ones; of others it is log2(n) - 3 */
	KH_SIZES,
	KH_ENOUGH = 3           /* k-mers found without which no fragment gets a new call */
};

typedef struct kh_class {
	uint32_t species[KH_CANDIDATES];        /* ascending, then KH_NO_TAXON */
	uint8_t drop[KH_CANDIDATES];            /* how far behind the best; see
						 * KH_DROP_OF_MATES */
	uint32_t call;
	uint32_t cell;          /* KH_SHARES times the size class, and the share found */
	uint8_t located;
	uint8_t enough;         /* k-mers found for another call */
	uint8_t zero[2];
	uint64_t many;
} kh_class;

#define KH_CLASS_KEY 72         /* its bytes in front of `many`: they tell classes apart */
static_assert(offsetof(kh_class, many) == KH_CLASS_KEY && sizeof(kh_class) == KH_CLASS_KEY + 8,
	      "classes are compared by their bytes, and copied from devices");
static_assert(offsetof(kh_class, drop) == offsetof(kh_candidates, drop) &&
		      offsetof(kh_class, call) == offsetof(kh_candidates, bin),
	      "a class begins with its candidates");

static KH_HD int kh_has_class(const kh_call *call, const kh_candidates *cand)
{
	return call->kmers >= KH_N_LEAST && call->hits >= KH_H_LEAST &&
	       cand->species[0] != KH_NO_TAXON;
}

/* Are enough k-mers found for another call? */
static KH_HD int kh_class_enough(const kh_rule *r, const kh_call *call)
{
	return call->hits >= KH_ENOUGH && call->hits >= call->kmers >> 6 &&
	       kh_call_is_confident(call, r->confidence);
}

static KH_HD uint32_t kh_class_size(uint32_t kmers)
{
	return kmers > KH_N_MOST ? (uint32_t)KH_LONG : kh_log2(kmers) - 3;
}

/* Where a fragment with a class is counted by its k-mers: all long ones at 0. */
static KH_HD uint32_t kh_class_counted(uint32_t kmers)
{
	return kmers > KH_N_MOST ? 0 : kmers;
}

/* The share of its k-mers that a fragment has found. */
static KH_HD uint32_t kh_class_share(const kh_call *call)
{
	return call->hits < call->kmers ? KH_SHARES * call->hits / call->kmers
					: KH_SHARES - 1;
}

/* The species that is best alone, if the fragment has a place; else KH_NO_TAXON. */
static KH_HD uint32_t kh_class_best(const kh_candidates *cand)
{
	uint32_t best = KH_NO_TAXON, n = 0;

	for (int i = 0; i < KH_CANDIDATES && cand->species[i] != KH_NO_TAXON; i++)
		if (cand->drop[i] == 0) {
			best = cand->species[i];
			n++;
		}
	return n == 1 && cand->bin != KH_NO_BIN ? best : KH_NO_TAXON;
}

/* What a class has beside its candidates. */
typedef struct kh_class_rest {
	uint32_t call, cell;
	uint8_t located, enough;
} kh_class_rest;

static KH_HD kh_class_rest kh_class_rest_of(const kh_rule *r, const kh_call *call, int located)
{
	const kh_class_rest x = {
		call->taxon, kh_class_size(call->kmers) * KH_SHARES + kh_class_share(call),
		(uint8_t)(located != 0), (uint8_t)kh_class_enough(r, call)
	};

	return x;
}

/* The class, of which none is counted. */
static KH_HD kh_class kh_class_make(const kh_candidates *cand, const kh_class_rest *x)
{
	kh_class k;

	memcpy(&k, cand, offsetof(kh_class, call));
	k.call = x->call;
	k.cell = x->cell;
	k.located = x->located;
	k.enough = x->enough;
	k.zero[0] = k.zero[1] = 0;
	k.many = 0;
	return k;
}

/* The species that is best alone, or KH_NO_TAXON. */
static KH_HD uint32_t kh_class_alone(const kh_class *k)
{
	uint32_t best = KH_NO_TAXON;

	for (int i = 0; i < KH_CANDIDATES && k->species[i] != KH_NO_TAXON; i++) {
		if (k->drop[i] > 0)
			continue;
		if (best != KH_NO_TAXON)
			return KH_NO_TAXON;
		best = k->species[i];
	}
	return best;
}

/* A mix of the key.  Most classes have few candidates, so places behind the last one are left
 * out. */
static KH_HD uint64_t kh_class_mix_of(const uint32_t species[KH_CANDIDATES],
				      const uint8_t drop[KH_CANDIDATES], const kh_class_rest *rest)
{
	uint64_t x = rest->call | (uint64_t)rest->cell << 32 | (uint64_t)rest->located << 40 |
		     (uint64_t)rest->enough << 41 | (uint64_t)drop[KH_DROP_OF_MATES] << 42;

	for (int i = 0; i < KH_CANDIDATES && species[i] != KH_NO_TAXON; i++) {
		x *= UINT64_C(0x9e3779b97f4a7c15);
		x ^= x >> 32;
		x += species[i] | (uint64_t)drop[i] << 40;
	}
	return kh_fmix64(x);
}

static KH_HD uint64_t kh_class_mix(const kh_class *k)
{
	const kh_class_rest x = { k->call, k->cell, k->located, k->enough };

	return kh_class_mix_of(k->species, k->drop, &x);
}

#endif
