/* encode.c - a range of the index, made of its keys and their lists: index.h */
#include <config.h>
#include "index/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "index/keys.h"
#include "index/many.h"

/* What a range is made of, and how far that is. */
struct making {
	kh_image *im;
	const kh_lists *l;
	const kh_bins *bins;
	const kh_taxonomy *tax;
	const kh_many *many;
	size_t keys, word, longer;      /* of l, so far */
	uint64_t at;                    /* words of im->loc, so far */
};

/* Where the last entry is: position -1 of the first bucket if there is none. */
struct slot {
	kh_bucket *b;
	uint64_t number;                /* of b */
	int position;
};

/* Of some keys: home and tag in a number, as kh_key_place() has them. */
enum { PART = 512 };
struct part {
	size_t n;
	uint64_t place[PART + 1];       /* n, and that of the key behind them, or what no key has */
};

/* --- entries that stand for several keys, or are overpopulated ------------------------- */
static uint32_t list_lca(const uint32_t *loc, size_t n, const kh_bins *bins,
			 const kh_taxonomy *tax)
{
	const kh_tree tree = kh_taxonomy_tree(tax);
	kh_extent e = kh_extent_empty();

	for (size_t i = 0; i < n; i++)
		e = kh_extent_add(e, bins->taxon[kh_bins_target(bins, loc[i])]);
	return kh_tree_lca(&tree, e.lo, e.hi);
}

/* Finds the keys that share the entry of key m->keys. */
static kh_entry find_entry(const struct making *m, uint64_t place)
{
	const kh_lists *l = m->l;
	const uint32_t B = m->im->range.buckets;
	kh_entry e = { .from = m->keys, .to = m->keys, .word = l->word + m->word,
		       .longer = l->longer + m->longer };
	const uint32_t *longer = e.longer;

	for (; e.to < l->n && kh_key_place(l->key[e.to], B) == place; e.to++)
		e.n_words += kh_lists_words(l, e.to, &longer);
	e.n_longer = (size_t)(longer - e.longer);
	return e;
}

/* Unites the lists of an entry, which have been copied to `list`; returns how many words are
 * left. */
static size_t unite(kh_image *im, const kh_entry *e, uint32_t *list)
{
	size_t n = 0;

	if (e->to - e->from == 1)
		return e->n_words;
	qsort(list, e->n_words, sizeof *list, kh_by_u32);
	for (size_t i = 0; i < e->n_words; i++)
		if (n == 0 || list[n - 1] != list[i])
			list[n++] = list[i];
	return kh_cut_list(&im->cut, list, n);
}

/* Makes the list of such an entry; *len becomes its length as the bucket has it. */
static int make_list(struct making *m, const kh_entry *e, uint8_t *len, kh_err *err)
{
	kh_image *im = m->im;
	uint32_t *list = im->loc + m->at;
	size_t n;
	int rc = kh_cut_grow(&im->cut, m->bins, e->n_words, err);

	if (rc)
		return rc;
	memcpy(list, e->word, e->n_words * sizeof *list);
	n = unite(im, e, list);
	*len = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	if (n > KH_LIST_MAX)
		*list = list_lca(list, n, m->bins, m->tax);
	im->range.over += n > KH_LIST_MAX;
	m->keys = e->to;
	m->word += e->n_words;
	m->longer += e->n_longer;
	return im->keep_keys ? kh_keys_add(im, m->l, e, err) : KH_OK;
}

/* --- placing --------------------------------------------------------------------------- */
static void set_base(kh_bucket *b, uint64_t x)
{
	memcpy(b->base, &x, sizeof b->base);    /* of a number whose lowest byte is the first */
}

/* Goes on to the slot of the next entry, in front of which are `at` words: the one behind that of
 * the entry before, or, if its home is further, the home's first: i + max over j <= i of (19 *
 * home_j - j), without multiplying.  False: it would lie further than a bucket behind its home. */
static inline bool next_slot(struct slot *s, uint64_t home, uint64_t at)
{
	if (home > s->number || ++s->position == KH_BUCKET_SLOTS) {
		if (s->number > home)
			return false;
		do
			set_base(++s->b, at);
		while (++s->number < home);
		s->position = 0;
	}
	return true;
}

static inline void set_entry(const struct slot *s, uint64_t place, uint8_t len)
{
	s->b->tag[s->position] = (uint16_t)place;
	s->b->len[s->position] = len;
	if (s->number > place >> 16) {
		s->b->flags++;          /* one more carried in */
		s->b[-1].flags |= KH_BUCKET_GOES_ON;
	}
}

/* The next keys, and what there is behind their tags, as if each had an entry of its own. */
static void scale_keys(const struct making *m, struct part *p)
{
	const size_t left = m->l->n - m->keys, n = left < PART ? left : PART;
	const uint64_t *key = m->l->key + m->keys;
	const uint32_t B = m->im->range.buckets;
	kh_image *im = m->im;

	p->n = n;
	m->many->places(key, n, B, p->place, im->keep_keys ? im->rest + im->range.entries : NULL);
	p->place[n] = n < left ? kh_key_place(key[n], B) : UINT64_MAX;
}

