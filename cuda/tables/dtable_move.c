/*
 * dtable_move.c - keys to their owners: hash values, hash ranges, order, all-to-all
 *
 * A member has two streams: `work` hashes, orders and builds, `wire` sends and receives.
 * The host waits once, for the matrix of what goes where; all else is enqueued.
 */
#include <config.h>
#include "dtable_in.h"

#include "sort.h"

/* --- members -------------------------------------------------------------------------- */
int kh_dt_each(kh_dtable *d, kh_deach *f, void *arg, kh_err *err)
{
	for (size_t i = 0; i < d->n; i++) {
		KH_DTRY(kh_gpu_use(d->m[i].device, err));
		KH_DTRY(f(d, i, arg, err));
	}
	return KH_OK;
}

int kh_dt_room(kh_dmember *m, enum kh_droom r, size_t bytes, kh_err *err)
{
	return kh_gpu_room(&m->room[r], bytes ? bytes : 1, err);
}

uint64_t *kh_dt_matrix(const kh_dtable *d)
{
	return d->host.p;
}

uint32_t *kh_dt_splits(const kh_dtable *d)
{
	return (uint32_t *)(kh_dt_matrix(d) + (size_t)d->members * d->members * d->chunks);
}

/* Matrix and splits, in numbers of 64 bits. */
static size_t before_up(const kh_dtable *d)
{
	return (size_t)d->members * d->members * d->chunks + d->members / 2 + 1;
}

static size_t ups(const kh_dtable *d)
{
	return (size_t)d->members * d->chunks + 1;
}

size_t kh_dt_host_bytes(const kh_dtable *d)
{
	return before_up(d) * sizeof(uint64_t) + d->n * ups(d) * sizeof(kh_run);
}

void *kh_dt_up(const kh_dtable *d, size_t i)
{
	return (kh_run *)(kh_dt_matrix(d) + before_up(d)) + i * ups(d);
}

int kh_dt_mark(kh_dtable *d, size_t i, unsigned phase, kh_err *err)
{
	return KH_GPU(cudaEventRecord(d->m[i].phase[phase], d->work[i]), err);
}

static int mark(kh_dtable *d, size_t i, void *phase, kh_err *err)
{
	return kh_dt_mark(d, i, *(unsigned *)phase, err);
}

int kh_dt_mark_all(kh_dtable *d, unsigned phase, kh_err *err)
{
	return kh_dt_each(d, mark, &phase, err);
}

static int begin(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dpart *part = (const kh_dpart *)arg + i;

	KH_DTRY(KH_GPU(cudaEventRecord(d->m[i].given, part->stream), err));
	KH_DTRY(KH_GPU(cudaStreamWaitEvent(d->work[i], d->m[i].given, 0), err));
	return kh_dt_mark(d, i, 0, err);
}

int kh_dt_begin(kh_dtable *d, const kh_dpart *part, kh_err *err)
{
	d->timed = false;
	d->wire_bytes = 0;
	return kh_dt_each(d, begin, (void *)part, err);
}

int kh_dt_finish(kh_dtable *d, kh_err *err)
{
	KH_DTRY(kh_gpu_comm_wait(d->comm, d->work, err));
	d->timed = true;
	return KH_OK;
}

static int longest(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dmember *m = &d->m[i];
	kh_dtable_stats *s = arg;
	float ms;

	for (unsigned p = 0; p < KH_DPHASES; p++) {
		KH_DTRY(KH_GPU(cudaEventElapsedTime(&ms, m->phase[p], m->phase[p + 1]), err));
		s->seconds[p] = ms / 1e3 > s->seconds[p] ? ms / 1e3 : s->seconds[p];
	}
	if (d->wire_bytes == 0)
		return KH_OK;
	KH_DTRY(KH_GPU(cudaEventElapsedTime(&ms, m->wire_from, m->wire_to), err));
	s->wire = ms / 1e3 > s->wire ? ms / 1e3 : s->wire;
	return KH_OK;
}

