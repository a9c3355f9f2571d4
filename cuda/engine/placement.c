/*
 * placement.c - decides where index and text lie
 *
 * They are replicated where they fit, because then every look-up stays on its device. Otherwise
 * each device holds a run of their tiles and reads the others from the memory of their owners. If
 * devices cannot do that, or have no room for it, the host does the run; on demand, devices read
 * what they have no room for in its memory (tiles.c).
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include "cuda/engine/engine_in.h"
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/size.h"
#include "base/threads.h"
#include "db/join.h"

/* Bytes of a device that are left beside the database and queues: for CUDA itself, and for buffers
 * of queues that grow with long reads. */
#define MARGIN (UINT64_C(512) << 20)

struct room {
	kh_engine *e;
	bool peers;                     /* the devices read each other's memory */
	uint64_t limit;                 /* bytes of a device that may be taken; 0: all free */
	uint64_t *free;                 /* bytes of each device that are free and may be taken */
	uint64_t local;                 /* bytes of a device that threads which compare text take */
	kh_memory_left host;            /* in the host's memory */
};

/* The first use of a device takes a while, so each device has a thread that waits for it. */
static int measure(void *arg, unsigned i, kh_err *err)
{
	struct room *r = arg;
	int rc = kh_gpu_use(r->e->copy[i].device, err);

	if (!rc)
		rc = kh_gpu_free(&r->free[i], err);
	if (r->limit && r->free[i] > r->limit)
		r->free[i] = r->limit;
	return rc;
}

kh_db_extent kh_cuda_extent(const kh_db *db)
{
	const kh_db_extent *x = &db->h->section[KH_SEC_INDEX], *t = &db->h->section[KH_SEC_TEXT];
	const uint64_t at = t->at < x->at ? t->at : x->at;
	const uint64_t end = t->at < x->at ? x->at + x->bytes : t->at + t->bytes;

	return (kh_db_extent) { at, end - at };
}

static void place_one(kh_engine *e)
{
	const kh_db_extent all = kh_cuda_extent(e->db);
	const kh_db_extent *section = e->db->h->section;

	*e->file = (kh_cuda_file) { e->db, 0, section[KH_SEC_INDEX].at - all.at,
				    section[KH_SEC_TEXT].at - all.at };
	e->index_bytes = section[KH_SEC_INDEX].bytes;
	e->bytes = all.bytes;
}

static void place_several(kh_engine *e)
{
	const kh_joined *j = e->db->joined;
	const uint64_t bin_bytes = e->db->h->sampling.stride / KH_TEXT_WORD * sizeof *e->db->text;

	for (unsigned i = 0; i < j->n; i++) {
		e->file[i] = (kh_cuda_file) { j->volume[i], j->first_bin[i], e->bytes, 0 };
		e->bytes += j->volume[i]->h->section[KH_SEC_INDEX].bytes;
		e->bytes = (e->bytes + KH_DB_PAGE - 1) / KH_DB_PAGE * KH_DB_PAGE;
	}
	e->index_bytes = e->bytes;
	for (unsigned i = 0; i < j->n; i++) {
		e->file[i].text = e->index_bytes + j->first_bin[i] * bin_bytes;
		e->bytes = e->file[i].text + j->volume[i]->h->section[KH_SEC_TEXT].bytes;
	}
}

int kh_cuda_files(kh_engine *e, kh_err *err)
{
	e->n_files = kh_db_volumes(e->db);
	e->file = kh_array(e->n_files, sizeof *e->file, err);
	if (!e->file)
		return KH_ENOMEM;
	if (e->db->joined)
		place_several(e);
	else
		place_one(e);
	return KH_OK;
}

uint64_t kh_cuda_image_bytes(const kh_engine *e, size_t i)
{
	if (e->placement == KH_PLACE_HOST)
		return e->on_device.to - e->on_device.from;
	return e->placement == KH_PLACE_REPLICATE ? e->bytes
						  : e->copy[i].to - e->copy[i].from;
}

