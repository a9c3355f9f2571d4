#include <config.h>
#include "index/grow.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* The walk over an old range: where it is, and what it has found. */
struct walk {
	const kh_old_index *o;
	const kh_range *r;
	kh_divisor by_buckets, by_gap;  /* B; bins from one species' to the next */
	uint32_t bits, rest_bits;       /* of a word of a list, of a rest */
	uint64_t rest;                  /* bit of the next rest in keys->word */
	uint64_t entries, keys;         /* so far */
	const uint32_t *full, *end;     /* what is kept in full, from here on */
	uint64_t *key;
	uint32_t *loc;
	size_t n;
	uint64_t least_key;             /* that the next one may be */
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

/* Where bin x of the old index is in the new one; KH_VOTE_NONE or KH_VOTE_SPLIT if it is not
 * there. */
static inline uint32_t moved(const struct walk *w, uint32_t x)
{
	const kh_bins *b = w->o->bins;
	uint32_t t;

	if (x >= b->votes)
		return w->o->vote_to[kh_divided(x - b->votes, w->by_gap)];
	if (!w->o->to)
		return x;
	t = kh_bins_target(b, x);
	return w->o->to[t] == KH_DROP ? KH_VOTE_NONE : x - b->first[t] + w->o->to[t];
}

/* Adds location x to the locations of a key, which begin at `first`.  They stay in order, but
 * votes of species may come in another order than before, and twice. */
static inline int put(struct walk *w, uint64_t key, uint32_t x, size_t first, kh_err *err)
{
	const uint32_t to = x < w->o->n_bins ? moved(w, x) : KH_VOTE_SPLIT;
	size_t i = w->n;

	if (to == KH_VOTE_NONE)
		return KH_OK;
	if (to == KH_VOTE_SPLIT)
		return x >= w->o->n_bins ? damaged(w, "a location is no bin", err)
		       : fail_split(w, kh_divided(x - w->o->bins->votes, w->by_gap), err);
	for (; i > first && w->loc[i - 1] > to; i--)
		w->loc[i] = w->loc[i - 1];
	w->loc[i] = to;
	w->key[w->n++] = key;
	return KH_OK;
}

/* Whether the key belongs to the entry, and is greater than the key before it. */
static inline bool key_fits(struct walk *w, uint64_t key, uint64_t place)
{
	const bool fits = key >= w->least_key && key >> 40 == 0 &&
			  kh_key_place(key, w->r->buckets) == place;

	w->least_key = key + 1;
	w->keys++;
	return fits;
}

/* The keys of an entry that is kept in full, as it has several or is overpopulated. */
static int full_entry(struct walk *w, uint64_t place, uint64_t least, const kh_list *l, kh_err *err)
{
	uint32_t keys = w->full[1];
	int rc = KH_OK;

	if (keys == 0 || (keys == 1 && !l->over))
		return damaged(w, "one is kept in full that need not be", err);
	if (w->end - w->full < 3 ||
	    w->full[2] != kh_word(w->o->keys->word, w->rest, w->rest_bits))
		return damaged(w, "one in full has another rest", err);
	for (w->full += 2; keys > 0 && !rc; keys--) {
		const uint32_t *list = w->full + 2;
		const size_t first = w->n;

		if (w->end - w->full < 2 || w->full[1] == 0 ||
		    w->full[1] > (size_t)(w->end - list))
			return damaged(w, "a list runs over their end", err);
		if (!key_fits(w, least + w->full[0], place))
			return damaged(w, "they are not in order", err);
		for (uint32_t i = 0; i < w->full[1] && !rc; i++)
			rc = i > 0 && list[i] <= list[i - 1]
				     ? damaged(w, "locations are not ascending bins", err)
				     : put(w, least + w->full[0], list[i], first, err);
		w->full = list + w->full[1];
	}
	return rc;
}

/* An entry of one key, whose list lies in the image. */
static inline int plain_entry(struct walk *w, uint64_t place, uint64_t key, const kh_list *l,
			      kh_err *err)
{
	const size_t first = w->n;
	int rc = KH_OK;

	if (!key_fits(w, key, place))
		return damaged(w, "they are not in order", err);
	for (uint32_t i = 0; i < l->n && !rc; i++)
		rc = put(w, key, kh_word(w->o->image, l->bit + i * w->bits, w->bits), first, err);
	return rc;
}

/* An entry of either kind. */
static int entry(struct walk *w, uint64_t place, uint64_t least, const kh_list *l, kh_err *err)
{
	const uint64_t rest = kh_word(w->o->keys->word, w->rest, w->rest_bits);
	int rc;

	if (w->end - w->full >= 2 && w->full[0] == w->entries)
		rc = full_entry(w, place, least, l, err);
	else if (l->over)
		rc = damaged(w, "an overpopulated list is missing", err);
	else
		rc = plain_entry(w, place, least + rest, l, err);
	w->rest += w->rest_bits;
	w->entries++;
	return rc;
}

/* A word of up to 32 bits.  It reads up to 7 bytes behind it, which are there: the table of
 * checksums ends the file. */
static inline uint32_t peek(const void *p, uint64_t bit, uint32_t bits)
{
	uint64_t x;

	memcpy(&x, (const char *)p + (bit >> 3), sizeof x);
	return (uint32_t)(x >> (bit & 7)) & (uint32_t)((UINT64_C(1) << bits) - 1);
}

/* Takes entries of one word and one key, as nearly all are, from position i of a bucket on, if
 * targets stay where they are; returns how many. It does what entry() does for all, with its state
 * in registers. */
static int plain_run(struct walk *w, const kh_bucket *b, int from, uint64_t number, uint64_t word)
{
	const uint64_t left = w->end - w->full >= 2 ? w->full[0] - w->entries : KH_BUCKET_SLOTS;
	const int stop = left < (unsigned)(KH_BUCKET_SLOTS - from) ? from + (int)left
								   : KH_BUCKET_SLOTS;
	const int carried = b->flags & KH_BUCKET_CARRIED;
	const uint32_t B = w->r->buckets, n_bins = w->o->n_bins, votes = w->o->bins->votes;
	const uint32_t bits = w->bits, rest_bits = w->rest_bits, *const vote_to = w->o->vote_to;
	const kh_divisor by_buckets = w->by_buckets, by_gap = w->by_gap;
	const void *const image = w->o->image, *const keys = w->o->keys->word;
	uint64_t *const key_out = w->key, least_key = w->least_key, rest = w->rest;
	uint32_t *const loc_out = w->loc;
	size_t n = w->n;
	uint64_t bit = kh_range_word(w->r, word, bits);
	int i = from;

	if (w->o->to)
		return 0;
	for (; i < stop && b->len[i] == 1; i++, bit += bits, rest += rest_bits) {
		const uint64_t place = (number - (i < carried)) << 16 | b->tag[i];
		const uint64_t key =
			kh_key_least(place, B, by_buckets) + peek(keys, rest, rest_bits);
		const uint32_t x = peek(image, bit, bits);
		/* all ones for a vote: a processor cannot predict a branch on that, and a compiler
		 * may make one of `?:` */
		const uint32_t is_vote = -(uint32_t)((x >= votes) & (x < n_bins));
		const uint32_t voted = vote_to[kh_divided((x - votes) & is_vote, by_gap)];
		const uint32_t to = x ^ ((x ^ voted) & is_vote);

		if (x >= n_bins || to >= KH_VOTE_SPLIT || key < least_key ||
		    kh_key_place(key, B) != place)
			break;          /* entry() finds out why, or does it */
		key_out[n] = key;
		loc_out[n++] = to;
		least_key = key + 1;
	}
	w->n = n;
	w->least_key = least_key;
	w->rest = rest;
	w->keys += (unsigned)(i - from);
	w->entries += (unsigned)(i - from);
	return i - from;
}

/* Are the lists and the entries of a bucket inside the range? */
static bool inside(const struct walk *w, const kh_bucket *b, uint64_t word)
{
	uint64_t words = 0, n = 0;

	if (word <= w->r->n_locs && w->r->n_locs - word >= KH_BUCKET_SLOTS * KH_LIST_MAX &&
	    w->r->entries - w->entries >= KH_BUCKET_SLOTS)
		return true;            /* even if all its lists are as long as possible */
	for (; n < KH_BUCKET_SLOTS && b->len[n]; n++)
		words += kh_list_words(b->len[n]);
	return word <= w->r->n_locs && words <= w->r->n_locs - word &&
	       n <= w->r->entries - w->entries;
}

static int bucket(struct walk *w, const kh_bucket *b, uint64_t number, kh_err *err)
{
	const int carried = b->flags & KH_BUCKET_CARRIED;
	uint64_t word = 0;
	int rc = KH_OK, i = 0;

	memcpy(&word, b->base, sizeof b->base);
	if (carried > KH_BUCKET_SLOTS || (carried > 0 && number == 0) ||
	    (number == w->r->buckets && carried < KH_BUCKET_SLOTS && b->len[carried]) ||
	    !inside(w, b, word))
		return damaged(w, "a bucket does not fit its range", err);
	while (!rc) {
		const int taken = plain_run(w, b, i, number, word);

		i += taken;
		word += (unsigned)taken;
		if (i == KH_BUCKET_SLOTS || b->len[i] == 0)
			break;
		const uint64_t place = (i < carried ? number - 1 : number) << 16 | b->tag[i];
		const kh_list l = { kh_range_word(w->r, word, w->bits), kh_list_words(b->len[i]),
				    b->len[i] == KH_LIST_OVER };

		rc = entry(w, place, kh_key_least(place, w->r->buckets, w->by_buckets), &l, err);
		word += l.n;
		i++;
	}
	return rc;
}

static int make_room(kh_grow_room *room, size_t n, kh_err *err)
{
	int rc = kh_grow((void **)&room->key, &room->cap[0], n, sizeof *room->key, err);

	return rc ? rc : kh_grow((void **)&room->loc, &room->cap[1], n, sizeof *room->loc, err);
}

/* At most so many pairs are in a range of the old index. */
static int count_most(const kh_old_index *o, unsigned range, size_t *most, kh_err *err)
{
	const uint64_t words = o->keys->at[range + 1] - o->keys->at[range];
	const uint64_t n = o->dir[range].n_locs + words - kh_rests_words(&o->dir[range]);

	*most = (size_t)n;
	return n <= UINT32_MAX ? KH_OK
	       : kh_fail(err, KH_EUSAGE, "%llu locations in one of 256 ranges are too many",
			 (unsigned long long)n);
}

int kh_old_pairs(const kh_old_index *o, unsigned range, kh_grow_room *room, size_t *n, kh_err *err)
{
	const kh_range *r = &o->dir[range];
	const kh_bucket *b = (const kh_bucket *)o->image + r->first_bucket;
	struct walk w = { .o = o, .r = r, .by_buckets = kh_divisor_of(r->buckets),
			  .by_gap = kh_divisor_of(o->gap + 1), .bits = kh_bins_bits(o->bins),
			  .rest_bits = kh_rest_bits(r->buckets),
			  .rest = o->keys->at[range] * 32,
			  .full = o->keys->word + o->keys->at[range] + kh_rests_words(r),
			  .end = o->keys->word + o->keys->at[range + 1] };
	size_t most = 0;
	int rc = count_most(o, range, &most, err);

	if (!rc)
		rc = make_room(room, most, err);
	w.key = room->key;
	w.loc = room->loc;
	for (uint64_t i = 0; i <= r->buckets && !rc; i++)
		rc = bucket(&w, b + i, i, err);
	if (!rc && (w.full != w.end || w.keys != r->keys))
		rc = damaged(&w, "they are not as many as it has", err);
	assert(rc || w.n <= most);
	*n = w.n;
	return rc;
}

/* Merges p into the first n pairs of room, by key, then by location; in place, and so from the
 * last on. */
static void merge(kh_grow_room *room, size_t n, const kh_pairs *p)
{
	uint64_t *const key = room->key;
	uint32_t *const loc = room->loc;
	size_t to = n + p->n;

	for (size_t j = p->n; j-- > 0;) {
		const uint64_t k = p->key[j];
		const uint32_t x = p->loc[j];

		while (n > 0 && (key[n - 1] > k || (key[n - 1] == k && loc[n - 1] > x))) {
			key[--to] = key[--n];
			loc[to] = loc[n];
		}
		key[--to] = k;
		loc[to] = x;
	}
}

int kh_old_merge(const kh_old_index *o, unsigned range, const kh_pairs *p, kh_grow_room *room,
		 kh_pairs *out, kh_err *err)
{
	size_t n;
	int rc = kh_old_pairs(o, range, room, &n, err);

	if (!rc)
		rc = make_room(room, n + p->n, err);
	if (rc)
		return rc;
	merge(room, n, p);
	*out = (kh_pairs) { room->key, room->loc, n + p->n };
	return KH_OK;
}

void kh_grow_room_clear(kh_grow_room *room)
{
	free(room->key);
	free(room->loc);
	*room = (kh_grow_room) { .key = NULL };
}
