#include <config.h>
#include "backend.h"

#include <stdlib.h>
#include "exchange.h"
#include "mem.h"
#include "pairs.h"
#include "pipeline.h"

static int cpu_n_devices(kh_err *why)
{
	(void)why;
	return 1;
}

/* --- building ------------------------------------------------------------------------- */
struct scratch {
	uint64_t *key;
	uint32_t *pos;
	size_t cap_key, cap_pos;
};

struct kh_builder {
	kh_builder_options o;
	kh_store *store;
	struct scratch *scratch;        /* a worker */
};

static void cpu_builder_close(kh_builder *b)
{
	if (!b)
		return;
	for (unsigned i = 0; b->scratch && i < b->o.threads; i++) {
		free(b->scratch[i].key);
		free(b->scratch[i].pos);
	}
	free(b->scratch);
	kh_store_free(b->store);
	free(b);
}

static int cpu_builder_open(kh_builder **out, const kh_builder_options *o, kh_err *err)
{
	kh_builder *b = kh_array(1, sizeof *b, err);
	int rc;

	if (!b)
		return KH_ENOMEM;
	b->o = *o;
	b->scratch = kh_array(o->threads, sizeof *b->scratch, err);
	rc = b->scratch ? kh_store_new(&b->store, o->memory, o->tmp, err) : KH_ENOMEM;
	if (rc) {
		cpu_builder_close(b);
		return rc;
	}
	*out = b;
	return KH_OK;
}

/* 12 bytes a pair, and each worker sorts one of 256 ranges, in two places. */
static kh_plan cpu_builder_plan(const kh_builder *b, uint64_t pairs)
{
	return (kh_plan) { 12 * pairs + 24 * (pairs / KH_RANGES + 1) * b->o.threads, b->o.memory };
}

static int cpu_builder_add(kh_builder *b, unsigned worker, const kh_sample *s, kh_err *err)
{
	struct scratch *w = &b->scratch[worker];
	const kh_sketch *sk = &b->o.sketch;
	uint64_t bound = 0;
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < s->n; i++)
		bound += kh_sketch_bound(sk, s->piece[i].starts);
	if ((rc = kh_grow((void **)&w->key, &w->cap_key, bound, sizeof *w->key, err)) ||
	    (rc = kh_grow((void **)&w->pos, &w->cap_pos, bound, sizeof *w->pos, err)))
		return rc;
	for (size_t i = 0; i < s->n; i++) {
		const kh_piece *p = &s->piece[i];
		kh_stretch st = { s->bases, s->amb, p->at, p->at + p->starts };
		size_t m = kh_sketch_run(sk, &st, w->key + n, w->pos + n);

		for (size_t j = n; j < n + m; j++)
			w->pos[j] = p->bin + w->pos[j] / sk->stride;
		n += m;
	}
	return kh_store_add(b->store, s->ticket, w->key, w->pos, n, err);
}

/* Ranges are encoded by all workers and delivered in order. Images circulate: who holds
 * one took its range after that, so the lowest range always has one. */
struct finish {
	kh_builder *b;
	const kh_finish *f;
	kh_monitor *m;
	kh_queue *images;
	kh_order *order;
	kh_exchange *x;                 /* NULL: one rank */
	unsigned workers, left;         /* of them, at work */
	unsigned first, next, end;      /* ranges of this rank */
};

struct parcel {
	kh_image image;
	struct finish *fin;
};

static int deliver(void *arg, void *item, kh_err *err)
{
	struct parcel *p = item;
	const kh_finish *f = p->fin->f;
	int rc = f->sink(f->arg, &p->image, err);

	(void)arg;
	kh_queue_push(p->fin->images, p);
	return rc;
}

static int make_range(struct finish *fin, unsigned worker, unsigned range, kh_pair_room *room,
		      struct parcel *p, kh_err *err)
{
	kh_pairs pairs;
	int rc = fin->x ? kh_exchange_range(fin->x, worker, range, room, &pairs, err)
	       : kh_store_range(fin->b->store, range, fin->f->remap, room, &pairs, err);

	if (!rc)
		rc = kh_index_encode(&p->image, &pairs, fin->f->bins, fin->f->tax, err);
	return rc ? rc : kh_order_put(fin->order, range - fin->first, p, deliver, NULL);
}

static int make_ranges(struct finish *fin, unsigned worker, kh_err *err)
{
	kh_pair_room room = { .key = NULL };
	int rc = KH_OK;

	while (!rc) {
		struct parcel *p = kh_queue_pop(fin->images);

		if (!p) {
			rc = KH_ECANCEL;
			break;
		}
		kh_monitor_lock(fin->m);
		unsigned range = fin->next++;
		kh_monitor_unlock(fin->m);
		if (range >= fin->end) {
			kh_queue_push(fin->images, p);
			break;
		}
		rc = make_range(fin, worker, range, &room, p, err);
	}
	kh_pair_room_clear(&room);
	return rc;
}

