/*
 * match_short_seeds.h - the seeds of a mate that a thread asks for (match_short.h), and the regions
 * of what these find   [HD]
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_SEEDS_H
#define KH_CUDA_KERNELS_MATCH_SHORT_SEEDS_H

#include "cuda/kernels/fetch.h"

enum { KH_SHORT_SEEDS = 32, KH_SHORT_CANDIDATES = 40 };

/* Text that has been fetched: what is between two bases, and from where its words count. */
typedef struct kh_short_window {
	int64_t from, to;
	const uint32_t *text;
} kh_short_window;

enum { KH_SHORT_WINDOWS = 8 };

typedef struct kh_short_rooms {
	kh_oriented read[2];
	uint64_t key[KH_SHORT_SEEDS], candidate[KH_SHORT_CANDIDATES];
	uint16_t pos[KH_SHORT_SEEDS];
	uint16_t region[KH_SHORT_CANDIDATES];   /* its loss << 8 | its number */
	uint8_t from[KH_SHORT_CANDIDATES + 1];
	uint8_t behind[KH_SHORT_SEEDS];         /* of each seed, the first one that begins behind
						 * it, if some overlap */
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

/* How many lines a seed is looked for in first: one of each database. */
static KH_HD uint32_t kh_short_lines(const kh_match_db *db)
{
	return KH_SEVERAL ? 1 + db->n_beside : 1;
}

static KH_HD const kh_seed_index *kh_short_index(const kh_match_db *db, uint32_t b)
{
	return KH_SEVERAL && b > 0 ? &db->beside[b - 1].index : &db->seeds;
}

/* Wants the first lines of the seeds of fragment i, which are looked up by
 * kh_short_ask_fetched. */
static KH_HD void kh_short_want_lines(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
				      bool all)
{
	kh_small_job j = kh_gpu_item(q, i);
	const uint32_t each = kh_short_lines(db), k = db->sampling.k;

	for (uint32_t mate = 0; mate < 2; mate++) {
		kh_mate *a = &j.s.mate[mate];
		uint16_t pos[KH_SHORT_SEEDS];
		const uint32_t n = kh_short_choose(j.mark, a, k, all, pos);
		const uint32_t at = kh_fetch_reserve(&q->fetch, n > KH_SHORT_SEEDS ? 0 : each * n);

		q->asked[2 * i + mate].lines = at;
		KH_ROLLED
		for (uint32_t s = 0; s < n && at != KH_GPU_NOT_FETCHED; s++) {
			const uint64_t key = kh_small_key(a, pos[s], k);

			KH_ROLLED
			for (uint32_t b = 0; b < each; b++)
				kh_fetch_want(&q->fetch, at + each * s + b,
					      kh_seed_begin(kh_short_index(db, b), key).line);
		}
	}
}

/* Number i is the first line of a seed in an index: wants the one in which the seed goes on. */
static KH_HD void kh_short_want_next(const kh_gpu_fetch *f, const kh_seed_index *x, uint64_t key,
				     uint32_t i)
{
	kh_seed_search s = kh_seed_begin(x, key);

	f->next[i] = KH_SMALL_NOT_COPIED;
	if (!s.line)
		return;
	s.line = (const uint8_t *)kh_fetch_blocks(f, i);
	kh_seed_go_on(x, &s);
	if (!s.line)
		return;
	const uint32_t at = kh_fetch_reserve(f, 1);

	if (at == KH_GPU_NOT_FETCHED)
		return;
	f->next[i] = at;
	kh_fetch_want(f, at, s.line);
}

/* Of the seeds of fragment i whose first lines have been fetched, and are full, wants the next
 * ones. */
static KH_HD void kh_short_want_more_lines(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
					   bool all)
{
	kh_small_job j = kh_gpu_item(q, i);
	const uint32_t each = kh_short_lines(db), k = db->sampling.k;

	for (uint32_t mate = 0; mate < 2; mate++) {
		kh_mate *a = &j.s.mate[mate];
		uint16_t pos[KH_SHORT_SEEDS];
		const uint32_t n = kh_short_choose(j.mark, a, k, all, pos);
		const uint32_t at = q->asked[2 * i + mate].lines;

		KH_ROLLED
		for (uint32_t s = 0; s < n && at != KH_GPU_NOT_FETCHED; s++) {
			const uint64_t key = kh_small_key(a, pos[s], k);

			KH_ROLLED
			for (uint32_t b = 0; b < each; b++)
				kh_short_want_next(&q->fetch, kh_short_index(db, b), key,
						   at + each * s + b);
		}
	}
}

/* The bins of seed i, which follow the `have` candidates of the seeds before, become candidates if
 * its list is whole.  How many there are now, or UINT32_MAX: more than there is room for. */
static KH_HD uint32_t kh_short_add_list(const kh_match_db *db, const kh_short_rooms *r,
					kh_small_list l, uint32_t i, uint32_t have,
					uint32_t *known)
{
	if (!l.whole)
		return have;
	if (have + l.n > KH_SHORT_CANDIDATES)
		return UINT32_MAX;
	KH_ROLLED
	for (uint32_t c = have; c < have + l.n; c++)
		kh_short_soon_bin(db, kh_candidate_bin(r->candidate[c]));
	*known |= (uint32_t)kh_match_seeds_tell(db) << i;
	return have + l.n;
}

/* Looks up n seeds, whose bins become candidates; *known: the seeds whose list is whole, so that a
 * place without one of them has a loss.  The number of candidates, or UINT32_MAX: there are more
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
		const kh_small_list l = kh_small_bins(db, i, r->key[i], r->candidate + have,
						      KH_SHORT_CANDIDATES - have);

		have = kh_short_add_list(db, r, l, i, have, known);
	}
	return have;
}

/* The same of seeds whose lines have been fetched, from number `line` on the first ones. */
static KH_HD uint32_t kh_short_ask_fetched(const kh_gpu_fetch *f, const kh_match_db *db,
					   const kh_mate *a, kh_short_rooms *r, uint32_t n,
					   uint32_t line, uint32_t *known)
{
	const kh_small_lines copies = { f->to, f->next };
	const uint32_t each = kh_short_lines(db);
	uint32_t have = 0;

	*known = 0;
	KH_ROLLED
	for (uint32_t i = 0; i < n && have != UINT32_MAX; i++) {
		const uint64_t key = kh_small_key(a, r->pos[i], db->sampling.k);
		const kh_small_list l = kh_small_bins_copied(db, i, key, &copies, line + each * i,
							     r->candidate + have,
							     KH_SHORT_CANDIDATES - have);

		have = kh_short_add_list(db, r, l, i, have, known);
	}
	return have;
}

/* --- text that is fetched -------------------------------------------------------------- */
/* Blocks of all bytes that have the text which candidates from bin `first` to bin `last` are
 * compared with, or a bit less where the text ends. */
typedef struct kh_short_span {
	uint64_t first;
	uint32_t n;                     /* 0: they are too many */
	const char *from;               /* where the first one is */
} kh_short_span;

/* What is read around a mate: ways to lie aside, and whole words. */
enum { KH_SHORT_BEFORE = 16, KH_SHORT_BEHIND = 64, KH_SHORT_SPAN = 16 };
static_assert(KH_END_ASIDE <= KH_SHORT_BEFORE, "ways aside");

static KH_HD kh_short_span kh_short_span_of(const kh_match_db *db, uint64_t bytes, uint32_t first,
					    uint32_t last, uint32_t len)
{
	const uint64_t stride = db->sampling.stride, near = first * stride;
	const uint64_t before = len + KH_SHORT_BEFORE, begin = near > before ? near - before : 0;
	const uint64_t end = (last + UINT64_C(1)) * stride + len + 2 * KH_SHORT_BEHIND;
	const uint64_t text = db->shares.first, most = bytes / KH_GPU_BLOCK;
	const uint64_t block = (text + begin / 4) / KH_GPU_BLOCK;
	uint64_t behind = (text + end / 4) / KH_GPU_BLOCK + 1;
	kh_short_span s = { block, 0, (const char *)0 };

	behind = behind < most ? behind : most;
	if (behind > block && behind - block <= KH_SHORT_SPAN) {
		s.n = (uint32_t)(behind - block);
		s.from = (const char *)kh_match_text(db, (int64_t)near) +
			 (int64_t)(block * KH_GPU_BLOCK - text);
	}
	return s;
}

/* The text of the region that begins with candidate *i of a mate's n, which ascend; *i becomes
 * where the next region begins. */
static KH_HD kh_short_span kh_short_next_span(const kh_gpu_fetch *f, const kh_match_db *db,
					      const kh_short_rooms *r, uint32_t len, uint32_t n,
					      uint32_t *i)
{
	const uint32_t far = len < db->sampling.k ? 0 : (len - db->sampling.k) /
							db->sampling.stride + 1;
	const uint32_t first = kh_candidate_bin(r->candidate[*i]);
	uint32_t last = first, next;

	while (++*i < n && (next = kh_candidate_bin(r->candidate[*i])) - last <= far)
		last = next;
	return kh_short_span_of(db, f->bytes, first, last, len);
}

/* How many blocks of text the first KH_SHORT_WINDOWS regions of n candidates have. */
static KH_HD uint32_t kh_short_count_text(const kh_gpu_fetch *f, const kh_match_db *db,
					  const kh_short_rooms *r, uint32_t len, uint32_t n)
{
	uint32_t blocks = 0, windows = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n && windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);

		blocks += s.n;
		windows += s.n > 0;
	}
	return blocks;
}

