#include <config.h>
#include "remote/remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/mem.h"
#include "remote/remote_in.h"

/* --- what must be the same in all processes ----------------------------------------- */
struct facts {
	char tool[32];                  /* its version */
	/* checksum of the header, which covers the other checksums */
	uint64_t database, digest;
	uint64_t rule;                  /* checksum: --confidence */
	uint32_t threads;
	uint8_t placement, distinct;
};

static struct facts facts_of(const kh_remote *r)
{
	const kh_remote_options *o = &r->o;
	struct facts f = { .database = r->db->h->self, .digest = r->db->h->digest,
			   .rule = XXH3_64bits(o->rule, sizeof *o->rule), .threads = o->on.threads,
			   .placement = (uint8_t)o->on.placement, .distinct = o->distinct };

	snprintf(f.tool, sizeof f.tool, "%s", PACKAGE_STRING);
	return f;
}

static int compare(const struct facts *f, const struct facts *first, unsigned peer, kh_err *err)
{
	if (strncmp(f->tool, first->tool, sizeof f->tool) != 0)
		return kh_fail(err, KH_EUSAGE, "process %u runs %.31s, process 0 %.31s", peer,
			       f->tool, first->tool);
	if (f->database != first->database)
		return kh_fail(err, KH_EFORMAT,
			       "process %u has another database than process 0 (digest "
			       "%016" PRIx64 ", not %016" PRIx64 ")",
			       peer, f->digest, first->digest);
	if (f->placement != first->placement || f->distinct != first->distinct ||
	    f->rule != first->rule)
		return kh_fail(err, KH_EUSAGE,
			       "process %u was started with other options than process 0", peer);
	return KH_OK;
}

/* All processes must be of one kind; process 0 learns their threads. */
static int agree(kh_remote *r, kh_err *err)
{
	const struct facts mine = facts_of(r);
	kh_mail m;
	int rc = kh_comm_gather(r->o.on.comm, &mine, sizeof mine, true, &m, err);

	for (unsigned k = 0; k < r->size && !rc; k++) {
		const struct facts *f = m.recv[k];

		if (m.got[k] != sizeof *f)
			rc = kh_fail(err, KH_EUSAGE,
				     "process %u is another version of this program", k);
		else
			rc = compare(f, m.recv[0], k, err);
		if (rc)
			break;
		r->member[k].threads = f->threads;
	}
	kh_mail_clear(&m);
	if (!rc && r->o.on.placement >= KH_PLACE_SHARD)
		rc = kh_fail(err, KH_EUSAGE, "%s: a database is not divided among processes: each "
			     "has all of it", r->db->path);
	return rc;
}

static int check_index(const kh_remote *r, kh_err *err)
{
	if (r->o.on.choice.backend->loads || r->o.no_verify)
		return KH_OK;
	return kh_db_check(r->db, 0, KH_RANGES, r->o.on.threads, err);
}

/* --- servers ---------------------------------------------------------------------- */
static int open_servers(kh_remote *r, kh_err *err)
{
	const kh_remote_options *o = &r->o;
	kh_devices on = o->on;
	const kh_compute_options co = { .on = &on, .rule = o->rule, .block_size = o->block_size,
					.shared = true, .part = true };
	int rc;

	on.comm = NULL;                 /* each process has a database of its own */
	rc = kh_compute_open(&r->compute, r->db, &co, err);
	r->server = kh_array(on.threads, sizeof *r->server, err);
	if (!rc && !r->server)
		rc = KH_ENOMEM;
	for (unsigned i = 0; i < on.threads && !rc; i++) {
		kh_server *s = &r->server[i];

		s->r = r;
		if (o->distinct)
			rc = kh_distinct_init(&s->distinct, r->db->tax->n, err);
		s->tasks = kh_compute_tasks(&r->compute, i, kh_remote_done, s);
	}
	return rc;
}

int kh_remote_open(kh_remote **out, const kh_db *db, const kh_remote_options *o, kh_err *err)
{
	kh_remote *r = kh_array(1, sizeof *r, err);
	int rc;

	if (!r)
		return KH_ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	r->o = *o;
	r->db = db;
	r->self = kh_comm_self(o->on.comm);
	r->size = kh_comm_size(o->on.comm);
	r->member = kh_array(r->size, sizeof *r->member, err);
	rc = r->member ? kh_monitor_new(&r->m, err) : KH_ENOMEM;
	if (!rc && !(rc = agree(r, err)) && !(rc = check_index(r, err)) &&
	    !(rc = open_servers(r, err)))
		rc = kh_comm_barrier(o->on.comm, err);
	if (rc) {
		/* first, as an engine may be able to close only when those of the others do */
		kh_comm_fail(o->on.comm, err);
		kh_remote_close(r);
		return rc;
	}
	*out = r;
	return KH_OK;
}

void kh_remote_close(kh_remote *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->server && i < r->o.on.threads; i++)
		kh_distinct_clear(&r->server[i].distinct);
	kh_compute_close(&r->compute);
	for (size_t i = 0; i < r->n_jobs; i++) {
		kh_remote_job *j = r->job[i];

		free(j->rec);
		free(j->message);
		free(j->out);
		free(j);
	}
	kh_monitor_free(r->m);
	pthread_mutex_destroy(&r->lock);
	free(r->job);
	free(r->queue);
	free(r->server);
	free(r->member);
	free(r);
}

/* --- processes other than 0 ------------------------------------------------------- */
/* Adds the counts of all servers to those of the first one, then sends them to process 0. */
static int report_counts(kh_remote *r, kh_err *err)
{
	kh_distinct *sum = &r->server[0].distinct;
	void *p = NULL;
	size_t n = 0;
	int rc = KH_OK;

	for (unsigned i = 1; i < r->o.on.threads && !rc; i++)
		for (uint32_t t = 0; t < sum->n && !rc; t++)
			rc = kh_distinct_join(sum, t, &r->server[i].distinct, t, err);
	if (!rc)
		rc = kh_remote_pack_distinct(sum, &p, &n, err);
	return rc ? rc : kh_comm_post(r->o.on.comm, 0, KH_CHANNEL_END, p, n, err);
}

int kh_remote_serve(kh_remote *r, kh_err *err)
{
	int rc = kh_threads_run(r->m, r->o.on.threads, kh_remote_server, r, err);

	if (!rc)
		rc = kh_db_unchanged(r->db, err);
	return rc ? rc : report_counts(r, err);
}
