/* system.h - times of files as numbers, and reads that are whole */
#ifndef KH_BASE_SYSTEM_H
#define KH_BASE_SYSTEM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t kh_nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* All n bytes from byte `at` of a file on, or those that there are; -1, with errno. */
static inline ssize_t kh_read_at(int fd, void *to, size_t n, uint64_t at)
{
	size_t got = 0;
	ssize_t r = 1;

	while (got < n && r != 0) {
		r = pread(fd, (char *)to + got, n - got, (off_t)(at + got));
		if (r < 0 && errno != EINTR)
			return -1;
		got += r > 0 ? (size_t)r : 0;
	}
	return (ssize_t)got;
}

#endif
