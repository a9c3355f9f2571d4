/* mpi_transfer.c - transfers over MPI: started and tested, never waited for */
#include <config.h>
#include "comm/mpi_in.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { CHUNK = 16 << 20 };              /* bytes of one transfer */

struct flight {
	struct flight *next;
	MPI_Request request;
	int tag;
	char *p;
	int n;
	kh_packet *packet;              /* sent: freed when all its chunks are out */
};

/* --- failures --------------------------------------------------------------------- */
void kh_carrier_fail(struct carrier *t, const char *msg)
{
	kh_err e = { 0, "" };

	kh_fail(&e, KH_EIO, "process %u failed: %s", t->c->self, msg);
	kh_comm_set_failure(t->c, KH_EIO, false, e.msg);
}

static bool check(struct carrier *t, int rc, const char *what)
{
	char text[MPI_MAX_ERROR_STRING], msg[MPI_MAX_ERROR_STRING + 64];
	int n = 0;

	if (rc == MPI_SUCCESS)
		return true;
	MPI_Error_string(rc, text, &n);
	snprintf(msg, sizeof msg, "%s: %.*s", what, n, text);
	kh_carrier_fail(t, msg);
	return false;
}

/* --- sending ---------------------------------------------------------------------- */
static bool send_chunk(struct carrier *t, const flight *what, unsigned to)
{
	flight *f = malloc(sizeof *f);

	if (!f) {
		kh_carrier_fail(t, "out of memory");
		return false;
	}
	*f = *what;
	if (!check(t, MPI_Isend(f->p, f->n, MPI_BYTE, (int)to, f->tag, MPI_COMM_WORLD, &f->request),
		   "MPI_Isend")) {
		free(f);
		return false;
	}
	f->next = t->out;
	t->out = f;
	if (f->packet)
		f->packet->number++;
	return true;
}

void kh_move_message(struct carrier *t, kh_packet *p)
{
	size_t at = 0, left = p->n;
	bool sent = true;

	p->number = 0;
	for (; sent && left > CHUNK; at += CHUNK, left -= CHUNK) {
		flight f = { .tag = TAG_MORE + (int)p->channel, .p = (char *)p->p + at, .n = CHUNK,
			     .packet = p };

		sent = send_chunk(t, &f, p->peer);
	}
	if (sent) {
		flight f = { .tag = (int)p->channel, .p = left ? (char *)p->p + at : NULL,
			     .n = (int)left, .packet = p };

		sent = send_chunk(t, &f, p->peer);
	}
	if (p->number == 0)
		kh_packet_free(p);
}

void kh_move_to_all(struct carrier *t, int tag, void *p, size_t n)
{
	for (unsigned r = 0; r < t->c->size; r++) {
		flight f = { .tag = tag, .p = p, .n = (int)n };

		if (r != t->c->self)
			send_chunk(t, &f, r);
	}
}

static bool test_sends(struct carrier *t)
{
	bool any = false;

	for (flight **at = &t->out; *at;) {
		flight *f = *at;
		int done = 0;

		if (!check(t, MPI_Test(&f->request, &done, MPI_STATUS_IGNORE), "MPI_Test") ||
		    !done) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		any = true;
		if (f->packet && --f->packet->number == 0)
			kh_packet_free(f->packet);
		free(f);
	}
	return any;
}

/* --- receiving -------------------------------------------------------------------- */
static void receive(struct carrier *t, MPI_Message *m, const MPI_Status *s)
{
	struct peer *p = &t->peer[s->MPI_SOURCE];
	flight *f = calloc(1, sizeof *f);

	if (f) {
		MPI_Get_count(s, MPI_BYTE, &f->n);
		f->p = malloc((size_t)f->n + 1);
	}
	if (!f || !f->p) {
		free(f);
		kh_carrier_fail(t, "out of memory");
		return;
	}
	f->tag = s->MPI_TAG;
	if (!check(t, MPI_Imrecv(f->p, f->n, MPI_BYTE, m, &f->request), "MPI_Imrecv")) {
		free(f->p);
		free(f);
		return;
	}
	if (p->in)
		p->in_last->next = f;
	else
		p->in = f;
	p->in_last = f;
}

