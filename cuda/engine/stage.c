/*
 * stage.c - the input of a job as the kernels read it: packed words, their masks, records, and the
 * parts of what is long
 */
#include <config.h>
#include "cuda/engine/engine_in.h"

#include <string.h>
#include "cuda/kernels/match_item.h"

kh_cuda_layout kh_cuda_lay_out(size_t words, size_t records, bool parts)
{
	/* a long fragment has more than KH_MATCH_PART_BASES bases, and at most two parts more than
	 * its bases would fill */
	const size_t longs = parts ? words * 32 / KH_MATCH_PART_BASES : 0;
	kh_cuda_layout l = { .words = words, .parts = parts };

	l.amb = kh_gpu_up((words + 1) * 8);
	l.rec = l.amb + kh_gpu_up((words + 1) * 4);
	l.longs = l.rec + kh_gpu_up(records * sizeof(kh_gpu_record));
	l.slice = l.longs + kh_gpu_up(longs * sizeof(kh_gpu_long));
	l.bytes = l.slice + 3 * longs * sizeof(kh_gpu_slice);
	return l;
}

/* Fragments of several parts, and these, one behind the other. */
static void put_parts(char *to, kh_cuda_layout *l, const kh_job *j)
{
	const kh_gpu_record *rec = (const kh_gpu_record *)(to + l->rec);
	const size_t step = j->interleaved ? 2 : 1, mate = j->interleaved ? 1 : j->n;
	kh_gpu_long *out = (kh_gpu_long *)(to + l->longs);
	kh_gpu_slice *slice = (kh_gpu_slice *)(to + l->slice);

	for (uint32_t i = 0; i < j->n; i++) {
		const uint64_t a = rec[step * i].len;
		const uint64_t b = j->interleaved || j->block[1] ? rec[step * i + mate].len : 0;
		const uint32_t n = kh_gpu_parts(a) + kh_gpu_parts(b);

		if (kh_match_is_segment(a, b))
			continue;
		out[l->n_longs++] = (kh_gpu_long) { i, (uint32_t)l->n_slices, n };
		for (uint32_t k = 0; k < n; k++)
			slice[l->n_slices++] = (kh_gpu_slice) { i, k };
	}
}

/* The records of a side, whose first word becomes number `at`; the length of the longest. */
static uint64_t put_records(kh_gpu_record *to, const kh_job_side *s, size_t at)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < s->n; i++) {
		const kh_record *r = &s->rec[i];

		to[i] = (kh_gpu_record) { .word = (uint32_t)(r->seq / 32 - s->from + at),
					  .len = (uint32_t)r->len };
		longest = r->len > longest ? r->len : longest;
	}
	return longest;
}

bool kh_cuda_stage(char *to, kh_cuda_layout *l, const kh_job *j, const kh_job_side s[2])
{
	kh_gpu_record *rec = (kh_gpu_record *)(to + l->rec);
	uint64_t longest[2] = { 0, 0 };
	size_t at = 0;

	for (int k = 0; k < 2; k++) {
		const size_t n = (size_t)(s[k].to - s[k].from);

		if (s[k].n == 0)
			continue;
		memcpy(to + at * 8, s[k].block->bases + s[k].from, n * 8);
		memcpy(to + l->amb + at * 4, s[k].block->amb + s[k].from, n * 4);
		longest[k] = put_records(rec, &s[k], at);
		rec += s[k].n;
		at += n;
	}
	if (longest[0] >= UINT32_MAX || longest[1] >= UINT32_MAX)
		return false;
	/* kernels read two words at a time: behind the last one stands one without a known base */
	memset(to + at * 8, 0, 8);
	memset(to + l->amb + at * 4, 0xff, 4);
	l->n_longs = l->n_slices = 0;
	if (l->parts && longest[0] + longest[!j->interleaved] > KH_MATCH_PART_BASES)
		put_parts(to, l, j);
	l->bytes = l->n_longs ? l->slice + l->n_slices * sizeof(kh_gpu_slice) : l->longs;
	return true;
}

kh_gpu_order kh_cuda_order_of(const kh_job *j)
{
	if (j->interleaved)
		return (kh_gpu_order) { .step = 2, .mate = 1 };
	return (kh_gpu_order) { .step = 1, .mate = j->block[1] ? (uint32_t)j->n : 0 };
}

kh_gpu_order kh_cuda_order_of_parsed(const kh_parsed_there *t)
{
	return (kh_gpu_order) { .step = t->mates ? 2 : 1, .mate = t->mates };
}

void kh_cuda_query_input(kh_gpu_query *q, const kh_job *j, const kh_cuda_layout *l,
			 const void *in)
{
	const char *p = in;

	q->bases = in;
	q->amb = (const uint32_t *)(p + l->amb);
	q->record = (const kh_gpu_record *)(p + l->rec);
	q->n = (uint32_t)j->n;
	q->n_words = (uint32_t)l->words;
	q->order = kh_cuda_order_of(j);
	q->longs = (const kh_gpu_long *)(p + l->longs);
	q->slice = (const kh_gpu_slice *)(p + l->slice);
	q->n_longs = (uint32_t)l->n_longs;
	q->n_slices = (uint32_t)l->n_slices;
}

void kh_cuda_query_parsed(kh_gpu_query *q, const kh_parsed_there *t)
{
	q->bases = t->bases;
	q->amb = t->amb;
	q->record = t->record;
	q->n = t->n;
	q->n_words = t->n_words;
	q->order = kh_cuda_order_of_parsed(t);
}

static size_t records_of(const kh_parsed_there *t)
{
	return t->mates ? 2 * (size_t)t->n : t->n;
}

kh_cuda_layout kh_cuda_lay_out_parsed(const kh_parsed_there *t, int device)
{
	kh_cuda_layout l = kh_cuda_lay_out(t->n_words, records_of(t), false);

	l.bytes = t->device == device ? 0 : l.bytes;
	return l;
}

kh_cuda_layout kh_cuda_lay_out_usual(void)
{
	return kh_cuda_lay_out(KH_CUDA_PARSED_WORDS * KH_PARSER_TASK, 2 * KH_PARSER_TASK, false);
}

int kh_cuda_copy_parsed(kh_parsed_there *t, const kh_cuda_layout *l, void *to, cudaStream_t stream,
			kh_err *err)
{
	const size_t words = (size_t)t->n_words + 1;
	const struct {
		const void *from;
		size_t at, bytes;
	} part[] = { { t->bases, 0, words * sizeof *t->bases },
		     { t->amb, l->amb, words * sizeof *t->amb },
		     { t->record, l->rec, records_of(t) * sizeof(kh_gpu_record) } };
	char *p = to;
	int rc = KH_OK;

	if (l->bytes == 0)
		return KH_OK;
	for (int i = 0; i < 3 && !rc; i++)
		rc = KH_GPU(cudaMemcpyAsync(p + part[i].at, part[i].from, part[i].bytes,
					    cudaMemcpyDefault, stream), err);
	t->bases = to;
	t->amb = (const uint32_t *)(p + l->amb);
	t->record = p + l->rec;
	return rc;
}
