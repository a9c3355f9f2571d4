/* test_threads.c - queues, events, threads and teams; the first error wins */
#define TEST_MAIN
#include "test.h"

#include <stdatomic.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/team.h"

enum { TURNS = 3000, PLACES = 7 };

struct work {
	kh_monitor *m;
	kh_queue *queue;
	atomic_uint next;
	char item[PLACES + 3];
};

static struct work w;

FIXTURE(setup)
{
	kh_err err;

	memset(&w, 0, sizeof w);
	return kh_monitor_new(&w.m, &err) || kh_queue_new(&w.queue, w.m, PLACES, &err);
}

FIXTURE(teardown)
{
	kh_queue_free(w.queue);
	kh_monitor_free(w.m);
	return 0;
}

/* --- queues ----------------------------------------------------------------------- */
TEST(test_queue)
{
	assert_null(kh_queue_try(w.queue));
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < PLACES; i++)
			kh_queue_push(w.queue, &w.item[i]);
		for (int i = 0; i < PLACES; i++)
			assert_ptr_equal(i % 2 ? kh_queue_try(w.queue) : kh_queue_pop(w.queue),
					 &w.item[i]);
		assert_null(kh_queue_try(w.queue));
		kh_queue_push(w.queue, &w.item[9]);     /* so that the ring turns */
		assert_ptr_equal(kh_queue_pop(w.queue), &w.item[9]);
		kh_queue_push(w.queue, &w.item[3]);
		kh_queue_give_back(w.queue, &w.item[5]);        /* goes in front */
		assert_ptr_equal(kh_queue_pop(w.queue), &w.item[5]);
		assert_ptr_equal(kh_queue_pop(w.queue), &w.item[3]);
	}
	kh_queue_push(w.queue, &w.item[0]);
	kh_monitor_stop(w.m);
	assert_null(kh_queue_pop(w.queue));             /* stopped: nothing more is given */
	assert_null(kh_queue_try(w.queue));
}

