/* batch.c - tasks of a device's queues, compared in one launch (batch.h) */
#include <config.h>
#include "cuda/engine/batch.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/mem.h"

struct batch {
	cudaStream_t stream;
	cudaEvent_t done;
	bool under_way;
	kh_gpu_buf room;                /* of what it fetches */
	kh_gpu_fetch fetch;
};

struct kh_batches {
	pthread_mutex_t lock;
	struct batch batch[KH_BATCHES];
	unsigned n;                     /* of them */
	unsigned next;                  /* that which was launched first, if all are under way */
	kh_batch_task *first, *last;    /* tasks that wait */
	kh_err err;                     /* of the launch that failed last */
};

/* --- what launches fetch ---------------------------------------------------------------- */
static uint64_t fetch_bytes(uint32_t cap)
{
	return KH_GPU_FETCH_COUNTS +
	       (uint64_t)cap * (KH_GPU_CHUNK + (1 + KH_GPU_FOUND_EACH) * sizeof(uint64_t) +
				3 * sizeof(uint32_t));
}

uint64_t kh_batches_bytes(uint32_t fetched)
{
	return fetched ? KH_TUNE_FETCHES * fetch_bytes(fetched) : 0;
}

/* Room for `cap` chunks of a database of so many bytes. */
static int fetch_open(struct batch *x, uint32_t cap, uint64_t bytes, kh_err *err)
{
	const int rc = kh_gpu_room_exact(&x->room, fetch_bytes(cap), err);
	char *p = x->room.p;
	uint32_t shift = 12;

	if (rc)
		return rc;
	while (bytes >> shift >= KH_GPU_BUCKETS)
		shift++;
	x->fetch = (kh_gpu_fetch) { .cap = cap, .shift = shift, .bytes = bytes, .to = p };
	x->fetch.found = (uint64_t *)(p + (uint64_t)cap * KH_GPU_CHUNK);
	x->fetch.from = x->fetch.found + KH_GPU_FOUND_EACH * (size_t)cap;
	x->fetch.rank = (uint32_t *)(x->fetch.from + cap);
	x->fetch.order = x->fetch.rank + cap;
	x->fetch.next = x->fetch.order + cap;
	x->fetch.n = x->fetch.next + cap;
	x->fetch.n_before = x->fetch.n + 1;
	x->fetch.n_ordered = x->fetch.n + 2;
	x->fetch.n_found = x->fetch.n + 3;
	x->fetch.bucket = x->fetch.n + 16;
	return KH_OK;
}

int kh_batches_open(kh_batches **out, uint32_t fetched, uint64_t bytes, kh_err *err)
{
	kh_batches *b = kh_array(1, sizeof *b, err);
	int rc = KH_OK;

	if (!b)
		return KH_ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	b->n = fetched ? KH_TUNE_FETCHES : KH_BATCHES;
	for (unsigned i = 0; i < b->n && !rc; i++) {
		struct batch *x = &b->batch[i];

		rc = KH_GPU(cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking), err);
		if (!rc)
			rc = KH_GPU(cudaEventCreateWithFlags(&x->done, cudaEventDisableTiming),
				    err);
		if (!rc && fetched)
			rc = fetch_open(x, fetched, bytes, err);
	}
	if (rc)
		kh_batches_close(b);
	else
		*out = b;
	return rc;
}

