#include <config.h>
#include "db/in_use.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/system.h"
#include "db/join.h"

/* A process has one database open, or a few. More than these are not watched. */
enum { N_OPEN = 64 };
static _Atomic(const kh_db *) in_use[N_OPEN];

bool kh_db_keeps_time_of_change(int fd)
{
	static const uint32_t type[] = {
		0xef53,         /* ext2, ext3, ext4 */
		0x58465342,     /* xfs */
		0x9123683e,     /* btrfs */
		0xf2f52010,     /* f2fs */
		0x2fc12fc1,     /* zfs */
		0x01021994,     /* tmpfs */
		0x794c7630,     /* overlayfs */
		0x0bd00bd0,     /* Lustre */
		0x47504653,     /* GPFS */
		0x00c36400,     /* Ceph */
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof type / sizeof *type; i++)
		if ((uint32_t)fs.f_type == type[i])
			return true;
	return false;
}

/* The XXH3 of the file's header, or of as much as there is.  Signal handlers may call this. */
static uint64_t header_now(int fd)
{
	char head[sizeof(kh_db_header)];
	const ssize_t n = pread(fd, head, sizeof head, 0);

	return XXH3_64bits(head, n > 0 ? (size_t)n : 0);
}

/* Content that is written, or cut off, sets both times; mtime can be put back, ctime cannot.  A
 * file that loses its name to another one gets a new ctime, too.  Where ctime can be put back as
 * well, the header at least tells one database from another, as it covers all checksums. */
static bool same(const kh_db *db, const struct stat *st)
{
	return (uint64_t)st->st_size == db->bytes && st->st_ino == db->was.ino &&
	       kh_nanoseconds(st->st_mtim) == db->was.mtime &&
	       kh_nanoseconds(st->st_ctim) == db->was.ctime &&
	       (db->was.times_hold || header_now(db->fd) == db->was.header);
}

void kh_db_watch(kh_db *db, const struct stat *st)
{
	db->was.ino = st->st_ino;
	db->was.mtime = kh_nanoseconds(st->st_mtim);
	db->was.ctime = kh_nanoseconds(st->st_ctim);
	db->was.times_hold = kh_db_keeps_time_of_change(db->fd);
	if (!db->was.times_hold)
		db->was.header = header_now(db->fd);
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
	int rc = KH_OK;

	for (unsigned i = 0; db->joined && i < db->joined->n && !rc; i++)
		rc = kh_db_unchanged(db->joined->volume[i], err);
	if (rc)
		return rc;
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
		if ((uintptr_t)address - (uintptr_t)db->map < db->bytes ||
		    (uintptr_t)address - (uintptr_t)db->beside.text < db->beside.bytes)
			return "cannot be read: its disk or file system reports an error";
	}
	return NULL;
}
