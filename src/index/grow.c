#include <config.h>
#include "index/grow.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "index/join.h"
#include "index/lookup_simd.h"

/* Buckets that are taken apart at a time, so that what becomes of them stays in the cache. */
enum { BUCKETS = 32, ENTRIES = BUCKETS * KH_BUCKET_SLOTS };

/* Entries of some buckets.  A bucket is copied with all its positions, whether they are used or
 * not. */
struct part {
	size_t n, words;
	uint64_t place[ENTRIES + KH_BUCKET_SLOTS];      /* home and tag; then, of each, its key */
	uint32_t rest[ENTRIES];
	uint8_t len[ENTRIES + KH_BUCKET_SLOTS];
};

/* The walk over an old range: where it is, and what it has found. */
struct walk {
	const kh_old_index *o;
	const kh_range *r;
	uint32_t bits, rest_bits;       /* of a word of a list, of a rest */
	uint64_t rest;                  /* bit of the next rest in keys->word */
	uint64_t entries, words, keys;  /* so far */
	const uint32_t *full, *end;     /* what is kept in full, from here on */
	uint64_t least_key;             /* that the next one may be */
	kh_grow_scratch *scratch;
	const kh_many *many;
	kh_join join;
};

static int damaged(const struct walk *w, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: the keys of range %d: %s",
		       w->o->path, (int)(w->r - w->o->dir), what);
}

static int fail_split(const struct walk *w, uint32_t species, kh_err *err)
{
	const kh_old_index *o = w->o;
	const uint32_t taxon = o->bins->taxon[o->bins->n_targets + species];

	return kh_fail(err, KH_EFORMAT,
		       "%s: the genomes of '%s' (taxid %u) are of several species in the new "
		       "taxonomy, and its lists were cut by that species: build it anew from "
		       "all references", o->path, o->tax->names + o->tax->name[taxon],
		       (unsigned)o->tax->taxid[taxon]);
}

/* Adds a step, where a species moves further than the one before it. */
static void add_step(kh_steps *s, uint32_t at, uint32_t by)
{
	if (by != 0 && s->n < KH_STEPS_MAX) {
		s->at[s->n] = at;
		s->by[s->n] = by;
	}
	s->n += by != 0;
}

void kh_old_steady(kh_old_index *o)
{
	const uint32_t species = o->bins->n - o->bins->n_targets, *const to = o->vote_to;
	const uint32_t *const first = o->bins->first + o->bins->n_targets;

	o->steps.n = 0;
	o->steady = o->to == NULL;
	for (uint32_t s = 0; s < species && o->steady; s++) {
		o->steady = to[s] < KH_VOTE_SPLIT && (s == 0 || to[s - 1] < to[s]);
		/* numbers without a sign: what is below 0 wraps, and back when it is added */
		add_step(&o->steps, first[s],
			 to[s] - first[s] - (s > 0 ? to[s - 1] - first[s - 1] : 0));
	}
}

/* --- a list at a time ------------------------------------------------------------------- */
/* Where bin x of the old index is in the new one; KH_VOTE_NONE or KH_VOTE_SPLIT if it is not
 * there. */
static uint32_t moved(const kh_old_index *o, uint32_t x)
{
	const kh_bins *b = o->bins;
	uint32_t t;

	if (x >= b->votes)
		return o->vote_to[(x - b->votes) / (o->gap + 1)];
	if (!o->to)
		return x;
	t = kh_bins_target(b, x);
	return o->to[t] == KH_DROP ? KH_VOTE_NONE : x - b->first[t] + o->to[t];
}

/* Moves the n locations of a list, in place; *n of them are left.  Votes of species may come in
 * another order than before, and twice. */
static int move_list(const struct walk *w, uint32_t *list, size_t *n, kh_err *err)
{
	const size_t all = *n;
	size_t left = 0, i;
	uint32_t before = 0;

	for (size_t from = 0; from < all; from++) {
		const uint32_t x = list[from];

		if (x >= w->o->n_bins || (from > 0 && x <= before))
			return damaged(w, "locations are not ascending bins", err);
		const uint32_t to = moved(w->o, x);

		before = x;
		if (to == KH_VOTE_NONE)
			continue;
		if (to == KH_VOTE_SPLIT)
			return fail_split(w, (x - w->o->bins->votes) / (w->o->gap + 1), err);
		for (i = left; i > 0 && list[i - 1] >= to;)
			i--;
		if (i < left && list[i] == to)
			continue;
		memmove(list + i + 1, list + i, (left - i) * sizeof *list);
		list[i] = to;
		left++;
	}
	*n = left;
	return KH_OK;
}

