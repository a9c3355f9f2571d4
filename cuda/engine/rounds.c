/* rounds.c - the thread that runs the rounds, and how queues give it tasks (rounds.h) */
#include <config.h>
#include "cuda/engine/rounds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include "base/mem.h"

enum { ROUNDS = 3 };                    /* rounds under way, in different steps */
enum { TASKS_MAX = 4096 * KH_CUDA_DEPTH + 1 };  /* of all queues, and the last one */

struct list {
	kh_rounds_task *first, *last;
};

struct kh_rounds {
	struct kh_members m;
	kh_comm *processes;                 /* NULL: one */
	kh_round round[ROUNDS];
	struct list *waiting;           /* tasks, of the engine's devices */
	kh_monitor *monitor;
	kh_queue *tasks;                /* from the queues; at last, `last` */
	kh_event *done;
	kh_threads *thread;
	kh_rounds_task last;
	bool ending;                    /* `last` has come: there will be no more tasks */
	bool over;                      /* no more rounds are to be started */
	bool quiet;                     /* the last round was empty, as far as this process knows */
	/* for the log: rounds and tasks, and seconds of the thread by kind of work */
	uint64_t n_rounds, n_tasks;
	double spent[5];
};
enum { FINISH, GATHER, START, ANSWER, ASK };

/* --- the thread of the rounds ------------------------------------------------------- */
static void sort_in(kh_rounds *x, kh_rounds_task *t)
{
	struct list *l = &x->waiting[t->device];

	if (t == &x->last) {
		x->ending = true;
		return;
	}
	t->next = NULL;
	if (l->first)
		l->last->next = t;
	else
		l->first = t;
	l->last = t;
}

static bool none_waiting(const kh_rounds *x)
{
	for (size_t i = 0; i < x->m.e->n; i++)
		if (x->waiting[i].first)
			return false;
	return true;
}

static bool none_under_way(const kh_rounds *x)
{
	for (int i = 0; i < ROUNDS; i++)
		if (x->round[i].state != KH_ROUND_IDLE)
			return false;
	return true;
}

static void take(kh_side *s, struct list *l, uint64_t most)
{
	s->n_tasks = 0;
	s->features = 0;
	while (l->first && s->n_tasks < KH_ROUND_TASKS &&
	       (s->n_tasks == 0 ||
		s->features + l->first->features <= most)) {
		s->features += l->first->features;
		s->task[s->n_tasks++] = l->first;
		l->first = l->first->next;
	}
}

/* Gives the waiting tasks to r. True: r is to be started; with several processes even without a
 * task, as all start a round together. */
static bool gather(kh_rounds *x, kh_round *r)
{
	const struct timespec nap = { 0, 100000 };
	kh_rounds_task *t;
	bool some = false;

	if (x->over)
		return false;
	if (none_waiting(x) && !x->ending) {
		t = kh_queue_try(x->tasks);
		if (!t && x->processes && x->quiet)
			nanosleep(&nap, NULL);
		else if (!t && !x->processes && none_under_way(x))
			t = kh_queue_pop(x->tasks);
		if (t)
			sort_in(x, t);
	}
	while ((t = kh_queue_try(x->tasks)) != NULL)
		sort_in(x, t);
	for (size_t i = 0; i < x->m.e->n; i++) {
		take(&r->side[i], &x->waiting[i], x->m.features);
		some |= r->side[i].n_tasks > 0;
		x->n_tasks += r->side[i].n_tasks;
	}
	r->last = x->ending && none_waiting(x);
	if (!x->processes)
		x->over = r->last;
	return some || x->processes;
}

static int finish(kh_rounds *x, kh_round *r, kh_err *err)
{
	int rc;

	if (r->state == KH_ROUND_IDLE)
		return KH_OK;
	rc = kh_round_finish(r, err);
	if (rc)
		return rc;
	kh_monitor_lock(x->monitor);
	for (size_t i = 0; i < x->m.e->n; i++)
		for (unsigned t = 0; t < r->side[i].n_tasks; t++)
			r->side[i].task[t]->done = true;
	kh_monitor_unlock(x->monitor);
	for (size_t i = 0; i < x->m.e->n; i++)
		r->side[i].n_tasks = 0;
	kh_event_set(x->done);
	return KH_OK;
}

/* Has a process failed? */
static int look_around(const kh_rounds *x, kh_err *err)
{
	kh_message none;

	return x->processes ? kh_comm_take(x->processes, 0, false, &none, err) : KH_OK;
}

/* Seconds since *from, which becomes now. */
static double lap(double *from)
{
	const double began = *from;

	*from = kh_seconds();
	return *from - began;
}

/* Starts r and lets it ask; meanwhile, the round before it, which has asked, is answered. */
static int step(kh_rounds *x, kh_round *r, kh_round *before, kh_err *err)
{
	double t = kh_seconds();
	int rc = finish(x, r, err);

	x->spent[FINISH] += lap(&t);
	if (!rc)
		rc = look_around(x, err);
	if (rc)
		return rc;
	const bool go = gather(x, r);
	x->spent[GATHER] += lap(&t);
	if (go)
		rc = kh_round_sample(r, err);
	if (go && !rc)
		rc = kh_round_start(r, err);
	x->spent[START] += lap(&t);
	if (!rc && before->state == KH_ROUND_ASKED)
		rc = kh_round_answer(before, err);
	x->spent[ANSWER] += lap(&t);
	if (rc || !go)
		return rc;
	rc = kh_round_ask(r, err);
	x->spent[ASK] += lap(&t);
	x->n_rounds++;
	x->quiet = r->quiet;
	x->over |= r->all_last;
	return rc;
}

