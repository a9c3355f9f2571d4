/* seen.c - k-mers that were seen: seen.h */
#include <config.h>
#include "build/seen.h"

#include <stdlib.h>
#include "base/mem.h"
#include "kmer/sampling.h"

static const kh_sampling sampling = { KH_SYNCMER, KH_SEEN_K, KH_SEEN_S, KH_TEXT_WORD,
				      UINT32_C(3) << 30, 1 };

size_t kh_seen_sample(const uint32_t *text, uint64_t at, uint64_t bases, uint64_t *key,
		      uint32_t *pos)
{
	/* no base is unknown */
	static const uint32_t zeros[(KH_SEEN_ROW + KH_TEXT_SPAN) / 32 + 4];
	const uint64_t all = kh_sampling_starts(&sampling, bases);
	const kh_sampling_span st = { (const uint64_t *)(const void *)text + at / 32, zeros,
				      at % 32,
				      at % 32 + (all < KH_SEEN_ROW ? all : KH_SEEN_ROW) };

	return kh_sampling_run(&sampling, &st, key, pos);
}

int kh_seen_init(kh_seen *s, size_t n, kh_err *err)
{
	*s = (kh_seen) { .size = 1 << 10 };
	while (s->size < 2 * n)
		s->size *= 2;
	s->slot = kh_array(s->size, sizeof *s->slot, err);
	return s->slot ? KH_OK : KH_ENOMEM;
}

void kh_seen_clear(kh_seen *s)
{
	free(s->slot);
	*s = (kh_seen) { .slot = NULL };
}

static int grow(kh_seen *s, kh_err *err)
{
	kh_seen more;
	int rc = kh_seen_init(&more, s->size, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s->size; i++)
		if (s->slot[i].key != 0)
			*kh_seen_slot(&more, s->slot[i].key - 1) = s->slot[i];
	more.n = s->n;
	kh_seen_clear(s);
	*s = more;
	return KH_OK;
}

int kh_seen_add(kh_seen *s, uint64_t key, uint32_t member, uint32_t at, kh_err *err)
{
	int rc = 4 * s->n >= 3 * s->size ? grow(s, err) : KH_OK;
	kh_seen_at *to;

	if (rc)
		return rc;
	to = kh_seen_slot(s, key);
	if (to->key == 0) {
		s->n++;
		to->key = key + 1;
		to->place[0].member = member;
		to->place[0].at = at;
	}
	to->place[1].member = member;
	to->place[1].at = at;
	return KH_OK;
}