/* Is the feature, of which `key` has the low 40 bits, left in by the new index? */
static bool is_left_in(const struct walk *w, uint64_t key)
{
	const uint64_t range = (uint64_t)(w->r - w->o->dir);

	return kh_sampling_takes(&w->o->sampling, range << 40 | key);
}

/* Adds a key with its list of n words as it is in the old index. */
static int add_list(struct walk *w, uint64_t key, uint32_t *list, size_t n, kh_err *err)
{
	int rc = move_list(w, list, &n, err);

	w->keys++;
	if (rc || !is_left_in(w, key))
		return rc;
	rc = kh_join_below(&w->join, key, err);
	return rc ? rc : kh_join_list(&w->join, key, list, n, !w->o->steady, err);
}

/* The keys of an entry that is kept in full, as it has several or is overpopulated. */
static int add_full(struct walk *w, uint64_t first_key, uint32_t rest, bool over, kh_err *err)
{
	const uint64_t place = kh_key_place(first_key, w->r->buckets), least = first_key - rest;
	uint32_t keys = w->full[1];
	int rc = KH_OK;

	w->least_key = least;
	if (keys == 0 || (keys == 1 && !over))
		return damaged(w, "one is kept in full that need not be", err);
	if (w->end - w->full < 3 || w->full[2] != rest)
		return damaged(w, "one in full has another rest", err);
	for (w->full += 2; keys > 0 && !rc; keys--) {
		const uint32_t *list = w->full + 2;

		if (w->end - w->full < 2 || w->full[1] == 0 ||
		    w->full[1] > (size_t)(w->end - list))
			return damaged(w, "a list runs over their end", err);
		const size_t n = w->full[1];
		const uint64_t key = least + w->full[0];

		if (key < w->least_key || key >> 40 != 0 ||
		    kh_key_place(key, w->r->buckets) != place)
			return damaged(w, "they are not in order", err);
		w->least_key = key + 1;
		rc = KH_GROW(w->scratch->list, w->scratch->cap_list, n, err);
		if (rc)
			return rc;
		memcpy(w->scratch->list, list, n * sizeof *list);
		rc = add_list(w, key, w->scratch->list, n, err);
		w->full = list + n;
	}
	return rc;
}

/* --- many at a time ----------------------------------------------------------------------- */
static uint32_t used(const kh_bucket *b)
{
#ifdef KH_PROBE_SIMD
	return kh_probe_used(b);
#else
	uint32_t bits = 0;

	for (int i = 0; i < KH_BUCKET_SLOTS; i++)
		bits |= (uint32_t)(b->len[i] != 0) << i;
	return bits;
#endif
}

static uint32_t words_of(const kh_bucket *b)
{
#ifdef KH_PROBE_SIMD
	return kh_probe_words(b, KH_BUCKET_SLOTS);
#else
	uint32_t words = 0;

	for (int i = 0; i < KH_BUCKET_SLOTS; i++)
		words += kh_list_words(b->len[i]);
	return words;
#endif
}

/* Copies what a bucket says of its entries.  False: it does not fit its range. */
static bool copy_bucket(const struct walk *w, struct part *p, const kh_bucket *b, uint64_t number)
{
	const uint32_t bits = used(b), n = (uint32_t)__builtin_ctz(~bits), words = words_of(b);
	const uint32_t carried = b->flags & KH_BUCKET_CARRIED;
	const bool fits = (bits & (bits + 1)) == 0 && carried <= n &&
			  (number > 0 || carried == 0) &&
			  (number < w->r->buckets || carried == n) &&
			  kh_bucket_base(b) == w->words + p->words &&
			  words <= w->r->n_locs - w->words - p->words &&
			  n <= w->r->entries - w->entries - p->n;
	uint64_t *const place = p->place + p->n;

	memcpy(p->len + p->n, b->len, sizeof b->len);
	w->many->homes(b, number, place);
	for (uint32_t i = 0; i < carried; i++)
		place[i] -= 1 << 16;
	p->n += n;
	p->words += words;
	return fits;
}

