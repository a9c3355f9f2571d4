/* cpus.c - how many threads may run at once */
#include <config.h>
#include "base/threads.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>

#include "base/cgroup.h"

static unsigned rounded_up(unsigned long long quota, unsigned long long period)
{
	const unsigned long long n = period > 0 ? quota / period + (quota % period > 0) : 0;

	return n < UINT_MAX ? (unsigned)n : UINT_MAX;
}

/* Reads one number, or two, of a file; the count of those that there are. */
static int read_numbers(const char *folder, const char *name, long long *a, long long *b)
{
	char path[PATH_MAX];
	FILE *f;
	int n;

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return 0;
	f = fopen(path, "r");
	n = f ? fscanf(f, "%lld %lld", a, b) : 0;
	if (f)
		fclose(f);
	return n;
}

/* Version 2: "QUOTA PERIOD", or "max PERIOD"; version 1: two files, -1 is no quota. */
static void look_at_group(const char *folder, int version, void *arg)
{
	unsigned *least = arg, n = 0;
	long long quota = 0, period = 0, none;

	if (version == 2 && read_numbers(folder, "cpu.max", &quota, &period) < 2)
		return;
	if (version == 1 && (read_numbers(folder, "cpu.cfs_quota_us", &quota, &none) < 1 ||
			     read_numbers(folder, "cpu.cfs_period_us", &period, &none) < 1))
		return;
	if (quota > 0 && period > 0)
		n = rounded_up((unsigned long long)quota, (unsigned long long)period);
	if (n > 0 && n < *least)
		*least = n;
}

unsigned kh_cpu_quota(const char *root)
{
	unsigned least = UINT_MAX;

	kh_cgroups(root, "cpu", look_at_group, &least);
	return least;
}

unsigned kh_cpus(void)
{
	unsigned n = 1, q = kh_cpu_quota("");
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
	if (q < n)
		n = q;
	return n > 0 ? n : 1;
}
