/*
 * engine_in.h - a database on the devices
 *
 * placement.c decides where the index lies, with tiles.c, load.c loads it, engine.c opens and
 * closes it, and queue.c uses it, with stage.c and scratch.c.
 */
#ifndef KH_CUDA_ENGINE_ENGINE_IN_H
#define KH_CUDA_ENGINE_ENGINE_IN_H

#include "classify/match.h"
#include "cuda/engine/batch.h"
#include "cuda/engine/engine.h"
#include "cuda/engine/stage.h"
#include "cuda/gpu/gpu.h"
#include "cuda/kernels/engine.h"
#include "index/shard.h"

/* The database on one device. */
struct kh_cuda_copy {
	int device;
	uint64_t from, to;              /* its share, as bytes of the index */
	KH_GPU_BUFS(all, image, dir, first, guess, taxon, target_species, parent, end, species,
		    genus, stretch, strains, tile, seeds, seed_part);
	kh_gpu_index ix;
	kh_match_db text;               /* of a database with text, as are: */
	kh_batches *batches;
	kh_gpu_translated translated;
};

/* The buckets of a range, or its lists; or, of a database with text, what lies on devices, or on
 * the host: bytes of the index, and where they lie. */
struct kh_cuda_section {
	uint64_t from, to;
	bool on_host;
	uint64_t at;                    /* in the image of a device, or in the host's part */
};

/* A device reads its share from the file and checks it.  Sharded, its image is its share;
 * replicated, it is the whole index, and the devices copy their shares to each other.  Of an index
 * on the host, an image has the sections that are on all devices, and one pinned buffer the rest,
 * which all devices read over the bus. */
struct kh_engine {
	const kh_db *db;
	kh_rule rule;
	enum kh_placement placement;    /* as it was decided: REPLICATE, HOST, SHARD_... */
	/* Members are the devices of all processes; copy[i] is member `member` + i. */
	kh_shards shards;
	unsigned member;
	struct kh_cuda_copy *copy;
	size_t n;
	/* of each device: queues, and bytes of text in the tasks that they have under way */
	uint64_t queues, ahead;
	/* of an index on the host: its sections, and how much of them lies where */
	struct kh_cuda_section section[2 * KH_RANGES];
	uint64_t on_device, on_host;
	char *host;                     /* on_host bytes, read by devices when they are ... */
	bool pinned;
	struct kh_rounds *rounds;       /* rounds.h; NULL: queues read the index themselves */
	bool by_host;                   /* a database with text that no device has room for */
	uint64_t translated;            /* bytes of translated seeds on each device; 0: none are */
};

/* The bytes of the file that devices have: the index; with text, all from the first byte of index
 * or text to the last one. */
kh_db_extent kh_cuda_extent(const kh_db *db);
/* Sets placement, shards and shares. The devices must be set; they get access to each other. */
int kh_cuda_place(kh_engine *e, const kh_engine_options *o, kh_err *err);

/* Of a database with text (tiles.c).  Sets the shares of devices, by e->placement. */
void kh_cuda_cut_text(kh_engine *e);
/* Puts as much on all devices as so many bytes of each hold, from the index on, which each look-up
 * reads, and the rest on the host: section[0] and section[1]. */
void kh_cuda_cut_text_for_host(kh_engine *e, uint64_t room);
/* Bytes that hold its index. */
uint64_t kh_cuda_index_room(const kh_engine *e);
/* How many tiles it has; and from where bytes count for device c in one of them, when all of it has
 * been loaded, and not to each device. */
uint64_t kh_cuda_tiles(const kh_engine *e);
uint64_t kh_cuda_tile(const kh_engine *e, const struct kh_cuda_copy *c, uint64_t tile);

/* Bytes of the index that lie on device i. */
uint64_t kh_cuda_image_bytes(const kh_engine *e, size_t i);
/* May the current device give bytes that a run can do without, so that queues still have what
 * kh_cuda_place has left for them?  KH_ENOMEM: no. */
int kh_cuda_spare(size_t bytes, kh_err *err);
/* Loads the index to the devices and compares its checksums; threads 0: as many as there are
 * CPUs. */
int kh_cuda_load(kh_engine *e, unsigned threads, kh_err *err);
/* What lies on the host is given back; no device may read it any more. */
void kh_cuda_unpin(kh_engine *e);
/* Bytes of device memory of the scratch of a queue, or of a round. */
uint64_t kh_cuda_scratch_bytes(const kh_engine *e);

/* Scratch of the kernel of blocks (classify_block.cu), for one stream. */
typedef struct kh_cuda_scratch {
	KH_GPU_BUFS(all, room, list);
	uint32_t n;
} kh_cuda_scratch;

int kh_cuda_scratch_open(kh_cuda_scratch *s, const kh_engine *e, cudaStream_t stream,
			 kh_err *err);
void kh_cuda_scratch_close(kh_cuda_scratch *s);

/* Memory of a device that the kernels of its queues count in: a part of a census, or of
 * counters. */
typedef struct kh_cuda_part {
	int device;
	cudaStream_t stream;
	kh_gpu_buf room;                /* zero at first */
	kh_gpu_buf host;                /* pinned: for what is read of it */
} kh_cuda_part;

/* One for each device, of so many bytes there and on the host.  *p becomes NULL where there is no
 * room for them, or no way. */
int kh_cuda_parts_open(kh_cuda_part **p, const kh_engine *e, size_t bytes, size_t host,
		       kh_err *err);
void kh_cuda_parts_close(kh_cuda_part *p, size_t n);
/* From the part to the host, or from the host to the part, whose device is the current one;
 * waits. */
int kh_cuda_part_copy(const kh_cuda_part *p, void *to, const void *from, size_t bytes, kh_err *err);

/* What the kernels have of the census that a task of this worker counts in. */
kh_gpu_census kh_cuda_census_of(const kh_census *c, unsigned worker);

/* The same of the counters. */
kh_gpu_counters kh_cuda_counters_of(const kh_counters *c, unsigned worker);

/* Memory on a device for what the kernels of a task leave for one another. */
typedef struct kh_cuda_between {
	KH_GPU_BUFS(all, fragments, slices, notes);
} kh_cuda_between;

int kh_cuda_between_room(kh_cuda_between *b, const kh_cuda_layout *l, size_t n, kh_err *err);
void kh_cuda_between_drop(kh_cuda_between *b);
/* Sets the members `crowded` to `cap_notes` of q, whose input has been set. */
void kh_cuda_query_between(kh_gpu_query *q, const kh_cuda_between *b);

/* What a queue does on the host: jobs that the kernels cannot take, and fragments that they have
 * left, whose calls have the taxon KH_GPU_CALL_LEFT. */
typedef struct kh_cuda_host {
	kh_classifier *classifier;
	kh_matcher *matcher;            /* of a database with text */
} kh_cuda_host;

int kh_cuda_host_job(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err);
int kh_cuda_host_left(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err);
void kh_cuda_host_close(kh_cuda_host *h);

/* Where byte `at` of the index, of copy c's share or of a replicated index, lies. */
static inline char *kh_cuda_image(const kh_engine *e, const struct kh_cuda_copy *c,
				  uint64_t at)
{
	if (e->placement != KH_PLACE_REPLICATE)
		at -= c->from;
	return (char *)c->image.p + at;
}

#endif
