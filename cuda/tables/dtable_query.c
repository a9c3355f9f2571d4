/*
 * dtable_query.c - queries of a table over several GPUs: to the owners and back; what it has taken
 *
 * Queries travel as pairs do, and stay in the order of their bins, so that those which an
 * owner works on at a time read rows that are near each other.  Their numbers stay behind:
 * an answer goes to the place where its query was sent from, and from there to where it
 * was asked.  Counts travel first; lists follow when both sides know their lengths.
 */
#include <config.h>
#include "cuda/tables/dtable_in.h"

#include "cuda/tables/sort.h"

enum look { COUNT, JOIN, RETRIEVE };

struct question {
	const kht_dpart *part;
	enum look look;
	uint32_t *const *counts;
	const kht_lists *lists;
	unsigned chunk;
};

/* --- the owner's side ------------------------------------------------------------- */
static kht_keys came(const kht_dtable *d, size_t i, unsigned c)
{
	const kht_dmember *m = &d->m[i];
	const size_t from = kht_dt_came(d, &m->keys, c);

	return (kht_keys) { kht_dt_at(m, KHT_DROOM_GOT_KEYS, from * d->key_bytes),
			    kht_dt_came(d, &m->keys, c + 1) - from };
}

static int count(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned c = ((struct question *)arg)->chunk;
	kht_dmember *m = &d->m[i];
	const kht_keys q = came(d, i, c);
	uint32_t *to = kht_dt_at(m, KHT_DROOM_ANSWER, kht_dt_came(d, &m->keys, c) * 4);

	KHT_DTRY(kht_dt_work_after(d, i, c, err));
	if (c == 0)
		KHT_DTRY(kht_dt_mark(d, i, KHT_DPHASE_MOVE + 1, err));
	if (d->hashgraph)
		return kht_hashgraph_part_count(&m->part, &q, to, d->work[i], err);
	return kht_table_count(m->t, &q, to, d->work[i], err);
}

/* The HashGraph of the queries, whose values are their places. */
static int join(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned n = d->chunks * d->members;
	kht_dmember *m = &d->m[i];
	const kht_dplan *p = &m->keys;
	kht_run *run = kht_dt_up(d, i);
	kht_hashgraph_part q = m->part;

	(void)arg;
	for (unsigned k = 0; k < n; k++)
		run[k] = (kht_run) {
			kht_dt_at(m, KHT_DROOM_GOT_KEYS, p->from[k] * d->key_bytes),
			kht_dt_at(m, KHT_DROOM_GOT_VALUES, p->from[k] * 4),
			(uint32_t)p->got[k],
		};
	q.value_bits = 32;
	q.n = p->from[n];
	q.offset = m->room[KHT_DROOM_ROWS].p;
	q.keys = m->room[KHT_DROOM_ROW_KEYS].p;
	q.values = m->room[KHT_DROOM_ROW_VALUES].p;
	KHT_DTRY(KH_GPU(cudaMemcpyAsync(m->room[KHT_DROOM_UP].p, run, n * sizeof *run,
					cudaMemcpyHostToDevice, d->work[i]),
			err));
	KHT_DTRY(kht_dt_work_after(d, i, d->chunks - 1, err));
	KHT_DTRY(kht_dt_mark(d, i, KHT_DPHASE_MOVE + 1, err));
	KHT_DTRY(kht_dt_number(m->room[KHT_DROOM_GOT_VALUES].p, q.n, d->work[i], err));
	KHT_DTRY(kht_hashgraph_part_build(m->t, &q, m->room[KHT_DROOM_UP].p, n, d->work[i], err));
	return kht_hashgraph_part_join(&m->part, &q, m->room[KHT_DROOM_ANSWER].p, d->work[i], err);
}

/* The lists of chunk c, one after the other. */
static int retrieve(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned c = ((struct question *)arg)->chunk;
	kht_dmember *m = &d->m[i];
	const kht_keys q = came(d, i, c);
	const size_t from = kht_dt_came(d, &m->keys, c);
	const size_t *at = m->lists.at + (size_t)c * d->members;
	kht_lists out = { kht_dt_at(m, KHT_DROOM_START, from * 8), m->room[KHT_DROOM_LISTS].p,
			  at[d->members] };

	if (d->hashgraph)
		return kht_hashgraph_part_copy(m->t, &m->part, &q, &out, d->work[i], err);
	out.offsets = m->room[KHT_DROOM_START_BACK].p; /* which is not needed any more */
	out.values = kht_dt_at(m, KHT_DROOM_LISTS, at[0] * d->value_bytes);
	out.capacity = at[d->members] - at[0];
	return out.capacity ? kht_table_retrieve(m->t, &q, &out, d->work[i], err) : KH_OK;
}

/* --- the asker's side ------------------------------------------------------------- */
static kht_danswers answers(const kht_dtable *d, size_t i, const kht_dpart *part)
{
	const kht_dmember *m = &d->m[i];

	if (d->independent)
		return (kht_danswers) { m->room[KHT_DROOM_BACK].p, NULL, part[i].n, d->members };
	return (kht_danswers) { m->room[KHT_DROOM_BACK].p, m->room[KHT_DROOM_VALUES].p, part[i].n,
				1 };
}

