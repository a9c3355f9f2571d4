/*
 * load_cuda.c - the engine: the database on each device
 *
 * File -> pinned -> device by several threads, checksums on the way, structure checked by
 * the device.
 */
#include <config.h>
#include "backend_in.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "engine_in.h"
#include "mem.h"
#include "pipeline.h"

enum { LOAD_STEP = 1 << 22, LOAD_THREADS = 12 };

/* --- loading ------------------------------------------------------------------------ */
struct load {
	kh_engine *e;
	kh_monitor *m;
	uint64_t next, end;             /* blocks of checksums, under the lock */
};

/* A worker's half of the ring. */
struct load_slot {
	kh_gpu_buf buf;
	cudaEvent_t free;
};

static int read_at(const kh_db *db, void *p, size_t n, uint64_t at, kh_err *err)
{
	char *to = p;

	if (db->fd < 0) {
		memcpy(to, (const char *)db->map + at, n);
		return KH_OK;
	}
	while (n > 0) {
		ssize_t m = pread(db->fd, to, n, (off_t)at);

		if (m < 0 && errno == EINTR)
			continue;
		if (m < 0)
			return kh_fail_errno(err, db->path);
		if (m == 0)
			return kh_fail(err, KH_EIO, "%s: was cut while it was read",
				       db->path);
		to += m;
		at += (uint64_t)m;
		n -= (size_t)m;
	}
	return KH_OK;
}

/* What of [at, at + n) lies in the index, from p to its place on the first device. */
static int send(const kh_engine *e, const char *p, uint64_t at, size_t n,
		cudaStream_t stream, kh_err *err)
{
	const kh_db_extent *x = &e->db->h->section[KH_SEC_INDEX];
	uint64_t from = at > x->at ? at : x->at,
		 to = at + n < x->at + x->bytes ? at + n : x->at + x->bytes;

	if (from >= to)
		return KH_OK;
	return KH_GPU(cudaMemcpyAsync((char *)e->copy[0].image.p + (from - x->at),
				      p + (from - at), to - from, cudaMemcpyHostToDevice,
				      stream),
		      err);
}

static int load_block(const struct load *l, uint64_t i, struct load_slot slot[2],
		      XXH3_state_t *sum, cudaStream_t stream, kh_err *err)
{
	const kh_db *db = l->e->db;
	const uint64_t stop = db->h->section[KH_SEC_SUMS].at,
		       first = KH_DB_PAGE + i * KH_DB_BLOCK;
	const uint64_t end = stop - first < KH_DB_BLOCK ? stop : first + KH_DB_BLOCK;
	int rc = KH_OK, k = 0;

	XXH3_64bits_reset(sum);
	for (uint64_t at = first; at < end && !rc; at += LOAD_STEP, k = !k) {
		size_t n = end - at < LOAD_STEP ? (size_t)(end - at) : LOAD_STEP;

		if ((rc = KH_GPU(cudaEventSynchronize(slot[k].free), err)) ||
		    (rc = read_at(db, slot[k].buf.p, n, at, err)))
			break;
		if (db->unchecked)
			XXH3_64bits_update(sum, slot[k].buf.p, n);
		rc = send(l->e, slot[k].buf.p, at, n, stream, err);
		if (!rc)
			rc = KH_GPU(cudaEventRecord(slot[k].free, stream), err);
	}
	if (!rc && db->unchecked && XXH3_64bits_digest(sum) != db->sums[i])
		rc = kh_fail(err, KH_EFORMAT,
			     "%s: damaged: the checksum of bytes %" PRIu64 " to %" PRIu64
			     " is wrong",
			     db->path, first, end - 1);
	return rc;
}

static int load_worker(void *arg, unsigned worker, kh_err *err)
{
	struct load *l = arg;
	struct load_slot slot[2] = { { .free = NULL } };
	XXH3_state_t *sum = XXH3_createState();
	cudaStream_t stream = NULL;
	int rc = sum ? kh_gpu_use(l->e->copy[0].device, err) : kh_fail_nomem(err);

	(void)worker;
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
			    err);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = kh_gpu_host_room(&slot[i].buf, LOAD_STEP, err);
		if (!rc)
			rc = KH_GPU(cudaEventCreateWithFlags(&slot[i].free,
							     cudaEventDisableTiming),
				    err);
	}
	while (!rc && !kh_monitor_stopped(l->m)) {
		kh_monitor_lock(l->m);
		uint64_t i = l->next++;
		kh_monitor_unlock(l->m);
		if (i >= l->end)
			break;
		rc = load_block(l, i, slot, sum, stream, err);
	}
	if (stream && !rc)
		rc = KH_GPU(cudaStreamSynchronize(stream), err);
	for (int i = 0; i < 2; i++) {
		kh_gpu_drop(&slot[i].buf);
		if (slot[i].free)
			cudaEventDestroy(slot[i].free);
	}
	if (stream)
		cudaStreamDestroy(stream);
	XXH3_freeState(sum);
	return rc;
}

/* The image to the first device. */
static int load_image(kh_engine *e, kh_err *err)
{
	const kh_db_extent *x = &e->db->h->section[KH_SEC_INDEX];
	struct load l = { .e = e, .next = (x->at - KH_DB_PAGE) / KH_DB_BLOCK };
	unsigned threads = kh_cpus();
	int rc = kh_gpu_room_exact(&e->copy[0].image, x->bytes, err);

	l.end = x->bytes ? (x->at + x->bytes - KH_DB_PAGE + KH_DB_BLOCK - 1) / KH_DB_BLOCK
			 : l.next;
	threads = threads < LOAD_THREADS ? threads : LOAD_THREADS;
	if (!rc)
		rc = kh_monitor_new(&l.m, err);
	if (!rc)
		rc = kh_crew_run(l.m, threads, load_worker, &l, err);
	kh_monitor_free(l.m);
	return rc;
}

