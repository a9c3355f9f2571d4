/*
 * kraken2_queue.c - tasks of a run that asks a database of Kraken 2
 *
 * As queue.c: packed words and a table of records in one copy, the kernel, then the results back.
 * Fragments that the kernel has left, and tasks that it does not know, are done on the host.  What
 * the device has parsed is copied to the host if fragments of it are left.
 */
#include <config.h>
#include "cuda/engine/kraken2_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/engine/engine.h"
#include "cuda/engine/stage.h"

/* A task under way. */
struct flight {
	kh_task *task;
	/* in, din: words, masks, records (in: also of a task that was parsed); out, dout: counts,
	 * calls, lists of runs; runs, hruns: these runs */
	KH_GPU_BUFS(all, in, din, out, dout, runs, hruns);
	kh_parsed_there parsed;         /* what a device has parsed, where this one reads it */
	cudaEvent_t done;
	uint32_t cap_runs;
	uint64_t bases;                 /* places for them */
	size_t expected;                /* runs that are copied with the results */
	bool by_host;                   /* submit has done it */
};

struct kh_task_queue {
	const kh_engine *e;
	const struct kh_cuda_k2_copy *c;
	cudaStream_t stream, back;      /* back: runs, on demand */
	struct flight flight[KH_CUDA_DEPTH];
	unsigned first, n;              /* under way */
	kh_k2_classifier *host;
	kh_k2_runs redone;              /* of a fragment that was left */
	double runs_per_base;           /* of the task before */
};

enum { COUNTS = KH_GPU_K2_N_COUNTS * sizeof(uint32_t) };

/* --- queues ----------------------------------------------------------------------- */
void kh_cuda_k2_queue_close(kh_task_queue *l)
{
	if (!l)
		return;
	cudaSetDevice(l->c->device);
	if (l->stream)
		cudaStreamSynchronize(l->stream);
	for (int i = 0; i < KH_CUDA_DEPTH; i++) {
		KH_GPU_DROP(l->flight[i].all);
		if (l->flight[i].done)
			cudaEventDestroy(l->flight[i].done);
	}
	if (l->stream)
		cudaStreamDestroy(l->stream);
	if (l->back)
		cudaStreamDestroy(l->back);
	kh_k2_classifier_free(l->host);
	kh_k2_runs_clear(&l->redone);
	free(l);
}

/* Buffers large enough for blocks of short reads, but for runs, which may not be wanted; others
 * make them grow. */
static int open_flight(const kh_task_queue *l, struct flight *f, size_t block, kh_err *err)
{
	const size_t words = block / 32, n = block / 128;
	const size_t in = words * 12 + n * sizeof(kh_gpu_record) + 1024;
	const size_t out = COUNTS + n * (sizeof(kh_call) + sizeof(kh_k2_list));
	int rc = KH_GPU(cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming), err);

	if (!rc)
		rc = kh_gpu_host_room(&f->in, in, err);
	if (!rc)        /* of several devices one copies what another one has parsed */
		rc = kh_gpu_room(&f->din, l->e->n > 1 ? kh_cuda_lay_out_usual().bytes : in, err);
	if (!rc)
		rc = kh_gpu_host_room(&f->out, out, err);
	return rc ? rc : kh_gpu_zero_room(&f->dout, out, l->stream, err);
}

static int open_streams(kh_task_queue *l, size_t block, kh_err *err)
{
	int rc = kh_gpu_use(l->c->device, err);

	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), err);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->back, cudaStreamNonBlocking), err);
	for (int i = 0; i < KH_CUDA_DEPTH && !rc; i++)
		rc = open_flight(l, &l->flight[i], block, err);
	return rc;
}

