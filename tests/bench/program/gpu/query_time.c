/* query_time.c - how long the classification kernels take for a job, whole or up to a part */
#include <config.h>
#include "tests/bench/program/gpu/gpu_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "cuda/engine/engine_in.h"

enum { RUNS = 10, COUNTS = KH_GPU_QUERY_COUNTS };

struct timing {
	cudaStream_t stream;
	cudaEvent_t from, to;
	kh_gpu_buf in, din, dout;
	kh_cuda_between between;
	kh_cuda_scratch scratch;
	kh_gpu_query q;
};

static void close_timing(struct timing *t)
{
	if (t->stream)
		cudaStreamSynchronize(t->stream);
	kh_gpu_drop(&t->in);
	kh_gpu_drop(&t->din);
	kh_gpu_drop(&t->dout);
	kh_cuda_between_drop(&t->between);
	kh_cuda_scratch_close(&t->scratch);
	if (t->from)
		cudaEventDestroy(t->from);
	if (t->to)
		cudaEventDestroy(t->to);
	if (t->stream)
		cudaStreamDestroy(t->stream);
}

/* Writes the numbers of all fragments to `left`, as if none had fitted into the room of a warp. */
static int leave_all(struct timing *t, kh_err *err)
{
	uint32_t *all = kh_array(t->q.n, sizeof *all, err);
	int rc = all ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < t->q.n && !rc; i++)
		all[i] = i;
	if (!rc)
		rc = KH_GPU(cudaMemcpy(t->q.left, all, t->q.n * sizeof *all,
				       cudaMemcpyHostToDevice), err);
	free(all);
	return rc;
}

static int open_timing(struct timing *t, const kh_engine *e, const kh_job *j, kh_err *err)
{
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	kh_cuda_layout lay = kh_cuda_lay_out((size_t)(s[0].to - s[0].from + s[1].to - s[1].from),
					     s[0].n + s[1].n, &e->rule);
	int rc;

	if ((rc = KH_GPU(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&t->from), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&t->to), err)) ||
	    (rc = kh_gpu_host_room(&t->in, lay.bytes, err)) ||
	    (rc = kh_gpu_room(&t->din, lay.bytes, err)))
		return rc;
	if (!kh_cuda_stage(t->in.p, &lay, j, s))
		return kh_fail(err, KH_EUSAGE, "a read of more than 4 Gbp");
	if ((rc = kh_gpu_room(&t->dout, COUNTS + j->n * sizeof(kh_call), err)) ||
	    (rc = kh_cuda_between_room(&t->between, &lay, j->n, err)) ||
	    (rc = kh_cuda_scratch_open(&t->scratch, e, t->stream, err)))
		return rc;
	t->q = (kh_gpu_query) { .ix = e->copy[0].ix,
				.rule = e->rule,
				.counts = t->dout.p,
				.call = (kh_call *)((char *)t->dout.p + COUNTS),
				.scratch = t->scratch.list.p,
				.n_scratch = t->scratch.n };
	kh_cuda_query_input(&t->q, j, &lay, t->din.p);
	kh_cuda_query_between(&t->q, &t->between);
	rc = KH_GPU(cudaMemcpyAsync(t->din.p, t->in.p, lay.bytes, cudaMemcpyHostToDevice,
				    t->stream), err);
	return rc ? rc : leave_all(t, err);
}

static int launch(const struct timing *t, enum kh_gpu_bench_upto upto, kh_err *err)
{
	const kh_gpu_query *q = &t->q;
	int rc = KH_GPU(cudaMemsetAsync(q->counts, 0, COUNTS, t->stream), err);

	if (rc)
		return rc;
	if (upto == KH_GPU_BENCH_WHOLE)
		return kh_gpu_check(kh_gpu_query_run(q, t->stream), "classification kernels", err);
	if (upto != KH_GPU_BENCH_BLOCKS)
		return kh_gpu_check(kh_gpu_bench_run_upto(q, upto, t->stream),
				    "classification kernels", err);
	rc = KH_GPU(cudaMemcpyAsync(q->counts, &q->n, sizeof q->n, cudaMemcpyHostToDevice,
				    t->stream), err);
	return rc ? rc : kh_gpu_check(kh_gpu_query_left(q, t->stream), "classification kernels",
				      err);
}

int kh_gpu_bench_query(const kh_engine *e, const kh_job *j, enum kh_gpu_bench_upto upto,
		       double *seconds, kh_err *err)
{
	struct timing t = { .stream = NULL };
	float ms = 0;
	int rc = open_timing(&t, e, j, err);

	/* the first one loads the kernels */
	for (int i = 0; i <= RUNS && !rc; i++) {
		if (i == 1)
			rc = KH_GPU(cudaEventRecord(t.from, t.stream), err);
		if (!rc)
			rc = launch(&t, upto, err);
	}
	if (!rc && !(rc = KH_GPU(cudaEventRecord(t.to, t.stream), err)) &&
	    !(rc = KH_GPU(cudaStreamSynchronize(t.stream), err)))
		rc = KH_GPU(cudaEventElapsedTime(&ms, t.from, t.to), err);
	*seconds = ms * 1e-3 / RUNS;
	close_timing(&t);
	return rc;
}
