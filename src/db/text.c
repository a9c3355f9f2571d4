/* text.c - the text of the targets in a database of version 3 */
#include <config.h>
#include "db/load_in.h"

#include "base/mem.h"
#include "index/seeds.h"
#include "text/text.h"

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
	if (at != end || seeds != h->entries || over != h->over || seeds != h->features)
		return kh_db_bad(db, "its directory does not fit its header", err);
	return KH_OK;
}

int kh_db_check_seeds(const kh_db *db, unsigned range, kh_err *err)
{
	/* bins of species, behind those of targets, are in no list */
	const uint32_t n = db->h->n_targets > 0 ? db->bins.votes : 0;

	return kh_seeds_check(&db->seeds, range, n, err);
}

/* --- what is kept ----------------------------------------------------------------------- */
static bool kept_is_sound(const kh_db *db, uint32_t i, uint64_t bin)
{
	const kh_db_kept *k = &db->kept[i];
	const uint32_t stride = db->h->sampling.stride;
	uint64_t bins, from = 0;

	if (k->target >= db->h->n_targets || k->bins == 0 || k->first_bin != bin)
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
	uint64_t bin = 0;
	uint32_t target = 0;

	db->kept = (const void *)((const char *)db->map + h->kept.at);
	if (h->kept.bytes % sizeof *db->kept != 0 ||
	    h->kept.bytes / sizeof *db->kept > h->bins)
		return kh_db_bad(db, "its section kept is damaged", err);
	db->n_kept = (uint32_t)(h->kept.bytes / sizeof *db->kept);
	for (uint32_t i = 0; i < db->n_kept; i++) {
		const kh_db_kept *k = &db->kept[i];

		if (!kept_is_sound(db, i, bin))
			return kh_db_bad(db, "its section kept is damaged", err);
		for (; target <= k->target; target++)
			if (db->target[target].first_bin != bin)
				return kh_db_bad(db, "its targets are damaged", err);
		first[i] = k->first_bin;
		taxon[i] = db->target[k->target].taxon;
		bin += k->bins + (uint64_t)h->gap;
	}
	for (; target < h->n_targets; target++)
		if (db->target[target].first_bin != bin)
			return kh_db_bad(db, "its targets are damaged", err);
	*end = bin;
	return bin <= h->bins ? KH_OK
	       : kh_db_bad(db, "its targets do not fit its number of bins", err);
}

/* --- the text -------------------------------------------------------------------------- */
/* Is all behind the last base of a stretch zero, up to the next one, or the end? */
static bool ends(const kh_db *db, uint32_t i)
{
	const kh_db_kept *k = &db->kept[i];
	const uint64_t words = db->h->sampling.stride / KH_TEXT_WORD;
	const uint64_t bases = kh_db_kept_bases(db, k);
	const uint64_t end = i + 1 < db->n_kept ? k[1].first_bin * words
						: db->h->text.bytes / sizeof *db->text;
	uint64_t at = k->first_bin * words + bases / KH_TEXT_WORD;

	if (bases % KH_TEXT_WORD != 0 && db->text[at++] >> 2 * (bases % KH_TEXT_WORD) != 0)
		return false;
	return kh_all_zero(db->text + at, (end - at) * sizeof *db->text);
}

int kh_db_find_text(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint32_t stride = h->sampling.stride;

	if (h->text.at == 0)
		return KH_OK;
	if (stride % KH_TEXT_WORD != 0 || stride > KH_TEXT_SPAN || (stride & (stride - 1)) != 0 ||
	    h->max_span != KH_TEXT_SPAN || h->bins >= KH_SEED_MANY ||
	    h->keys.at != 0 || h->told.at != 0)
		return kh_db_bad(db, "a parameter in its header is not one of a database with text",
				 err);
	if (h->text.bytes % sizeof *db->text != 0 || h->text.bytes / sizeof *db->text !=
	    h->bins * (stride / KH_TEXT_WORD) + KH_TEXT_BEHIND)
		return kh_db_bad(db, "its text does not fit its bins", err);
	db->text = (const void *)((const char *)db->map + h->text.at);
	db->bins.places = 1;
	db->bins.bits = h->word_bits;
	db->kept_end = kh_array(db->n_kept, sizeof *db->kept_end, err);
	if (!db->kept_end)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->n_kept; i++) {
		if (!ends(db, i))
			return kh_db_bad(db, "its text goes on behind a target", err);
		db->kept_end[i] = (uint64_t)db->kept[i].first_bin * stride +
				  kh_db_kept_bases(db, &db->kept[i]);
	}
	return KH_OK;
}
