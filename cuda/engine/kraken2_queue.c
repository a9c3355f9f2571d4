/*
 * kraken2_queue.c - tasks of a run that asks a database of Kraken 2
 *
 * As queue.c: packed words and a table of records in one copy, the kernel, then the results back.
 * Fragments that the kernel has left, and tasks that it does not know, are done on the host.
 */
#include <config.h>
#include "cuda/engine/kraken2_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/engine/engine.h"

/* A task under way. */
struct flight {
	kh_task *task;
	/* in, din: words, masks, records; out, dout: counts, calls, first pieces; runs, hruns: runs
	 * in pieces */
	KH_GPU_BUFS(all, in, din, out, dout, runs, hruns);
	cudaEvent_t done;
	uint32_t cap_runs;
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

static int open_streams(kh_task_queue *l, kh_err *err)
{
	int rc = kh_gpu_use(l->c->device, err);

	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking), err);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&l->back, cudaStreamNonBlocking), err);
	for (int i = 0; i < KH_CUDA_DEPTH && !rc; i++)
		rc = KH_GPU(cudaEventCreateWithFlags(&l->flight[i].done, cudaEventDisableTiming),
			    err);
	return rc;
}

int kh_cuda_k2_queue_open(kh_task_queue **out, kh_engine *e, unsigned worker, size_t block_size,
			  kh_err *err)
{
	kh_task_queue *l = kh_array(1, sizeof *l, err);
	int rc;

	(void)block_size;
	if (!l)
		return KH_ENOMEM;
	l->e = e;
	l->c = &e->copy[worker % e->n];
	rc = kh_k2_classifier_new(&l->host, e->db, err);
	if (!rc && !e->by_host)
		rc = open_streams(l, err);
	if (rc) {
		kh_cuda_k2_queue_close(l);
		return rc;
	}
	*out = l;
	return KH_OK;
}

/* --- submit ----------------------------------------------------------------------- */
/* Where words, masks and records lie behind one another. */
struct layout {
	size_t words, records, amb, rec, bytes;
	uint64_t bases;                 /* of all records */
	bool fits;                      /* the kernel can take them */
};

static struct layout lay_out(const kh_job_part s[2])
{
	struct layout l = { .words = (size_t)(s[0].to - s[0].from + s[1].to - s[1].from),
			    .records = s[0].n + s[1].n };

	l.amb = kh_gpu_up((l.words + 1) * 8);
	l.rec = l.amb + kh_gpu_up((l.words + 1) * 4);
	l.bytes = l.rec + l.records * sizeof(kh_gpu_record);
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < s[k].n; i++)
			l.bases += s[k].rec[i].len;
	l.fits = l.bases < INT32_MAX && l.words < INT32_MAX && l.records < INT32_MAX;
	return l;
}

static void stage(char *to, const struct layout *l, const kh_job_part s[2])
{
	kh_gpu_record *rec = (kh_gpu_record *)(to + l->rec);
	size_t at = 0;

	for (int k = 0; k < 2; k++) {
		const size_t n = (size_t)(s[k].to - s[k].from);

		if (s[k].n == 0)
			continue;
		memcpy(to + at * 8, s[k].block->bases + s[k].from, n * 8);
		memcpy(to + l->amb + at * 4, s[k].block->amb + s[k].from, n * 4);
		for (size_t i = 0; i < s[k].n; i++)
			*rec++ = (kh_gpu_record) {
				.word = (uint32_t)(s[k].rec[i].seq / 32 - s[k].from + at),
				.len = (uint32_t)s[k].rec[i].len
			};
		at += n;
	}
	/* the kernel reads two words at a time */
	memset(to + at * 8, 0, 8);
	memset(to + l->amb + at * 4, 0xff, 4);
}

static size_t out_bytes(const kh_task *t)
{
	return COUNTS + t->job->n * (sizeof(kh_call) + (t->runs ? sizeof(uint32_t) : 0));
}

