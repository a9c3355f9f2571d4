/*
 * dtable_query.c - queries of a table over several GPUs: to the owners and back
 *
 * Queries travel as pairs do, and stay in the order of their bins, so that those which an
 * owner works on at a time read rows that are near each other.  Their numbers stay behind:
 * an answer goes to the place where its query was sent from, and from there to where it
 * was asked.  Counts travel first; lists follow when both sides know their lengths.
 */
#include <config.h>
#include "dtable_in.h"

#include "sort.h"

enum look { COUNT, JOIN, RETRIEVE };

struct question {
	const kh_dpart *part;
	enum look look;
	uint32_t *const *counts;
	const kh_lists *lists;
	unsigned chunk;
};

/* --- the owner's side ----------------------------------------------------------------- */
static kh_keys came(const kh_dtable *d, size_t i, unsigned c)
{
	const kh_dmember *m = &d->m[i];
	const size_t from = kh_dt_came(d, &m->keys, c);

	return (kh_keys) { kh_dt_at(m, KH_DROOM_GOT_KEYS, from * d->key_bytes),
			   kh_dt_came(d, &m->keys, c + 1) - from };
}

static int count(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned c = ((struct question *)arg)->chunk;
	kh_dmember *m = &d->m[i];
	const kh_keys q = came(d, i, c);
	uint32_t *to = kh_dt_at(m, KH_DROOM_ANSWER, kh_dt_came(d, &m->keys, c) * 4);

	KH_DTRY(kh_dt_work_after(d, i, c, err));
	if (c == 0)
		KH_DTRY(kh_dt_mark(d, i, KH_DPHASE_MOVE + 1, err));
	if (d->hashgraph)
		return kh_hashgraph_part_count(&m->part, &q, to, d->work[i], err);
	return kh_table_count(m->t, &q, to, d->work[i], err);
}

/* The HashGraph of the queries, whose values are their places. */
static int join(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned n = d->chunks * d->members;
	kh_dmember *m = &d->m[i];
	const kh_dplan *p = &m->keys;
	kh_run *run = kh_dt_up(d, i);
	kh_hashgraph_part q = m->part;

	(void)arg;
	for (unsigned k = 0; k < n; k++)
		run[k] = (kh_run) {
			kh_dt_at(m, KH_DROOM_GOT_KEYS, p->from[k] * d->key_bytes),
			kh_dt_at(m, KH_DROOM_GOT_VALUES, p->from[k] * 4),
			(uint32_t)p->got[k],
		};
	q.value_bits = 32;
	q.n = p->from[n];
	q.offset = m->room[KH_DROOM_ROWS].p;
	q.keys = m->room[KH_DROOM_ROW_KEYS].p;
	q.values = m->room[KH_DROOM_ROW_VALUES].p;
	KH_DTRY(KH_GPU(cudaMemcpyAsync(m->room[KH_DROOM_UP].p, run, n * sizeof *run,
				       cudaMemcpyHostToDevice, d->work[i]),
		       err));
	KH_DTRY(kh_dt_work_after(d, i, d->chunks - 1, err));
	KH_DTRY(kh_dt_mark(d, i, KH_DPHASE_MOVE + 1, err));
	KH_DTRY(kh_dt_number(m->room[KH_DROOM_GOT_VALUES].p, q.n, d->work[i], err));
	KH_DTRY(kh_hashgraph_part_build(m->t, &q, m->room[KH_DROOM_UP].p, n, d->work[i],
					err));
	return kh_hashgraph_part_join(&m->part, &q, m->room[KH_DROOM_ANSWER].p, d->work[i],
				      err);
}

/* The lists of chunk c, one after the other. */
static int retrieve(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned c = ((struct question *)arg)->chunk;
	kh_dmember *m = &d->m[i];
	const kh_keys q = came(d, i, c);
	const size_t from = kh_dt_came(d, &m->keys, c);
	const size_t *at = m->lists.at + (size_t)c * d->members;
	kh_lists out = { kh_dt_at(m, KH_DROOM_START, from * 8), m->room[KH_DROOM_LISTS].p,
			 at[d->members] };

	if (d->hashgraph)
		return kh_hashgraph_part_copy(m->t, &m->part, &q, &out, d->work[i], err);
	out.offsets = m->room[KH_DROOM_START_BACK].p; /* of no more use */
	out.values = kh_dt_at(m, KH_DROOM_LISTS, at[0] * d->value_bytes);
	out.capacity = at[d->members] - at[0];
	return out.capacity ? kh_table_retrieve(m->t, &q, &out, d->work[i], err) : KH_OK;
}

/* --- the asker's side ----------------------------------------------------------------- */
static kh_danswers answers(const kh_dtable *d, size_t i, const kh_dpart *part)
{
	const kh_dmember *m = &d->m[i];

	if (d->independent)
		return (kh_danswers) { m->room[KH_DROOM_BACK].p, NULL, part[i].n, d->members };
	return (kh_danswers) { m->room[KH_DROOM_BACK].p, m->room[KH_DROOM_VALUES].p, part[i].n,
			       1 };
}

