#include <config.h>
#include "backend/backend.h"
#include "backend/plan.h"
#include "classify/match.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "db/pages.h"
#include "index/pairs.h"
#include "index/seeds.h"
#include "base/order.h"

/* --- building --------------------------------------------------------------------- */
struct kh_builder {
	kh_builder_options o;
	kh_host_plan host;
	kh_store *store;
	kh_features *features;          /* one for each worker */
};

static void cpu_builder_close(kh_builder *b)
{
	if (!b)
		return;
	for (unsigned i = 0; b->features && i < b->o.on.threads; i++) {
		free(b->features[i].key);
		free(b->features[i].bin);
	}
	free(b->features);
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
	b->features = kh_array(o->on.threads, sizeof *b->features, err);
	b->host = kh_host_plan_of(o->memory, o->tmp);
	rc = b->features ? kh_store_new(&b->store, b->host.memory, o->tmp, err) : KH_ENOMEM;
	if (rc) {
		cpu_builder_close(b);
		return rc;
	}
	*out = b;
	return KH_OK;
}

/* Each worker sorts one of 256 ranges, which takes its pairs twice. */
static int cpu_builder_plan(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err)
{
	const uint64_t all = KH_PLAN_PAIR * pairs;

	*p = (kh_plan) { .need = all + 2 * (all / KH_RANGES + 1) * b->o.on.threads,
			 .have = b->host.memory,
			 .to = "a temporary file" };
	if (p->have == 0 || p->need <= p->have)
		return KH_OK;
	p->spilled = all > p->have ? all - p->have : 0;
	return kh_host_plan_check(&b->host, all, "features", err);
}

static int cpu_builder_add(kh_builder *b, unsigned worker, const kh_block_pieces *s, kh_err *err)
{
	kh_features *f = &b->features[worker];
	int rc = kh_pieces_features(f, s, &b->o.sampling, err);

	return rc ? rc : kh_store_add(b->store, s->ticket, f->key, f->bin, f->n, err);
}

/* Ranges are encoded by all workers and delivered in order. Images circulate: a worker takes a
 * range only when it has an image, so the lowest range that is not delivered always has one. */
struct finish {
	kh_builder *b;
	const kh_finish *f;
	kh_monitor *m;
	kh_queue *images;
	kh_order *order;
	_Atomic unsigned next;
};

struct delivery {
	kh_image image;
	struct finish *fin;
};

static int deliver(void *arg, void *item, kh_err *err)
{
	struct delivery *p = item;
	const kh_finish *f = p->fin->f;
	int rc = f->sink(f->arg, &p->image, err);

	(void)arg;
	kh_queue_push(p->fin->images, p);
	return rc;
}

static int make_range(struct finish *fin, unsigned range, kh_pair_scratch *scratch,
		      struct delivery *p, kh_err *err)
{
	kh_pairs pairs;
	int rc = kh_store_range(fin->b->store, range, scratch, &pairs, err);

	if (!rc)
		rc = kh_seeds_encode(&p->image, scratch, &pairs, fin->f->bins, err);
	return rc ? rc : kh_order_put(fin->order, range, p, deliver, NULL);
}

static int make_ranges(void *arg, unsigned worker, kh_err *err)
{
	struct finish *fin = arg;
	kh_pair_scratch scratch = { .key = NULL };
	int rc = KH_OK;

	(void)worker;
	while (!rc) {
		struct delivery *p = kh_queue_pop(fin->images);

		if (!p) {
			rc = KH_ECANCEL;
			break;
		}
		const unsigned range = fin->next++;

		if (range >= KH_RANGES) {
			kh_queue_push(fin->images, p);
			break;
		}
		rc = make_range(fin, range, &scratch, p, err);
	}
	kh_pair_scratch_clear(&scratch);
	return rc;
}

static int cpu_builder_finish(kh_builder *b, const kh_finish *f, kh_err *err)
{
	struct finish fin = { .b = b, .f = f };
	const size_t n = b->o.on.threads + (size_t)1;
	struct delivery *delivery = kh_array(n, sizeof *delivery, err);
	int rc = delivery ? kh_monitor_new(&fin.m, err) : KH_ENOMEM;

	if (!rc)
		rc = kh_queue_new(&fin.images, fin.m, n, err);
	if (!rc)
		rc = kh_order_new(&fin.order, fin.m, n, err);
	for (size_t i = 0; i < n && !rc; i++) {
		delivery[i].fin = &fin;
		kh_queue_push(fin.images, &delivery[i]);
	}
	if (!rc)
		rc = kh_threads_run(fin.m, b->o.on.threads, make_ranges, &fin, err);
	for (size_t i = 0; delivery && i < n; i++)
		kh_image_clear(&delivery[i].image);
	kh_order_free(fin.order);
	kh_queue_free(fin.images);
	kh_monitor_free(fin.m);
	free(delivery);
	return rc;
}

