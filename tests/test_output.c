/* test_output.c - files that appear only when complete: commit, abandon, in place, signals */
#define TEST_MAIN
#include "output_harness.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "io/temporary.h"

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

int main(void) { return test_run(setup, teardown); }
