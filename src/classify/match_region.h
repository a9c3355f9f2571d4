/*
 * match_region.h - regions: where a mate may lie by its seeds, and how well at most   [HD]
 *
 * Whoever compares a segment adds the bins of each mate's seeds as anchors.  Those whose bins
 * follow each other closely are a region.  The seeds that are missing there bound the score that
 * the mate can have in it, so that most regions need not be compared (match_place.h).
 */
#ifndef KH_CLASSIFY_MATCH_REGION_H
#define KH_CLASSIFY_MATCH_REGION_H

#include <stdlib.h>
#include "classify/match_sort.h"

/* --- anchors --------------------------------------------------------------------------- */
/* Begins with a mate, of whose seeds those at `pos` were looked up. */
static KH_HD void kh_found_begin(kh_found *f, const uint32_t *pos, uint32_t asked)
{
	f->pos = pos;
	f->n = asked < (uint32_t)KH_MATCH_SEEDS ? asked : (uint32_t)KH_MATCH_SEEDS;
	f->n_anchors = 0;
	f->known = kh_seed_none();
	f->best = f->hsp = f->n_places = 0;
	f->hsp_species_row = KH_NO_TAXON;
	f->crowd = 0;
#ifndef __CUDA_ARCH__
	f->least = INT32_MAX;
#endif
}

/* Passes over lists that are not whole, and, as long as the others have more bins than a mate may
 * have anchors, over the longest one, of equal ones the last: their lengths become
 * KH_LIST_OVER. */
static KH_HD void kh_lists_pass_over(uint8_t *len, uint32_t n)
{
	for (;;) {
		uint32_t sum = 0, longest = 0;

		for (uint32_t i = 0; i < n; i++) {
			if (len[i] == KH_LIST_OVER)
				continue;
			sum += len[i];
			longest = len[longest] == KH_LIST_OVER || len[i] >= len[longest] ? i
											 : longest;
		}
		if (sum <= KH_MATCH_ANCHORS)
			return;
		len[longest] = KH_LIST_OVER;
	}
}

/* --- regions ------------------------------------------------------------------------------ */
static KH_HD uint32_t kh_anchor_bin(uint64_t anchor)
{
	return (uint32_t)(anchor >> 32);
}

static KH_HD uint32_t kh_region_bin(const kh_found *f, const kh_region *r)
{
	return kh_anchor_bin(f->anchor[r->from]);
}

/* Two k-mers of a mate lie in bins that are at most so far apart. */
static KH_HD uint32_t kh_region_gap(const kh_matching *m, uint32_t len)
{
	const uint32_t k = m->db->sampling.k;

	return len < k ? 0 : (len - k) / m->db->sampling.stride + 1;
}

/* The loss of a place that has only the seeds of n anchors from `from` on; 0, if seeds that are
 * missing say nothing (kh_match_seeds_tell). */
static KH_HD uint32_t kh_region_loss_of(const kh_matching *m, const kh_found *f, uint32_t len,
					uint32_t from, uint32_t n)
{
	kh_seed_set found = kh_seed_none();

	if (!kh_match_seeds_tell(m->db))
		return 0;
	for (uint32_t i = from; i < from + n; i++)
		kh_seed_add(&found, (uint32_t)f->anchor[i]);
	return kh_match_loss(f->pos, f->n, m->db->sampling.k, len, &f->known, &found);
}

/* --- what only one mate has --------------------------------------------------------------- */
/* Where candidates are wanted of a pair, places behind the best one are compared, too
 * (kh_match_slack).  Most of these regions are there by chance, in species in which the other
 * mate has no region; the species of a region is that of its first bin.  A claim of one mate is
 * far behind one of both, so such a region is only compared if it could be best: its loss is
 * greater by that slack.  An example: both mates of 150 bases fit species A with a score of 148;
 * the first one has a region of B, too, where it could have 142.  A claim of B would be 154
 * behind.  If the other mate has no place at all, the first one's regions are compared after all
 * (kh_match_compare). */
enum { KH_REGION_LONE_MOST = 16 };      /* with more regions of a mate no loss is greater: a warp
					 * has a lane for each region of both */

/* What the loss of a region becomes greater by, if the other mate has none in its species, where
 * the mates have so many regions; 0: no loss does.  A mate's only region is compared in any case.
 * With alleles a place may fit better than its loss says. */
static KH_HD uint32_t kh_region_lone_loss(const kh_match_db *db, const kh_segment *s, uint32_t n,
					  uint32_t of_other)
{
	const bool wanted = s->whole && kh_match_wants_others(db) && !db->alleles &&
			    kh_match_seeds_tell(db);

	return wanted && n > 0 && of_other > 0 && n + of_other > 2 && n <= KH_REGION_LONE_MOST &&
			       of_other <= KH_REGION_LONE_MOST
		       ? (uint32_t)KH_MATCH_NEARBY : 0;
}

