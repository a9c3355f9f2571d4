/* kept.c - the stretches of targets that a database with text keeps, made of their tiles */
#include <config.h>
#include "build/build_in.h"

#include <string.h>
#include "base/mem.h"

/* The kept tiles of target i, from .. to - 1 of its bins, become what the database keeps. */
static int add_kept(struct build *b, uint32_t i, uint32_t from, uint32_t to, kh_err *err)
{
	struct taxa *t = &b->taxa;
	int rc = KH_GROW(t->kept, t->cap_kept, t->n_kept + (size_t)1, err);

	if (!rc)
		t->kept[t->n_kept++] = (kh_db_kept) { .target = i, .at = from, .bins = to - from };
	return rc;
}

int kh_build_keep_target(struct build *b, uint32_t i, const uint8_t *kept, uint32_t tile,
			 kh_err *err)
{
	const uint64_t bases = b->refs.ref[b->taxa.target[i]].bases;
	const uint32_t stride = b->sampling.stride, each = tile / stride;
	const uint32_t bins = bases ? (uint32_t)((bases + stride - 1) / stride) : 1;
	int rc = KH_OK;

	for (uint32_t from = 0, to; from < bins && !rc; from = to) {
		const uint8_t is = !kept || kept[from / each];

		for (to = from; to < bins && (!kept || kept[to / each]) == is;)
			to = !kept || bins - to < each ? bins : to + each;
		if (is)
			rc = add_kept(b, i, from, to, err);
	}
	return rc;
}

/* The tiles that a stretch of a target of so many bases has whole. */
static void mark_tiles(const kh_db_kept *k, uint64_t bases, uint32_t stride, uint32_t tile,
		       uint8_t *kept)
{
	const uint64_t each = tile / stride, end = k->at + (uint64_t)k->bins;
	const uint64_t from = (k->at + each - 1) / each;
	const uint64_t to = end * stride >= bases ? bases / tile + 1 : end / each;

	if (from < to)
		memset(kept + from, 1, (size_t)(to - from));
}

int kh_build_keep_old(struct build *b, uint8_t *kept, const uint64_t *tiles, uint32_t tile,
		      uint32_t *n, kh_err *err)
{
	const kh_db *db = b->o->base;
	const struct taxa *t = &b->taxa;
	int rc = KH_OK;

	for (*n = 0; *n < t->n_targets && t->target[*n] < b->base.n;)
		++*n;
	for (uint32_t i = 0, target = 0; db && i < db->n_kept && !rc; i++) {
		const kh_db_kept *k = &db->kept[i];

		while (target < *n && t->target[target] < k->target)
			target++;
		if (target == *n || t->target[target] != k->target)
			continue;               /* its taxon is gone */
		rc = add_kept(b, target, k->at, k->at + k->bins, err);
		if (!rc && kept)
			mark_tiles(k, b->refs.ref[k->target].bases, b->sampling.stride, tile,
				   kept + tiles[target]);
	}
	return rc;
}
