/* host.c - whether spilled pairs fit into the host's memory and on its disk (plan.h) */
#include <config.h>
#include "backend/plan.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include "base/memory_left.h"

/* Bytes that can still be written beside this file, 0 if that cannot be told; *memory: the file
 * system is one in memory. */
static uint64_t disk_left(const char *beside, bool *memory)
{
	const char *slash = strrchr(beside, '/');
	char folder[4096];
	struct statfs s;
	int n = snprintf(folder, sizeof folder, "%.*s",
			 slash ? (int)(slash - beside + 1) : 2, slash ? beside : "./");

	*memory = false;
	if (n < 0 || (size_t)n >= sizeof folder || statfs(folder, &s))
		return 0;
	*memory = s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC;
	return (uint64_t)s.f_bavail * (uint64_t)s.f_bsize;
}

kh_host_plan kh_host_plan_of(uint64_t memory, const char *beside)
{
	const uint64_t there = kh_memory_left_now(0).bytes;
	kh_host_plan h = { .memory = memory, .beside = beside };
	bool in_memory;

	h.disk = disk_left(beside, &in_memory);
	if (in_memory) {                /* a file there takes up the same memory */
		const uint64_t rest = there > memory ? there - memory : 0;

		h.disk = h.disk < rest ? h.disk : rest;
	}
	return h;
}

int kh_host_plan_check(const kh_host_plan *h, uint64_t bytes, const char *what, kh_err *err)
{
	if (h->memory == 0 || bytes - bytes / 4 <= h->memory + h->disk)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM,
		       "about %.1f MB of %s have to be kept, but there are %.1f MB of memory "
		       "for them and %.1f MB of disk beside %s", (double)bytes * 1e-6, what,
		       (double)h->memory * 1e-6, (double)h->disk * 1e-6, h->beside);
}
