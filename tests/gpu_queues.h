/* gpu_queues.h - jobs through the queues of a backend */
#ifndef KH_TEST_GPU_QUEUES_H
#define KH_TEST_GPU_QUEUES_H

#include "test_gpu.h"
#include "classify/distinct.h"

struct answer {
	kh_call *call;
	kh_candidates *candidates;      /* NULL: not wanted */
	kh_second *second;              /* alike */
	kh_distinct distinct;
};

static inline struct answer answer_new(size_t n, uint32_t want)
{
	struct answer a = { .call = calloc(n, sizeof *a.call) };

	a.candidates = want == KH_WANT_CANDIDATES ? calloc(n, sizeof *a.candidates) : NULL;
	a.second = want == KH_WANT_SECOND ? calloc(n, sizeof *a.second) : NULL;
	return a;
}

static inline void answer_clear(struct answer *a)
{
	free(a->call);
	free(a->candidates);
	free(a->second);
	kh_distinct_clear(&a->distinct);
}

/* Where the jobs run. */
struct way {
	const char *name;
	const kh_backend *be;
	size_t n_devices;
	int device[4];
	enum kh_placement placement;
	bool tight;                     /* a third of it has room on each device */
};

static inline kh_devices devices_of(const struct way *w)
{
	kh_devices on = { .choice = { .backend = w->be, .n = w->n_devices },
			  .placement = w->placement };

	memcpy(on.choice.device, w->device, w->n_devices * sizeof *w->device);
	return on;
}

/* The memory with which so much has room, beside what is needed without any.  For many queues, as a
 * small database that is replicated needs less otherwise. */
static inline uint64_t tight_memory(const struct way *w, const kh_db *db,
				    const kh_engine_options *tight)
{
	kh_engine_options o = *tight;
	kh_engine *e = NULL;
	kh_err why = { 0, "" };
	const char *p;

	o.on.memory = 1;
	o.on.placement = KH_PLACE_HOST;
	assert_int_equal(w->be->engine_open(&e, db, &o, &why), KH_ENOMEM);
	p = strstr(why.msg, "needs ");
	assert_non_null(p);
	assert_non_null(strstr(why.msg, "free by --set gpu-memory"));
	return strtoull(p + strlen("needs "), NULL, 10) + db->h->section[KH_SEC_INDEX].bytes / 3;
}

/* The jobs are given in turn to queues, one for each device, which all have tasks under way. */
static inline void run_queues(const struct way *w, kh_task_queue *const *queue, const kh_job *job,
			      size_t n, struct answer *a)
{
	const size_t ahead = w->be->depth * w->n_devices;
	kh_task task[8], *t;
	size_t at = 0;

	for (size_t i = 0; i < n + ahead; i++) {
		kh_task_queue *l = queue[i % w->n_devices];

		if (i >= ahead && i - ahead < n) {
			OK(w->be->collect(l, &t, err));
			assert_ptr_equal(t, &task[i - ahead]);
		}
		if (i >= n)
			continue;
		task[i] = (kh_task) { .job = &job[i],
				      .call = a->call + at,
				      .distinct = i % 2 ? &a->distinct : NULL,
				      .candidates = a->candidates ? a->candidates + at : NULL,
				      .second = a->second ? a->second + at : NULL };
		memset(a->call + at, 0xa5, job[i].n * sizeof *a->call);
		if (a->candidates)
			memset(a->candidates + at, 0xa5, job[i].n * sizeof *a->candidates);
		if (a->second)
			memset(a->second + at, 0xa5, job[i].n * sizeof *a->second);
		at += job[i].n;
		OK(w->be->submit(l, &task[i], err));
	}
	for (size_t i = 0; i < w->n_devices; i++) {
		OK(w->be->collect(queue[i], &t, err));
		assert_null(t);
	}
}

static inline void run_jobs(const struct way *w, const kh_db *db, const kh_rule *rule,
		     const kh_job *job, size_t n, struct answer *a)
{
	const size_t submit_size = test_rand() % 2 ? 0 : 1 << 16;
	kh_engine_options eo = { .rule = rule,
				 .on = devices_of(w),
				 .queues = (unsigned)w->n_devices };
	kh_engine *e = NULL;
	kh_task_queue *queue[4] = { NULL };

	if (w->tight) {
		eo.queues = 64;
		eo.on.memory = tight_memory(w, db, &eo);
	}
	if (w->placement == KH_PLACE_HOST && test_rand() % 2)
		eo.block_size = 1 << (10 + test_rand() % 6);    /* not all blocks are fetched */
	OK(kh_distinct_init(&a->distinct, db->tax->n, err));
	OK(w->be->engine_open(&e, db, &eo, err));
	for (unsigned i = 0; i < w->n_devices; i++)
		OK(w->be->queue_open(&queue[i], e, i, submit_size, err));
	run_queues(w, queue, job, n, a);
	for (unsigned i = 0; i < w->n_devices; i++)
		w->be->queue_close(queue[i]);
	w->be->engine_close(e);
}

static inline void same_answers(const struct answer *a, const struct answer *b, size_t n,
				uint32_t taxa, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&a->call[i], &b->call[i], sizeof *a->call))
			fail_msg("%s: fragment %zu: taxon %u, %u of %u, found %u; not "
				 "taxon %u, %u of %u, found %u",
				 what, i, b->call[i].taxon, b->call[i].hits,
				 b->call[i].kmers, b->call[i].found, a->call[i].taxon,
				 a->call[i].hits, a->call[i].kmers, a->call[i].found);
	for (size_t i = 0; a->candidates && i < n; i++) {
		const kh_candidates *x = &a->candidates[i], *y = &b->candidates[i];

		if (memcmp(x, y, sizeof *x))
			fail_msg("%s: fragment %zu: candidates %u %u %u %u at %u; not %u %u %u %u "
				 "at %u, or other drops",
				 what, i, y->species[0], y->species[1], y->species[2],
				 y->species[3], y->bin, x->species[0], x->species[1],
				 x->species[2], x->species[3], x->bin);
	}
	for (size_t i = 0; a->second && i < n; i++)
		if (memcmp(&a->second[i], &b->second[i], sizeof *a->second))
			fail_msg("%s: fragment %zu: second-best taxon %u with %u hits; not %u with "
				 "%u",
				 what, i, b->second[i].taxon, b->second[i].hits,
				 a->second[i].taxon, a->second[i].hits);
	for (uint32_t t = 0; t < taxa; t++) {
		assert_int_equal(a->distinct.found[t], b->distinct.found[t]);
		assert_int_equal(a->distinct.reg[t] == NULL, b->distinct.reg[t] == NULL);
		if (a->distinct.reg[t])
			assert_memory_equal(a->distinct.reg[t], b->distinct.reg[t],
					    KH_HLL_SIZE);
	}
}

#endif
