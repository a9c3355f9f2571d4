/* test_output.c - files that appear only when complete: commit, abandon, in place, signals; their
 * names: those that a killed run has left, links, and pipes that do not block */
#define TEST_MAIN
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "io/output.h"
#include "io/temporary.h"

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

TEST(test_commit)
{
	kh_out *o = open_out("a.txt");

	assert_true(kh_out_whole(o));
	put(o, "0123");
	put(o, "4567");
	OK(kh_out_pwrite(o, "xy", 2, 3, err));
	OK(kh_out_sync(o, err));
	assert_false(there("a.txt"));
	assert_int_equal(entries(), 1);                 /* the temporary file */
	commit(o);
	is_text("a.txt", "012xy567");
	assert_int_equal(entries(), 1);
	unlink("a.txt");
}

/* All outputs get their names or none: if one fails, the file that had the name of another before
 * has it again. */
TEST(test_together)
{
	kh_err err = { 0, "" };

	write_text("a.txt", "old");
	kh_out *o[] = { open_out("a.txt"), NULL, open_out("b.txt"), open_out("c.txt") };
	put(o[0], "new");
	put(o[2], "new");
	assert_int_equal(mkdir("c.txt", 0700), 0);      /* nothing can be renamed to it */
	assert_int_equal(kh_out_commit(o, 4, &err), KH_EIO);
	assert_non_null(strstr(err.msg, "c.txt: rename failed: "));
	for (int i = 0; i < 4; i++)
		kh_out_close(o[i]);
	is_text("a.txt", "old");
	assert_false(there("b.txt"));
	assert_int_equal(entries(), 2);
	rmdir("c.txt");
	kh_out *p[] = { open_out("a.txt"), open_out("b.txt") };
	put(p[0], "new");
	assert_int_equal(kh_out_commit(p, 2, &err), 0);
	kh_out_close(p[0]);
	kh_out_close(p[1]);
	is_text("a.txt", "new");
	is_text("b.txt", "");
	assert_int_equal(entries(), 2);
	unlink("a.txt");
	unlink("b.txt");
}

/* A handler finds the temporary files of any number of outputs. */
TEST(test_many)
{
	enum { MANY = 300 };
	static kh_out *o[MANY];
	char name[32];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++) {
			snprintf(name, sizeof name, "%d.txt", i);
			o[i] = open_out(name);
		}
		assert_int_equal(entries(), MANY);
		if (round)
			kh_temporary_remove_all();
		for (int i = 0; i < MANY; i++)
			kh_out_close(o[i]);
		assert_int_equal(entries(), 0);
	}
	for (int i = 0; i < MANY; i++)
		o[i] = open_out("a.txt");
	kh_temporary_remove_all();
	assert_int_equal(entries(), 0);
	for (int i = 0; i < MANY; i++)
		kh_out_close(o[i]);
}

/* A thread that has given its names does not let the signal through while another one gives its. */
static sem_t arrived, go_on;
static atomic_bool hold;
static volatile sig_atomic_t signals;

/* In place of the C library's: one call waits. */
int renameat(int a, const char *from, int b, const char *to)
{
	if (atomic_exchange(&hold, false)) {
		sem_post(&arrived);
		while (sem_wait(&go_on) != 0)
			;
	}
	return (int)syscall(SYS_renameat2, a, from, b, to, 0);
}

static void *commit_one(void *o)
{
	commit(o);
	return NULL;
}

static kh_out *both[2];

static void *commit_both(void *arg)
{
	(void)arg;
	OK(kh_out_commit(both, 2, err));
	kh_out_close(both[0]);
	kh_out_close(both[1]);
	return NULL;
}

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

