/*
 * match_short_seeds.h - the seeds of a mate that a thread asks for (match_short.h), and the regions
 * of what these find   [HD]
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_SEEDS_H
#define KH_CUDA_KERNELS_MATCH_SHORT_SEEDS_H

#include "cuda/kernels/match_item.h"

enum { KH_SHORT_SEEDS = 32, KH_SHORT_ANCHORS = 40 };

/* Text that has been fetched: what is between two bases, and from where its words count. */
typedef struct kh_short_window {
	int64_t from, to;
	const uint32_t *text;
} kh_short_window;

enum { KH_SHORT_WINDOWS = 8 };

typedef struct kh_short_rooms {
	kh_oriented read[2];
	uint64_t key[KH_SHORT_SEEDS], anchor[KH_SHORT_ANCHORS];
	uint16_t pos[KH_SHORT_SEEDS];
	uint16_t region[KH_SHORT_ANCHORS];      /* its loss << 8 | its number */
	uint8_t from[KH_SHORT_ANCHORS + 1];
	uint8_t behind[KH_SHORT_SEEDS];         /* of each seed, the first one that begins behind
						 * it, if some overlap */
	uint32_t n_regions;
	uint32_t edge;                          /* seeds at an end of the mate, as bits */
	bool overlap;
	uint32_t n_windows;
	kh_short_window window[KH_SHORT_WINDOWS];
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

/* Begins to read 64 bytes that will be needed, if the database lies in one memory.  A GPU gets
 * 24 million lines/s of a peer by prefetching, and 2,200 to 3,300 by reading (H200, NVLink). */
static KH_HD void kh_short_soon(const kh_shares *s, const void *p)
{
	if (s->tile)
		return;
#ifdef __CUDA_ARCH__
	asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
	asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)p + 32));
#else
	__builtin_prefetch(p);
#endif
}

static KH_HD void kh_short_soon_line(const kh_match_db *db, uint64_t key)
{
	kh_short_soon(&db->seeds.shares, kh_seed_begin(&db->seeds, key).line);
	KH_ROLLED
	for (uint32_t i = 0; KH_SEVERAL && i < db->n_beside; i++) {
		const kh_seed_index *x = &db->beside[i].index;

		kh_short_soon(&x->shares, kh_seed_begin(x, key).line);
	}
}

static KH_HD void kh_short_soon_bin(const kh_match_db *db, uint32_t bin)
{
	const uint64_t at = (uint64_t)bin * db->sampling.stride;

	kh_short_soon(&db->shares, kh_match_text(db, (int64_t)at) + at / KH_TEXT_WORD);
}

/* The bins of seed i, which follow the `have` anchors of the seeds before, become anchors if
 * its list is whole.  How many there are now, or UINT32_MAX: more than there is room for. */
static KH_HD uint32_t kh_short_add_list(const kh_match_db *db, const kh_short_rooms *r,
					kh_small_list l, uint32_t i, uint32_t have,
					uint32_t *known)
{
	if (!l.whole)
		return have;
	if (have + l.n > KH_SHORT_ANCHORS)
		return UINT32_MAX;
	KH_ROLLED
	for (uint32_t c = have; c < have + l.n; c++)
		kh_short_soon_bin(db, kh_anchor_bin(r->anchor[c]));
	*known |= (uint32_t)kh_match_seeds_tell(db) << i;
	return have + l.n;
}

/* Looks up n seeds, whose bins become anchors; *known: the seeds whose list is whole, so that a
 * place without one of them has a loss.  The number of anchors, or UINT32_MAX: there are more
 * than there is room for. */
static KH_HD uint32_t kh_short_ask(const kh_match_db *db, const kh_mate *a, kh_short_rooms *r,
				   uint32_t n, uint32_t *known)
{
	uint32_t have = 0;

	*known = 0;
	KH_ROLLED
	for (uint32_t i = 0; i < n; i++) {
		r->key[i] = kh_small_key(a, r->pos[i], db->sampling.k);
		kh_short_soon_line(db, r->key[i]);
	}
	KH_ROLLED
	for (uint32_t i = 0; i < n && have != UINT32_MAX; i++) {
		const kh_small_list l = kh_small_bins(db, i, r->key[i], r->anchor + have,
						      KH_SHORT_ANCHORS - have);

		have = kh_short_add_list(db, r, l, i, have, known);
	}
	return have;
}

/* --- regions ---------------------------------------------------------------------------- */
/* Which of n seeds overlap, and which are at an end of the mate. */
static KH_HD void kh_short_order(kh_short_rooms *r, uint32_t n, uint32_t k, uint32_t len,
				 bool overlap)
{
	r->overlap = overlap;
	r->edge = 0;
	if (n > 0)
		r->edge = (uint32_t)(r->pos[0] == 0) |
			  (uint32_t)(r->pos[n - 1] + k == len) << (n - 1);
	KH_ROLLED
	for (uint32_t i = 0, j = 0; overlap && i < n; i++) {
		while (j < n && r->pos[j] < r->pos[i] + k)
			j++;
		r->behind[i] = (uint8_t)j;
	}
}