/* Work goes on when the last chunk of answers is here. */
static int back(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return kht_dt_work_after(d, i, d->chunks - 1, err);
}

static int put_counts(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	const kht_danswers a = answers(d, i, q->part);

	return kht_dt_counts(&a, q->counts[i], d->work[i], err);
}

static int put_lists(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	const kht_danswers a = answers(d, i, q->part);
	kht_dmember *m = &d->m[i];
	uint64_t *start = m->room[KHT_DROOM_START_BACK].p;

	KHT_DTRY(kht_scan_offsets(m->t, a.count, 1, a.n * a.each, start, d->work[i], err));
	return kht_dt_lists(m->t, &a, start, m->room[KHT_DROOM_LISTS_BACK].p, d->cfg.value_bits,
			    &q->lists[i], d->work[i], err);
}

/* --- counts ----------------------------------------------------------------------- */
static int count_rooms(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct question *q = arg;
	kht_dmember *m = &d->m[i];
	const size_t got = kht_dt_came(d, &m->keys, d->chunks);
	const size_t asked = m->keys.back[(size_t)d->chunks * d->members];

	KHT_DTRY(kht_dt_room(m, KHT_DROOM_ANSWER, got * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_BACK, asked * 4, err));
	if (q->look != JOIN)
		return KH_OK;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_GOT_VALUES, got * 4, err));
	KHT_DTRY(
		kht_dt_room(m, KHT_DROOM_ROWS, ((size_t)m->part.bins * m->part.rows + 1) * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_ROW_KEYS, got * d->key_bytes, err));
	return kht_dt_room(m, KHT_DROOM_ROW_VALUES, got * 4, err);
}

/* Gets the counts of all queries back to where they were sent from; phases up to TABLE. */
static int ask(kht_dtable *d, struct question *q, kh_err *err)
{
	const unsigned how = KHT_DPLAN_OWN | (d->independent ? KHT_DPLAN_TO_ALL : 0);
	const kht_dorder o = { q->part, 0, true };
	const kht_dmove counts = { KHT_DROOM_ANSWER, KHT_DROOM_BACK, 4, how | KHT_DPLAN_BACK,
				   NULL };

	KHT_DTRY(kht_dt_begin(d, q->part, err));
	if (d->independent)
		KHT_DTRY(kht_dt_broadcast(d, q->part, err));
	else
		KHT_DTRY(kht_dt_divide(d, q->part, false, err));
	kht_dt_plan(d, how);
	KHT_DTRY(kht_dt_each(d, count_rooms, q, err));
	KHT_DTRY(kht_dt_exchange(d, &o, how, err));
	if (q->look == JOIN)
		KHT_DTRY(kht_dt_each(d, join, q, err));
	for (q->chunk = 0; q->chunk < d->chunks; q->chunk++) {
		if (q->look != JOIN)
			KHT_DTRY(kht_dt_each(d, count, q, err));
		KHT_DTRY(kht_dt_wire_after(d, q->chunk, err));
		KHT_DTRY(kht_dt_move(d, q->chunk, &counts, NULL, err));
	}
	return kht_dt_wire_done(d, d->chunks - 1, err);
}

static int ask_counts(kht_dtable *d, struct question *q, kh_err *err)
{
	KHT_DTRY(ask(d, q, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_TABLE + 1, err));
	KHT_DTRY(kht_dt_each(d, back, NULL, err));
	KHT_DTRY(kht_dt_each(d, put_counts, q, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_BACK + 1, err));
	return kht_dt_finish(d, err);
}

/* Refuses queries of an empty table, which has no owners yet, and batches too large to be
 * numbered. */
static int refuse(const kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	const uint64_t each = d->independent ? d->members : 1;

	if (!d->independent && !d->built)
		return kh_fail(err, KH_EUSAGE, "nothing has been inserted yet");
	for (size_t i = 0; i < d->members; i++)
		if (part[i].n * each >= UINT32_MAX)
			return kh_fail(err, KH_EUSAGE,
				       "%zu queries on cuda:%d: 2^32 answers are too many",
				       part[i].n, d->m[i].device);
	return KH_OK;
}

int kht_dtable_count(kht_dtable *d, const kht_dpart *part, uint32_t *const *counts, kh_err *err)
{
	struct question q = { .part = part, .look = COUNT, .counts = counts };

	KHT_DTRY(refuse(d, part, err));
	return ask_counts(d, &q, err);
}

int kht_dtable_join(kht_dtable *d, const kht_dpart *part, uint32_t *const *counts, kh_err *err)
{
	struct question q = { .part = part, .look = JOIN, .counts = counts };

	if (!d->hashgraph)
		return kh_fail(err, KH_EUSAGE, "only a hashgraph has join");
	KHT_DTRY(refuse(d, part, err));
	return ask_counts(d, &q, err);
}

