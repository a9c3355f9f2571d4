/* text.c - the index, the kept stretches and the text of a database */
#include <config.h>
#include "db/load_in.h"

#include "base/mem.h"
#include "index/seeds.h"
#include "kmer/text.h"

/* --- the index ------------------------------------------------------------------------- */
int kh_db_check_seed_ranges(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint64_t end = h->section[KH_SEC_INDEX].bytes;
	uint64_t at = 0, seeds = 0, over = 0;

	for (int p = 0; p < KH_RANGES; p++) {
		const kh_seed_range *r = &db->seeds.dir[p];

		if (r->first_line != at / 64 || kh_seed_bytes(r) > end - at ||
		    r->first_word != (at + kh_seed_line_bytes(r)) / 4 || r->seeds > r->slots ||
		    r->lists > r->words || (uint64_t)r->lists + r->over > r->seeds)
			return kh_db_bad(db, "its directory is damaged", err);
		at += kh_seed_bytes(r);
		seeds += r->seeds;
		over += r->over;
	}
	if (at != end || over != h->over || seeds != h->features)
		return kh_db_bad(db, "its directory does not fit its header", err);
	return KH_OK;
}

/* --- what is kept ----------------------------------------------------------------------- */
static bool kept_is_sound(const kh_db *db, uint32_t i, uint64_t bin, uint64_t alleles)
{
	const kh_db_kept *k = &db->kept[i];
	const uint32_t stride = db->h->sampling.stride;
	uint64_t bins, from = 0;

	if (k->target >= db->h->n_targets || k->bins == 0 || k->first_bin != bin ||
	    (k->alleles > 0 && k->alleles - UINT64_C(1) != alleles))
		return false;
	bins = db->target[k->target].bases / stride + (db->target[k->target].bases % stride != 0);
	if (i > 0 && k->target < k[-1].target)
		return false;
	if (i > 0 && k->target == k[-1].target)
		from = k[-1].at + (uint64_t)k[-1].bins + 1;
	return k->at >= from && k->at + (uint64_t)k->bins <= (bins ? bins : 1);
}

int kh_db_read_kept(kh_db *db, uint32_t *first, uint32_t *taxon, uint64_t *end, kh_err *err)
{
	const kh_db_header *h = db->h;
	uint64_t bin = 0, alleles = 0;
	uint32_t target = 0;

	db->kept = (const void *)((const char *)db->map + h->section[KH_SEC_KEPT].at);
	if (h->section[KH_SEC_KEPT].bytes % sizeof *db->kept != 0 ||
	    h->section[KH_SEC_KEPT].bytes / sizeof *db->kept > h->bins)
		return kh_db_bad(db, "its section kept is damaged", err);
	db->n_kept = (uint32_t)(h->section[KH_SEC_KEPT].bytes / sizeof *db->kept);
	for (uint32_t i = 0; i < db->n_kept; i++) {
		const kh_db_kept *k = &db->kept[i];

		if (!kept_is_sound(db, i, bin, alleles))
			return kh_db_bad(db, "its section kept is damaged", err);
		for (; target <= k->target; target++)
			if (db->target[target].first_bin != bin)
				return kh_db_bad(db, "its targets are damaged", err);
		first[i] = k->first_bin;
		taxon[i] = db->target[k->target].taxon;
		bin += k->bins + UINT64_C(1);
		alleles += k->alleles > 0 ? k->bins : 0;
	}
	for (; target < h->n_targets; target++)
		if (db->target[target].first_bin != bin)
			return kh_db_bad(db, "its targets are damaged", err);
	*end = bin;
	return bin <= h->bins ? KH_OK
	       : kh_db_bad(db, "its targets do not fit its number of bins", err);
}

/* --- the text -------------------------------------------------------------------------- */
/* Words of so many bins. */
static uint64_t words_of(const kh_db *db, uint64_t bins)
{
	return bins * (db->h->sampling.stride / KH_TEXT_WORD);
}

/* Where the alleles of stretches begin. */
static uint64_t first_allele(const kh_db *db)
{
	return words_of(db, db->h->bins) + KH_TEXT_BEHIND;
}

/* Of words of bases that begin with number `from`: are those zero that are behind so many bases, up
 * to number `end`? */
