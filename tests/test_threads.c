/* test_threads.c - queues, ordered delivery, crews; the first error wins */
#include "test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/team.h"

enum { TICKETS = 3000, WINDOW = 7 };

struct work {
	kh_monitor *m;
	kh_queue *queue;
	kh_order *order;
	atomic_uint next, cancelled;
	unsigned inside;                /* of deliver */
	uint64_t seen[TICKETS + 1];
	unsigned n_seen;
	uint64_t fail_at;
	bool waits;
	uint64_t item[TICKETS];
};

static struct work w;

static int setup(void **state)
{
	kh_err err;

	(void)state;
	memset(&w, 0, sizeof w);
	w.fail_at = UINT64_MAX;
	for (uint64_t i = 0; i < TICKETS; i++)
		w.item[i] = i;
	return kh_monitor_new(&w.m, &err) || kh_queue_new(&w.queue, w.m, WINDOW, &err) ||
	       kh_order_new(&w.order, w.m, WINDOW, &err);
}

static int teardown(void **state)
{
	(void)state;
	kh_order_free(w.order);
	kh_queue_free(w.queue);
	kh_monitor_free(w.m);
	return 0;
}

static void nap(uint64_t ticket)
{
	struct timespec t = { 0, (long)(ticket * 7919 % 5) * 20000 };

	if (ticket % 16 < 3)
		nanosleep(&t, NULL);
}

/* --- ordered delivery ------------------------------------------------------------- */
static void check_seen(unsigned n)
{
	assert_int_equal(w.n_seen, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(w.seen[i], i);
}

static int deliver(void *arg, void *item, kh_err *err)
{
	uint64_t t = *(uint64_t *)item;

	assert_ptr_equal(arg, &w);
	if (w.inside++ != 0)
		return kh_fail(err, KH_EIO, "two at once");
	nap(t);
	w.seen[w.n_seen++] = t;
	w.inside--;
	return t == w.fail_at ? kh_fail(err, KH_EFORMAT, "item %d", (int)t) : KH_OK;
}

/* w.waits: a worker that waits for its ticket finds it delivered. */
static int order_worker(void *arg, unsigned id, kh_err *err)
{
	(void)arg;
	for (;;) {
		uint64_t t = atomic_fetch_add(&w.next, 1);

		if (t >= TICKETS)
			return KH_OK;
		nap(t + id);
		int rc = kh_order_put(w.order, t, &w.item[t], deliver, &w);
		if (!rc && w.waits)
			rc = kh_order_wait(w.order, t);
		if (rc)
			return rc;
		if (w.waits && w.seen[t] != t)
			return kh_fail(err, KH_EIO, "ticket %d is not delivered", (int)t);
	}
}

static void test_order(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	if (kh_threads_run(w.m, 5, order_worker, NULL, &err))
		fail_msg("%s", err.msg);
	check_seen(TICKETS);
}

static void test_order_fail(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	w.fail_at = 777;
	assert_int_equal(kh_threads_run(w.m, 5, order_worker, NULL, &err), KH_EFORMAT);
	assert_string_equal(err.msg, "item 777");
	check_seen(778);
}

/* The first one delivers, and the others only bring. */
static int served_worker(void *arg, unsigned id, kh_err *err)
{
	int rc;

	if (id == 0)
		return kh_order_serve(w.order, deliver, &w);
	kh_order_there(w.order, true);
	rc = order_worker(arg, id, err);
	kh_order_there(w.order, false);
	return rc;
}

static void test_order_served(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_threads_run(w.m, 5, served_worker, NULL, &err), 0);
	check_seen(TICKETS);
}

static void test_order_served_fail(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	w.fail_at = 100;
	assert_int_equal(kh_threads_run(w.m, 5, served_worker, NULL, &err), KH_EFORMAT);
	assert_string_equal(err.msg, "item 100");
}

/* A thread comes to serve while another one delivers ticket 0, and until that is done the next one
 * is brought, for which only the serving thread is left: it must hear of it. */
static atomic_bool begun, brought;

static int deliver_late(void *arg, void *item, kh_err *err)
{
	atomic_store(&begun, true);
	while (!atomic_load(&brought))
		sched_yield();
	return deliver(arg, item, err);
}

static int late_worker(void *arg, unsigned id, kh_err *err)
{
	const struct timespec until_it_serves = { 0, 20000000 };

	(void)arg;
	(void)err;
	if (id > 0)
		kh_order_there(w.order, true);
	while (id != 1 && !atomic_load(&begun))
		sched_yield();
	if (id == 0)
		return kh_order_serve(w.order, deliver_late, &w);
	if (id == 2)
		nanosleep(&until_it_serves, NULL);
	int rc = kh_order_put(w.order, id - 1, &w.item[id - 1], deliver_late, &w);
	if (id == 2)
		atomic_store(&brought, true);
	if (!rc)
		rc = kh_order_wait(w.order, 1);
	kh_order_there(w.order, false);
	return rc;
}

