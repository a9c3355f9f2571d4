/* system.h - times of files as numbers, and reads that are whole */
#ifndef KH_BASE_SYSTEM_H
#define KH_BASE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

static inline uint64_t kh_nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* All n bytes from byte `at` of a file on, or those that there are; -1, with errno. */
ssize_t kh_read_at(int fd, void *to, size_t n, uint64_t at);

#endif