static int run_rounds(void *arg, unsigned id, kh_err *err)
{
	kh_rounds *x = arg;
	int rc = KH_OK;

	(void)id;
	for (unsigned i = 0; !rc && !(x->over && none_under_way(x)); i++)
		rc = step(x, &x->round[i % ROUNDS], &x->round[(i + ROUNDS - 1) % ROUNDS],
			  err);
	if (rc) { /* first the reason, as the end of the communicator tells the others none */
		kh_comm_fail(x->processes, err);
		kh_gpu_comm_abort(x->m.comm);
	}
	return rc;
}

/* --- what queues do --------------------------------------------------------------- */
void kh_rounds_put(kh_rounds *x, kh_rounds_task *t)
{
	t->done = false;
	kh_queue_push(x->tasks, t);
}

int kh_rounds_wait(kh_rounds *x, kh_rounds_task *t, kh_err *err)
{
	int rc = kh_event_wait(x->done, &t->done);

	return rc ? kh_monitor_error(x->monitor, err) : KH_OK;
}

void kh_rounds_hold(kh_rounds *x)
{
	if (x)
		pthread_mutex_lock(&x->m.memory);
}

void kh_rounds_let_go(kh_rounds *x)
{
	if (x)
		pthread_mutex_unlock(&x->m.memory);
}

/* --- how much ----------------------------------------------------------------------- */
#define FEATURES_LEAST (UINT64_C(1) << 22)
#define FEATURES_MOST (UINT64_C(1) << 25)

/* Of an index on the host, about as many for each page of memory, whatever its size; but not more
 * than a round's share of all tasks, in which there is about one for five bytes of text. */
uint64_t kh_round_features(const kh_engine *e)
{
	const uint64_t wanted = e->db->h->section[KH_SEC_INDEX].bytes >> 9;
	const uint64_t there = e->ahead / (5 * ROUNDS);
	const uint64_t n = wanted < there ? wanted : there;

	if (e->placement != KH_PLACE_HOST || n < FEATURES_LEAST)
		return FEATURES_LEAST;
	return n < FEATURES_MOST ? n : FEATURES_MOST;
}

/* A feature takes 36 bytes in arrays for as many as there could be, up to 53 in those for as many
 * as there are, and its list twice; half of those that there could be are there. */
uint64_t kh_rounds_bytes(const kh_engine *e)
{
	return ROUNDS * (kh_cuda_scratch_bytes(e) + kh_round_features(e) * 80);
}

/* --- open, close ------------------------------------------------------------------ */
void kh_rounds_close(kh_rounds *x)
{
	if (!x)
		return;
	if (x->thread) {
		kh_queue_push(x->tasks, &x->last);
		kh_threads_join(x->thread, NULL);
		kh_log(KH_DEBUG,
		       "%s: %" PRIu64 " rounds, %" PRIu64
		       " tasks; seconds: start %.2f, ask %.2f, answer %.2f, finish %.2f, "
		       "without work %.2f",
		       x->m.own ? "look-ups in order" : "exchange", x->n_rounds, x->n_tasks,
		       x->spent[START], x->spent[ASK],
		       x->spent[ANSWER], x->spent[FINISH], x->spent[GATHER]);
	}
	for (int i = 0; i < ROUNDS; i++)
		if (x->round[i].m)
			kh_round_close(&x->round[i]);
	kh_event_free(x->done);
	kh_queue_free(x->tasks);
	kh_monitor_free(x->monitor);
	kh_members_close(&x->m);
	free(x->waiting);
	free(x);
}

int kh_rounds_open(kh_rounds **out, const kh_engine *e, kh_gpu_comm *comm,
		     kh_comm *processes, kh_err *err)
{
	kh_rounds *x = kh_array(1, sizeof *x, err);
	int rc;

	if (!x) {
		/* otherwise its close would wait for that of the others */
		kh_gpu_comm_abort(comm);
		kh_gpu_comm_close(comm);
		return KH_ENOMEM;
	}
	x->m.comm = comm;
	x->processes = kh_comm_size(processes) > 1 ? processes : NULL;
	x->waiting = kh_array(e->n, sizeof *x->waiting, err);
	rc = x->waiting ? kh_members_open(&x->m, e, err) : KH_ENOMEM;
	for (int i = 0; i < ROUNDS && !rc; i++)
		rc = kh_round_open(&x->round[i], &x->m, err);
	if (!rc)
		rc = kh_monitor_new(&x->monitor, err);
	if (!rc)
		rc = kh_queue_new(&x->tasks, x->monitor, TASKS_MAX, err);
	if (!rc)
		rc = kh_event_new(&x->done, x->monitor, err);
	if (!rc)
		rc = kh_threads_start(&x->thread, x->monitor, 1, run_rounds, x, err);
	if (!rc)                        /* the thread was started, but may have failed */
		rc = kh_monitor_error(x->monitor, err);
	if (rc) {
		kh_gpu_comm_abort(comm);
		kh_rounds_close(x);
		return rc;
	}
	*out = x;
	return KH_OK;
}