/* Each k-mer and each border can be a run, and 64 of them or more are a piece; a fragment has one
 * at least. */
static int make_room(struct flight *f, const struct layout *l, kh_err *err)
{
	const uint64_t runs = l->bases + l->bases / 32 + 4 * f->task->job->n;
	int rc = kh_gpu_room(&f->din, l->bytes, err);

	if (!rc)
		rc = kh_gpu_host_room(&f->out, out_bytes(f->task), err);
	if (!rc)
		rc = kh_gpu_room(&f->dout, out_bytes(f->task), err);
	f->cap_runs = runs < INT32_MAX ? (uint32_t)runs : INT32_MAX;
	if (!rc && f->task->runs)
		rc = kh_gpu_room(&f->runs, f->cap_runs * sizeof(kh_k2_run), err);
	return rc;
}

static kh_gpu_kraken2 query_of(const kh_task_queue *l, const struct flight *f,
			       const struct layout *lay)
{
	const kh_job *j = f->task->job;
	char *in = f->din.p, *out = f->dout.p;
	kh_gpu_kraken2 q = l->c->q;

	q.rule = l->e->db->k2->rule;
	q.bases = (const uint64_t *)in;
	q.amb = (const uint32_t *)(in + lay->amb);
	q.record = (const kh_gpu_record *)(in + lay->rec);
	q.n = (uint32_t)j->n;
	q.mates = j->interleaved ? UINT32_MAX : j->block[1] ? (uint32_t)j->n : 0;
	q.counts = (uint32_t *)out;
	q.call = (kh_call *)(out + COUNTS);
	if (f->task->runs) {
		q.run = f->runs.p;
		q.cap_runs = f->cap_runs;
		q.head = (uint32_t *)(out + COUNTS + j->n * sizeof(kh_call));
	}
	return q;
}

