/*
 * engine_in.h - a database on the devices
 *
 * placement.c decides where the index lies, with tiles.c, load.c loads it, engine.c opens and
 * closes it, and queue.c uses it, with stage.c.
 *
 * Example: of 12 GB of index and text, each of four devices reads a share of 3 GB from the file.
 * Sharded, it keeps that alone; replicated, it copies its share to the other three, and has 12 GB.
 */
#ifndef KH_CUDA_ENGINE_ENGINE_IN_H
#define KH_CUDA_ENGINE_ENGINE_IN_H

#include "classify/match.h"
#include "cuda/engine/batch.h"
#include "cuda/engine/engine.h"
#include "cuda/engine/stage.h"
#include "cuda/kernels/gpu.h"
#include "cuda/kernels/engine.h"

/* A database, or one of several that are used as one, and where its index and its text begin among
 * the bytes that devices have. */
typedef struct kh_cuda_file {
	const kh_db *db;
	uint32_t first_bin;             /* what its bin 0 is */
	uint64_t index, text;
} kh_cuda_file;

/* Some of the bytes that devices have. */
typedef struct kh_cuda_run {
	uint64_t from, to;
} kh_cuda_run;

/* The database on one device. */
struct kh_cuda_copy {
	int device;
	uint64_t from, to;              /* its share of the bytes */
	KH_GPU_BUFS(all, image, dir, volume, first, guess, taxon, species_row, parent, end,
		    species, genus, stretch, strains, tile, seeds, translated_stretch);
	kh_match_db db;
	kh_batches *batches;
	kh_gpu_translated translated;
};

/* A device reads its share of index and text from the file and checks it.  Sharded, its image is
 * its share.  Replicated, its image is the whole, as the devices copy their shares to each other.
 * With some of it on the host, its image has what is on all devices, and one pinned buffer has the
 * rest, which all devices read over the bus. */
struct kh_engine {
	const kh_db *db;
	kh_cuda_file *file;             /* n_files */
	unsigned n_files;
	/* that devices have: indices first, and then texts.  Of one database all from the first
	 * byte of its index, or text, to the last one; of several, texts lie from the first one on
	 * as db/join.h numbers their bins */
	uint64_t bytes, index_bytes;
	kh_rule rule;
	enum kh_placement placement;    /* as it was decided: REPLICATE, HOST, SHARD */
	struct kh_cuda_copy *copy;
	size_t n;
	uint64_t ahead;                 /* bytes of reads under way on a device */
	/* what lies on all devices, and what on the host, if some does */
	kh_cuda_run on_device, on_host;
	char *host;                     /* the latter, read by devices when it is ... */
	bool pinned;
	bool by_host;                   /* no device has room for it */
	uint64_t input;                 /* bytes of files with reads to come, as far as known */
	bool features;                  /* tasks will want those that are found */
	uint64_t translated;            /* bytes of translated seeds on each device; 0: none are */
};

static inline uint64_t kh_cuda_host_bytes(const kh_engine *e)
{
	return e->on_host.to - e->on_host.from;
}

/* Chunks that a launch has room for, if some of the database lies on the host; else 0. Few reads
 * under way want few. */
static inline uint32_t kh_cuda_fetched(const kh_engine *e)
{
	const uint64_t n = e->ahead / 16;

	if (e->placement != KH_PLACE_HOST)
		return 0;
	return n < KH_TUNE_FETCHED ? (uint32_t)n : KH_TUNE_FETCHED;
}

/* The bytes of one file that devices have. */
kh_db_extent kh_cuda_extent(const kh_db *db);
/* Sets e->file, and where its bytes lie. */
int kh_cuda_files(kh_engine *e, kh_err *err);
/* Sets placement and shares. The devices must be set; they get access to each other. */
int kh_cuda_place(kh_engine *e, const kh_engine_options *o, kh_err *err);

/* --- tiles.c --- */
/* Sets the shares of devices, by e->placement. */
void kh_cuda_cut_text(kh_engine *e);
/* Puts as much on all devices as so many bytes of each hold, from the index on, which each look-up
 * reads, and the rest on the host. */
void kh_cuda_cut_text_for_host(kh_engine *e, uint64_t room);
/* Bytes that hold the indices. */
uint64_t kh_cuda_index_room(const kh_engine *e);
/* How many tiles there are; and from where bytes count for device c in one of them, when all has
 * been loaded, and not to each device. */
uint64_t kh_cuda_tiles(const kh_engine *e);
uint64_t kh_cuda_tile(const kh_engine *e, const struct kh_cuda_copy *c, uint64_t tile);

/* Bytes of it that lie on device i. */
uint64_t kh_cuda_image_bytes(const kh_engine *e, size_t i);
/* May the current device give bytes that a run can do without, so that queues still have what
 * kh_cuda_place has left for them?  KH_ENOMEM: no. */
int kh_cuda_spare(size_t bytes, kh_err *err);
/* Loads it to the devices and compares its checksums; threads 0: as many as there are CPUs. */
int kh_cuda_load(kh_engine *e, unsigned threads, kh_err *err);
/* What lies on the host is given back; no device may read it any more. */
void kh_cuda_unpin(kh_engine *e);

/* Memory of a device in which the kernels of its queues count: a bank of a census, or of
 * counters. */
typedef struct kh_cuda_bank {
	int device;
	cudaStream_t stream;
	kh_gpu_buf room;                /* zero at first */
	kh_gpu_buf host;                /* pinned: for what is read of it */
} kh_cuda_bank;

/* One for each device, of so many bytes there and on the host.  *p becomes NULL where there is no
 * room for them, or no way. */
int kh_cuda_banks_open(kh_cuda_bank **p, const kh_engine *e, size_t bytes, size_t host,
		       kh_err *err);
void kh_cuda_banks_close(kh_cuda_bank *p, size_t n);
/* From the bank to the host, or from the host to the bank, whose device is the current one;
 * waits. */
int kh_cuda_bank_copy(const kh_cuda_bank *p, void *to, const void *from, size_t bytes, kh_err *err);

/* The census in which a task of this worker counts, for the kernels. */
kh_gpu_census kh_cuda_census_of(const kh_census *c, unsigned worker);

/* The same of the counters. */
kh_gpu_counters kh_cuda_counters_of(const kh_counters *c, unsigned worker);

/* What a queue does on the host: jobs that the kernels cannot take, and fragments that they have
 * left, whose calls have the taxon KH_GPU_CALL_LEFT. */
typedef struct kh_cuda_host {
	kh_matcher *matcher;            /* NULL until it is needed */
} kh_cuda_host;

int kh_cuda_host_task(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err);
int kh_cuda_host_left(kh_cuda_host *h, const kh_engine *e, kh_task *t, kh_err *err);
void kh_cuda_host_close(kh_cuda_host *h);

/* Where byte `at` of them, of copy c's share or of all, lies. */
static inline char *kh_cuda_image(const kh_engine *e, const struct kh_cuda_copy *c,
				  uint64_t at)
{
	if (e->placement != KH_PLACE_REPLICATE)
		at -= c->from;
	return (char *)c->image.p + at;
}

#endif
