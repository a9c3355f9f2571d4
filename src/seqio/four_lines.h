/*
 * four_lines.h - a record of FASTQ as a device parses it: four lines with nothing odd about them
 * [HD]
 *
 * A plain record is one by the grammar of reader.h, too, with the same bases.  A record that is not
 * plain is left to the host.  The lanes of a warp share a record; on the CPU there is one lane.
 * Lines are read four characters at a time.  The functions for names of mates are also those of the
 * host's parser (feed_block.c).
 *
 *	kh_char_	of one character
 *	kh_chars_	of four characters in a row, and of walks by four
 *	kh_four_lines_	of a record
 */
#ifndef KH_SEQIO_FOUR_LINES_H
#define KH_SEQIO_FOUR_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include "kmer/text.h"

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

/* Letters from @ on, a bit each: ABCD GH K MN RST VWXY; and those that are bases. */
#define KH_CHAR_LETTERS 0x3dc699eu
#define KH_CHAR_BASES (1u << 1 | 1u << 3 | 1u << 7 | 1u << 20)

/* 0 to 3, or one of the codes above.  U is bad here: the host takes it for T or, by kh_mask, for
 * ambiguous. */
static KH_HD uint32_t kh_char_code(char c)
{
	const uint32_t x = (unsigned char)c, bit = 1u << (x & 31);

	if (x >= 64 && x < 128)
		return KH_CHAR_BASES & bit     ? ((x >> 1) ^ (x >> 2)) & 3
		       : KH_CHAR_LETTERS & bit ? KH_CODE_AMBIGUOUS
					       : KH_CODE_BAD;
	return x == '*' || x == '-' || x == '.' ? KH_CODE_AMBIGUOUS : KH_CODE_BAD;
}

/* --- four characters, the first one in the lowest byte --------------------------------------- */
/* A character four times. */
static KH_HD uint32_t kh_chars_of(char c)
{
	return 0x01010101u * (unsigned char)c;
}

/* Bit 7 of each byte that is zero. */
static KH_HD uint32_t kh_chars_zeros(uint32_t x)
{
	return ~(((x & 0x7f7f7f7f) + 0x7f7f7f7f) | x | 0x7f7f7f7f);
}

static KH_HD uint32_t kh_chars_equal(uint32_t x, char c)
{
	return kh_chars_zeros(x ^ kh_chars_of(c));
}

/* Is each one in a sequence? */
static KH_HD bool kh_chars_are_codes(uint32_t x)
{
	bool good = true;

	if ((x & 0xc0c0c0c0) == 0x40404040)
		return KH_CHAR_LETTERS >> (x & 31) & KH_CHAR_LETTERS >> (x >> 8 & 31) &
		       KH_CHAR_LETTERS >> (x >> 16 & 31) & KH_CHAR_LETTERS >> (x >> 24 & 31) & 1;
	for (int i = 0; i < 4; i++)
		good = good && kh_char_code((char)(x >> 8 * i)) != KH_CODE_BAD;
	return good;
}

/* Is each one a quality, from ! to ~? */
static KH_HD bool kh_chars_are_qualities(uint32_t x)
{
	const uint32_t from = (x & 0x7f7f7f7f) + kh_chars_of(128 - '!');
	const uint32_t behind = (x & 0x7f7f7f7f) + kh_chars_of(127 - '~');

	return !((x | ~from | behind) & 0x80808080);
}

/* Four characters as two bits each; *amb: a bit for each that is ambiguous, and 0 here. */
static KH_HD uint32_t kh_chars_codes(uint32_t x, uint32_t *amb)
{
	const uint32_t code = ((x >> 1) ^ (x >> 2)) & 0x03030303;
	const uint32_t low = code & 0x01010101, high = code >> 1 & 0x01010101;
	/* A, and from there to C, G and T */
	const uint32_t letter = 0x41414141 + 2 * low + 6 * high + 11 * (low & high);
	uint32_t codes = 0;

	*amb = 0;
	if ((x & 0xdfdfdfdf) == letter)
		return code * (1u << 24 | 1u << 18 | 1u << 12 | 1u << 6) >> 24;
	for (int i = 0; i < 4; i++) {
		const uint32_t one = kh_char_code((char)(x >> 8 * i));

		codes |= (one & 3) << 2 * i;
		*amb |= (one >> 2 & 1) << i;
	}
	return codes;
}

/* --- characters of a line --------------------------------------------------------------------- */
/* Reads up to `end`, four at a time; behind it stands `fill`.  On a device the text is aligned to
 * words, and up to seven bytes behind `end` are read. */
typedef struct kh_chars_walk {
	const char *text;
	uint32_t at, end;
#ifdef __CUDA_ARCH__
	uint32_t word;                  /* that `at` is in */
#endif
} kh_chars_walk;

#ifdef __CUDA_ARCH__
static KH_HD uint32_t kh_chars_word(const char *text, uint32_t at)
{
	return *(const uint32_t *)(text + (at & ~3u));
}
#endif

static KH_HD kh_chars_walk kh_chars_walk_from(const char *text, uint32_t at, uint32_t end)
{
#ifdef __CUDA_ARCH__
	const kh_chars_walk w = { text, at, end, kh_chars_word(text, at) };
#else
	const kh_chars_walk w = { text, at, end };
#endif
	return w;
}

