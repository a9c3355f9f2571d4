/* text.c - the text of the targets in a database of version 3 */
#include <config.h>
#include "db/load_in.h"

#include "index/seeds.h"
#include "text/text.h"

static int bad(const kh_db *db, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: %s", db->path, what);
}

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
			return bad(db, "its directory is damaged", err);
		at += kh_seed_bytes(r);
		seeds += r->seeds;
		over += r->over;
	}
	if (at != end || seeds != h->entries || over != h->over || seeds != h->features)
		return bad(db, "its directory does not fit its header", err);
	return KH_OK;
}

int kh_db_check_seeds(const kh_db *db, unsigned range, kh_err *err)
{
	/* bins of species, behind those of targets, are in no list */
	const uint32_t n = db->h->n_targets > 0 ? db->bins.votes : 0;

	return kh_seeds_check(&db->seeds, range, n, err);
}

/* --- the text -------------------------------------------------------------------------- */
/* Is all behind the last base of a target zero, up to the next one? */
static bool ends(const kh_db *db, uint32_t target)
{
	const kh_db_target *t = &db->target[target];
	const uint64_t next = target + 1 < db->h->n_targets ? t[1].first_bin : db->h->bins;
	const uint64_t words = db->h->sampling.stride / KH_TEXT_WORD;
	uint64_t at = t->first_bin * words + t->bases / KH_TEXT_WORD;

	if (t->bases % KH_TEXT_WORD != 0 && db->text[at++] >> 2 * (t->bases % KH_TEXT_WORD) != 0)
		return false;
	while (at < next * words && db->text[at] == 0)
		at++;
	return at == next * words;
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
		return bad(db, "a parameter in its header is not one of a database with text", err);
	if (h->text.bytes != h->bins * (stride / KH_TEXT_WORD) * sizeof *db->text)
		return bad(db, "its text does not fit its bins", err);
	db->text = (const void *)((const char *)db->map + h->text.at);
	db->bins.places = 1;
	db->bins.bits = h->word_bits;
	for (uint32_t i = 0; i < h->n_targets; i++)
		if (!ends(db, i))
			return bad(db, "its text goes on behind a target", err);
	return KH_OK;
}
