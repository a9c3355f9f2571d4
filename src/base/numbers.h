/*
 * numbers.h - numbers of things that are found by a hash: of a name, of another number
 *
 * What the numbers stand for is the caller's, who says whether a number that was found is the right
 * one, as different things may have one hash.  Open addressing, with half of the places free.
 */
#ifndef KH_BASE_NUMBERS_H
#define KH_BASE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* Zero it first. */
typedef struct kh_numbers {
	uint64_t *place;                /* upper half of the hash | 1 + number; 0: free */
	size_t n, size;                 /* used; a power of two, or 0 */
} kh_numbers;

#define KH_NO_NUMBER UINT32_MAX

void kh_numbers_clear(kh_numbers *s);
/* Adds a number below UINT32_MAX; the same hash may be there already. */
int kh_numbers_add(kh_numbers *s, uint64_t hash, uint32_t number, kh_err *err);
/* The next number that was added with that hash, or KH_NO_NUMBER; *at is 0 for the first one. */
uint32_t kh_numbers_next(const kh_numbers *s, uint64_t hash, size_t *at);

#endif
