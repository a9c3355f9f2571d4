/*
 * builder_in.h - the CUDA builder: build_cuda.c fills it, build_store.c keeps what it is given,
 * finish_*.c empty it
 */
#ifndef KH_BUILDER_IN_H
#define KH_BUILDER_IN_H

#include "backend_in.h"
#include "gpu.h"
#include "kernels.h"
#include "pairs.h"
#include "pipeline.h"

enum { SLOTS = 2 };
#define CHUNK (UINT64_C(1) << 26)       /* pairs of a chunk of the store, at least */
#define PAIR 12                         /* bytes */
#define SPARE (UINT64_C(1) << 30)       /* bytes left for what is small */

struct kh_cuda_digest {
	uint64_t seq, sum;
};

/* A block under way. */
struct kh_cuda_slot {
	kh_gpu_buf in;                  /* pinned: bases, amb, pieces */
	kh_gpu_buf din, room, key, bin;
	kh_gpu_buf back;                /* pinned: spilled pairs */
	kh_gpu_buf sums, dsums; /* the number of pairs, digests of pieces; sums: pinned */
	uint64_t *seq;                  /* of the pieces */
	size_t n_pieces, cap_seq;
	cudaEvent_t done;
	uint64_t ticket;
	bool busy;
};

struct kh_cuda_worker {
	cudaStream_t stream;
	struct kh_cuda_slot slot[SLOTS];
	unsigned next;
	struct kh_cuda_digest *digest;          /* of pieces that are done */
	size_t n_digests, cap_digests;
};

struct kh_cuda_chunk {
	kh_gpu_buf key, bin;
	uint64_t cap, used;
};

/* The pairs of a block. */
struct kh_cuda_part {
	uint64_t ticket, at, n;
	size_t chunk;
};

struct kh_builder {
	kh_builder_options o;
	int device;
	uint64_t budget; /* bytes of device memory for pairs and their work */
	kh_monitor *m;
	struct kh_cuda_worker *worker;
	/* under the lock: */
	struct kh_cuda_chunk *chunk;
	size_t n_chunks, cap_chunks;
	struct kh_cuda_part *part;
	size_t n_parts, cap_parts;
	uint64_t n_pairs;               /* in the chunks */
	bool spilling;
	kh_store *store;
	kh_cuda_times times;
};

/* The pairs of a slot's block are complete, or soon will be: to the store. */
int kh_cuda_retire(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		   kh_err *err);
/* What is under way joins the store. */
int kh_cuda_retire_all(kh_builder *b, kh_err *err);
/* All pairs to the host's store: what is there must be in one order. */
int kh_cuda_spill_all(kh_builder *b, kh_err *err);
void kh_cuda_drop_chunks(kh_builder *b);

#endif
