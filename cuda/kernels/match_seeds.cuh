/* match_seeds.cuh - a fragment compared by a warp (match_warp.cuh): its mates, their
 * seeds, what these find, and the regions of that */
#ifndef KH_CUDA_KERNELS_MATCH_SEEDS_CUH
#define KH_CUDA_KERNELS_MATCH_SEEDS_CUH

#include "cuda/kernels/match_item.h"
#include "cuda/kernels/threads.cuh"

namespace {

/* What a warp works on. */
struct warp_match {
	kh_small x;
	kh_small_segment j;
	int64_t at[KH_MATCH_DIAGONALS];
	kh_kept kept;                   /* what a part is compared with */
	/* of a part: the chains of the best place so far, and of the last one */
	kh_chain chain[2];
	uint32_t best;                  /* which of them is that of the best one, */
	uint32_t target;                /*   and this place: on two targets beside each other it */
	uint64_t number;                /*   has the same number */
};

/* The sum of x over the lanes before this one. */
__device__ uint32_t sum_before(uint32_t x)
{
	uint32_t sum = x;

	for (unsigned d = 1; d < 32; d *= 2) {
		const uint32_t y = __shfl_up_sync(ALL, sum, d);

		sum += lane_id() >= d ? y : 0;
	}
	return sum - x;
}

/* --- the mates ------------------------------------------------------------------------ */
/* A lane takes a word of a mate. */
__device__ void read_mate(warp_match *w, uint32_t mate)
{
	kh_oriented *to = w->x.m.read[mate];
	const kh_mate a = w->j.s.mate[mate];
	const uint32_t i = lane_id();
	const bool has = 32 * i < a.len;
	const uint32_t marks = has ? kh_small_marks(w->j.mark, &a, w->x.m.db->sampling.k, i) : 0;
	const uint32_t seeds = __reduce_add_sync(ALL, kh_count_bits(marks));

	if (has)
		kh_text_take_word(&to[0], a.bases, a.amb, a.at, a.len, i);
	if (i == 0)
		w->j.s.mate[mate].seeds = seeds;
	__syncwarp();
	if (has)
		kh_text_turn_word(&to[1], &to[0], a.len, i);
	__syncwarp();
}

/* The seeds of a mate that begin in the 32 bases of a lane, as bits. */
__device__ uint32_t marks_of_lane(const warp_match *w, uint32_t mate)
{
	const kh_mate *a = &w->j.s.mate[mate];

	return 32 * lane_id() < a->len
		       ? kh_small_marks(w->j.mark, a, w->x.m.db->sampling.k, lane_id()) : 0;
}

/* Finds the positions of all seeds of a mate; their number. */
__device__ uint32_t choose_all(warp_match *w, uint32_t mate)
{
	uint32_t marks = marks_of_lane(w, mate), n = sum_before(kh_count_bits(marks));

	for (; marks; marks &= marks - 1, n++)
		if (n < KH_MATCH_SEEDS)
			w->x.pos[mate][n] = 32 * lane_id() + kh_lowest_bit(marks);
	return w->j.s.mate[mate].seeds;
}

/* The same of the seeds that begin behind the one before. */
__device__ uint32_t choose_apart(warp_match *w, uint32_t mate)
{
	const uint32_t k = w->x.m.db->sampling.k, cap = KH_MATCH_SEEDS, base = 32 * lane_id();
	uint32_t *pos = w->x.pos[mate], n = 0, marks = marks_of_lane(w, mate);

	for (unsigned any; (any = __ballot_sync(ALL, marks != 0)) != 0; n++) {
		const int first = (int)kh_lowest_bit(any);
		const uint32_t bit = kh_lowest_bit(__shfl_sync(ALL, marks, first));
		const uint32_t at = 32 * (uint32_t)first + bit, next = at + k;

		if (lane_id() == 0 && n < cap)
			pos[n] = at;
		marks = next <= base ? marks : next < base + 32 ? marks & ~0u << (next - base) : 0;
	}
	return n;
}

/* Looks up a seed of a mate, whose bins are written from `to` on, `cap` of them at most. */
__device__ __noinline__ kh_small_list look_up_seed(const warp_match *w, uint32_t mate,
						   uint32_t seed, uint64_t *to, uint32_t cap)
{
	const kh_match_db *db = w->x.m.db;
	const uint32_t pos = w->x.pos[mate][seed];

	return kh_small_bins(db, seed, kh_small_key(&w->j.s.mate[mate], pos, db->sampling.k),
			     to, cap);
}

/* A lane's first seed has few bins nearly always, and keeps them. */
constexpr uint32_t KEPT = 2;

/* Finds the lengths of the lists of n seeds; their sum. */
__device__ uint32_t find_lengths(warp_match *w, uint32_t mate, uint32_t n, uint64_t kept[KEPT])
{
	uint32_t sum = 0;

	for (uint32_t i = lane_id(); i < n; i += 32) {
		const kh_small_list l = look_up_seed(w, mate, i, kept, i < 32 ? KEPT : 0);
		const bool taken = l.whole && l.n < KH_LIST_OVER;

		w->x.length[i] = taken ? (uint8_t)l.n : KH_LIST_OVER;
		sum += taken ? l.n : 0;
	}
	return __reduce_add_sync(ALL, sum);
}

/* Adds the bins of seeds from `first` on, one for each lane, but for those that are passed over. */
__device__ void add_lists(warp_match *w, uint32_t mate, uint32_t first, const uint64_t kept[KEPT])
{
	kh_found *f = &w->x.m.found[mate];
	const uint32_t seed = first + lane_id(), begin = f->n_anchors;
	const uint32_t length = seed < f->n ? w->x.length[seed] : KH_LIST_OVER;
	const uint32_t n = length == KH_LIST_OVER ? 0 : length, at = begin + sum_before(n);
	const uint32_t end = __shfl_sync(ALL, at + n, 31);
	const unsigned known = __ballot_sync(ALL, length != KH_LIST_OVER);

	for (uint32_t i = 0; i < n && first == 0 && n <= KEPT; i++)
		f->anchor[at + i] = kept[i];
	if (n > (first == 0 ? KEPT : 0))
		look_up_seed(w, mate, seed, f->anchor + at, n);
	__syncwarp();
	if (lane_id() == 0) {
		f->n_anchors = end;
		f->known.bit[first / 64] |= (uint64_t)known << first % 64;
	}
	__syncwarp();
}

/* As kh_lists_pass_over, for lists of so many bins. */
__device__ void pass_over(uint8_t *length, uint32_t n, uint32_t sum)
{
	while (sum > KH_MATCH_ANCHORS) {
		uint32_t longest = 0;           /* its length << 8 | its number */

		for (uint32_t i = lane_id(); i < n; i += 32)
			if (length[i] != KH_LIST_OVER)
				longest = max(longest, (uint32_t)length[i] << 8 | i);
		longest = __reduce_max_sync(ALL, longest);
		sum -= longest >> 8;
		if (lane_id() == (longest & 31))
			length[longest & 255] = KH_LIST_OVER;
		__syncwarp();
	}
}

/* Looks up seeds of a mate. */
__device__ void ask_seeds(warp_match *w, uint32_t mate, bool all)
{
	kh_found *f = &w->x.m.found[mate];
	const uint32_t n = all ? choose_all(w, mate) : choose_apart(w, mate);
	uint64_t kept[KEPT];

	__syncwarp();    /* all lanes have read what the seeds before gave */
	if (lane_id() == 0) {
		w->j.s.mate[mate].asked = n;
		kh_found_begin(f, w->x.pos[mate], n);
	}
	__syncwarp();
	const uint32_t sum = find_lengths(w, mate, f->n, kept);

	__syncwarp();
	pass_over(w->x.length, f->n, sum);
	for (uint32_t first = 0; first < f->n; first += 32)
		add_lists(w, mate, first, kept);
}

/* --- regions -------------------------------------------------------------------------- */
/* Puts a[i] and a[j] in order, if there is a j. */
__device__ void in_order(uint64_t *a, uint32_t i, uint32_t j, uint32_t n)
{
	if (j < n && a[i] > a[j]) {
		const uint64_t x = a[i];

		a[i] = a[j];
		a[j] = x;
	}
}

/* Sorts many anchors: Batcher's bitonic network, in which each comparison puts the lesser one in
 * front, so that what would lie behind the last one need not be there. */
__device__ void sort_many(uint64_t *a, uint32_t n)
{
	for (uint32_t log = 1; 1u << log < 2 * n; log++)
		for (uint32_t s = log; s-- > 0;) {
			const uint32_t half = 1u << s;

			for (uint32_t t = lane_id(); t >> s << (s + 1) < n; t += 32) {
				const uint32_t first = t >> s << (s + 1), i = t & (half - 1);

				in_order(a, first + i,
					 first + (s + 1 == log ? 2 * half - 1 - i : half + i), n);
			}
			__syncwarp();
		}
}

__device__ void sort_anchors(kh_found *f)
{
	const uint32_t n = f->n_anchors, lane = lane_id();
	uint64_t *a = f->anchor;

	if (n > 32) {
		sort_many(a, n);
		return;
	}
	const uint64_t x = lane < n ? a[lane] : 0;
	uint32_t rank = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n; i++)
		rank += a[i] < x || (a[i] == x && i < lane);
	__syncwarp();
	if (lane < n)
		a[rank] = x;
	__syncwarp();
}

