/* test_output.c - files that appear only when complete: commit, abandon, in place, stale */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "io/output.h"
#include "io/temporary.h"
#include "io/paths.h"

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

	if (kh_out_commit(&o, 1, &err))
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

/* A file that a killed run has left is removed if no process has locked it and its name is
 * right. */
static void test_stale(void **state)
{
	static const char *const other[] = {
		".b.txt.0123456789abcdef.tmp", ".a.txt.0123456789abcdex.tmp", ".a.txt..tmp",
		".a.txt.0123456789abcdef.tmpx", "a.txt.0123456789abcdef.tmp", ".a.txt.2024.tmp",
		".a.txt.0123456789abcdef0.tmp"
	};
	enum { N = sizeof other / sizeof *other };

	(void)state;
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
static void test_stale_once(void **state)
{
	(void)state;
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

/* All outputs get their names or none: if one fails, the file that had the name of another before
 * has it again. */
static void test_together(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
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
static void test_many(void **state)
{
	enum { MANY = 300 };
	static kh_out *o[MANY];
	char name[32];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MANY; i++) {
			snprintf(name, sizeof name, "%d.txt", i);
			o[i] = open_out(name);
		}
		assert_int_equal(entries(), MANY);
		if (round)
			kh_out_remove_all();
		for (int i = 0; i < MANY; i++)
			kh_out_close(o[i]);
		assert_int_equal(entries(), 0);
	}
	for (int i = 0; i < MANY; i++)
		o[i] = open_out("a.txt");
	kh_out_remove_all();
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
	kh_err err = { 0, "" };

	(void)arg;
	assert_int_equal(kh_out_commit(both, 2, &err), 0);
	kh_out_close(both[0]);
	kh_out_close(both[1]);
	return NULL;
}

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

static void test_signal(void **state)
{
	kh_out *a = open_out("a.txt"), *b = open_out("b.txt");
	const struct sigaction sa = { .sa_handler = count_signal };
	pthread_t thread;

	(void)state;
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
	assert_true(kh_out_interrupt(SIGUSR1));
	unlink("a.txt");
	unlink("b.txt");
	assert_int_equal(entries(), 0);
}

/* The last of several outputs stands only beside those of its own run: the file that has its name
 * loses it before any other, and has it again if the run fails. */
static void test_last(void **state)
{
	kh_err err = { 0, "" };
	pthread_t thread;

	(void)state;
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
static void test_rights(void **state)
{
	static const mode_t mode[] = { 0600, 0640, 0400, 0664, 0755 };
	struct stat st;

	(void)state;
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

/* In a folder that all can write to, a link of another user is not followed. */
static void test_planted(void **state)
{
	kh_err err = { 0, "" };
	kh_out *o = NULL;

	(void)state;
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
static void test_long_names(void **state)
{
	char name[NAME_MAX + 2];
	kh_out *o = NULL;
	kh_err err = { 0, "" };

	(void)state;
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

/* Descriptors are written through, from where they stand. */
static void test_descriptors(void **state)
{
	char name[64];
	int fd = open("file", O_RDWR | O_CREAT, 0600);

	(void)state;
	assert_int_equal(write(fd, "before ", 7), 7);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, i ? "/proc/self/fd/%d" : "/dev/fd/%d", fd);
		kh_out *o = open_out(name);
		put(o, i ? "two " : "one ");
		commit(o);
	}
	assert_int_equal(write(fd, "behind", 6), 6);
	close(fd);
	is_text("file", "before one two behind");
	unlink("file");
}

/* Writing waits for a pipe that does not block. */
static void test_no_block(void **state)
{
	enum { N = 1 << 20 };
	char *text = calloc(1, N), name[32];
	int fd[2];
	size_t got = 0;

	(void)state;
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

/* --- names ------------------------------------------------------------------------ */
static int clash(const char *a, const char *b)
{
	kh_paths *p = NULL;
	kh_err err = { 0, "" };
	int rc = kh_paths_new(&p, &err);

	if (!rc)
		rc = kh_paths_output(p, a, &err);
	assert_int_equal(rc, 0);
	rc = kh_paths_output(p, b, &err);
	kh_paths_free(p);
	return rc;
}

static int reads(const char *out, const char *in)
{
	kh_paths *p = NULL;
	kh_err err = { 0, "" };
	int rc = kh_paths_new(&p, &err);

	if (!rc)
		rc = kh_paths_output(p, out, &err);
	assert_int_equal(rc, 0);
	rc = kh_paths_input(p, in, "an input", &err);
	kh_paths_free(p);
	return rc;
}

/* Each name is found among hundreds of outputs. */
static void among_many(void)
{
	static char name[300][8];
	kh_err err = { 0, "" };
	kh_paths *many = NULL;

	assert_int_equal(kh_paths_new(&many, &err), 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name[i], sizeof name[i], i % 2 ? "%d" : "no/%d", i);
		assert_int_equal(kh_paths_output(many, i == 7 ? "one" : i == 9 ? "none" : name[i],
						 &err), 0);
	}
	assert_int_equal(kh_paths_input(many, "hard", "an input", &err), KH_EUSAGE);
	assert_int_equal(kh_paths_output(many, "dangling", &err), KH_EUSAGE);
	assert_int_equal(kh_paths_output(many, "./11", &err), KH_EUSAGE);
	assert_int_equal(kh_paths_output(many, "no/12", &err), KH_EUSAGE);
	assert_int_equal(kh_paths_input(many, "two", "an input", &err), 0);
	kh_paths_free(many);
}

static void test_paths(void **state)
{
	char fd_name[32];

	(void)state;
	write_text("one", "1");
	write_text("two", "2");
	assert_int_equal(link("one", "hard"), 0);
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(symlink("none", "dangling"), 0);
	assert_int_equal(symlink("../dangling", "d/twice"), 0);
	assert_int_equal(symlink("one", "link"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	int fd = open("two", O_RDWR);
	snprintf(fd_name, sizeof fd_name, "/dev/fd/%d", fd);
	static const char *const same[][2] = {
		{ "one", "./one" }, { "one", "hard" }, { "link", "hard" }, { "none", "dangling" },
		{ "dangling", "d/twice" }, { "d/../none", "d/twice" }, { "none", "none" },
		{ "no/such", "no/such" },
	};
	static const char *const other[][2] = {
		{ "one", "two" }, { "one", "none" }, { "d/none", "none" },
		{ "/dev/null", "/dev/null" }, { "link", "dangling" },
	};
	for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
		assert_int_equal(clash(same[i][0], same[i][1]), KH_EUSAGE);
		assert_int_equal(clash(same[i][1], same[i][0]), KH_EUSAGE);
		assert_int_equal(reads(same[i][0], same[i][1]), KH_EUSAGE);
		assert_int_equal(reads(same[i][1], same[i][0]), KH_EUSAGE);
	}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		assert_int_equal(clash(other[i][0], other[i][1]), 0);
		assert_int_equal(reads(other[i][0], other[i][1]), 0);
	}
	among_many();
	assert_int_equal(reads(fd_name, "two"), KH_EUSAGE);
	assert_int_equal(reads("two", fd_name), KH_EUSAGE);
	assert_int_equal(reads("two", "loop"), KH_EIO);
	assert_true(kh_same_input("link", "hard"));
	assert_false(kh_same_input("link", "two"));
	close(fd);
	static const char *const made[] = { "one", "two", "hard", "dangling", "d/twice", "link",
					    "loop" };
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		unlink(made[i]);
	rmdir("d");
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
		cmocka_unit_test(test_stale), cmocka_unit_test(test_stale_once),
		cmocka_unit_test(test_together), cmocka_unit_test(test_many),
		cmocka_unit_test(test_signal), cmocka_unit_test(test_last),
		cmocka_unit_test(test_rights), cmocka_unit_test(test_planted),
		cmocka_unit_test(test_long_names), cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_no_block), cmocka_unit_test(test_paths),
	};

	test_seed();
	return cmocka_run_group_tests_name("output", tests, setup, teardown);
}
