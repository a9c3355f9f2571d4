/*
 * deflate_find.c - where a block of deflate data may begin
 *
 * Every bit is tried, and nearly all of the time goes into refusing quickly: three bits of header,
 * two numbers of codes below 30, then the lengths of the code for code lengths, which must fill the
 * code space exactly.  A place that passes is read as a whole header.
 */
#include <config.h>
#include "io/deflate.h"

#include "io/deflate_in.h"

enum { STEP = 6 };              /* bytes at a time: 48 places, which 12 more bits judge */

/* Of four code lengths of three bits each: how many 128ths of the code space they fill. */
void kh_deflate_finder_init(kh_deflate_finder *f)
{
	for (unsigned i = 0; i < 4096; i++) {
		f->filled[i] = 0;
		for (unsigned x = i; x > 0; x >>= 3)
			if (x & 7)
				f->filled[i] += (uint16_t)(128 >> (x & 7));
	}
}

/* The bits from `bit` on, 57 at least. */
static uint64_t bits_at(const kh_deflate *d, size_t bit)
{
	return kh_le64(d->in + bit / 8) >> bit % 8;
}

/* Is a code for code lengths at `bit`, behind the 14 bits x of the numbers of codes? */
static bool has_precode(const kh_deflate_finder *f, const kh_deflate *d, size_t bit, uint32_t x)
{
	const unsigned n = 3 * (4 + (x >> 10 & 15));            /* 12 to 57 bits */
	const uint64_t lens = bits_at(d, bit) & ((UINT64_C(1) << n) - 1);
	const uint16_t *filled = f->filled;

	return filled[lens & 4095] + filled[lens >> 12 & 4095] + filled[lens >> 24 & 4095]
		       + filled[lens >> 36 & 4095] + filled[lens >> 48]
	       == 128;
}

/* The bits of x at which a block with tables may begin, as far as 13 bits tell: 0, 0, 1, and two
 * numbers of five bits that are below 30. */
static uint64_t may_begin(uint64_t x)
{
	return ~x & ~(x >> 1) & x >> 2 & ~(x >> 4 & x >> 5 & x >> 6 & x >> 7)
	       & ~(x >> 9 & x >> 10 & x >> 11 & x >> 12);
}

static bool is_coded(const kh_deflate_finder *f, kh_deflate *d, size_t bit)
{
	if (!has_precode(f, d, bit + 17, (uint32_t)bits_at(d, bit) >> 3))
		return false;
	d->bit = bit + 3;
	return deflate_tables(d);
}

/* The length of a stored block twice, the second time inverted, behind bits that are zero. */
static bool is_stored(const kh_deflate *d, size_t byte)
{
	const uint64_t x = kh_le64(d->in + byte);

	return ((x >> 16 ^ x) & 0xffff) == 0xffff && byte + 4 <= d->n
	       && (byte == 0 || d->in[byte - 1] >> 5 == 0);
}

/* Looks at the 48 bits from `byte` on, but only from bit `from` on and below `to`. */
static kh_deflate_start find_in_word(const kh_deflate_finder *f, kh_deflate *d, size_t byte,
				     size_t from, size_t to)
{
	const uint64_t x = kh_le64(d->in + byte);
	uint64_t coded = may_begin(x) & ((UINT64_C(1) << STEP * 8) - 1);
	size_t stored = SIZE_MAX;

	for (size_t i = STEP; i-- > 0;)
		if (8 * (byte + i) >= from && is_stored(d, byte + i))
			stored = 8 * (byte + i);
	to = stored < to ? stored : to;
	for (; coded; coded &= coded - 1) {
		const size_t bit = 8 * byte + (size_t)__builtin_ctzll(coded);

		if (bit >= to)
			break;
		if (bit >= from && is_coded(f, d, bit))
			return (kh_deflate_start) { bit, KH_START_CODED };
	}
	return (kh_deflate_start) { to, to == stored ? KH_START_STORED : KH_START_NONE };
}

kh_deflate_start kh_deflate_find(const kh_deflate_finder *f, kh_deflate *d, size_t from, size_t to)
{
	if (to > 8 * d->n)
		to = 8 * d->n;
	for (size_t byte = from / 8; 8 * byte < to; byte += STEP) {
		const kh_deflate_start s = find_in_word(f, d, byte, from, to);

		if (s.kind)
			return s;
	}
	return (kh_deflate_start) { to, KH_START_NONE };
}
