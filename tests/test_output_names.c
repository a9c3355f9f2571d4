/* test_output_names.c - the names of outputs: those that a killed run has left, links, and
 * pipes that do not block */
#define TEST_MAIN
#include "output_harness.h"

#include <errno.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/wait.h>
#include "io/temporary.h"

/* A file that a killed run has left is removed if no process has locked it and its name is
 * right. */
TEST(test_stale)
{
	static const char *const other[] = {
		".b.txt.0123456789abcdef.tmp", ".a.txt.0123456789abcdex.tmp", ".a.txt..tmp",
		".a.txt.0123456789abcdef.tmpx", "a.txt.0123456789abcdef.tmp", ".a.txt.2024.tmp",
		".a.txt.0123456789abcdef0.tmp"
	};
	enum { N = sizeof other / sizeof *other };

	for (int i = 0; i < N; i++)
		write_text(other[i], "");
	write_text(".a.txt.0000000000000001.tmp", "left");
	write_text(".a.txt.fedcba9876543210.tmp", "left");
	write_text(".a.txt.0000000000000077.tmp", "in use");
	int fd = open(".a.txt.0000000000000077.tmp", O_RDWR);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	kh_out *o = open_out("a.txt");
	assert_false(there(".a.txt.0000000000000001.tmp"));
	assert_false(there(".a.txt.fedcba9876543210.tmp"));
	assert_true(there(".a.txt.0000000000000077.tmp"));
	for (int i = 0; i < N; i++) {
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

/* The folder is listed once for many outputs: what was in it then is removed all the same. */
TEST(test_stale_once)
{
	assert_int_equal(mkdir("elsewhere", 0777), 0);
	write_text(".a.txt.0000000000000001.tmp", "left");
	write_text(".b.txt.0000000000000002.tmp", "left");
	write_text("elsewhere/.a.txt.0000000000000003.tmp", "left");
	kh_temporary_list(".");
	write_text(".b.txt.0000000000000004.tmp", "made since");
	kh_out *a = open_out("a.txt"), *b = open_out("b.txt"), *c = open_out("elsewhere/a.txt");
	assert_false(there(".a.txt.0000000000000001.tmp"));
	assert_false(there(".b.txt.0000000000000002.tmp"));
	assert_false(there("elsewhere/.a.txt.0000000000000003.tmp"));
	assert_true(there(".b.txt.0000000000000004.tmp"));
	kh_temporary_unlist();
	kh_out_close(b);
	b = open_out("b.txt");
	assert_false(there(".b.txt.0000000000000004.tmp"));
	kh_out_close(a);
	kh_out_close(b);
	kh_out_close(c);
	assert_int_equal(rmdir("elsewhere"), 0);
	assert_int_equal(entries(), 0);
}

/* In a folder that all can write to, a link of another user is not followed. */
TEST(test_planted)
{
	kh_err err = { 0, "" };
	kh_out *o = NULL;

	if (geteuid() != 0)
		return;                 /* nobody else can make a link of another user */
	assert_int_equal(mkdir("shared", 0777), 0);
	assert_int_equal(chmod("shared", 01777), 0);
	write_text("mine.txt", "mine");
	assert_int_equal(symlink("../mine.txt", "shared/a.txt"), 0);
	assert_int_equal(lchown("shared/a.txt", 12345, 12345), 0);
	assert_int_equal(kh_out_open(&o, "shared/a.txt", &err), KH_EIO);
	assert_non_null(strstr(err.msg, "a link of another user"));
	assert_int_equal(chmod("shared", 0777), 0);     /* as open(2) has it, in no other folder */
	kh_out_close(open_out("shared/a.txt"));
	assert_int_equal(chmod("shared", 01777), 0);
	assert_int_equal(lchown("shared/a.txt", 0, 0), 0);
	kh_out_close(open_out("shared/a.txt"));
	is_text("mine.txt", "mine");
	unlink("shared/a.txt");
	unlink("mine.txt");
	rmdir("shared");
	assert_int_equal(entries(), 0);
}

/* Names up to the longest that a folder can have; one byte more is reported at once. */
TEST(test_long_names)
{
	char name[NAME_MAX + 2];
	kh_out *o = NULL;
	kh_err err = { 0, "" };

	for (int n = NAME_MAX; n > NAME_MAX - 30; n--) {
		memset(name, 'x', sizeof name);
		name[n] = 0;
		write_text(".stale.tmp", "");
		commit(open_out(name));
		assert_true(there(name));
		assert_int_equal(entries(), 2);
		unlink(name);
	}
	unlink(".stale.tmp");
	memset(name, 'x', sizeof name);
	name[NAME_MAX + 1] = 0;
	assert_int_equal(kh_out_open(&o, name, &err), KH_EIO);
	assert_non_null(strstr(err.msg, strerror(ENAMETOOLONG)));
	assert_int_equal(kh_out_open(&o, "", &err), KH_EUSAGE);
	assert_int_equal(entries(), 0);
}

/* Writing waits for a pipe that does not block. */
TEST(test_no_block)
{
	enum { N = 1 << 20 };
	char *text = calloc(1, N), name[32];
	int fd[2];
	size_t got = 0;

	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	snprintf(name, sizeof name, "/dev/fd/%d", fd[1]);
	if (fork() == 0) {
		kh_out *o = open_out(name);

		close(fd[0]);
		_exit(kh_out_write(o, text, N, NULL) != 0);
	}
	close(fd[1]);
	for (ssize_t n = 1; n != 0; got += n > 0 ? (size_t)n : 0) {
		n = read(fd[0], text, 1000);
		if (n < 0)
			usleep(1000);
	}
	assert_int_equal(got, N);
	close(fd[0]);
	wait(NULL);
	free(text);
}

int main(void) { return test_run(setup, teardown); }
