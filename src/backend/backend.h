/*
 * backend.h - what an accelerator must do
 *
 * The CPU backend is the specification; every other one gives the same bytes. Each backend is one
 * table of functions, chosen once; what it opens is opaque.
 */
#ifndef KH_BACKEND_H
#define KH_BACKEND_H

#include "backend/sample.h"
#include "classify/class.h"
#include "classify/classify.h"
#include "comm/comm.h"
#include "index/bins.h"
#include "index/grow.h"

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
	uint64_t spilled;               /* bytes of pairs that go elsewhere, as need > have, */
	const char *to;                 /* and the place, for messages */
} kh_plan;

/*
 * Everything that is known when all references have been read.
 *
 * With several processes (kh_builder_options.comm), each has read a stretch of the references, in
 * the order of processes, and numbers its bins and tickets from 0.  The backend exchanges the
 * pairs.  Process r makes the ranges that kh_shards_cut gives it by the numbers of pairs summed
 * over all processes, from the pairs of all, ordered as if one process had read everything: those
 * of process 0 first.  All processes have the same bins and tax, and the same backend; remap
 * belongs to each process.  A loop that waits for no message calls kh_comm_check now and then.
 * A process that fails tells the others (kh_comm_fail) before it closes anything that they may
 * wait for.
 */
typedef struct kh_finish {
	const kh_bins *bins;
	const kh_taxonomy *tax;
	const kh_remap *remap;          /* NULL: the pairs' bins are final */
	/* Called for the process's ranges in order (one process: 0 .. 255), one call at a time; the
	 * image lives for the call. */
	int (*sink)(void *arg, const kh_image *im, kh_err *err);
	void *arg;
	/* NULL, or called once, when the last range has been made on its device: before the first
	 * one is delivered, or, if ranges are made in waves, before those of the last wave are. */
	void (*ready)(void *arg);
	/* Of backends that can add genomes, one process: */
	const kh_old_index *old;        /* NULL, or the index that the pairs join */
	bool keep_keys;                 /* images come with what they forget of keys (keys.h) */
} kh_finish;

/* --- classifying ------------------------------------------------------------------ */
typedef struct kh_backend kh_backend;
typedef struct kh_engine kh_engine;     /* a database on the devices: shared, immutable */

/* Where the index lies. */
enum kh_placement {
	KH_PLACE_AUTO,          /* replicated if it fits; else sharded; else on the host, but for as
				 * much as each device has room for, buckets before lists */
	KH_PLACE_REPLICATE,     /* all of it on each device */
	KH_PLACE_HOST,          /* in the host's memory, read over the bus */
	KH_PLACE_HOST_LISTS,    /* the buckets on each device, the lists in the host's memory */
	KH_PLACE_SHARD,         /* a run of ranges on each; the faster of the two ways below */
	KH_PLACE_SHARD_PEER,    /* read directly from the memory of its owner */
	KH_PLACE_SHARD_EXCHANGE /* features are sent to the owner, lists come back */
};

/* A choice of --device: "auto", "cpu", "cuda" or "cuda:0,2". */
#define KH_DEVICES_MAX 64
typedef struct kh_choice {
	const kh_backend *backend;
	int device[KH_DEVICES_MAX];
	size_t n;
} kh_choice;

/* auto takes the CPU, and says so with -v, if a GPU could have been used but none is there. */
int kh_backend_choose(kh_choice *c, const char *spec, kh_err *err);

/* What a command works with: the devices, where the index lies on them, and who takes part. */
typedef struct kh_devices {
	kh_choice choice;
	enum kh_placement placement;
	uint64_t memory;                /* bytes of each GPU that may be taken; 0: all free */
	kh_comm *comm;                  /* NULL: one process */
	unsigned threads;               /* workers of this process; 0: all CPUs */
} kh_devices;

typedef struct kh_engine_options {
	const kh_rule *rule;
	kh_devices on;
	uint64_t input;                 /* bytes of files with reads to come, as far as known */
	bool alone;                     /* no other process here uses the same index */
	/* queues that will be opened, for which memory is needed, and bytes of text in a task of
	 * theirs; 0: as many as suit */
	unsigned queues;
	size_t block_size;
} kh_engine_options;
typedef struct kh_task_queue kh_task_queue;     /* one worker's tasks */

/*
 * The census of a sample: its fragments counted by class (classify/class.h) where they are
 * classified, so that nothing of them but their calls has to come to the host.  It has parts, which
 * know different classes; tasks of worker w are counted in part w % parts.  Its memory does not
 * grow: when a part has as many classes as there is room for, fragments of other classes are left
 * to the host.
 */
