/*
 * match_short_fetch.h - what threads read of the host's memory for their mates, fetched in steps
 * (fetch.h): the first lines of seeds, further lines, text   [HD]
 */
#ifndef KH_CUDA_KERNELS_MATCH_SHORT_FETCH_H
#define KH_CUDA_KERNELS_MATCH_SHORT_FETCH_H

#include "cuda/kernels/fetch.h"
#include "cuda/kernels/match_short_seeds.h"

/* --- lines ------------------------------------------------------------------------------ */
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
	kh_small_segment j = kh_gpu_item(q, i);
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
	s.line = (const uint8_t *)kh_fetch_chunks(f, i);
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
	kh_small_segment j = kh_gpu_item(q, i);
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

/* As kh_short_ask, of seeds whose lines have been fetched: from number `line` on the first ones. */
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
							     r->anchor + have,
							     KH_SHORT_ANCHORS - have);

		have = kh_short_add_list(db, r, l, i, have, known);
	}
	return have;
}

/* --- text ------------------------------------------------------------------------------- */
/* Chunks of all bytes that have the text which anchors from bin `first` to bin `last` are
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
	const uint64_t text = db->shares.first, most = bytes / KH_GPU_CHUNK;
	const uint64_t chunk = (text + begin / 4) / KH_GPU_CHUNK;
	uint64_t behind = (text + end / 4) / KH_GPU_CHUNK + 1;
	kh_short_span s = { chunk, 0, (const char *)0 };

	behind = behind < most ? behind : most;
	if (behind > chunk && behind - chunk <= KH_SHORT_SPAN) {
		s.n = (uint32_t)(behind - chunk);
		s.from = (const char *)kh_match_text(db, (int64_t)near) +
			 (int64_t)(chunk * KH_GPU_CHUNK - text);
	}
	return s;
}

/* The text of the region that begins with anchor *i of a mate's n, which ascend; *i becomes
 * where the next region begins. */
static KH_HD kh_short_span kh_short_next_span(const kh_gpu_fetch *f, const kh_match_db *db,
					      const kh_short_rooms *r, uint32_t len, uint32_t n,
					      uint32_t *i)
{
	const uint32_t far = len < db->sampling.k ? 0 : (len - db->sampling.k) /
							db->sampling.stride + 1;
	const uint32_t first = kh_anchor_bin(r->anchor[*i]);
	uint32_t last = first, next;

	while (++*i < n && (next = kh_anchor_bin(r->anchor[*i])) - last <= far)
		last = next;
	return kh_short_span_of(db, f->bytes, first, last, len);
}

/* How many chunks of text the first KH_SHORT_WINDOWS regions of n anchors have. */
static KH_HD uint32_t kh_short_count_text(const kh_gpu_fetch *f, const kh_match_db *db,
					  const kh_short_rooms *r, uint32_t len, uint32_t n)
{
	uint32_t chunks = 0, windows = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n && windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);

		chunks += s.n;
		windows += s.n > 0;
	}
	return chunks;
}

/* Wants these chunks, as number `at` and so on. */
static KH_HD void kh_short_want_chunks(const kh_gpu_fetch *f, const kh_match_db *db,
				       const kh_short_rooms *r, uint32_t len, uint32_t n,
				       uint32_t at)
{
	uint32_t windows = 0;

	KH_ROLLED
	for (uint32_t i = 0; i < n && windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);

		KH_ROLLED
		for (uint32_t b = 0; b < s.n; b++)
			kh_fetch_want(f, at + b, s.from + b * KH_GPU_CHUNK);
		at += s.n;
		windows += s.n > 0;
	}
}

/* Makes windows of these chunks, which have been fetched as number `at` and so on. */
static KH_HD void kh_short_find_windows(const kh_gpu_fetch *f, const kh_match_db *db,
					kh_short_rooms *r, uint32_t len, uint32_t n, uint32_t at)
{
	r->n_windows = 0;
	KH_ROLLED
	for (uint32_t i = 0; i < n && r->n_windows < KH_SHORT_WINDOWS;) {
		const kh_short_span s = kh_short_next_span(f, db, r, len, n, &i);
		const int64_t from = (int64_t)(s.first * KH_GPU_CHUNK - db->shares.first);
		kh_short_window *w = &r->window[r->n_windows];

		w->from = 4 * from;
		w->to = 4 * (from + (int64_t)s.n * KH_GPU_CHUNK);
		w->text = (const uint32_t *)(kh_fetch_chunks(f, at) - from);
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
	kh_small_segment j = kh_gpu_item(q, i);

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
		kh_anchors_sort_few(r.anchor, x->n);
		KH_ROLLED
		for (uint32_t c = 0; c < x->n; c++)
			f->found[x->first + c] = r.anchor[c];
		x->text = kh_fetch_reserve(f, kh_short_count_text(f, db, &r, a->len, x->n));
		if (x->text != KH_GPU_NOT_FETCHED)
			kh_short_want_chunks(f, db, &r, a->len, x->n, x->text);
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
		r->anchor[c] = f->found[x->first + c];
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

#endif