int kh_cuda_spare(size_t bytes, kh_err *err)
{
	uint64_t left;
	int rc = kh_gpu_free(&left, err);

	if (!rc && (left < MARGIN || left - MARGIN < bytes))
		rc = kh_fail(err, KH_ENOMEM, "out of GPU memory: %s are left",
			     kh_size_show(left).s);
	return rc;
}

/* Bytes that device i must have free beside index and text; a device may be named more than once:
 * *times. */
static uint64_t needed_beside(const struct room *r, size_t i, uint64_t *times)
{
	const kh_engine *e = r->e;
	const uint64_t small = e->n_files * KH_RANGES * sizeof *e->db->seeds.dir +
			       (uint64_t)e->db->n_kept * 16 + (uint64_t)e->db->tax->n * 16;

	*times = 0;
	for (size_t j = 0; j < e->n; j++)
		*times += e->copy[j].device == e->copy[i].device;
	return MARGIN + r->local +
	       *times * (small + e->ahead + kh_batches_bytes(kh_cuda_fetched(e)));
}

static uint64_t needed(const struct room *r, size_t i)
{
	const kh_engine *e = r->e;
	uint64_t times, sum = needed_beside(r, i, &times);

	for (size_t j = 0; j < e->n; j++)
		if (e->copy[j].device == e->copy[i].device)
			sum += kh_cuda_image_bytes(e, j);
	return sum;
}

/* Translated seeds lie on the devices if there is room for them beside all the rest; else the host
 * looks at them. */
static void place_translated(const struct room *r)
{
	const kh_db *db = r->e->db;
	const uint64_t bytes = kh_gpu_up(db->h->section[KH_SEC_TRANSLATED].bytes) +
			       kh_gpu_up(db->translated.n_stretches *
					 sizeof *db->translated.stretch);
	bool fits = r->e->placement == KH_PLACE_REPLICATE;
	uint64_t times;

	for (size_t i = 0; i < r->e->n && fits; i++) {
		needed_beside(r, i, &times);
		fits = needed(r, i) + times * bytes <= r->free[i];
	}
	r->e->translated = fits ? bytes : 0;
	if (!fits)
		kh_log(KH_DEBUG, "translated seeds are looked at by the host");
}

/* --- on the host --------------------------------------------------------------------- */
/* Bytes of index and text that each device has room for. */
static uint64_t room_beside(const struct room *r)
{
	uint64_t least = UINT64_MAX, times;

	for (size_t i = 0; i < r->e->n; i++) {
		const uint64_t beside = needed_beside(r, i, &times);
		const uint64_t left = r->free[i] > beside ? (r->free[i] - beside) / times : 0;

		least = left < least ? left : least;
	}
	return least;
}

/* wish: HOST, HOST_LISTS: the index on the devices, the text on the host, or AUTO: as much on the
 * devices as fits. */
static void cut_for_host(const struct room *r, enum kh_placement wish)
{
	kh_cuda_cut_text_for_host(r->e, wish == KH_PLACE_HOST         ? 0
				       : wish == KH_PLACE_HOST_LISTS ? kh_cuda_index_room(r->e)
								     : room_beside(r));
}

static bool host_lacks(const struct room *r)
{
	return r->e->placement == KH_PLACE_HOST && kh_cuda_host_bytes(r->e) > r->host.bytes;
}

/* The first device on which too little is free; e->n: it fits. */
static size_t too_small(const struct room *r)
{
	size_t i = 0;

	while (i < r->e->n && needed(r, i) <= r->free[i])
		i++;
	return i;
}

/* Can it be placed so? */
static bool try(const struct room *r, enum kh_placement placement, enum kh_placement wish)
{
	kh_engine *e = r->e;

	e->placement = placement;
	kh_cuda_cut_text(e);
	if (placement == KH_PLACE_HOST)
		cut_for_host(r, wish);
	return too_small(r) == e->n && !host_lacks(r) &&
	       (placement != KH_PLACE_SHARD || r->peers);
}

