/* text.c - the text of the targets in a database of version 3 */
#include <config.h>
#include "db/load_in.h"

#include "text/text.h"

static int bad(const kh_db *db, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: %s", db->path, what);
}

/* Is all behind the last base of a target zero, up to the next one? */
static bool ends(const kh_db *db, uint32_t target)
{
	const kh_db_target *t = &db->target[target];
	const uint64_t next = target + 1 < db->h->n_targets ? t[1].first_bin : db->h->bins;
	uint64_t at = t->first_bin + t->bases / KH_TEXT_WORD;

	if (t->bases % KH_TEXT_WORD != 0 && db->text[at++] >> 2 * (t->bases % KH_TEXT_WORD) != 0)
		return false;
	while (at < next && db->text[at] == 0)
		at++;
	return at == next;
}

int kh_db_find_text(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;

	if (h->text.at == 0)
		return KH_OK;
	if (h->sampling.stride != KH_TEXT_WORD || h->max_span != KH_TEXT_SPAN ||
	    h->keys.at != 0 || h->told.at != 0)
		return bad(db, "a parameter in its header is not one of a database with text", err);
	if (h->text.bytes != h->bins * sizeof *db->text)
		return bad(db, "its text does not fit its bins", err);
	db->text = (const void *)((const char *)db->map + h->text.at);
	db->bins.places = 1;
	for (uint32_t i = 0; i < h->n_targets; i++)
		if (!ends(db, i))
			return bad(db, "its text goes on behind a target", err);
	return KH_OK;
}
