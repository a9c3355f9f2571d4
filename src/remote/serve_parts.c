/*
 * ranks_shard.c - jobs where each rank has a part of the index
 *
 * The features of a whole job are made; those of ranges that others own travel to them, one
 * message an owner, and their lists come back.  The decision is made where the job is.
 *	keys    the job's address here, keys
 *	lists   the same address, then what kh_answer_make() made
 */
#include <config.h>
#include "ranks_in.h"

#include <stdlib.h>
#include <string.h>
#include "mem.h"

void kh_shard_clear(kh_ranks *r, kh_ranks_job *j)
{
	for (unsigned k = 0; j->lists && k < r->size; k++)
		free(j->lists[k]);
	free(j->lists);
	free(j->part);
	free(j->n_asked);
	kh_asked_clear(&j->asked);
}

static int room(const kh_ranks *r, kh_ranks_job *j, kh_err *err)
{
	if (j->lists)
		return KH_OK;
	j->n_asked = kh_array(r->size, sizeof *j->n_asked, err);
	j->part = kh_array(r->size, sizeof *j->part, err);
	j->lists = kh_array(r->size, sizeof *j->lists, err);
	return j->n_asked && j->part && j->lists ? KH_OK : KH_ENOMEM;
}

/* All lists are there. */
static int finish(kh_server *s, kh_ranks_job *j, kh_err *err)
{
	kh_ranks *r = s->r;
	kh_answers answers = { r->owner, j->part };
	int rc;

	j->task.sketches = r->o.sketches ? &s->sketches : NULL;
	rc = kh_classify_answer(s->classifier, &j->asked, &answers, j->task.call,
				j->task.sketches, err);
	for (unsigned k = 0; k < r->size; k++) {
		free(j->lists[k]);
		j->lists[k] = NULL;
	}
	return rc ? rc : kh_ranks_finished(r, j, err);
}

/* A message of keys to each owner that some belong to: address and keys. */
static int make_keys(const kh_ranks *r, const kh_ranks_job *j, uint64_t **message, kh_err *err)
{
	const uint64_t self = (uint64_t)(uintptr_t)j;
	size_t at[KH_MEMBERS_MAX];

	for (unsigned k = 0; k < r->size; k++) {
		at[k] = 1;
		if (k == r->rank || j->n_asked[k] == 0)
			continue;
		message[k] = kh_array(j->n_asked[k] + 1, sizeof *message[k], err);
		if (!message[k])
			return KH_ENOMEM;
		memcpy(message[k], &self, sizeof self);
	}
	for (size_t i = 0; i < j->asked.n; i++) {
		const unsigned k = r->owner[kh_key_range(j->asked.key[i])];

		if (k != r->rank)
			message[k][at[k]++] = j->asked.key[i];
	}
	return KH_OK;
}

static int ask(kh_ranks *r, const kh_ranks_job *j, kh_err *err)
{
	uint64_t *message[KH_MEMBERS_MAX] = { NULL };
	size_t n[KH_MEMBERS_MAX];
	int rc = make_keys(r, j, message, err);

	for (unsigned k = 0; k < r->size; k++)
		n[k] = j->n_asked[k];
	for (unsigned k = 0; k < r->size; k++) {
		if (message[k] && !rc)          /* from the last one on, j is no longer ours */
			rc = kh_comm_post(r->o.comm, k, KH_CH_LOOKUP, message[k],
					  (n[k] + 1) * sizeof *message[k], err);
		else
			free(message[k]);
	}
	return rc;
}

int kh_shard_job(kh_server *s, kh_ranks_job *j, kh_err *err)
{
	kh_ranks *r = s->r;
	int rc = room(r, j, err);

	if (!rc)
		rc = kh_classify_ask(s->classifier, j->task.job, &j->asked, err);
	if (rc)
		return rc;
	free(j->message);               /* bases are not needed any more */
	j->message = NULL;
	memset(j->n_asked, 0, r->size * sizeof *j->n_asked);
	memset(j->part, 0, r->size * sizeof *j->part);
	for (size_t i = 0; i < j->asked.n; i++)
		j->n_asked[r->owner[kh_key_range(j->asked.key[i])]]++;
	j->waiting = 0;
	for (unsigned k = 0; k < r->size; k++)
		j->waiting += k != r->rank && j->n_asked[k] > 0;
	return j->waiting == 0 ? finish(s, j, err) : ask(r, j, err);
}

int kh_shard_lookup(kh_server *s, const kh_message *m, kh_err *err)
{
	const uint64_t *p = m->p;
	void *out = NULL;
	size_t bytes;
	int rc = kh_answer_make(s->r->db, p + 1, m->n / sizeof *p - 1, sizeof *p, &out, &bytes, err);

	if (rc)
		return rc;
	memcpy(out, p, sizeof *p);
	return kh_comm_post(s->r->o.comm, m->from, KH_CH_LISTS, out, bytes, err);
}

int kh_shard_lists(kh_server *s, kh_message *m, kh_err *err)
{
	const char *p = m->p;
	kh_ranks_job *j;
	uint64_t self;
	bool all;
	int rc;

	memcpy(&self, p, sizeof self);
	j = (kh_ranks_job *)(uintptr_t)self;
	rc = kh_answer_read(&j->part[m->from], p + sizeof self, m->n - sizeof self,
			    j->n_asked[m->from], err);
	if (rc)
		return rc;
	j->lists[m->from] = m->p;
	m->p = NULL;
	kh_monitor_lock(s->r->m);
	all = --j->waiting == 0;
	kh_monitor_unlock(s->r->m);
	return all ? finish(s, j, err) : KH_OK;
}
