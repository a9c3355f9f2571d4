/*
 * queue.c - classifying on GPUs, host side
 *
 *	engine   the database on each device (engine.c)
 *	queue    one worker's stream and buffers, on device worker % n, with at most
 *	         KH_CUDA_DEPTH tasks under way
 *	submit   packed words and a table of records in one copy, the kernels, then
 *	         the results back; of databases with text, kernels and results of the
 *	         tasks of several queues (batch.h)
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include "cuda/engine/queue_in.h"
#include "base/mem.h"

/* --- queues ----------------------------------------------------------------------- */
enum { COUNTS = KH_GPU_QUERY_COUNTS };  /* bytes in front of the calls */
/* Where lists have more than a FEW bins of a species, the first tasks have more room. */
enum { FEW = 8 };

void kh_flight_give_up(kh_task_queue *l, struct kh_flight *f)
{
	if (f->by_host)
		return;
	if (l->e->rounds)
		kh_rounds_wait(l->e->rounds, &f->ask, NULL);
	if (l->c->batches)
		kh_batches_drop(l->c->batches, &f->batch);
}

void kh_cuda_queue_close(kh_task_queue *l)
{
	if (!l)
		return;
	cudaSetDevice(l->c->device);
	for (; l->n > 0; l->n--, l->first = (l->first + 1) % KH_CUDA_DEPTH)
		kh_flight_give_up(l, &l->flight[l->first]);
	kh_rounds_hold(l->e->rounds);
	if (l->stream)
		cudaStreamSynchronize(l->stream);
	for (int i = 0; i < KH_CUDA_DEPTH; i++) {
		struct kh_flight *f = &l->flight[i];

		KH_GPU_DROP(f->all);
		kh_cuda_between_drop(&f->between);
		if (f->staged)
			cudaEventDestroy(f->staged);
		if (f->done)
			cudaEventDestroy(f->done);
	}
	kh_cuda_scratch_close(&l->scratch);
	if (l->stream)
		cudaStreamDestroy(l->stream);
	if (l->back)
		cudaStreamDestroy(l->back);
	kh_rounds_let_go(l->e->rounds);
	kh_cuda_host_close(&l->host);
	free(l);
}

/* Sizes of what a task needs. */
struct need {
	kh_cuda_layout lay;             /* of the input */
	size_t n;                       /* fragments */
	uint64_t features;              /* at most */
	bool found;                     /* features found are wanted */
};

static int flight_room(const kh_task_queue *l, struct kh_flight *f, const struct need *x,
		       kh_err *err)
{
	const size_t each = sizeof(kh_call) + sizeof(kh_candidates) + 3 * sizeof(uint32_t);
	const size_t out = COUNTS + x->n * each + x->lay.n_slices * sizeof(uint32_t);
	int rc = kh_gpu_room(&f->din, x->lay.bytes, err);

	if (!rc)
		rc = kh_gpu_host_room(&f->out, out, err);
	if (!rc)
		rc = kh_gpu_room(&f->dout, out, err);
	if (!rc)
		rc = kh_cuda_between_room(&f->between, &x->lay, x->n, err);
	if (!rc && x->found)    /* long fragments leave some of it unused, and all is fetched */
		rc = kh_gpu_zero_room(&f->found, x->features * sizeof(uint64_t), l->stream, err);
	if (!rc && l->e->db->text)
		rc = kh_gpu_room(&f->mark, (x->lay.words + 1) * sizeof(uint32_t), err);
	if (!rc && l->e->db->text && x->lay.n_slices > 0)
		rc = kh_gpu_room(&f->part, x->lay.n_slices * sizeof(kh_gpu_part), err);
	if (!rc && l->e->rounds)
		rc = kh_gpu_room(&f->segment,
				 (x->n + x->lay.n_slices) * sizeof(kh_gpu_segment), err);
	return rc;
}

/* Buffers large enough for blocks of short reads; others make them grow. */
static int flight_open(const kh_task_queue *l, struct kh_flight *f, size_t block, kh_err *err)
{
	const size_t n = block / 128;
	const struct need usual = { .lay = kh_cuda_lay_out(block / 32, n, &l->e->rule),
				    .n = n };
	int rc = KH_GPU(cudaEventCreateWithFlags(&f->staged, cudaEventDisableTiming), err);

	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming), err);
	if (!rc)
		rc = kh_gpu_host_room(&f->in, usual.lay.bytes, err);
	return rc ? rc : flight_room(l, f, &usual, err);
}

