#include <config.h>
#include "db/stamp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/system.h"
#include "db/in_use.h"

/* SETTLED: seconds after a change before a file is remembered; DAYS: how long it is */
enum { TEXT = 256, SETTLED = 2, DAYS = 30 };

/* The folder of stamps, to be freed; NULL: there is none. */
static char *stamp_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char *folder = NULL;
	int n;

	/* a relative path is to be ignored, by the XDG specification */
	if (cache && *cache == '/')
		n = asprintf(&folder, "%s/kmerhash", cache);
	else if (home && *home == '/')
		n = asprintf(&folder, "%s/.cache/kmerhash", home);
	else
		return NULL;
	return n < 0 ? NULL : folder;
}

/* Does the folder, or the stamp in it, belong to this user, and may nobody else write to it? */
static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Makes the folder and the one above it; if that fails, it will not open. */
static void make_folder(void)
{
	char *folder = stamp_folder(), *slash = folder ? strrchr(folder, '/') : NULL;

	if (!folder)
		return;
	*slash = 0;
	mkdir(folder, 0700);
	*slash = '/';
	mkdir(folder, 0700);
	free(folder);
}

/* -1: there is none that is this user's. */
static int open_folder(void)
{
	char *folder = stamp_folder();
	struct stat st;
	int fd;

	fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(folder);
	if (fd >= 0 && (fstat(fd, &st) != 0 || !is_own(&st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Is this the name of a stamp that was written long ago?  It is not believed any more, as disks
 * decay, and it is removed, so that stamps of files that are gone do not pile up. */
static bool is_old(int folder, const char *name)
{
	struct stat st;

	return strncmp(name, "checked-", 8) == 0 &&
	       fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtim.tv_sec + DAYS * 86400 < time(NULL);
}

static void remove_old(int folder)
{
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	for (struct dirent *e; d && (e = readdir(d));)
		if (is_old(folder, e->d_name))
			unlinkat(folder, e->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* What a stamp says, but for the checksum of the header. */
static void describe(const struct stat *st, char name[TEXT], char text[TEXT])
{
	snprintf(name, TEXT, "checked-%" PRIx64 "-%" PRIx64, (uint64_t)st->st_dev,
		 (uint64_t)st->st_ino);
	snprintf(text, TEXT, "kmerhash %s checked %" PRIu64 " bytes, written %" PRIu64
		 ", changed %" PRIu64 ", header ", PACKAGE_VERSION, (uint64_t)st->st_size,
		 kh_nanoseconds(st->st_mtim), kh_nanoseconds(st->st_ctim));
}

bool kh_stamp_find(const kh_db *db, uint64_t *self)
{
	char name[TEXT], text[TEXT], is[TEXT + 32], *end;
	const int folder = open_folder();
	struct stat st, own;
	ssize_t n = -1;

	if (folder < 0)
		return false;
	if (db->fd >= 0 && fstat(db->fd, &st) == 0 && kh_db_keeps_time_of_change(db->fd)) {
		describe(&st, name, text);
		const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
		const int fd = is_old(folder, name) ? -1 : openat(folder, name, flags);

		if (fd >= 0 && fstat(fd, &own) == 0 && S_ISREG(own.st_mode) && is_own(&own))
			n = read(fd, is, sizeof is - 1);
		if (fd >= 0)
			close(fd);
	}
	close(folder);
	if (n < 0)
		return false;
	is[n] = 0;
	const size_t head = strlen(text);
	if ((size_t)n != head + 17 || memcmp(is, text, head) != 0 || is[n - 1] != '\n')
		return false;
	errno = 0;
	*self = strtoull(is + head, &end, 16);
	return errno == 0 && end == is + n - 1;
}

/* Writes the stamp under another name first, so that a reader finds a whole stamp or none. */
static bool put(int folder, const char *name, const char *text)
{
	const size_t n = strlen(text);
	char tmp[TEXT + 32];
	bool done;

	snprintf(tmp, sizeof tmp, ".%s.%ld", name, (long)getpid());
	const int fd = openat(folder, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	done = write(fd, text, n) == (ssize_t)n;
	done = close(fd) == 0 && done;
	done = done && renameat(folder, tmp, folder, name) == 0;
	if (!done)
		unlinkat(folder, tmp, 0);
	return done;
}

void kh_stamp_write(const kh_db *db)
{
	char name[TEXT], text[TEXT], all[TEXT + 32];
	struct timespec now;
	struct stat st;
	int folder;

	if (db->fd < 0 || fstat(db->fd, &st) != 0 || !kh_db_keeps_time_of_change(db->fd) ||
	    kh_db_unchanged(db, NULL) != KH_OK ||
	    clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < st.st_ctim.tv_sec + SETTLED)
		return;
	make_folder();
	folder = open_folder();
	if (folder < 0)
		return;
	remove_old(folder);
	describe(&st, name, text);
	snprintf(all, sizeof all, "%s%016" PRIx64 "\n", text, db->h->self);
	if (put(folder, name, all))
		kh_log(KH_DEBUG, "%s: that it was checked is remembered", db->path);
	close(folder);
}
