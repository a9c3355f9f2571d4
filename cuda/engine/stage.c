/* stage.c - the input of a job as the kernels read it: packed words, their masks, records */
#include <config.h>
#include "cuda/engine/engine_in.h"

#include <string.h>

kh_cuda_layout kh_cuda_lay_out(const kh_job_part s[2])
{
	kh_cuda_layout l = { .words = (size_t)(s[0].to - s[0].from + s[1].to - s[1].from) };

	l.amb = kh_gpu_up((l.words + 1) * 8);
	l.rec = l.amb + kh_gpu_up((l.words + 1) * 4);
	l.bytes = l.rec + (s[0].n + s[1].n) * sizeof(kh_gpu_record);
	return l;
}

void kh_cuda_stage(char *to, const kh_cuda_layout *l, const kh_job_part s[2])
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
	/* kernels read two words at a time: behind the last one stands one without a known base */
	memset(to + at * 8, 0, 8);
	memset(to + l->amb + at * 4, 0xff, 4);
}

void kh_cuda_query_input(kh_gpu_query *q, const kh_job *j, const kh_cuda_layout *l,
			 const void *in)
{
	q->bases = in;
	q->amb = (const uint32_t *)((const char *)in + l->amb);
	q->record = (const kh_gpu_record *)((const char *)in + l->rec);
	q->n = (uint32_t)j->n;
	q->mates = j->interleaved ? UINT32_MAX : j->block[1] ? (uint32_t)j->n : 0;
}
