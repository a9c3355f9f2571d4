/*
 * four_lines.h - a record of FASTQ as a device parses it: four lines with nothing odd about them
 * [HD]
 *
 * A plain record is one by the grammar of reader.h, too, with the same bases.  A record that is not
 * plain is left to the host.  The lanes of a warp share a record; on the CPU there is one lane.
 * The functions for names of mates serve both.
 */
#ifndef KH_SEQIO_FOUR_LINES_H
#define KH_SEQIO_FOUR_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include "kmer/kmer.h"

/* --- names of mates --------------------------------------------------------------------- */
/* The length of a name without the suffix that tells mates apart. */
static KH_HD uint32_t kh_mate_shared(const char *id, uint32_t n)
{
	if (n >= 2 && (id[n - 1] == '1' || id[n - 1] == '2') &&
	    (id[n - 2] == '/' || id[n - 2] == '.' || id[n - 2] == '_'))
		return n - 2;
	return n;
}

/* The number of the mate, 1 or 2, by a name of n characters (a/1), or by the CASAVA word behind it
 * (1:N:0:ACGT) in a header line of `all` characters; 0: neither has one.  The endings .1 and _1 do
 * not count: names of the SRA end with .N or _N in both files. */
static KH_HD unsigned kh_mate_number(const char *id, uint32_t n, uint32_t all)
{
	const char *word = id + n + 1;
	char digit = 0;

	if (n >= 2 && id[n - 2] == '/')
		digit = id[n - 1];
	else if (all >= n + 4 && word[1] == ':' && (word[2] == 'N' || word[2] == 'Y'))
		digit = word[0];
	return digit == '1' || digit == '2' ? (unsigned)(digit - '0') : 0;
}

/* --- characters --------------------------------------------------------------------------- */
#define KH_CODE_AMBIGUOUS 4u
#define KH_CODE_BAD 8u

/* 0 to 3, or one of these.  U is bad here: the host takes it for T or, by kh_mask, for
 * ambiguous. */
static KH_HD uint32_t kh_four_code(char c)
{
	/* letters from @ on: ABCD GH K MN RST VWXY */
	const uint32_t letters = 0x3dc699e, bases = 1u << 1 | 1u << 3 | 1u << 7 | 1u << 20;
	const uint32_t x = (unsigned char)c, bit = 1u << (x & 31);

	if (x >= 64 && x < 128)
		return bases & bit     ? ((x >> 1) ^ (x >> 2)) & 3
		       : letters & bit ? KH_CODE_AMBIGUOUS
				       : KH_CODE_BAD;
	return x == '*' || x == '-' || x == '.' ? KH_CODE_AMBIGUOUS : KH_CODE_BAD;
}

/* Packs n <= 32 characters of a sequence as a word. */
static KH_HD void kh_four_pack(const char *s, uint32_t n, uint64_t *bases, uint32_t *amb)
{
	uint64_t b = 0;
	uint32_t a = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t code = kh_four_code(s[i]);

		b |= (uint64_t)(code & 3) << 2 * i;
		a |= (code >> 2 & 1) << i;
	}
	*bases = b;
	*amb = n < 32 ? a | UINT32_MAX << n : a;
}

/* --- a record ----------------------------------------------------------------------------- */
/* The offsets of its start, and of the line feeds of its lines. */
typedef struct kh_four_lines {
	uint32_t at, end[4];
} kh_four_lines;

static KH_HD uint32_t kh_four_bases(const kh_four_lines *r)
{
	return r->end[1] - r->end[0] - 1;
}

/* Is this lane's share of the record plain?  The record is if all shares are. */
static KH_HD bool kh_four_is_plain(const char *text, const kh_four_lines *r, uint32_t lane,
				   uint32_t lanes)
{
	const uint32_t plus = r->end[1] + 1;
	bool good = text[r->at] == '@' && r->end[0] - r->at > 1 && text[r->at + 1] != ' ' &&
		    text[r->at + 1] != '\t' && text[plus] == '+' &&
		    r->end[3] - r->end[2] == r->end[1] - r->end[0];

	for (uint32_t i = r->at + 1 + lane; i < r->end[0]; i += lanes)
		good = good && text[i] != 0 && text[i] != '\r';
	for (uint32_t i = r->end[0] + 1 + lane; i < r->end[1]; i += lanes)
		good = good && kh_four_code(text[i]) != KH_CODE_BAD;
	for (uint32_t i = plus + 1 + lane; i < r->end[2]; i += lanes)
		good = good && text[i] != '\r';
	for (uint32_t i = r->end[2] + 1 + lane; i < r->end[3]; i += lanes)
		good = good && text[i] >= '!' && text[i] <= '~';
	return good;
}

static KH_HD uint32_t kh_four_name(const char *text, const kh_four_lines *r)
{
	uint32_t i = r->at + 1;

	while (i < r->end[0] && text[i] != ' ' && text[i] != '\t')
		i++;
	return i - r->at - 1;
}

/* Do two plain records have names of one pair, and no mate numbers that are equal or in the wrong
 * order? */
static KH_HD bool kh_four_are_mates(const char *ta, const kh_four_lines *a, const char *tb,
				    const kh_four_lines *b)
{
	const uint32_t na = kh_four_name(ta, a), nb = kh_four_name(tb, b);
	const char *ia = ta + a->at + 1, *ib = tb + b->at + 1;
	const unsigned x = kh_mate_number(ia, na, a->end[0] - a->at - 1);
	const unsigned y = kh_mate_number(ib, nb, b->end[0] - b->at - 1);
	const uint32_t n = kh_mate_shared(ia, na);
	bool same = n == kh_mate_shared(ib, nb) && x != 2 && (x == 0 || y != 1);

	for (uint32_t i = 0; i < n && same; i++)
		same = ia[i] == ib[i];
	return same;
}

#endif
