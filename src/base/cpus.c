/* cpus.c - how many threads may run at once */
#include <config.h>
#include "base/threads.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* cpu.max of cgroup v2: "QUOTA PERIOD", or "max PERIOD". */
static unsigned cgroup_cpus(void)
{
	unsigned long long quota, period;
	unsigned n = 0;
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &quota, &period) == 2 && period > 0)
		n = (unsigned)((quota + period - 1) / period);
	fclose(f);
	return n;
}

unsigned kh_cpus(void)
{
	unsigned n = 1, q = cgroup_cpus();
#ifdef HAVE_SCHED_GETAFFINITY
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		n = (unsigned)CPU_COUNT(&set);
#else
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	n = online > 0 ? (unsigned)online : 1;
#endif
	if (q > 0 && q < n)
		n = q;
	return n > 0 ? n : 1;
}
