/*
 * threads.h - threads that work side by side, and how they wait for each other
 *
 * A command's work is a loop that N equal threads run: take a block of input, parse it,
 * commit it in order (the few operations a block that depend on the blocks before it, for one
 * block at a time), compute, and deliver the result to an output in order.  So there is no
 * thread for reading or writing, N threads are N threads, and what is done in order is
 * what one thread would have done (base/order.h).
 *
 * One monitor a run holds the lock, the first error and the order to stop: a failure
 * anywhere wakes every waiter, which then returns KH_ECANCEL; the run returns the
 * first error.  Errors that belong to a block are to be raised where it is committed: then
 * the error reported is the first in input order, whatever the number of threads.
 */
#ifndef KH_BASE_THREADS_H
#define KH_BASE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* Threads this process may run on (affinity, quotas of its control groups), at least 1. */
unsigned kh_cpus(void);
/* The quotas alone, UINT_MAX if there are none.  root: what stands in front of /proc and /sys; ""
 * but in tests. */
unsigned kh_cpu_quota(const char *root);

typedef struct kh_monitor kh_monitor;

int kh_monitor_new(kh_monitor **m, kh_err *err);
void kh_monitor_free(kh_monitor *m);
/* Stops, and wakes all waiting threads. */
void kh_monitor_stop(kh_monitor *m);
/* Stops for an error, of which the first one is kept; KH_ECANCEL is none.  Returns its code. */
int kh_monitor_fail(kh_monitor *m, const kh_err *e);
bool kh_monitor_stopped(kh_monitor *m);
/* The first error, to *err; KH_ECANCEL if it stopped without one, 0 if it did not stop. */
int kh_monitor_error(kh_monitor *m, kh_err *err);
/* To be held while setting a flag that kh_event_wait looks at. */
void kh_monitor_lock(kh_monitor *m);
void kh_monitor_unlock(kh_monitor *m);

/* A bounded pool or queue of pointers (capacity cap). */
typedef struct kh_queue kh_queue;

int kh_queue_new(kh_queue **q, kh_monitor *m, size_t cap, kh_err *err);
void kh_queue_free(kh_queue *q);
void kh_queue_push(kh_queue *q, void *item);        /* never blocks: the capacity suffices */
/* The same for a pool: the item used last is taken next, as it may still be in the caches. */
void kh_queue_give_back(kh_queue *q, void *item);
void *kh_queue_pop(kh_queue *q);                    /* blocks; NULL: stopped */
void *kh_queue_try(kh_queue *q);                    /* NULL: empty or stopped */

/* Wakes the threads that wait for a flag; flags are set under the lock of the monitor, before
 * kh_event_set. */
typedef struct kh_event kh_event;

int kh_event_new(kh_event **e, kh_monitor *m, kh_err *err);
void kh_event_free(kh_event *e);
void kh_event_set(kh_event *e);                      /* wakes all */
int kh_event_wait(kh_event *e, const bool *set);        /* 0, or KH_ECANCEL */

/* Runs fn(arg, 0..n-1, err) on n threads (one of them the caller's) and waits.  A
 * failing fn stops the monitor.  Returns the first error, in *err. */
typedef int kh_worker_fn(void *arg, unsigned worker, kh_err *err);
int kh_threads_run(kh_monitor *m, unsigned n, kh_worker_fn *fn, void *arg, kh_err *err);
/* The same under a monitor of its own, and on one thread at least: for threads that share nothing
 * but counts, so that none has to stop when another one fails. */
int kh_side_by_side(unsigned n, kh_worker_fn *fn, void *arg, kh_err *err);
/* fn(arg, i, err) for each i below n, by such threads, each of which takes the next. */
typedef int kh_each_fn(void *arg, size_t i, kh_err *err);
int kh_each(unsigned threads, size_t n, kh_each_fn *fn, void *arg, kh_err *err);
/* As kh_threads_run, but the caller goes on beside them; join waits for them and gives the first
 * error. */
typedef struct kh_threads kh_threads;
int kh_threads_start(kh_threads **c, kh_monitor *m, unsigned n, kh_worker_fn *fn, void *arg,
		     kh_err *err);
int kh_threads_join(kh_threads *c, kh_err *err);

#endif
