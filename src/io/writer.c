#include <config.h>
#include "io/writer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "io/bgzf.h"
#include "base/mem.h"
#include "base/order.h"
#include "io/output.h"

typedef struct unit {
	kh_writer *writer;
	uint64_t ticket;
	const char *p;                  /* n bytes: `in`, or lent */
	size_t n, packed;
	kh_loan *loan;                  /* NULL: `in` */
	kh_bgzf *z;
	char in[KH_BGZF_UNIT];
	char out[KH_BGZF_MAX];
} unit;

struct kh_writer {
	kh_out *out;
	kh_monitor *m, *own;            /* own: the same, if it was made here */
	bool bgzf;
	kh_queue *idle, *full;          /* of unit */
	kh_order *order;
	unit *all;
	size_t n_all;
	unit *now;                      /* being filled */
	uint64_t tickets;
	bool finished;                  /* all but its name */
	XXH3_state_t *digest;           /* of what was written; NULL: not wanted */
	uint64_t bytes;
};

/* --- loans ------------------------------------------------------------------------ */
void kh_lend(kh_loan *l, void (*back)(void *arg), void *arg)
{
	atomic_init(&l->parts, 1);
	l->back = back;
	l->arg = arg;
}

void kh_loan_end(kh_loan *l)
{
	if (atomic_fetch_sub(&l->parts, 1) == 1)
		l->back(l->arg);
}

/* --- open, close ------------------------------------------------------------------ */
bool kh_writer_wants_bgzf(const char *path)
{
	size_t n = strlen(path);

	return (n > 3 && strcmp(path + n - 3, ".gz") == 0) ||
	       (n > 4 && strcmp(path + n - 4, ".bgz") == 0);
}

/* Opens a zeroed writer that has its monitor. */
static int open_writer(kh_writer *w, const kh_writer_options *o, kh_err *err)
{
	const size_t n = 4 * (size_t)o->threads + 4;
	kh_monitor *m = w->m;
	int rc = kh_out_open(&w->out, o->path, err);

	w->bgzf = o->bgzf;
	w->n_all = n;
	if (!rc && o->digest) {
		w->digest = XXH3_createState();
		rc = w->digest ? KH_OK : kh_fail_nomem(err);
	}
	if (w->digest)
		XXH3_64bits_reset(w->digest);
	if (!rc && w->bgzf) {
		w->all = kh_array(n, sizeof *w->all, err);
		rc = w->all ? kh_queue_new(&w->idle, m, n, err) : KH_ENOMEM;
		if (!rc)
			rc = kh_queue_new(&w->full, m, n, err);
		if (!rc)
			rc = kh_order_new(&w->order, m, n, err);
		for (size_t i = 0; i < n && !rc; i++) {
			w->all[i].writer = w;
			rc = kh_bgzf_new(&w->all[i].z, err);
			kh_queue_push(w->idle, &w->all[i]);
		}
	}
	return rc;
}

int kh_writer_open_for(kh_writer **out, const kh_writer_options *o, kh_monitor *m, kh_err *err)
{
	kh_writer *w = kh_array(1, sizeof *w, err);
	int rc;

	if (!w)
		return KH_ENOMEM;
	w->m = m;
	rc = open_writer(w, o, err);
	if (rc)
		kh_writer_close(w);
	else
		*out = w;
	return rc;
}

int kh_writer_open(kh_writer **out, const kh_writer_options *o, kh_err *err)
{
	kh_monitor *own = NULL;
	int rc = kh_monitor_new(&own, err);

	if (rc || (rc = kh_writer_open_for(out, o, own, err))) {
		kh_monitor_free(own);
		return rc;
	}
	(*out)->own = own;
	return KH_OK;
}

void kh_writer_close(kh_writer *w)
{
	if (!w)
		return;
	kh_out_close(w->out);
	kh_queue_free(w->idle);
	kh_queue_free(w->full);
	kh_order_free(w->order);
	for (size_t i = 0; w->all && i < w->n_all; i++)
		kh_bgzf_free(w->all[i].z);
	free(w->all);
	kh_monitor_free(w->own);
	XXH3_freeState(w->digest);
	free(w);
}

/* --- units ------------------------------------------------------------------------ */
/* Writes what comes next; by one thread at a time. */
static int write_next(kh_writer *w, const void *p, size_t n, kh_err *err)
{
	if (w->digest)
		XXH3_64bits_update(w->digest, p, n);
	w->bytes += n;
	return kh_out_write(w->out, p, n, err);
}