void kh_batches_close(kh_batches *b)
{
	if (!b)
		return;
	for (unsigned i = 0; i < b->n; i++) {
		kh_gpu_drop(&b->batch[i].room);
		if (b->batch[i].done)
			cudaEventDestroy(b->batch[i].done);
		if (b->batch[i].stream)
			cudaStreamDestroy(b->batch[i].stream);
	}
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* --- what is done under the lock ------------------------------------------------------ */
static int launch_tasks(struct batch *x, kh_batch_task *const task[], unsigned n, kh_err *err)
{
	const kh_gpu_query *q[KH_GPU_TOGETHER];
	int rc = KH_OK;

	for (unsigned i = 0; i < n && !rc; i++) {
		task[i]->q.fetch = x->fetch;
		q[i] = &task[i]->q;
		rc = KH_GPU(cudaStreamWaitEvent(x->stream, task[i]->staged, 0), err);
	}
	if (!rc)
		rc = kh_gpu_check(kh_gpu_queries_run(q, n, x->stream), "classification kernels",
				  err);
	for (unsigned i = 0; i < n && !rc; i++) {
		const kh_batch_task *t = task[i];

		rc = KH_GPU(cudaMemcpyAsync(t->results, t->q.counts, t->bytes,
					    cudaMemcpyDeviceToHost, x->stream), err);
		if (!rc)
			rc = KH_GPU(cudaEventRecord(t->done, x->stream), err);
	}
	return rc ? rc : KH_GPU(cudaEventRecord(x->done, x->stream), err);
}

/* Is a batch under way?  *rc: whether it could be asked. */
static bool is_under_way(struct batch *x, int *rc, kh_err *err)
{
	const cudaError_t e = x->under_way ? cudaEventQuery(x->done) : cudaSuccess;

	x->under_way = e == cudaErrorNotReady;
	if (x->under_way)
		cudaGetLastError();     /* it is none */
	*rc = x->under_way ? KH_OK : kh_gpu_check(e, "cudaEventQuery", err);
	return x->under_way;
}

/* Launches tasks that wait, as many as may be. */
static void launch_waiting(kh_batches *b)
{
	int rc;

	while (b->first && !is_under_way(&b->batch[b->next], &rc, &b->err)) {
		struct batch *x = &b->batch[b->next];
		kh_batch_task *task[KH_GPU_TOGETHER];
		unsigned n = 0;

		for (; b->first && n < KH_GPU_TOGETHER; b->first = b->first->next)
			task[n++] = b->first;
		if (!rc)
			rc = launch_tasks(x, task, n, &b->err);
		x->under_way = rc == KH_OK;
		for (unsigned i = 0; i < n; i++) {
			task[i]->launched = true;
			task[i]->rc = rc;
		}
		b->next = (b->next + 1) % b->n;
	}
}

/* --- what queues do --------------------------------------------------------------------- */
void kh_batches_put(kh_batches *b, kh_batch_task *t)
{
	t->next = NULL;
	t->launched = false;
	t->rc = KH_OK;
	pthread_mutex_lock(&b->lock);
	if (b->first)
		b->last->next = t;
	else
		b->first = t;
	b->last = t;
	launch_waiting(b);
	pthread_mutex_unlock(&b->lock);
}

void kh_batches_drop(kh_batches *b, kh_batch_task *t)
{
	kh_batch_task *before = NULL;

	pthread_mutex_lock(&b->lock);
	for (kh_batch_task **at = &b->first; *at; before = *at, at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			b->last = b->last == t ? before : b->last;
			break;
		}
	for (unsigned i = 0; i < b->n && t->launched; i++)
		cudaStreamSynchronize(b->batch[i].stream);
	pthread_mutex_unlock(&b->lock);
}

int kh_batches_wait(kh_batches *b, kh_batch_task *t, kh_err *err)
{
	int rc = KH_OK;

	pthread_mutex_lock(&b->lock);
	for (launch_waiting(b); !t->launched && !rc; launch_waiting(b)) {
		const cudaEvent_t end = b->batch[b->next].done;

		pthread_mutex_unlock(&b->lock);
		rc = KH_GPU(cudaEventSynchronize(end), err);
		pthread_mutex_lock(&b->lock);
	}
	if (!rc && t->rc && err)
		*err = b->err;
	rc = rc ? rc : t->rc;
	pthread_mutex_unlock(&b->lock);
	if (!rc)
		return KH_GPU(cudaEventSynchronize(t->done), err);
	kh_batches_drop(b, t);
	return rc;
}
