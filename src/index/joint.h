/*
 * joint.h - the indices of several databases, searched as one
 *
 * The bins of each are numbered behind those of the ones before it, so what is found is what an
 * index of all references would give: of a seed all bins, ascending by database; and if these are
 * more than a list may have, or one of the indices says so, that there are too many.
 */
#ifndef KH_INDEX_JOINT_H
#define KH_INDEX_JOINT_H

#include "index/seeds.h"

typedef struct kh_seed_joint {
	const kh_seed_index *index;     /* n; borrowed */
	const uint32_t *first_bin;      /* of each: what its bin 0 is here; NULL: 0, of one index */
	unsigned n;
} kh_seed_joint;

/* Scratch of one thread: what each index has; to be cleared. */
typedef struct kh_joint_found {
	kh_seeds_found *of;
	size_t *at;
	unsigned n;
} kh_joint_found;

/* As kh_seeds_find. */
int kh_joint_find(const kh_seed_joint *x, const uint64_t *key, size_t n, kh_joint_found *scratch,
		  kh_seeds_found *to, kh_err *err);
void kh_joint_found_clear(kh_joint_found *f);

#endif