/* As kh_match_loss, of seeds that are missing. */
static KH_HD uint32_t kh_short_loss(const kh_short_rooms *r, uint32_t missing)
{
	uint32_t apart = missing;

	if (r->overlap)
		for (apart = 0; missing;) {
			const uint32_t i = kh_lowest_bit(missing), next = r->behind[i];

			apart |= UINT32_C(1) << i;
			missing = next < 32 ? missing >> next << next : 0;
		}
	return 2 * kh_count_bits(apart) - kh_count_bits(apart & r->edge);
}

/* Makes regions of n anchors. */
static KH_HD void kh_short_regions(const kh_match_db *db, kh_short_rooms *r, uint32_t len,
				       uint32_t n, uint32_t known)
{
	const uint32_t k = db->sampling.k;
	const uint32_t far = len < k ? 0 : (len - k) / db->sampling.stride + 1;
	uint32_t regions = 0;

	kh_anchors_sort_few(r->anchor, n);
	KH_ROLLED
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || kh_anchor_bin(r->anchor[i]) -
					      kh_anchor_bin(r->anchor[i - 1]) > far)
			r->from[regions++] = (uint8_t)i;
	r->from[regions] = (uint8_t)n;
	KH_ROLLED
	for (uint32_t i = 0; i < regions; i++) {
		uint32_t missing = known;

		KH_ROLLED
		for (uint32_t c = r->from[i]; c < r->from[i + 1]; c++)
			missing &= ~(UINT32_C(1) << (uint32_t)r->anchor[c]);
		r->region[i] = (uint16_t)(kh_short_loss(r, missing) << 8 | i);
	}
	r->n_regions = regions;
}

static KH_HD uint32_t kh_short_region_bin(const kh_short_rooms *r, uint32_t i)
{
	return kh_anchor_bin(r->anchor[r->from[i]]);
}

/* As kh_regions_raise_lone. */
static KH_HD void kh_short_raise_lone(const kh_match_db *db, const kh_segment *s,
				      kh_short_rooms r[2])
{
	const uint32_t n = r[0].n_regions, all = n + r[1].n_regions;
	const uint32_t more = kh_region_lone_loss(db, s, n, all - n);
	uint32_t row[2 * KH_REGION_LONE_MOST];

	if (more == 0)
		return;
	KH_ROLLED
	for (uint32_t i = 0; i < all; i++) {
		const bool second = i >= n;

		row[i] = kh_bin_species_row(
			db, kh_short_region_bin(&r[second], second ? i - n : i));
	}
	KH_ROLLED
	for (uint32_t i = 0; i < all; i++) {
		const bool second = i >= n;
		const uint32_t from = second ? 0 : n, to = second ? n : all;
		bool lone = r[second].n_regions > 1;

		KH_ROLLED
		for (uint32_t j = from; j < to; j++)
			lone &= row[j] != row[i];
		r[second].region[second ? i - n : i] += (uint16_t)(lone ? more << 8 : 0);
	}
}

/* The first region behind `last`, by loss and then in order; UINT32_MAX: there is none. */
static KH_HD uint32_t kh_short_next(const kh_short_rooms *r, uint32_t last)
{
	uint32_t next = UINT32_MAX;

	KH_ROLLED
	for (uint32_t i = 0; i < r->n_regions; i++)
		if (r->region[i] < next && (last == UINT32_MAX || r->region[i] > last))
			next = r->region[i];
	return next;
}

/* --- crowds ------------------------------------------------------------------------------ */
/* What kh_regions_weigh adds, of the regions of the other mate. */
static KH_HD uint32_t kh_short_beside(const kh_match_db *db, const kh_short_rooms *r, uint32_t bin)
{
	const uint32_t near = KH_MATCH_SPAN / db->sampling.stride + 1;
	uint32_t i = 0;

	while (i < r->n_regions && kh_short_region_bin(r, i) + near < bin)
		i++;
	const bool beside = i < r->n_regions && kh_short_region_bin(r, i) <= bin + near;

	return beside ? (uint32_t)(r->from[i + 1] - r->from[i]) : 0;
}

/* Could one of the heaviest regions of a crowd not have been compared, and count for the call as
 * one that is as good as the best (kh_match_crowded)?  Not if one that was compared before the
 * crowd is heavier. */
static KH_HD bool kh_short_crowded(const kh_match_db *db, const kh_short_rooms rooms[2],
				   uint32_t mate, uint32_t crowd)
{
	const kh_short_rooms *r = &rooms[mate];
	uint32_t before = 0, in = 0;

	for (uint32_t i = 0; i < r->n_regions && crowd != UINT32_MAX; i++) {
		const uint32_t weight =
			(uint32_t)(r->from[i + 1] - r->from[i]) +
			kh_short_beside(db, &rooms[!mate], kh_short_region_bin(r, i));

		if ((uint32_t)r->region[i] >> 8 < crowd)
			before = weight > before ? weight : before;
		else
			in = weight > in ? weight : in;
	}
	return in > 0 && in >= before;
}

#endif
