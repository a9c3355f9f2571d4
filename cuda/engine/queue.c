/*
 * queue.c - classifying on GPUs, host side
 *
 *	engine   the database on each device (engine.c)
 *	queue    one worker's stream and buffers, on device worker % n, with at most
 *	         KH_CUDA_DEPTH tasks under way
 *	submit   packed words and a table of records in one copy, the kernels, then
 *	         the results back
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "cuda/engine/engine_in.h"
#include "cuda/engine/rounds.h"
#include "base/mem.h"

/* --- queues ----------------------------------------------------------------------- */
/* A task under way. */
struct flight {
	kh_task *task;
	/* in, din: words, masks, records; out, dout: counts, calls, and what else is wanted of
	 * fragments; hfound: with where those of each fragment are; segment: if the index is in
	 * parts and asked by all-to-all, as is `ask`; mark, part: of a database with text */
	KH_GPU_BUFS(all, in, din, out, dout, found, hfound, segment, mark, part);
	kh_rounds_task ask;
	kh_cuda_between between;
	size_t slice, n_slices;         /* where in the input; those that get a place */
	cudaEvent_t done;
	/* too long for the kernels, so submit does it on the host */
	bool by_host;
	bool roomy;                     /* done by warps with more room */
};

struct kh_task_queue {
	const kh_engine *e;
	const struct kh_cuda_copy *c;
	unsigned worker;
	cudaStream_t stream, back;      /* back: features found, on demand */
	struct flight flight[KH_CUDA_DEPTH];
	unsigned first, n;              /* under way */
	unsigned roomy;                 /* so many tasks are to have more room */
	kh_cuda_scratch scratch;        /* of the second kernel */
	kh_cuda_host host;
};

enum { COUNTS = KH_GPU_QUERY_COUNTS };  /* bytes in front of the calls */
/* Where one in CROWDED fragments has more bins than there is room for, the next ROOMY tasks have
 * more, before less is tried again; the first ones, if lists have more than a FEW of a species. */
enum { CROWDED = 32, ROOMY = 64, FEW = 8 };