int kh_dt_times(kh_dtable *d, kh_dtable_stats *s, kh_err *err)
{
	s->wire_bytes = d->wire_bytes;
	return d->timed ? kh_dt_each(d, longest, s, err) : KH_OK;
}

/* --- hash values and hash ranges ------------------------------------------------------ */
static kh_dcounts counts_of(const kh_dtable *d, const kh_dmember *m)
{
	return (kh_dcounts) { m->room[KH_DROOM_COUNT].p, d->chunks, 1u << d->count_log2,
			      d->members };
}

static size_t matrix_bytes(const kh_dtable *d)
{
	return (size_t)d->members * d->members * d->chunks * 8;
}

static int clear_matrix(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaMemsetAsync(kh_dt_at(&d->m[i], KH_DROOM_MATRIX, 0), 0,
				      matrix_bytes(d), d->work[i]),
		      err);
}

static int hash(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dpart *part = (const kh_dpart *)arg + i;
	kh_dmember *m = &d->m[i];
	const size_t bins = (size_t)1 << d->count_log2;

	KH_DTRY(kh_dt_room(m, KH_DROOM_MIX, part->n * d->key_bytes, err));
	KH_DTRY(KH_GPU(cudaMemsetAsync(m->room[KH_DROOM_COUNT].p, 0, d->chunks * bins * 4,
				       d->work[i]),
		       err));
	for (unsigned c = 0; c < d->chunks; c++) {
		const size_t from = kh_dt_chunk(d, part->n, c);
		kh_dhash h = { .keys = (const char *)part->keys + from * d->key_bytes,
			       .mixed = kh_dt_at(m, KH_DROOM_MIX, from * d->key_bytes),
			       .n = kh_dt_chunk(d, part->n, c + 1) - from,
			       .key_bits = d->cfg.key_bits,
			       .bins_log2 = d->count_log2,
			       .seed = d->seed,
			       .count = kh_dt_at(m, KH_DROOM_COUNT, c * bins * 4) };
		KH_DTRY(kh_dt_hash(&h, d->work[i], err));
	}
	return kh_dt_mark(d, i, KH_DPHASE_HASH + 1, err);
}

static int sum(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dcounts c = counts_of(d, &d->m[i]);

	(void)arg;
	return kh_dt_sum(&c, kh_dt_at(&d->m[i], KH_DROOM_SUM, 0), d->work[i], err);
}

/* The sums of all members; with one member they are there. */
static int sum_all(kh_dtable *d, kh_err *err)
{
	uint64_t *p[KH_DMEMBERS];

	KH_DTRY(kh_dt_each(d, sum, NULL, err));
	for (size_t i = 0; i < d->n; i++)
		p[i] = d->m[i].room[KH_DROOM_SUM].p;
	return kh_gpu_comm_sum(d->comm, p, (size_t)1 << d->count_log2, d->work, err);
}

static int split(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dcounts c = counts_of(d, &d->m[i]);

	(void)arg;
	return kh_dt_split(&c, d->hashgraph ? kh_dt_at(&d->m[i], KH_DROOM_SUM, 0) : NULL,
			   kh_dt_at(&d->m[i], KH_DROOM_SPLIT, 0), d->work[i], err);
}

static int owners(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	kh_dmember *m = &d->m[i];
	const kh_dcounts c = counts_of(d, m);
	const size_t row = (size_t)(d->first + i) * d->members * d->chunks * 8;

	(void)arg;
	return kh_dt_owners(&c, m->room[KH_DROOM_SPLIT].p, kh_dt_at(m, KH_DROOM_MATRIX, row),
			    d->work[i], err);
}

