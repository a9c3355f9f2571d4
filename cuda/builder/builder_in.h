/*
 * builder_in.h - the CUDA builder: builder.c fills it, store.c keeps what it is given, or again.c
 * what that was made of, wave.c and finish_*.c empty it
 *
 * Worker w works on device w mod n. The pairs of a block are split by owner where they are made,
 * and the runs copied to the owners' stores while blocks are still sampled: the exchange costs no
 * time at the end. The owners are then a guess, namely that ranges have nearly the same numbers
 * of pairs; finish_exchange.c corrects it where it was wrong.
 */
#ifndef KH_CUDA_BUILDER_BUILDER_IN_H
#define KH_CUDA_BUILDER_BUILDER_IN_H

#include <pthread.h>
#include "backend/plan.h"
#include "cuda/builder/builder.h"
#include "cuda/gpu/gpu.h"
#include "cuda/kernels/builder.h"
#include "index/pairs.h"
#include "io/spill.h"
#include "base/threads.h"

enum { SLOTS = 2 };
#define CHUNK (UINT64_C(1) << 26)       /* pairs of a chunk of the store, usually */
#define PAIR KH_PLAN_PAIR
/* Bytes of a device that are left for the driver: for kernels when they are first used, and for
 * the rest of pages. */
#define SPARE (UINT64_C(1) << 30)

/* A block that is sampled again: its input as kernels read it. */
struct kh_cuda_kept {
	uint64_t ticket, bound;         /* bound: of pairs */
	uint64_t n_windows;
	uint32_t n_words, n_pieces;
	uint32_t first;                 /* word of its first piece */
	bool plain;                     /* all its bases are known: masks are not kept */
	size_t bytes;                   /* that are kept */
	char *p;                        /* NULL: in the file, at `at` */
	uint64_t at;
	uint32_t count[KH_RANGES];      /* pairs, when it has been sampled first */
};

/* Blocks from .. to - 1 that are sampled at once, and their sums. */
struct kh_cuda_group {
	size_t from, to;
	uint64_t words, windows, bound;
	uint32_t n_pieces;
};

struct kh_cuda_kept_blocks {
	struct kh_cuda_kept **block;
	size_t n, cap;
	struct kh_cuda_group *group;    /* when all are there */
	size_t n_groups;
	struct kh_cuda_arena {
		char *p;
		size_t bytes;
	} *arena;                       /* memory that they lie in */
	char *arena_at;
	size_t n_arenas, cap_arenas, arena_left;
	uint64_t used, end;             /* bytes in memory, in the file */
	kh_spill file;
};

/* Bytes of a slot's buffers, and pairs. */
struct kh_cuda_sizes {
	size_t in, sums, scratch, pairs, split;
};

/* A block under way. */
struct kh_cuda_slot {
	/* in: bases, amb, pieces; sums: the numbers of all pairs and of those of each owner, or,
	 * if it will be sampled again, of each range; key2, bin2: the pairs by owner, if there are
	 * several; back: spilled pairs */
	KH_GPU_BUFS(on_device, din, dsums, scratch, key, bin, key2, bin2, split);
	KH_GPU_BUFS(pinned, in, sums, back);
	cudaEvent_t done;
	uint64_t ticket;
	struct kh_cuda_kept *kept;      /* NULL: its pairs go to the store */
	bool busy;
};

struct kh_cuda_worker {
	int device;
	cudaStream_t stream;
	struct kh_cuda_slot slot[SLOTS];
	unsigned next;
};

struct kh_cuda_chunk {
	kh_gpu_buf key, bin;
	uint64_t cap, used;
};

/* The pairs of a block. */
struct kh_cuda_stored {
	uint64_t ticket, at, n;
	size_t chunk;
};

/* A device, which owns some ranges, and what it has taken; the lock guards its store. */
struct kh_cuda_owner {
	int device;
	kh_gpu_plan plan;               /* how its memory is planned */
	kh_gpu_budget memory;           /* what has been taken of it: plan.limit at most */
	struct kh_cuda_chunk *chunk;
	size_t n_chunks, cap_chunks;
	struct kh_cuda_stored *stored;
	size_t n_stored, cap_stored;
	uint64_t n_pairs, store_bytes;  /* in the chunks; of the chunks */
	kh_gpu_buf slab, pinned;        /* of the slots of its workers */
	size_t slab_at, pinned_at;      /* lent of them */
	unsigned waves;                 /* in which its ranges were made, if not at once */
	unsigned again;                 /* workers that sample blocks again */
	kh_cuda_times times;
};

struct kh_builder {
	kh_builder_options o;
	pthread_mutex_t lock;           /* of the stores, while workers add */
	struct kh_cuda_worker *worker;
	struct kh_cuda_owner *owner;
	unsigned n;                     /* owners */
	kh_gpu_budget pinned;           /* host memory that devices read and write: no limit */
	kh_host_plan host;              /* where spilled pairs go */
	/* under the lock: */
	bool spilling;                  /* from now on pairs go to `store`, or, if `again` */
	bool again;                     /*   is set, which is before the first block, are
					 * made again for each wave */
	struct kh_cuda_kept_blocks kept;
	kh_store *store;                /* tickets times n, plus the owner */
};

/* Where masks and pieces lie in the input of so many words; the bases come first. */
static inline size_t kh_cuda_amb_at(uint64_t words)
{
	return kh_gpu_up((words + 1) * sizeof(uint64_t));
}

static inline size_t kh_cuda_pieces_at(uint64_t words)
{
	return kh_cuda_amb_at(words) + kh_gpu_up((words + 1) * sizeof(uint32_t));
}

/* Sets what a sample whose numbers are set has of the slot: input, scratch, pairs, their number. */
void kh_cuda_slot_sample(const struct kh_cuda_slot *s, kh_gpu_sample *g);
/* Moves the pairs of a slot's block, once they are complete, to the stores of their owners. The
 * first sum is their number. */
int kh_cuda_retire(kh_builder *b, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		   kh_err *err);
/* Moves all that is under way to the stores. */
int kh_cuda_retire_all(kh_builder *b, kh_err *err);
/* Moves all pairs to the store of the host, whose waves are of whole ranges. */
int kh_cuda_spill_all(kh_builder *b, kh_err *err);
/* Frees the chunks of the owner on its device, which must be the current one. */
void kh_cuda_drop_chunks(struct kh_cuda_owner *o);

/* --- memory.c --- */
/* For blocks of the usual size; and the one allocation for all slots of so many workers. */
struct kh_cuda_sizes kh_cuda_usual_sizes(const kh_builder *b);
size_t kh_cuda_slab_bytes(const kh_builder *b, unsigned workers);
/* What the owner may take of its device; one that is named twice is halved. */
int kh_cuda_owner_plan(kh_builder *b, struct kh_cuda_owner *o, unsigned workers, kh_err *err);

/* --- again.c --- */
/* Keeps the slot's input, and notes it in the slot. */
int kh_cuda_keep(kh_builder *b, struct kh_cuda_slot *s, const kh_gpu_sample *g, uint64_t bound,
		 uint64_t ticket, kh_err *err);
void kh_cuda_kept_close(struct kh_cuda_kept_blocks *k);
/* What a slot takes of the device for such a block. */
uint64_t kh_cuda_slot_bytes(const struct kh_cuda_sizes *z);
/* When all blocks have been kept: how many workers sample them again, and what that takes. */
int kh_cuda_plan_again(kh_builder *b, kh_err *err);
void kh_cuda_count_again(const kh_builder *b, uint64_t count[KH_RANGES]);

#endif
