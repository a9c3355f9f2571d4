/*
 * check.c - the bytes of a database beside their checksums, and the structure of its index, by many
 * threads
 */
#include <config.h>
#include "db/load_in.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <xxhash.h>
#include "base/progress.h"
#include "base/threads.h"

struct verify {
	const kh_db *db;
	bool index, text, others;       /* sections */
	uint64_t chunks;
	double started;
	uint64_t bytes;                 /* to be read */
	_Atomic uint64_t next, done;    /* chunks or ranges that are taken; bytes read */
};

static bool inside(const kh_db *db, enum kh_section s, uint64_t at, uint64_t n)
{
	const kh_db_extent *e = &db->h->section[s];

	return at >= e->at && at + n <= e->at + e->bytes;
}

/* Is a chunk to be checked?  One that is only partly of a section belongs to the others. */
static bool concerns(const struct verify *v, uint64_t at, uint64_t n)
{
	if (inside(v->db, KH_SEC_INDEX, at, n))
		return v->index;
	return inside(v->db, KH_SEC_TEXT, at, n) ? v->text : v->others;
}

static void show_bytes(struct verify *v, uint64_t n)
{
	const uint64_t done = atomic_fetch_add(&v->done, n) + n;

	kh_progress(&(kh_step) { .doing = "checked",
				 .started = v->started,
				 .done = done < v->bytes ? done : v->bytes,
				 .total = v->bytes });
}

static int verify_worker(void *arg, unsigned worker, kh_err *err)
{
	struct verify *v = arg;
	const kh_db *db = v->db;
	const uint64_t *sums = kh_db_section(db, KH_SEC_SUMS);
	const uint64_t end = db->h->section[KH_SEC_SUMS].at;

	(void)worker;
	for (uint64_t i; (i = v->next++) < v->chunks;) {
		uint64_t at = KH_DB_PAGE + i * KH_DB_CHUNK;
		uint64_t n = end - at < KH_DB_CHUNK ? end - at : KH_DB_CHUNK;

		if (!concerns(v, at, n))
			continue;
		if (XXH3_64bits((const char *)db->map + at, (size_t)n) != sums[i]) {
			v->next = v->chunks;
			return kh_fail(err, KH_EFORMAT,
				       "%s: damaged: the checksum of bytes %" PRIu64 " to %" PRIu64
				       " is wrong",
				       db->path, at, at + n - 1);
		}
		show_bytes(v, n);
	}
	return KH_OK;
}

/* Checks the structure of ranges, one at a time. */
static int check_worker(void *arg, unsigned worker, kh_err *err)
{
	struct verify *v = arg;
	const kh_db *db = v->db;
	kh_err why = { 0, "" };

	(void)worker;
	for (uint64_t p; (p = v->next++) < KH_RANGES;) {
		if (kh_seeds_check(&db->seeds, (unsigned)p, (uint32_t)db->h->bins, &why)) {
			v->next = KH_RANGES;
			return kh_fail(err, KH_EFORMAT,
				       "%s: not a usable database: range %" PRIu64 ", %s", db->path,
				       p, why.msg);
		}
		kh_progress(&(kh_step) { .doing = "checked",
					 .things = "ranges of the index",
					 .started = v->started,
					 .done = p + 1,
					 .total = KH_RANGES });
	}
	return KH_OK;
}

static int in_parallel(struct verify *v, unsigned threads, kh_worker_fn *fn, kh_err *err)
{
	v->started = kh_seconds();
	const int rc = kh_side_by_side(threads, fn, v, err);
	kh_progress_end();
	return rc;
}

int kh_db_check_rest(const kh_db *db, unsigned threads, kh_err *err)
{
	struct verify v = { .db = db, .others = true,
			    .chunks = db->h->section[KH_SEC_SUMS].bytes / 8,
			    .bytes = db->h->section[KH_SEC_SUMS].at -
				     db->h->section[KH_SEC_TEXT].bytes -
				     db->h->section[KH_SEC_INDEX].bytes };

	return in_parallel(&v, threads, verify_worker, err);
}

int kh_db_check_text(const kh_db *db, unsigned threads, kh_err *err)
{
	struct verify v = { .db = db, .text = true, .bytes = db->h->section[KH_SEC_TEXT].bytes,
			    .chunks = db->h->section[KH_SEC_SUMS].bytes / 8 };

	return in_parallel(&v, threads, verify_worker, err);
}

int kh_db_check_sums(const kh_db *db, unsigned threads, kh_err *err)
{
	struct verify v = { .db = db, .index = true, .bytes = db->h->section[KH_SEC_INDEX].bytes,
			    .chunks = db->h->section[KH_SEC_SUMS].bytes / 8 };

	return in_parallel(&v, threads, verify_worker, err);
}

int kh_db_check(const kh_db *db, unsigned threads, kh_err *err)
{
	struct verify v = { .db = db };
	int rc = kh_db_check_sums(db, threads, err);

	return rc ? rc : in_parallel(&v, threads, check_worker, err);
}