static KH_HD uint32_t kh_bin_species_row(const kh_match_db *db, uint32_t bin)
{
	return db->bins.species_row[kh_match_target(db, bin)];
}

#ifndef __CUDACC__
/* Of each seed, the first one that begins behind it. */
static inline void kh_seeds_behind(const uint32_t *pos, uint32_t n, uint32_t k,
				   uint8_t behind[KH_MATCH_SEEDS])
{
	for (uint32_t i = 0, j = 0; i < n; i++) {
		while (j < n && pos[j] < pos[i] + k)
			j++;
		behind[i] = (uint8_t)j;
	}
}

/* As kh_match_loss, of a mate that lacks all known seeds that were not found. */
static inline uint32_t kh_seeds_loss(const kh_found *f, const uint8_t behind[KH_MATCH_SEEDS],
				     uint32_t k, uint32_t len, const kh_seed_set *found)
{
	uint32_t loss = 0, next = 0;

	KH_UNROLLED
	for (uint32_t w = 0; w < KH_MATCH_SEEDS / 64; w++) {
		const uint32_t first = 64 * w, end = first + 64;
		uint64_t x = f->known.bit[w] & ~found->bit[w];

		if (next > first)
			x = next < end ? x & UINT64_MAX << next % 64 : 0;
		while (x != 0) {
			const uint32_t i = first + (uint32_t)__builtin_ctzll(x), at = f->pos[i];

			next = behind[i];
			x = next < end ? x & UINT64_MAX << next % 64 : 0;
			loss += 1 + ((at != 0) & (at + k != len));
		}
	}
	return loss;
}

/* Of each of 64 seeds at most: those that do not begin before it ends, and what its loss is. */
typedef struct kh_seed_steps {
	uint64_t beyond[64];
	uint8_t loss[64];
} kh_seed_steps;

static inline void kh_seeds_steps(const kh_found *f, uint32_t k, uint32_t len, kh_seed_steps *s)
{
	const uint32_t n = f->n;
	const uint32_t *pos = f->pos;

	for (uint32_t i = 0, j = 0; i < n; i++) {
		while (j < n && pos[j] < pos[i] + k)
			j++;
		s->beyond[i] = j < n ? UINT64_MAX << j : 0;
		s->loss[i] = (uint8_t)(1 + ((pos[i] != 0) & (pos[i] + k != len)));
	}
}

/* As kh_seeds_loss. */
static inline uint32_t kh_seeds_loss_few(const kh_found *f, const kh_seed_steps *s, uint64_t found)
{
	uint32_t loss = 0;

	for (uint64_t x = f->known.bit[0] & ~found; x != 0;) {
		const uint32_t i = (uint32_t)__builtin_ctzll(x);

		loss += s->loss[i];
		x &= s->beyond[i];
	}
	return loss;
}

/* The seeds of n anchors. */
static inline kh_seed_set kh_anchors_seeds(const uint64_t *anchor, uint32_t n)
{
	kh_seed_set found = kh_seed_none();

	for (uint32_t i = 0; i < n; i++)
		kh_seed_add(&found, (uint32_t)anchor[i]);
	return found;
}

/* Makes regions of all anchors, which are in order.  Those of close species mostly have the same
 * seeds. */
static inline void kh_regions_find(const kh_matching *m, kh_found *f, uint32_t len)
{
	const bool few = f->n <= 64;
	const uint32_t far = kh_region_gap(m, len), k = m->db->sampling.k;
	const bool tell = kh_match_seeds_tell(m->db);
	const uint64_t *const x = f->anchor, *const end = x + f->n_anchors;
	uint8_t *seed = f->seed;
	uint8_t behind[KH_MATCH_SEEDS];
	kh_seed_steps steps;
	kh_seed_set last = kh_seed_none();
	uint32_t loss = 0;

	if (tell && few) {
		kh_seeds_steps(f, k, len, &steps);
		loss = kh_seeds_loss_few(f, &steps, 0);
	} else if (tell) {
		kh_seeds_behind(f->pos, f->n, k, behind);
		loss = kh_seeds_loss(f, behind, k, len, &last);
	}
	f->unseen = loss;
	f->n_regions = 0;
	for (const uint64_t *from = x, *to = x; from < end; from = to) {
		kh_region *r = &f->region[f->n_regions++];
		kh_seed_set found = kh_seed_none();
		uint64_t seeds = 0, last_bin;

		do {
			const uint32_t number = (uint32_t)*to;

			last_bin = *to >> 32;
			seeds |= UINT64_C(1) << number % 64;
			*seed++ = (uint8_t)number;
			to++;
		} while (to < end && (*to >> 32) - last_bin <= far);
		if (few)
			found.bit[0] = seeds;
		else
			found = kh_anchors_seeds(from, (uint32_t)(to - from));
		if (tell && (found.bit[0] != last.bit[0] || found.bit[1] != last.bit[1]))
			loss = few ? kh_seeds_loss_few(f, &steps, seeds)
				   : kh_seeds_loss(f, behind, k, len, &found);
		last = found;
		r->from = (uint16_t)(from - x);
		r->n = (uint16_t)(to - from);
		r->loss = (uint16_t)loss;
	}
}

