#include <config.h>
#include "base/order.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/threads_in.h"

/* Conditions on which threads wait for their tickets: several, so that not all threads wake for
 * one ticket. */
enum { CONDITIONS = 64 };

struct kh_order {
	kh_monitor *m;
	/* ticket % CONDITIONS; the last is for the thread in kh_order_serve */
	pthread_cond_t cv[CONDITIONS + 1];
	size_t window;
	uint64_t next;
	bool delivering;
	bool served;                    /* a thread is in kh_order_serve */
	unsigned there;                 /* threads that bring items */
	bool left;                      /* one has */
	void *item[];                   /* ticket % window; NULL: not there yet */
};

int kh_order_new(kh_order **o, kh_monitor *m, size_t window, kh_err *err)
{
	kh_order *p = kh_array(1, sizeof *p + window * sizeof p->item[0], err);
	int rc;

	if (!p)
		return KH_ENOMEM;
	p->m = m;
	p->window = window;
	rc = kh_monitor_watch(m, p->cv, CONDITIONS + 1, err);
	if (rc) {
		free(p);
		return rc;
	}
	*o = p;
	return KH_OK;
}

void kh_order_free(kh_order *o)
{
	if (!o)
		return;
	kh_monitor_unwatch(o->m, o->cv, CONDITIONS + 1);
	free(o);
}

int kh_order_may_put(kh_order *o, uint64_t ticket, bool wait)
{
	pthread_mutex_lock(&o->m->mu);
	while (wait && ticket >= o->next + o->window && !o->m->stopped)
		pthread_cond_wait(&o->cv[ticket % CONDITIONS], &o->m->mu);
	int rc = o->m->stopped ? KH_ECANCEL : ticket < o->next + o->window;
	pthread_mutex_unlock(&o->m->mu);
	return rc;
}

/* Delivers what is next; the caller has the lock, which is given up meanwhile. */
static int deliver_next(kh_order *o, kh_order_fn *fn, void *arg)
{
	void **place = &o->item[o->next % o->window], *item = *place;
	kh_err err = { 0, "" };
	int rc;

	*place = NULL;
	o->delivering = true;
	pthread_mutex_unlock(&o->m->mu);
	rc = fn(arg, item, &err);
	if (rc)
		kh_monitor_fail(o->m, &err);
	pthread_mutex_lock(&o->m->mu);
	o->delivering = false;
	pthread_cond_broadcast(&o->cv[o->next++ % CONDITIONS]);
	/* the window now has room for one more ticket, its last */
	pthread_cond_broadcast(&o->cv[(o->next + o->window - 1) % CONDITIONS]);
	return rc;
}

/* Is there something that may be delivered now? */
static bool is_ready(const kh_order *o)
{
	return !o->delivering && !o->m->stopped && o->item[o->next % o->window];
}

int kh_order_put(kh_order *o, uint64_t ticket, void *item, kh_order_fn *fn, void *arg)
{
	int rc = KH_OK;

	pthread_mutex_lock(&o->m->mu);
	while (ticket >= o->next + o->window && !o->m->stopped)
		pthread_cond_wait(&o->cv[ticket % CONDITIONS], &o->m->mu);
	o->item[ticket % o->window] = item;
	while (!o->served && is_ready(o))
		rc = deliver_next(o, fn, arg);
	/* It need not be this item that is ready: a thread that still delivered when the
	 * serving one came makes the next item ready by going on to it. */
	if (o->served && is_ready(o))
		pthread_cond_signal(&o->cv[CONDITIONS]);
	if (o->m->stopped)
		rc = KH_ECANCEL;
	pthread_mutex_unlock(&o->m->mu);
	return rc;
}

int kh_order_serve(kh_order *o, kh_order_fn *fn, void *arg)
{
	int rc;

	pthread_mutex_lock(&o->m->mu);
	o->served = true;
	while (!o->m->stopped) {
		if (is_ready(o))
			deliver_next(o, fn, arg);
		else if (o->left && o->there == 0 && !o->delivering)
			break;
		else
			pthread_cond_wait(&o->cv[CONDITIONS], &o->m->mu);
	}
	o->served = false;
	rc = o->m->stopped ? KH_ECANCEL : KH_OK;
	pthread_mutex_unlock(&o->m->mu);
	return rc;
}

void kh_order_come(kh_order *o)
{
	pthread_mutex_lock(&o->m->mu);
	o->there++;
	pthread_mutex_unlock(&o->m->mu);
}

void kh_order_leave(kh_order *o)
{
	pthread_mutex_lock(&o->m->mu);
	o->there--;
	o->left = true;
	pthread_cond_signal(&o->cv[CONDITIONS]);
	pthread_mutex_unlock(&o->m->mu);
}

int kh_order_wait(kh_order *o, uint64_t ticket)
{
	pthread_mutex_lock(&o->m->mu);
	while (o->next <= ticket && !o->m->stopped)
		pthread_cond_wait(&o->cv[ticket % CONDITIONS], &o->m->mu);
	int rc = o->next > ticket ? KH_OK : KH_ECANCEL;
	pthread_mutex_unlock(&o->m->mu);
	return rc;
}

bool kh_order_is_done(kh_order *o, uint64_t ticket)
{
	pthread_mutex_lock(&o->m->mu);
	const bool done = o->next > ticket;
	pthread_mutex_unlock(&o->m->mu);
	return done;
}