static int queue_make(kh_task_queue *l, size_t block_size, kh_err *err)
{
	int rc = kh_gpu_use(l->c->device, err);

	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking),
			    err);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->back, cudaStreamNonBlocking),
			    err);
	for (int i = 0; i < KH_CUDA_DEPTH && !rc; i++)
		rc = flight_open(l, &l->flight[i], block_size, err);
	/* rounds of an exchange have their own */
	if (!rc && !l->e->db->text && !l->e->rounds)
		rc = kh_cuda_scratch_open(&l->scratch, l->e, l->stream, err);
	return rc;
}

int kh_cuda_queue_open(kh_task_queue **out, kh_engine *e, unsigned worker, size_t block_size,
		      kh_err *err)
{
	kh_task_queue *l = kh_array(1, sizeof *l, err);
	int rc;

	if (!l)
		return KH_ENOMEM;
	l->e = e;
	l->c = &e->copy[worker % e->n];
	l->worker = worker;
	l->roomy = e->db->bins.most == 0 || e->db->bins.most > FEW ? KH_ROOMY : 0;
	kh_rounds_hold(l->e->rounds);
	rc = e->by_host ? KH_OK : queue_make(l, block_size, err);
	kh_rounds_let_go(l->e->rounds);
	if (rc) {
		kh_cuda_queue_close(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

/* --- submit ------------------------------------------------------------------------- */
/* The most features, for which the kernels set places aside. */
static struct need need_of(const kh_task_queue *l, const kh_task *t, const kh_job_part s[2])
{
	const kh_rule *r = &l->e->rule;
	struct need x = { .n = t->job->n, .found = t->distinct != NULL };
	uint64_t before = UINT64_MAX, each = 0;         /* most are as long as the one before */

	if (!x.found && !l->e->rounds)
		return x;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < s[k].n; i++) {
			const uint64_t len = s[k].rec[i].len;

			if (len != before)
				each = kh_sampling_asked_bound(&r->sampling, len) +
				       (len / r->max_span + 1) * (r->sampling.s + 1);
			before = len;
			x.features += each;
		}
	return x;
}

static int submit_host(kh_task_queue *l, struct kh_flight *f, kh_err *err)
{
	f->by_host = true;
	return kh_cuda_host_job(&l->host, l->e, f->task, err);
}

static kh_gpu_query query_of(const kh_task_queue *l, const struct kh_flight *f,
			     const kh_cuda_layout *lay)
{
	const kh_task *t = f->task;
	const struct kh_results r = kh_results_of(l, f);
	char *out = f->dout.p;
	kh_gpu_query q = { .ix = l->c->ix,
			   .text = l->c->text,
			   .mark = f->mark.p,
			   .n_words = (uint32_t)lay->words,
			   .part = f->part.p,
			   .rule = l->e->rule,
			   .counts = (uint32_t *)out,
			   .call = (kh_call *)(out + COUNTS),
			   .more_output = f->roomy,
			   .scratch = l->scratch.list.p,
			   .n_scratch = l->scratch.n };

	kh_cuda_query_input(&q, t->job, lay, f->din.p);
	kh_cuda_query_between(&q, &f->between);
	if (t->candidates)
		q.candidates = (kh_candidates *)(out + r.candidates);
	if (t->places)
		q.place = (uint32_t *)(out + r.place);
	if (t->census) {
		q.census = kh_cuda_census_of(t->census, l->worker);
		q.class_of = (uint32_t *)(out + r.class_of);
	}
	if (t->distinct) {
		q.found = f->found.p;
		q.found_at = (uint32_t *)(out + r.found_at);
	}
	if (t->counters)
		q.counters = kh_cuda_counters_of(t->counters, l->worker);
	if (l->e->translated) {
		q.translated = l->c->translated;
		q.genus = (uint32_t *)(out + r.genus);
	}
	return q;
}

/* Copies the input to the device. */
static int send(kh_task_queue *l, struct kh_flight *f, const kh_cuda_layout *lay, kh_err *err)
{
	return KH_GPU(cudaMemcpyAsync(f->din.p, f->in.p, lay->bytes, cudaMemcpyHostToDevice,
				      l->stream), err);
}

/* Copies the input to the device and leaves the task to the rounds of exchange. */
static int leave_to_rounds(kh_task_queue *l, struct kh_flight *f, const kh_cuda_layout *lay,
			   uint64_t features, kh_err *err)
{
	int rc = send(l, f, lay, err);

	if (!rc)
		rc = KH_GPU(cudaEventRecord(f->staged, l->stream), err);
	if (rc)
		return rc;
	f->ask = (kh_rounds_task) { .device = (size_t)(l->c - l->e->copy),
				      .q = query_of(l, f, lay),
				      .features = features,
				      .staged = f->staged,
				      .results = f->out.p };
	f->ask.q.segment = f->segment.p;
	f->ask.bytes = kh_results_of(l, f).bytes;
	kh_rounds_put(l->e->rounds, &f->ask);
	return KH_OK;
}

/* The same, to a batch of several queues' tasks. */
static int leave_to_batch(kh_task_queue *l, struct kh_flight *f, const kh_cuda_layout *lay,
			  kh_err *err)
{
	int rc;

	if ((rc = send(l, f, lay, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(f->dout.p, 0, COUNTS, l->stream), err)) ||
	    (rc = KH_GPU(cudaEventRecord(f->staged, l->stream), err)))
		return rc;
	f->batch = (kh_batch_task) { .q = query_of(l, f, lay),
				     .staged = f->staged,
				     .done = f->done,
				     .results = f->out.p,
				     .bytes = kh_results_of(l, f).bytes };
	kh_batches_put(l->c->batches, &f->batch);
	return KH_OK;
}

static int launch(kh_task_queue *l, struct kh_flight *f, const kh_cuda_layout *lay, kh_err *err)
{
	const kh_gpu_query q = query_of(l, f, lay);
	char *out = f->dout.p;
	int rc;

	if ((rc = send(l, f, lay, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(out, 0, COUNTS, l->stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_query_run(&q, l->stream), "classification kernels", err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(f->out.p, out, kh_results_of(l, f).bytes,
					 cudaMemcpyDeviceToHost, l->stream), err)))
		return rc;
	return KH_GPU(cudaEventRecord(f->done, l->stream), err);
}

/* Stages the input in pinned memory; *fits: the kernels can take it. */
static int stage(kh_task_queue *l, struct kh_flight *f, struct need *need, bool *fits, kh_err *err)
{
	const kh_job *j = f->task->job;
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	const uint64_t words = s[0].to - s[0].from + s[1].to - s[1].from;
	int rc;

	*need = need_of(l, f->task, s);
	*fits = words < UINT32_MAX && need->features < UINT32_MAX;
	if (!*fits)
		return KH_OK;
	need->lay = kh_cuda_lay_out((size_t)words, s[0].n + s[1].n, &l->e->rule);
	kh_rounds_hold(l->e->rounds);
	rc = kh_gpu_host_room(&f->in, need->lay.bytes, err);
	kh_rounds_let_go(l->e->rounds);
	if (!rc)
		*fits = kh_cuda_stage(f->in.p, &need->lay, j, s);
	f->slice = need->lay.slice;
	f->n_slices = l->e->db->text ? 0 : need->lay.n_slices;
	return rc;
}

static int submit_device(kh_task_queue *l, struct kh_flight *f, const struct need *need,
			 kh_err *err)
{
	int rc;

	kh_rounds_hold(l->e->rounds);
	rc = flight_room(l, f, need, err);
	kh_rounds_let_go(l->e->rounds);
	if (rc)
		return rc;
	f->roomy = l->roomy > 0;
	l->roomy -= f->roomy;
	return l->e->rounds     ? leave_to_rounds(l, f, &need->lay, need->features, err)
	       : l->c->batches ? leave_to_batch(l, f, &need->lay, err)
			       : launch(l, f, &need->lay, err);
}

int kh_cuda_submit(kh_task_queue *l, kh_task *t, kh_err *err)
{
	struct kh_flight *f = &l->flight[(l->first + l->n) % KH_CUDA_DEPTH];
	struct need need;
	bool fits = false;
	int rc = kh_gpu_use(l->c->device, err);

	assert(l->n < KH_CUDA_DEPTH);
	f->task = t;
	f->by_host = false;
	t->genus = NULL;
	if (!rc && !l->e->by_host)
		rc = stage(l, f, &need, &fits, err);
	if (!rc)
		rc = fits ? submit_device(l, f, &need, err) : submit_host(l, f, err);
	if (!rc)
		l->n++;
	return rc;
}
