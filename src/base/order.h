/*
 * order.h - items that threads bring in any order, delivered in the order of their tickets
 *
 * Items come in any order under their tickets; `fn` is called for 0, 1, 2, ... by whichever thread
 * brings the next one, one call at a time, outside the lock: so no thread has to wake up before the
 * next call.  A non-zero result of fn stops the run.
 */
#ifndef KH_BASE_ORDER_H
#define KH_BASE_ORDER_H

#include "base/threads.h"

typedef struct kh_order kh_order;
typedef int kh_order_fn(void *arg, void *item, kh_err *err);

/* `window` bounds how far ahead a ticket may be: kh_order_put blocks while
 * ticket >= next + window. */
int kh_order_new(kh_order **o, kh_monitor *m, size_t window, kh_err *err);
void kh_order_free(kh_order *o);
/* 0, or KH_ECANCEL, also if fn fails: its error is in the monitor then. */
int kh_order_put(kh_order *o, uint64_t ticket, void *item, kh_order_fn *fn, void *arg);
/* A thread that brings nothing may do all deliveries, so that those that bring items are not held
 * up by them.  Each of these calls kh_order_come when it begins and kh_order_leave when it ends;
 * kh_order_serve returns when the last one has left: 0, or KH_ECANCEL. */
int kh_order_serve(kh_order *o, kh_order_fn *fn, void *arg);
void kh_order_come(kh_order *o);
void kh_order_leave(kh_order *o);
/* until fn has returned for it; 0, or KH_ECANCEL */
int kh_order_wait(kh_order *o, uint64_t ticket);
/* Has fn returned for it? */
bool kh_order_is_done(kh_order *o, uint64_t ticket);
/* Is ticket < next + window, so that kh_order_put will not block?  1, or 0, or KH_ECANCEL;
 * `wait`: never 0.  With a pool of `window` items, a worker that takes one only when this returns
 * 1, and gives it back when it is delivered, cannot deadlock. */
int kh_order_may_put(kh_order *o, uint64_t ticket, bool wait);

#endif
