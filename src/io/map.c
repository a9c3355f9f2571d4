/*
 * map.c - large pages for a file in memory
 *
 * A new page of 4 KiB costs a fault, a place in the page cache and being cleared, all together more
 * than copying what comes there.  One of 2 MiB takes a tenth of that.  The system seldom gives
 * files in memory such pages by itself (shmem_enabled), but makes them where it is asked to:
 * MADV_COLLAPSE puts one in the place of the small ones that are there, which is at least one.
 */
#include <config.h>
#include "io/map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/mem.h"

/* Maps begin with a page; what is before the bytes belongs to others, who may still write it. */
static size_t page_part(uint64_t at)
{
	return (size_t)(at % (uint64_t)sysconf(_SC_PAGESIZE));
}

/* Bytes [from, from + n) at an address that is as far from a large page's start as `from` is:
 * addresses are taken first, with one large page more, and the rest is given back. */
static char *map_aligned(int fd, uint64_t from, size_t n)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (n + page - 1) / page * page;
	char *room = mmap(NULL, bytes + KH_LARGE_PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		return NULL;
	const size_t before = (size_t)((from - (uintptr_t)room) % KH_LARGE_PAGE);
	char *map = mmap(room + before, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 (off_t)from);

	if (map == MAP_FAILED) {
		munmap(room, bytes + KH_LARGE_PAGE);
		return NULL;
	}
	if (before > 0)
		munmap(room, before);
	if (before < KH_LARGE_PAGE)
		munmap(map + bytes, KH_LARGE_PAGE - before);
	return map;
}

/* Makes the large pages that lie in the map of [at, at + n). */
static bool make_large(int fd, char *map, uint64_t at, size_t n)
{
#ifdef __linux__
	enum { COLLAPSE = 25 };         /* MADV_COLLAPSE, which older headers do not have */
	const uint64_t large = KH_LARGE_PAGE, to = (at + n) / large * large;
	const uint64_t from = (at + large - 1) / large * large;

	if (from >= to)
		return true;
	/* the file becomes long enough, but never shorter, as other threads map other parts */
	if (posix_fallocate(fd, (off_t)(at + n - 1), 1) != 0)
		return false;
	for (uint64_t i = from; i < to; i += large)
		if (posix_fallocate(fd, (off_t)i, 1) != 0)
			return false;
	return madvise(map + (from - at), (size_t)(to - from), COLLAPSE) == 0;
#else
	(void)fd, (void)map, (void)at, (void)n;
	return false;
#endif
}

char *kh_map_part(int fd, uint64_t at, size_t n, bool *large)
{
	const size_t before = page_part(at);
	char *map = map_aligned(fd, at - before, before + n);

	if (!map)
		return NULL;
	*large = *large && make_large(fd, map + before, at, n);
	return map + before;
}

void kh_map_drop(char *map, size_t n)
{
	const size_t before = page_part((uintptr_t)map);

	munmap(map - before, before + n);
}