/* Wants these blocks, as number `at` and so on. */
static KH_HD void kh_short_want_blocks(const kh_gpu_fetch *f, const kh_match_db *db,
				       const kh_short_rooms *r, uint32_t len, uint32_t n,
				       uint32_t at)
{
	uint32_t windows = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n && windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);

		KH_ROLLED
		for (uint32_t b = 0; b < s.n; b++)
			kh_fetch_want(f, at + b, s.from + b * KH_GPU_BLOCK);
		at += s.n;
		windows += s.n > 0;
	}
}

/* Makes windows of these blocks, which have been fetched as number `at` and so on. */
static KH_HD void kh_short_find_windows(const kh_gpu_fetch *f, const kh_match_db *db,
					kh_short_rooms *r, uint32_t len, uint32_t n, uint32_t at)
{
	r->n_windows = 0;
	KH_ROLLED
	for (uint32_t i = 0; i < n && r->n_windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);
		const int64_t from = (int64_t)(s.first * KH_GPU_BLOCK - db->shares.first);
		kh_short_window *w = &r->window[r->n_windows];

		w->from = 4 * from;
		w->to = 4 * (from + (int64_t)s.n * KH_GPU_BLOCK);
		w->text = (const uint32_t *)(kh_fetch_blocks(f, at) - from);
		at += s.n;
		r->n_windows += s.n > 0;
	}
}