/* Places entries of one key whose lists are as they are to be, as nearly all are, up to the first
 * other one; returns their number, or -1 if one lies too far behind its home. */
static int place_plain(struct making *m, const struct part *p, struct slot *slot)
{
	const uint8_t *const len = m->l->len + m->keys;
	const uint64_t from = m->at, *const place = p->place;
	struct slot s = *slot;
	uint64_t at = from;
	size_t i = 0;

	for (; i < p->n && len[i] != KH_LIST_OVER && place[i] != place[i + 1]; i++) {
		if (!next_slot(&s, place[i] >> 16, at))
			return -1;
		set_entry(&s, place[i], len[i]);
		at += len[i];
	}
	memcpy(m->im->loc + from, m->l->word + m->word, (size_t)(at - from) * sizeof *m->l->word);
	m->word += (size_t)(at - from);
	m->at = at;
	m->keys += i;
	m->im->range.entries += (uint32_t)i;
	*slot = s;
	return (int)i;
}

/* Places one of the others, the next one. 1: done; 0: too far. */
static int place_other(struct making *m, uint64_t place, struct slot *s, kh_err *err)
{
	const kh_entry e = find_entry(m, place);
	uint8_t len;
	int rc;

	if (!next_slot(s, place >> 16, m->at))
		return 0;
	rc = make_list(m, &e, &len, err);
	if (rc)
		return rc;
	set_entry(s, place, len);
	m->at += kh_list_words(len);
	m->im->range.entries++;
	return 1;
}

/* All entries, into im->range.buckets.  1: done; 0: one lies further than a bucket behind its
 * home. */
static int fill(struct making *m, kh_err *err)
{
	kh_image *im = m->im;
	struct slot s = { im->bucket, 0, -1 };
	struct part p;
	int rc;

	while (m->keys < m->l->n) {
		scale_keys(m, &p);
		const int n = place_plain(m, &p, &s);

		if (n < 0)
			return 0;
		if ((size_t)n < p.n && (rc = place_other(m, p.place[n], &s, err)) != 1)
			return rc;
	}
	for (; s.number < im->range.buckets; s.number++)
		set_base(++s.b, m->at);
	im->range.n_locs = m->at;
	im->locations = m->at - im->range.over;
	return 1;
}

/* --- a range --------------------------------------------------------------------------- */
int kh_index_too_large(uint64_t keys, kh_err *err)
{
	if (keys > (KH_BUCKETS_MAX - 1) * (uint64_t)KH_BUCKET_LOAD)
		return kh_fail(err, KH_EUSAGE,
			       "%" PRIu64 " features in one of 256 ranges of the index "
			       "are too many",
			       keys);
	return kh_fail(err, KH_EFORMAT,
		       "%" PRIu64 " features in one of 256 ranges of the index have keys "
		       "too close together for its buckets: those of genomes are spread evenly",
		       keys);
}

static int make_room(kh_image *im, const kh_lists *l, const kh_bins *bins, kh_err *err)
{
	int rc = KH_GROW(im->loc, im->cap_loc, l->n_words, err);

	if (!rc && im->keep_keys)
		rc = KH_GROW(im->rest, im->cap_rest, l->n, err);
	return rc ? rc : kh_cut_grow(&im->cut, bins, 1, err);
}

int kh_index_encode_lists(kh_image *im, const kh_lists *l, const kh_bins *bins,
			  const kh_taxonomy *tax, kh_err *err)
{
	uint64_t B = l->n > 0 ? (l->n + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD : 1;
	int rc = make_room(im, l, bins, err);

	if (rc)
		return rc;
	for (; B < KH_BUCKETS_MAX; B += (B + 15) / 16) {
		struct making m = { .im = im, .l = l, .bins = bins, .tax = tax,
				    .many = kh_many_get() };

		rc = KH_GROW(im->bucket, im->cap_bucket, B + 1, err);
		if (rc)
			return rc;
		memset(im->bucket, 0, (B + 1) * sizeof *im->bucket);
		im->range = (kh_range) { .buckets = (uint32_t)B, .keys = (uint32_t)l->n };
		im->n_full = 0;
		rc = fill(&m, err);
		if (rc != 0)
			break;
	}
	if (B >= KH_BUCKETS_MAX)
		return kh_index_too_large(l->n, err);
	if (rc < 0)
		return rc;
	kh_many_get()->pack(im->loc, im->range.n_locs, kh_bins_bits(bins));
	return im->keep_keys ? kh_keys_end(im, err) : KH_OK;
}

int kh_index_encode(kh_image *im, const kh_pairs *p, const kh_bins *bins, const kh_taxonomy *tax,
		    kh_err *err)
{
	const int rc = kh_lists_of_pairs(&im->lists, p, &im->cut, bins, err);

	return rc ? rc : kh_index_encode_lists(im, &im->lists, bins, tax, err);
}