TEST(test_signal)
{
	kh_out *a = open_out("a.txt"), *b = open_out("b.txt");
	const struct sigaction sa = { .sa_handler = count_signal };
	pthread_t thread;
	int status;

	sigaction(SIGUSR1, &sa, NULL);
	sem_init(&arrived, 0, 0);
	sem_init(&go_on, 0, 0);
	hold = true;
	assert_int_equal(pthread_create(&thread, NULL, commit_one, a), 0);
	sem_wait(&arrived);
	commit(b);
	assert_false(kh_out_interrupt(SIGUSR1));
	assert_int_equal(signals, 0);
	sem_post(&go_on);
	pthread_join(thread, NULL);
	assert_int_equal(signals, 1);
	assert_true(there("a.txt") && there("b.txt"));
	if (fork() == 0)                /* it tells the process to end */
		_exit(kh_out_interrupt(SIGUSR1) ? 0 : 1);
	assert_true(wait(&status) > 0 && status == 0);
	unlink("a.txt");
	unlink("b.txt");
	assert_int_equal(entries(), 0);
}

static void end_at_signal(int sig)
{
	if (kh_out_interrupt(sig))
		_exit(0);
}

static void *open_many(void *arg)
{
	(void)arg;
	for (;;) {
		kh_out *o = NULL;
		kh_err err = { 0, "" };

		if (kh_out_open(&o, "many.txt", &err) == KH_OK)
			kh_out_close(o);
	}
	return NULL;
}

/* A signal comes while other threads open outputs: no temporary file is left. */
TEST(test_signal_at_open)
{
	for (int i = 0; i < 300; i++) {
		const pid_t child = fork();
		int status;

		if (child == 0) {
			pthread_t thread[3];

			signal(SIGTERM, end_at_signal);
			for (int k = 0; k < 3; k++)
				pthread_create(&thread[k], NULL, open_many, NULL);
			for (;;)
				pause();
		}
		usleep((useconds_t)(2000 + 37 * i % 1000));
		kill(child, SIGTERM);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(entries(), 0);
	}
}

/* The last of several outputs stands only beside those of its own run: the file that has its name
 * loses it before any other, and has it again if the run fails. */
TEST(test_last)
{
	kh_err err = { 0, "" };
	pthread_t thread;

	write_text("a.txt", "old");
	write_text("b.txt", "old");
	both[0] = open_out("a.txt");
	both[1] = open_out("b.txt");
	put(both[0], "new");
	put(both[1], "new");
	hold = true;
	assert_int_equal(pthread_create(&thread, NULL, commit_both, NULL), 0);
	sem_wait(&arrived);
	is_text("a.txt", "old");
	assert_false(there("b.txt"));
	sem_post(&go_on);
	pthread_join(thread, NULL);
	is_text("a.txt", "new");
	is_text("b.txt", "new");
	assert_int_equal(entries(), 2);
	kh_out *o[] = { open_out("a.txt"), open_out("c.txt"), open_out("b.txt") };
	assert_int_equal(mkdir("c.txt", 0700), 0);
	assert_int_equal(kh_out_commit(o, 3, &err), KH_EIO);
	for (int i = 0; i < 3; i++)
		kh_out_close(o[i]);
	is_text("a.txt", "new");
	is_text("b.txt", "new");
	rmdir("c.txt");
	assert_int_equal(entries(), 2);
	unlink("a.txt");
	unlink("b.txt");
}

/* Who may read and write a file stays when it is replaced. */
TEST(test_rights)
{
	static const mode_t mode[] = { 0600, 0640, 0400, 0664, 0755 };
	struct stat st;

	for (size_t i = 0; i < sizeof mode / sizeof *mode; i++) {
		write_text("a.txt", "old");
		assert_int_equal(chmod("a.txt", mode[i]), 0);
		if (geteuid() == 0)
			assert_int_equal(chown("a.txt", 12345, 12346), 0);
		kh_out *o = open_out("a.txt");
		put(o, "new");
		assert_int_equal(stat(kh_out_file(o), &st), 0);
		assert_int_equal(st.st_mode & 0077, 0);
		commit(o);
		is_text("a.txt", "new");
		assert_int_equal(stat("a.txt", &st), 0);
		assert_int_equal(st.st_mode & 07777, mode[i]);
		assert_int_equal(st.st_uid, geteuid() ? geteuid() : 12345);
		assert_int_equal(st.st_gid, geteuid() ? getegid() : 12346);
		unlink("a.txt");
	}
	const mode_t mask = umask(022);
	commit(open_out("b.txt"));
	umask(mask);
	assert_int_equal(stat("b.txt", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	unlink("b.txt");
}

/* --- names -------------------------------------------------------------------------- */
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
