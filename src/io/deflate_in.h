/*
 * deflate_in.h - tables and bits of input, for the files of the decoder
 *
 * The next bits of the input are an index of a table.  An entry has all that the loop needs:
 *
 *	litlen	bits 0-7	bits used, extra ones included
 *		LITERAL		bits 8-15 a byte, 24-31 another if TWO: many pairs of short codes
 *				fit into one look-up
 *		SPECIAL		END, BAD, or SUB: bits 12-15 bits of its subtable, 20-31 where
 *				that begins
 *		otherwise	a length: bits 8-12 bits of its code, 20-28 its base
 *	dist	bits 0-7, 8-12	the same; bits 16-30 the base
 *		DIST_SPECIAL	bits 12-15 bits of its subtable, 0: bad; 16-30 where it begins
 */
#ifndef KH_IO_DEFLATE_IN_H
#define KH_IO_DEFLATE_IN_H

#include "io/deflate.h"

#define DEFLATE_TWO (UINT32_C(1) << 16)
#define DEFLATE_LITERAL (UINT32_C(1) << 17)
#define DEFLATE_SPECIAL (UINT32_C(1) << 18)
#define DEFLATE_END (DEFLATE_SPECIAL | UINT32_C(1) << 8)
#define DEFLATE_BAD (DEFLATE_SPECIAL | UINT32_C(2) << 8)
#define DEFLATE_SUB (DEFLATE_SPECIAL | UINT32_C(3) << 8)
#define DEFLATE_WHICH (DEFLATE_SPECIAL | UINT32_C(3) << 8)
#define DEFLATE_DIST_SPECIAL (UINT32_C(1) << 31)

/* The next n <= 32 bits; behind the end of the input they are zeros. */
static inline uint32_t deflate_peek(const kh_deflate *d, unsigned n)
{
	return (uint32_t)(kh_le64(d->in + d->bit / 8) >> d->bit % 8 & ((UINT64_C(1) << n) - 1));
}

static inline uint32_t deflate_take(kh_deflate *d, unsigned n)
{
	uint32_t x = deflate_peek(d, n);

	d->bit += n;
	return x;
}

static inline bool deflate_past_end(const kh_deflate *d)
{
	return d->bit > 8 * d->n;
}

/* Reads the tables of a block, behind its three bits; false: they are not valid. */
bool deflate_tables(kh_deflate *d);
bool deflate_fixed_tables(kh_deflate *d);

#endif
