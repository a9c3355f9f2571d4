/*
 * scan.c - the plain C functions, which are the specification, and the choice of faster ones
 */
#include <config.h>
#include "seqio/scan.h"

#include <stdatomic.h>
#include <string.h>
#include "base/simd.h"

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

static size_t plain_lines(const kh_packed *to, kh_seq_lines *l, const char *s, size_t n)
{
	size_t i = 0;

	l->n = l->last = 0;
	while (i < n) {
		const char *nl = memchr(s + i, '\n', n - i);
		size_t len = (nl ? (size_t)(nl - s) : n) - i;
		size_t good = plain_pack(to, l->at, s + i, len);

		l->at += good;
		i += good;
		if (good < len || !nl)
			break;
		l->last = ++i;
		l->n++;
	}
	return i;
}

#define FASTQ_FN static
FASTQ_FN size_t header_end(const char *text, size_t from, size_t to, size_t *id)
{
	size_t i = from;

	while (i < to && text[i] != ' ' && text[i] != '\t' && text[i] != '\n')
		i++;
	*id = i;
	const char *nl = i < to ? memchr(text + i, '\n', to - i) : NULL;
	if (!nl || memchr(text + from, '\0', (size_t)(nl - text) - from)
	    || memchr(text + from, '\r', (size_t)(nl - text) - from))
		return to;
	return (size_t)(nl - text);
}

FASTQ_FN size_t bases_end(const kh_packed *to, size_t word, const char *text,
			  const kh_char_range *r)
{
	const char *nl = memchr(text + r->from, '\n', r->to - r->from);

	if (!nl)
		return r->to;
	size_t len = (size_t)(nl - text) - r->from;
	size_t good = plain_pack(to, (uint64_t)word << 5, text + r->from, len);
	return good == len ? r->from + len : r->to;
}

FASTQ_FN bool pack_good(const kh_packed *to, size_t word, const char *s, size_t n)
{
	return plain_pack(to, (uint64_t)word << 5, s, n) == n;
}

FASTQ_FN bool quality_good(const char *s, size_t n)
{
	return plain_quality(s, n) == n;
}

#include "seqio/scan_fastq.inc"

static const kh_scan plain = { "plain", plain_pack, plain_lines, plain_quality,
			       fastq_loop };

const kh_scan *kh_scan_plain(void)
{
	return &plain;
}

static _Atomic(const kh_scan *) chosen;

const kh_scan *kh_scan_get(void)
{
	const kh_scan *best = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!best) {
		best = kh_simd_most() > 0 ? kh_scan_avx2() : NULL;
		best = best ? best : &plain;
		kh_scan_choose(best);
	}
	return best;
}

void kh_scan_choose(const kh_scan *s)
{
	atomic_store_explicit(&chosen, s, memory_order_relaxed);
}