/* The structure of all ranges; what is wrong is said by the host's check. */
static int check_image(const kh_engine *e, kh_err *err)
{
	const kh_db *db = e->db;
	kh_gpu_buf buf = { .p = NULL };
	uint32_t *host = kh_array(2 * KH_RANGES, sizeof *host, err), *bad;
	kh_err why = { 0, "" };
	int rc = host ? kh_gpu_room(&buf, 2 * KH_RANGES * 4, err) : KH_ENOMEM;

	bad = buf.p;
	if (rc || (rc = KH_GPU(cudaMemset(bad, 0xff, KH_RANGES * 4), err)) ||
	    (rc = KH_GPU(cudaMemset(bad + KH_RANGES, 0, KH_RANGES * 4), err)) ||
	    (rc = kh_gpu_check(kh_gpu_index_check(&e->copy[0].ix, (uint32_t)db->h->bins,
						  bad, bad + KH_RANGES, NULL),
			       "check of the index", err)) ||
	    (rc = KH_GPU(cudaMemcpy(host, bad, 2 * KH_RANGES * 4, cudaMemcpyDeviceToHost),
			 err)))
		goto out;
	for (int p = 0; p < KH_RANGES && !rc; p++) {
		if (host[p] == UINT32_MAX && host[KH_RANGES + p] == db->dir[p].entries)
			continue;
		if (!kh_index_check(db->image, &db->dir[p], (uint32_t)db->h->bins,
				    db->h->n_taxa, &why))
			kh_fail(&why, KH_EFORMAT, "bucket %" PRIu32 " is damaged",
				host[p]);
		rc = kh_fail(err, KH_EFORMAT, "%s: not a usable database: range %d, %s",
			     db->path, p, why.msg);
	}
out:
	kh_gpu_drop(&buf);
	free(host);
	return rc;
}

/* --- engine ------------------------------------------------------------------------- */
static int put(kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes
		       ? rc
		       : KH_GPU(cudaMemcpy(to->p, p, bytes, cudaMemcpyHostToDevice), err);
}

/* All but the image. */
static int put_small(struct kh_cuda_copy *c, const kh_db *db, kh_err *err)
{
	const kh_taxonomy *t = db->tax;
	size_t n = t->n * sizeof(uint32_t), m = db->bins.n * sizeof(uint32_t);
	int rc;

	if ((rc = put(&c->dir, db->dir, KH_RANGES * sizeof *db->dir, err)) ||
	    (rc = put(&c->first, db->bins.first, m, err)) ||
	    (rc = put(&c->taxon, db->bins.taxon, m, err)) ||
	    (rc = put(&c->parent, t->parent, n, err)) ||
	    (rc = put(&c->end, t->end, n, err)) ||
	    (rc = put(&c->species, t->species, n, err)) ||
	    (rc = put(&c->genus, t->genus, n, err)))
		return rc;
	c->ix = (kh_gpu_index) { .image = c->image.p,
				 .dir = c->dir.p,
				 .bins = { db->bins.n, c->first.p, c->taxon.p },
				 .tree = { t->n, c->parent.p, c->end.p, c->species.p,
					   c->genus.p } };
	return KH_OK;
}

static int replicate(kh_engine *e, size_t i, kh_err *err)
{
	struct kh_cuda_copy *c = &e->copy[i];
	const uint64_t bytes = e->db->h->section[KH_SEC_INDEX].bytes;
	int rc = kh_gpu_use(c->device, err);

	if (!rc)
		rc = kh_gpu_room_exact(&c->image, bytes, err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyPeer(c->image.p, c->device, e->copy[0].image.p,
					   e->copy[0].device, bytes),
			    err);
	return rc ? rc : put_small(c, e->db, err);
}

void kh_cuda_engine_close(kh_engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; e->copy && i < e->n; i++) {
		struct kh_cuda_copy *c = &e->copy[i];

		cudaSetDevice(c->device);
		kh_gpu_drop(&c->image);
		kh_gpu_drop(&c->dir);
		kh_gpu_drop(&c->first);
		kh_gpu_drop(&c->taxon);
		kh_gpu_drop(&c->parent);
		kh_gpu_drop(&c->end);
		kh_gpu_drop(&c->species);
		kh_gpu_drop(&c->genus);
	}
	free(e->copy);
	free(e);
}

int kh_cuda_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o,
			kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	if (!e)
		return KH_ENOMEM;
	e->db = db;
	e->rule = *o->rule;
	e->n = o->n_devices;
	e->copy = kh_array(e->n, sizeof *e->copy, err);
	if (!e->copy) {
		kh_cuda_engine_close(e);
		return KH_ENOMEM;
	}
	for (size_t i = 0; i < e->n; i++)
		e->copy[i].device = o->device[i];
	if (!(rc = kh_gpu_use(o->device[0], err)) && !(rc = load_image(e, err)) &&
	    !(rc = put_small(&e->copy[0], db, err)) && db->unchecked)
		rc = check_image(e, err);
	for (size_t i = 1; i < e->n && !rc; i++)
		rc = replicate(e, i, err);
	if (rc) {
		kh_cuda_engine_close(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}
