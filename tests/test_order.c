/* test_order.c - ordered delivery: by whoever brings the next item, or by one that serves */
#define TEST_MAIN
#include "test.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include "base/order.h"

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

FIXTURE(setup)
{
	kh_err err;

	memset(&w, 0, sizeof w);
	w.fail_at = UINT64_MAX;
	for (uint64_t i = 0; i < TICKETS; i++)
		w.item[i] = i;
	return kh_monitor_new(&w.m, &err) || kh_queue_new(&w.queue, w.m, WINDOW, &err) ||
	       kh_order_new(&w.order, w.m, WINDOW, &err);
}

FIXTURE(teardown)
{
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

TEST(test_order)
{
	OK(kh_threads_run(w.m, 5, order_worker, NULL, err));
	check_seen(TICKETS);
}

TEST(test_order_fail)
{
	kh_err err = { 0, "" };

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
	kh_order_come(w.order);
	rc = order_worker(arg, id, err);
	kh_order_leave(w.order);
	return rc;
}

TEST(test_order_served)
{
	OK(kh_threads_run(w.m, 5, served_worker, NULL, err));
	check_seen(TICKETS);
}

TEST(test_order_served_fail)
{
	kh_err err = { 0, "" };

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
		kh_order_come(w.order);
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
	kh_order_leave(w.order);
	return rc;
}

TEST(test_order_served_late)
{
	atomic_store(&begun, false);
	atomic_store(&brought, false);
	OK(kh_threads_run(w.m, 3, late_worker, NULL, err));
	check_seen(2);
}

TEST(test_order_wait)
{
	w.waits = true;
	w.seen[0] = 1;
	OK(kh_threads_run(w.m, 6, order_worker, NULL, err));
	check_seen(TICKETS);
	kh_monitor_stop(w.m);
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

TEST(test_order_room)
{
	uint64_t token[WINDOW];

	assert_int_equal(kh_order_may_put(w.order, WINDOW - 1, false), 1);
	assert_int_equal(kh_order_may_put(w.order, WINDOW, false), 0);
	for (int i = 0; i < WINDOW; i++)
		kh_queue_push(w.queue, &token[i]);
	OK(kh_threads_run(w.m, 5, room_worker, NULL, err));
	check_seen(TICKETS);
	kh_monitor_stop(w.m);
	assert_int_equal(kh_order_may_put(w.order, 0, false), KH_ECANCEL);
	assert_int_equal(kh_order_may_put(w.order, UINT64_MAX, true), KH_ECANCEL);
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

TEST(test_waiters_wake)
{
	kh_err err = { 0, "" };

	assert_int_equal(kh_threads_run(w.m, 5, waiting_worker, NULL, &err), KH_EIO);
	assert_string_equal(err.msg, "worker 3");
	assert_int_equal(atomic_load(&w.cancelled), 4);
}

int main(void) { return test_run_each(setup, teardown); }