static void test_order_served_late(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	atomic_store(&begun, false);
	atomic_store(&brought, false);
	assert_int_equal(kh_threads_run(w.m, 3, late_worker, NULL, &err), 0);
	check_seen(2);
}

static void test_order_wait(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	w.waits = true;
	w.seen[0] = 1;
	if (kh_threads_run(w.m, 6, order_worker, NULL, &err))
		fail_msg("%s", err.msg);
	check_seen(TICKETS);
	kh_monitor_stop(w.m, NULL);
	assert_int_equal(kh_order_wait(w.order, TICKETS - 1), 0);
	assert_int_equal(kh_order_wait(w.order, TICKETS), KH_ECANCEL);
}

/* As many tokens as the window has places, one taken for each ticket in it. */
static int give_back(void *arg, void *item, kh_err *err)
{
	int rc = deliver(arg, &w.item[*(uint64_t *)item], err);

	kh_queue_push(w.queue, item);
	return rc;
}

static int room_worker(void *arg, unsigned id, kh_err *err)
{
	(void)arg, (void)err;
	for (;;) {
		uint64_t t = atomic_fetch_add(&w.next, 1), *token;

		if (t >= TICKETS)
			return KH_OK;
		nap(t + id);
		int rc = kh_order_may_put(w.order, t, true);
		if (rc != 1)
			return KH_ECANCEL;
		token = kh_queue_try(w.queue);          /* never waits */
		if (!token)
			return kh_fail(err, KH_EIO, "no token for %d", (int)t);
		*token = t;
		rc = kh_order_put(w.order, t, token, give_back, &w);
		if (rc)
			return rc;
	}
}

static void test_order_room(void **state)
{
	uint64_t token[WINDOW];
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_order_may_put(w.order, WINDOW - 1, false), 1);
	assert_int_equal(kh_order_may_put(w.order, WINDOW, false), 0);
	for (int i = 0; i < WINDOW; i++)
		kh_queue_push(w.queue, &token[i]);
	if (kh_threads_run(w.m, 5, room_worker, NULL, &err))
		fail_msg("%s", err.msg);
	check_seen(TICKETS);
	kh_monitor_stop(w.m, NULL);
	assert_int_equal(kh_order_may_put(w.order, 0, false), KH_ECANCEL);
	assert_int_equal(kh_order_may_put(w.order, UINT64_MAX, true), KH_ECANCEL);
}

/* --- queues ----------------------------------------------------------------------- */
static void test_queue(void **state)
{
	(void)state;
	assert_null(kh_queue_try(w.queue));
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < WINDOW; i++)
			kh_queue_push(w.queue, &w.item[i]);
		for (int i = 0; i < WINDOW; i++)
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
	kh_monitor_stop(w.m, NULL);
	assert_null(kh_queue_pop(w.queue));             /* stopped: nothing more is given */
	assert_null(kh_queue_try(w.queue));
}

/* To push more than a queue has room for is our own mistake: it ends the program. */
static void test_queue_full(void **state)
{
	int status;

	(void)state;
#ifdef NDEBUG
	return;
#endif
	for (int i = 0; i < WINDOW; i++)
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
	while (atomic_fetch_add(&w.next, 1) < TICKETS) {
		uint64_t *token = kh_queue_pop(w.queue);

		if (!token)
			return KH_ECANCEL;
		++*token;
		kh_queue_push(w.queue, token);
	}
	return KH_OK;
}

static void test_queue_threads(void **state)
{
	uint64_t token[2] = { 0, 0 };
	kh_err err = { 0, "" };

	(void)state;
	kh_queue_push(w.queue, &token[0]);
	kh_queue_push(w.queue, &token[1]);
	assert_int_equal(kh_threads_run(w.m, 6, token_worker, NULL, &err), 0);
	assert_int_equal(token[0] + token[1], TICKETS);
}

/* All wait for what never comes; the one that fails wakes them, each where it is. */
static int waiting_worker(void *arg, unsigned id, kh_err *err)
{
	int rc = KH_OK;

	(void)arg;
	if (id == 3) {
		nap(2);
		return kh_fail(err, KH_EIO, "worker %u", id);
	}
	if (id == 0)
		rc = kh_order_wait(w.order, 99);
	else if (id == 1)
		rc = kh_queue_pop(w.queue) ? KH_OK : KH_ECANCEL;
	else
		rc = kh_order_put(w.order, WINDOW + id, &w.item[id], deliver, &w);
	atomic_fetch_add(&w.cancelled, rc == KH_ECANCEL);
	return rc;
}

