/*
 * builder.h - what a device must do to make an index
 */
#ifndef KH_BACKEND_BUILDER_H
#define KH_BACKEND_BUILDER_H

#include "backend/devices.h"
#include "backend/pieces.h"
#include "index/seeds.h"

typedef struct kh_builder kh_builder;

typedef struct kh_builder_options {
	kh_sampling sampling;
	kh_devices on;                  /* its threads call add */
	size_t block_size;
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

/* Everything that is known when all pairs have been added. */
typedef struct kh_finish {
	const kh_bins *bins;
	/* Called for the ranges in order, 0 to 255, one call at a time; the image lives for the
	 * call. */
	int (*sink)(void *arg, const kh_image *im, kh_err *err);
	void *arg;
	/* NULL, or called once, when the last range has been made on its device, before that is
	 * delivered: before the first one is, unless there is not memory for all at a time. */
	void (*ready)(void *arg);
} kh_finish;

typedef struct kh_builder_functions {
	int (*open)(kh_builder **b, const kh_builder_options *o, kh_err *err);
	/* Called before the first block if the sizes of the files tell about how many pairs there
	 * will be. Fails if they do not fit, spilled or not. */
	int (*plan)(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err);
	/* Called by any worker, in any order of tickets; all of s may be reused when it returns. */
	int (*add)(kh_builder *b, unsigned worker, const kh_block_pieces *s, kh_err *err);
	int (*finish)(kh_builder *b, const kh_finish *f, kh_err *err);
	void (*close)(kh_builder *b);
} kh_builder_functions;

#endif
