/*
 * ranks_msg.c - jobs and counts as messages
 *
 * A job: this head; the words of both blocks, their masks, and of each record where it begins
 * and its length.  Names and text stay with rank 0.
 */
#include <config.h>
#include "ranks_in.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"

struct head {
	uint64_t id, fragments;
	uint64_t words[2], records[2];  /* of each block */
	uint64_t interleaved, paired;
};

struct place {
	uint64_t seq, len;
};

static size_t masks_at(uint64_t words)
{
	return sizeof(struct head) + 8 * (size_t)words;
}

static size_t records_at(uint64_t words)
{
	return masks_at(words) + (4 * (size_t)words + 7) / 8 * 8;
}

int kh_ranks_pack(const kh_task *t, uint64_t id, void **p, size_t *n, kh_err *err)
{
	const kh_job *j = t->job;
	const kh_job_part s[2] = { kh_job_part_of(j, 0), kh_job_part_of(j, 1) };
	const struct head h = { .id = id, .fragments = j->n,
				.words = { s[0].to - s[0].from, s[1].to - s[1].from },
				.records = { s[0].n, s[1].n }, .interleaved = j->interleaved,
				.paired = j->block[1] != NULL };
	const uint64_t words = h.words[0] + h.words[1];
	char *out;

	*n = records_at(words) + (s[0].n + s[1].n) * sizeof(struct place);
	out = kh_array(*n, 1, err);
	if (!out)
		return KH_ENOMEM;
	memcpy(out, &h, sizeof h);
	char *bases = out + sizeof h, *amb = out + masks_at(words);
	struct place *place = (struct place *)(out + records_at(words));
	for (int k = 0; k < 2; k++) {
		if (s[k].n == 0)
			continue;
		memcpy(bases, s[k].block->bases + s[k].from, 8 * (size_t)h.words[k]);
		memcpy(amb, s[k].block->amb + s[k].from, 4 * (size_t)h.words[k]);
		bases += 8 * h.words[k];
		amb += 4 * h.words[k];
		for (size_t i = 0; i < s[k].n; i++)
			*place++ = (struct place) { s[k].rec[i].seq - 32 * s[k].from,
						    s[k].rec[i].len };
	}
	*p = out;
	return KH_OK;
}

/* Blocks that point into the message. */
static void set_blocks(kh_ranks_job *j, const struct head *h)
{
	const uint64_t words = h->words[0] + h->words[1];
	char *p = j->message;
	const struct place *place = (const struct place *)(p + records_at(words));
	uint64_t at = 0;
	size_t rec = 0;

	for (int k = 0; k < 2; k++) {
		j->block[k] = (kh_block) { .bases = (uint64_t *)(p + sizeof *h) + at,
					   .amb = (uint32_t *)(p + masks_at(words)) + at,
					   .n_words = (size_t)h->words[k], .rec = j->rec + rec,
					   .n_rec = (size_t)h->records[k] };
		for (size_t i = 0; i < h->records[k]; i++, rec++)
			j->rec[rec] = (kh_record) { .seq = place[rec].seq, .len = place[rec].len };
		at += h->words[k];
	}
	j->job = (kh_job) { .n = (size_t)h->fragments, .interleaved = h->interleaved != 0,
			    .block = { &j->block[0], h->paired ? &j->block[1] : NULL } };
}

int kh_ranks_unpack(kh_ranks_job *j, kh_message *m, kh_err *err)
{
	struct head h;
	int rc;

	j->message = m->p;
	m->p = NULL;
	memcpy(&h, j->message, sizeof h);
	rc = kh_grow((void **)&j->rec, &j->cap_rec, (size_t)(h.records[0] + h.records[1]),
		     sizeof *j->rec, err);
	if (rc)
		return rc;
	j->out = kh_array((size_t)h.fragments * sizeof(kh_call) + sizeof *j->out, 1, err);
	if (!j->out)
		return KH_ENOMEM;
	j->id = *j->out = h.id;
	set_blocks(j, &h);
	j->task = (kh_task) { &j->job, (kh_call *)(j->out + 1), NULL };
	return KH_OK;
}

/* --- sketches ------------------------------------------------------------------------------- */
struct row {
	uint64_t taxon, found;
	uint8_t reg[KH_HLL_SIZE];
};

int kh_ranks_pack_sketches(const kh_sketches *s, void **p, size_t *n, kh_err *err)
{
	struct row *row;
	size_t rows = 0;

	for (uint32_t i = 0; i < s->n; i++)
		rows += s->reg[i] != NULL;
	row = kh_array(rows, sizeof *row, err);
	if (!row)
		return KH_ENOMEM;
	*p = row;
	*n = rows * sizeof *row;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->reg[i]) {
			row->taxon = i;
			row->found = s->found[i];
			memcpy((row++)->reg, s->reg[i], KH_HLL_SIZE);
		}
	return KH_OK;
}

int kh_ranks_add_sketches(kh_sketches *s, const kh_message *m, kh_err *err)
{
	const struct row *row = m->p;
	int rc = KH_OK;

	for (size_t i = 0; i < m->n / sizeof *row && !rc; i++) {
		uint8_t *reg = (uint8_t *)(uintptr_t)row[i].reg, *one[1] = { reg };
		uint64_t found = row[i].found;
		const kh_sketches from = { 1, &found, one };

		if (row[i].taxon >= s->n)
			return kh_fail(err, KH_EIO, "rank %u has counted for taxon %llu, which "
				       "there is not", m->from, (unsigned long long)row[i].taxon);
		rc = kh_sketches_join(s, (uint32_t)row[i].taxon, &from, 0, err);
	}
	return rc;
}
