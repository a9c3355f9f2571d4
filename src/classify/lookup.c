/*
 * lookup.c - looks up many keys at a time, in the index or in the parts of it that other
 * processes hold
 */
#include <config.h>
#include "classify/classify_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "index/lookup_simd.h"

enum {
	AHEAD = 32,                     /* keys whose buckets, or lists, are on their way */
	ROOM = KH_LIST_MAX + 1          /* words that taking a list may write */
};

/* --- the index at hand ------------------------------------------------------------ */
/* Prefetches the home bucket of a key; *tag: its tag. */
static inline const kh_bucket *home(const kh_db *db, uint64_t key, uint32_t *tag)
{
	const kh_range *r = &db->dir[kh_key_range(key)];
	uint64_t place = kh_key_place(key, r->buckets);
	const kh_bucket *b = (const kh_bucket *)db->image + r->first_bucket + (place >> 16);

	*tag = (uint32_t)(place & 0xffff);
	__builtin_prefetch(b);
	return b;
}

/* Prefetches the list of a key, where it begins and where its second word ends.  In place of one
 * that is absent stands the bucket, so that whatever is read is in memory, even if the process has
 * a part of the index only. */
static inline kh_list find(const kh_db *db, uint64_t key, const kh_bucket *b, uint32_t tag)
{
	const uint32_t bits = db->bins.bits;
	const char *image = db->image;
	kh_list l = kh_probe_find(&db->dir[kh_key_range(key)], b, tag, bits);

	if (l.n == 0)
		l.bit = 8 * (uint64_t)((const char *)b - image);
	__builtin_prefetch(image + l.bit / 8);
	__builtin_prefetch(image + (l.bit + 2 * bits) / 8);
	return l;
}

/* Writes the words from `bit` to `end`, two of each 8 bytes, as long as these end before it. */
static void take_longer(const kh_db *db, uint64_t bit, uint64_t end, uint32_t *to)
{
	const uint32_t bits = db->bins.bits, mask = (uint32_t)((UINT64_C(1) << bits) - 1);

	for (; 7 + 2 * bits <= 64 && bit + 64 <= end; bit += 2 * bits) {
		uint64_t x;

		memcpy(&x, (const char *)db->image + bit / 8, sizeof x);
		x >>= bit % 8;
		*to++ = (uint32_t)x & mask;
		*to++ = (uint32_t)(x >> bits) & mask;
	}
	for (; bit < end; bit += bits)
		*to++ = kh_word(db->image, bit, bits);
}

/* Writes the words of a list; returns where the next one goes.  Most lists have one word or two, so
 * two are written without asking: what is too much is written over by the next list. */
static inline uint32_t *take(const kh_db *db, kh_list l, uint32_t *to)
{
	const uint32_t bits = db->bins.bits;

	to[0] = kh_word(db->image, l.bit, bits);
	to[1] = kh_word(db->image, l.bit + (l.n > 1 ? bits : 0), bits);
	if (l.n > 2)
		take_longer(db, l.bit + 2 * bits, l.bit + (uint64_t)l.n * bits, to + 2);
	return to + l.n;
}

static inline uint8_t len_of(kh_list l)
{
	return l.over ? KH_LIST_OVER : (uint8_t)l.n;
}

/* Makes room for the words of one more list. */
static inline int more_output(kh_hit_lists *to, size_t n_words, kh_err *err)
{
	return n_words + ROOM <= to->cap_word ? KH_OK
		: kh_grow((void **)&to->word, &to->cap_word, n_words + ROOM, sizeof *to->word, err);
}

int kh_lookup(const kh_db *db, const uint64_t *key, size_t n, kh_hit_lists *to, kh_err *err)
{
	const kh_bucket *bucket[AHEAD];
	uint32_t tag[AHEAD];
	kh_list list[AHEAD];
	size_t words = 0;
	int rc = kh_grow((void **)&to->len, &to->cap_len, n, sizeof *to->len, err);

	for (size_t i = 0; i < n + 2 * AHEAD && !rc; i++) {
		const size_t slot = i % AHEAD;

		if (i >= 2 * AHEAD && !(rc = more_output(to, words, err))) {
			to->len[i - 2 * AHEAD] = len_of(list[slot]);
			words = (size_t)(take(db, list[slot], to->word + words) - to->word);
		}
		if (i >= AHEAD && i < n + AHEAD)
			list[slot] = find(db, key[i - AHEAD], bucket[slot], tag[slot]);
		if (i < n)
			bucket[slot] = home(db, key[i], &tag[slot]);
	}
	to->n_words = words;
	return rc;
}

