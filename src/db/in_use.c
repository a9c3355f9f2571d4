#include <config.h>
#include "db/in_use.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* A process has one database open, or a few through the library. More than these are not
 * watched. */
enum { N_OPEN = 8 };
static _Atomic(const kh_db *) in_use[N_OPEN];

static uint64_t nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Content that is written, or cut off, sets both times; mtime can be put back, ctime cannot.  A
 * file that loses its name to another one gets a new ctime, too. */
static bool same(const kh_db *db, const struct stat *st)
{
	return (uint64_t)st->st_size == db->bytes && st->st_ino == db->ino &&
	       nanoseconds(st->st_mtim) == db->mtime && nanoseconds(st->st_ctim) == db->ctime;
}

void kh_db_watch(kh_db *db, const struct stat *st)
{
	db->ino = st->st_ino;
	db->mtime = nanoseconds(st->st_mtim);
	db->ctime = nanoseconds(st->st_ctim);
	for (int i = 0; i < N_OPEN; i++) {
		const kh_db *none = NULL;

		if (atomic_compare_exchange_strong(&in_use[i], &none, db))
			return;
	}
}

void kh_db_forget(const kh_db *db)
{
	for (int i = 0; i < N_OPEN; i++) {
		const kh_db *this = db;

		if (atomic_compare_exchange_strong(&in_use[i], &this, NULL))
			return;
	}
}

int kh_db_unchanged(const kh_db *db, kh_err *err)
{
	struct stat st;

	if (db->fd < 0)
		return KH_OK;
	if (fstat(db->fd, &st) != 0)
		return kh_fail_errno(err, db->path);
	return same(db, &st) ? KH_OK : kh_fail(err, KH_EIO, "%s: was changed while it was in use",
					       db->path);
}

int kh_db_reason(const kh_db *db, int rc, kh_err *err)
{
	kh_err changed = { 0, "" };

	if (!kh_db_unchanged(db, &changed))
		return rc;
	*err = changed;
	return KH_EIO;
}

const char *kh_db_fault(const void *address, const char **path)
{
	for (int i = 0; i < N_OPEN; i++) {
		const kh_db *db = atomic_load(&in_use[i]);
		struct stat st;

		if (!db)
			continue;
		*path = db->path;
		if (fstat(db->fd, &st) != 0 || !same(db, &st))
			return "was changed while it was in use";
		if ((uintptr_t)address - (uintptr_t)db->map < db->bytes)
			return "cannot be read: its disk or file system reports an error";
	}
	return NULL;
}
