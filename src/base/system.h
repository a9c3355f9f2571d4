/*
 * system.h - calls of Linux, and what does the same where there are none, as on Darwin
 *
 * Each is chosen by what configure has found, so both ways can be tried on Linux:
 * ac_cv_func_pipe2=no ./configure.
 */
#ifndef KH_BASE_SYSTEM_H
#define KH_BASE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef HAVE_SYS_RANDOM_H
#include <sys/random.h>
#endif

#ifndef HAVE_STRUCT_STAT_ST_MTIM
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

/* Both ends are closed in programs that are started. 0, or -1 with errno. */
static inline int kh_system_pipe(int end[2])
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

/* Fills at most 256 bytes. 0, or -1 with errno. */
static inline int kh_system_random(void *p, size_t n)
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

/* A file without a name: in memory, or else in TMPDIR. A descriptor, or -1 with errno. */
static inline int kh_system_memory_file(void)
{
#ifdef HAVE_MEMFD_CREATE
	return memfd_create("kmerhash", MFD_CLOEXEC);
#else
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof path, "%s/kmerhash.XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	unlink(path);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
#endif
}

#endif
