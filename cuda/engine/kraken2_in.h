/*
 * kraken2_in.h - a database of Kraken 2 on the devices: kraken2.c loads it, kraken2_queue.c uses
 * it
 */
#ifndef KH_CUDA_ENGINE_KRAKEN2_IN_H
#define KH_CUDA_ENGINE_KRAKEN2_IN_H

#include "cuda/engine/kraken2.h"
#include "cuda/kernels/gpu.h"
#include "cuda/kernels/kraken2.h"

/* What a device has of it. */
struct kh_cuda_k2_copy {
	int device;
	KH_GPU_BUFS(all, cells, taxon, parent, end);
	kh_gpu_kraken2 q;               /* the database, as the kernel is given it */
};

struct kh_engine {
	const kh_db *db;
	enum kh_placement placement;    /* as it was decided: REPLICATE, HOST or SHARD */
	bool by_host;                   /* HOST, or the kernel does not know such a database */
	bool distinct;                  /* tasks want minimizers counted, which the host does */
	struct kh_cuda_k2_copy *copy;
	size_t n;
};

#endif
