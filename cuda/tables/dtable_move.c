/*
 * dtable_move.c - keys to their owners: plans, order, all-to-all
 *
 * A member has two streams: `work` hashes, orders and builds, `wire` sends and receives.
 * The host waits once, for the matrix of what goes where; all else is enqueued.
 */
#include <config.h>
#include "cuda/tables/dtable_in.h"

#include "cuda/tables/sort.h"

/* --- members ---------------------------------------------------------------------- */
int kht_dt_each(kht_dtable *d, kht_deach *f, void *arg, kh_err *err)
{
	for (size_t i = 0; i < d->members; i++) {
		KHT_DTRY(kh_gpu_use(d->m[i].device, err));
		KHT_DTRY(f(d, i, arg, err));
	}
	return KH_OK;
}

int kht_dt_room(kht_dmember *m, enum kht_droom r, size_t bytes, kh_err *err)
{
	return kh_gpu_room(&m->room[r], bytes ? bytes : 1, err);
}

uint64_t *kht_dt_matrix(const kht_dtable *d) { return d->host.p; }

uint32_t *kht_dt_splits(const kht_dtable *d)
{
	return (uint32_t *)(kht_dt_matrix(d) + (size_t)d->members * d->members * d->chunks);
}

/* Matrix and splits, in numbers of 64 bits. */
static size_t before_up(const kht_dtable *d)
{
	return (size_t)d->members * d->members * d->chunks + d->members / 2 + 1;
}

static size_t ups(const kht_dtable *d) { return (size_t)d->members * d->chunks + 1; }

size_t kht_dt_host_bytes(const kht_dtable *d)
{
	return before_up(d) * sizeof(uint64_t) + d->members * ups(d) * sizeof(kht_run);
}

void *kht_dt_up(const kht_dtable *d, size_t i)
{
	return (kht_run *)(kht_dt_matrix(d) + before_up(d)) + i * ups(d);
}

int kht_dt_mark(kht_dtable *d, size_t i, unsigned phase, kh_err *err)
{
	return KH_GPU(cudaEventRecord(d->m[i].phase[phase], d->work[i]), err);
}

static int mark(kht_dtable *d, size_t i, void *phase, kh_err *err)
{
	return kht_dt_mark(d, i, *(unsigned *)phase, err);
}

int kht_dt_mark_all(kht_dtable *d, unsigned phase, kh_err *err)
{
	return kht_dt_each(d, mark, &phase, err);
}

static int begin(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dpart *part = (const kht_dpart *)arg + i;

	KHT_DTRY(KH_GPU(cudaEventRecord(d->m[i].given, part->stream), err));
	KHT_DTRY(KH_GPU(cudaStreamWaitEvent(d->work[i], d->m[i].given, 0), err));
	return kht_dt_mark(d, i, 0, err);
}

int kht_dt_begin(kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	d->timed = false;
	d->wire_bytes = 0;
	return kht_dt_each(d, begin, (void *)part, err);
}

int kht_dt_finish(kht_dtable *d, kh_err *err)
{
	KHT_DTRY(kh_gpu_comm_wait(d->comm, d->work, err));
	d->timed = true;
	return KH_OK;
}

static int longest(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dmember *m = &d->m[i];
	kht_dtable_stats *s = arg;
	float ms;

	for (unsigned p = 0; p < KHT_DPHASES; p++) {
		KHT_DTRY(KH_GPU(cudaEventElapsedTime(&ms, m->phase[p], m->phase[p + 1]), err));
		s->seconds[p] = ms / 1e3 > s->seconds[p] ? ms / 1e3 : s->seconds[p];
	}
	if (d->wire_bytes == 0)
		return KH_OK;
	KHT_DTRY(KH_GPU(cudaEventElapsedTime(&ms, m->wire_from, m->wire_to), err));
	s->wire = ms / 1e3 > s->wire ? ms / 1e3 : s->wire;
	return KH_OK;
}

int kht_dt_times(kht_dtable *d, kht_dtable_stats *s, kh_err *err)
{
	s->wire_bytes = d->wire_bytes;
	return d->timed ? kht_dt_each(d, longest, s, err) : KH_OK;
}