/* Looks up the seeds of fragment i, whose lines have been fetched if there was room for them, and
 * wants the text of what they find. */
static KH_HD void kh_short_want_text(const kh_gpu_query *q, const kh_match_db *db, uint32_t i,
				     bool all)
{
	const kh_gpu_fetch *f = &q->fetch;
	kh_small_job j = kh_gpu_item(q, i);

	for (uint32_t mate = 0; mate < 2; mate++) {
		kh_gpu_asked *x = &q->asked[2 * i + mate];
		kh_mate *a = &j.s.mate[mate];
		kh_short_rooms r;
		const uint32_t n = kh_short_choose(j.mark, a, db->sampling.k, all, r.pos);

		x->n = UINT32_MAX;
		if (n <= KH_SHORT_SEEDS && x->lines == KH_GPU_NOT_FETCHED)
			x->n = kh_short_ask(db, a, &r, n, &x->known);
		else if (n <= KH_SHORT_SEEDS)
			x->n = kh_short_ask_fetched(f, db, a, &r, n, x->lines, &x->known);
		if (x->n == UINT32_MAX)
			continue;
		x->first = kh_gpu_add(f->n_found, x->n);
		if (x->first + x->n > KH_GPU_FOUND_EACH * f->cap) {
			x->n = UINT32_MAX;
			continue;
		}
		kh_sort_few(r.candidate, x->n);
		KH_ROLLED
		for (uint32_t c = 0; c < x->n; c++)
			f->found[x->first + c] = r.candidate[c];
		x->text = kh_fetch_reserve(f, kh_short_count_text(f, db, &r, a->len, x->n));
		if (x->text != KH_GPU_NOT_FETCHED)
			kh_short_want_blocks(f, db, &r, a->len, x->n, x->text);
	}
}

/* Takes what was found for a mate, as kh_short_ask does, and the windows of its text. */
static KH_HD uint32_t kh_short_take_asked(const kh_gpu_fetch *f, const kh_gpu_asked *x,
					  const kh_match_db *db, kh_short_rooms *r, uint32_t len,
					  uint32_t *known)
{
	if (x->n == UINT32_MAX)
		return UINT32_MAX;
	*known = x->known;
	KH_ROLLED
	for (uint32_t c = 0; c < x->n; c++)
		r->candidate[c] = f->found[x->first + c];
	if (x->text != KH_GPU_NOT_FETCHED)
		kh_short_find_windows(f, db, r, len, x->n, x->text);
	return x->n;
}

