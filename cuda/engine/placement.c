/*
 * placement.c - decides where the index lies
 *
 * It is replicated where it fits, because then every look-up stays on its device. Otherwise each
 * device holds a run of ranges and reads the others from the memory of their owners; where
 * devices cannot do that, features are sent to the owner and lists come back. An index that is too
 * large for that, too, lies in the memory of the host, but for what fits on each device.
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include "cuda/engine/rounds.h"
#include "base/mem.h"
#include "base/memory_left.h"
#include "base/threads.h"

/* Bytes of a device that are left besides index and queues: for CUDA itself, and for buffers of
 * queues that grow with long reads. */
#define MARGIN (UINT64_C(512) << 20)

struct room {
	kh_engine *e;
	kh_comm *processes;
	unsigned first, members;        /* devices of the processes before this one; of all */
	bool peers;                     /* the devices of this process read each other's memory */
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

/* Counts the devices of all processes, and of those before this one. */
static int count_members(struct room *r, kh_err *err)
{
	const unsigned processes = kh_comm_size(r->processes), me = kh_comm_self(r->processes);
	uint64_t *n = kh_array(processes, sizeof *n, err);
	int rc = n ? KH_OK : KH_ENOMEM;

	if (!rc)
		n[me] = r->e->n;
	if (!rc && processes > 1)
		rc = kh_comm_sum(r->processes, n, processes, err);
	for (unsigned k = 0; k < processes && !rc; k++) {
		r->first += k < me ? (unsigned)n[k] : 0;
		r->members += (unsigned)n[k];
	}
	free(n);
	if (!rc && r->members > KH_MEMBERS_MAX)
		rc = kh_fail(err, KH_EUSAGE, "the index cannot be in more than %d parts",
			     KH_MEMBERS_MAX);
	return rc;
}

/* An index that is exchanged is cut over the devices of all processes; else each process has it
 * all, cut over its own. */
static void cut_shares(const struct room *r)
{
	kh_engine *e = r->e;
	const bool exchange = e->placement == KH_PLACE_SHARD_EXCHANGE;
	const kh_range *dir = e->db->dir;
	const uint64_t all = kh_cuda_extent(e->db).bytes;
	uint64_t weight[KH_RANGES];

	for (int p = 0; p < KH_RANGES; p++)
		weight[p] = dir[p].n_locs;
	kh_shards_cut(&e->shards, weight, exchange ? r->members : (unsigned)e->n);
	e->member = exchange ? r->first : 0;
	for (size_t i = 0; i < e->n; i++) {
		const uint16_t *range = e->shards.first + e->member + i;
		const unsigned from = range[0], to = range[1];

		e->copy[i].from = from < KH_RANGES ? dir[from].first_bucket * 64 : all;
		e->copy[i].to = to < KH_RANGES ? dir[to].first_bucket * 64 : all;
	}
}

kh_db_extent kh_cuda_extent(const kh_db *db)
{
	const kh_db_extent *x = &db->h->section[KH_SEC_INDEX], *t = &db->h->text;
	const uint64_t at = t->at < x->at ? t->at : x->at;
	const uint64_t end = t->at < x->at ? x->at + x->bytes : t->at + t->bytes;

	return db->text ? (kh_db_extent) { at, end - at } : *x;
}

uint64_t kh_cuda_image_bytes(const kh_engine *e, size_t i)
{
	if (e->placement == KH_PLACE_HOST)
		return e->on_device;
	return e->placement == KH_PLACE_REPLICATE ? kh_cuda_extent(e->db).bytes
						  : e->copy[i].to - e->copy[i].from;
}

int kh_cuda_spare(size_t bytes, kh_err *err)
{
	uint64_t left;
	int rc = kh_gpu_free(&left, err);

	if (!rc && (left < MARGIN || left - MARGIN < bytes))
		rc = kh_fail(err, KH_ENOMEM, "out of GPU memory: %" PRIu64 " bytes are left", left);
	return rc;
}

/* Bytes of a device that look-ups take: of each queue, or of the rounds of all of them. */
static uint64_t scratch(const struct room *r)
{
	if (r->e->db->text)             /* text is compared in what a kernel has */
		return 0;
	return r->e->placement == KH_PLACE_HOST ? kh_rounds_bytes(r->e)
						: r->e->queues * kh_cuda_scratch_bytes(r->e);
}

/* Bytes that device i must have free beside the index; a device may be named more than once:
 * *times. */
static uint64_t needed_beside(const struct room *r, size_t i, uint64_t *times)
{
	const kh_engine *e = r->e;
	const uint64_t small = KH_RANGES * sizeof *e->db->dir +
			       (uint64_t)e->db->bins.n * 12 + (uint64_t)e->db->tax->n * 16;

	*times = 0;
	for (size_t j = 0; j < e->n; j++)
		*times += e->copy[j].device == e->copy[i].device;
	return MARGIN + r->local + *times * (small + e->ahead + scratch(r));
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

/* Translated seeds lie on the devices if there is room for them beside a whole index; else the host
 * looks at them. */
static void place_translated(const struct room *r)
{
	const kh_db *db = r->e->db;
	const uint64_t bytes = kh_gpu_up(db->h->translated.bytes) +
			       kh_gpu_up(db->translated.parts * sizeof *db->translated.part);
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

/* --- an index on the host ------------------------------------------------------------ */
/* The buckets of all ranges, then the lists of all. */
static void find_sections(kh_engine *e)
{
	const kh_range *dir = e->db->dir;

	for (unsigned p = 0; p < KH_RANGES; p++) {
		struct kh_cuda_section *buckets = &e->section[p], *lists = buckets + KH_RANGES;

		buckets->from = dir[p].first_bucket * 64;
		buckets->to = lists->from = dir[p].first_loc * 4;
		lists->to = p + 1 < KH_RANGES ? dir[p + 1].first_bucket * 64
					      : e->db->h->section[KH_SEC_INDEX].bytes;
	}
}

/* Puts as many sections on the devices as `room` bytes of each hold, buckets first: a look-up
 * reads a bucket in any case. */
static void cut_sections(kh_engine *e, uint64_t room)
{
	e->on_device = e->on_host = 0;
	for (unsigned i = 0; i < 2 * KH_RANGES; i++) {
		struct kh_cuda_section *s = &e->section[i];
		const uint64_t bytes = s->to - s->from;

		s->on_host = bytes > room - e->on_device;
		s->at = s->on_host ? e->on_host : e->on_device;
		*(s->on_host ? &e->on_host : &e->on_device) += bytes;
	}
}

static uint64_t bucket_bytes(const kh_engine *e)
{
	uint64_t sum = 0;

	for (unsigned p = 0; p < KH_RANGES; p++)
		sum += e->section[p].to - e->section[p].from;
	return sum;
}

/* Bytes of the index that each device has room for. */
static uint64_t room_for_sections(const struct room *r)
{
	uint64_t least = UINT64_MAX, times;

	for (size_t i = 0; i < r->e->n; i++) {
		const uint64_t beside = needed_beside(r, i, &times);
		const uint64_t left = r->free[i] > beside ? (r->free[i] - beside) / times : 0;

		least = left < least ? left : least;
	}
	return least;
}

/* wish: HOST, HOST_LISTS, or AUTO, as much on the devices as fits. */
static void cut_for_host(const struct room *r, enum kh_placement wish)
{
	kh_engine *e = r->e;

	if (e->db->text) {
		kh_cuda_cut_text_for_host(e, wish == KH_PLACE_HOST         ? 0
					     : wish == KH_PLACE_HOST_LISTS ? kh_cuda_index_room(e)
									   : room_for_sections(r));
		return;
	}
	find_sections(e);
	cut_sections(e, wish == KH_PLACE_HOST	      ? 0
			: wish == KH_PLACE_HOST_LISTS ? bucket_bytes(e)
						      : room_for_sections(r));
}

static bool host_lacks(const struct room *r)
{
	return r->e->placement == KH_PLACE_HOST && r->e->on_host > r->host.bytes;
}

/* The first device on which too little is free; e->n: it fits. */
static size_t too_small(const struct room *r)
{
	size_t i = 0;

	while (i < r->e->n && needed(r, i) <= r->free[i])
		i++;
	return i;
}

/* *can: whether the index can be placed so in all processes. */
static int try(const struct room *r, enum kh_placement placement, enum kh_placement wish, bool *can,
	       kh_err *err)
{
	kh_engine *e = r->e;
	uint64_t cannot;
	int rc = KH_OK;

	e->placement = placement;
	if (e->db->text)
		kh_cuda_cut_text(e);
	else
		cut_shares(r);
	if (placement == KH_PLACE_HOST)
		cut_for_host(r, wish);
	cannot = too_small(r) < e->n || host_lacks(r) ||
		 (placement == KH_PLACE_SHARD_PEER && !r->peers);
	if (kh_comm_size(r->processes) > 1)
		rc = kh_comm_sum(r->processes, &cannot, 1, err);
	*can = cannot == 0;
	return rc;
}

static int refuse(const struct room *r, kh_err *err)
{
	const kh_engine *e = r->e;
	const size_t i = too_small(r);

	if (e->placement == KH_PLACE_SHARD_PEER && !r->peers)
		return kh_fail(err, KH_EDEVICE,
			       "the devices cannot read each other's memory");
	if (host_lacks(r))
		return kh_fail(err, KH_ENOMEM,
			       "the index does not fit: of %" PRIu64 " bytes, %" PRIu64
			       " would lie in host memory, of which %" PRIu64 " are left %s",
			       kh_cuda_extent(e->db).bytes, e->on_host, r->host.bytes,
			       r->host.limit);
	if (i == e->n)
		return kh_fail(err, KH_ENOMEM,
			       "the index does not fit on the devices of another process");
	return kh_fail(err, KH_ENOMEM,
		       "the index does not fit: of %" PRIu64 " bytes, %" PRIu64
		       " would lie on cuda:%d, "
		       "which needs %" PRIu64
		       " with the buffers of its workers and has %" PRIu64 " free%s",
		       kh_cuda_extent(e->db).bytes, kh_cuda_image_bytes(e, i),
		       e->copy[i].device, needed(r, i), r->free[i],
		       r->free[i] == r->limit ? " by --set gpu-memory" : "");
}

/* Text is read at places that no round could know before, so its owner cannot be asked for it. */
static int check_wish(const struct room *r, enum kh_placement want, kh_err *err)
{
	if (!r->e->db->text || want != KH_PLACE_SHARD_EXCHANGE)
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "a database with text cannot be exchanged: GPUs read it "
		       "from each other's memory (--set placement=shard)");
}

/* Takes the first placement that will do.  If parts are asked for and there are several processes,
 * each is to have a part, so that they must be exchanged; but with text each process has it all. */
static int decide(const struct room *r, enum kh_placement want, kh_err *err)
{
	static const enum kh_placement way[] = { KH_PLACE_REPLICATE, KH_PLACE_SHARD_PEER,
						 KH_PLACE_SHARD_EXCHANGE, KH_PLACE_HOST };
	const bool text = r->e->db->text != NULL;
	const bool whole = text || kh_comm_size(r->processes) == 1;
	bool can = false;
	int rc = check_wish(r, want, err);

	for (int i = 0; i < 4 && !rc && !can; i++)
		if ((way[i] == want || want == KH_PLACE_AUTO ||
		     (want == KH_PLACE_HOST_LISTS && i == 3) ||
		     (want == KH_PLACE_SHARD && (i == 2 || (i == 1 && whole)))) &&
		    !(text && way[i] == KH_PLACE_SHARD_EXCHANGE))
			rc = try(r, way[i], want, &can, err);
	if (rc || can)
		return rc;
	r->e->by_host = text && want == KH_PLACE_AUTO;
	if (!r->e->by_host)
		return refuse(r, err);
	kh_log(KH_INFO, "this run is done on the CPU, as GPUs have no room for it");
	return KH_OK;
}

int kh_cuda_place(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	static const char *const how[] = { [KH_PLACE_REPLICATE] = "replicated",
					   [KH_PLACE_HOST] = "on the host",
					   [KH_PLACE_SHARD_PEER] =
						   "sharded, read from peers",
					   [KH_PLACE_SHARD_EXCHANGE] =
						   "sharded, exchanged" };
	struct room r = { .e = e,
			  .processes = o->on.comm,
			  .limit = o->on.memory,
			  .free = kh_array(e->n, sizeof *r.free, err),
			  .host = kh_memory_left_now(o->on.threads) };
	int rc = r.free ? kh_side_by_side((unsigned)e->n, measure, &r, err) : KH_ENOMEM;

	if (!rc)
		rc = kh_gpu_peers(o->on.choice.device, e->n, &r.peers, err);
	if (!rc)
		rc = count_members(&r, err);
	if (!rc && e->db->text && !(rc = kh_gpu_use(e->copy[0].device, err)))
		rc = kh_gpu_check(kh_gpu_query_match_local(&r.local), "size of a kernel", err);
	e->queues = (o->queues + e->n - 1) / e->n;
	e->ahead = e->queues * KH_CUDA_DEPTH *
		   (o->block_size ? o->block_size : KH_CUDA_BLOCK_SIZE);
	if (!rc)
		rc = decide(&r, o->on.placement, err);
	if (!rc && o->translate && !e->by_host)
		place_translated(&r);
	for (size_t i = 0; i < e->n && !rc && !e->by_host; i++)
		kh_log(KH_DEBUG,
		       "index %s: %" PRIu64 " bytes on cuda:%d, where %" PRIu64
		       " were free",
		       how[e->placement], kh_cuda_image_bytes(e, i), e->copy[i].device,
		       r.free[i]);
	if (!rc && e->placement == KH_PLACE_HOST)
		kh_log(KH_DEBUG, "index on the host: %" PRIu64 " bytes in pinned memory, of "
		       "%" PRIu64 " that were left", e->on_host, r.host.bytes);
	free(r.free);
	return rc;
}