int kh_cuda_k2_queue_open(kh_task_queue **out, kh_engine *e, unsigned worker, size_t block_size,
			  kh_err *err)
{
	kh_task_queue *l = kh_array(1, sizeof *l, err);
	int rc;

	if (!l)
		return KH_ENOMEM;
	l->e = e;
	l->c = &e->copy[worker % e->n];
	rc = kh_k2_classifier_new(&l->host, e->db, err);
	if (!rc && !e->by_host)
		rc = open_streams(l, block_size, err);
	if (rc) {
		kh_cuda_k2_queue_close(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

/* --- submit ----------------------------------------------------------------------- */
static size_t out_bytes(const kh_task *t)
{
	return COUNTS + t->job->n * (sizeof(kh_call) + (t->runs ? sizeof(kh_k2_list) : 0));
}

/* Each k-mer and each border can be a run, and 64 of them or more have a link; a fragment has one
 * at least.  What the kernel leaves as it is, is fetched as well: lists of fragments that are left
 * to the host, and runs that were expected. */
static int make_room(const kh_task_queue *l, struct flight *f, const kh_cuda_layout *lay,
		     kh_err *err)
{
	const uint64_t bases = 32 * lay->words, runs = bases + lay->words + 4 * f->task->job->n;
	int rc = kh_gpu_room(&f->din, lay->bytes, err);

	if (!rc)
		rc = kh_gpu_host_room(&f->out, out_bytes(f->task), err);
	if (!rc)
		rc = kh_gpu_zero_room(&f->dout, out_bytes(f->task), l->stream, err);
	f->cap_runs = runs < INT32_MAX ? (uint32_t)runs : INT32_MAX;
	f->bases = bases;
	f->expected = 0;
	if (!f->task->runs)
		return rc;
	/* a few more than in the task before */
	f->expected = (size_t)(1.125 * l->runs_per_base * (double)bases);
	if (f->expected > f->cap_runs)
		f->expected = f->cap_runs;
	if (!rc)
		rc = kh_gpu_zero_room(&f->runs, f->cap_runs * sizeof(kh_k2_run), l->stream, err);
	return rc ? rc : kh_gpu_host_room(&f->hruns, f->expected * sizeof(kh_k2_run) + 1, err);
}

static kh_gpu_kraken2 query_of(const kh_task_queue *l, const struct flight *f,
			       const kh_cuda_layout *lay)
{
	const kh_job *j = f->task->job;
	const kh_parsed_there *t = j->there ? &f->parsed : NULL;
	char *in = f->din.p, *out = f->dout.p;
	kh_gpu_kraken2 q = l->c->q;

	q.rule = l->e->db->k2->rule;
	q.bases = t ? t->bases : (const uint64_t *)in;
	q.amb = t ? t->amb : (const uint32_t *)(in + lay->amb);
	q.record = t ? t->record : in + lay->rec;
	q.n = (uint32_t)j->n;
	q.order = t ? kh_cuda_order_of_parsed(t) : kh_cuda_order_of(j);
	q.counts = (uint32_t *)out;
	q.call = (kh_call *)(out + COUNTS);
	if (f->task->runs) {
		q.run = f->runs.p;
		q.cap_runs = f->cap_runs;
		q.list = (kh_k2_list *)(out + COUNTS + j->n * sizeof(kh_call));
	}
	return q;
}

static int copy_input(kh_task_queue *l, struct flight *f, const kh_cuda_layout *lay, kh_err *err)
{
	if (!f->task->job->there)
		return KH_GPU(cudaMemcpyAsync(f->din.p, f->in.p, lay->bytes,
					      cudaMemcpyHostToDevice, l->stream), err);
	f->parsed = *f->task->job->there;
	return kh_cuda_copy_parsed(&f->parsed, lay, f->din.p, l->stream, err);
}

static int launch_kraken2(kh_task_queue *l, struct flight *f, const kh_cuda_layout *lay,
			  kh_err *err)
{
	int rc = copy_input(l, f, lay, err);
	const kh_gpu_kraken2 q = query_of(l, f, lay);

	if (rc || (rc = KH_GPU(cudaMemsetAsync(f->dout.p, 0, COUNTS, l->stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_kraken2_run(&q, l->stream), "kraken2 kernel", err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(f->out.p, f->dout.p, out_bytes(f->task),
					 cudaMemcpyDeviceToHost, l->stream), err)))
		return rc;
	if (f->expected > 0)
		rc = KH_GPU(cudaMemcpyAsync(f->hruns.p, f->runs.p,
					    f->expected * sizeof(kh_k2_run),
					    cudaMemcpyDeviceToHost, l->stream), err);
	return rc ? rc : KH_GPU(cudaEventRecord(f->done, l->stream), err);
}

static int submit_host(kh_task_queue *l, struct flight *f, kh_err *err)
{
	kh_task *t = f->task;

	f->by_host = true;
	return kh_k2_classify_job(l->host, t->job, t->call, t->runs, t->distinct, err);
}

static int submit_device(kh_task_queue *l, struct flight *f, const kh_job_side s[2],
			 kh_cuda_layout *lay, kh_err *err)
{
	const bool there = f->task->job->there;
	int rc = kh_gpu_use(l->c->device, err);

	if (!rc && !there)
		rc = kh_gpu_host_room(&f->in, lay->bytes, err);
	if (rc)
		return rc;
	if (!there && !kh_cuda_stage(f->in.p, lay, f->task->job, s))
		return submit_host(l, f, err);
	rc = make_room(l, f, lay, err);
	return rc ? rc : launch_kraken2(l, f, lay, err);
}

bool kh_cuda_k2_takes_parsed(const kh_engine *e)
{
	return !e->by_host && !e->distinct;
}

int kh_cuda_k2_submit(kh_task_queue *l, kh_task *t, kh_err *err)
{
	struct flight *f = &l->flight[(l->first + l->n) % KH_CUDA_DEPTH];
	const kh_job_side s[2] = { kh_job_side_of(t->job, 0), kh_job_side_of(t->job, 1) };
	const uint64_t words = s[0].to - s[0].from + s[1].to - s[1].from;
	kh_cuda_layout lay = kh_cuda_lay_out((size_t)words, s[0].n + s[1].n, false);
	int rc;

	if (t->job->there)
		lay = kh_cuda_lay_out_parsed(t->job->there, l->c->device);

	assert(l->n < KH_CUDA_DEPTH);
	f->task = t;
	f->by_host = false;
	/* minimizers are counted on the host */
	if (l->e->by_host || t->distinct || words >= INT32_MAX / 32)
		rc = submit_host(l, f, err);
	else
		rc = submit_device(l, f, s, &lay, err);
	l->n += !rc;
	return rc;
}

/* --- collect ---------------------------------------------------------------------- */
/* What the device has parsed, on the host, as a block and records of a fragment. */
struct fetched {
	kh_parsed_there there;
	kh_block block;
	kh_record rec[2];
};

static int fetch(kh_task_queue *l, struct flight *f, struct fetched *x, kh_err *err)
{
	const kh_cuda_layout lay = kh_cuda_lay_out_parsed(&f->parsed, KH_CUDA_HOST);
	int rc = kh_gpu_host_room(&f->in, lay.bytes, err);

	x->there = f->parsed;
	x->block = (kh_block) { .bases = f->in.p, .amb = (uint32_t *)((char *)f->in.p + lay.amb),
				.rec = x->rec };
	if (!rc)
		rc = kh_cuda_copy_parsed(&x->there, &lay, f->in.p, l->back, err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(l->back), err);
}

/* Fragment i of it. */
static kh_job job_of(struct fetched *x, size_t i)
{
	const size_t each = x->there.mates ? 2 : 1;
	const kh_gpu_record *r = (const kh_gpu_record *)x->there.record + each * i;

	for (size_t k = 0; k < each; k++)
		x->rec[k] = (kh_record) { .seq = UINT64_C(32) * r[k].word, .len = r[k].len };
	return (kh_job) { .n = 1, .block = { &x->block }, .interleaved = x->there.mates };
}

/* Does a fragment on the host that was left to it. */
static int redo(kh_task_queue *l, kh_task *t, struct fetched *x, size_t i, kh_err *err)
{
	const kh_job *j = t->job;
	kh_job one = *j;
	int rc;

	one.n = 1;
	one.from[0] += j->interleaved ? 2 * i : i;
	one.from[1] += i;
	if (j->there)
		one = job_of(x, i);
	rc = kh_k2_classify_job(l->host, &one, &t->call[i], t->runs ? &l->redone : NULL, NULL, err);
	return rc || !t->runs ? rc : kh_k2_runs_add(t->runs, l->redone.run, l->redone.n, err);
}

/* Puts the runs of a fragment together, of which the first link is at `at`. */
static int follow_links(kh_k2_runs *to, const kh_k2_run *run, uint32_t at, kh_err *err)
{
	int rc = kh_k2_runs_add(to, NULL, 0, err);

	for (; at != KH_GPU_K2_NONE && !rc; at = run[at].what)
		rc = kh_k2_runs_more(to, run + at + 1, run[at].n, err);
	return rc;
}

/* Makes calls and runs whole, where some fragments are left, or runs are linked. */
static int gather(kh_task_queue *l, struct flight *f, const kh_k2_list *list, kh_err *err)
{
	kh_task *t = f->task;
	const kh_k2_run *run = f->hruns.p;
	struct fetched x;
	int rc = t->job->there ? fetch(l, f, &x, err) : KH_OK;

	if (t->runs)
		t->runs->n = t->runs->n_lists = 0;
	for (size_t i = 0; i < t->job->n && !rc; i++)
		if (t->call[i].taxon == KH_GPU_K2_LEFT)
			rc = redo(l, t, &x, i, err);
		else if (t->runs && list[i].n == KH_GPU_K2_LINKED)
			rc = follow_links(t->runs, run, list[i].from, err);
		else if (t->runs)
			rc = kh_k2_runs_add(t->runs, run + list[i].from, list[i].n, err);
	return rc;
}

/* Fetches the runs, if they are more than was expected. */
static int fetch_runs(kh_task_queue *l, struct flight *f, uint32_t used, kh_err *err)
{
	const size_t n = used < f->cap_runs ? used : f->cap_runs;
	int rc;

	l->runs_per_base = f->bases ? (double)n / (double)f->bases : 0;
	if (n <= f->expected)
		return KH_OK;
	rc = kh_gpu_host_room(&f->hruns, n * sizeof(kh_k2_run), err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(f->hruns.p, f->runs.p, n * sizeof(kh_k2_run),
					    cudaMemcpyDeviceToHost, l->back), err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(l->back), err);
}

static int take_results(kh_task_queue *l, struct flight *f, kh_err *err)
{
	kh_task *t = f->task;
	const uint32_t *counts = f->out.p;
	const kh_call *call = (const kh_call *)(const void *)((const char *)f->out.p + COUNTS);
	const kh_k2_list *list = (const kh_k2_list *)(const void *)(call + t->job->n);
	int rc = t->runs ? fetch_runs(l, f, counts[KH_GPU_K2_RUNS], err) : KH_OK;

	if (rc)
		return rc;
	memcpy(t->call, call, t->job->n * sizeof *call);
	if (counts[KH_GPU_K2_ODD] > 0)
		return gather(l, f, list, err);
	if (t->runs) {
		t->runs->run = f->hruns.p;
		t->runs->list = list;
	}
	return KH_OK;
}

int kh_cuda_k2_collect(kh_task_queue *l, kh_task **t, kh_err *err)
{
	struct flight *f = &l->flight[l->first];
	int rc;

	*t = NULL;
	if (l->n == 0)
		return KH_OK;
	l->first = (l->first + 1) % KH_CUDA_DEPTH;
	l->n--;
	*t = f->task;
	if (f->by_host)
		return KH_OK;
	if ((rc = kh_gpu_use(l->c->device, err)) ||
	    (rc = KH_GPU(cudaEventSynchronize(f->done), err)))
		return rc;
	return take_results(l, f, err);
}
