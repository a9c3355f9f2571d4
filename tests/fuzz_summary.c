/*
 * fuzz_summary.c - any bytes as the summary of a sample that --resume finds
 *
 * The sample has two reads and two results, each an empty file in memory.  The bytes are its
 * summary, in which `@` stands for the version of the program, so that the stored inputs outlive
 * it.  What is taken for the summary of this very run must have all that makes it so: with any
 * member of it left out the sample is to be done.
 */
#include <config.h>

#include <sys/mman.h>
#include <unistd.h>

#include "cmd/record.h"
#include "fuzz.h"

enum { NAME = 40 };

/* What this run would write into its summary under "run"; XXH3 of no bytes. */
static const char this_run[] =
	"{'inputs': [{'path': '1.fq', 'mate': 1, 'size': 0, 'xxh3': '2d06800538d394c2'},"
	"            {'path': '2.fq', 'mate': 2, 'size': 0, 'xxh3': '2d06800538d394c2'}],"
	" 'parameters': {'confidence': 0.5, 'unique': [1, null, true], 'name': 'a'},"
	" 'database': {'path': 'db', 'checksum': '0123456789abcdef'}}";

static int summary = -1;
static json_t *record;
static kh_sheet_sample sample;

static int in_memory(char name[NAME])
{
	const int fd = memfd_create("fuzz", 0);

	REQUIRE(fd >= 0);
	snprintf(name, NAME, "/proc/self/fd/%d", fd);
	return fd;
}

static void prepare(void)
{
	static char name[3][NAME];
	char text[sizeof this_run];

	memcpy(text, this_run, sizeof text);
	for (char *p = text; (p = strchr(p, '\''));)
		*p = '"';
	record = json_loads(text, 0, NULL);
	REQUIRE(record);
	summary = in_memory(name[0]);
	in_memory(name[1]);
	in_memory(name[2]);
	sample.path[KH_RESULT_SUMMARY] = name[0];
	sample.path[0] = name[1];
	sample.path[1] = name[2];
}

static void put(const char *p, size_t n)
{
	REQUIRE(ftruncate(summary, 0) == 0);
	REQUIRE(pwrite(summary, p, n, 0) == (ssize_t)n);
}

static void put_with_version(const char *p, size_t n)
{
	static const char version[] = PACKAGE_VERSION;
	char *all = malloc(n * sizeof version + 1);
	size_t end = 0;

	REQUIRE(all);
	for (size_t i = 0; i < n; i++)
		if (p[i] == '@') {
			memcpy(all + end, version, sizeof version - 1);
			end += sizeof version - 1;
		} else {
			all[end++] = p[i];
		}
	put(all, end);
	free(all);
}

/* Of a summary: all of it, what it tells of its run, of the database and of the first result. */
enum part { ALL, RUN, DATABASE, RESULT };

static json_t *part_of(json_t *root, enum part part)
{
	json_t *run = json_object_get(root, "run");

	return part == ALL ? root : part == RUN ? run
	     : part == DATABASE ? json_object_get(run, "database")
				: json_array_get(json_object_get(run, "outputs"), 0);
}

static void is_not_done_without(const json_t *root, enum part part, const char *member)
{
	json_t *less = json_deep_copy(root);
	char *text;

	REQUIRE(less);
	REQUIRE(json_object_del(part_of(less, part), member) == 0);
	text = json_dumps(less, 0);
	REQUIRE(text);
	put(text, strlen(text));
	REQUIRE(!kh_record_same(&sample, record));
	free(text);
	json_decref(less);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root;

	if (!record)
		prepare();
	put_with_version((const char *)data, size);
	if (!kh_record_same(&sample, record))
		return 0;
	root = json_load_file(sample.path[KH_RESULT_SUMMARY], 0, NULL);
	REQUIRE(root);
	is_not_done_without(root, ALL, "version");
	is_not_done_without(root, ALL, "run");
	is_not_done_without(root, RUN, "inputs");
	is_not_done_without(root, RUN, "outputs");
	is_not_done_without(root, RUN, "parameters");
	is_not_done_without(root, RUN, "database");
	is_not_done_without(root, DATABASE, "checksum");
	is_not_done_without(root, RESULT, "size");
	is_not_done_without(root, RESULT, "xxh3");
	json_decref(root);
	return 0;
}