static bool look(struct carrier *t)
{
	bool any = false;

	for (;;) {
		MPI_Message m;
		MPI_Status s;
		int there = 0;

		if (!check(t,
			   MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &m, &s),
			   "MPI_Improbe") ||
		    !there)
			return any;
		t->peer[s.MPI_SOURCE].heard = kh_seconds();
		receive(t, &m, &s);
		any = any || s.MPI_TAG != TAG_ALIVE;
	}
}

/* Adds a chunk to the message that it is a part of, and takes over f->p. *all: the whole message,
 * if it is complete. */
static bool join(struct carrier *t, struct peer *p, const flight *f, char **all, size_t *n)
{
	unsigned ch = (unsigned)f->tag % KH_CHANNELS;

	if (f->tag < KH_CHANNELS && p->n_part[ch] == 0) {
		*all = f->p;
		*n = (size_t)f->n;
		return true;
	}
	if (KH_GROW(p->part[ch], p->cap_part[ch], p->n_part[ch] + (size_t)f->n, NULL)) {
		kh_carrier_fail(t, "out of memory");
		free(f->p);
		return false;
	}
	memcpy(p->part[ch] + p->n_part[ch], f->p, (size_t)f->n);
	p->n_part[ch] += (size_t)f->n;
	free(f->p);
	if (f->tag >= KH_CHANNELS)
		return false;
	*all = p->part[ch];
	*n = p->n_part[ch];
	p->part[ch] = NULL;
	p->n_part[ch] = p->cap_part[ch] = 0;
	return true;
}

/* Handles a transfer from a process that is complete. */
static void take_in(struct carrier *t, unsigned from, const flight *f)
{
	struct peer *p = &t->peer[from];
	char *all;
	size_t n;

	if (f->tag < TAG_ALIVE) {
		if (!join(t, p, f, &all, &n))
			return;
		kh_packet *x = kh_packet_new(from, (unsigned)f->tag, all, n);

		if (x)
			kh_comm_deliver(t->c, x);
		else
			kh_carrier_fail(t, "out of memory");
		return;
	}
	if (f->tag == TAG_FAILURE && f->n == sizeof(kh_err)) {
		kh_err e;

		memcpy(&e, f->p, sizeof e);
		e.msg[sizeof e.msg - 1] = 0;
		if (e.code >= 0 || e.code < KH_ECANCEL)
			e.code = KH_EIO;
		kh_comm_set_failure(t->c, e.code, true, e.msg);
	}
	if (f->tag == TAG_BYE)
		p->bye = true;
	free(f->p);
}

static bool test_receives(struct carrier *t)
{
	bool any = false;

	for (unsigned r = 0; r < t->c->size; r++) {
		struct peer *p = &t->peer[r];

		while (p->in) {
			flight *f = p->in;
			int done = 0;

			if (!check(t, MPI_Test(&f->request, &done, MPI_STATUS_IGNORE),
				   "MPI_Test") ||
			    !done)
				break;
			p->in = f->next;
			take_in(t, r, f);
			free(f);
			any = true;
		}
	}
	return any;
}

bool kh_move_test(struct carrier *t)
{
	bool any = look(t);

	any |= test_receives(t);
	any |= test_sends(t);
	return any;
}

bool kh_move_under_way(const struct carrier *t)
{
	for (unsigned r = 0; r < t->c->size; r++)
		if (t->peer[r].in)
			return true;
	return t->out != NULL;
}

/* --- signs of life ---------------------------------------------------------------- */
void kh_move_alive(struct carrier *t, unsigned to)
{
	struct peer *p = &t->peer[to];
	int done = 1;

	if (!p->alive && !(p->alive = calloc(1, sizeof *p->alive))) {
		kh_carrier_fail(t, "out of memory");
		return;
	}
	if (p->alive->tag == TAG_ALIVE)         /* there was one before */
		check(t, MPI_Test(&p->alive->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
	p->alive->tag = TAG_ALIVE;
	if (done)
		check(t,
		      MPI_Isend(NULL, 0, MPI_BYTE, (int)to, TAG_ALIVE, MPI_COMM_WORLD,
				&p->alive->request),
		      "MPI_Isend");
}

void kh_move_clear(struct carrier *t)
{
	for (unsigned r = 0; t->peer && r < t->c->size; r++) {
		if (t->peer[r].alive && t->peer[r].alive->request != MPI_REQUEST_NULL)
			MPI_Request_free(&t->peer[r].alive->request);
		free(t->peer[r].alive);
		for (int ch = 0; ch < KH_CHANNELS; ch++)
			free(t->peer[r].part[ch]);
	}
}
