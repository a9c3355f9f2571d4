/*
 * digits.h - numbers and other text, into memory that has been made: each function returns the
 * place of the next byte
 */
#ifndef KH_BASE_DIGITS_H
#define KH_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

/* The digits of a number below 1000 as they are written, behind them how many these are; and all
 * three.  A table, as the counts of a line have one digit or two at random, and a processor that
 * foresees the wrong one loses more time than it takes to write both. */
typedef struct three {
	char text[3], n, all[3], zero;
} three;

static const three below_1000[1000] = {
#define C(d) (char)('0' + (d))
#define D1(a, b, c) { { (a) ? C(a) : (b) ? C(b) : C(c), (a) ? C(b) : C(c), C(c) }, \
		      (a) ? 3 : (b) ? 2 : 1, { C(a), C(b), C(c) }, 0 },
#define D10(a, b) D1(a, b, 0) D1(a, b, 1) D1(a, b, 2) D1(a, b, 3) D1(a, b, 4) \
		  D1(a, b, 5) D1(a, b, 6) D1(a, b, 7) D1(a, b, 8) D1(a, b, 9)
#define D100(a) D10(a, 0) D10(a, 1) D10(a, 2) D10(a, 3) D10(a, 4) \
		D10(a, 5) D10(a, 6) D10(a, 7) D10(a, 8) D10(a, 9)
	D100(0) D100(1) D100(2) D100(3) D100(4) D100(5) D100(6) D100(7) D100(8) D100(9)
#undef D100
#undef D10
#undef D1
#undef C
};

/* Some bytes behind the end may be overwritten. */
static inline char *put_below_1000(char *at, uint32_t x)
{
	memcpy(at, below_1000[x].text, 4);
	return at + below_1000[x].n;
}

static inline char *put_three(char *at, uint32_t x)
{
	memcpy(at, below_1000[x].all, 4);
	return at + 3;
}

static inline char *put_large(char *at, uint64_t x)
{
	const uint64_t front = x / 1000;

	at = front < 1000 ? put_below_1000(at, (uint32_t)front) : put_large(at, front);
	return put_three(at, (uint32_t)(x % 1000));
}

static inline char *put_number(char *at, uint64_t x)
{
	return x < 1000 ? put_below_1000(at, (uint32_t)x) : put_large(at, x);
}

static inline char *put_char(char *at, char c)
{
	*at = c;
	return at + 1;
}

static inline char *put_text(char *at, const char *p, size_t n)
{
	memcpy(at, p, n);
	return at + n;
}

#endif
