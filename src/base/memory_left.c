#include <config.h>
#include "base/memory_left.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"

/* Version 1 writes "no limit" as a number near 2^63. */
#define NO_LIMIT (UINT64_C(1) << 60)

/* --- files of numbers ------------------------------------------------------------- */
/* The first number in a file; false if there is none ("max", or no file). */
static bool read_number(const char *folder, const char *name, uint64_t *x)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return false;
	f = fopen(path, "r");
	ok = f && fscanf(f, "%" SCNu64, x) == 1;
	if (f)
		fclose(f);
	return ok;
}

/* The number behind a word at the start of a line; 0 if there is none. */
static uint64_t find_number(const char *folder, const char *name, const char *word)
{
	char path[PATH_MAX], line[256];
	const size_t n = strlen(word);
	uint64_t x = 0;
	FILE *f;

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return 0;
	f = fopen(path, "r");
	while (f && x == 0 && fgets(line, sizeof line, f))
		if (strncmp(line, word, n) == 0 && strchr(" :\t", line[n]) && line[n])
			sscanf(line + n + 1, "%" SCNu64, &x);
	if (f)
		fclose(f);
	return x;
}

static void lower(kh_memory_left *left, uint64_t bytes, const char *limit)
{
	if (bytes < left->bytes)
		*left = (kh_memory_left) { .bytes = bytes, .limit = limit };
}

/* --- control groups --------------------------------------------------------------- */
/* The names of the files of one version of control groups. */
struct version {
	const char *limit[2];           /* the smallest of these counts */
	const char *usage;
	const char *droppable[2];       /* pages of files, in memory.stat */
};

static const struct version versions[] = {
	[1] = {
		.limit = { "memory.limit_in_bytes", NULL },
		.usage = "memory.usage_in_bytes",
		.droppable = { "total_inactive_file", "total_active_file" },
	},
	/* Above memory.high the kernel slows a group down until it gives memory back. */
	[2] = {
		.limit = { "memory.max", "memory.high" },
		.usage = "memory.current",
		.droppable = { "inactive_file", "active_file" },
	},
};

static void look_at_group(const char *folder, int version, void *arg)
{
	const struct version *v = &versions[version];
	uint64_t limit = NO_LIMIT, used = 0, droppable = 0, x;

	for (int i = 0; i < 2; i++)
		if (v->limit[i] && read_number(folder, v->limit[i], &x) && x < limit)
			limit = x;
	if (limit == NO_LIMIT || !read_number(folder, v->usage, &used))
		return;
	for (int i = 0; i < 2; i++)
		droppable += find_number(folder, "memory.stat", v->droppable[i]);
	used -= droppable < used ? droppable : used;
	lower(arg, limit > used ? limit - used : 0, "in its control group");
}

/* --- all together ----------------------------------------------------------------- */
kh_memory_left kh_memory_left_of(const char *root)
{
	kh_memory_left left = { .bytes = UINT64_MAX, .limit = "without a known limit" };
	char folder[PATH_MAX];
	uint64_t kib = 0;

	if (snprintf(folder, sizeof folder, "%s/proc", root) < (int)sizeof folder)
		kib = find_number(folder, "meminfo", "MemAvailable");
	if (kib > 0)
		lower(&left, kib * 1024, "on this host");
	kh_cgroups(root, "memory", look_at_group, &left);
	return left;
}

uint64_t kh_address_space_left(void)
{
	struct rlimit limit;
	uint64_t pages = 0, used;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	read_number("/proc/self", "statm", &pages);
	used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

/* Bytes of the stack that the C library gives a thread. */
static uint64_t stack_size(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_C(1) << 21;
	return limit.rlim_cur;
}

kh_memory_left kh_memory_left_now(unsigned threads)
{
	kh_memory_left left = kh_memory_left_of("");
	const uint64_t stacks = threads * stack_size();
	uint64_t space = kh_address_space_left();

	if (space != UINT64_MAX)
		space -= stacks < space ? stacks : space;
	lower(&left, space, "of its address space (ulimit -v)");
	return left;
}