/* Work goes on when the last chunk of answers is here. */
static int back(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return kh_dt_work_after(d, i, d->chunks - 1, err);
}

static int put_counts(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	const kh_danswers a = answers(d, i, q->part);

	return kh_dt_counts(&a, q->counts[i], d->work[i], err);
}

static int put_lists(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	const kh_danswers a = answers(d, i, q->part);
	kh_dmember *m = &d->m[i];
	uint64_t *start = m->room[KH_DROOM_START_BACK].p;

	KH_DTRY(kh_scan_offsets(m->t, a.count, 1, a.n * a.each, start, d->work[i], err));
	return kh_dt_lists(m->t, &a, start, m->room[KH_DROOM_LISTS_BACK].p,
			   d->cfg.value_bits, &q->lists[i], d->work[i], err);
}

/* --- counts --------------------------------------------------------------------------- */
static int count_rooms(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	kh_dmember *m = &d->m[i];
	const size_t got = kh_dt_came(d, &m->keys, d->chunks);
	const size_t asked = m->keys.back[(size_t)d->chunks * d->members];

	KH_DTRY(kh_dt_room(m, KH_DROOM_ANSWER, got * 4, err));
	KH_DTRY(kh_dt_room(m, KH_DROOM_BACK, asked * 4, err));
	if (q->look != JOIN)
		return KH_OK;
	KH_DTRY(kh_dt_room(m, KH_DROOM_GOT_VALUES, got * 4, err));
	KH_DTRY(kh_dt_room(m, KH_DROOM_ROWS, ((size_t)m->part.bins * m->part.rows + 1) * 4,
			   err));
	KH_DTRY(kh_dt_room(m, KH_DROOM_ROW_KEYS, got * d->key_bytes, err));
	return kh_dt_room(m, KH_DROOM_ROW_VALUES, got * 4, err);
}

/* Counts of all queries, where they were sent from; phases up to TABLE. */
static int ask(kh_dtable *d, struct question *q, kh_err *err)
{
	const unsigned how = KH_DPLAN_OWN | (d->independent ? KH_DPLAN_TO_ALL : 0);
	const kh_dorder o = { q->part, 0, true };
	const kh_dmove counts = { KH_DROOM_ANSWER, KH_DROOM_BACK, 4, how | KH_DPLAN_BACK,
				  NULL };

	KH_DTRY(kh_dt_begin(d, q->part, err));
	if (d->independent)
		KH_DTRY(kh_dt_broadcast(d, q->part, err));
	else
		KH_DTRY(kh_dt_divide(d, q->part, false, err));
	kh_dt_plan(d, how);
	KH_DTRY(kh_dt_each(d, count_rooms, q, err));
	KH_DTRY(kh_dt_exchange(d, &o, how, err));
	if (q->look == JOIN)
		KH_DTRY(kh_dt_each(d, join, q, err));
	for (q->chunk = 0; q->chunk < d->chunks; q->chunk++) {
		if (q->look != JOIN)
			KH_DTRY(kh_dt_each(d, count, q, err));
		KH_DTRY(kh_dt_wire_after(d, q->chunk, err));
		KH_DTRY(kh_dt_move(d, q->chunk, &counts, NULL, err));
	}
	return kh_dt_wire_done(d, d->chunks - 1, err);
}

static int ask_counts(kh_dtable *d, struct question *q, kh_err *err)
{
	KH_DTRY(ask(d, q, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_TABLE + 1, err));
	KH_DTRY(kh_dt_each(d, back, NULL, err));
	KH_DTRY(kh_dt_each(d, put_counts, q, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_BACK + 1, err));
	return kh_dt_finish(d, err);
}

/* What cannot be asked: it has no owners yet, or answers could not be numbered. */
static int refuse(const kh_dtable *d, const kh_dpart *part, kh_err *err)
{
	const uint64_t each = d->independent ? d->members : 1;

	if (!d->independent && !d->built)
		return kh_fail(err, KH_EUSAGE, "nothing has been inserted yet");
	for (size_t i = 0; i < d->n; i++)
		if (part[i].n * each >= UINT32_MAX)
			return kh_fail(err, KH_EUSAGE,
				       "%zu queries on cuda:%d: 2^32 answers are too many",
				       part[i].n, d->m[i].device);
	return KH_OK;
}

int kh_dtable_count(kh_dtable *d, const kh_dpart *part, uint32_t *const *counts, kh_err *err)
{
	struct question q = { .part = part, .look = COUNT, .counts = counts };

	KH_DTRY(refuse(d, part, err));
	return ask_counts(d, &q, err);
}

