#include <config.h>
#include "io/text.h"

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
	kh_text *text;
	uint64_t ticket;
	const char *p;                  /* n bytes: `in`, or lent */
	size_t n, packed;
	kh_loan *loan;                  /* NULL: `in` */
	kh_bgzf *z;
	char in[KH_BGZF_UNIT];
	char out[KH_BGZF_MAX];
} unit;

struct kh_text {
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
bool kh_text_wants_bgzf(const char *path)
{
	size_t n = strlen(path);

	return (n > 3 && strcmp(path + n - 3, ".gz") == 0) ||
	       (n > 4 && strcmp(path + n - 4, ".bgz") == 0);
}

int kh_text_open(kh_text **out, const kh_text_options *o, kh_monitor *m, kh_err *err)
{
	kh_text *t = kh_array(1, sizeof *t, err);
	size_t n = 4 * (size_t)o->threads + 4;
	int rc;

	if (!t)
		return KH_ENOMEM;
	rc = m ? KH_OK : kh_monitor_new(&t->own, err);
	t->m = m = m ? m : t->own;
	t->bgzf = o->bgzf;
	t->n_all = n;
	if (!rc)
		rc = kh_out_open(&t->out, o->path, err);
	if (!rc && o->digest) {
		t->digest = XXH3_createState();
		rc = t->digest ? KH_OK : kh_fail_nomem(err);
	}
	if (t->digest)
		XXH3_64bits_reset(t->digest);
	if (!rc && t->bgzf) {
		t->all = kh_array(n, sizeof *t->all, err);
		rc = t->all ? kh_queue_new(&t->idle, m, n, err) : KH_ENOMEM;
		if (!rc)
			rc = kh_queue_new(&t->full, m, n, err);
		if (!rc)
			rc = kh_order_new(&t->order, m, n, err);
		for (size_t i = 0; i < n && !rc; i++) {
			t->all[i].text = t;
			rc = kh_bgzf_new(&t->all[i].z, err);
			kh_queue_push(t->idle, &t->all[i]);
		}
	}
	if (rc) {
		kh_text_close(t);
		return rc;
	}
	*out = t;
	return KH_OK;
}

void kh_text_close(kh_text *t)
{
	if (!t)
		return;
	kh_out_close(t->out);
	kh_queue_free(t->idle);
	kh_queue_free(t->full);
	kh_order_free(t->order);
	for (size_t i = 0; t->all && i < t->n_all; i++)
		kh_bgzf_free(t->all[i].z);
	free(t->all);
	kh_monitor_free(t->own);
	XXH3_freeState(t->digest);
	free(t);
}

/* --- units ------------------------------------------------------------------------ */
/* Writes what comes next; by one thread at a time. */
static int write_next(kh_text *t, const void *p, size_t n, kh_err *err)
{
	if (t->digest)
		XXH3_64bits_update(t->digest, p, n);
	t->bytes += n;
	return kh_out_write(t->out, p, n, err);
}

static int write_unit(void *arg, void *item, kh_err *err)
{
	unit *u = item;
	int rc = write_next(u->text, u->out, u->packed, err);

	(void)arg;
	kh_queue_give_back(u->text->idle, u);
	return rc;
}

static int pack_unit(unit *u)
{
	u->packed = kh_bgzf_pack(u->z, u->p, u->n, u->out);
	if (u->loan)
		kh_loan_end(u->loan);
	return kh_order_put(u->text->order, u->ticket, u, write_unit, NULL);
}

int kh_text_help(kh_text *t)
{
	unit *u;
	int rc = KH_OK;

	while (!rc && t->bgzf && (u = kh_queue_try(t->full)))
		rc = pack_unit(u);
	return rc;
}

/* A unit to fill: an idle one, or, while there is none, the next of the waiting ones is
 * compressed here. */
static int take_unit(kh_text *t)
{
	int rc = KH_OK;

	while (!rc && !(t->now = kh_queue_try(t->idle))) {
		unit *u = kh_queue_try(t->full);

		if (u)
			rc = pack_unit(u);
		else if (!(t->now = kh_queue_pop(t->idle)))
			return KH_ECANCEL;
		else
			break;
	}
	if (!rc) {
		t->now->n = 0;
		t->now->p = t->now->in;
		t->now->loan = NULL;
		t->now->ticket = t->tickets++;
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

int kh_text_put(kh_text *t, const char *p, size_t n, kh_loan *loan, kh_err *err)
{
	if (!t->bgzf)
		return write_next(t, p, n, err);
	while (n > 0) {
		int rc = t->now ? KH_OK : take_unit(t);
		size_t m;

		if (rc)
			return rc;
		m = KH_BGZF_UNIT - t->now->n;
		m = n < m ? n : m;
		fill(t->now, p, m, loan);
		p += m;
		n -= m;
		if (t->now->n == KH_BGZF_UNIT) {
			kh_queue_push(t->full, t->now);
			t->now = NULL;
		}
	}
	return KH_OK;
}

int kh_text_finish(kh_text *t, kh_err *err)
{
	int rc = KH_OK;

	if (t->finished)
		return KH_OK;
	if (t->bgzf) {
		if (t->now)
			kh_queue_push(t->full, t->now);
		t->now = NULL;
		rc = kh_text_help(t);
		if (rc)
			rc = kh_monitor_error(t->m, err);
		else
			rc = write_next(t, kh_bgzf_eof, sizeof kh_bgzf_eof, err);
	}
	if (!rc)
		rc = kh_out_sync(t->out, err);
	t->finished = !rc;
	return rc;
}

bool kh_text_digest(const kh_text *t, uint64_t *bytes, uint64_t *xxh3)
{
	if (!t->finished || !t->digest || !kh_out_whole(t->out))
		return false;
	*bytes = t->bytes;
	*xxh3 = XXH3_64bits_digest(t->digest);
	return true;
}

bool kh_text_plain(const kh_text *t)
{
	return !t->bgzf;
}

int kh_text_commit(kh_text *const *t, size_t n, kh_err *err)
{
	kh_out **out = kh_array(n, sizeof(kh_out *), err);
	int rc = out ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		if (t[i] && !(rc = kh_text_finish(t[i], err)))
			out[i] = t[i]->out;
	if (!rc)
		rc = kh_out_commit(out, n, err);
	free(out);
	return rc;
}