static int launch(kh_task_queue *l, struct flight *f, const struct layout *lay, kh_err *err)
{
	const kh_gpu_kraken2 q = query_of(l, f, lay);
	int rc;

	if ((rc = KH_GPU(cudaMemcpyAsync(f->din.p, f->in.p, lay->bytes, cudaMemcpyHostToDevice,
					 l->stream), err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(f->dout.p, 0, COUNTS, l->stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_kraken2_run(&q, l->stream), "kraken2 kernel", err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(f->out.p, f->dout.p, out_bytes(f->task),
					 cudaMemcpyDeviceToHost, l->stream), err)))
		return rc;
	return KH_GPU(cudaEventRecord(f->done, l->stream), err);
}

static int submit_device(kh_task_queue *l, struct flight *f, const kh_job_part s[2],
			 const struct layout *lay, kh_err *err)
{
	int rc = kh_gpu_use(l->c->device, err);

	if (!rc)
		rc = kh_gpu_host_room(&f->in, lay->bytes, err);
	if (rc)
		return rc;
	stage(f->in.p, lay, s);
	rc = make_room(f, lay, err);
	return rc ? rc : launch(l, f, lay, err);
}

int kh_cuda_k2_submit(kh_task_queue *l, kh_task *t, kh_err *err)
{
	struct flight *f = &l->flight[(l->first + l->n) % KH_CUDA_DEPTH];
	const kh_job_part s[2] = { kh_job_part_of(t->job, 0), kh_job_part_of(t->job, 1) };
	const struct layout lay = lay_out(s);
	int rc;

	assert(l->n < KH_CUDA_DEPTH);
	f->task = t;
	/* minimizers are counted on the host */
	f->by_host = l->e->by_host || t->distinct || !lay.fits;
	rc = f->by_host ? kh_k2_classify_job(l->host, t->job, t->call, t->runs, t->distinct, err)
			: submit_device(l, f, s, &lay, err);
	l->n += !rc;
	return rc;
}

/* --- collect ---------------------------------------------------------------------- */
/* K-mers and borders of fragment i. */
static uint64_t items_of(const kh_k2_rule *r, const kh_job *j, size_t i)
{
	const kh_block *b[2];
	const kh_record *rec[2];
	uint64_t n = 0;

	kh_job_records(j, i, b, rec);
	for (int mate = 0; mate < 2 && rec[mate]; mate++)
		n += rec[mate]->len < r->k ? 0 : rec[mate]->len - r->k + 1;
	return n + (rec[1] ? 1 : 0);
}

static int room_for(kh_k2_runs *to, size_t more, kh_err *err)
{
	return kh_grow((void **)&to->run, &to->cap_run, to->n + more, sizeof *to->run, err);
}

/* Puts the pieces of a fragment together. */
static int join_pieces(kh_k2_runs *to, const kh_k2_run *piece, uint32_t at, uint64_t items,
		       kh_err *err)
{
	const size_t from = to->n;
	int rc = KH_OK;

	for (; at != KH_GPU_K2_NONE && !rc; at = piece[at].what) {
		rc = room_for(to, piece[at].n, err);
		if (!rc)
			memcpy(to->run + to->n, piece + at + 1, piece[at].n * sizeof *piece);
		to->n += rc ? 0 : piece[at].n;
	}
	for (size_t i = from; i < to->n; i++)
		to->run[i].n = (i + 1 < to->n ? to->run[i + 1].n : (uint32_t)items) - to->run[i].n;
	return rc;
}

/* Does a fragment on the host that was left to it. */
static int redo(kh_task_queue *l, kh_task *t, size_t i, kh_err *err)
{
	const kh_job *j = t->job;
	kh_job one = *j;
	int rc;

	one.n = 1;
	one.from[0] += j->interleaved ? 2 * i : i;
	one.from[1] += i;
	rc = kh_k2_classify_job(l->host, &one, &t->call[i], t->runs ? &l->redone : NULL, NULL, err);
	if (rc || !t->runs || (rc = room_for(t->runs, l->redone.n, err)))
		return rc;
	memcpy(t->runs->run + t->runs->n, l->redone.run, l->redone.n * sizeof *l->redone.run);
	t->runs->n += l->redone.n;
	return KH_OK;
}

static int fetch_runs(kh_task_queue *l, struct flight *f, kh_err *err)
{
	const uint32_t used = ((const uint32_t *)f->out.p)[KH_GPU_K2_RUNS];
	const size_t bytes = (used < f->cap_runs ? used : f->cap_runs) * sizeof(kh_k2_run);
	int rc = kh_gpu_host_room(&f->hruns, bytes + 1, err);

	if (!rc && bytes > 0)
		rc = KH_GPU(cudaMemcpyAsync(f->hruns.p, f->runs.p, bytes, cudaMemcpyDeviceToHost,
					    l->back), err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(l->back), err);
}

static int take_results(kh_task_queue *l, struct flight *f, kh_err *err)
{
	const kh_k2_rule *r = &l->e->db->k2->rule;
	kh_task *t = f->task;
	const size_t n = t->job->n;
	const char *out = f->out.p;
	const uint32_t *head = (const uint32_t *)(out + COUNTS + n * sizeof(kh_call));
	int rc = KH_OK;

	memcpy(t->call, out + COUNTS, n * sizeof *t->call);
	if (t->runs) {
		t->runs->n = 0;
		rc = kh_grow((void **)&t->runs->end, &t->runs->cap_end, n, sizeof *t->runs->end,
			     err);
		if (!rc)
			rc = fetch_runs(l, f, err);
	}
	for (size_t i = 0; i < n && !rc; i++) {
		if (t->call[i].taxon == KH_GPU_K2_LEFT)
			rc = redo(l, t, i, err);
		else if (t->runs)
			rc = join_pieces(t->runs, f->hruns.p, head[i], items_of(r, t->job, i), err);
		if (!rc && t->runs)
			t->runs->end[i] = t->runs->n;
	}
	return rc;
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
