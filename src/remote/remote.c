#include <config.h>
#include "ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "mem.h"
#include "ranks_in.h"

/* --- what all must agree on ------------------------------------------------------------------ */
struct facts {
	char tool[32];                  /* its version */
	uint64_t database, digest;      /* checksum of the header, which has that of all else */
	uint64_t rule;                  /* checksum: --confidence, --precise */
	uint32_t threads;
	uint8_t shards, fits, placement, sketches;
};

/* The pages of a file are shared by all ranks of a host. */
static bool fits(const kh_db *db)
{
	return db->bytes / (uint64_t)sysconf(_SC_PAGESIZE) < (uint64_t)sysconf(_SC_PHYS_PAGES) / 2;
}

static struct facts facts_of(const kh_ranks *r)
{
	const kh_ranks_options *o = &r->o;
	struct facts f = { .database = r->db->h->self, .digest = r->db->h->digest,
			   .rule = XXH3_64bits(o->rule, sizeof *o->rule), .threads = o->threads,
			   .shards = r->be == &kh_backend_cpu, .fits = fits(r->db),
			   .placement = (uint8_t)o->placement, .sketches = o->sketches };

	snprintf(f.tool, sizeof f.tool, "%s", PACKAGE_STRING);
	return f;
}

static int compare(const struct facts *f, const struct facts *first, unsigned rank, kh_err *err)
{
	if (strncmp(f->tool, first->tool, sizeof f->tool) != 0)
		return kh_fail(err, KH_EUSAGE, "rank %u runs %.31s, rank 0 %.31s", rank, f->tool, first->tool);
	if (f->database != first->database)
		return kh_fail(err, KH_EFORMAT, "rank %u has another database than rank 0 (digest "
			       "%016" PRIx64 ", not %016" PRIx64 ")", rank, f->digest, first->digest);
	if (f->placement != first->placement || f->sketches != first->sketches || f->rule != first->rule)
		return kh_fail(err, KH_EUSAGE, "rank %u was started with other options than rank 0", rank);
	return KH_OK;
}

/* Decides whether the index is in parts: if that is asked for, or it does not fit, and all ranks
 * can do so. */
static int agree(kh_ranks *r, kh_err *err)
{
	const struct facts mine = facts_of(r);
	void **recv = kh_array(r->size, sizeof *recv, err);
	size_t *got = kh_array(r->size, sizeof *got, err);
	bool can = true, devices = true, want = r->o.placement >= KH_PLACE_SHARD;
	int rc = recv && got ? kh_comm_all_gather(r->o.comm, &mine, sizeof mine, recv, got, err)
			     : KH_ENOMEM;

	for (unsigned k = 0; k < r->size && recv && !rc; k++) {
		const struct facts *f = recv[k];

		if (got[k] != sizeof *f)
			rc = kh_fail(err, KH_EUSAGE, "rank %u is another version of this program", k);
		else
			rc = compare(f, recv[0], k, err);
		if (rc)
			break;
		r->member[k].threads = f->threads;
		can = can && f->shards;
		devices = devices && !f->shards;
		want = want || (r->o.placement == KH_PLACE_AUTO && !f->fits);
	}
	for (unsigned k = 0; k < r->size && recv; k++)
		free(recv[k]);
	free(recv);
	free(got);
	r->share.sharded = can && want;
	r->devices = devices;
	if (!rc && r->share.sharded && r->size > KH_MEMBERS_MAX)
		rc = kh_fail(err, KH_EUSAGE, "the index cannot be in more than %d parts", KH_MEMBERS_MAX);
	return rc;
}

/* Its part of the index is checked, and what others have is given back. */
static int take_share(kh_ranks *r, kh_err *err)
{
	const kh_db *db = r->db;
	kh_share *s = &r->share;
	uint64_t weight[KH_RANGES];
	kh_shards cut;
	int rc = KH_OK;

	s->to = KH_RANGES;
	s->bytes = db->h->section[KH_SEC_INDEX].bytes;
	if (s->sharded) {
		for (unsigned p = 0; p < KH_RANGES; p++)
			weight[p] = db->dir[p].n_locs;
		kh_shards_cut(&cut, weight, r->size);
		for (unsigned p = 0; p < KH_RANGES; p++)
			r->owner[p] = (uint8_t)kh_shards_owner(&cut, p);
		s->from = cut.first[r->rank];
		s->to = cut.first[r->rank + 1];
	}
	if (!r->be->loads && !r->o.no_verify)
		rc = kh_db_check(db, s->from, s->to, r->o.threads, err);
	if (!rc && s->sharded)
		rc = kh_db_keep(db, s->from, s->to, &s->bytes, err);
	return rc;
}

