/*
 * stage.c - the input of a job as the kernels read it: packed words, their masks, records, and
 * the slices of what is long; and memory for what kernels leave for one another
 */
#include <config.h>
#include "cuda/engine/engine_in.h"

#include <string.h>

/* --- slices ------------------------------------------------------------------------- */
/* The segments of fragment i if it has several, else 0. */
static size_t slices_of(const kh_job *j, size_t i, uint32_t max_span)
{
	const kh_block *b[2];
	const kh_record *r[2];
	size_t n = 0;

	kh_job_records(j, i, b, r);
	if (r[0]->len + (r[1] ? r[1]->len : 0) <= max_span)
		return 0;
	for (int k = 0; k < 2 && r[k]; k++)
		n += (size_t)((r[k]->len + max_span - 1) / max_span);
	return n;
}

/* Fragments of several segments, and these, one behind the other. */
static void put_slices(kh_gpu_long *l, kh_gpu_slice *s, const kh_job *j, uint32_t max_span)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		const uint32_t n = (uint32_t)slices_of(j, i, max_span);

		if (n == 0)
			continue;
		*l++ = (kh_gpu_long) { .fragment = i, .first = first, .n = n };
		for (uint32_t k = 0; k < n; k++)
			*s++ = (kh_gpu_slice) { .fragment = i, .number = k };
		first += n;
	}
}

/* --- input -------------------------------------------------------------------------- */
kh_cuda_layout kh_cuda_lay_out(const kh_job *j, uint32_t max_span)
{
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	kh_cuda_layout l = { .words = (size_t)(s[0].to - s[0].from + s[1].to - s[1].from) };

	for (size_t i = 0; i < j->n; i++) {
		const size_t n = slices_of(j, i, max_span);

		l.n_longs += n > 0;
		l.n_slices += n;
	}
	l.amb = kh_gpu_up((l.words + 1) * 8);
	l.rec = l.amb + kh_gpu_up((l.words + 1) * 4);
	l.longs = l.rec + kh_gpu_up((s[0].n + s[1].n) * sizeof(kh_gpu_record));
	l.slice = l.longs + kh_gpu_up(l.n_longs * sizeof(kh_gpu_long));
	l.bytes = l.slice + l.n_slices * sizeof(kh_gpu_slice);
	return l;
}

void kh_cuda_stage(char *to, const kh_cuda_layout *l, const kh_job *j, uint32_t max_span)
{
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
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
	if (l->n_longs > 0)
		put_slices((kh_gpu_long *)(to + l->longs), (kh_gpu_slice *)(to + l->slice), j,
			   max_span);
}

void kh_cuda_query_input(kh_gpu_query *q, const kh_job *j, const kh_cuda_layout *l,
			 const void *in)
{
	const char *p = in;

	q->bases = in;
	q->amb = (const uint32_t *)(p + l->amb);
	q->record = (const kh_gpu_record *)(p + l->rec);
	q->n = (uint32_t)j->n;
	q->mates = j->interleaved ? UINT32_MAX : j->block[1] ? (uint32_t)j->n : 0;
	q->longs = (const kh_gpu_long *)(p + l->longs);
	q->slice = (const kh_gpu_slice *)(p + l->slice);
	q->n_longs = (uint32_t)l->n_longs;
	q->n_slices = (uint32_t)l->n_slices;
}

/* --- between kernels ---------------------------------------------------------------- */
/* Notes for each slice that there is room for; where there are more, some slices are done twice.
 * One in 1008 bases has a note for each of its strains, and for some of their relatives. */
enum { NOTES = 128, NOTES_MAX = 1 << 26 };

static size_t notes_room(size_t slices)
{
	return slices < NOTES_MAX / NOTES ? slices * NOTES : NOTES_MAX;
}

int kh_cuda_between_room(kh_cuda_between *b, const kh_cuda_layout *l, size_t n, kh_err *err)
{
	int rc = kh_gpu_room(&b->fragments, 2 * n * sizeof(uint32_t), err);

	if (!rc && l->n_slices > 0)
		rc = kh_gpu_room(&b->slices,
				 l->n_slices * (sizeof(uint32_t) + sizeof(kh_gpu_segment)), err);
	if (!rc && l->n_slices > 0)
		rc = kh_gpu_room(&b->notes, notes_room(l->n_slices) * sizeof(kh_gpu_note), err);
	return rc;
}

void kh_cuda_between_drop(kh_cuda_between *b)
{
	kh_gpu_drop(&b->fragments);
	kh_gpu_drop(&b->slices);
	kh_gpu_drop(&b->notes);
}

void kh_cuda_query_between(kh_gpu_query *q, const kh_cuda_between *b)
{
	q->crowded = b->fragments.p;
	q->left = q->crowded + q->n;
	q->noted = b->slices.p;
	q->slice_left = (uint32_t *)(q->noted + q->n_slices);
	q->note = b->notes.p;
	q->cap_notes = (uint32_t)notes_room(q->n_slices);
}
