/*
 * facts.c - what a database says twice, and what must be zero: kmerhash-db(5)
 *
 * None of it can make a run fail, but a file in which it is not so was not made by this program, or
 * was changed since, and its checksums made anew.
 */
#include <config.h>
#include "db/load_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "kmer/kmer.h"

static int equal(const kh_db *db, const char *name, uint64_t said, uint64_t found, kh_err *err)
{
	if (said == found)
		return KH_OK;
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: %s in its header is %" PRIu64
		       ", and its sections have %" PRIu64, db->path, name, said, found);
}

/* --- bytes that are zero ---------------------------------------------------------- */
/* From the end of each section to the next one; and in front of the first. */
static bool holes_are_zero(const kh_db *db)
{
	const kh_db_header *h = db->h;
	const char *map = db->map;

	for (int i = -1; i < KH_N_SECTIONS; i++) {
		const kh_db_extent *e = i < 0 ? NULL : &h->section[i];
		const uint64_t from = e ? e->at + e->bytes : KH_DB_PAGE;
		uint64_t to = h->file_bytes;

		if (e && e->bytes == 0)
			continue;
		for (int j = 0; j < KH_N_SECTIONS; j++) {
			const kh_db_extent *next = &h->section[j];

			if (next->bytes > 0 && next->at >= from && next->at < to)
				to = next->at;
		}
		if (!kh_all_zero(map + from, to - from))
			return false;
	}
	return true;
}

/* --- strings ---------------------------------------------------------------------- */
/* How many strings, none of which is empty; UINT64_MAX if one is. */
static uint64_t count_strings(const char *p, uint64_t bytes)
{
	const char *const end = p + bytes;
	uint64_t n = 0;

	for (; p < end; p += strlen(p) + 1, n++)
		if (*p == 0)
			return UINT64_MAX;
	return n;
}

/* The ids of the targets stand one behind the other. */
static int check_ids(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	uint64_t at = 0;

	for (uint32_t i = 0; i < h->n_targets; i++) {
		if (db->target[i].id != at || at >= h->section[KH_SEC_IDS].bytes ||
		    db->ids[at] == 0)
			return kh_db_bad(db, "its ids are not those of its targets", err);
		at += strlen(db->ids + at) + 1;
	}
	if (at != h->section[KH_SEC_IDS].bytes)
		return kh_db_bad(db, "it has more ids than targets", err);
	return KH_OK;
}

static bool tool_is_text(const kh_db_header *h)
{
	size_t n = 0;

	for (; n < sizeof h->tool && h->tool[n]; n++)
		if (h->tool[n] < ' ' || h->tool[n] > '~')
			return false;
	return kh_all_zero(h->tool + n, sizeof h->tool - n);
}

/* --- counts ----------------------------------------------------------------------- */
static int check_counts(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	uint64_t locations = 0, bases = 0;
	int rc;

	for (int r = 0; r < KH_RANGES; r++) {
		const kh_seed_range *s = &db->seeds.dir[r];

		locations += s->slots - (uint64_t)s->lists - s->over + s->words;
	}
	for (uint32_t i = 0; i < h->n_targets; i++)
		bases += db->target[i].bases;
	if ((rc = equal(db, "locations", h->locations, locations, err)) ||
	    (rc = equal(db, "bases", h->bases, bases, err)) ||
	    (rc = equal(db, "unmapped", h->unmapped,
			count_strings(db->unmapped, h->section[KH_SEC_UNMAPPED].bytes), err)) ||
	    (rc = equal(db, "sequences", h->sequences, h->n_targets + h->unmapped, err)))
		return rc;
	return h->unmapped > 0 ? KH_OK : equal(db, "unmapped_bases", h->unmapped_bases, 0, err);
}

uint64_t kh_db_digest(const kh_db *db)
{
	uint64_t digest = 0;

	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];
		const char *id = db->ids + t->id;

		digest = kh_fmix64(digest ^ XXH3_64bits(id, strlen(id)));
		digest = kh_fmix64(digest ^ t->digest) ^ t->bases;
	}
	return digest;
}

/* Where all sequences are targets, the digest is made of what these have. */
static int check_digest(const kh_db *db, kh_err *err)
{
	return db->h->unmapped > 0 || kh_db_digest(db) == db->h->digest ? KH_OK
	       : kh_db_bad(db, "its digest is not that of its targets", err);
}

int kh_db_check_facts(const kh_db *db, kh_err *err)
{
	int rc;

	if (!holes_are_zero(db))
		return kh_db_bad(db, "a byte between its sections is not zero", err);
	if (!tool_is_text(db->h))
		return kh_db_bad(db, "the name of the program that made it is no text", err);
	rc = check_ids(db, err);
	if (!rc)
		rc = check_counts(db, err);
	return rc ? rc : check_digest(db, err);
}
