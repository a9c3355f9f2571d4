#include <config.h>
#include "io/spread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Parts of the file that are mapped at a time: twice as much each time.  So many are made before
 * they are needed, by those who help, as all wait for what is put in order. */
enum { FIRST = 4 << 20, MOST = 16 << 20, AHEAD = 4 };

/* A part of the file that is mapped until all of it has been copied. */
typedef struct window {
	char *map;
	size_t bytes;
	_Atomic size_t left;
} window;

typedef struct piece {
	const char *p;
	size_t n;
	char *to;
	window *in;
	kh_loan *loan;
} piece;

struct kh_spread {
	kh_out *out;
	uint64_t at;                    /* what is put next comes there */
	window *now;                    /* with room from `used` on; NULL: none */
	size_t used;
	/* windows to come, one behind the other: number i, from `taken` to `begun`, is in place
	 * i % AHEAD, where `it` is NULL if it could not be made */
	struct coming {
		bool made;
		window *it;
	} coming[AHEAD];
	unsigned begun, taken;
	pthread_mutex_t lock;           /* of these, and of: */
	pthread_cond_t made;            /* one more is */
	uint64_t from;                  /* where the next one begins, */
	size_t next;                    /* and about how many bytes it has */
	bool alone;                     /* none are made ahead any more */
	piece *all;
	kh_queue *idle, *full;          /* of piece */
};

int kh_spread_new(kh_spread **out, kh_out *file, uint64_t at, size_t pieces, kh_monitor *m,
		  kh_err *err)
{
	kh_spread *s = kh_array(1, sizeof *s, err);
	int rc;

	if (!s)
		return KH_ENOMEM;
	s->out = file;
	s->at = s->from = at;
	s->next = FIRST;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->made, NULL);
	s->all = kh_array(pieces, sizeof *s->all, err);
	rc = s->all ? kh_queue_new(&s->idle, m, pieces, err) : KH_ENOMEM;
	if (!rc)
		rc = kh_queue_new(&s->full, m, pieces, err);
	if (rc) {
		kh_spread_free(s);
		return rc;
	}
	for (size_t i = 0; i < pieces; i++)
		kh_queue_push(s->idle, &s->all[i]);
	*out = s;
	return KH_OK;
}

/* n bytes of a window have been copied, or will never be. */
static void window_done(window *w, size_t n)
{
	if (atomic_fetch_sub(&w->left, n) != n)
		return;
	kh_out_unmap(w->map, w->bytes);
	free(w);
}

/* --- windows ---------------------------------------------------------------------- */
static int make(kh_spread *s, uint64_t from, size_t bytes, window **out, kh_err *err)
{
	window *w = kh_array(1, sizeof *w, err);
	int rc = w ? kh_out_map(s->out, from, bytes, &w->map, err) : KH_ENOMEM;

	if (rc) {
		free(w);
		return rc;
	}
	w->bytes = bytes;
	atomic_init(&w->left, bytes);
	*out = w;
	return KH_OK;
}

/* Makes the next window; the caller has the lock, which is given up meanwhile.  Windows end where
 * large pages do. */
static void make_next(kh_spread *s)
{
	struct coming *c = &s->coming[s->begun++ % AHEAD];
	const uint64_t from = s->from;
	const size_t bytes = s->next - (size_t)(from % KH_LARGE_PAGE);
	kh_err why = { 0, "" };
	window *w = NULL;

	c->made = false;
	s->from += bytes;
	s->next = s->next < MOST ? 2 * s->next : MOST;
	pthread_mutex_unlock(&s->lock);
	const int rc = make(s, from, bytes, &w, &why);
	pthread_mutex_lock(&s->lock);
	c->it = w;
	c->made = true;
	s->alone |= rc != 0;
	pthread_cond_broadcast(&s->made);
}

/* The next of those that are coming; the caller has the lock. NULL: it could not be made. */
static window *take_next(kh_spread *s)
{
	struct coming *c = &s->coming[s->taken % AHEAD];

	while (!c->made)                /* by a thread that is at work on it */
		pthread_cond_wait(&s->made, &s->lock);
	s->taken++;
	return c->it;
}

/* Those that are coming will not be used. */
static void drop_coming(kh_spread *s)
{
	pthread_mutex_lock(&s->lock);
	s->alone = true;
	while (s->taken != s->begun) {
		window *w = take_next(s);

		if (w)
			window_done(w, w->bytes);
	}
	pthread_mutex_unlock(&s->lock);
}

static void make_ahead(kh_spread *s)
{
	pthread_mutex_lock(&s->lock);
	if (!s->alone && s->begun - s->taken < AHEAD)
		make_next(s);
	pthread_mutex_unlock(&s->lock);
}

/* The next part of the file; if there is no room for it, just the n bytes that are needed. */
static int next_window(kh_spread *s, size_t n, kh_err *err)
{
	int rc = KH_OK;

	pthread_mutex_lock(&s->lock);
	if (s->taken == s->begun && !s->alone)
		make_next(s);
	s->now = s->taken != s->begun ? take_next(s) : NULL;
	pthread_mutex_unlock(&s->lock);
	if (!s->now) {
		drop_coming(s);
		/* what they have reserved is given back */
		if (!(rc = kh_out_cut(s->out, s->at, err)))
			rc = make(s, s->at, n < MOST ? n : MOST, &s->now, err);
	}
	s->used = 0;
	return rc;
}

void kh_spread_free(kh_spread *s)
{
	piece *p;

	if (!s)
		return;
	while (s->full && (p = kh_queue_try(s->full)))
		window_done(p->in, p->n);
	if (s->now)
		window_done(s->now, s->now->bytes - s->used);
	drop_coming(s);
	pthread_cond_destroy(&s->made);
	pthread_mutex_destroy(&s->lock);
	kh_queue_free(s->idle);
	kh_queue_free(s->full);
	free(s->all);
	free(s);
}

/* --- pieces ----------------------------------------------------------------------- */
static void copy(const piece *p)
{
	memcpy(p->to, p->p, p->n);
	window_done(p->in, p->n);
}

static void put_piece(kh_spread *s, const piece *p)
{
	piece *later = p->loan ? kh_queue_try(s->idle) : NULL;

	if (!later) {
		copy(p);
		return;
	}
	atomic_fetch_add(&p->loan->parts, 1);
	*later = *p;
	kh_queue_push(s->full, later);
}

int kh_spread_put(kh_spread *s, const char *p, size_t n, kh_loan *loan, kh_err *err)
{
	while (n > 0) {
		int rc = s->now ? KH_OK : next_window(s, n, err);

		if (rc)
			return rc;
		const size_t room = s->now->bytes - s->used, m = n < room ? n : room;

		window *const w = s->now;
		char *const to = w->map + s->used;

		s->used += m;
		s->at += m;
		if (s->used == w->bytes)
			s->now = NULL;
		put_piece(s, &(piece) { p, m, to, w, loan });
		p += m;
		n -= m;
	}
	return KH_OK;
}

void kh_spread_help(kh_spread *s)
{
	piece *p;

	while ((p = kh_queue_try(s->full))) {
		kh_loan *loan = p->loan;

		copy(p);
		kh_queue_give_back(s->idle, p);
		kh_loan_end(loan);
	}
	make_ahead(s);
}

int kh_spread_finish(kh_spread *s, kh_err *err)
{
	drop_coming(s);
	kh_spread_help(s);
	return kh_out_cut(s->out, s->at, err);
}
