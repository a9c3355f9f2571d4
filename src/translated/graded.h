/*
 * graded.h - the result of translated seeds for a fragment, in 32 bits   [HD]
 *
 * The result is the taxon that is called, which is a genus or what stands for it; or KH_NO_TAXON;
 * or, if the score is too low for a genus, a grade: the best or the nearest genus, and how surely
 * the fragment is of that genus (weakly, firmly) and of its family (weakly, firmly, called).  Only
 * the last of these is a call; on the others the sample decides (run/by_genus.h).
 */
#ifndef KH_TRANSLATED_GRADED_H
#define KH_TRANSLATED_GRADED_H

#include <stdbool.h>
#include <stdint.h>
#include "kmer/kmer.h"

enum { KH_GRADE_NONE, KH_GRADE_WEAK, KH_GRADE_FIRM, KH_GRADE_CALLED };

/* A grade has the highest bit set, then two bits for the family and two for the genus.  A genus is
 * never KH_GRADE_CALLED here, so a grade is neither KH_NO_TAXON nor KH_ON_HOST
 * (classify/backend.h). */
#define KH_GRADED_BITS 27               /* of the genus's place in the section */
#define KH_GRADED_GENERA (UINT32_C(1) << KH_GRADED_BITS)

static KH_HD uint32_t kh_graded(uint32_t place, uint32_t genus, uint32_t family)
{
	return UINT32_C(1) << 31 | family << (KH_GRADED_BITS + 2) | genus << KH_GRADED_BITS | place;
}

static KH_HD uint32_t kh_graded_genus(uint32_t x)
{
	return x >> KH_GRADED_BITS & 3;
}

static KH_HD uint32_t kh_graded_family(uint32_t x)
{
	return x >> (KH_GRADED_BITS + 2) & 3;
}

static KH_HD uint32_t kh_graded_place(uint32_t x)
{
	return x & (KH_GRADED_GENERA - 1);
}

static KH_HD bool kh_is_graded(uint32_t x)
{
	return x >> 31 && kh_graded_genus(x) != KH_GRADE_CALLED;
}

/* Is the fragment only weakly of the genus, and of the family? */
static KH_HD bool kh_is_weak(uint32_t x)
{
	return kh_is_graded(x) && kh_graded_genus(x) < KH_GRADE_FIRM &&
	       kh_graded_family(x) < KH_GRADE_FIRM;
}

#endif
