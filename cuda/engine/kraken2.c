/*
 * kraken2.c - the table of a database of Kraken 2, from its file to the devices
 *
 * The same table on each device, or a shard of the cells on each, which all read.  A table that is
 * on the host is asked by the CPU: over the bus, a GPU is slower than that.
 */
#include <config.h>
#include "cuda/engine/kraken2_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"
#include "base/threads.h"
#include "db/pages.h"

enum { STEP = 8 << 20, LOAD_THREADS = 12 };     /* threads of a device */

/* --- where it lies ---------------------------------------------------------------- */
static uint64_t table_bytes(const kh_db *db)
{
	return db->k2->rule.capacity * db->k2->rule.cell_bytes;
}

/* Cells of a shard, so many that shards end at whole pages of memory. */
static uint64_t shard_cells(const kh_engine *e)
{
	const uint64_t each = e->db->k2->rule.capacity / e->n + 1;

	return e->placement == KH_PLACE_SHARD ? (each + 1023) / 1024 * 1024
						   : e->db->k2->rule.capacity;
}

/* How often the list of devices names that of number i, which has to do with a share of it. */
static uint64_t times_named(const kh_engine *e, size_t i)
{
	uint64_t times = 0;

	for (size_t j = 0; j < e->n; j++)
		times += e->copy[j].device == e->copy[i].device;
	return times;
}

/* Bytes that the tables may have on each device: what is left beside queues. */
static int room_on_devices(const kh_engine *e, const kh_engine_options *o, uint64_t *room,
			   kh_err *err)
{
	const uint64_t task = UINT64_C(24) * o->block_size + (32 << 20);
	const uint64_t queues = (o->on.threads / e->n + 1) * task;
	int rc = KH_OK;

	*room = UINT64_MAX;
	for (size_t i = 0; i < e->n && !rc; i++) {
		uint64_t bytes = 0;

		rc = kh_gpu_use(e->copy[i].device, err);
		if (!rc)
			rc = kh_gpu_free(&bytes, err);
		if (o->on.memory && o->on.memory < bytes)
			bytes = o->on.memory;
		bytes /= times_named(e, i);
		bytes = bytes > queues ? bytes - queues : 0;
		*room = bytes < *room ? bytes : *room;
	}
	return rc;
}

static int place(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	const uint64_t bytes = table_bytes(e->db);
	int device[KH_DEVICES_MAX];
	uint64_t room;
	bool peers = false;
	int rc = room_on_devices(e, o, &room, err);

	for (size_t i = 0; i < e->n; i++)
		device[i] = e->copy[i].device;
	if (!rc && e->n > 1)
		rc = kh_gpu_peers(device, e->n, &peers, err);
	if (rc)
		return rc;
	peers = peers && e->n <= KH_GPU_K2_SHARDS;
	switch (o->on.placement) {
	case KH_PLACE_AUTO:
		e->placement = bytes <= room ? KH_PLACE_REPLICATE
			       : peers && bytes / e->n < room ? KH_PLACE_SHARD : KH_PLACE_HOST;
		return KH_OK;
	case KH_PLACE_SHARD:
		if (!peers)
			return kh_fail(err, KH_EUSAGE, "--set placement=shard needs several GPUs "
				       "that can read each other's memory");
		e->placement = KH_PLACE_SHARD;
		return KH_OK;
	case KH_PLACE_REPLICATE:
	case KH_PLACE_HOST:
		e->placement = o->on.placement;
		return KH_OK;
	default:
		return kh_fail(err, KH_EUSAGE, "a database of Kraken 2 can be placed by replicate, "
			       "shard and host only");
	}
}

/* --- loading ---------------------------------------------------------------------- */
struct load {
	kh_engine *e;
	/* of each device the next byte of its shard of the table that is to be loaded; the shard */
	struct {
		_Atomic uint64_t next;
		uint64_t from, end;
	} of[KH_DEVICES_MAX];
};

/* A worker's place for two chunks of the file, of which one is read while the other is copied. */
struct slots {
	kh_gpu_buf buf;
	cudaEvent_t done[2];
	cudaStream_t stream;
};

/* Loads chunks until there are none; `i`: which device. */
static int load_chunks(struct load *l, size_t i, struct slots *s, kh_err *err)
{
	const kh_engine *e = l->e;
	uint64_t at;
	int rc = KH_OK;

	for (unsigned k = 0; !rc && (at = atomic_fetch_add(&l->of[i].next, STEP)) < l->of[i].end;
	     k ^= 1) {
		const size_t n = (size_t)(l->of[i].end - at < STEP ? l->of[i].end - at : STEP);
		char *slot = (char *)s->buf.p + (size_t)k * STEP;
		char *to = (char *)e->copy[i].cells.p + (at - l->of[i].from);

		rc = KH_GPU(cudaEventSynchronize(s->done[k]), err);
		if (!rc)
			rc = kh_db_read(e->db, slot, n, KH_K2_HASH_HEAD + at, err);
		if (!rc)
			rc = KH_GPU(cudaMemcpyAsync(to, slot, n, cudaMemcpyHostToDevice, s->stream),
				    err);
		if (!rc)
			rc = KH_GPU(cudaEventRecord(s->done[k], s->stream), err);
	}
	return rc;
}

