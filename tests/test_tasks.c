/* test_tasks.c - the tasks of a worker that are under way (classify/compute.h) */
#include "test.h"
#include "classify/compute.h"

enum { DEPTH = 3, TASKS = 8 };

/* A queue that gives tasks back in order, of which the one numbered `bad` fails. */
struct kh_task_queue {
	kh_task *under_way[DEPTH];
	unsigned n, most, collected, bad;
};

static int submit(kh_task_queue *q, kh_task *t, kh_err *e)
{
	(void)e;
	assert_true(q->n < DEPTH);
	q->under_way[q->n++] = t;
	q->most = q->n > q->most ? q->n : q->most;
	return KH_OK;
}

static int collect(kh_task_queue *q, kh_task **t, kh_err *e)
{
	*t = NULL;
	if (q->n == 0)
		return KH_OK;
	*t = q->under_way[0];
	memmove(q->under_way, q->under_way + 1, --q->n * sizeof *q->under_way);
	return ++q->collected == q->bad ? kh_fail(e, KH_EDEVICE, "number %u", q->bad) : KH_OK;
}

static const kh_backend be = { .depth = DEPTH, .submit = submit, .collect = collect };

struct seen {
	kh_task *first;
	unsigned n, refused;            /* tasks that were done; the one that `done` refuses */
};

static int done(void *arg, kh_task *t, kh_err *e)
{
	struct seen *s = arg;

	assert_ptr_equal(t, s->first + s->n);
	return ++s->n == s->refused ? kh_fail(e, KH_EIO, "refused") : KH_OK;
}

TEST(test_order)
{
	kh_task task[TASKS];
	kh_task_queue q = { .bad = 0 };
	struct seen seen = { .first = task };
	kh_tasks s = { .be = &be, .queue = &q, .done = done, .arg = &seen };

	for (unsigned i = 0; i < TASKS; i++) {
		assert_int_equal(kh_tasks_submit(&s, &task[i], NULL), KH_OK);
		assert_int_equal(s.under_way, i < DEPTH ? i + 1 : DEPTH);
	}
	assert_int_equal(seen.n, TASKS - DEPTH);
	assert_int_equal(kh_tasks_make_way(&s, NULL), KH_OK);
	assert_int_equal(s.under_way, DEPTH - 1);
	assert_int_equal(kh_tasks_drain(&s, NULL), KH_OK);
	assert_int_equal(kh_tasks_finish(&s, NULL), KH_OK);           /* there is none */
	assert_int_equal(seen.n, TASKS);
	assert_int_equal(q.most, DEPTH);
}

/* What fails is told, is not done, and is not under way any more; the rest can be taken back. */
TEST(test_failure)
{
	for (unsigned bad = 1; bad <= DEPTH; bad++)
		for (int by_queue = 0; by_queue < 2; by_queue++) {
			kh_task task[DEPTH];
			kh_task_queue q = { .bad = by_queue ? bad : 0 };
			struct seen seen = { .first = task, .refused = by_queue ? 0 : bad };
			kh_tasks s = { .be = &be, .queue = &q, .done = done, .arg = &seen };
			kh_err e = { 0, "" };

			for (unsigned i = 0; i < DEPTH; i++)
				assert_int_equal(kh_tasks_submit(&s, &task[i], NULL), KH_OK);
			assert_int_equal(kh_tasks_drain(&s, &e), by_queue ? KH_EDEVICE : KH_EIO);
			assert_string_equal(e.msg, by_queue ? bad == 1 ? "number 1"
							    : bad == 2 ? "number 2" : "number 3"
							    : "refused");
			assert_int_equal(seen.n, by_queue ? bad - 1 : bad);
			assert_int_equal(s.under_way, DEPTH - bad);
			kh_tasks_drop(&s);
			assert_int_equal(s.under_way, 0);
			assert_int_equal(q.n, 0);
			assert_int_equal(seen.n, by_queue ? bad - 1 : bad);
		}
}

/* Also one that fails while it is taken back is given back, so all are. */
TEST(test_drop)
{
	kh_task task[DEPTH];
	kh_task_queue q = { .bad = 2 };
	struct seen seen = { .first = task };
	kh_tasks s = { .be = &be, .queue = &q, .done = done, .arg = &seen };

	for (unsigned i = 0; i < DEPTH; i++)
		assert_int_equal(kh_tasks_submit(&s, &task[i], NULL), KH_OK);
	kh_tasks_drop(&s);
	assert_int_equal(s.under_way + q.n + seen.n, 0);
}
