/*
 * builder.h - what a device must do to make an index
 */
#ifndef KH_BACKEND_BUILDER_H
#define KH_BACKEND_BUILDER_H

#include "backend/devices.h"
#include "backend/pieces.h"
#include "index/bins.h"
#include "index/grow.h"

typedef struct kh_builder kh_builder;

typedef struct kh_builder_options {
	kh_sampling sampling;
	kh_devices on;                  /* its threads call add */
	size_t block_size;
	bool text;                      /* an index of seeds is made; digests are not asked for */
	uint64_t memory;                /* of the host; 0: no limit */
	const char *tmp;                /* spilled pairs go to a file beside this one */
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
 * With several processes (kh_devices.comm), each has read a stretch of the references, in
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
	/* NULL, or called once, when the last range has been made on its device, before that is
	 * delivered: before the first one is, unless there is not memory for all at a time. */
	void (*ready)(void *arg);
	/* Of backends that can add genomes, one process: */
	const kh_old_index *old;        /* NULL, or the index that the pairs join */
	bool keep_keys;                 /* images come with what they forget of keys (keys.h) */
} kh_finish;

typedef struct kh_builder_functions {
	int (*open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	/* Called before the first block if the sizes of the files tell about how many pairs there
	 * will be. Fails if they do not fit, spilled or not. */
	int (*plan)(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
	/* Called by any worker, in any order of tickets; all of s may be reused when it returns. */
	int (*add)(kh_builder *b, unsigned worker, const kh_block_pieces *s, kh_err *err);
	/* NULL: the host makes the digests of pieces (kh_digest). Otherwise `add` makes
	 * them, and this adds them up by sequence when all blocks have been added. */
	int (*digests)(kh_builder *b, uint64_t *digest, kh_err *err);
	int (*finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*close)(kh_builder *b);
} kh_builder_functions;

#endif