int kh_dt_divide(kh_dtable *d, const kh_dpart *part, bool first, kh_err *err)
{
	KH_DTRY(kh_dt_each(d, clear_matrix, NULL, err));
	KH_DTRY(kh_dt_each(d, hash, (void *)part, err));
	if (first && d->hashgraph)
		KH_DTRY(sum_all(d, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_SUM + 1, err));
	if (first)
		KH_DTRY(kh_dt_each(d, split, NULL, err));
	KH_DTRY(kh_dt_each(d, owners, NULL, err));
	if (first) {
		KH_DTRY(kh_gpu_use(d->m[0].device, err));
		KH_DTRY(KH_GPU(cudaMemcpyAsync(kh_dt_splits(d), d->m[0].room[KH_DROOM_SPLIT].p,
					       (d->members + 1) * sizeof(uint32_t),
					       cudaMemcpyDeviceToHost, d->work[0]),
			       err));
	}
	return kh_dt_share(d, err);
}

static int own_size(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const size_t row = (size_t)(d->first + i) * d->members;
	uint64_t *up = kh_dt_up(d, i);

	for (unsigned m = 0; m < d->members; m++)
		up[m] = ((const kh_dpart *)arg)[i].n;
	return KH_GPU(cudaMemcpyAsync(kh_dt_at(&d->m[i], KH_DROOM_MATRIX, row * 8), up,
				      d->members * sizeof *up, cudaMemcpyHostToDevice,
				      d->work[i]),
		      err);
}

int kh_dt_broadcast(kh_dtable *d, const kh_dpart *part, kh_err *err)
{
	KH_DTRY(kh_dt_each(d, clear_matrix, NULL, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_HASH + 1, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_SUM + 1, err));
	KH_DTRY(kh_dt_each(d, own_size, (void *)part, err));
	return kh_dt_share(d, err);
}

int kh_dt_share(kh_dtable *d, kh_err *err)
{
	uint64_t *p[KH_DMEMBERS];

	for (size_t i = 0; i < d->n; i++)
		p[i] = d->m[i].room[KH_DROOM_MATRIX].p;
	KH_DTRY(kh_gpu_comm_sum(d->comm, p, matrix_bytes(d) / 8, d->work, err));
	KH_DTRY(kh_gpu_use(d->m[0].device, err));
	KH_DTRY(KH_GPU(cudaMemcpyAsync(kh_dt_matrix(d), p[0], matrix_bytes(d),
				       cudaMemcpyDeviceToHost, d->work[0]),
		       err));
	return kh_gpu_comm_wait(d->comm, d->work, err);
}

/* --- plans ---------------------------------------------------------------------------- */
static void plan(const kh_dtable *d, unsigned me, unsigned how, kh_dplan *p)
{
	const uint64_t *x = kh_dt_matrix(d);
	const unsigned all = d->members;
	size_t k = 0, at = 0, from = 0, back = 0;

	for (unsigned c = 0; c < d->chunks; c++)
		for (unsigned m = 0; m < all; m++, k++) {
			const bool moved = m != me || how & KH_DPLAN_OWN;

			p->n[k] = x[((size_t)me * all + m) * d->chunks + c];
			p->got[k] = moved ? x[((size_t)m * all + me) * d->chunks + c] : 0;
			p->at[k] = at;
			p->from[k] = from;
			p->back[k] = back;
			at += how & KH_DPLAN_TO_ALL ? 0 : p->n[k];
			from += p->got[k];
			back += p->n[k];
		}
	p->at[k] = at;
	p->from[k] = from;
	p->back[k] = back;
}

void kh_dt_plan(kh_dtable *d, unsigned how)
{
	for (size_t i = 0; i < d->n; i++)
		plan(d, d->first + (unsigned)i, how,
		     how & KH_DPLAN_LISTS ? &d->m[i].lists : &d->m[i].keys);
}

