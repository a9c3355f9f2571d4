/*
 * queue.c - classifying on GPUs, host side
 *
 *	engine   the database on each device (engine.c)
 *	queue    one worker's stream and buffers, on device worker % n, with at most
 *	         KH_CUDA_DEPTH tasks under way
 *	submit   packed words and a table of records in one copy; then kernels and
 *	         results, with those of other queues' tasks (batch.h)
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include "cuda/engine/queue_in.h"
#include "base/mem.h"

/* --- queues ----------------------------------------------------------------------- */
enum { COUNTS = KH_GPU_QUERY_COUNTS };  /* bytes in front of the calls */

void kh_cuda_queue_close(kh_task_queue *l)
{
	if (!l)
		return;
	cudaSetDevice(l->c->device);
	for (; l->n > 0; l->n--, l->first = (l->first + 1) % KH_CUDA_DEPTH)
		if (!l->flight[l->first].by_host)
			kh_batches_drop(l->c->batches, &l->flight[l->first].batch);
	if (l->stream)
		cudaStreamSynchronize(l->stream);
	for (int i = 0; i < KH_CUDA_DEPTH; i++) {
		struct kh_flight *f = &l->flight[i];

		KH_GPU_DROP(f->all);
		if (f->staged)
			cudaEventDestroy(f->staged);
		if (f->done)
			cudaEventDestroy(f->done);
	}
	if (l->stream)
		cudaStreamDestroy(l->stream);
	if (l->back)
		cudaStreamDestroy(l->back);
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
	const size_t out = COUNTS + x->n * each;
	int rc = kh_gpu_room(&f->din, x->lay.bytes, err);

	if (!rc && kh_cuda_fetched(l->e) > 0)
		rc = kh_gpu_room(&f->asked, 2 * x->n * sizeof(kh_gpu_asked), err);
	if (!rc)
		rc = kh_gpu_host_room(&f->out, out, err);
	if (!rc)
		rc = kh_gpu_room(&f->dout, out, err);
	if (!rc)
		rc = kh_gpu_room(&f->mark, (x->lay.words + 1) * sizeof(uint32_t), err);
	if (!rc)
		rc = kh_gpu_room(&f->fragments, 2 * x->n * sizeof(uint32_t), err);
	if (!rc && x->found)
		rc = kh_gpu_room(&f->had, x->lay.words * sizeof(uint32_t), err);
	if (!rc && x->found)
		rc = kh_gpu_room(&f->found, x->features * sizeof(uint64_t), err);
	if (!rc && x->lay.n_slices > 0)
		rc = kh_gpu_room(&f->part, x->lay.n_slices * sizeof(kh_gpu_part), err);
	return rc;
}