int kh_dtable_join(kh_dtable *d, const kh_dpart *part, uint32_t *const *counts, kh_err *err)
{
	struct question q = { .part = part, .look = JOIN, .counts = counts };

	if (!d->hashgraph)
		return kh_fail(err, KH_EUSAGE, "only a hashgraph has join");
	KH_DTRY(refuse(d, part, err));
	return ask_counts(d, &q, err);
}

/* --- lists ---------------------------------------------------------------------------- */

/* How long all lists are that go to each member: its row of the matrix. */
static int lengths(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dcounts c = { .chunks = d->chunks, .members = d->members };
	kh_dmember *m = &d->m[i];
	const size_t n = (size_t)d->chunks * d->members, got = m->keys.from[n];
	const size_t row = (d->first + i) * n * 8;
	uint64_t *up = kh_dt_up(d, i);

	(void)arg;
	KH_DTRY(kh_dt_room(m, KH_DROOM_START, (got + 1) * 8, err));
	KH_DTRY(kh_scan_offsets(m->t, m->room[KH_DROOM_ANSWER].p, 1, got,
				m->room[KH_DROOM_START].p, d->work[i], err));
	for (size_t k = 0; k <= n; k++)
		up[k] = m->keys.from[k];
	KH_DTRY(KH_GPU(cudaMemcpyAsync(m->room[KH_DROOM_UP].p, up, (n + 1) * sizeof *up,
				       cudaMemcpyHostToDevice, d->work[i]),
		       err));
	KH_DTRY(KH_GPU(cudaMemsetAsync(m->room[KH_DROOM_MATRIX].p, 0, d->members * n * 8,
				       d->work[i]),
		       err));
	return kh_dt_lengths(&c, m->room[KH_DROOM_START].p, m->room[KH_DROOM_UP].p,
			     kh_dt_at(m, KH_DROOM_MATRIX, row), d->work[i], err);
}

/* No member sends or gets 2^32 values: all processes come to the same. */
static int check_lengths(const kh_dtable *d, kh_err *err)
{
	const uint64_t *x = kh_dt_matrix(d);
	const size_t all = d->members, row = all * d->chunks;

	for (size_t m = 0; m < all; m++) {
		uint64_t sent = 0, got = 0;

		for (size_t k = 0; k < all * row; k++) {
			sent += k / row == m ? x[k] : 0;
			got += k / d->chunks % all == m ? x[k] : 0;
		}
		if (sent >= UINT32_MAX || got >= UINT32_MAX)
			return kh_fail(err, KH_EUSAGE,
				       "GPU %zu would send %llu values and get %llu at a time: "
				       "below 2^32 are possible",
				       m, (unsigned long long)sent, (unsigned long long)got);
	}
	return KH_OK;
}

static int list_rooms(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	kh_dmember *m = &d->m[i];
	const size_t n = (size_t)d->chunks * d->members;
	size_t most = m->keys.back[n];

	(void)arg;
	for (unsigned c = 0; c < d->chunks; c++)
		most = came(d, i, c).n > most ? came(d, i, c).n : most;
	KH_DTRY(kh_dt_room(m, KH_DROOM_LISTS, m->lists.at[n] * d->value_bytes, err));
	KH_DTRY(kh_dt_room(m, KH_DROOM_LISTS_BACK, m->lists.from[n] * d->value_bytes, err));
	return kh_dt_room(m, KH_DROOM_START_BACK, (most + 1) * 8, err);
}

int kh_dtable_retrieve(kh_dtable *d, const kh_dpart *part, const kh_lists *out, kh_err *err)
{
	struct question q = { .part = part, .look = RETRIEVE, .lists = out };
	const unsigned how = KH_DPLAN_OWN | KH_DPLAN_LISTS;
	const kh_dmove lists = { KH_DROOM_LISTS, KH_DROOM_LISTS_BACK, d->value_bytes, how,
				 NULL };

	KH_DTRY(refuse(d, part, err));
	if (d->value_bytes == 0)
		return kh_fail(err, KH_EUSAGE, "a table of keys alone has no lists");
	KH_DTRY(ask(d, &q, err));
	KH_DTRY(kh_dt_each(d, back, NULL, err));
	KH_DTRY(kh_dt_each(d, lengths, NULL, err));
	KH_DTRY(kh_dt_share(d, err));
	KH_DTRY(check_lengths(d, err));
	kh_dt_plan(d, how);
	KH_DTRY(kh_dt_each(d, list_rooms, NULL, err));
	for (q.chunk = 0; q.chunk < d->chunks; q.chunk++) {
		KH_DTRY(kh_dt_each(d, retrieve, &q, err));
		KH_DTRY(kh_dt_wire_after(d, q.chunk, err));
		KH_DTRY(kh_dt_move(d, q.chunk, &lists, NULL, err));
	}
	KH_DTRY(kh_dt_wire_done(d, d->chunks - 1, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_TABLE + 1, err));
	KH_DTRY(kh_dt_each(d, back, NULL, err));
	KH_DTRY(kh_dt_each(d, put_lists, &q, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_BACK + 1, err));
	return kh_dt_finish(d, err);
}
