/*
 * serve_parts.c - jobs where each process has a part of the index
 *
 * The features of a whole job are made; those of ranges that others own travel to them, one
 * message an owner, and their lists come back.  The decision is made where the job is.
 *	keys    the job's number here, keys
 *	lists   the same number, then what kh_answer_make() made
 */
#include <config.h>
#include "remote/remote_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

void kh_shard_clear(kh_remote *r, kh_remote_job *j)
{
	for (unsigned k = 0; j->lists && k < r->size; k++)
		free(j->lists[k]);
	free(j->lists);
	free(j->part);
	free(j->n_asked);
	kh_asked_clear(&j->asked);
}

static int open_parts(const kh_remote *r, kh_remote_job *j, kh_err *err)
{
	if (j->lists)
		return KH_OK;
	j->n_asked = kh_array(r->size, sizeof *j->n_asked, err);
	j->part = kh_array(r->size, sizeof *j->part, err);
	j->lists = kh_array(r->size, sizeof *j->lists, err);
	return j->n_asked && j->part && j->lists ? KH_OK : KH_ENOMEM;
}

/* Finishes a job whose lists are all there. */
static int finish(kh_server *s, kh_remote_job *j, kh_err *err)
{
	kh_remote *r = s->r;
	kh_answers answers = { r->owner, j->part };
	int rc;

	j->task.distinct = r->o.distinct ? &s->distinct : NULL;
	kh_classifier_want(s->classifier, j->task.candidates, j->task.places);
	rc = kh_classify_answer(s->classifier, &j->asked, &answers, j->task.call,
				j->task.distinct, err);
	for (unsigned k = 0; k < r->size; k++) {
		free(j->lists[k]);
		j->lists[k] = NULL;
	}
	return rc ? rc : kh_remote_finished(r, j, err);
}

/* Makes a message for each owner that some of the keys belong to: number and keys. */
static int make_keys(const kh_remote *r, const kh_remote_job *j, uint64_t **message, kh_err *err)
{
	const uint64_t self = kh_remote_ticket(j->number, j->use);
	size_t at[KH_MEMBERS_MAX];

	for (unsigned k = 0; k < r->size; k++) {
		at[k] = 1;
		if (k == r->self || j->n_asked[k] == 0)
			continue;
		message[k] = kh_array(j->n_asked[k] + 1, sizeof *message[k], err);
		if (!message[k])
			return KH_ENOMEM;
		memcpy(message[k], &self, sizeof self);
	}
	for (size_t i = 0; i < j->asked.n; i++) {
		const unsigned k = r->owner[kh_key_range(j->asked.key[i])];

		if (k != r->self)
			message[k][at[k]++] = j->asked.key[i];
	}
	return KH_OK;
}

static int ask(kh_remote *r, const kh_remote_job *j, kh_err *err)
{
	uint64_t *message[KH_MEMBERS_MAX] = { NULL };
	size_t n[KH_MEMBERS_MAX];
	int rc = make_keys(r, j, message, err);

	for (unsigned k = 0; k < r->size; k++)
		n[k] = j->n_asked[k];
	for (unsigned k = 0; k < r->size; k++) {
		/* once the last one is sent, another thread may finish j */
		if (message[k] && !rc)
			rc = kh_comm_post(r->o.on.comm, k, KH_CHANNEL_LOOKUP, message[k],
					  (n[k] + 1) * sizeof *message[k], err);
		else
			free(message[k]);
	}
	return rc;
}

int kh_shard_job(kh_server *s, kh_remote_job *j, kh_err *err)
{
	kh_remote *r = s->r;
	int rc = open_parts(r, j, err);

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
		j->waiting += k != r->self && j->n_asked[k] > 0;
	return j->waiting == 0 ? finish(s, j, err) : ask(r, j, err);
}

/* Fails unless all keys are in the ranges of this process, as only these were checked. */
static int check_keys(const kh_server *s, const kh_message *m, kh_err *err)
{
	const uint64_t *p = m->p;
	const size_t n = m->n / sizeof *p;
	bool good = n > 1 && m->n % sizeof *p == 0;

	for (size_t i = 1; i < n && good; i++)
		good = s->r->owner[kh_key_range(p[i])] == s->r->self;
	return good ? KH_OK
	       : kh_fail(err, KH_EIO, "process %u asked for what this process does not have",
			 m->from);
}

int kh_shard_lookup(kh_server *s, const kh_message *m, kh_err *err)
{
	const uint64_t *p = m->p;
	void *out = NULL;
	size_t bytes;
	int rc = check_keys(s, m, err);

	if (!rc)
		rc = kh_answer_make(s->r->db, p + 1, m->n / sizeof *p - 1, sizeof *p, &out, &bytes,
				    err);
	if (rc)
		return rc;
	memcpy(out, p, sizeof *p);
	return kh_comm_post(s->r->o.on.comm, m->from, KH_CHANNEL_LISTS, out, bytes, err);
}

/* The job that waits for these lists, or NULL. */
static kh_remote_job *find_job(kh_remote *r, uint64_t id, unsigned from)
{
	kh_remote_job *j = NULL;

	pthread_mutex_lock(&r->lock);
	if ((uint32_t)id < r->n_jobs)
		j = r->job[(uint32_t)id];
	if (j && (j->use != id >> 32 || j->waiting == 0 || j->n_asked[from] == 0 ||
		  j->lists[from]))
		j = NULL;
	pthread_mutex_unlock(&r->lock);
	return j;
}

/* Reads lists; fails unless their number and lengths are right and they have only bins and taxa
 * that exist. */
static int read_lists(const kh_db *db, kh_answer *a, const kh_message *m, size_t n, kh_err *err)
{
	const char *p = (const char *)m->p + sizeof(uint64_t);
	int rc = kh_answer_read(a, p, m->n - sizeof(uint64_t), n, err);

	for (size_t i = 0, at = 0; i < n && !rc; i++) {
		const bool taxon = a->len[i] == KH_LIST_OVER;
		const uint64_t end = taxon ? db->h->n_taxa : db->h->bins;

		for (const size_t to = at + kh_list_words(a->len[i]); at < to && !rc; at++)
			if (a->word[at] >= end)
				rc = kh_fail(err, KH_EIO, "process %u sent %s %lu of %llu", m->from,
					     taxon ? "taxon" : "bin", (unsigned long)a->word[at],
					     (unsigned long long)end);
	}
	return rc;
}

int kh_shard_lists(kh_server *s, kh_message *m, kh_err *err)
{
	uint64_t id;
	int rc = kh_remote_number(m, &id, err);
	kh_remote_job *j = rc ? NULL : find_job(s->r, id, m->from);
	bool all;

	if (!rc && !j)
		return kh_fail(err, KH_EIO, "process %u sent lists that it was not asked for",
			       m->from);
	if (!rc)
		rc = read_lists(s->r->db, &j->part[m->from], m, j->n_asked[m->from], err);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->r->lock);
	j->lists[m->from] = m->p;
	m->p = NULL;
	all = --j->waiting == 0;
	pthread_mutex_unlock(&s->r->lock);
	return all ? finish(s, j, err) : KH_OK;
}
