/* test_output.c - files that appear only when complete: commit, abandon, in place, stale */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output.h"

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
	kh_err err = { 0, "" };

	if (kh_out_open(&o, path, &err))
		fail_msg("%s", err.msg);
	return o;
}

static void put(kh_out *o, const char *text)
{
	kh_err err = { 0, "" };

	assert_int_equal(kh_out_write(o, text, strlen(text), &err), 0);
}

static void commit(kh_out *o)
{
	kh_err err = { 0, "" };

	if (kh_out_commit(o, &err))
		fail_msg("%s", err.msg);
	kh_out_close(o);
}

static void test_commit(void **state)
{
	kh_out *o = open_out("a.txt");
	kh_err err = { 0, "" };

	(void)state;
	assert_true(kh_out_whole(o));
	put(o, "0123");
	put(o, "4567");
	assert_int_equal(kh_out_pwrite(o, "xy", 2, 3, &err), 0);
	assert_int_equal(kh_out_sync(o, &err), 0);
	assert_false(there("a.txt"));
	assert_int_equal(entries(), 1);                 /* the temporary file */
	commit(o);
	is_text("a.txt", "012xy567");
	assert_int_equal(entries(), 1);
	unlink("a.txt");
}

/* What was there stays until the new file is complete. */
static void test_replace(void **state)
{
	(void)state;
	write_text("a.txt", "old");
	kh_out *o = open_out("./a.txt");
	put(o, "new");
	is_text("a.txt", "old");
	kh_out_close(o);                                /* abandoned */
	is_text("a.txt", "old");
	assert_int_equal(entries(), 1);
	o = open_out("a.txt");
	put(o, "newer");
	commit(o);
	is_text("a.txt", "newer");
	assert_int_equal(entries(), 1);
	unlink("a.txt");
	kh_out_close(NULL);
}

static void test_empty(void **state)
{
	(void)state;
	commit(open_out("empty"));
	is_text("empty", "");
	unlink("empty");
}

static void test_in_place(void **state)
{
	struct stat st;

	(void)state;
	kh_out *o = open_out("/dev/null");
	assert_false(kh_out_whole(o));
	put(o, "gone");
	commit(o);
	assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));

	write_text("target", "something long");         /* a link is followed, not replaced */
	assert_int_equal(symlink("target", "link"), 0);
	o = open_out("link");
	put(o, "new");
	commit(o);
	is_text("target", "new");
	assert_true(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));

	assert_int_equal(mkfifo("fifo", 0600), 0);
	int fd = open("fifo", O_RDONLY | O_NONBLOCK);
	char got[8] = "";
	o = open_out("fifo");
	put(o, "pipe");
	commit(o);
	assert_int_equal(read(fd, got, 8), 4);
	assert_string_equal(got, "pipe");
	assert_true(lstat("fifo", &st) == 0 && S_ISFIFO(st.st_mode));
	close(fd);
	assert_int_equal(entries(), 3);
	unlink("fifo");
	unlink("link");
	unlink("target");
}

static void test_refused(void **state)
{
	kh_out *o = NULL;
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_out_open(&o, ".", &err), KH_EIO);
	assert_non_null(strstr(err.msg, "is a folder"));
	assert_int_equal(kh_out_open(&o, "no-such/x", &err), KH_EIO);
	assert_non_null(strstr(err.msg, "no-such/x"));
	assert_null(o);
	assert_int_equal(entries(), 0);
}

static void test_full(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	if (!there("/dev/full"))
		return;
	kh_out *o = open_out("/dev/full");
	assert_int_equal(kh_out_write(o, "x", 1, &err), KH_EIO);
	assert_non_null(strstr(err.msg, "/dev/full: write failed: "));
	assert_non_null(strstr(err.msg, strerror(ENOSPC)));
	kh_out_close(o);
}

/* Left by a killed run: removed, if nobody holds it, and if it is ours by its name. */
static void test_stale(void **state)
{
	static const char *const other[] = { ".b.txt.123.tmp", ".a.txt.12x.tmp", ".a.txt..tmp", ".a.txt.5.tmpx",
					     "a.txt.123.tmp" };

	(void)state;
	for (int i = 0; i < 5; i++)
		write_text(other[i], "");
	write_text(".a.txt.1.tmp", "left");
	write_text(".a.txt.4000000000.tmp", "left");
	write_text(".a.txt.77.tmp", "in use");
	int fd = open(".a.txt.77.tmp", O_RDWR);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	kh_out *o = open_out("a.txt");
	assert_false(there(".a.txt.1.tmp"));
	assert_false(there(".a.txt.4000000000.tmp"));
	assert_true(there(".a.txt.77.tmp"));
	for (int i = 0; i < 5; i++) {
		assert_true(there(other[i]));
		unlink(other[i]);
	}
	close(fd);
	put(o, "x");
	commit(o);
	assert_int_equal(entries(), 2);
	commit(open_out("a.txt"));
	assert_int_equal(entries(), 1);
	unlink("a.txt");
}

static void test_same_file(void **state)
{
	(void)state;
	write_text("one", "");
	write_text("two", "");
	assert_int_equal(link("one", "hard"), 0);
	assert_true(kh_same_file("one", "./one"));
	assert_true(kh_same_file("one", "hard"));
	assert_false(kh_same_file("one", "two"));
	assert_false(kh_same_file("one", "none"));
	assert_false(kh_same_file("none", "none"));
	unlink("one");
	unlink("two");
	unlink("hard");
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int teardown(void **state)
{
	(void)state;
	return chdir("..") != 0 || rmdir(folder) != 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commit), cmocka_unit_test(test_replace),
		cmocka_unit_test(test_empty), cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_full),
		cmocka_unit_test(test_stale), cmocka_unit_test(test_same_file),
	};

	test_seed();
	return cmocka_run_group_tests_name("output", tests, setup, teardown);
}
