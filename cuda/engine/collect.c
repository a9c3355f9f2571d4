/* collect.c - what tasks of a queue give: calls, features found, and what is left to the host */
#include <config.h>
#include "cuda/engine/engine.h"

#include <string.h>
#include "cuda/engine/queue_in.h"
#include "base/mem.h"

struct kh_results kh_results_of(const kh_task_queue *l, const struct kh_flight *f)
{
	const kh_task *t = f->task;
	const size_t n = t->job->n;
	struct kh_results r = { .genus = KH_GPU_QUERY_COUNTS + n * sizeof(kh_call) };

	r.class_of = r.genus + (l->e->translated ? n * sizeof(uint32_t) : 0);
	r.candidates = r.class_of + (t->census ? n * sizeof(uint32_t) : 0);
	r.second = r.candidates + (t->candidates ? n * sizeof(kh_candidates) : 0);
	r.found_at = r.second + (t->second ? n * sizeof(kh_second) : 0);
	r.bytes = !t->census || t->like ? r.found_at
		  : t->classes_wanted   ? r.candidates : r.class_of;
	return r;
}

/* Fetches the features found, and where those of each fragment are among them. */
static int fetch_found(kh_task_queue *l, struct kh_flight *f, size_t bytes, kh_err *err)
{
	const size_t n = f->task->job->n * sizeof(uint32_t);
	const char *from = (const char *)f->dout.p + kh_results_of(l, f).found_at;
	int rc;

	rc = kh_gpu_host_room(&f->hfound, bytes + n, err);
	if (!rc && bytes)
		rc = KH_GPU(cudaMemcpyAsync(f->hfound.p, f->found.p, bytes,
					    cudaMemcpyDeviceToHost, l->back),
			    err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync((char *)f->hfound.p + bytes, from, n,
					    cudaMemcpyDeviceToHost, l->back),
			    err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(l->back), err);
}

/* Counts the features found that no counters of the device have counted. */
static int add_found(kh_task_queue *l, struct kh_flight *f, kh_err *err)
{
	const kh_task *t = f->task;
	const uint32_t *counts = f->out.p;
	const size_t bytes = (size_t)counts[KH_GPU_FOUND] * sizeof(uint64_t);
	int rc;

	if (t->counters && counts[KH_GPU_UNCOUNTED_FOUND] == 0)
		return KH_OK;
	rc = fetch_found(l, f, bytes, err);
	if (rc)
		return rc;
	const uint64_t *key = f->hfound.p;
	const uint32_t *at = (const uint32_t *)((const char *)f->hfound.p + bytes);
	for (size_t i = 0; i < t->job->n && !rc; i++)
		if (t->call[i].taxon != KH_NO_TAXON && at[i] != KH_GPU_COUNTED)
			rc = kh_distinct_add(t->distinct, t->call[i].taxon, key + at[i],
					     t->call[i].found, err);
	return rc;
}

/* Fetches what the host needs to count fragments that the census has left to it. */
static int fetch_left(kh_task_queue *l, struct kh_flight *f, kh_err *err)
{
	const kh_task *t = f->task;
	const struct kh_results r = kh_results_of(l, f);
	const char *out = f->dout.p;
	const size_t n = t->job->n;
	int rc;

	if ((rc = KH_GPU(cudaMemcpyAsync(t->candidates, out + r.candidates,
					 n * sizeof *t->candidates, cudaMemcpyDeviceToHost,
					 l->back),
			 err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(t->class_of, out + r.class_of, n * sizeof *t->class_of,
					 cudaMemcpyDeviceToHost, l->back),
			 err)))
		return rc;
	return KH_GPU(cudaStreamSynchronize(l->back), err);
}

static int take_results(kh_task_queue *l, struct kh_flight *f, kh_err *err)
{
	kh_task *t = f->task;
	const struct kh_results r = kh_results_of(l, f);
	const char *out = f->out.p;
	const size_t n = t->job->n;

	memcpy(t->call, out + KH_GPU_QUERY_COUNTS, n * sizeof *t->call);
	t->genus = l->e->translated ? (const uint32_t *)(out + r.genus) : NULL;
	t->left = t->census && ((const uint32_t *)f->out.p)[KH_GPU_UNCOUNTED] > 0;
	if (t->left && r.bytes < r.found_at)
		return fetch_left(l, f, err);
	if (t->candidates && (t->left || !t->census))
		memcpy(t->candidates, out + r.candidates, n * sizeof *t->candidates);
	if (t->second)
		memcpy(t->second, out + r.second, n * sizeof *t->second);
	if (t->census && (t->left || t->classes_wanted))
		memcpy(t->class_of, out + r.class_of, n * sizeof *t->class_of);
	return KH_OK;
}

int kh_cuda_collect(kh_task_queue *l, kh_task **t, kh_err *err)
{
	struct kh_flight *f = &l->flight[l->first];
	int rc;

	*t = NULL;
	if (l->n == 0)
		return KH_OK;
	l->first = (l->first + 1) % KH_CUDA_DEPTH;
	l->n--;
	*t = f->task;
	if (f->by_host)
		return KH_OK;
	if ((rc = kh_gpu_use(l->c->device, err))) {
		kh_batches_drop(l->c->batches, &f->batch);
		return rc;
	}
	if ((rc = kh_batches_wait(l->c->batches, &f->batch, err)))
		return rc;
	rc = take_results(l, f, err);
	if (!rc && f->task->distinct)
		rc = add_found(l, f, err);
	if (!rc && ((const uint32_t *)f->out.p)[KH_GPU_HOST] > 0)
		rc = kh_cuda_host_left(&l->host, l->e, f->task, err);
	return rc;
}
