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

typedef unsigned __int128 wide;

/* Probabilities have 48 bits behind the binary point. */
#define ONE (UINT64_C(1) << 48)

/* Of how many k-mers the scheme keeps one; 1 if nothing was said of that. */
static uint64_t kept_one_of(const kh_db_header *h)
{
	if (!h->runs)
		return 1;
	return h->sampling.scheme == KH_SYNCMER
		       ? h->sampling.k - h->sampling.s + 1
		       : (h->sampling.stride + h->sampling.s - 1) / h->sampling.s;
}

/* The probability that a random feature is in the index: of all k-mers, F in 4^k / 2, of which the
 * scheme keeps its part and the database a share; or that it shares home and tag with one that
 * is. */
static uint64_t chance_of_feature(const kh_db_header *h, uint64_t F)
{
	const kh_sampling sampling = kh_db_sampling(h);
	const uint64_t all = (uint64_t)(((wide)F << 32) / kh_sampling_share(&sampling));
	const wide random = (wide)all * kept_one_of(h) * ONE * 2 >> 2 * h->sampling.k;
	const wide p = random + ONE * KH_BUCKET_LOAD / 65536;

	return p > ONE ? ONE : (uint64_t)p;
}

/* The hits in a row that a query with `chance` chance hits will not have: where a k-mer lies by
 * chance, the next feature, which starts d bases on at least, lies there, too, if d more bases
 * agree, and it is kept at that very distance, which is at most every second time.  No more than 3
 * are asked for if that is enough, as calls ask for as many, whatever the size. */
static uint32_t least_run(const kh_db_header *h, wide chance)
{
	const bool syncmer = h->sampling.scheme == KH_SYNCMER;
	const unsigned d = syncmer ? (h->sampling.k - h->sampling.s) / 2 + 1 : 1;
	uint32_t m = 3;

	for (chance >>= 2 * (2 * d + 1); chance > ONE / 10000; chance >>= 2 * d + 1)
		m++;
	return m;
}

void kh_minima(const kh_db_header *h, uint32_t minima[32])
{
	const uint64_t one = ONE;
	const uint64_t N = h->bins ? h->bins : 1, F = h->features ? h->features : 1;
	const uint64_t p = chance_of_feature(h, F);

	for (int i = 0; i < 32; i++) {
		uint64_t n = (UINT64_C(2) << i) - 1, r = h->gap;
		/* chance hits in a window of r bins, with 48 bits behind the binary point,
		 * rounded up */
		const wide chance = (wide)n * r * p / N * h->locations / F + 1;
		const uint64_t lambda = chance > one << 12 ? one << 12 : (uint64_t)chance;
		wide t = (wide)N << 32;         /* N lambda^m / m!, with 32 bits behind the point */
		uint32_t m = 0;

		while ((t > (UINT64_C(1) << 32) / 10000 || m < lambda >> 48) && m < 1 << 20) {
			m++;
			t = (t * lambda >> 48) / m + 1;
			if (t >> 64)
				t = (wide)UINT64_MAX;
		}
		if (h->runs) {
			const uint32_t run = least_run(h, (wide)n * p / F * h->locations);

			m = run > 3 && run > m ? run : m;
		}
		minima[i] = m;
	}
}

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

	for (int i = -1; i < KH_ALL_SECTIONS; i++) {
		const kh_db_extent *e = i < 0 ? NULL : kh_db_extent_of(h, (enum kh_section)i);
		const uint64_t from = e ? e->at + e->bytes : KH_DB_PAGE;
		uint64_t to = h->file_bytes;

		if (e && e->bytes == 0)
			continue;
		for (int j = 0; j < KH_ALL_SECTIONS; j++) {
			const kh_db_extent *next = kh_db_extent_of(h, (enum kh_section)j);

			if (next->bytes > 0 && next->at >= from && next->at < to)
				to = next->at;
		}
		if (!kh_all_zero(map + from, to - from))
			return false;
	}
	return true;
}

bool kh_db_range_ends(const kh_db *db, const kh_range *r)
{
	const uint64_t bits = r->n_locs * db->h->word_bits;
	const char *lists = (const char *)db->image + r->first_loc * 4;
	const char *end = (const char *)db->image + r->first_bucket * 64 +
			  kh_range_bytes(r, db->h->word_bits);

	if (bits % 8 != 0 && (unsigned char)lists[bits / 8] >> bits % 8 != 0)
		return false;
	lists += (bits + 7) / 8;
	return kh_all_zero(lists, (uint64_t)(end - lists));
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
/* B is ceil(keys / 15), made larger by a sixteenth as often as need be. */
static bool buckets_fit(const kh_range *r)
{
	uint64_t B = r->keys > 0 ? ((uint64_t)r->keys + KH_BUCKET_LOAD - 1) / KH_BUCKET_LOAD : 1;

	while (B < r->buckets)
		B += (B + 15) / 16;
	return B == r->buckets && r->entries <= r->keys && (r->entries > 0) == (r->keys > 0);
}

static int check_counts(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	uint64_t locations = 0, bases = 0;
	int rc;

	for (int r = 0; r < KH_RANGES; r++) {
		const kh_seed_range *s = db->dir ? NULL : &db->seeds.dir[r];

		locations += db->dir ? db->dir[r].n_locs - db->dir[r].over
				     : s->slots - (uint64_t)s->lists - s->over + s->words;
		if (db->dir && !buckets_fit(&db->dir[r]))
			return kh_db_bad(db, "the buckets of a range do not fit its keys", err);
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

/* Where all sequences are targets, the digest is made of what these have. */
static int check_digest(const kh_db *db, kh_err *err)
{
	uint64_t digest = 0;

	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];
		const char *id = db->ids + t->id;

		digest = kh_fmix64(digest ^ XXH3_64bits(id, strlen(id)));
		digest = kh_fmix64(digest ^ t->digest) ^ t->bases;
	}
	return db->h->unmapped > 0 || digest == db->h->digest ? KH_OK
	       : kh_db_bad(db, "its digest is not that of its targets", err);
}

int kh_db_check_facts(const kh_db *db, kh_err *err)
{
	uint32_t minima[32];
	int rc;

	if (!holes_are_zero(db))
		return kh_db_bad(db, "a byte between its sections is not zero", err);
	if (!tool_is_text(db->h))
		return kh_db_bad(db, "the name of the program that made it is no text", err);
	if ((rc = check_ids(db, err)) || (rc = check_counts(db, err)) ||
	    (rc = check_digest(db, err)))
		return rc;
	kh_minima(db->h, minima);
	return memcmp(minima, db->h->minima, sizeof minima) == 0 ? KH_OK
	       : kh_db_bad(db, "its least hits do not follow from its counts", err);
}
