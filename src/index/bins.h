/*
 * bins.h - bins: the stretches of references that the index tells apart   [HD]
 *
 * A reference sequence is cut into bins of `stride` bases.  The bins of all targets are numbered
 * through, in input order, with a gap after each target, so that no window of bins that a read
 * can cover reaches from one target into the next.  A location in the index is such a number.
 *
 * Behind the targets each species that they are of has one bin, with gaps as between targets.
 * Where a feature lies in more than `most` targets of one species, or at more than twice as many
 * places, those places give way to that bin: it says "somewhere in this species", and a feature
 * found there is a vote for it.  Which of very many strains a feature is in decides little and
 * takes most of the room; which of many close species it is in decides much, and stays.  So do the
 * few places of a gene that a genome has several times: there are not many such genes, and votes
 * count wherever a feature lies, so they make too much of a species that has it more than once.
 *
 * A database with the text of its targets compares reads with that.  A bin is where to look there,
 * and a vote is of no use: the first bins of a species stay.
 */
#ifndef KH_INDEX_BINS_H
#define KH_INDEX_BINS_H

#include <stdint.h>
#include "kmer/kmer.h"

#define KH_NO_BIN UINT32_MAX
#define KH_LIST_MAX 254                 /* words of a list in the index */
#define KH_LIST_OVER 255

/* Stretches in the order of bins: the targets, then the species. Number i has the bins from
 * first[i] on; a species has one. */
typedef struct kh_bins {
	uint32_t n;
	const uint32_t *first;          /* n, ascending */
	const uint32_t *taxon;          /* n, preorder numbers */
	uint32_t n_targets;             /* of the n */
	uint32_t votes;                 /* the first bin of a species; KH_NO_BIN: there is none */
	const uint32_t *species;        /* n_targets: number of the target's species, of the n */
	uint32_t most;                  /* targets of a list in one species; 0: not limited */
	uint32_t bits;                  /* of a word of a list (kh_word_bits); 0: 32 */
	/* 1: of a list the first `most` bins of a species stay, in whatever targets; no votes */
	uint32_t places;
} kh_bins;

/* Bits that any bin below n_bins, and any taxon below n_taxa, can be written with. */
static KH_HD uint32_t kh_word_bits(uint64_t n_bins, uint32_t n_taxa)
{
	const uint64_t most = n_bins > n_taxa ? n_bins : n_taxa;
	uint32_t bits = 1;

	while (bits < 32 && most > UINT64_C(1) << bits)
		bits++;
	return bits;
}

static KH_HD uint32_t kh_bins_bits(const kh_bins *b)
{
	return b->bits ? b->bits : 32;
}

/* The target or species of a bin in use: the last one with first <= bin. */
static KH_HD uint32_t kh_bins_target(const kh_bins *b, uint32_t bin)
{
	uint32_t lo = 0;

	/* it is one of the n from lo on; a choice, not a jump, which nobody could foretell */
	for (uint32_t n = b->n, half; n > 1; n -= half) {
		half = n / 2;
		lo = b->first[lo + half] <= bin ? lo + half : lo;
	}
	return lo;
}

/* The bin that a location in target t votes in. */
static KH_HD uint32_t kh_bins_vote(const kh_bins *b, uint32_t t)
{
	return b->species ? b->first[b->species[t]] : KH_NO_BIN;
}

/* How much of a list lies in one species: its locations, and, in the upper half, the targets that
 * they are in.  To be counted no further than up to what is too much: so neither overflows. */
#define KH_IN_TARGET (UINT32_C(1) << 16)

static KH_HD uint32_t kh_in_locations(uint32_t in)
{
	return in & (KH_IN_TARGET - 1);
}

/* Is that too much to be kept? */
static KH_HD int kh_bins_much(const kh_bins *b, uint32_t in)
{
	const uint32_t locations = 2 * b->most < KH_LIST_MAX ? 2 * b->most : KH_LIST_MAX;

	return b->most > 0 && (in / KH_IN_TARGET > b->most || kh_in_locations(in) > locations);
}

/* Turns bins of the sequences that a process has read into bins of the targets of all processes.
 * Sequence i has the bins from old.first[i] up to old.first[i + 1]; they become those from to[i]
 * on; KH_DROP: no target. */
#define KH_DROP UINT32_MAX
typedef struct kh_remap {
	kh_bins old;            /* .taxon is not used */
	const uint32_t *to;
} kh_remap;

#ifndef __CUDACC__
#include "base/msg.h"
#include "taxonomy/tree.h"

/* The bins of targets and species, with the arrays that they point to. */
typedef struct kh_bin_map {
	kh_bins bins;
	uint32_t *first, *taxon, *species;
	uint64_t end;           /* behind the last gap */
} kh_bin_map;

/* `targets` has n, first and taxon of the targets alone, and is copied; `end` is behind their
 * last gap. To be cleared even if it fails, which it does if there are more bins than 32 bits can
 * number. */
int kh_bin_map_init(kh_bin_map *m, const kh_bins *targets, uint64_t end, uint32_t gap,
		    const kh_tree *tree, kh_err *err);
void kh_bin_map_clear(kh_bin_map *m);
#endif

#endif
