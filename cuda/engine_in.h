/* engine_in.h - a database on the devices: load_cuda.c makes it, query_cuda.c uses it */
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

#endif