/* Makes regions of all anchors of a mate. */
__device__ void make_regions(warp_match *w, uint32_t mate)
{
	kh_matching *m = &w->x.m;
	kh_found *f = &m->found[mate];
	const uint32_t len = w->j.s.mate[mate].len, far = kh_region_gap(m, len);
	uint32_t n = 0;

	sort_anchors(f);
	for (uint32_t first = 0; first < f->n_anchors; first += 32) {
		const uint32_t i = first + lane_id();
		const bool begins = i < f->n_anchors &&
				    (i == 0 || kh_anchor_bin(f->anchor[i]) -
						      kh_anchor_bin(f->anchor[i - 1]) > far);
		const unsigned mask = __ballot_sync(ALL, begins);

		if (begins)
			f->region[n + kh_count_bits(mask & lanes_below())].from = (uint16_t)i;
		n += kh_count_bits(mask);
	}
	__syncwarp();
	/* behind the last one, one of no anchors */
	for (uint32_t i = lane_id(); i <= n; i += 32) {
		kh_region *r = &f->region[i];
		const uint32_t from = i < n ? r->from : f->n_anchors;
		const uint32_t end = i + 1 < n ? r[1].from : f->n_anchors;
		const uint32_t loss = kh_region_loss_of(m, f, len, from, end - from);

		if (i == n) {
			f->unseen = loss;
			f->n_regions = n;
		} else {
			r->n = (uint16_t)(end - from);
			r->loss = (uint16_t)loss;
		}
	}
	__syncwarp();
}

