/*
 * size.h - numbers of bytes in messages
 *
 * What is measured has a decimal unit: 12.3 MB are 12,300,000 bytes.  The value of an option is
 * shown as options take it, where K, M, G and T are powers of 1024: 5M are 5,242,880 bytes.
 */
#ifndef KH_BASE_SIZE_H
#define KH_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

typedef struct kh_size {
	char s[32];
} kh_size;

/* A decimal unit, for numbers that are shown together: that of the largest. */
typedef struct kh_size_unit {
	double bytes;
	const char *name;               /* "bytes", "kB", ... */
} kh_size_unit;
kh_size_unit kh_size_unit_of(uint64_t bytes);

/* 999 bytes, 1.0 kB, 99.9 kB, 100 kB */
kh_size kh_size_show(uint64_t bytes);
/* Exactly, in the largest unit that can: 5M, but 150000. */
kh_size kh_size_as_option(uint64_t bytes);
/* Rounded up to three digits, in the unit in which `value` is shown, or in a smaller one if it
 * were less than 10 of these. */
kh_size kh_size_beside_option(uint64_t bytes, uint64_t value);

#endif
