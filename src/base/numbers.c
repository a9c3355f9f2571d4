#include <config.h>
#include "base/numbers.h"

#include <stdlib.h>
#include "base/mem.h"

void kh_numbers_clear(kh_numbers *s)
{
	free(s->place);
	*s = (kh_numbers) { .n = 0 };
}

static void put(kh_numbers *s, uint64_t x)
{
	size_t i = x >> 32 & (s->size - 1);

	while (s->place[i])
		i = (i + 1) & (s->size - 1);
	s->place[i] = x;
}

int kh_numbers_add(kh_numbers *s, uint64_t hash, uint32_t number, kh_err *err)
{
	if (2 * (s->n + 1) > s->size) {
		kh_numbers more = { .n = s->n, .size = s->size ? 2 * s->size : 64 };

		more.place = kh_array(more.size, sizeof *more.place, err);
		if (!more.place)
			return KH_ENOMEM;
		for (size_t i = 0; i < s->size; i++)
			if (s->place[i])
				put(&more, s->place[i]);
		free(s->place);
		*s = more;
	}
	put(s, hash >> 32 << 32 | (number + UINT64_C(1)));
	s->n++;
	return KH_OK;
}

uint32_t kh_numbers_next(const kh_numbers *s, uint64_t hash, size_t *at)
{
	for (uint64_t x; s->size > 0; ) {
		x = s->place[((hash >> 32) + (*at)++) & (s->size - 1)];
		if (!x || x >> 32 == hash >> 32)
			return (uint32_t)x - 1;
	}
	return KH_NO_NUMBER;
}
