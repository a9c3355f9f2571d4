#include <config.h>
#include "scan.h"

#include <stdlib.h>
#include <string.h>
#include "kmer.h"

enum { AMBIGUOUS = 4, BAD = 8 };

/* 0..3, AMBIGUOUS or BAD */
static const unsigned char class[256] = {
#define B8 BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD
#define B32 B8, B8, B8, B8
	B32,
	B8, BAD, BAD, 4, BAD, BAD, 4, 4, BAD, B8, B8,   /* '*' '-' '.' */
	BAD, 0, 4, 1, 4, BAD, BAD, 2, 4, BAD, BAD, 4, BAD, 4, 4, BAD,           /* @A-O */
	BAD, BAD, 4, 4, 3, 3, 4, 4, 4, 4, BAD, BAD, BAD, BAD, BAD, BAD,         /* P-_ */
	BAD, 0, 4, 1, 4, BAD, BAD, 2, 4, BAD, BAD, 4, BAD, 4, 4, BAD,
	BAD, BAD, 4, 4, 3, 3, 4, 4, 4, 4, BAD, BAD, BAD, BAD, BAD, BAD,
	B32, B32, B32, B32
#undef B32
#undef B8
};

static size_t plain_pack(const kh_packed *to, uint64_t at, const char *s, size_t n)
{
	size_t w = at >> 5, i = 0;
	unsigned r = at & 31;
	uint64_t bases = r ? to->bases[w] & ((UINT64_C(1) << 2 * r) - 1) : 0;
	uint32_t amb = r ? to->amb[w] & ((UINT32_C(1) << r) - 1) : 0;

	for (; i < n; i++) {
		unsigned c = class[(unsigned char)s[i]];

		if (c == BAD)
			break;
		bases |= (uint64_t)(c & 3) << 2 * r;
		amb |= (uint32_t)(c >> 2) << r;
		if (++r == 32) {
			to->bases[w] = bases;
			to->amb[w++] = amb;
			bases = amb = r = 0;
		}
	}
	to->bases[w] = bases;
	to->amb[w] = amb;
	return i;
}

static size_t plain_quality(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= '!' && s[i] <= '~')
		i++;
	return i;
}

static const kh_scan plain = { "plain", plain_pack, plain_quality };

const kh_scan *kh_scan_plain(void)
{
	return &plain;
}

const kh_scan *kh_scan_get(void)
{
	return &plain;
}
