/*
 * backend.h - what an accelerator must do
 *
 * The CPU backend is the specification; every other one gives the same bytes.
 * One table of functions a backend, chosen once; what it opens is opaque.
 */
#ifndef KH_BACKEND_H
#define KH_BACKEND_H

#include "build.h"
#include "classify.h"
#include "comm.h"

/* --- building ----------------------------------------------------------------------- */
typedef struct kh_builder kh_builder;

typedef struct kh_builder_options {
	kh_sketch sketch;
	unsigned threads;               /* workers that call add, numbered from 0 */
	size_t block_size;
	uint64_t memory, gpu_memory;    /* 0: no limit */
	const char *tmp;                /* spilled pairs go to a file beside this one */
	const int *device;              /* numbers of the devices, n_devices of them */
	size_t n_devices;
	kh_comm *comm;                  /* NULL: one rank */
} kh_builder_options;

/* What a build will take. */
typedef struct kh_plan {
	uint64_t need;                  /* bytes to keep and sort so many pairs at once */
	uint64_t have;                  /* bytes that may be used, 0: no limit; beyond it, pairs spill */
} kh_plan;

/*
 * Everything that is known when all references have been read.
 *
 * Of several ranks (kh_builder_options.comm) each has read a stretch of the references, in the
 * order of ranks, and numbers its bins and tickets from 0.  The backend exchanges the pairs: rank
 * r makes the ranges that kh_shards_cut gives it, by the numbers of pairs summed over all
 * ranks, of the pairs of all, ordered as if one rank had read everything: those of rank 0 first.
 * All ranks have the same bins and tax, and the same backend; remap is each rank's own.  A loop
 * that waits for no message looks at kh_comm_check now and then.  Who fails returns; but what
 * others may wait for is closed only when they have been told (kh_comm_fail).
 */
typedef struct kh_finish {
	const kh_bins *bins;
	const kh_taxonomy *tax;
	const kh_remap *remap;          /* NULL: the pairs' bins are final */
	/* Called for the rank's ranges in order (one rank: 0 .. 255), one call at a time; the
	 * image lives for the call. */
	int (*sink)(void *arg, const kh_image *im, kh_err *err);
	void *arg;
	/* NULL, or called when the whole index exists where it is made, before the first range
	 * is handed over; never, if it is made in parts. */
	void (*ready)(void *arg);
} kh_finish;

/* --- classifying ---------------------------------------------------------------------- */
typedef struct kh_engine kh_engine;     /* a database on the devices: shared, immutable */

/* Where the index lies if there are several devices. */
enum kh_placement {
	KH_PLACE_AUTO,                  /* replicated if it fits */
	KH_PLACE_REPLICATE,             /* all of it on each */
	KH_PLACE_SHARD,                 /* a run of ranges on each, whichever way to reach it is faster */
	KH_PLACE_SHARD_PEER,            /* read from the owner's memory */
	KH_PLACE_SHARD_EXCHANGE         /* features travel to the owner, lists come back */
};

typedef struct kh_engine_options {
	const kh_rule *rule;
	const int *device;
	size_t n_devices;
	enum kh_placement placement;
	kh_comm *comm;                  /* NULL: one rank */
	unsigned lanes;                 /* how many will be opened, for which there must be room */
	unsigned depth;                 /* of the backend */
	struct kh_ranks *ranks;         /* for the backend of ranks.h */
} kh_engine_options;
typedef struct kh_lane kh_lane;         /* one worker's share of it */

/* A job as a lane sees it: input, and the room for results. */
typedef struct kh_task {
	const kh_job *job;
	kh_call *call;                  /* job->n of them */
	kh_sketches *sketches;          /* or NULL: no feature counts wanted */
} kh_task;

typedef struct kh_backend {
	const char *name;
	size_t block_size;              /* bytes of text a block that suit it, 0: any; */
	size_t far_block_size;          /*   where jobs go through rounds of several devices or ranks */
	bool loads;                     /* engine_open reads the index from the file: it checks one
	                                 * that kh_db_open left unchecked */
	int (*n_devices)(kh_err *why);  /* 0: cannot be used here, and why, if more is known */

	int (*builder_open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	kh_plan (*builder_plan)(const kh_builder *b, uint64_t pairs);
	/* Any worker, any order of tickets; all of s may be reused when it returns. */
	int (*builder_add)(kh_builder *b, unsigned worker, const kh_sample *s, kh_err *err);
	/* NULL: the host makes the digests of pieces (kh_digest).  Else builder_add does, and
	 * this adds them up by sequence, when all blocks have been added. */
	int (*builder_digests)(kh_builder *b, uint64_t *digest, kh_err *err);
	int (*builder_finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*builder_close)(kh_builder *b);

	int (*engine_open)(kh_engine **e, const kh_db *db, const kh_engine_options *o, kh_err *err);
	/* NULL, or called when all tasks have been collected: adds the features counted that
	 * no task has given yet; sk is NULL if they are not wanted. */
	int (*engine_end)(kh_engine *e, kh_sketches *sk, kh_err *err);
	void (*engine_close)(kh_engine *e);
	/* block_size: bytes of text of the blocks to come, as far as known. */
	int (*lane_open)(kh_lane **l, kh_engine *e, unsigned worker, size_t block_size, kh_err *err);
	void (*lane_close)(kh_lane *l);
	/* submit takes a task and may return before it is done; collect gives tasks back in
	 * the order of submit (NULL: none is left).  At most `depth` tasks may be under way. */
	unsigned depth;
	int (*submit)(kh_lane *l, kh_task *t, kh_err *err);
	int (*collect)(kh_lane *l, kh_task **t, kh_err *err);
} kh_backend;

extern const kh_backend kh_backend_cpu;
extern const kh_backend kh_backend_cuda;        /* only if HAVE_CUDA */

/* A choice of --device: "auto", "cpu", "cuda" or "cuda:0,2". */
#define KH_DEVICES_MAX 64
typedef struct kh_choice {
	const kh_backend *backend;
	int device[KH_DEVICES_MAX];
	size_t n;
} kh_choice;

/* auto takes the CPU, and logs that, if a GPU could have been used but none is there. */
int kh_backend_choose(kh_choice *c, const char *spec, kh_err *err);

#endif