static bool ends(const kh_db *db, uint64_t from, uint64_t bases, uint64_t end)
{
	uint64_t at = from + bases / KH_TEXT_WORD;

	if (bases % KH_TEXT_WORD != 0 && db->text[at++] >> 2 * (bases % KH_TEXT_WORD) != 0)
		return false;
	return kh_all_zero(db->text + at, (end - at) * sizeof *db->text);
}

/* Where stretch i lies in the text, whose parts fit one another; false: it goes on behind its end,
 * or its alleles do. */
static bool find_stretch(kh_db *db, uint32_t i)
{
	const kh_db_kept *k = &db->kept[i];
	const uint64_t first = words_of(db, k->first_bin), bases = kh_db_kept_bases(db, k);
	const uint64_t end = i + 1 < db->n_kept ? words_of(db, k[1].first_bin) : first_allele(db);
	kh_text_stretch *s = &db->stretch[i];

	s->end = first * KH_TEXT_WORD + bases;
	if (kh_db_is_thin(db->h))
		return true;
	if (k->alleles > 0)
		s->alleles = first_allele(db) + words_of(db, k->alleles - 1);
	return ends(db, first, bases, end) &&
	       (k->alleles == 0 ||
		ends(db, s->alleles, bases, s->alleles + words_of(db, k->bins)));
}

/* Do alleles that are few lie in their order in stretches that have no others? */
static bool few_are_sound(const kh_db *db)
{
	const uint32_t stride = db->h->sampling.stride;
	uint64_t before = 0;
	uint32_t i = 0;

	for (uint64_t k = 0; k < db->n_few; k++) {
		const kh_db_allele *a = &db->few[k];
		const uint64_t base = (uint64_t)a->bin * stride + a->base / 4;

		while (i + 1 < db->n_kept && db->kept[i + 1].first_bin <= a->bin)
			i++;
		if (i >= db->n_kept || db->kept[i].alleles > 0 || a->base / 4 >= stride ||
		    a->base % 4 == 0 || base >= db->stretch[i].end || (k > 0 && base <= before))
			return false;
		before = base;
	}
	return true;
}

/* Words of the text, if stretches have so many bins with alleles. */
static uint64_t all_words(const kh_db *db, uint64_t alleles)
{
	return first_allele(db) + (alleles > 0 ? words_of(db, alleles) + KH_TEXT_BEHIND : 0);
}

/* The parts of the section, if stretches have so many bins with alleles; false: they do not fit. */
static bool find_parts(kh_db *db, uint64_t alleles)
{
	const kh_db_extent *x = &db->h->section[KH_SEC_TEXT];
	const uint64_t bytes = all_words(db, alleles) * sizeof *db->text;

	if (kh_db_is_thin(db->h))       /* what is translated lies in the text */
		return alleles == 0 && db->h->section[KH_SEC_TRANSLATED].at == 0;
	if (x->bytes < bytes || (x->bytes - bytes) % sizeof *db->few != 0)
		return false;
	db->text = (const void *)((const char *)db->map + x->at);
	db->alleles = alleles > 0;
	db->few = (const void *)((const char *)db->text + bytes);
	db->n_few = (x->bytes - bytes) / sizeof *db->few;
	return true;
}

int kh_db_find_text(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint32_t stride = h->sampling.stride;
	uint64_t alleles = 0;

	if (stride % KH_TEXT_WORD != 0 || stride > KH_TEXT_SPAN || (stride & (stride - 1)) != 0 ||
	    h->bins >= KH_SEED_MANY)
		return kh_db_bad(db, "a parameter in its header is out of range", err);
	for (uint32_t i = 0; i < db->n_kept; i++)
		alleles += db->kept[i].alleles > 0 ? db->kept[i].bins : 0;
	if (!find_parts(db, alleles))
		return kh_db_bad(db, "its text does not fit its bins", err);
	db->bins.bits = h->word_bits;
	db->stretch = kh_array(db->n_kept, sizeof *db->stretch, err);
	if (!db->stretch)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->n_kept; i++)
		if (!find_stretch(db, i))
			return kh_db_bad(db, "its text goes on behind a target", err);
	if (!few_are_sound(db))
		return kh_db_bad(db, "its alleles are damaged", err);
	return KH_OK;
}
