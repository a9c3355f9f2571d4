/* kept.c - the stretches of targets that a database keeps, made of their tiles, and the
 * alleles of these */
#include <config.h>
#include "build/build_in.h"

#include <string.h>
#include "base/mem.h"
#include "kmer/text.h"

/* --- alleles ----------------------------------------------------------------------------- */
int kh_build_room_for_alleles(struct build *b, kh_err *err)
{
	struct taxa *t = &b->taxa;

	/* what is not touched takes no memory */
	t->alleles = kh_array((size_t)b->all.bins * (b->sampling.stride / KH_TEXT_WORD),
			      sizeof *t->alleles, err);
	return t->alleles ? KH_OK : KH_ENOMEM;
}

int kh_build_find_alleles(struct build *b, const uint32_t *text, const uint8_t *kept,
			  const uint64_t *tiles, uint32_t tile, kh_err *err)
{
	const uint32_t each = tile / b->sampling.stride;

	for (uint32_t i = 0; i < b->taxa.n_kept; i++) {
		kh_db_kept *k = &b->taxa.kept[i];
		const uint8_t *of = kept + tiles[k->target];

		for (uint32_t j = k->at / each;
		     of[0] != KH_TILE_WHOLE && j * each < k->at + k->bins; j++)
			k->alleles |= (of[j] & KH_TILE_ALLELES) != 0;
	}
	return kh_build_drop_shared(b, text, tile, err);
}

/* The n words of a stretch. */
static uint32_t *alleles_of(const struct build *b, const kh_db_kept *k, size_t *n)
{
	uint64_t bases;

	*n = k->bins * (size_t)(b->sampling.stride / KH_TEXT_WORD);
	return b->taxa.alleles + kh_build_kept_at(b, k, &bases) / KH_TEXT_WORD;
}

static int add_few(struct build *b, const kh_db_kept *k, const uint32_t *words, size_t n,
		   kh_err *err)
{
	struct taxa *t = &b->taxa;
	const uint32_t each = b->sampling.stride / KH_TEXT_WORD;

	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < KH_TEXT_WORD && words[i] != 0; j++) {
			const uint32_t x = words[i] >> 2 * j & 3;

			if (x == 0)
				continue;
			if (KH_GROW(t->few, t->cap_few, t->n_few + 1, err))
				return KH_ENOMEM;
			t->few[t->n_few++] = (kh_db_allele) {
				k->first_bin + (uint32_t)(i / each),
				((uint32_t)(i % each) * KH_TEXT_WORD + j) << 2 | x
			};
		}
	return KH_OK;
}

/* How many of the bases of n words have an allele. */
static uint64_t count_alleles(const uint32_t *words, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += kh_text_count(kh_text_differ(words[i], 0));
	return sum;
}

int kh_build_number_alleles(struct build *b, kh_err *err)
{
	uint32_t bins = 0;
	uint64_t bases;
	size_t n;
	int rc = KH_OK;

	for (uint32_t i = 0; i < b->taxa.n_kept && !rc; i++) {
		kh_db_kept *k = &b->taxa.kept[i];

		if (k->alleles == 0)
			continue;
		const uint32_t *words = alleles_of(b, k, &n);

		kh_build_kept_at(b, k, &bases);
		k->alleles = KH_DB_FEW * count_alleles(words, n) < bases ? 0 : bins + 1;
		bins += k->alleles > 0 ? k->bins : 0;
		if (k->alleles == 0)
			rc = add_few(b, k, words, n, err);
	}
	return rc;
}

int kh_build_write_alleles(struct build *b, kh_err *err)
{
	static const uint32_t zeros[KH_TEXT_BEHIND];
	const struct taxa *t = &b->taxa;
	bool any = false;
	int rc = KH_OK;
	size_t n;

	for (uint32_t i = 0; i < t->n_kept && !rc; i++) {
		const kh_db_kept *k = &t->kept[i];

		if (k->alleles == 0)
			continue;
		const uint32_t *words = alleles_of(b, k, &n);

		rc = kh_db_append(b->out.w, words, n * sizeof *words, err);
		any = true;
	}
	if (!rc && any)
		rc = kh_db_append(b->out.w, zeros, sizeof zeros, err);
	return rc || t->n_few == 0
		       ? rc : kh_db_append(b->out.w, t->few, t->n_few * sizeof *t->few, err);
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

static uint32_t bins_of(const struct build *b, uint32_t target)
{
	const uint64_t bases = b->refs.ref[b->taxa.target[target]].bases;
	const uint32_t stride = b->sampling.stride;

	return bases ? (uint32_t)((bases + stride - 1) / stride) : 1;
}

int kh_build_keep_whole(struct build *b, uint32_t i, kh_err *err)
{
	return add_kept(b, i, 0, bins_of(b, i), err);
}

int kh_build_keep_tiles(struct build *b, uint32_t i, const uint8_t *kept, uint32_t tile,
			kh_err *err)
{
	const uint32_t each = tile / b->sampling.stride, bins = bins_of(b, i);
	int rc = KH_OK;

	for (uint32_t from = 0, to; from < bins && !rc; from = to) {
		const bool is = kept[from / each] != 0;

		for (to = from; to < bins && (kept[to / each] != 0) == is;)
			to = bins - to < each ? bins : to + each;
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
		memset(kept + from, KH_TILE_KEPT, (size_t)(to - from));
}

/* --- what a database has that is added to ------------------------------------------------ */
/* Takes over the alleles of stretch i of the database, which was added last; *few: how many of
 * those that are few were in front of it, and then, in front of the next one. */
static void take_alleles(struct build *b, const kh_db *db, uint32_t i, uint64_t *few)
{
	const kh_db_kept *from = &db->kept[i];
	kh_db_kept *k = &b->taxa.kept[b->taxa.n_kept - 1];
	size_t n;
	uint32_t *to = alleles_of(b, k, &n);

	if (from->alleles > 0) {
		memcpy(to, db->text + db->stretch[i].alleles, n * sizeof *to);
		k->alleles = 1;
	}
	for (; *few < db->n_few && db->few[*few].bin < from->first_bin + from->bins; ++*few) {
		const kh_db_allele *a = &db->few[*few];
		const uint64_t base = (uint64_t)(a->bin - from->first_bin) * b->sampling.stride +
				      a->base / 4;

		to[base / KH_TEXT_WORD] |= (a->base & 3) << 2 * (base % KH_TEXT_WORD);
		k->alleles = 1;
	}
}

int kh_build_keep_old(struct build *b, uint8_t *kept, const uint64_t *tiles, uint32_t tile,
		      uint32_t *n, kh_err *err)
{
	const kh_db *db = b->o->base;
	const struct taxa *t = &b->taxa;
	uint64_t few = 0;
	uint32_t strains = 0;
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
		while (few < db->n_few && db->few[few].bin < k->first_bin)
			few++;          /* of a stretch whose taxon is gone */
		if (!rc) {
			take_alleles(b, db, i, &few);
			kh_build_take_strains(b, k, &strains);
		}
		if (!rc)
			mark_tiles(k, b->refs.ref[k->target].bases, b->sampling.stride, tile,
				   kept + tiles[target]);
	}
	return rc;
}
