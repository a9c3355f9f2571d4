#include <config.h>
#include "db/pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/threads.h"
#include "db/load_in.h"

/* --- the map ---------------------------------------------------------------------- */
/* Addresses are taken first, with one large page more, and what is before and behind the map is
 * given back. */
void *kh_db_map(const kh_db *db)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = ((size_t)db->bytes + page - 1) / page * page;
	char *taken = mmap(NULL, bytes + KH_LARGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (taken == MAP_FAILED)
		return MAP_FAILED;
	const size_t before = (size_t)(-(uintptr_t)taken % KH_LARGE_PAGE);
	char *at = taken + before;
	void *map = mmap(at, (size_t)db->bytes, PROT_READ, MAP_SHARED | MAP_FIXED, db->fd, 0);

	if (map == MAP_FAILED) {
		munmap(taken, bytes + KH_LARGE_PAGE);
		return MAP_FAILED;
	}
	if (before)
		munmap(taken, before);
	munmap(at + bytes, KH_LARGE_PAGE - before);
#ifdef MADV_HUGEPAGE
	madvise(map, (size_t)db->bytes, MADV_HUGEPAGE);
#endif
	return map;
}

/* --- large pages of the page cache ------------------------------------------------ */
static void touch(const kh_db *db)
{
	const volatile char *p = db->map;

	for (uint64_t at = 0; at < db->bytes; at += KH_LARGE_PAGE)
		(void)p[at];
}

bool kh_db_in_large_pages(const kh_db *db)
{
	const size_t from = (size_t)(uintptr_t)db->map;
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[256];
	size_t start, end, kib, large = 0, all = 0;
	bool here = false;

	if (!f)
		return false;
	touch(db);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%zx-%zx ", &start, &end) == 2)
			here = start >= from && start < from + db->bytes;
		else if (here && sscanf(line, "Rss: %zu", &kib) == 1)
			all += kib;
		else if (here && (sscanf(line, "FilePmdMapped: %zu", &kib) == 1 ||
				  sscanf(line, "ShmemPmdMapped: %zu", &kib) == 1))
			large += kib;
	}
	fclose(f);
	return large > all / 10 * 9;
}

bool kh_db_make_large_pages(const kh_db *db)
{
#ifdef __linux__
	enum { COLLAPSE = 25 };         /* MADV_COLLAPSE, which older headers do not have */
	const size_t whole = (size_t)db->bytes / KH_LARGE_PAGE * KH_LARGE_PAGE;

	return whole > 0 && madvise(db->map, whole, COLLAPSE) == 0;
#else
	(void)db;
	return false;
#endif
}

/* --- a copy ----------------------------------------------------------------------- */
enum { CHUNK = 8 << 20 };

struct copying {
	const kh_db *db;
	const kh_db_extent *section;
	char *to;
};

int kh_db_read(const kh_db *db, void *p, size_t n, uint64_t at, kh_err *err)
{
	if (db->fd < 0) {
		memcpy(p, (const char *)db->map + at, n);
		return KH_OK;
	}
	for (char *to = p; n > 0;) {
		const ssize_t got = pread(db->fd, to, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kh_fail_errno(err, db->path);
		if (got == 0)
			return kh_fail(err, KH_EIO, "%s: it has become shorter", db->path);
		to += got;
		at += (uint64_t)got;
		n -= (size_t)got;
	}
	return KH_OK;
}

static int copy_chunk(void *arg, size_t i, kh_err *err)
{
	const struct copying *c = arg;
	const uint64_t at = (uint64_t)i * CHUNK, left = c->section->bytes - at;

	return kh_db_read(c->db, c->to + at, (size_t)(left < CHUNK ? left : CHUNK),
			  c->section->at + at, err);
}

int kh_db_copy(const kh_db *db, enum kh_section s, void **copy, unsigned threads, kh_err *err)
{
	const kh_db_extent *e = &db->h->section[s];
	const size_t bytes = (size_t)e->bytes;
	struct copying c = { .db = db, .section = e, .to = kh_pages(bytes, err) };
	const size_t chunks = (bytes + CHUNK - 1) / CHUNK;
	int rc = c.to ? kh_each(threads, chunks, copy_chunk, &c, err) : KH_ENOMEM;

	if (rc) {
		kh_pages_free(c.to, bytes);
		return rc;
	}
	*copy = c.to;
	return KH_OK;
}