static int write_unit(void *arg, void *item, kh_err *err)
{
	unit *u = item;
	int rc = write_next(u->writer, u->out, u->packed, err);

	(void)arg;
	kh_queue_give_back(u->writer->idle, u);
	return rc;
}

static int pack_unit(unit *u)
{
	u->packed = kh_bgzf_pack(u->z, u->p, u->n, u->out);
	if (u->loan)
		kh_loan_end(u->loan);
	return kh_order_put(u->writer->order, u->ticket, u, write_unit, NULL);
}

int kh_writer_help(kh_writer *w)
{
	unit *u;
	int rc = KH_OK;

	while (!rc && w->bgzf && (u = kh_queue_try(w->full)))
		rc = pack_unit(u);
	return rc;
}

/* A unit to fill: an idle one, or, while there is none, the next of the waiting ones is
 * compressed here. */
static int take_unit(kh_writer *w)
{
	int rc = KH_OK;

	while (!rc && !(w->now = kh_queue_try(w->idle))) {
		unit *u = kh_queue_try(w->full);

		if (u)
			rc = pack_unit(u);
		else if (!(w->now = kh_queue_pop(w->idle)))
			return KH_ECANCEL;
		else
			break;
	}
	if (!rc) {
		w->now->n = 0;
		w->now->p = w->now->in;
		w->now->loan = NULL;
		w->now->ticket = w->tickets++;
	}
	return rc;
}

/* Puts m bytes more into the unit that is being filled. */
static void fill(unit *u, const char *p, size_t m, kh_loan *loan)
{
	if (loan && m == KH_BGZF_UNIT) {
		atomic_fetch_add(&loan->parts, 1);
		u->loan = loan;
		u->p = p;
	} else {
		memcpy(u->in + u->n, p, m);
	}
	u->n += m;
}

/* With a loan, or NULL: all is copied. */
static int put(kh_writer *w, const char *p, size_t n, kh_loan *loan, kh_err *err)
{
	if (!w->bgzf)
		return write_next(w, p, n, err);
	while (n > 0) {
		int rc = w->now ? KH_OK : take_unit(w);
		size_t m;

		if (rc)
			return rc;
		m = KH_BGZF_UNIT - w->now->n;
		m = n < m ? n : m;
		fill(w->now, p, m, loan);
		p += m;
		n -= m;
		if (w->now->n == KH_BGZF_UNIT) {
			kh_queue_push(w->full, w->now);
			w->now = NULL;
		}
	}
	return KH_OK;
}

int kh_writer_put(kh_writer *w, const char *p, size_t n, kh_err *err)
{
	return put(w, p, n, NULL, err);
}

int kh_writer_lend(kh_writer *w, const char *p, size_t n, kh_loan *loan, kh_err *err)
{
	return put(w, p, n, loan, err);
}

int kh_writer_finish(kh_writer *w, kh_err *err)
{
	int rc = KH_OK;

	if (w->finished)
		return KH_OK;
	if (w->bgzf) {
		if (w->now)
			kh_queue_push(w->full, w->now);
		w->now = NULL;
		rc = kh_writer_help(w);
		if (rc)
			rc = kh_monitor_error(w->m, err);
		else
			rc = write_next(w, kh_bgzf_eof, sizeof kh_bgzf_eof, err);
	}
	if (!rc)
		rc = kh_out_sync(w->out, err);
	w->finished = !rc;
	return rc;
}

bool kh_writer_digest(const kh_writer *w, uint64_t *bytes, uint64_t *xxh3)
{
	if (!w->finished || !w->digest || !kh_out_whole(w->out))
		return false;
	*bytes = w->bytes;
	*xxh3 = XXH3_64bits_digest(w->digest);
	return true;
}

bool kh_writer_plain(const kh_writer *w)
{
	return !w->bgzf;
}

int kh_writer_commit(kh_writer *const *w, size_t n, kh_err *err)
{
	kh_out **out = kh_array(n, sizeof(kh_out *), err);
	int rc = out ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		if (w[i] && !(rc = kh_writer_finish(w[i], err)))
			out[i] = w[i]->out;
	if (!rc)
		rc = kh_out_commit(out, n, err);
	free(out);
	return rc;
}