/* --- lists ------------------------------------------------------------------------ */

/* Fills the member's row of the matrix: how many values go to each member. */
static int lengths(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dcounts c = { .chunks = d->chunks, .members = d->members };
	kht_dmember *m = &d->m[i];
	const size_t n = (size_t)d->chunks * d->members, got = m->keys.from[n];
	const size_t row = i * n * 8;
	uint64_t *up = kht_dt_up(d, i);

	(void)arg;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_START, (got + 1) * 8, err));
	KHT_DTRY(kht_scan_offsets(m->t, m->room[KHT_DROOM_ANSWER].p, 1, got,
				  m->room[KHT_DROOM_START].p, d->work[i], err));
	for (size_t k = 0; k <= n; k++)
		up[k] = m->keys.from[k];
	KHT_DTRY(KH_GPU(cudaMemcpyAsync(m->room[KHT_DROOM_UP].p, up, (n + 1) * sizeof *up,
					cudaMemcpyHostToDevice, d->work[i]),
			err));
	KHT_DTRY(KH_GPU(
		cudaMemsetAsync(m->room[KHT_DROOM_MATRIX].p, 0, d->members * n * 8, d->work[i]),
		err));
	return kht_dt_lengths(&c, m->room[KHT_DROOM_START].p, m->room[KHT_DROOM_UP].p,
			      kht_dt_at(m, KHT_DROOM_MATRIX, row), d->work[i], err);
}

/* Fails, on all members alike, if one of them would send or get 2^32 values or more. */
static int check_lengths(const kht_dtable *d, kh_err *err)
{
	const uint64_t *x = kht_dt_matrix(d);
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

static int list_rooms(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	kht_dmember *m = &d->m[i];
	const size_t n = (size_t)d->chunks * d->members;
	size_t most = m->keys.back[n];

	(void)arg;
	for (unsigned c = 0; c < d->chunks; c++)
		most = came(d, i, c).n > most ? came(d, i, c).n : most;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_LISTS, m->lists.at[n] * d->value_bytes, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_LISTS_BACK, m->lists.from[n] * d->value_bytes, err));
	return kht_dt_room(m, KHT_DROOM_START_BACK, (most + 1) * 8, err);
}

int kht_dtable_retrieve(kht_dtable *d, const kht_dpart *part, const kht_lists *out, kh_err *err)
{
	struct question q = { .part = part, .look = RETRIEVE, .lists = out };
	const unsigned how = KHT_DPLAN_OWN | KHT_DPLAN_LISTS;
	const kht_dmove lists = { KHT_DROOM_LISTS, KHT_DROOM_LISTS_BACK, d->value_bytes, how,
				  NULL };

	KHT_DTRY(refuse(d, part, err));
	if (d->value_bytes == 0)
		return kh_fail(err, KH_EUSAGE, "a table of keys alone has no lists");
	KHT_DTRY(ask(d, &q, err));
	KHT_DTRY(kht_dt_each(d, back, NULL, err));
	KHT_DTRY(kht_dt_each(d, lengths, NULL, err));
	KHT_DTRY(kht_dt_share(d, err));
	KHT_DTRY(check_lengths(d, err));
	kht_dt_plan(d, how);
	KHT_DTRY(kht_dt_each(d, list_rooms, NULL, err));
	for (q.chunk = 0; q.chunk < d->chunks; q.chunk++) {
		KHT_DTRY(kht_dt_each(d, retrieve, &q, err));
		KHT_DTRY(kht_dt_wire_after(d, q.chunk, err));
		KHT_DTRY(kht_dt_move(d, q.chunk, &lists, NULL, err));
	}
	KHT_DTRY(kht_dt_wire_done(d, d->chunks - 1, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_TABLE + 1, err));
	KHT_DTRY(kht_dt_each(d, back, NULL, err));
	KHT_DTRY(kht_dt_each(d, put_lists, &q, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_BACK + 1, err));
	return kht_dt_finish(d, err);
}

/* --- status ----------------------------------------------------------------------- */
static int status(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	kht_dtable_stats *s = arg;
	kht_table_stats t;
	int rc = kht_table_status(d->m[i].t, d->work[i], &t, err);

	s->bytes += t.bytes;
	for (unsigned r = 0; r < KHT_DROOMS; r++)
		s->bytes += d->m[i].room[r].bytes;
	return rc;
}

int kht_dtable_status(kht_dtable *d, kht_dtable_stats *stats, kh_err *err)
{
	kht_dtable_stats s = { .members = d->members, .chunks = d->chunks };
	int rc, at = KH_OK;

	for (unsigned m = 0; m < d->members; m++) {
		s.pairs += d->held[m];
		s.most = d->held[m] > s.most ? d->held[m] : s.most;
	}
	rc = kht_dt_each(d, status, &s, err);
	if (rc != KH_EDEVICE)
		at = kht_dt_times(d, &s, rc ? NULL : err);
	if (stats)
		*stats = s;
	return rc ? rc : at;
}