/* --- classifying ------------------------------------------------------------------ */
struct kh_engine {
	kh_db db;                       /* as it was opened, but for the place of the index */
	void *copy, *text;              /* of the index and of the text, or NULL */
	const kh_rule *rule;
};

/* What a worker does jobs with: one of these, by the kind of the database. */
struct kh_task_queue {
	kh_k2_classifier *kraken;
	kh_matcher *text;
	kh_task *done;
};

static uint64_t index_bytes(const kh_db *db)
{
	return db->h->section[KH_SEC_INDEX].bytes;
}

/* Is the index to be copied to large pages?  Copying a byte takes a third of what large pages save
 * for a byte of reads; the copy takes no more than half of the memory that is left. */
static bool wants_copy(const kh_db *db, const kh_engine_options *o)
{
	if (db->fd < 0)
		return false;
	if (o->on.placement != KH_PLACE_AUTO)
		return o->on.placement == KH_PLACE_REPLICATE;
	return o->input >= index_bytes(db) && !kh_db_in_large_pages(db) &&
	       !kh_db_make_large_pages(db) &&
	       index_bytes(db) + db->h->section[KH_SEC_TEXT].bytes <=
		       kh_memory_left_now(o->on.threads).bytes / 2;
}

static int copy_index(kh_engine *e, unsigned threads, kh_err *err)
{
	const double began = kh_seconds();
	int rc = kh_db_copy(&e->db, KH_SEC_INDEX, &e->copy, threads, err);

	if (!rc && e->db.text)
		rc = kh_db_copy(&e->db, KH_SEC_TEXT, &e->text, threads, err);
	if (rc)
		return rc;
	e->db.image = e->db.seeds.image = e->copy;
	e->db.text = e->text;
	kh_log(KH_DEBUG, "the index was copied to large pages in %.2f s", kh_seconds() - began);
	return KH_OK;
}

static void cpu_engine_close(kh_engine *e)
{
	if (e)
		kh_pages_free(e->copy, (size_t)index_bytes(&e->db));
	if (e && e->text)
		kh_pages_free(e->text, (size_t)e->db.h->section[KH_SEC_TEXT].bytes);
	free(e);
}

static int cpu_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o,
			   kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	if (!e)
		return KH_ENOMEM;
	*e = (kh_engine) { .db = *db, .rule = o->rule };
	rc = wants_copy(db, o) ? copy_index(e, o->on.threads, err) : KH_OK;
	if (rc) {
		cpu_engine_close(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}

static void cpu_queue_close(kh_task_queue *q)
{
	if (!q)
		return;
	kh_k2_classifier_free(q->kraken);
	kh_matcher_free(q->text);
	free(q);
}

static int cpu_queue_open(kh_task_queue **out, kh_engine *e, unsigned worker, size_t block_size,
			 kh_err *err)
{
	kh_task_queue *q = kh_array(1, sizeof *q, err);
	int rc;

	(void)worker, (void)block_size;
	if (!q)
		return KH_ENOMEM;
	rc = e->db.k2 ? kh_k2_classifier_new(&q->kraken, &e->db, err)
		      : kh_matcher_new(&q->text, &e->db, e->rule, err);
	if (rc) {
		cpu_queue_close(q);
		return rc;
	}
	*out = q;
	return KH_OK;
}

static int do_task(kh_task_queue *q, kh_task *t, kh_err *err)
{
	if (q->kraken)
		return kh_k2_classify_job(q->kraken, t->job, t->call, t->runs, t->distinct, err);
	kh_match_next(q->text, t->answers, t->known);
	return kh_match_job(q->text, t->job, t->call, t->candidates, t->aligned, t->distinct, err);
}

/* A task that fails is not under way: the queue is for others. */
static int cpu_submit(kh_task_queue *q, kh_task *t, kh_err *err)
{
	assert(!q->done);
	const int rc = do_task(q, t, err);

	q->done = rc ? NULL : t;
	return rc;
}

static int cpu_collect(kh_task_queue *q, kh_task **t, kh_err *err)
{
	(void)err;
	*t = q->done;
	q->done = NULL;
	return KH_OK;
}

const kh_backend kh_backend_cpu = {
	.name = "cpu",
	.on_host = true,
	.kraken = &kh_backend_cpu,
	.candidates = true,
	.build.open = cpu_builder_open,
	.build.plan = cpu_builder_plan,
	.build.add = cpu_builder_add,
	.build.finish = cpu_builder_finish,
	.build.close = cpu_builder_close,
	.engine_open = cpu_engine_open,
	.engine_close = cpu_engine_close,
	.queue_open = cpu_queue_open,
	.queue_close = cpu_queue_close,
	.depth = 1,
	.submit = cpu_submit,
	.collect = cpu_collect,
};