/* Makes keys of places.  False: they do not ascend, or do not belong to their places. */
static bool find_keys(struct walk *w, struct part *p)
{
	const uint64_t least = w->least_key;

	w->many->unpack(w->o->keys->word, w->rest, w->rest_bits, p->rest, p->n);
	w->rest += p->n * w->rest_bits;
	if (!w->many->keys(p->place, p->rest, p->n, w->r->buckets, least))
		return false;
	w->least_key = p->n > 0 ? p->place[p->n - 1] + 1 : least;
	return true;
}

/* Do the lists of several words ascend?  Lengths are looked at eight at a time, as most are 1. */
static bool ascend(const uint8_t *len, const uint32_t *word, size_t n)
{
	bool fall = false;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t other = UINT64_C(0x0101010101010101);
		size_t more = 0;        /* words of these lists but for the first ones */

		memcpy(&other, len + i, n - i < 8 ? n - i : 8);
		other ^= UINT64_C(0x0101010101010101);
		while (other) {
			const unsigned byte = (unsigned)__builtin_ctzll(other) / 8;
			const uint32_t *list = word + byte + more;

			for (unsigned k = 1; k < len[i + byte]; k++)
				fall |= list[k] <= list[k - 1];
			more += len[i + byte] - 1u;
			other &= ~(UINT64_C(0xff) << (8 * byte));
		}
		word += 8 + more;
	}
	return !fall;
}

/* Moves the words of lists that stay as they are, by the species of a vote.  False: some are no
 * bins. */
static bool move_each(const kh_old_index *o, uint32_t *word, size_t n)
{
	const uint32_t votes = o->bins->votes, n_bins = o->n_bins, *const vote_to = o->vote_to;
	const kh_divisor by_gap = kh_divisor_of(o->gap + 1);
	uint32_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t x = word[i], no_bin = -(uint32_t)(x >= n_bins);
		/* all ones for a vote: a processor cannot predict a branch on that, and a compiler
		 * may make one of `?:` */
		const uint32_t is_vote = -(uint32_t)(x >= votes) & ~no_bin;
		const uint32_t to = vote_to[kh_divided((x - votes) & is_vote, by_gap)];

		wrong |= no_bin;
		word[i] = x ^ ((x ^ to) & is_vote);
	}
	return wrong == 0;
}

static bool move_words(const struct walk *w, uint32_t *word, size_t n)
{
	return w->o->steps.n <= KH_STEPS_MAX
		       ? w->many->move(word, n, &w->o->steps, w->o->n_bins)
		       : move_each(w->o, word, n);
}

/* Moves the entries from .. to - 1 that the new index leaves in to the front; returns how many. */
static size_t leave_out(const struct walk *w, struct part *p, size_t from, size_t to,
			uint32_t *word)
{
	uint32_t *out = word;
	size_t left = from;

	for (size_t i = from; i < to; word += p->len[i++]) {
		if (!is_left_in(w, p->place[i]))
			continue;
		memmove(out, word, p->len[i] * sizeof *out);
		out += p->len[i];
		p->place[left] = p->place[i];
		p->len[left++] = p->len[i];
	}
	return left - from;
}

/* Adds the entries from .. to - 1 of a part, which have one key each and `words` words. */
static int add_run(struct walk *w, struct part *p, size_t from, size_t to, uint32_t *word,
		   size_t words, kh_err *err)
{
	int rc = KH_OK;

	if (memchr(p->len + from, KH_LIST_OVER, to - from))
		return damaged(w, "an overpopulated list is missing", err);
	if (!w->o->steady) {
		for (size_t i = from; i < to && !rc; word += p->len[i++])
			rc = add_list(w, p->place[i], word, p->len[i], err);
		return rc;
	}
	if ((words > to - from && !ascend(p->len + from, word, to - from)) ||
	    !move_words(w, word, words))
		return damaged(w, "locations are not ascending bins", err);
	w->keys += to - from;
	if (w->o->sampling.least > 0)
		to = from + leave_out(w, p, from, to, word);
	return kh_join_lists(&w->join, p->place + from, p->len + from, word, to - from, err);
}

