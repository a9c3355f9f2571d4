/*
 * load.c - loads the index from the file to the devices
 *
 * File -> pinned -> device by several threads, checksums on the way. Each device has its own
 * threads and takes its share over its own bus. If the index is replicated, it also copies each
 * block that comes to the other devices.
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include "cuda/engine/engine_in.h"
#include "base/mem.h"
#include "base/threads.h"

enum { LOAD_STEP = 1 << 22, LOAD_THREADS = 12 }; /* threads of a device */

struct load {
	kh_engine *e;
	kh_monitor *m;
	struct {
		/* blocks of its share that are still to be loaded; guarded by the lock */
		uint64_t next, end;
	} of[KH_DEVICES_MAX];
};

/* One of the two buffers between which a worker alternates. */
struct load_slot {
	kh_gpu_buf buf;
	cudaEvent_t free;
};

/* A worker: the device whose share it loads, and what it needs for that. */
struct loader {
	struct load *l;
	size_t device;
	struct load_slot slot[2];
	XXH3_state_t *sum;
	cudaStream_t stream;
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

/* p has the bytes [at, at + n) of the file: copies those of the share to their place. */
static int send(const struct loader *w, const char *p, uint64_t at, size_t n,
		cudaEvent_t taken, kh_err *err)
{
	const kh_engine *e = w->l->e;
	const struct kh_cuda_copy *c = &e->copy[w->device];
	const uint64_t start = e->db->h->section[KH_SEC_INDEX].at;
	const uint64_t from = at > start + c->from ? at : start + c->from,
		       to = at + n < start + c->to ? at + n : start + c->to;
	const size_t bytes = from < to ? (size_t)(to - from) : 0;
	int rc = KH_OK;

	if (bytes)
		rc = KH_GPU(cudaMemcpyAsync(kh_cuda_image(e, c, from - start),
					    p + (from - at), bytes,
					    cudaMemcpyHostToDevice, w->stream),
			    err);
	if (!rc)
		rc = KH_GPU(cudaEventRecord(taken, w->stream), err);
	for (size_t i = 0; i < e->n && e->placement == KH_PLACE_REPLICATE && bytes && !rc;
	     i++)
		if (i != w->device)
			rc = KH_GPU(cudaMemcpyAsync(
					    kh_cuda_image(e, &e->copy[i], from - start),
					    kh_cuda_image(e, c, from - start), bytes,
					    cudaMemcpyDefault, w->stream),
				    err);
	return rc;
}

static int load_block(struct loader *w, uint64_t i, kh_err *err)
{
	const kh_db *db = w->l->e->db;
	const uint64_t stop = db->h->section[KH_SEC_SUMS].at,
		       first = KH_DB_PAGE + i * KH_DB_BLOCK;
	const uint64_t end = stop - first < KH_DB_BLOCK ? stop : first + KH_DB_BLOCK;
	int rc = KH_OK, k = 0;

	XXH3_64bits_reset(w->sum);
	for (uint64_t at = first; at < end && !rc; at += LOAD_STEP, k = !k) {
		struct load_slot *s = &w->slot[k];
		size_t n = end - at < LOAD_STEP ? (size_t)(end - at) : LOAD_STEP;

		if ((rc = KH_GPU(cudaEventSynchronize(s->free), err)) ||
		    (rc = read_at(db, s->buf.p, n, at, err)))
			break;
		if (db->unchecked)
			XXH3_64bits_update(w->sum, s->buf.p, n);
		rc = send(w, s->buf.p, at, n, s->free, err);
	}
	if (!rc && db->unchecked && XXH3_64bits_digest(w->sum) != db->sums[i])
		rc = kh_fail(err, KH_EFORMAT,
			     "%s: damaged: the checksum of bytes %" PRIu64 " to %" PRIu64
			     " is wrong",
			     db->path, first, end - 1);
	return rc;
}

static int loader_open(struct loader *w, kh_err *err)
{
	int rc = kh_gpu_use(w->l->e->copy[w->device].device, err);

	w->sum = XXH3_createState();
	if (!rc && !w->sum)
		rc = kh_fail_nomem(err);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking),
			    err);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = kh_gpu_host_room(&w->slot[i].buf, LOAD_STEP, err);
		if (!rc)
			rc = KH_GPU(cudaEventCreateWithFlags(&w->slot[i].free,
							     cudaEventDisableTiming),
				    err);
	}
	return rc;
}

static void loader_close(struct loader *w)
{
	if (w->stream)
		cudaStreamSynchronize(w->stream); /* as it still reads from the buffers */
	for (int i = 0; i < 2; i++) {
		kh_gpu_drop(&w->slot[i].buf);
		if (w->slot[i].free)
			cudaEventDestroy(w->slot[i].free);
	}
	if (w->stream)
		cudaStreamDestroy(w->stream);
	XXH3_freeState(w->sum);
}

static int load_worker(void *arg, unsigned worker, kh_err *err)
{
	struct load *l = arg;
	struct loader w = { .l = l, .device = worker % l->e->n };
	int rc = loader_open(&w, err);

	while (!rc && !kh_monitor_stopped(l->m)) {
		kh_monitor_lock(l->m);
		uint64_t i = l->of[w.device].next++, end = l->of[w.device].end;
		kh_monitor_unlock(l->m);
		if (i >= end)
			break;
		rc = load_block(&w, i, err);
	}
	if (!rc)
		rc = KH_GPU(cudaStreamSynchronize(w.stream), err);
	loader_close(&w);
	return rc;
}

int kh_cuda_load(kh_engine *e, unsigned threads, kh_err *err)
{
	const kh_db_extent *x = &e->db->h->section[KH_SEC_INDEX];
	struct load l = { .e = e };
	int rc = KH_OK;

	for (size_t i = 0; i < e->n && !rc; i++) {
		const struct kh_cuda_copy *c = &e->copy[i];

		l.of[i].next = (x->at + c->from - KH_DB_PAGE) / KH_DB_BLOCK;
		l.of[i].end = c->from < c->to
				      ? (x->at + c->to - KH_DB_PAGE + KH_DB_BLOCK - 1) /
						KH_DB_BLOCK
				      : l.of[i].next;
		rc = kh_gpu_use(c->device, err);
		if (!rc)
			rc = kh_gpu_room_exact(&e->copy[i].image,
					       e->placement == KH_PLACE_REPLICATE
						       ? x->bytes
						       : c->to - c->from,
					       err);
	}
	if (threads == 0)
		threads = kh_cpus();
	threads =
		threads < LOAD_THREADS * e->n ? threads : (unsigned)(LOAD_THREADS * e->n);
	threads = threads < e->n ? (unsigned)e->n : threads;
	if (!rc)
		rc = kh_monitor_new(&l.m, err);
	if (!rc)
		rc = kh_threads_run(l.m, threads, load_worker, &l, err);
	kh_monitor_free(l.m);
	return rc;
}
