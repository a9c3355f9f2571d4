#include <config.h>
#include "io/spread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Parts of the file that are mapped at a time: twice as much each time. */
enum { FIRST = 4 << 20, MOST = 64 << 20 };

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
	size_t next;                    /* bytes of the next window */
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
	s->at = at;
	s->next = FIRST;
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

void kh_spread_free(kh_spread *s)
{
	piece *p;

	if (!s)
		return;
	while (s->full && (p = kh_queue_try(s->full)))
		window_done(p->in, p->n);
	if (s->now)
		window_done(s->now, s->now->bytes - s->used);
	kh_queue_free(s->idle);
	kh_queue_free(s->full);
	free(s->all);
	free(s);
}

/* The next part of the file; if there is no room for it, just the n bytes that are needed. */
static int next_window(kh_spread *s, size_t n, kh_err *err)
{
	window *w = kh_array(1, sizeof *w, err);
	kh_err why = { 0, "" };
	int rc;

	if (!w)
		return KH_ENOMEM;
	w->bytes = s->next;
	rc = kh_out_map(s->out, s->at, w->bytes, &w->map, &why);
	if (rc) {
		w->bytes = n < MOST ? n : MOST;
		rc = kh_out_map(s->out, s->at, w->bytes, &w->map, err);
	}
	if (rc) {
		free(w);
		return rc;
	}
	atomic_init(&w->left, w->bytes);
	s->now = w;
	s->used = 0;
	s->next = s->next < MOST ? 2 * s->next : MOST;
	return KH_OK;
}

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
}

int kh_spread_finish(kh_spread *s, kh_err *err)
{
	kh_spread_help(s);
	return kh_out_cut(s->out, s->at, err);
}
