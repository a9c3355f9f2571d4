/* output_harness.h - outputs in a folder of a test's own, and what is in their files */
#ifndef KH_TESTS_OUTPUT_HARNESS_H
#define KH_TESTS_OUTPUT_HARNESS_H

#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "io/output.h"

static char folder[] = "output-test.XXXXXX";

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void is_text(const char *path, const char *text)
{
	char got[256] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	got[fread(got, 1, sizeof got - 1, f)] = 0;
	fclose(f);
	assert_string_equal(got, text);
}

static bool there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Entries of the folder, "." and ".." not counted. */
static int entries(void)
{
	DIR *d = opendir(".");
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static kh_out *open_out(const char *path)
{
	kh_out *o = NULL;

	OK(kh_out_open(&o, path, err));
	return o;
}

static void put(kh_out *o, const char *text) { OK(kh_out_write(o, text, strlen(text), err)); }

static void commit(kh_out *o)
{
	OK(kh_out_commit(&o, 1, err));
	kh_out_close(o);
}

FIXTURE(setup) { return mkdtemp(folder) == NULL || chdir(folder) != 0; }

FIXTURE(teardown) { return chdir("..") != 0 || rmdir(folder) != 0; }

#endif