/* The worker behind the last serves the other ranks.  It waits for messages, so that whoever fails
 * here tells them, and so also it. */
static int finish_worker(void *arg, unsigned worker, kh_err *err)
{
	struct finish *fin = arg;
	kh_err first = { 0, "" };
	int rc;

	if (worker == fin->workers)
		return kh_exchange_serve(fin->x, err);
	rc = make_ranges(fin, worker, err);
	if (!fin->x)
		return rc;
	kh_monitor_lock(fin->m);
	bool last = --fin->left == 0;
	kh_monitor_unlock(fin->m);
	if (!rc && last)
		rc = kh_exchange_end(fin->x, err);
	if (rc) {
		kh_monitor_stop(fin->m, rc == KH_ECANCEL ? NULL : err);
		kh_monitor_error(fin->m, &first);
		kh_comm_fail(fin->b->o.comm, &first);
	}
	return rc;
}

/* Of several ranks, some workers wait for messages at any time: there are more of them. */
static int open_finish(struct finish *fin, kh_err *err)
{
	const kh_builder_options *o = &fin->b->o;
	kh_exchange_options xo = { .comm = o->comm, .store = fin->b->store, .remap = fin->f->remap };
	int rc = kh_monitor_new(&fin->m, err);

	fin->workers = fin->left = o->threads + (o->comm ? 2 : 0);
	fin->end = KH_RANGES;
	if (rc || !o->comm)
		return rc;
	xo.m = fin->m;
	xo.workers = fin->workers;
	rc = kh_exchange_open(&fin->x, &xo, err);
	if (!rc) {
		const kh_shards *s = kh_exchange_shards(fin->x);

		fin->first = fin->next = s->first[kh_comm_rank(o->comm)];
		fin->end = s->first[kh_comm_rank(o->comm) + 1];
	}
	return rc;
}

static int cpu_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct finish fin = { .b = b, .f = f };
	struct parcel *parcel = NULL;
	int rc = open_finish(&fin, err);
	size_t n = fin.workers + 1;

	if (!rc && !(parcel = kh_array(n, sizeof *parcel, err)))
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_queue_new(&fin.images, fin.m, n, err);
	if (!rc)
		rc = kh_order_new(&fin.order, fin.m, n, err);
	for (size_t i = 0; i < n && !rc; i++) {
		parcel[i].fin = &fin;
		kh_queue_push(fin.images, &parcel[i]);
	}
	if (!rc)
		rc = kh_crew_run(fin.m, fin.workers + (fin.x ? 1 : 0), finish_worker, &fin, err);
	for (size_t i = 0; parcel && i < n; i++)
		kh_image_clear(&parcel[i].image);
	kh_order_free(fin.order);
	kh_queue_free(fin.images);
	kh_exchange_close(fin.x);
	kh_monitor_free(fin.m);
	free(parcel);
	return rc;
}

/* --- classifying ------------------------------------------------------------------------ */
struct kh_engine {
	const kh_db *db;
	const kh_rule *rule;
};

struct kh_lane {
	kh_classifier *c;
	kh_task *done;
};

static int cpu_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o, kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);

	if (!e)
		return KH_ENOMEM;
	*e = (kh_engine) { db, o->rule };
	*out = e;
	return KH_OK;
}

static void cpu_engine_close(kh_engine *e)
{
	free(e);
}

static void cpu_lane_close(kh_lane *l)
{
	if (l)
		kh_classifier_free(l->c);
	free(l);
}

static int cpu_lane_open(kh_lane **out, kh_engine *e, unsigned worker, size_t block_size,
			 kh_err *err)
{
	kh_lane *l = kh_array(1, sizeof *l, err);
	int rc;

	(void)worker, (void)block_size;
	if (!l)
		return KH_ENOMEM;
	rc = kh_classifier_new(&l->c, e->db, e->rule, err);
	if (rc) {
		cpu_lane_close(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

static int cpu_submit(kh_lane *l, kh_task *t, kh_err *err)
{
	assert(!l->done);
	l->done = t;
	return kh_classify_job(l->c, t->job, t->call, t->sketches, err);
}

static int cpu_collect(kh_lane *l, kh_task **t, kh_err *err)
{
	(void)err;
	*t = l->done;
	l->done = NULL;
	return KH_OK;
}

const kh_backend kh_backend_cpu = {
	.name = "cpu",
	.n_devices = cpu_n_devices,
	.builder_open = cpu_builder_open,
	.builder_plan = cpu_builder_plan,
	.builder_add = cpu_builder_add,
	.builder_finish = cpu_builder_finish,
	.builder_close = cpu_builder_close,
	.engine_open = cpu_engine_open,
	.engine_close = cpu_engine_close,
	.lane_open = cpu_lane_open,
	.lane_close = cpu_lane_close,
	.depth = 1,
	.submit = cpu_submit,
	.collect = cpu_collect,
};