void kh_hit_lists_clear(kh_hit_lists *l)
{
	free(l->len);
	free(l->word);
	*l = (kh_hit_lists) { .len = NULL };
}

/* --- parts of it ------------------------------------------------------------------ */
int kh_asked_add(kh_asked *a, const uint64_t *key, kh_segment s, kh_err *err)
{
	int rc = kh_grow((void **)&a->key, &a->cap_key, a->n + s.n, sizeof *a->key, err);

	if (!rc)
		rc = kh_grow((void **)&a->segment, &a->cap_segment, a->n_segments + 1,
			     sizeof *a->segment, err);
	if (rc)
		return rc;
	if (s.n > 0)
		memcpy(a->key + a->n, key, s.n * sizeof *key);
	a->n += s.n;
	a->segment[a->n_segments++] = s;
	return KH_OK;
}

void kh_asked_clear(kh_asked *a)
{
	free(a->key);
	free(a->segment);
	*a = (kh_asked) { .key = NULL };
}

static size_t up4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

int kh_answer_make(const kh_db *db, const uint64_t *key, size_t n, size_t head, void **p,
		   size_t *bytes, kh_err *err)
{
	kh_hit_lists l = { .len = NULL };
	char *out = NULL;

	if (!kh_lookup(db, key, n, &l, err)) {
		*bytes = head + up4(n) + 4 * l.n_words;
		out = kh_array(*bytes, 1, err);
	}
	if (out && n > 0) {
		memcpy(out + head, l.len, n);
		memcpy(out + head + up4(n), l.word, 4 * l.n_words);
	}
	*p = out;
	kh_hit_lists_clear(&l);
	return out ? KH_OK : KH_ENOMEM;
}

int kh_answer_read(kh_answer *a, const void *p, size_t bytes, size_t n, kh_err *err)
{
	const uint8_t *len = p;
	uint64_t words = 0;

	for (size_t i = 0; i < n && n <= bytes; i++)
		words += kh_list_words(len[i]);
	if (bytes != up4(n) + 4 * words)
		return kh_fail(err, KH_EIO, "%zu bytes of lists do not fit %zu features", bytes, n);
	*a = (kh_answer) { len, (const uint32_t *)(len + up4(n)) };
	return KH_OK;
}

/* The list of a key that the process itself holds. */
static uint32_t *take_own(const kh_db *db, uint64_t key, uint8_t *len, uint32_t *to)
{
	uint32_t tag;
	const kh_bucket *b = home(db, key, &tag);
	const kh_list l = find(db, key, b, tag);

	*len = len_of(l);
	return take(db, l, to);
}

static uint32_t *take_answer(kh_answer *a, uint8_t *len, uint32_t *to)
{
	const uint32_t n = kh_list_words(*a->len);

	*len = *a->len++;
	memcpy(to, a->word, n * sizeof *to);
	a->word += n;
	return to + n;
}

int kh_lookup_answered(kh_answers *a, const kh_db *db, const uint64_t *key, size_t n,
		       kh_hit_lists *to, kh_err *err)
{
	int rc = kh_grow((void **)&to->len, &to->cap_len, n, sizeof *to->len, err);
	size_t words = 0;
	uint32_t tag;

	for (size_t i = 0; i < n; i++)
		if (!a->part[a->owner[kh_key_range(key[i])]].len)
			home(db, key[i], &tag);
	for (size_t i = 0; i < n && !rc && !(rc = more_output(to, words, err)); i++) {
		kh_answer *part = &a->part[a->owner[kh_key_range(key[i])]];
		uint32_t *at = to->word + words;

		at = part->len ? take_answer(part, &to->len[i], at)
			       : take_own(db, key[i], &to->len[i], at);
		words = (size_t)(at - to->word);
	}
	to->n_words = words;
	return rc;
}