/* --- plans ------------------------------------------------------------------------ */
static void plan(const kht_dtable *d, unsigned me, unsigned how, kht_dplan *p)
{
	const uint64_t *x = kht_dt_matrix(d);
	const unsigned all = d->members;
	size_t k = 0, at = 0, from = 0, back = 0;

	for (unsigned c = 0; c < d->chunks; c++)
		for (unsigned m = 0; m < all; m++, k++) {
			const bool moved = m != me || how & KHT_DPLAN_OWN;

			p->n[k] = x[((size_t)me * all + m) * d->chunks + c];
			p->got[k] = moved ? x[((size_t)m * all + me) * d->chunks + c] : 0;
			p->at[k] = at;
			p->from[k] = from;
			p->back[k] = back;
			at += how & KHT_DPLAN_TO_ALL ? 0 : p->n[k];
			from += p->got[k];
			back += p->n[k];
		}
	p->at[k] = at;
	p->from[k] = from;
	p->back[k] = back;
}

void kht_dt_plan(kht_dtable *d, unsigned how)
{
	for (size_t i = 0; i < d->members; i++)
		plan(d, (unsigned)i, how,
		     how & KHT_DPLAN_LISTS ? &d->m[i].lists : &d->m[i].keys);
}

/* --- moves ------------------------------------------------------------------------ */
/* The k-th message of member i. */
static void fill_message(kht_dtable *d, size_t i, unsigned k, unsigned c, const kht_dmove *v)
{
	const kht_dmember *m = &d->m[i];
	const kht_dplan *p = v->how & KHT_DPLAN_LISTS ? &m->lists : &m->keys;
	const bool back = v->how & KHT_DPLAN_BACK;
	size_t *b = d->bytes + (k * d->members + i) * 4 * d->members;
	const unsigned all = d->members, me = (unsigned)i;

	for (unsigned o = 0; o < all; o++) {
		const size_t at = (size_t)c * all + o;
		const bool moved = o != me || v->how & KHT_DPLAN_OWN;

		b[o] = (back ? p->from : p->at)[at] * v->width;
		b[all + o] = moved ? (back ? p->got : p->n)[at] * v->width : 0;
		b[2 * all + o] = (back ? p->back : p->from)[at] * v->width;
		b[3 * all + o] = moved ? (back ? p->n : p->got)[at] * v->width : 0;
	}
	d->message[k * d->members + i] = (kh_gpu_message) {
		.send = v->keys_of ? v->keys_of[i].keys : m->room[v->send].p,
		.at = b,
		.bytes = b + all,
		.recv = m->room[v->recv].p,
		.from = b + 2 * (size_t)all,
		.got = b + 3 * (size_t)all,
		.stream = d->wire[i],
	};
}

int kht_dt_move(kht_dtable *d, unsigned c, const kht_dmove *v, const kht_dmove *with, kh_err *err)
{
	for (size_t i = 0; i < d->members; i++) {
		fill_message(d, i, 0, c, v);
		if (!with)
			continue;
		fill_message(d, i, 1, c, with);
		d->message[i].more = &d->message[d->members + i];
	}
	return kh_gpu_comm_all_to_all(d->comm, d->message, err);
}

static int wire_after(kht_dtable *d, size_t i, void *c, kh_err *err)
{
	cudaEvent_t e = d->m[i].ordered[*(unsigned *)c];

	KHT_DTRY(KH_GPU(cudaEventRecord(e, d->work[i]), err));
	return KH_GPU(cudaStreamWaitEvent(d->wire[i], e, 0), err);
}

int kht_dt_wire_after(kht_dtable *d, unsigned c, kh_err *err)
{
	return kht_dt_each(d, wire_after, &c, err);
}

static int wire_done(kht_dtable *d, size_t i, void *c, kh_err *err)
{
	return KH_GPU(cudaEventRecord(d->m[i].moved[*(unsigned *)c], d->wire[i]), err);
}

int kht_dt_wire_done(kht_dtable *d, unsigned c, kh_err *err)
{
	return kht_dt_each(d, wire_done, &c, err);
}

int kht_dt_work_after(kht_dtable *d, size_t i, unsigned c, kh_err *err)
{
	return KH_GPU(cudaStreamWaitEvent(d->work[i], d->m[i].moved[c], 0), err);
}

static int wire_from(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaEventRecord(d->m[i].wire_from, d->wire[i]), err);
}

static int wire_to(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaEventRecord(d->m[i].wire_to, d->wire[i]), err);
}

/* --- order and exchange ----------------------------------------------------------- */
struct chunk {
	const kht_dorder *o;
	unsigned c;
};