/* The text, for what is read of it where a mate of so many bases lies, or a bin. */
static KH_HD const uint32_t *kh_short_text(const kh_match_db *db, const kh_short_rooms *r,
					   int64_t at, uint32_t len)
{
	const int64_t from = at > KH_SHORT_BEFORE ? at - KH_SHORT_BEFORE : 0;

	KH_ROLLED
	for (uint32_t i = 0; i < r->n_windows; i++)
		if (from >= r->window[i].from && at + len + KH_SHORT_BEHIND <= r->window[i].to)
			return r->window[i].text;
	return kh_match_text(db, at);
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

/* Makes regions of n candidates; their number. */
static KH_HD uint32_t kh_short_regions(const kh_match_db *db, kh_short_rooms *r, uint32_t len,
				       uint32_t n, uint32_t known)
{
	const uint32_t k = db->sampling.k;
	const uint32_t far = len < k ? 0 : (len - k) / db->sampling.stride + 1;
	uint32_t regions = 0;

	kh_sort_few(r->candidate, n);
	KH_ROLLED
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || kh_candidate_bin(r->candidate[i]) -
					      kh_candidate_bin(r->candidate[i - 1]) > far)
			r->from[regions++] = (uint8_t)i;
	r->from[regions] = (uint8_t)n;
	KH_ROLLED
	for (uint32_t i = 0; i < regions; i++) {
		uint32_t missing = known;

		KH_ROLLED
		for (uint32_t c = r->from[i]; c < r->from[i + 1]; c++)
			missing &= ~(UINT32_C(1) << (uint32_t)r->candidate[c]);
		r->region[i] = (uint16_t)(kh_short_loss(r, missing) << 8 | i);
	}
	return regions;
}

/* The first region behind `last`, by loss and then in order; UINT32_MAX: there is none. */
static KH_HD uint32_t kh_short_next(const kh_short_rooms *r, uint32_t n, uint32_t last)
{
	uint32_t next = UINT32_MAX;

	KH_ROLLED
	for (uint32_t i = 0; i < n; i++)
		if (r->region[i] < next && (last == UINT32_MAX || r->region[i] > last))
			next = r->region[i];
	return next;
}

/* --- crowds ------------------------------------------------------------------------------ */
/* The regions of a mate: their first bins, candidates, and losses. */
typedef struct kh_short_list {
	uint32_t n, bin[KH_SHORT_CANDIDATES];
	uint8_t size[KH_SHORT_CANDIDATES], loss[KH_SHORT_CANDIDATES];
} kh_short_list;

static KH_HD void kh_short_keep(const kh_short_rooms *r, uint32_t regions, kh_short_list *to)
{
	to->n = regions;
	KH_ROLLED
	for (uint32_t i = 0; i < regions; i++) {
		to->bin[i] = kh_candidate_bin(r->candidate[r->from[i]]);
		to->size[i] = (uint8_t)(r->from[i + 1] - r->from[i]);
		to->loss[i] = (uint8_t)(r->region[i] >> 8);
	}
}

/* What kh_places_weigh adds. */
static KH_HD uint32_t kh_short_beside(const kh_match_db *db, const kh_short_list *l, uint32_t bin)
{
	const uint32_t near = KH_MATCH_SPAN / db->sampling.stride + 1;
	uint32_t i = 0;

	while (i < l->n && l->bin[i] + near < bin)
		i++;
	return i < l->n && l->bin[i] <= bin + near ? l->size[i] : 0;
}

/* Could one of the heaviest regions of a crowd not have been compared, and count for the call as
 * one that is as good as the best (kh_match_crowded)?  Not if one that was compared before the
 * crowd is heavier. */
static KH_HD bool kh_short_crowded(const kh_match_db *db, const kh_short_list list[2],
				   uint32_t mate, uint32_t crowd)
{
	const kh_short_list *l = &list[mate];
	uint32_t before = 0, in = 0;

	for (uint32_t i = 0; i < l->n && crowd != UINT32_MAX; i++) {
		const uint32_t weight = l->size[i] + kh_short_beside(db, &list[!mate], l->bin[i]);

		if (l->loss[i] < crowd)
			before = weight > before ? weight : before;
		else
			in = weight > in ? weight : in;
	}
	return in > 0 && in >= before;
}

#endif
