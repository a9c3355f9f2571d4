/* query_time.c - how long the kernels that classify take for a job */
#include <config.h>
#include "tests/bench/program/gpu/gpu_in.h"

#include "cuda/engine/engine_in.h"

enum { RUNS = 10, COUNTS = KH_GPU_QUERY_COUNTS };

struct timing {
	cudaStream_t stream;
	cudaEvent_t from, to;
	KH_GPU_BUFS(all, in, din, dout, mark, fragments, part);
	kh_gpu_query q;
};

static void close_timing(struct timing *t)
{
	if (t->stream)
		cudaStreamSynchronize(t->stream);
	KH_GPU_DROP(t->all);
	if (t->from)
		cudaEventDestroy(t->from);
	if (t->to)
		cudaEventDestroy(t->to);
	if (t->stream)
		cudaStreamDestroy(t->stream);
}

static int open_timing(struct timing *t, const kh_engine *e, const kh_job *j, kh_err *err)
{
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	kh_cuda_layout lay = kh_cuda_lay_out((size_t)(s[0].to - s[0].from + s[1].to - s[1].from),
					     s[0].n + s[1].n, true);
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
	    (rc = kh_gpu_room(&t->mark, (lay.words + 1) * sizeof(uint32_t), err)) ||
	    (rc = kh_gpu_room(&t->fragments, 2 * j->n * sizeof(uint32_t), err)) ||
	    (rc = kh_gpu_room(&t->part, lay.n_slices * sizeof(kh_gpu_part) + 1, err)))
		return rc;
	t->q = (kh_gpu_query) { .text = e->copy[0].text,
				.rule = e->rule,
				.counts = t->dout.p,
				.call = (kh_call *)((char *)t->dout.p + COUNTS),
				.mark = t->mark.p,
				.again = t->fragments.p,
				.rest = (uint32_t *)t->fragments.p + j->n,
				.part = t->part.p };
	kh_cuda_query_input(&t->q, j, &lay, t->din.p);
	return KH_GPU(cudaMemcpyAsync(t->din.p, t->in.p, lay.bytes, cudaMemcpyHostToDevice,
				      t->stream), err);
}

static int launch(const struct timing *t, kh_err *err)
{
	const kh_gpu_query *q = &t->q;
	const int rc = KH_GPU(cudaMemsetAsync(q->counts, 0, COUNTS, t->stream), err);

	return rc ? rc : kh_gpu_check(kh_gpu_queries_run(&q, 1, t->stream),
				      "classification kernels", err);
}

int kh_gpu_bench_query(const kh_engine *e, const kh_job *j, double *seconds, kh_err *err)
{
	struct timing t = { .stream = NULL };
	float ms = 0;
	int rc = open_timing(&t, e, j, err);

	/* the first one loads the kernels */
	for (int i = 0; i <= RUNS && !rc; i++) {
		if (i == 1)
			rc = KH_GPU(cudaEventRecord(t.from, t.stream), err);
		if (!rc)
			rc = launch(&t, err);
	}
	if (!rc && !(rc = KH_GPU(cudaEventRecord(t.to, t.stream), err)) &&
	    !(rc = KH_GPU(cudaStreamSynchronize(t.stream), err)))
		rc = KH_GPU(cudaEventElapsedTime(&ms, t.from, t.to), err);
	*seconds = ms * 1e-3 / RUNS;
	close_timing(&t);
	return rc;
}
