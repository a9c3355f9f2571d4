/* source_digest.c - the XXH3 of a file's bytes, made while they are read */
#include <config.h>
#include "io/source.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/mem.h"
#include "io/source_in.h"

struct kh_source_digest {
	XXH3_state_t *x;
	uint64_t n;             /* bytes so far */
};

void kh_source_digest_free(struct kh_source_digest *d)
{
	if (d)
		XXH3_freeState(d->x);
	free(d);
}

void kh_source_digest_add(struct kh_source_digest *d, const void *p, size_t n)
{
	if (!d)
		return;
	XXH3_64bits_update(d->x, p, n);
	d->n += n;
}

int kh_source_make_digest(kh_source *s, kh_err *err)
{
	struct kh_source_digest *d = kh_array(1, sizeof *d, err);

	if (!d)
		return KH_ENOMEM;
	d->x = XXH3_createState();
	if (!d->x) {
		free(d);
		return kh_fail_nomem(err);
	}
	XXH3_64bits_reset(d->x);
	kh_source_digest_add(d, s->in + s->pos, s->end - s->pos);
	s->digest = d;
	return KH_OK;
}

bool kh_source_digest(const kh_source *s, uint64_t *digest)
{
	if (!s->digest || s->size == 0 || s->digest->n != s->size)
		return false;
	*digest = XXH3_64bits_digest(s->digest->x);
	return true;
}
