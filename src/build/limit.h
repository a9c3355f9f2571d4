/*
 * limit.h - the largest database of a limited size: which share of the features it has
 *
 * How many features are distinct, and what lists are left of them, is known only when an index
 * has been made.  So an index of a small share is made first.  A hash decides which features are
 * left out, so the size of this index tells what any share takes, up to chance and to the steps
 * in which lines are added.  A database is kept if it fits and is nearly as large as it may be, or
 * has all features; else another share is tried.  Two builds are usual.
 *
 * Nothing but the sizes of what was built decides, so the share is the same for any number of
 * threads.
 *
 * A database that is added to has a share of its own features, and there can be no more of them.
 * A build from all references seldom takes a greater share, as they have become more; where it
 * would, a message says so.
 */
#ifndef KH_BUILD_LIMIT_H
#define KH_BUILD_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include "base/msg.h"

#define KH_LIMIT_ALL (UINT64_C(1) << 32)
#define KH_LIMIT_FIRST (KH_LIMIT_ALL / 64)

typedef struct kh_limit {
	uint64_t bytes;                 /* of the file at most; 0: any */
	uint64_t share;                 /* of the next build, in 2^-32 */
	uint64_t most;                  /* that can be had: KH_LIMIT_ALL, or what was left in */
	bool clipped;                   /* a greater one might fit, or would have been tried */
	uint64_t fits, exceeds;         /* the greatest share that is known to fit, the least that
					 * is known not to */
	unsigned builds;                /* so far */
} kh_limit;

/* The size of what was built from a share. */
typedef struct kh_limit_size {
	uint64_t file, index;           /* bytes of the file, and those that features take */
	uint64_t features;
} kh_limit_size;

/* f->bytes and f->most are set; estimate: bytes that a database of all features would probably
 * have; 0: not known. */
void kh_limit_start(kh_limit *l, uint64_t estimate);
/* *all: the size of the database with as many features as the limit lets it have, by that of
 * f->share; of the file if only that is limited.  Fails if there is no room for any. */
int kh_limit_all(const kh_limit *l, const kh_limit_size *built, kh_limit_size *all, kh_err *err);
/* Is there room for less than one feature in four, beside what else the file has? */
bool kh_limit_is_tight(const kh_limit *l, const kh_limit_size *built);
/* The least limit that is not tight; 0: too little was built to say. */
uint64_t kh_limit_roomy(const kh_limit *l, const kh_limit_size *built);
/* After a build of f->share: *keep says whether it is the database; if not, f->share is what is
 * to be built next. */
int kh_limit_next(kh_limit *l, const kh_limit_size *built, bool *keep, kh_err *err);

#endif