/* --- servers ------------------------------------------------------------------------------------ */
static int open_servers(kh_ranks *r, kh_err *err)
{
	const kh_ranks_options *o = &r->o;
	const kh_engine_options eo = { .rule = o->rule, .device = o->choice->device,
				       .n_devices = o->choice->n, .placement = o->placement,
				       .comm = r->devices ? o->comm : NULL,
				       .lanes = o->threads };
	int rc = r->share.sharded ? KH_OK : r->be->engine_open(&r->engine, r->db, &eo, err);

	r->server = kh_array(o->threads, sizeof *r->server, err);
	if (!rc && !r->server)
		rc = KH_ENOMEM;
	for (unsigned i = 0; i < o->threads && !rc; i++) {
		kh_server *s = &r->server[i];

		s->r = r;
		if (o->sketches)
			rc = kh_sketches_init(&s->sketches, r->db->tax->n, err);
		if (!rc && r->share.sharded)
			rc = kh_classifier_new(&s->classifier, r->db, o->rule, err);
		else if (!rc)
			rc = r->be->lane_open(&s->lane, r->engine, i, o->block_size, err);
	}
	return rc;
}

int kh_ranks_open(kh_ranks **out, const kh_db *db, const kh_ranks_options *o, kh_err *err)
{
	kh_ranks *r = kh_array(1, sizeof *r, err);
	int rc;

	if (!r)
		return KH_ENOMEM;
	r->o = *o;
	r->be = o->choice->backend;
	r->db = db;
	r->rank = kh_comm_rank(o->comm);
	r->size = kh_comm_size(o->comm);
	r->member = kh_array(r->size, sizeof *r->member, err);
	rc = r->member ? kh_monitor_new(&r->m, err) : KH_ENOMEM;
	if (!rc && !(rc = agree(r, err)) && !(rc = take_share(r, err)) && !(rc = open_servers(r, err)))
		rc = kh_comm_barrier(o->comm, err);
	if (rc) {
		kh_comm_fail(o->comm, err);     /* first: an engine may close only when those of the others do */
		kh_ranks_close(r);
		return rc;
	}
	*out = r;
	return KH_OK;
}

void kh_ranks_close(kh_ranks *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->server && i < r->o.threads; i++) {
		if (r->server[i].lane)
			r->be->lane_close(r->server[i].lane);
		kh_classifier_free(r->server[i].classifier);
		kh_sketches_clear(&r->server[i].sketches);
	}
	if (r->engine)
		r->be->engine_close(r->engine);
	for (kh_ranks_job *j = r->all, *next; j; j = next) {
		next = j->next;
		kh_shard_clear(r, j);
		free(j->rec);
		free(j->message);
		free(j->out);
		free(j);
	}
	kh_monitor_free(r->m);
	free(r->dealing);
	free(r->server);
	free(r->member);
	free(r);
}

kh_share kh_ranks_share(const kh_ranks *r)
{
	return r->share;
}

/* --- ranks other than 0 --------------------------------------------------------------------------- */
/* Sums of all servers to the first one, then to rank 0. */
static int report_counts(kh_ranks *r, kh_err *err)
{
	kh_sketches *sum = &r->server[0].sketches;
	void *p = NULL;
	size_t n = 0;
	int rc = KH_OK;

	for (unsigned i = 1; i < r->o.threads && !rc; i++)
		for (uint32_t t = 0; t < sum->n && !rc; t++)
			rc = kh_sketches_join(sum, t, &r->server[i].sketches, t, err);
	if (!rc)
		rc = kh_ranks_pack_sketches(sum, &p, &n, err);
	return rc ? rc : kh_comm_post(r->o.comm, 0, KH_CH_END, p, n, err);
}

int kh_ranks_serve(kh_ranks *r, kh_err *err)
{
	int rc = kh_crew_run(r->m, r->o.threads, kh_ranks_server, r, err);

	if (!rc)
		rc = kh_db_unchanged(r->db, err);
	return rc ? rc : report_counts(r, err);
}