static void test_waiters_wake(void **state)
{
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_threads_run(w.m, 5, waiting_worker, NULL, &err), KH_EIO);
	assert_string_equal(err.msg, "worker 3");
	assert_int_equal(atomic_load(&w.cancelled), 4);
}

/* --- the monitor ------------------------------------------------------------------ */
static void test_first_error(void **state)
{
	kh_err a = { 0, "" }, b = { 0, "" }, c = { 0, "" }, got = { 0, "" };

	(void)state;
	kh_fail(&a, KH_EIO, "first");
	kh_fail(&b, KH_EFORMAT, "second");
	kh_fail(&c, KH_ECANCEL, "stopped");
	assert_int_equal(kh_monitor_error(w.m, &got), 0);
	assert_false(kh_monitor_stopped(w.m));
	assert_int_equal(kh_monitor_stop(w.m, &c), KH_ECANCEL);         /* no error by itself */
	assert_true(kh_monitor_stopped(w.m));
	assert_int_equal(kh_monitor_error(w.m, &got), KH_ECANCEL);
	assert_int_equal(kh_monitor_stop(w.m, &a), KH_EIO);
	assert_int_equal(kh_monitor_stop(w.m, &b), KH_EFORMAT);
	assert_int_equal(kh_monitor_error(w.m, &got), KH_EIO);
	assert_string_equal(got.msg, "first");
}

/* --- bells ------------------------------------------------------------------------ */
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
	kh_monitor_stop(w.m, NULL);
	return KH_OK;
}

static void test_event(void **state)
{
	struct ringing r = { .set = { false } };
	kh_err err = { 0, "" };

	(void)state;
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

static void test_threads(void **state)
{
	atomic_uint seen = 0;
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_threads_run(w.m, 7, count_worker, &seen, &err), 0);
	assert_int_equal(atomic_load(&seen), 0x1111111);
	assert_int_equal(kh_threads_run(w.m, 1, count_worker, &seen, &err), 0);
	assert_int_equal(atomic_load(&seen), 0x1111112);
	assert_true(kh_cpus() >= 1);
}

/* A team does one piece after the other, and none when one has failed. */
static int fail_in_third(void *arg, unsigned id, kh_err *err)
{
	atomic_fetch_add((atomic_uint *)arg, 1u << 4 * id);
	return id == 2 ? kh_fail(err, KH_EIO, "the third failed") : KH_OK;
}

static void test_team(void **state)
{
	atomic_uint seen = 0;
	kh_team *t;
	kh_err err = { 0, "" };

	(void)state;
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
static void test_threads_beside(void **state)
{
	kh_queue *q;
	kh_threads *c;
	kh_err err = { 0, "" };

	(void)state;
	assert_int_equal(kh_queue_new(&q, w.m, 3, &err), 0);
	assert_int_equal(kh_threads_start(&c, w.m, 3, take_one, q, &err), 0);
	for (int i = 0; i < 3; i++)
		kh_queue_push(q, q);
	assert_int_equal(kh_threads_join(c, &err), 0);
	assert_int_equal(kh_threads_start(&c, w.m, 3, take_one, q, &err), 0);
	kh_monitor_stop(w.m, NULL);
	assert_int_equal(kh_threads_join(c, &err), KH_EIO);
	assert_string_equal(err.msg, "nothing came");
	kh_queue_free(q);
}

/* As many waiters as there is room for, and one more; freed ones make room. */
static void test_many_queues(void **state)
{
	kh_queue *q[100];
	kh_err err = { 0, "" };
	int n = 0;

	(void)state;
	for (; n < 100; n++)
		assert_int_equal(kh_queue_new(&q[n], w.m, 1, &err), 0);
	kh_monitor_stop(w.m, NULL);
	while (n > 0) {
		assert_null(kh_queue_pop(q[--n]));
		kh_queue_free(q[n]);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_team),
		TEST(test_order),        TEST(test_order_fail),     TEST(test_order_served),
		TEST(test_order_served_late),
		TEST(test_order_served_fail),     TEST(test_order_wait),
		TEST(test_order_room),   TEST(test_queue),          TEST(test_queue_full),
		TEST(test_queue_threads),
		TEST(test_waiters_wake), TEST(test_first_error),    TEST(test_event),
		TEST(test_threads),      TEST(test_threads_beside), TEST(test_many_queues),
	};

	test_seed();
	return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
