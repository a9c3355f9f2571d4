/*
 * wire.c - jobs and counts as messages
 *
 * A job is this head, then the words of both blocks and their masks, then for each record its
 * beginning and its length. Names and text stay with process 0.
 */
#include <config.h>
#include "remote/remote_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

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

int kh_remote_pack(const kh_task *t, uint64_t id, void **p, size_t *n, kh_err *err)
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

/* Makes the blocks, which point into the message. */
static void set_blocks(kh_remote_job *j, const struct head *h)
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

size_t kh_remote_calls_bytes(size_t n, bool candidates)
{
	return n * (sizeof(kh_call) + (candidates ? sizeof(kh_candidates) : 0));
}

static int fail_message(const kh_message *m, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EIO, "process %u sent %s that is not this version's (%zu bytes)",
		       m->from, what, m->n);
}

int kh_remote_number(const kh_message *m, uint64_t *id, kh_err *err)
{
	if (m->n < sizeof *id)
		return fail_message(m, "a message", err);
	memcpy(id, m->p, sizeof *id);
	return KH_OK;
}

/* Do the numbers of the head fit one another, and the length of the message? */
static bool is_sound(const struct head *h, size_t n)
{
	const uint64_t most = n / 4;            /* a word has 12 bytes, a record 16 */

	if (h->words[0] > most || h->words[1] > most || h->records[0] > most ||
	    h->records[1] > most || h->fragments > most || h->fragments == 0 ||
	    h->interleaved > 1 || h->paired > 1 || h->interleaved + h->paired > 1)
		return false;
	return h->records[0] == h->fragments << h->interleaved &&
	       h->records[1] == (h->paired ? h->fragments : 0) &&
	       n == records_at(h->words[0] + h->words[1]) +
			    (size_t)(h->records[0] + h->records[1]) * sizeof(struct place);
}

/* Does each record lie in its block? */
static bool are_inside(const struct head *h, const char *message)
{
	const struct place *p =
		(const struct place *)(message + records_at(h->words[0] + h->words[1]));

	for (int k = 0; k < 2; k++)
		for (uint64_t i = 0; i < h->records[k]; i++, p++)
			if (p->seq % 32 != 0 || p->seq > 32 * h->words[k] ||
			    p->len > 32 * h->words[k] - p->seq)
				return false;
	return true;
}

int kh_remote_unpack(kh_remote_job *j, kh_message *m, uint32_t wanted, kh_err *err)
{
	struct head h;
	int rc;

	j->message = m->p;
	m->p = NULL;
	if (m->n < sizeof h)
		return fail_message(m, "a job", err);
	memcpy(&h, j->message, sizeof h);
	if (!is_sound(&h, m->n) || !are_inside(&h, j->message))
		return fail_message(m, "a job", err);
	rc = KH_GROW(j->rec, j->cap_rec, (size_t)(h.records[0] + h.records[1]), err);
	if (rc)
		return rc;
	j->out = kh_array(kh_remote_calls_bytes((size_t)h.fragments, wanted != KH_WANT_NONE) +
				  sizeof *j->out,
			  1, err);
	if (!j->out)
		return KH_ENOMEM;
	j->id = *j->out = h.id;
	set_blocks(j, &h);
	j->task = (kh_task) { .job = &j->job, .call = (kh_call *)(j->out + 1) };
	if (wanted != KH_WANT_NONE)
		j->task.candidates = (kh_candidates *)(j->task.call + h.fragments);
	return KH_OK;
}

static bool is_call(const kh_call *c, const kh_db *db)
{
	return c->taxon < db->tax->n || c->taxon == KH_NO_TAXON;
}

/* Is the bin one that a target has bases in? */
static bool is_of_target(uint32_t bin, const kh_db *db)
{
	uint32_t t;

	if (db->n_kept == 0)
		return false;
	t = kh_bins_target(&db->bins, bin);
	return (uint64_t)bin * db->h->sampling.stride < db->stretch[t].end;
}

/* Species ascending, behind them none. */
static bool are_candidates(const kh_candidates *c, const kh_db *db)
{
	for (int i = 0; i < KH_CANDIDATES; i++) {
		const uint32_t s = c->species[i];

		if (s == KH_NO_TAXON ? c->drop[i] != 0
				     : s >= db->tax->n || db->tax->species[s] != s ||
					       c->drop[i] > KH_CANDIDATE_DROP_LONG)
			return false;
		if (i > 0 && c->species[i - 1] >= s && s != KH_NO_TAXON)
			return false;
	}
	return c->bin == KH_NO_BIN || is_of_target(c->bin, db);
}

/* A second-best taxon and its hits, or neither. */
static bool is_second(const kh_candidates *c, const kh_db *db)
{
	return c->species[0] == KH_NO_TAXON ? c->bin == 0
					    : c->species[0] < db->tax->n && c->bin > 0;
}

int kh_remote_unpack_calls(const kh_task *t, const kh_message *m, const kh_db *db,
			   const kh_rule *rule, kh_err *err)
{
	const bool second = rule->candidates == KH_WANT_SECOND;
	const size_t n = t->job->n;
	const char *call = (const char *)m->p + sizeof(uint64_t);
	const char *cand = call + n * sizeof(kh_call);
	const size_t bytes = sizeof(uint64_t) + kh_remote_calls_bytes(n, t->candidates != NULL);
	bool good = m->n == bytes;

	if (!good)
		return fail_message(m, "calls", err);
	memcpy(t->call, call, n * sizeof *t->call);
	if (t->candidates)
		memcpy(t->candidates, cand, n * sizeof *t->candidates);
	for (size_t i = 0; i < n && good; i++) {
		good = is_call(&t->call[i], db) &&
		       (!t->candidates || (second ? is_second(&t->candidates[i], db)
						  : are_candidates(&t->candidates[i], db)));
	}
	return good ? KH_OK
		    : kh_fail(err, KH_EIO, "process %u sent a call that cannot be", m->from);
}

/* --- distinct --------------------------------------------------------------------- */
struct row {
	uint64_t taxon, found;
	uint8_t reg[KH_HLL_SIZE];
};

int kh_remote_pack_distinct(const kh_distinct *s, void **p, size_t *n, kh_err *err)
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

int kh_remote_add_distinct(kh_distinct *s, const kh_message *m, kh_err *err)
{
	const struct row *row = m->p;
	int rc = m->n % sizeof *row ? fail_message(m, "counts", err) : KH_OK;

	for (size_t i = 0; i < m->n / sizeof *row && !rc; i++) {
		uint8_t *reg = (uint8_t *)(uintptr_t)row[i].reg, *one[1] = { reg };
		uint64_t found = row[i].found;
		const kh_distinct from = { 1, &found, one };

		if (row[i].taxon >= s->n)
			return kh_fail(err, KH_EIO, "process %u has counted for taxon %llu, which "
				       "there is not", m->from, (unsigned long long)row[i].taxon);
		for (int k = 0; k < KH_HLL_SIZE; k++)
			if (reg[k] > KH_HLL_MOST)
				return fail_message(m, "counts", err);
		rc = kh_distinct_join(s, (uint32_t)row[i].taxon, &from, 0, err);
	}
	return rc;
}