static_assert(KH_MATCH_SEEDS == 128, "a set is two words");

/* Raises the losses of regions that only one mate has. */
static inline void kh_regions_raise_lone(kh_matching *m, const kh_segment *s)
{
	const uint32_t more =
		kh_region_lone_loss(m->db, s, m->found[0].n_regions, m->found[1].n_regions);
	uint32_t row[2][KH_REGION_LONE_MOST];

	if (more == 0)
		return;
	for (uint32_t mate = 0; mate < 2; mate++) {
		const kh_found *f = &m->found[mate];

		for (uint32_t i = 0; i < f->n_regions; i++)
			row[mate][i] = kh_bin_species_row(m->db, kh_region_bin(f, &f->region[i]));
	}
	for (uint32_t mate = 0; mate < 2; mate++) {
		const kh_found *f = &m->found[mate];
		const uint32_t n = f->n_regions, of_other = m->found[!mate].n_regions;

		for (uint32_t i = 0; n > 1 && i < n; i++) {
			uint32_t j = 0;

			while (j < of_other && row[!mate][j] != row[mate][i])
				j++;
			if (j == of_other)
				f->region[i].loss += (uint16_t)more;
		}
	}
}

/* Makes regions of all anchors of both mates. */
static inline void kh_regions_make(kh_matching *m, const kh_segment *s)
{
	for (uint32_t mate = 0; mate < 2; mate++) {
		kh_found *f = &m->found[mate];

		if (f->n_anchors > 32 && m->sorted)
			kh_anchors_sort_many(f->anchor, m->sorted, f->n_anchors);
		else
			kh_anchors_sort_few(f->anchor, f->n_anchors);
		kh_regions_find(m, f, s->mate[mate].len);
	}
}
#endif

/* --- which of them are compared ------------------------------------------------------------ */
/* Could a place in the region have this score? */
static KH_HD bool kh_region_may(const kh_region *r, uint32_t len, int64_t score)
{
	return r->loss != KH_REGION_DONE && (int64_t)len - r->loss >= score;
}

/* The least loss of a region that was not compared. */
static KH_HD uint32_t kh_regions_least_loss(const kh_found *f)
{
	uint32_t least = KH_REGION_DONE;

	for (uint32_t i = 0; i < f->n_regions; i++)
		least = f->region[i].loss < least ? f->region[i].loss : least;
	return least;
}

/* --- too many of them ---------------------------------------------------------------------- */
/* The weights of a mate's regions: their anchors, and those of the other mate's region beside
 * each, if there is one; f->crowd becomes the greatest of them. */
static KH_HD void kh_regions_weigh(kh_matching *m, uint32_t mate)
{
	kh_found *f = &m->found[mate];
	const kh_found *other = &m->found[!mate];
	const uint32_t near = KH_MATCH_SPAN / m->db->sampling.stride + 1;
	uint32_t lo = 0;

	for (uint32_t i = 0; i < f->n_regions; i++) {
		kh_region *r = &f->region[i];
		const uint32_t bin = kh_region_bin(f, r);

		while (lo < other->n_regions &&
		       kh_region_bin(other, &other->region[lo]) + near < bin)
			lo++;
		r->weight = r->n;
		if (lo < other->n_regions &&
		    kh_region_bin(other, &other->region[lo]) <= bin + near)
			r->weight = (uint16_t)(r->n + other->region[lo].n);
		f->crowd = r->weight > f->crowd ? r->weight : f->crowd;
	}
}

/* The numbers of a mate's regions, the heaviest first, of equal ones the first. */
static KH_HD void kh_regions_by_weight(const kh_found *f, uint16_t order[KH_MATCH_ANCHORS])
{
	uint16_t at[2 * KH_MATCH_ANCHORS] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < f->n_regions; i++)
		at[f->crowd - f->region[i].weight]++;
	for (uint32_t i = 0; i < f->crowd; i++) {
		const uint16_t here = at[i];

		at[i] = sum;
		sum = (uint16_t)(sum + here);
	}
	for (uint32_t i = 0; i < f->n_regions; i++)
		order[at[f->crowd - f->region[i].weight]++] = (uint16_t)i;
}

#endif