/* Adds all entries of a part, whose words lie in w->scratch->word. */
static int add_part(struct walk *w, struct part *p, kh_err *err)
{
	uint32_t *word = w->scratch->word;
	const uint64_t least = w->least_key;
	int rc = KH_OK;

	for (size_t i = 0; i < p->n && !rc;) {
		const bool some = w->end - w->full >= 2 && w->full[0] - w->entries < p->n;
		const size_t to = some ? (size_t)(w->full[0] - w->entries) : p->n;
		size_t words = some || i > 0 ? 0 : p->words;

		if (to < i)
			return damaged(w, "they are not in order", err);
		for (size_t k = i; k < to && (some || i > 0); k++)
			words += p->len[k];
		rc = add_run(w, p, i, to, word, words, err);
		word += words;
		if (!rc && some) {
			rc = add_full(w, p->place[to], p->rest[to], p->len[to] == KH_LIST_OVER,
				      err);
			word += kh_list_words(p->len[to]);
		}
		i = to + some;
	}
	w->least_key = least;           /* of the part behind */
	return rc;
}

/* Takes some buckets apart, from number `from` on. */
static int add_buckets(struct walk *w, uint64_t from, uint64_t to, kh_err *err)
{
	const kh_bucket *b = (const kh_bucket *)w->o->image + w->r->first_bucket;
	struct part p;
	int rc;

	p.n = p.words = 0;
	for (uint64_t i = from; i < to; i++)
		if (!copy_bucket(w, &p, b + i, i))
			return damaged(w, "a bucket does not fit its range", err);
	if (!find_keys(w, &p))
		return damaged(w, "they are not in order", err);
	rc = KH_GROW(w->scratch->word, w->scratch->cap_word, p.words, err);
	if (rc)
		return rc;
	w->many->unpack(w->o->image, kh_range_word(w->r, w->words, w->bits), w->bits,
			w->scratch->word, p.words);
	rc = add_part(w, &p, err);
	w->words += p.words;
	w->entries += p.n;
	return rc;
}

/* --- a range ------------------------------------------------------------------------------- */
/* Room for all keys and words of an old range and of new pairs. */
static int make_room(const struct walk *w, const kh_pairs *p, kh_err *err)
{
	const uint64_t full = (uint64_t)(w->end - w->full);
	const uint64_t words = w->r->n_locs + full + p->n;

	if (w->r->entries > (w->r->buckets + UINT64_C(1)) * KH_BUCKET_SLOTS)
		return damaged(w, "its entries do not fit its buckets", err);
	if (words > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "%llu locations in one of 256 ranges are too many",
			       (unsigned long long)words);
	return kh_lists_start(&w->scratch->lists, (size_t)(w->r->entries + full / 3 + p->n),
			      (size_t)words, err);
}

int kh_old_join(const kh_old_index *o, unsigned range, const kh_pairs *p, const kh_bins *now,
		kh_grow_scratch *scratch, kh_err *err)
{
	const kh_range *r = &o->dir[range];
	struct walk w = { .o = o, .r = r, .bits = kh_bins_bits(o->bins),
			  .rest_bits = kh_rest_bits(r->buckets),
			  .rest = o->keys->at[range] * 32,
			  .full = o->keys->word + o->keys->at[range] + kh_rests_words(r),
			  .end = o->keys->word + o->keys->at[range + 1],
			  .scratch = scratch, .many = kh_many_get() };
	int rc = make_room(&w, p, err);

	w.join = (kh_join) { .out = &scratch->lists, .cut = &scratch->cut, .bins = now, .p = p,
			     .first_target = o->steady ? o->bins->n_targets : 0 };
	for (uint64_t i = 0; i <= r->buckets && !rc; i += BUCKETS) {
		const uint64_t end = r->buckets + UINT64_C(1);

		rc = add_buckets(&w, i, end - i < BUCKETS ? end : i + BUCKETS, err);
	}
	if (!rc && (w.full != w.end || w.keys != r->keys || w.words != r->n_locs ||
		    w.entries != r->entries))
		rc = damaged(&w, "they are not as many as it has", err);
	return rc ? rc : kh_join_below(&w.join, UINT64_MAX, err);
}

void kh_grow_scratch_clear(kh_grow_scratch *scratch)
{
	kh_lists_clear(&scratch->lists);
	kh_cut_clear(&scratch->cut);
	free(scratch->word);
	free(scratch->list);
	*scratch = (kh_grow_scratch) { .word = NULL };
}