/* By as many high bits as there are bins: by owner, and by what the owner's table needs. */
static int order(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct chunk *a = arg;
	const kht_dpart *part = &a->o->part[i];
	kht_dmember *m = &d->m[i];
	const size_t from = kht_dt_chunk(d, part->n, a->c);
	const unsigned vb = a->o->numbers ? 4 : a->o->value_bytes;
	const char *values = a->o->numbers ? m->room[KHT_DROOM_NUMBER].p : part->values;
	kht_sort s = { .keys = kht_dt_at(m, KHT_DROOM_MIX, from * d->key_bytes),
		       .keys_out = kht_dt_at(m, KHT_DROOM_KEYS, from * d->key_bytes),
		       .n = kht_dt_chunk(d, part->n, a->c + 1) - from,
		       .key_bits = d->cfg.key_bits,
		       .value_bits = vb * 8,
		       .from = (int)(d->cfg.key_bits - d->bins_log2),
		       .to = (int)d->cfg.key_bits };

	if (s.n == 0)
		return KH_OK;
	if (vb == 0)
		return kht_sort_keys(m->t, &s, d->work[i], err);
	s.values = values + from * vb;
	s.values_out = kht_dt_at(m, KHT_DROOM_VALUES, from * vb);
	return kht_sort_pairs(m->t, &s, d->work[i], err);
}

/* Makes room for what comes in, while nothing is under way. */
static int rooms(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dorder *o = arg;
	kht_dmember *m = &d->m[i];
	const size_t n = o->part[i].n, got = kht_dt_came(d, &m->keys, d->chunks);

	KHT_DTRY(kht_dt_room(m, KHT_DROOM_GOT_KEYS, got * d->key_bytes, err));
	if (!d->independent)
		KHT_DTRY(kht_dt_room(m, KHT_DROOM_KEYS, n * d->key_bytes, err));
	if (!o->numbers) {
		KHT_DTRY(kht_dt_room(m, KHT_DROOM_VALUES, n * o->value_bytes, err));
		return kht_dt_room(m, KHT_DROOM_GOT_VALUES, got * o->value_bytes, err);
	}
	if (d->independent)
		return KH_OK;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_NUMBER, n * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_VALUES, n * 4, err));
	return kht_dt_number(m->room[KHT_DROOM_NUMBER].p, n, d->work[i], err);
}

static void count_bytes(kht_dtable *d, unsigned width)
{
	for (size_t i = 0; i < d->members; i++) {
		const kht_dplan *p = &d->m[i].keys;
		uint64_t n = 0;

		for (size_t k = 0; k < (size_t)d->chunks * d->members; k++)
			if (k % d->members != i)
				n += p->n[k] * width;
		d->wire_bytes = n > d->wire_bytes ? n : d->wire_bytes;
	}
}

int kht_dt_exchange(kht_dtable *d, const kht_dorder *o, unsigned how, kh_err *err)
{
	const unsigned vb = o->numbers ? 0 : o->value_bytes;
	const kht_dmove keys = { KHT_DROOM_KEYS, KHT_DROOM_GOT_KEYS, d->key_bytes, how,
				 how & KHT_DPLAN_TO_ALL ? o->part : NULL };
	const kht_dmove values = { KHT_DROOM_VALUES, KHT_DROOM_GOT_VALUES, vb, how, NULL };
	struct chunk c = { o, 0 };

	kht_dt_plan(d, how);
	count_bytes(d, d->key_bytes + vb);
	KHT_DTRY(kht_dt_each(d, rooms, (void *)o, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_SPLIT + 1, err));
	for (; c.c < d->chunks; c.c++) {
		if (!(how & KHT_DPLAN_TO_ALL))
			KHT_DTRY(kht_dt_each(d, order, &c, err));
		KHT_DTRY(kht_dt_wire_after(d, c.c, err));
		if (c.c == 0)
			KHT_DTRY(kht_dt_each(d, wire_from, NULL, err));
		KHT_DTRY(kht_dt_move(d, c.c, &keys, vb ? &values : NULL, err));
		if (c.c + 1 == d->chunks) /* what is waited for comes after */
			KHT_DTRY(kht_dt_each(d, wire_to, NULL, err));
		KHT_DTRY(kht_dt_wire_done(d, c.c, err));
	}
	return kht_dt_mark_all(d, KHT_DPHASE_ORDER + 1, err);
}
