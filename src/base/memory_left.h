/*
 * memory_left.h - how much memory this process may still take, and which limit that comes from
 *
 * It is the smallest of three: the free memory of the host, what the control groups of the
 * process (versions 1 and 2) still grant it, and what is left of its address space. Pages of
 * files that the kernel can drop count as free, so a mapped database needs address space only.
 */
#ifndef KH_BASE_MEMORY_LEFT_H
#define KH_BASE_MEMORY_LEFT_H

#include <stdint.h>

typedef struct kh_memory_left {
	uint64_t bytes;                 /* UINT64_MAX: nothing is known */
	const char *limit;              /* where the limit is, for messages: "on this host" */
} kh_memory_left;

/* `threads` more will be started: the address space needs room for their stacks. */
kh_memory_left kh_memory_left_now(unsigned threads);
/* The address space alone (ulimit -v). */
uint64_t kh_address_space_left(void);
/* The same by the files of /proc and /sys below the folder `root`, which is "" but in tests. */
kh_memory_left kh_memory_left_of(const char *root);

#endif
