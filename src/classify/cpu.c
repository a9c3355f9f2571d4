#include <config.h>
#include "classify/backend.h"
#include "classify/match.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "db/pages.h"

struct kh_engine {
	kh_db db;                       /* as it was opened, but for the place of the index */
	void *copy, *text;              /* of the index and of the text, or NULL */
	const kh_rule *rule;
};

/* What a worker does jobs with: one of these, by the kind of the database. */
struct kh_task_queue {
	kh_k2_classifier *kraken;
	kh_matcher *matcher;
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

	if (!rc && !kh_db_is_thin(e->db.h))
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
	kh_matcher_free(q->matcher);
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
		      : kh_matcher_new(&q->matcher, &e->db, e->rule, err);
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

	const kh_match_results to = { .call = t->call,
				      .candidates = t->candidates,
				      .second = t->second,
				      .aligned = t->aligned,
				      .distinct = t->distinct,
				      .answers = t->answers };

	return t->known ? kh_match_job_known(q->matcher, t->job, t->known, &to, err)
			: kh_match_job(q->matcher, t->job, &to, err);
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
	.engine_open = cpu_engine_open,
	.engine_close = cpu_engine_close,
	.queue_open = cpu_queue_open,
	.queue_close = cpu_queue_close,
	.depth = 1,
	.submit = cpu_submit,
	.collect = cpu_collect,
};