/* --- moves ---------------------------------------------------------------------------- */
/* The k-th parcel of member i. */
static void parcel(kh_dtable *d, size_t i, unsigned k, unsigned c, const kh_dmove *v)
{
	const kh_dmember *m = &d->m[i];
	const kh_dplan *p = v->how & KH_DPLAN_LISTS ? &m->lists : &m->keys;
	const bool back = v->how & KH_DPLAN_BACK;
	size_t *b = d->bytes + (k * d->n + i) * 4 * d->members;
	const unsigned all = d->members, me = d->first + (unsigned)i;

	for (unsigned o = 0; o < all; o++) {
		const size_t at = (size_t)c * all + o;
		const bool moved = o != me || v->how & KH_DPLAN_OWN;

		b[o] = (back ? p->from : p->at)[at] * v->width;
		b[all + o] = moved ? (back ? p->got : p->n)[at] * v->width : 0;
		b[2 * all + o] = (back ? p->back : p->from)[at] * v->width;
		b[3 * all + o] = moved ? (back ? p->n : p->got)[at] * v->width : 0;
	}
	d->parcel[k * d->n + i] = (kh_gpu_parcel) {
		.send = v->keys_of ? v->keys_of[i].keys : m->room[v->send].p,
		.at = b,
		.bytes = b + all,
		.recv = m->room[v->recv].p,
		.from = b + 2 * (size_t)all,
		.got = b + 3 * (size_t)all,
		.stream = d->wire[i],
	};
}

int kh_dt_move(kh_dtable *d, unsigned c, const kh_dmove *v, const kh_dmove *with, kh_err *err)
{
	for (size_t i = 0; i < d->n; i++) {
		parcel(d, i, 0, c, v);
		if (!with)
			continue;
		parcel(d, i, 1, c, with);
		d->parcel[i].more = &d->parcel[d->n + i];
	}
	return kh_gpu_comm_all_to_all(d->comm, d->parcel, err);
}

static int wire_after(kh_dtable *d, size_t i, void *c, kh_err *err)
{
	cudaEvent_t e = d->m[i].ordered[*(unsigned *)c];

	KH_DTRY(KH_GPU(cudaEventRecord(e, d->work[i]), err));
	return KH_GPU(cudaStreamWaitEvent(d->wire[i], e, 0), err);
}

int kh_dt_wire_after(kh_dtable *d, unsigned c, kh_err *err)
{
	return kh_dt_each(d, wire_after, &c, err);
}

static int wire_done(kh_dtable *d, size_t i, void *c, kh_err *err)
{
	return KH_GPU(cudaEventRecord(d->m[i].moved[*(unsigned *)c], d->wire[i]), err);
}

int kh_dt_wire_done(kh_dtable *d, unsigned c, kh_err *err)
{
	return kh_dt_each(d, wire_done, &c, err);
}

int kh_dt_work_after(kh_dtable *d, size_t i, unsigned c, kh_err *err)
{
	return KH_GPU(cudaStreamWaitEvent(d->work[i], d->m[i].moved[c], 0), err);
}

static int wire_from(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaEventRecord(d->m[i].wire_from, d->wire[i]), err);
}

static int wire_to(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaEventRecord(d->m[i].wire_to, d->wire[i]), err);
}

/* --- order and exchange --------------------------------------------------------------- */
struct chunk {
	const kh_dorder *o;
	unsigned c;
};

/* By as many high bits as there are bins: by owner, and by what the owner's table needs. */
static int order(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const struct chunk *a = arg;
	const kh_dpart *part = &a->o->part[i];
	kh_dmember *m = &d->m[i];
	const size_t from = kh_dt_chunk(d, part->n, a->c);
	const unsigned vb = a->o->numbers ? 4 : a->o->value_bytes;
	const char *values = a->o->numbers ? m->room[KH_DROOM_NUMBER].p : part->values;
	kh_sort s = { .keys = kh_dt_at(m, KH_DROOM_MIX, from * d->key_bytes),
		      .keys_out = kh_dt_at(m, KH_DROOM_KEYS, from * d->key_bytes),
		      .n = kh_dt_chunk(d, part->n, a->c + 1) - from,
		      .key_bits = d->cfg.key_bits,
		      .value_bits = vb * 8,
		      .from = (int)(d->cfg.key_bits - d->bins_log2),
		      .to = (int)d->cfg.key_bits };

	if (s.n == 0)
		return KH_OK;
	if (vb == 0)
		return kh_sort_keys(m->t, &s, d->work[i], err);
	s.values = values + from * vb;
	s.values_out = kh_dt_at(m, KH_DROOM_VALUES, from * vb);
	return kh_sort_pairs(m->t, &s, d->work[i], err);
}