static int load_worker(void *arg, unsigned worker, kh_err *err)
{
	struct load *l = arg;
	const kh_engine *e = l->e;
	const size_t i = worker % e->n;
	struct slots s = { .stream = NULL };
	int rc = kh_gpu_use(e->copy[i].device, err);

	if (!rc)
		rc = kh_gpu_host_room(&s.buf, 2 * (size_t)STEP, err);
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking), err);
	for (int k = 0; k < 2 && !rc; k++)
		rc = KH_GPU(cudaEventCreateWithFlags(&s.done[k], cudaEventDisableTiming), err);
	if (!rc)
		rc = load_chunks(l, i, &s, err);
	if (s.stream) {
		const int last = KH_GPU(cudaStreamSynchronize(s.stream), rc ? NULL : err);

		rc = rc ? rc : last;
		cudaStreamDestroy(s.stream);
	}
	for (int k = 0; k < 2; k++)
		if (s.done[k])
			cudaEventDestroy(s.done[k]);
	kh_gpu_drop(&s.buf);
	return rc;
}

/* At least one for each device. */
static unsigned load_threads(const kh_engine *e, const kh_engine_options *o)
{
	const unsigned n = (unsigned)e->n, asked = o->on.threads ? o->on.threads : kh_cpus();

	return asked < n ? n : asked < LOAD_THREADS * n ? asked : LOAD_THREADS * n;
}

static int load_table(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	const uint64_t bytes = table_bytes(e->db);
	const uint64_t each = shard_cells(e) * e->db->k2->rule.cell_bytes;
	const double began = kh_seconds();
	struct load l = { .e = e };
	int rc = KH_OK;

	for (size_t i = 0; i < e->n && !rc; i++) {
		const bool sharded = e->placement == KH_PLACE_SHARD;
		const uint64_t from = sharded ? i * each : 0;

		l.of[i].from = from < bytes ? from : bytes;
		l.of[i].next = l.of[i].from;
		l.of[i].end = sharded && from + each < bytes ? from + each : bytes;
		rc = kh_gpu_use(e->copy[i].device, err);
		if (!rc)
			rc = kh_gpu_room_exact(&e->copy[i].cells, l.of[i].end - l.of[i].from + 256,
					       err);
	}
	if (!rc)
		rc = kh_side_by_side(load_threads(e, o), load_worker, &l, err);
	kh_log(KH_DEBUG, "the table, %s, %s over %zu GPUs, was loaded in %.2f s",
	       kh_size_show(bytes).s,
	       e->placement == KH_PLACE_REPLICATE ? "replicated" : "sharded", e->n,
	       kh_seconds() - began);
	return rc;
}

/* --- the rest --------------------------------------------------------------------- */
static int copy_array(kh_gpu_buf *b, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(b, bytes, err);

	return rc ? rc : KH_GPU(cudaMemcpy(b->p, p, bytes, cudaMemcpyHostToDevice), err);
}

static int load_taxa(kh_engine *e, struct kh_cuda_k2_copy *c, kh_err *err)
{
	const kh_k2 *k = e->db->k2;
	const kh_taxonomy *t = e->db->tax;
	int rc = kh_gpu_use(c->device, err);

	if (!rc)
		rc = copy_array(&c->taxon, k->taxon, k->rule.n_nodes * sizeof *k->taxon, err);
	if (!rc)
		rc = copy_array(&c->parent, t->parent, t->n * sizeof *t->parent, err);
	if (!rc)
		rc = copy_array(&c->end, t->end, t->n * sizeof *t->end, err);
	c->q = (kh_gpu_kraken2) { .rule = k->rule,
				  .per_shard = shard_cells(e),
				  .n_shards = 1,
				  .taxon = c->taxon.p,
				  .tree = { .n = t->n, .parent = c->parent.p, .end = c->end.p } };
	if (e->placement == KH_PLACE_SHARD)
		c->q.n_shards = (uint32_t)e->n;
	for (uint32_t i = 0; i < c->q.n_shards; i++)
		c->q.shard[i] = e->placement == KH_PLACE_REPLICATE ? c->cells.p
								  : e->copy[i].cells.p;
	/* copies from pageable memory may be under way still, and queues' streams do not wait */
	return rc ? rc : KH_GPU(cudaDeviceSynchronize(), err);
}

static int load_all(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	int rc = load_table(e, o, err);

	for (size_t i = 0; i < e->n && !rc; i++)
		rc = load_taxa(e, &e->copy[i], err);
	return rc;
}

/* Decides who asks the table. */
static int choose(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	const kh_k2_rule *r = &e->db->k2->rule;

	e->by_host = r->protein || r->quick || kh_k2_window(r) > KH_GPU_K2_WINDOW;
	if (e->by_host) {
		kh_log(KH_INFO, "this run is done on the CPU, as GPUs know neither proteins, nor "
		       "--set quick, nor k-mers with more than %d minimizers to choose from",
		       KH_GPU_K2_WINDOW);
		return KH_OK;
	}
	const int rc = place(e, o, err);

	if (!rc && e->placement == KH_PLACE_HOST) {
		kh_log(KH_INFO, "this run is done on the CPU, as the table stays on the host");
		e->by_host = true;
	}
	return rc;
}

int kh_cuda_k2_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o,
			   kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc = KH_ENOMEM;

	if (!e)
		return rc;
	e->db = db;
	e->distinct = o->features;
	e->n = o->on.choice.n;
	e->copy = kh_array(e->n, sizeof *e->copy, err);
	for (size_t i = 0; e->copy && i < e->n; i++)
		e->copy[i].device = o->on.choice.device[i];
	if (e->copy)
		rc = choose(e, o, err);
	if (!rc && !e->by_host)
		rc = load_all(e, o, err);
	if (rc) {
		kh_cuda_k2_engine_close(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}

void kh_cuda_k2_engine_close(kh_engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; e->copy && i < e->n; i++) {
		cudaSetDevice(e->copy[i].device);
		KH_GPU_DROP(e->copy[i].all);
	}
	free(e->copy);
	free(e);
}