static KH_HD uint32_t kh_chars_walk_next(kh_chars_walk *w, char fill)
{
	const uint32_t left = w->end - w->at;
	const uint32_t keep = left < 4 ? (1u << 8 * left) - 1 : UINT32_MAX;
	uint32_t x = 0;

#ifdef __CUDA_ARCH__
	const uint32_t next = kh_chars_word(w->text, w->at + 4);

	x = __funnelshift_r(w->word, next, 8 * (w->at & 3));
	w->word = next;
#else
	for (uint32_t i = 0; i < 4 && i < left; i++)
		x |= (uint32_t)(unsigned char)w->text[w->at + i] << 8 * i;
#endif
	w->at += 4;
	return (x & keep) | (kh_chars_of(fill) & ~keep);
}

/* Those at one place. */
static KH_HD uint32_t kh_chars_at(const char *text, uint32_t at, uint32_t end, char fill)
{
	kh_chars_walk w = kh_chars_walk_from(text, at, end);

	return kh_chars_walk_next(&w, fill);
}

/* Packs n <= 32 characters of a sequence as a word. */
static KH_HD void kh_chars_pack(const char *text, uint32_t at, uint32_t n, uint64_t *bases,
				uint32_t *amb)
{
	kh_chars_walk w = kh_chars_walk_from(text, at, at + n);
	uint64_t b = 0;
	uint32_t a = 0;

	for (uint32_t i = 0; i < n; i += 4) {
		uint32_t ambiguous;

		b |= (uint64_t)kh_chars_codes(kh_chars_walk_next(&w, 'A'), &ambiguous) << 2 * i;
		a |= ambiguous << i;
	}
	*bases = b;
	*amb = n < 32 ? a | UINT32_MAX << n : a;
}

/* --- a record ----------------------------------------------------------------------------- */
/* The offsets of its start, and of the line feeds of its lines. */
typedef struct kh_four_lines {
	uint32_t at, end[4];
} kh_four_lines;

static KH_HD uint32_t kh_four_lines_bases(const kh_four_lines *r)
{
	return r->end[1] - r->end[0] - 1;
}

/* Is this lane's share of the record plain?  The record is if all shares are. */
static KH_HD bool kh_four_lines_are_plain(const char *text, const kh_four_lines *r, uint32_t lane,
					  uint32_t lanes)
{
	const uint32_t plus = r->end[1] + 1;
	bool good = text[r->at] == '@' && r->end[0] - r->at > 1 && text[r->at + 1] != ' ' &&
		    text[r->at + 1] != '\t' && text[plus] == '+' &&
		    r->end[3] - r->end[2] == r->end[1] - r->end[0];

	for (uint32_t i = r->at + 1 + 4 * lane; i < r->end[0]; i += 4 * lanes) {
		const uint32_t x = kh_chars_at(text, i, r->end[0], 'A');

		good = good && !(kh_chars_zeros(x) | kh_chars_equal(x, '\r'));
	}
	for (uint32_t i = r->end[0] + 1 + 4 * lane; i < r->end[1]; i += 4 * lanes)
		good = good && kh_chars_are_codes(kh_chars_at(text, i, r->end[1], 'A'));
	for (uint32_t i = plus + 1 + 4 * lane; i < r->end[2]; i += 4 * lanes)
		good = good && !kh_chars_equal(kh_chars_at(text, i, r->end[2], 'A'), '\r');
	for (uint32_t i = r->end[2] + 1 + 4 * lane; i < r->end[3]; i += 4 * lanes)
		good = good && kh_chars_are_qualities(kh_chars_at(text, i, r->end[3], 'A'));
	return good;
}

/* Characters of the name of a record with four lines. */
static KH_HD uint32_t kh_four_lines_name(const char *text, const kh_four_lines *r)
{
	const uint32_t n = r->end[0] - r->at - 1;
	kh_chars_walk w = kh_chars_walk_from(text, r->at + 1, r->end[0]);

	for (uint32_t i = 0; i < n; i += 4) {
		const uint32_t x = kh_chars_walk_next(&w, ' ');
		const uint32_t blank = kh_chars_equal(x, ' ') | kh_chars_equal(x, '\t');

		if (blank)
			return i + kh_lowest_bit(blank) / 8;
	}
	return n;
}

/* Do two plain records have names of one pair, and no mate numbers that are equal, or a first one
 * that has number 2, or a second one that has number 1 beside one with a number? */
static KH_HD bool kh_four_lines_are_mates(const char *ta, const kh_four_lines *a, const char *tb,
					  const kh_four_lines *b)
{
	const uint32_t na = kh_four_lines_name(ta, a), nb = kh_four_lines_name(tb, b);
	const char *ia = ta + a->at + 1, *ib = tb + b->at + 1;
	const unsigned x = kh_mate_number(ia, na, a->end[0] - a->at - 1);
	const unsigned y = kh_mate_number(ib, nb, b->end[0] - b->at - 1);
	const uint32_t n = kh_mate_shared(ia, na);
	kh_chars_walk wa = kh_chars_walk_from(ta, a->at + 1, a->at + 1 + n);
	kh_chars_walk wb = kh_chars_walk_from(tb, b->at + 1, b->at + 1 + n);
	bool same = n == kh_mate_shared(ib, nb) && x != 2 && (x == 0 || y != 1);

	for (uint32_t i = 0; i < n && same; i += 4)
		same = kh_chars_walk_next(&wa, ' ') == kh_chars_walk_next(&wb, ' ');
	return same;
}

#endif
