/*
 * backend.h - what an accelerator must do
 *
 * The CPU backend is the specification; every other one gives the same bytes.
 * One table of functions a backend, chosen once; what it opens is opaque.
 */
#ifndef KH_BACKEND_H
#define KH_BACKEND_H

#include "backend/sample.h"
#include "classify/classify.h"
#include "comm/comm.h"
#include "index/bins.h"

/* --- building ----------------------------------------------------------------------- */
typedef struct kh_builder kh_builder;

typedef struct kh_builder_options {
	kh_sampling sampling;
	unsigned threads;               /* workers that call add, numbered from 0 */
	size_t block_size;
	uint64_t memory, gpu_memory;    /* 0: no limit */
	const char *tmp;                /* spilled pairs go to a file beside this one */
	const int *device;              /* numbers of the devices, n_devices of them */
	size_t n_devices;
	kh_comm *comm;                  /* NULL: one process */
} kh_builder_options;

/* What a build will take. */
typedef struct kh_plan {
	uint64_t need;                  /* bytes to keep and sort so many pairs at once */
	uint64_t have;                  /* bytes that may be used for that, 0: no limit is known */
	uint64_t spilled;               /* bytes of pairs that go elsewhere, as need > have: */
	const char *to;                 /*   there */
} kh_plan;

/*
 * Everything that is known when all references have been read.
 *
 * Of several processes (kh_builder_options.comm) each has read a stretch of the references, in the
 * order of processes, and numbers its bins and tickets from 0.  The backend exchanges the
 * pairs: process r makes the ranges that kh_shards_cut gives it, by the numbers of pairs summed
 * over all processes, of the pairs of all, ordered as if one process had read everything: those
 * of process 0 first. All processes have the same bins and tax, and the same backend; remap is
 * each process's own.  A loop that waits for no message looks at kh_comm_check now and then.
 * Who fails returns; but what others may wait for is closed only when they have been told
 * (kh_comm_fail).
 */
typedef struct kh_finish {
	const kh_bins *bins;
	const kh_taxonomy *tax;
	const kh_remap *remap;          /* NULL: the pairs' bins are final */
	/* Called for the process's ranges in order (one process: 0 .. 255), one call at a time; the
	 * image lives for the call. */
	int (*sink)(void *arg, const kh_image *im, kh_err *err);
	void *arg;
	/* NULL, or called once, when the last range exists where it is made: before the first one
	 * is delivered, or, if they are made in waves, before those of the last wave are. */
	void (*ready)(void *arg);
} kh_finish;

/* --- classifying ------------------------------------------------------------------ */
typedef struct kh_backend kh_backend;
typedef struct kh_engine kh_engine;     /* a database on the devices: shared, immutable */

/* Where the index lies if there are several devices. */
enum kh_placement {
	KH_PLACE_AUTO,          /* replicated if it fits */
	KH_PLACE_REPLICATE,     /* all of it on each */
	KH_PLACE_SHARD,         /* a run of ranges on each, whichever way to reach it is faster */
	KH_PLACE_SHARD_PEER,    /* read from the owner's memory */
	KH_PLACE_SHARD_EXCHANGE /* features travel to the owner, lists come back */
};

typedef struct kh_engine_options {
	const kh_rule *rule;
	const int *device;
	size_t n_devices;
	enum kh_placement placement;
	kh_comm *comm;                  /* NULL: one process */
	unsigned queues;                /* how many will be opened, for which there must be room */
	unsigned threads;               /* that load the index, but one a device; 0: all CPUs */
} kh_engine_options;
typedef struct kh_task_queue kh_task_queue;     /* one worker's tasks */

/* A job as a queue sees it: input, and the room for results. */
typedef struct kh_task {
	const kh_job *job;
	kh_call *call;                  /* job->n of them */
	kh_distinct *distinct;          /* or NULL: no feature counts wanted */
	kh_candidates *candidates;      /* job->n of them, or NULL: not wanted */
} kh_task;

struct kh_backend {
	const char *name;
	void *context;                  /* of who made this table; NULL: it is a constant */
	/* What it is good for. */
	bool on_host;   /* it works on the host's cores, with the index where kh_db has it */
	bool candidates;        /* it fills tasks' candidates; else none are wanted */
	bool loads;     /* engine_open reads the index from the file: it checks one that
			 * kh_db_open left unchecked */
	size_t block_size;              /* bytes of text a block that suit it, 0: any; and */
	size_t far_block_size;          /* where several devices or processes work on each job */
	int (*n_devices)(kh_err *why);  /* 0: cannot be used here, and why, if more is known */

	int (*builder_open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	/* Before the first block, if the sizes of the files tell about how many pairs there will
	 * be.  Fails if they fit nowhere, however they are spilled. */
	int (*builder_plan)(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
	/* Any worker, any order of tickets; all of s may be reused when it returns. */
	int (*builder_add)(kh_builder *b, unsigned worker, const kh_sample *s, kh_err *err);
	/* NULL: the host makes the digests of pieces (kh_digest).  Else builder_add does, and
	 * this adds them up by sequence, when all blocks have been added. */
	int (*builder_digests)(kh_builder *b, uint64_t *digest, kh_err *err);
	int (*builder_finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*builder_close)(kh_builder *b);

	/* be: this table, for its context. */
	int (*engine_open)(const kh_backend *be, kh_engine **e, const kh_db *db,
			   const kh_engine_options *o, kh_err *err);
	/* NULL, or called when all tasks have been collected: adds the features counted that
	 * no task has given yet; sk is NULL if they are not wanted. */
	int (*engine_end)(kh_engine *e, kh_distinct *sk, kh_err *err);
	void (*engine_close)(kh_engine *e);
	/* block_size: bytes of text of the blocks to come, as far as known. */
	int (*queue_open)(kh_task_queue **q, kh_engine *e, unsigned worker, size_t block_size,
			  kh_err *err);
	void (*queue_close)(kh_task_queue *q);
	/* submit takes a task and may return before it is done; collect gives tasks back in
	 * the order of submit (NULL: none is left).  At most `depth` tasks may be under way. */
	unsigned depth;
	int (*submit)(kh_task_queue *q, kh_task *t, kh_err *err);
	int (*collect)(kh_task_queue *q, kh_task **t, kh_err *err);
};

extern const kh_backend kh_backend_cpu;
extern const kh_backend kh_backend_cuda;        /* only if HAVE_CUDA */

/* A choice of --device: "auto", "cpu", "cuda" or "cuda:0,2". */
#define KH_DEVICES_MAX 64
typedef struct kh_choice {
	const kh_backend *backend;
	int device[KH_DEVICES_MAX];
	size_t n;
} kh_choice;

/* auto takes the CPU, and says so with -v, if a GPU could have been used but none is there. */
int kh_backend_choose(kh_choice *c, const char *spec, kh_err *err);

#endif