/* Buffers large enough for blocks of short reads; others make them grow. */
static int flight_open(const kh_task_queue *l, struct kh_flight *f, size_t block, kh_err *err)
{
	const size_t n = block / 128;
	/* half of a block's text are bases; tasks of what a device has parsed may have more */
	const size_t parsed = kh_cuda_takes_parsed(l->e) ? KH_CUDA_PARSED_WORDS * n * 16 : 0;
	const size_t bases = block / 2 > parsed ? block / 2 : parsed;
	const kh_sampling *sampling = &l->e->rule.sampling;
	const struct need usual = { .lay = kh_cuda_lay_out(block / 32, n, true),
				    .n = n,
				    .features = kh_sampling_asked_bound(sampling, bases),
				    .found = l->e->features };
	int rc = KH_GPU(cudaEventCreateWithFlags(&f->staged, cudaEventDisableTiming), err);

	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming), err);
	if (!rc)
		rc = kh_gpu_host_room(&f->in, usual.lay.bytes, err);
	if (!rc)        /* tasks of what a device has parsed have more words */
		rc = kh_gpu_room(&f->mark, (KH_CUDA_PARSED_WORDS * n + 1) * sizeof(uint32_t), err);
	if (!rc && l->e->features)
		rc = kh_gpu_room(&f->had, KH_CUDA_PARSED_WORDS * n * sizeof(uint32_t), err);
	if (!rc && l->e->n > 1 && kh_cuda_takes_parsed(l->e)) /* and are copied between devices */
		rc = kh_gpu_room(&f->din, kh_cuda_lay_out_usual().bytes, err);
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
	rc = e->by_host ? KH_OK : queue_make(l, block_size, err);
	if (rc) {
		kh_cuda_queue_close(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

/* --- submit ------------------------------------------------------------------------- */
/* What a task needs of a flight's rooms.  Of features, the most that there may be: kernels set
 * places aside for these. */
static struct need need_of(const kh_task_queue *l, const kh_task *t, const kh_job_side s[2])
{
	const kh_parsed_there *there = t->job->there;
	struct need x = { .n = t->job->n, .found = t->distinct != NULL };
	uint64_t before = UINT64_MAX, each = 0;         /* most are as long as the one before */

	for (int k = 0; k < 2 && x.found; k++)
		for (size_t i = 0; i < s[k].n; i++) {
			const uint64_t len = s[k].rec[i].len;

			if (len != before)
				each = kh_sampling_asked_bound(&l->e->rule.sampling, len);
			before = len;
			x.features += each;
		}
	/* mates have one more, at most, than one read of their bases */
	for (uint32_t i = 0; there && i < there->n && x.found; i++) {
		if (there->len[i] != before)
			each = kh_sampling_asked_bound(&l->e->rule.sampling, there->len[i]) + 1;
		before = there->len[i];
		x.features += each;
	}
	return x;
}

static int submit_host(kh_task_queue *l, struct kh_flight *f, kh_err *err)
{
	f->by_host = true;
	return kh_cuda_host_task(&l->host, l->e, f->task, err);
}

static kh_gpu_query query_of(const kh_task_queue *l, const struct kh_flight *f,
			     const kh_cuda_layout *lay)
{
	const kh_task *t = f->task;
	const struct kh_results r = kh_results_of(l, f);
	char *out = f->dout.p;
	kh_gpu_query q = { .db = l->c->db,
			   .rule = l->e->rule,
			   .counts = (uint32_t *)out,
			   .call = (kh_call *)(out + COUNTS),
			   .mark = f->mark.p,
			   .again = f->fragments.p,
			   .asked = f->asked.p,
			   .part = f->part.p };

	if (t->job->there)
		kh_cuda_query_parsed(&q, &f->parsed);
	else
		kh_cuda_query_input(&q, t->job, lay, f->din.p);
	q.rest = q.again + q.n;
	if (t->candidates)
		q.beside.candidates = (kh_candidates *)(out + r.candidates);
	if (t->second)
		q.beside.second = (kh_second *)(out + r.second);
	if (t->census) {
		q.census = kh_cuda_census_of(t->census, l->worker);
		q.class_of = (uint32_t *)(out + r.class_of);
		q.calls_later = t->like != NULL;
	}
	if (t->distinct) {
		q.had = f->had.p;
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

/* Copies the input to the device, if it is not on it, and leaves the rest to a batch of several
 * queues' tasks. */
static int launch_flight(kh_task_queue *l, struct kh_flight *f, const kh_cuda_layout *lay,
			 kh_err *err)
{
	int rc = KH_OK;

	if (f->task->job->there) {
		f->parsed = *f->task->job->there;
		rc = kh_cuda_copy_parsed(&f->parsed, lay, f->din.p, l->stream, err);
	} else {
		rc = KH_GPU(cudaMemcpyAsync(f->din.p, f->in.p, lay->bytes, cudaMemcpyHostToDevice,
					    l->stream), err);
	}
	if (rc || (rc = KH_GPU(cudaMemsetAsync(f->dout.p, 0, COUNTS, l->stream), err)) ||
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

/* Stages the input in pinned memory; *fits: the kernels can take it. */
static int stage(kh_task_queue *l, struct kh_flight *f, struct need *need, bool *fits, kh_err *err)
{
	const kh_job *j = f->task->job;
	const kh_job_side s[2] = { kh_job_side_of(j, 0), kh_job_side_of(j, 1) };
	const uint64_t words = s[0].to - s[0].from + s[1].to - s[1].from;
	int rc;

	*need = need_of(l, f->task, s);
	*fits = words < UINT32_MAX && need->features < UINT32_MAX;
	if (j->there)
		need->lay = kh_cuda_lay_out_parsed(j->there, l->c->device);
	if (j->there || !*fits)
		return KH_OK;
	need->lay = kh_cuda_lay_out((size_t)words, s[0].n + s[1].n, true);
	rc = kh_gpu_host_room(&f->in, need->lay.bytes, err);
	if (!rc)
		*fits = kh_cuda_stage(f->in.p, &need->lay, j, s);
	return rc;
}

static int submit_device(kh_task_queue *l, struct kh_flight *f, const struct need *need,
			 kh_err *err)
{
	const int rc = flight_room(l, f, need, err);

	return rc ? rc : launch_flight(l, f, &need->lay, err);
}

bool kh_cuda_takes_parsed(const kh_engine *e)
{
	return !e->by_host && e->translated == 0;
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