static int refuse(const struct room *r, kh_err *err)
{
	const kh_engine *e = r->e;
	const size_t i = too_small(r);

	if (e->placement == KH_PLACE_SHARD && !r->peers)
		return kh_fail(err, KH_EDEVICE,
			       "the devices cannot read each other's memory");
	if (host_lacks(r))
		return kh_fail(err, KH_ENOMEM,
			       "the index does not fit: of %s, %s would lie in host memory, of "
			       "which %s are left %s", kh_size_show(e->bytes).s,
			       kh_size_show(kh_cuda_host_bytes(e)).s,
			       kh_size_show(r->host.bytes).s, r->host.limit);
	/* bytes, as one may give so many to --set gpu-memory */
	return kh_fail(err, KH_ENOMEM,
		       "the index does not fit: of %s, %s would lie on cuda:%d, which needs "
		       "%" PRIu64 " bytes with the buffers of its workers and has %" PRIu64
		       " free%s",
		       kh_size_show(e->bytes).s, kh_size_show(kh_cuda_image_bytes(e, i)).s,
		       e->copy[i].device, needed(r, i), r->free[i],
		       r->free[i] == r->limit ? " by --set gpu-memory" : "");
}

/* Takes the first placement that will do. */
static int decide(const struct room *r, enum kh_placement want, kh_err *err)
{
	static const enum kh_placement way[] = { KH_PLACE_REPLICATE, KH_PLACE_SHARD,
						 KH_PLACE_HOST };

	for (int i = 0; i < 3; i++)
		if ((way[i] == want || want == KH_PLACE_AUTO ||
		     (want == KH_PLACE_HOST_LISTS && way[i] == KH_PLACE_HOST)) &&
		    try(r, way[i], want))
			return KH_OK;
	r->e->by_host = want == KH_PLACE_AUTO;
	if (!r->e->by_host)
		return refuse(r, err);
	kh_log(KH_INFO, "this run is done on the CPU, as GPUs have no room for it");
	return KH_OK;
}

int kh_cuda_place(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	static const char *const how[] = { [KH_PLACE_REPLICATE] = "replicated",
					   [KH_PLACE_HOST] = "on the host",
					   [KH_PLACE_SHARD] = "sharded" };
	struct room r = { .e = e,
			  .limit = o->on.memory,
			  .free = kh_array(e->n, sizeof *r.free, err),
			  .host = kh_memory_left_now(o->on.threads) };
	int rc = r.free ? kh_side_by_side((unsigned)e->n, measure, &r, err) : KH_ENOMEM;

	if (!rc)
		rc = kh_gpu_peers(o->on.choice.device, e->n, &r.peers, err);
	for (size_t i = e->n; i-- > 0 && !rc;)
		if (!(rc = kh_gpu_use(e->copy[i].device, err)))
			rc = kh_gpu_check(kh_gpu_query_match_prepare(&r.local), "size of a kernel",
					  err);
	e->ahead = (o->queues + e->n - 1) / e->n * KH_CUDA_DEPTH *
		   ((o->block_size ? o->block_size : KH_CUDA_BLOCK_SIZE) +
		    (e->n > 1 ? kh_cuda_lay_out_usual().bytes : 0));
	if (kh_db_is_thin(e->db->h)) {
		kh_log(KH_INFO, "this run is done on the CPU, as the database has no text");
		e->by_host = true;
	} else if (!rc) {
		rc = decide(&r, o->on.placement, err);
	}
	if (!rc && o->translate && !e->by_host)
		place_translated(&r);
	for (size_t i = 0; i < e->n && !rc && !e->by_host; i++)
		kh_log(KH_DEBUG,
		       "index %s: %s on cuda:%d, where %s were free",
		       how[e->placement], kh_size_show(kh_cuda_image_bytes(e, i)).s,
		       e->copy[i].device, kh_size_show(r.free[i]).s);
	if (!rc && e->placement == KH_PLACE_HOST)
		kh_log(KH_DEBUG, "index on the host: %s in pinned memory, of %s that were left",
		       kh_size_show(kh_cuda_host_bytes(e)).s, kh_size_show(r.host.bytes).s);
	free(r.free);
	return rc;
}
