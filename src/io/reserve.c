#include <config.h>
#include "io/reserve.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/threads.h"

enum {
	MOST = 6,               /* threads; more are no faster */
	MUCH = 8 << 20,         /* bytes for which threads are worth it */
	SLICE = 1 << 20
};

/* What is asked for is an estimate, and may be many times what will be written. */
static bool has_room(const kh_reserve *r, int fd, uint64_t bytes)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	       (r->bytes + bytes) * 2 <= (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

bool kh_reserve_take(kh_reserve *r, int fd, uint64_t bytes, unsigned threads)
{
	if (!has_room(r, fd, bytes) ||
	    fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)r->bytes, (off_t)bytes) != 0)
		return false;
	r->bytes += bytes;
	r->threads = threads < MOST ? threads : MOST;
	return true;
}

bool kh_reserve_end(const kh_reserve *r, int fd)
{
	struct stat st;

	return r->bytes == 0 || (fstat(fd, &st) == 0 && ftruncate(fd, st.st_size) == 0);
}

/* --- filling ---------------------------------------------------------------------- */
struct filling {
	char *to;
	const char *from;
	size_t n;
	_Atomic size_t next;
};

static int fill_slices(void *arg, unsigned worker, kh_err *err)
{
	struct filling *f = arg;

	(void)worker, (void)err;
	for (size_t at; (at = atomic_fetch_add(&f->next, SLICE)) < f->n;)
		memcpy(f->to + at, f->from + at, f->n - at < SLICE ? f->n - at : SLICE);
	return KH_OK;
}

/* Is the file so long, if need be from now on? */
static bool reaches(int fd, off_t end)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_size >= end || ftruncate(fd, end) == 0);
}

/* What is reserved has its pages, so a copy cannot fail. */
bool kh_reserve_fill(const kh_reserve *r, int fd, const void *p, size_t n)
{
	const off_t at = r->threads > 1 && n >= MUCH ? lseek(fd, 0, SEEK_CUR) : -1;
	kh_err err = { 0, "" };

	if (at < 0 || (uint64_t)at + n > r->bytes || !reaches(fd, at + (off_t)n))
		return false;
	const size_t before = (size_t)(at % sysconf(_SC_PAGESIZE));
	char *map = mmap(NULL, before + n, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 at - (off_t)before);
	if (map == MAP_FAILED)
		return false;
	struct filling f = { .to = map + before, .from = p, .n = n };
	const int rc = kh_side_by_side(r->threads, fill_slices, &f, &err);
	munmap(map, before + n);
	return rc == KH_OK && lseek(fd, at + (off_t)n, SEEK_SET) >= 0;
}
