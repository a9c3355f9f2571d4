/* system.h - times of files as numbers */
#ifndef KH_BASE_SYSTEM_H
#define KH_BASE_SYSTEM_H

#include <stdint.h>
#include <time.h>

static inline uint64_t kh_nanoseconds(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
