/*
 * by_host.c - what a queue does on the host: jobs that the kernels cannot take, and fragments that
 * they have left
 */
#include <config.h>
#include "cuda/engine/engine_in.h"

void kh_cuda_host_close(kh_cuda_host *h)
{
	kh_matcher_free(h->matcher);
	h->matcher = NULL;
}

/* Classifies a job. */
static int classify(kh_cuda_host *h, const kh_engine *e, const kh_task *t, const kh_job *job,
		    size_t from, kh_err *err)
{
	const kh_beside beside = kh_beside_of(t->candidates, t->second, from);
	const kh_match_results to = { .call = t->call + from,
				      .candidates = beside.candidates,
				      .second = beside.second,
				      .distinct = t->distinct };
	int rc = KH_OK;

	if (!h->matcher)
		rc = kh_matcher_new(&h->matcher, e->db, &e->rule, err);
	return rc ? rc : kh_match_job(h->matcher, job, &to, err);
}

int kh_cuda_host_task(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err)
{
	t->left = t->census != NULL;
	for (size_t i = 0; t->census && i < t->job->n; i++)
		t->class_of[i] = KH_UNCOUNTED;
	return classify(h, e, t, t->job, 0, err);
}

int kh_cuda_host_left(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err)
{
	const size_t n = t->job->n;
	int rc = KH_OK;

	for (size_t i = 0, end; i < n && !rc; i = end) {
		kh_job some = *t->job;

		for (end = i; end < n && t->call[end].taxon == KH_GPU_CALL_LEFT;)
			end++;
		some.n = end - i;
		some.from[0] += t->job->interleaved ? 2 * i : i;
		some.from[1] += i;
		if (end > i)
			rc = classify(h, e, t, &some, i, err);
		else
			end++;
	}
	return rc;
}