typedef struct kh_census {
	unsigned parts;
} kh_census;

typedef struct kh_census_options {
	/* first stretch of each target, and the number of them all: n_targets + 1 */
	const uint64_t *stretch;
	uint32_t n_targets;
	uint32_t classes;               /* room for so many in each part; 0: as many as suit */
	uint32_t likely;                /* so many are likely, so there is memory to read them */
} kh_census_options;

/* What a part has counted. */
typedef struct kh_census_part {
	/* n different ones; they live as long as the census */
	kh_class *at;
	uint32_t n;
	uint64_t many[KH_N_MOST + 1];   /* fragments that have a class, by features */
} kh_census_part;

/* Counts the stretches of each target whose masks have a bit in common with own[target]. */
typedef struct kh_census_search {
	const uint32_t *own;
	const uint32_t *also;           /* masks that were made on the host, or NULL */
	uint32_t *found;                /* of each target */
} kh_census_search;

/*
 * The counters of distinct features of a sample, on the devices that find them, so that no feature
 * has to come to the host.  Their memory does not grow: there are registers for so many taxa, and
 * what fragments of others have found is counted by the host.
 */
typedef struct kh_counters kh_counters;

/* A job as a queue sees it: input, and the room for results. */
typedef struct kh_task {
	const kh_job *job;
	kh_call *call;                  /* job->n of them */
	kh_distinct *distinct;          /* or NULL: no feature counts wanted */
	/* with `distinct`: NULL, or these count, and `distinct` gets what they have no room for */
	kh_counters *counters;
	kh_candidates *candidates;      /* job->n of them, or NULL: not wanted */
	/* NULL, or where fragments are counted; then candidates are filled only if some are left to
	 * the host */
	kh_census *census;
	/* with a census, job->n of them: the class of each, as its number in the part, or
	 * KH_NO_CLASS, or KH_UNCOUNTED; filled if wanted, and if some are left */
	uint32_t *class_of;
	bool classes_wanted;
	bool left;                      /* result: some fragments are left to the host */
} kh_task;

struct kh_backend {
	const char *name;
	/* for the maker of this table; NULL: the table is a constant */
	void *context;
	/* What it can do. */
	/* it works on the cores of the host, with the index where kh_db has mapped it */
	bool on_host;
	bool grows;     /* it knows kh_finish.old and keep_keys */
	/* it fills the candidates of tasks; otherwise none may be asked for */
	bool candidates;
	bool loads;     /* engine_open reads the index from the file: it checks one that
			 * kh_db_open left unchecked */
	size_t block_size;              /* bytes of text in a block that suit it, 0: any; */
	/* the same where several devices or processes work on each job */
	size_t far_block_size;
	size_t host_block_size;         /* the same where devices read an index on the host */
	/* 0: it cannot be used here; then *why has the reason, if one is known */
	int (*n_devices)(kh_err *why);

	int (*builder_open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	/* Called before the first block if the sizes of the files tell about how many pairs there
	 * will be. Fails if there is no room for them, spilled or not. */
	int (*builder_plan)(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
	/* Called by any worker, in any order of tickets; all of s may be reused when it returns. */
	int (*builder_add)(kh_builder *b, unsigned worker, const kh_sample *s, kh_err *err);
	/* NULL: the host makes the digests of pieces (kh_digest). Otherwise builder_add makes
	 * them, and this adds them up by sequence when all blocks have been added. */
	int (*builder_digests)(kh_builder *b, uint64_t *digest, kh_err *err);
	int (*builder_finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*builder_close)(kh_builder *b);

	/* NULL: it has none.  A census is used by this engine's queues, and closed before it. For
	 * candidates (kh_rule) only.  *c becomes NULL where there is no room for one, or no way. */
	int (*census_open)(kh_census **c, kh_engine *e, const kh_census_options *o, kh_err *err);
	/* When all tasks that it was given to have been collected: */
	int (*census_read)(kh_census *c, unsigned part, kh_census_part *p, kh_err *err);
	int (*census_search)(kh_census *c, const kh_census_search *s, kh_err *err);
	void (*census_close)(kh_census *c);

	/* NULL: it has none.  They are used by this engine's queues; taxa: that there is room for,
	 * 0: as many as suit.  *c becomes NULL where there is no room for any, or no way. */
	int (*counters_open)(kh_counters **c, kh_engine *e, uint32_t taxa, kh_err *err);
	/* When all tasks that they were given to have been collected: adds what they counted. */
	int (*counters_read)(kh_counters *c, kh_distinct *to, kh_err *err);
	void (*counters_close)(kh_counters *c);

	/* `be` is this table, for its context. */
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

#endif
