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

enum { AHEAD = 32 };                    /* keys whose buckets are on their way */

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

static inline kh_hit_list find(const kh_db *db, uint64_t key, const kh_bucket *b, uint32_t tag)
{
	const uint32_t bits = db->bins.bits;
	const kh_list l = kh_probe_find(&db->dir[kh_key_range(key)], b, tag, bits);
	const uint32_t *in = (const uint32_t *)db->image + l.bit / 32;

	__builtin_prefetch(in);
	return (kh_hit_list) { in, l.bit % 32, (uint8_t)bits, (uint8_t)l.n, (uint8_t)l.over };
}

void kh_lookup(const kh_db *db, const uint64_t *key, size_t n, kh_hit_list *list)
{
	const kh_bucket *bucket[AHEAD];
	uint32_t tag[AHEAD];

	for (size_t i = 0; i < n + AHEAD; i++) {
		const size_t slot = i % AHEAD;

		if (i >= AHEAD)
			list[i - AHEAD] = find(db, key[i - AHEAD], bucket[slot], tag[slot]);
		if (i < n)
			bucket[slot] = home(db, key[i], &tag[slot]);
	}
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

static uint8_t len_of(const kh_hit_list *l)
{
	return l->over ? KH_LIST_OVER : (uint8_t)l->n;
}

int kh_answer_make(const kh_db *db, const uint64_t *key, size_t n, size_t head, void **p,
		   size_t *bytes, kh_err *err)
{
	kh_hit_list *list = kh_array(n, sizeof *list, err);
	size_t words = 0;
	uint32_t *word;
	char *out;

	if (!list)
		return KH_ENOMEM;
	kh_lookup(db, key, n, list);
	for (size_t i = 0; i < n; i++)
		words += list[i].n;
	*bytes = head + up4(n) + 4 * words;
	out = kh_array(*bytes, 1, err);
	if (out) {
		word = (uint32_t *)(out + head + up4(n));
		for (size_t i = 0; i < n; i++) {
			out[head + i] = (char)len_of(&list[i]);
			for (uint32_t j = 0; j < list[i].n; j++)
				*word++ = kh_hit(&list[i], j);
		}
		*p = out;
	}
	free(list);
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

void kh_lookup_answered(kh_answers *a, const kh_db *db, const uint64_t *key, size_t n,
			kh_hit_list *list)
{
	uint32_t tag;

	for (size_t i = 0; i < n; i++)
		if (!a->part[a->owner[kh_key_range(key[i])]].len)
			home(db, key[i], &tag);
	for (size_t i = 0; i < n; i++) {
		kh_answer *part = &a->part[a->owner[kh_key_range(key[i])]];

		if (part->len) {
			list[i] = (kh_hit_list) { .in = part->word,
						  .n = (uint8_t)kh_list_words(*part->len),
						  .over = *part->len == KH_LIST_OVER,
						  .bits = 32 };
			part->word += list[i].n;
			part->len++;
		} else {
			const kh_bucket *b = home(db, key[i], &tag);

			list[i] = find(db, key[i], b, tag);
		}
	}
}
