/*
 * engine_in.h - a database on the devices
 *
 * placement.c says what lies where, load_cuda.c brings it there, engine_cuda.c opens and
 * closes it, query_cuda.c uses it.
 */
#ifndef KH_ENGINE_IN_H
#define KH_ENGINE_IN_H

#include "backend_in.h"
#include "gpu.h"
#include "kernels.h"
#include "shard.h"

/* The database on one device. */
struct kh_cuda_copy {
	int device;
	uint64_t from, to;              /* its share: bytes of the index */
	kh_gpu_buf image, dir, first, taxon, parent, end, species, genus;
	kh_gpu_index ix;
};

/* A device reads its share from the file and checks it.  Sharded, its image is its share;
 * replicated, it is the whole index, and the devices hand each other their shares. */
struct kh_engine {
	const kh_db *db;
	kh_rule rule;
	enum kh_placement placement;    /* none of AUTO and SHARD */
	/* Members are the devices of all ranks; copy[i] is member `member` + i. */
	kh_shards shards;
	unsigned member;
	struct kh_cuda_copy *copy;
	size_t n;
	struct kh_rounds *rounds;       /* exchange_in.h; NULL: devices find all by themselves */
};

/* Sets placement, shards and shares.  Devices are set; they get access to each other. */
int kh_cuda_place(kh_engine *e, const kh_engine_options *o, kh_err *err);
/* The index to the devices, against its checksums. */
int kh_cuda_load(kh_engine *e, kh_err *err);
/* Memory of a device that a lane takes for the usual blocks. */
uint64_t kh_cuda_lane_bytes(const kh_engine *e);

/* Room of the second kernel (kernels.h), of one stream. */
typedef struct kh_cuda_scratch {
	kh_gpu_buf room, list;
	uint32_t n;
} kh_cuda_scratch;

int kh_cuda_scratch_open(kh_cuda_scratch *s, const kh_engine *e, cudaStream_t stream,
			 kh_err *err);
void kh_cuda_scratch_close(kh_cuda_scratch *s);

/* Where byte `at` of the index, of copy c's share or of a replicated index, lies. */
static inline char *kh_cuda_image(const kh_engine *e, const struct kh_cuda_copy *c,
				  uint64_t at)
{
	if (e->placement != KH_PLACE_REPLICATE)
		at -= c->from;
	return (char *)c->image.p + at;
}

#endif
