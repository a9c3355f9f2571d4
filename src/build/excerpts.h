/*
 * excerpts.h - stretches of the references that are kept until the index is there, to ask what it
 * calls them
 *
 * An excerpt has 512 bases of a sequence.  Where they are follows from the place alone, so they are
 * the same however the input comes in blocks: every 4096 bases at first, and less often further on,
 * as a short genome needs all of them to be known well, and many long ones would take much
 * memory.  Blocks end anywhere, so a worker may have a part of one; parts are put together when all
 * have been read.
 */
#ifndef KH_BUILD_EXCERPTS_H
#define KH_BUILD_EXCERPTS_H

#include "backend/pieces.h"
#include "db/db.h"

typedef kh_db_excerpt kh_excerpt;

typedef struct kh_excerpts {
	kh_excerpt *v;
	size_t n, cap;
} kh_excerpts;

/* The base where an excerpt begins: number 0 to 127 every 4096 bases, from base 2048 on; the next
 * 64 every 8192, and so on, as long as there are bases: 64 each time that the length doubles. */
static inline uint64_t kh_excerpt_at(uint32_t number)
{
	const unsigned far = number < 128 ? 0 : number / 64 - 1;

	return far == 0 ? 2048 + UINT64_C(4096) * number
			: (2048 + UINT64_C(4096) * (64 + number % 64)) << far;
}

/* Adds the parts of excerpts that are in the pieces of a block. */
int kh_excerpts_add(kh_excerpts *e, const kh_block_pieces *s, uint32_t stride, kh_err *err);
/* Puts the parts of n lists together, in the order of sequences, without those that are not
 * complete.  `to` is empty; the parts are changed. */
int kh_excerpts_join(kh_excerpts *to, const kh_excerpts *from, size_t n, kh_err *err);

#endif
