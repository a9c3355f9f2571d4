#include <config.h>
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef HAVE_SYS_RANDOM_H
#include <sys/random.h>
#endif

int kh_system_pipe(int end[2])
{
#ifdef HAVE_PIPE2
	return pipe2(end, O_CLOEXEC);
#else
	if (pipe(end) != 0)
		return -1;
	fcntl(end[0], F_SETFD, FD_CLOEXEC);
	fcntl(end[1], F_SETFD, FD_CLOEXEC);
	return 0;
#endif
}

int kh_system_random(void *p, size_t n)
{
#ifdef HAVE_GETRANDOM
	ssize_t got;

	do
		got = getrandom(p, n, 0);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)n ? 0 : -1;
#else
	return getentropy(p, n);
#endif
}

bool kh_system_reserve(int fd, uint64_t at, uint64_t bytes)
{
#ifdef HAVE_FALLOCATE
	return fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) == 0;
#else
	(void)fd, (void)at, (void)bytes;
	return false;
#endif
}
