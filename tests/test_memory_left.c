/* test_memory_left.c - what is left of memory, by made-up files of /proc and of control groups */
#define TEST_MAIN
#include "test.h"

#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/memory_left.h"
#include "base/threads.h"

static char root[] = "/tmp/kh-memory.XXXXXX";

/* Makes the folders above it, too. */
static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *p = path + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = 0;
		mkdir(path, 0777);
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

FIXTURE(start)
{
	strcpy(root, "/tmp/kh-memory.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/proc/meminfo", "MemTotal:  16000 kB\nMemFree:   100 kB\nMemAvailable:   8000 kB\n");
	return 0;
}

FIXTURE(end)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

static void expect_left(uint64_t bytes, const char *limit)
{
	const kh_memory_left left = kh_memory_left_of(root);

	assert_int_equal(left.bytes, bytes);
	assert_string_equal(left.limit, limit);
}

TEST(test_host)
{
	expect_left(8000 * 1024, "on this host");
	put("/proc/self/cgroup", "0::/\n");     /* the root group has no limits */
	expect_left(8000 * 1024, "on this host");
	put("/proc/meminfo", "MemTotal:  16000 kB\n");
	expect_left(UINT64_MAX, "without a known limit");
}

TEST(test_version_2)
{
	put("/proc/self/cgroup", "0::/job/step\n");
	put("/sys/fs/cgroup/job/step/memory.max", "max\n");
	put("/sys/fs/cgroup/job/step/memory.current", "1000\n");
	expect_left(8000 * 1024, "on this host");
	/* the group above limits this one */
	put("/sys/fs/cgroup/job/memory.max", "5000000\n");
	put("/sys/fs/cgroup/job/memory.current", "3000000\n");
	expect_left(2000000, "in its control group");
	/* pages of files can be dropped */
	put("/sys/fs/cgroup/job/memory.stat",
	    "anon 1\nfile 900000\ninactive_file 400000\nactive_file 100000\n");
	expect_left(2500000, "in its control group");
	put("/sys/fs/cgroup/job/step/memory.high", "800000\n");
	expect_left(799000, "in its control group");
	put("/sys/fs/cgroup/job/step/memory.current", "900000\n");
	expect_left(0, "in its control group");
}

/* The path is that of the host; in the container its group is the top. */
TEST(test_container)
{
	put("/proc/self/cgroup", "0::/system.slice/docker-1234.scope\n");
	put("/sys/fs/cgroup/memory.max", "4000000\n");
	put("/sys/fs/cgroup/memory.current", "1000000\n");
	expect_left(3000000, "in its control group");
}

TEST(test_version_1)
{
	put("/proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/job\n0::/\n");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000000\n");
	expect_left(8000 * 1024, "on this host");
	put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "6000000\n");
	put("/sys/fs/cgroup/memory/job/memory.stat", "cache 5\ntotal_inactive_file 200000\n");
	expect_left(5200000, "in its control group");
}

/* The least quota of the group and those above it, rounded up to whole processors. */
TEST(test_cpus)
{
	assert_int_equal(kh_cpu_quota(root), UINT_MAX);
	put("/proc/self/cgroup", "0::/slice/job\n");
	put("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
	assert_int_equal(kh_cpu_quota(root), UINT_MAX);
	put("/sys/fs/cgroup/slice/cpu.max", "250000 100000\n");
	assert_int_equal(kh_cpu_quota(root), 3);
	put("/sys/fs/cgroup/slice/job/cpu.max", "150000 100000\n");
	assert_int_equal(kh_cpu_quota(root), 2);
	put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	assert_int_equal(kh_cpu_quota(root), 1);
}

TEST(test_cpus_version_1)
{
	static const char *const mount[] = { "cpu", "cpu,cpuacct" }, top[] = "/sys/fs/cgroup";
	char name[96];

	put("/proc/self/cgroup", "9:cpuset:/x\n8:memory:/x\n4:cpu,cpuacct:/docker/a\n0::/\n");
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s/%s/docker/a/cpu.cfs_quota_us", top, mount[i]);
		put(name, "-1\n");
		assert_int_equal(kh_cpu_quota(root), i ? 4 : UINT_MAX);
		snprintf(name, sizeof name, "%s/%s/docker/a/cpu.cfs_period_us", top, mount[i]);
		put(name, "100000\n");
		assert_int_equal(kh_cpu_quota(root), i ? 4 : UINT_MAX);
		snprintf(name, sizeof name, "%s/%s/docker/a/cpu.cfs_quota_us", top, mount[i]);
		put(name, i ? "300000\n" : "400000\n");
		assert_int_equal(kh_cpu_quota(root), 4 - i);
	}
	/* of a container the path is that of the host, and its group is what is mounted */
	put("/proc/self/cgroup", "4:cpu,cpuacct:/kubepods/pod1/b\n");
	assert_int_equal(kh_cpu_quota(root), UINT_MAX);
	put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
	put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	assert_int_equal(kh_cpu_quota(root), 2);
}

/* Last: it lowers the limit of this process for good. */
TEST(test_address_space)
{
	struct rlimit limit = { .rlim_cur = UINT64_C(1) << 40, .rlim_max = RLIM_INFINITY };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_int_equal(kh_address_space_left(), UINT64_MAX);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_true(kh_address_space_left() < UINT64_C(1) << 40);
	assert_true(kh_address_space_left() > UINT64_C(1) << 39);
	limit.rlim_cur = UINT64_C(1) << 30;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	const kh_memory_left left = kh_memory_left_now(0);
	assert_true(left.bytes < UINT64_C(1) << 30);
	assert_true(kh_memory_left_now(4).bytes < left.bytes);
#else
	(void)limit;
#endif
}

int main(void) { return test_run_each(start, end); }