/* To push more than a queue has room for is our own mistake: it ends the program. */
TEST(test_queue_full)
{
	int status;

#ifdef NDEBUG
	return;
#endif
	for (int i = 0; i < PLACES; i++)
		kh_queue_push(w.queue, &w.item[i]);
	for (int front = 0; front < 2; front++) {
		const pid_t child = fork();

		if (child == 0) {
			fclose(stderr);
			(front ? kh_queue_give_back : kh_queue_push)(w.queue, &w.item[0]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

/* Tokens circulate; with two of seven the queue is often empty. */
static int token_worker(void *arg, unsigned id, kh_err *err)
{
	(void)arg, (void)id, (void)err;
	while (atomic_fetch_add(&w.next, 1) < TURNS) {
		uint64_t *token = kh_queue_pop(w.queue);

		if (!token)
			return KH_ECANCEL;
		++*token;
		kh_queue_push(w.queue, token);
	}
	return KH_OK;
}

TEST(test_queue_threads)
{
	uint64_t token[2] = { 0, 0 };

	kh_queue_push(w.queue, &token[0]);
	kh_queue_push(w.queue, &token[1]);
	OK(kh_threads_run(w.m, 6, token_worker, NULL, err));
	assert_int_equal(token[0] + token[1], TURNS);
}

/* --- the monitor ------------------------------------------------------------------ */
TEST(test_first_error)
{
	kh_err a = { 0, "" }, b = { 0, "" }, c = { 0, "" }, got = { 0, "" };

	kh_fail(&a, KH_EIO, "first");
	kh_fail(&b, KH_EFORMAT, "second");
	kh_fail(&c, KH_ECANCEL, "stopped");
	assert_int_equal(kh_monitor_error(w.m, &got), 0);
	assert_false(kh_monitor_stopped(w.m));
	assert_int_equal(kh_monitor_fail(w.m, &c), KH_ECANCEL);         /* no error by itself */
	assert_true(kh_monitor_stopped(w.m));
	assert_int_equal(kh_monitor_error(w.m, &got), KH_ECANCEL);
	assert_int_equal(kh_monitor_fail(w.m, &a), KH_EIO);
	assert_int_equal(kh_monitor_fail(w.m, &b), KH_EFORMAT);
	assert_int_equal(kh_monitor_error(w.m, &got), KH_EIO);
	assert_string_equal(got.msg, "first");
}

/* --- events ------------------------------------------------------------------------ */
struct ringing {
	kh_event *b;
	bool set[4];
	atomic_uint woken;
};

/* Workers 1 to 3 wait for what worker 0 sets, from last to first; nobody sets set[0]. */
static int ring_worker(void *arg, unsigned id, kh_err *err)
{
	struct ringing *r = arg;

	(void)err;
	if (id > 0) {
		if (kh_event_wait(r->b, &r->set[id]))
			return KH_ECANCEL;
		atomic_fetch_add(&r->woken, 1u << 4 * id);
		return kh_event_wait(r->b, &r->set[0]) == KH_ECANCEL ? KH_OK : KH_EIO;
	}
	for (unsigned i = 3; i > 0; i--) {
		kh_monitor_lock(w.m);
		r->set[i] = true;
		kh_monitor_unlock(w.m);
		kh_event_set(r->b);
		while (!(atomic_load(&r->woken) >> 4 * i & 1))
			sched_yield();
	}
	kh_monitor_stop(w.m);
	return KH_OK;
}

TEST(test_event)
{
	struct ringing r = { .set = { false } };
	kh_err err = { 0, "" };

	assert_int_equal(kh_event_new(&r.b, w.m, &err), 0);
	assert_int_equal(kh_threads_run(w.m, 4, ring_worker, &r, &err), KH_ECANCEL);
	assert_int_equal(atomic_load(&r.woken), 0x1110);
	assert_int_equal(kh_event_wait(r.b, &r.set[2]), 0);      /* it is set, even so */
	kh_event_free(r.b);
}

static int count_worker(void *arg, unsigned id, kh_err *err)
{
	(void)err;
	atomic_fetch_add((atomic_uint *)arg, 1u << 4 * id);
	return KH_OK;
}

TEST(test_threads)
{
	atomic_uint seen = 0;

	OK(kh_threads_run(w.m, 7, count_worker, &seen, err));
	assert_int_equal(atomic_load(&seen), 0x1111111);
	OK(kh_threads_run(w.m, 1, count_worker, &seen, err));
	assert_int_equal(atomic_load(&seen), 0x1111112);
	assert_true(kh_cpus() >= 1);
}

/* A team does one piece after the other, and none when one has failed. */
static int fail_in_third(void *arg, unsigned id, kh_err *err)
{
	atomic_fetch_add((atomic_uint *)arg, 1u << 4 * id);
	return id == 2 ? kh_fail(err, KH_EIO, "the third failed") : KH_OK;
}

TEST(test_team)
{
	atomic_uint seen = 0;
	kh_team *t;
	kh_err err = { 0, "" };

	assert_int_equal(kh_team_run(NULL, count_worker, &seen, &err), 0);
	assert_int_equal(atomic_load(&seen), 1);
	assert_int_equal(kh_team_size(NULL), 1);
	assert_int_equal(kh_team_new(&t, w.m, 1, &err), 0);
	assert_int_equal(kh_team_run(t, count_worker, &seen, &err), 0);
	kh_team_free(t);
	assert_int_equal(kh_team_new(&t, w.m, 5, &err), 0);
	assert_int_equal(kh_team_size(t), 5);
	for (int i = 0; i < 9; i++)
		assert_int_equal(kh_team_run(t, count_worker, &seen, &err), 0);
	assert_int_equal(atomic_load(&seen), 0x9999b);
	assert_int_equal(kh_team_run(t, fail_in_third, &seen, &err), KH_EIO);
	assert_string_equal(err.msg, "the third failed");
	assert_int_equal(atomic_load(&seen), 0xaaaac);
	kh_team_free(t);
	assert_int_equal(kh_team_new(&t, w.m, 5, &err), KH_EIO);
	kh_team_free(NULL);
}

static int take_one(void *arg, unsigned id, kh_err *err)
{
	(void)id;
	return kh_queue_pop(arg) ? KH_OK : kh_fail(err, KH_EIO, "nothing came");
}

/* Beside the caller: it can give them what they wait for, or stop them. */
TEST(test_threads_beside)
{
	kh_queue *q;
	kh_threads *c;
	kh_err err = { 0, "" };

	assert_int_equal(kh_queue_new(&q, w.m, 3, &err), 0);
	assert_int_equal(kh_threads_start(&c, w.m, 3, take_one, q, &err), 0);
	for (int i = 0; i < 3; i++)
		kh_queue_push(q, q);
	assert_int_equal(kh_threads_join(c, &err), 0);
	assert_int_equal(kh_threads_start(&c, w.m, 3, take_one, q, &err), 0);
	kh_monitor_stop(w.m);
	assert_int_equal(kh_threads_join(c, &err), KH_EIO);
	assert_string_equal(err.msg, "nothing came");
	kh_queue_free(q);
}

/* As many waiters as there is room for, and one more; freed ones make room. */
TEST(test_many_queues)
{
	kh_queue *q[100];
	int n = 0;

	for (; n < 100; n++)
		OK(kh_queue_new(&q[n], w.m, 1, err));
	kh_monitor_stop(w.m);
	while (n > 0) {
		assert_null(kh_queue_pop(q[--n]));
		kh_queue_free(q[n]);
	}
}

int main(void) { return test_run_each(setup, teardown); }
