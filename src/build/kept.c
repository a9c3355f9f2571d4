/* kept.c - the stretches of targets that a database with text keeps, made of their tiles, and the
 * alleles of these */
#include <config.h>
#include "build/build_in.h"

#include <string.h>
#include "base/mem.h"
#include "text/text.h"

uint64_t kh_build_kept_at(const struct build *b, const kh_db_kept *k, uint64_t *bases)
{
	const kh_ref *r = &b->refs.ref[b->taxa.target[k->target]];
	const uint64_t stride = b->sampling.stride, left = r->bases - k->at * stride;

	*bases = left < k->bins * stride ? left : k->bins * stride;
	return (r->first_bin + (uint64_t)k->at) * stride;
}

/* --- alleles ----------------------------------------------------------------------------- */
int kh_build_room_for_alleles(struct build *b, kh_err *err)
{
	struct taxa *t = &b->taxa;

	/* what is not touched takes no memory */
	t->alleles = kh_array((size_t)b->all.bins * (b->sampling.stride / KH_TEXT_WORD),
			      sizeof *t->alleles, err);
	return t->alleles ? KH_OK : KH_ENOMEM;
}

/* The n words of a stretch. */
static uint32_t *alleles_of(const struct build *b, const kh_db_kept *k, size_t *n)
{
	uint64_t bases;

	*n = k->bins * (size_t)(b->sampling.stride / KH_TEXT_WORD);
	return b->taxa.alleles + kh_build_kept_at(b, k, &bases) / KH_TEXT_WORD;
}

void kh_build_number_alleles(struct build *b)
{
	uint32_t bins = 0;

	for (uint32_t i = 0; i < b->taxa.n_kept; i++) {
		kh_db_kept *k = &b->taxa.kept[i];

		if (k->alleles == 0)
			continue;
		k->alleles = bins + 1;
		bins += k->bins;
	}
}

int kh_build_write_alleles(struct build *b, kh_err *err)
{
	static const uint32_t zeros[KH_TEXT_BEHIND];
	bool any = false;
	int rc = KH_OK;
	size_t n;

	for (uint32_t i = 0; i < b->taxa.n_kept && !rc; i++) {
		const kh_db_kept *k = &b->taxa.kept[i];

		if (k->alleles == 0)
			continue;
		const uint32_t *words = alleles_of(b, k, &n);

		rc = kh_db_append(b->out.w, words, n * sizeof *words, err);
		any = true;
	}
	return rc || !any ? rc : kh_db_append(b->out.w, zeros, sizeof zeros, err);
}

/* --- stretches --------------------------------------------------------------------------- */
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
		const bool is = !kept || kept[from / each] != 0;

		for (to = from; to < bins && (!kept || kept[to / each] != 0) == is;)
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

/* --- what a database has that is added to ------------------------------------------------ */
/* Takes over the alleles of the stretch that was added last. */
static void take_alleles(struct build *b, const uint32_t *from)
{
	kh_db_kept *k = &b->taxa.kept[b->taxa.n_kept - 1];
	size_t n;
	uint32_t *to = alleles_of(b, k, &n);

	memcpy(to, from, n * sizeof *to);
	k->alleles = 1;
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
		if (!rc && k->alleles > 0)
			take_alleles(b, db->text + db->stretch[i].alleles);
		if (!rc && kept)
			mark_tiles(k, b->refs.ref[k->target].bases, b->sampling.stride, tile,
				   kept + tiles[target]);
	}
	return rc;
}