/* What comes needs room; nothing is under way. */
static int rooms(kh_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kh_dorder *o = arg;
	kh_dmember *m = &d->m[i];
	const size_t n = o->part[i].n, got = kh_dt_came(d, &m->keys, d->chunks);

	KH_DTRY(kh_dt_room(m, KH_DROOM_GOT_KEYS, got * d->key_bytes, err));
	if (!d->independent)
		KH_DTRY(kh_dt_room(m, KH_DROOM_KEYS, n * d->key_bytes, err));
	if (!o->numbers) {
		KH_DTRY(kh_dt_room(m, KH_DROOM_VALUES, n * o->value_bytes, err));
		return kh_dt_room(m, KH_DROOM_GOT_VALUES, got * o->value_bytes, err);
	}
	if (d->independent)
		return KH_OK;
	KH_DTRY(kh_dt_room(m, KH_DROOM_NUMBER, n * 4, err));
	KH_DTRY(kh_dt_room(m, KH_DROOM_VALUES, n * 4, err));
	return kh_dt_number(m->room[KH_DROOM_NUMBER].p, n, d->work[i], err);
}

static void count_bytes(kh_dtable *d, unsigned width)
{
	for (size_t i = 0; i < d->n; i++) {
		const kh_dplan *p = &d->m[i].keys;
		uint64_t n = 0;

		for (size_t k = 0; k < (size_t)d->chunks * d->members; k++)
			if (k % d->members != d->first + i)
				n += p->n[k] * width;
		d->wire_bytes = n > d->wire_bytes ? n : d->wire_bytes;
	}
}

int kh_dt_exchange(kh_dtable *d, const kh_dorder *o, unsigned how, kh_err *err)
{
	const unsigned vb = o->numbers ? 0 : o->value_bytes;
	const kh_dmove keys = { KH_DROOM_KEYS, KH_DROOM_GOT_KEYS, d->key_bytes, how,
				how & KH_DPLAN_TO_ALL ? o->part : NULL };
	const kh_dmove values = { KH_DROOM_VALUES, KH_DROOM_GOT_VALUES, vb, how, NULL };
	struct chunk c = { o, 0 };

	kh_dt_plan(d, how);
	count_bytes(d, d->key_bytes + vb);
	KH_DTRY(kh_dt_each(d, rooms, (void *)o, err));
	KH_DTRY(kh_dt_mark_all(d, KH_DPHASE_SPLIT + 1, err));
	for (; c.c < d->chunks; c.c++) {
		if (!(how & KH_DPLAN_TO_ALL))
			KH_DTRY(kh_dt_each(d, order, &c, err));
		KH_DTRY(kh_dt_wire_after(d, c.c, err));
		if (c.c == 0)
			KH_DTRY(kh_dt_each(d, wire_from, NULL, err));
		KH_DTRY(kh_dt_move(d, c.c, &keys, vb ? &values : NULL, err));
		if (c.c + 1 == d->chunks) /* what is waited for comes after */
			KH_DTRY(kh_dt_each(d, wire_to, NULL, err));
		KH_DTRY(kh_dt_wire_done(d, c.c, err));
	}
	return kh_dt_mark_all(d, KH_DPHASE_ORDER + 1, err);
}
