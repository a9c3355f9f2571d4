/* system.c - reads that are whole */
#include <config.h>
#include <errno.h>
#include <unistd.h>

#include "base/system.h"

ssize_t kh_read_at(int fd, void *to, size_t n, uint64_t at)
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
