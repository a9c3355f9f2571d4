/*
 * engine_in.h - a database on the devices: load_cuda.c makes it, query_cuda.c uses it
 */
#ifndef KH_ENGINE_IN_H
#define KH_ENGINE_IN_H

#include "backend_in.h"
#include "gpu.h"
#include "kernels.h"

/* The database on one device. */
struct kh_cuda_copy {
	int device;
	kh_gpu_buf image, dir, first, taxon, parent, end, species, genus;
	kh_gpu_index ix;
};

struct kh_engine {
	const kh_db *db;
	kh_rule rule;
	struct kh_cuda_copy *copy;
	size_t n;
};

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

#endif
