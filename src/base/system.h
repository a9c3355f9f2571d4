/*
 * system.h - calls of Linux, and what does the same where there are none, as on Darwin
 *
 * Each is chosen by what configure has found, so both ways can be tried on Linux:
 * ac_cv_func_pipe2=no ./configure.
 */
#ifndef KH_BASE_SYSTEM_H
#define KH_BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#if !defined HAVE_STRUCT_STAT_ST_MTIM && defined __APPLE__
#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#endif

static inline uint64_t kh_nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Both ends are closed in programs that are started. 0, or -1 with errno. */
int kh_system_pipe(int end[2]);
/* Fills at most 256 bytes. 0, or -1 with errno. */
int kh_system_random(void *p, size_t n);
/* Takes room for so many bytes of a file from `at` on, without making it longer. */
bool kh_system_reserve(int fd, uint64_t at, uint64_t bytes);

#endif