void kh_cuda_queue_close(kh_task_queue *l)
{
	if (!l)
		return;
	for (; l->e->rounds && l->n > 0; l->n--, l->first = (l->first + 1) % KH_CUDA_DEPTH)
		if (!l->flight[l->first].by_host)
			kh_rounds_wait(l->e->rounds, &l->flight[l->first].ask, NULL);
	kh_rounds_hold(l->e->rounds);
	cudaSetDevice(l->c->device);
	if (l->stream)
		cudaStreamSynchronize(l->stream);
	for (int i = 0; i < KH_CUDA_DEPTH; i++) {
		struct flight *f = &l->flight[i];

		KH_GPU_DROP(f->all);
		kh_cuda_between_drop(&f->between);
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

static int flight_room(const kh_task_queue *l, struct flight *f, const struct need *x,
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
static int flight_open(const kh_task_queue *l, struct flight *f, size_t block, kh_err *err)
{
	const size_t n = block / 128;
	const struct need usual = { .lay = kh_cuda_lay_out(block / 32, n, &l->e->rule),
				    .n = n };
	int rc = KH_GPU(cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming), err);

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
	l->roomy = e->db->bins.most == 0 || e->db->bins.most > FEW ? ROOMY : 0;
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
				each = kh_sampling_bound(&r->sampling, len) +
				       (len / r->max_span + 1) * (r->sampling.s + 1);
			before = len;
			x.features += each;
		}
	return x;
}

static int submit_host(kh_task_queue *l, struct flight *f, kh_err *err)
{
	f->by_host = true;
	return kh_cuda_host_job(&l->host, l->e, f->task, err);
}

/* Where the results of a task are, behind counts and calls.  The first `bytes` come to the host;
 * with a census, the rest is only wanted if fragments are left to it.  Where the features found of
 * each fragment are comes with these (fetch_found). */
struct results {
	size_t genus, class_of, candidates, place, found_at, bytes;
};

static struct results results_of(const kh_task_queue *l, const struct flight *f)
{
	const kh_task *t = f->task;
	const size_t n = t->job->n;
	struct results r = { .genus = COUNTS + n * sizeof(kh_call) };

	r.class_of = r.genus + (l->e->translated ? n * sizeof(uint32_t) : 0);
	r.candidates = r.class_of + (t->census ? n * sizeof(uint32_t) : 0);
	r.place = r.candidates + (t->candidates ? n * sizeof(kh_candidates) : 0);
	r.found_at = r.place + (t->places ? f->n_slices * sizeof(uint32_t) : 0);
	r.bytes = !t->census ? r.found_at : t->classes_wanted ? r.candidates : r.class_of;
	return r;
}

static kh_gpu_query query_of(const kh_task_queue *l, const struct flight *f,
			     const kh_cuda_layout *lay)
{
	const kh_task *t = f->task;
	const struct results r = results_of(l, f);
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

/* Copies the input to the device and leaves the task to the rounds of exchange. */
static int leave_to_rounds(kh_task_queue *l, struct flight *f, const kh_cuda_layout *lay,
			   uint64_t features, kh_err *err)
{
	int rc = KH_GPU(cudaMemcpyAsync(f->din.p, f->in.p, lay->bytes, cudaMemcpyHostToDevice,
					l->stream), err);

	if (!rc)
		rc = KH_GPU(cudaEventRecord(f->done, l->stream), err);
	if (rc)
		return rc;
	f->ask = (kh_rounds_task) { .device = (size_t)(l->c - l->e->copy),
				      .q = query_of(l, f, lay),
				      .features = features,
				      .staged = f->done,
				      .results = f->out.p };
	f->ask.q.segment = f->segment.p;
	f->ask.bytes = results_of(l, f).bytes;
	kh_rounds_put(l->e->rounds, &f->ask);
	return KH_OK;
}

static int launch(kh_task_queue *l, struct flight *f, const kh_cuda_layout *lay, kh_err *err)
{
	const kh_gpu_query q = query_of(l, f, lay);
	char *in = f->din.p, *out = f->dout.p;
	int rc;

	if ((rc = KH_GPU(cudaMemcpyAsync(in, f->in.p, lay->bytes, cudaMemcpyHostToDevice,
					 l->stream), err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(out, 0, COUNTS, l->stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_query_run(&q, l->stream), "classification kernels", err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(f->out.p, out, results_of(l, f).bytes,
					 cudaMemcpyDeviceToHost, l->stream), err)))
		return rc;
	return KH_GPU(cudaEventRecord(f->done, l->stream), err);
}

/* Stages the input in pinned memory; *fits: the kernels can take it. */
static int stage(kh_task_queue *l, struct flight *f, struct need *need, bool *fits, kh_err *err)
{
	const kh_job *j = f->task->job;
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	const uint64_t words = s[0].to - s[0].from + s[1].to - s[1].from;
	int rc;

	*need = need_of(l, f->task, s);
	*fits = words < UINT32_MAX && need->features < UINT32_MAX &&
		(!l->e->db->text || l->e->rule.sampling.scheme == KH_SYNCMER);
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

static int submit_device(kh_task_queue *l, struct flight *f, const struct need *need,
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
	return l->e->rounds ? leave_to_rounds(l, f, &need->lay, need->features, err)
			    : launch(l, f, &need->lay, err);
}

int kh_cuda_submit(kh_task_queue *l, kh_task *t, kh_err *err)
{
	struct flight *f = &l->flight[(l->first + l->n) % KH_CUDA_DEPTH];
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

/* --- collect ------------------------------------------------------------------------ */
/* Has this task, with little room, left much to the kernel of blocks? */
static void note_crowd(kh_task_queue *l, const struct flight *f)
{
	const uint32_t *counts = f->out.p;

	if (!f->roomy && counts[KH_GPU_LEFT] > f->task->job->n / CROWDED)
		l->roomy = ROOMY;
}

/* Fetches the features found, and where those of each fragment are among them. */
static int fetch_found(kh_task_queue *l, struct flight *f, size_t bytes, kh_err *err)
{
	const size_t n = f->task->job->n * sizeof(uint32_t);
	const char *from = (const char *)f->dout.p + results_of(l, f).found_at;
	int rc;

	kh_rounds_hold(l->e->rounds);
	rc = kh_gpu_host_room(&f->hfound, bytes + n, err);
	kh_rounds_let_go(l->e->rounds);
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
static int add_found(kh_task_queue *l, struct flight *f, kh_err *err)
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

/* Makes the places of segments of those of slices. */
static int take_places(const struct flight *f, const uint32_t *place, kh_err *err)
{
	const kh_gpu_slice *slice = (const kh_gpu_slice *)((const char *)f->in.p + f->slice);
	kh_places *p = f->task->places;
	int rc;

	if (!p)
		return KH_OK;
	rc = kh_grow((void **)&p->at, &p->cap, f->n_slices, sizeof *p->at, err);
	p->n = rc ? 0 : f->n_slices;
	for (size_t i = 0; i < p->n; i++)
		p->at[i] = (kh_located) { slice[i].fragment, place[i] };
	return rc;
}

/* Fetches what the host needs to count fragments that the census has no room for. */
static int fetch_left(kh_task_queue *l, struct flight *f, kh_err *err)
{
	const kh_task *t = f->task;
	const struct results r = results_of(l, f);
	const char *out = f->dout.p;
	char *place = (char *)f->out.p + r.place;
	const size_t n = t->job->n;
	int rc;

	if ((rc = KH_GPU(cudaMemcpyAsync(place, out + r.place, r.found_at - r.place,
					 cudaMemcpyDeviceToHost, l->back),
			 err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(t->candidates, out + r.candidates,
					 n * sizeof *t->candidates, cudaMemcpyDeviceToHost,
					 l->back),
			 err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(t->class_of, out + r.class_of, n * sizeof *t->class_of,
					 cudaMemcpyDeviceToHost, l->back),
			 err)) ||
	    (rc = KH_GPU(cudaStreamSynchronize(l->back), err)))
		return rc;
	return take_places(f, (const uint32_t *)place, err);
}

static int take_results(kh_task_queue *l, struct flight *f, kh_err *err)
{
	kh_task *t = f->task;
	const struct results r = results_of(l, f);
	const char *out = f->out.p;
	const size_t n = t->job->n;

	memcpy(t->call, out + COUNTS, n * sizeof *t->call);
	t->genus = l->e->translated ? (const uint32_t *)(out + r.genus) : NULL;
	if (t->candidates && !t->census) {
		memcpy(t->candidates, out + r.candidates, n * sizeof *t->candidates);
		return take_places(f, (const uint32_t *)(out + r.place), err);
	}
	t->left = t->census && ((const uint32_t *)f->out.p)[KH_GPU_UNCOUNTED] > 0;
	if (t->left)
		return fetch_left(l, f, err);
	if (t->census && t->classes_wanted)
		memcpy(t->class_of, out + r.class_of, n * sizeof *t->class_of);
	return KH_OK;
}

int kh_cuda_collect(kh_task_queue *l, kh_task **t, kh_err *err)
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
	rc = kh_gpu_use(l->c->device, err);
	if (!rc)
		rc = l->e->rounds ? kh_rounds_wait(l->e->rounds, &f->ask, err)
				    : KH_GPU(cudaEventSynchronize(f->done), err);
	if (rc)
		return rc;
	note_crowd(l, f);
	rc = take_results(l, f, err);
	if (!rc && f->task->distinct)
		rc = add_found(l, f, err);
	if (!rc && l->e->db->text && ((const uint32_t *)f->out.p)[KH_GPU_HOST] > 0)
		rc = kh_cuda_host_left(&l->host, l->e, f->task, err);
	return rc;
}