/* As kh_regions_raise_lone: a lane has a region of the first mate, or, behind these, of the second
 * one. */
__device__ void raise_lone(warp_match *w)
{
	kh_matching *m = &w->x.m;
	const uint32_t n = m->found[0].n_regions, other = m->found[1].n_regions;
	const uint32_t more = kh_region_lone_loss(m->db, &w->j.s, n, other), i = lane_id();
	const bool second = i >= n, mine = i < n + other;
	uint32_t row = 0;
	bool lone = mine && (second ? other : n) > 1;

	if (more == 0)
		return;
	kh_found *f = &m->found[second];
	kh_region *r = &f->region[second ? i - n : i];

	if (mine)
		row = kh_bin_species_row(m->db, kh_region_bin(f, r));
	for (uint32_t k = 0; k < n + other; k++) {
		const uint32_t x = __shfl_sync(ALL, row, (int)k);

		lone = lone && ((k >= n) == second || x != row);
	}
	if (lone)
		r->loss += (uint16_t)more;
	__syncwarp();
}

/* As kh_regions_pass_over. */
__device__ bool pass_over_regions(warp_match *w)
{
	kh_matching *m = &w->x.m;
	kh_found *f = &m->found[0];
	kh_part_kept k = { UINT32_MAX, 0 };

	if (kh_match_asks_all(m->db, &w->j.s))
		return false;
	for (uint32_t i = lane_id(); i < f->n_regions; i += 32) {
		const kh_region *r = &f->region[i];

		if (!kh_region_is_kept(m->db, f, r, &w->kept))
			continue;
		k.loss = min(k.loss, (uint32_t)r->loss);
		k.anchors = max(k.anchors, (uint32_t)r->n);
	}
	k.loss = __reduce_min_sync(ALL, k.loss);
	k.anchors = __reduce_max_sync(ALL, k.anchors);
	if (!kh_part_has_enough(&w->j.s.mate[0], &k))
		return true;
	for (uint32_t i = lane_id(); i < f->n_regions && w->kept.n > 0; i += 32)
		if (!kh_region_is_kept(m->db, f, &f->region[i], &w->kept) &&
		    kh_region_is_out(&f->region[i], &k))
			f->region[i].loss = KH_REGION_DONE;
	__syncwarp();
	return false;
}

} /* namespace */

#endif
