/* take.h - reads as they are compared, and their reverse complements: text.h   [HD] */
#ifndef KH_KMER_TAKE_H
#define KH_KMER_TAKE_H

#include <stdbool.h>
#include "kmer/text.h"

/* Each bit of 32 as the low bit of a base. */
static KH_HD uint64_t kh_text_spread(uint32_t amb)
{
	uint64_t x = amb;

	x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
	x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x | x << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	x = (x | x << 2) & UINT64_C(0x3333333333333333);
	return (x | x << 1) & KH_TEXT_LOW;
}

/* Word i of n bases in reverse order; what was behind the last one comes first, and is shifted
 * out. */
static KH_HD uint64_t kh_text_reverse_word(const uint64_t *from, uint32_t n, uint32_t i)
{
	const uint32_t words = (n + 31) / 32;
	const unsigned sh = 2 * (32 * words - n);
	const uint64_t x = kh_kmer_reverse(from[words - 1 - i], 32);
	const uint64_t y = i + 1 < words ? kh_kmer_reverse(from[words - 2 - i], 32) : 0;

	return sh ? x >> sh | y << (64 - sh) : x;
}

/* Word i of the read of n bases, 1 to KH_TEXT_SPAN, that begins at base `at` of packed ones
 * (kmer.h). */
static KH_HD void kh_text_take_word(kh_oriented *to, const uint64_t *bases, const uint32_t *amb,
				    uint64_t at, uint32_t n, uint32_t i)
{
	const unsigned sh = (unsigned)(at % 32);
	const uint64_t w = at / 32 + i;
	const uint32_t m = n - 32 * i < 32 ? n - 32 * i : 32;
	const bool two = sh + m > 32;
	const uint64_t x = bases[w] >> 2 * sh | (two ? bases[w + 1] << (64 - 2 * sh) : 0);
	const uint32_t a = amb[w] >> sh | (two ? amb[w + 1] << (32 - sh) : 0);

	to->base[i] = x & kh_text_first(m);
	to->unknown[i] = kh_text_spread(a) & kh_text_first(m);
}

static KH_HD void kh_text_take(kh_oriented *to, const uint64_t *bases, const uint32_t *amb,
			       uint64_t at, uint32_t n)
{
	const uint32_t words = (n + 31) / 32;
	uint32_t any = 0;

	if (at % 32 != 0 || words == 0) {       /* a part of a read, or none */
		KH_ROLLED
		for (uint32_t i = 0; i < words; i++)
			kh_text_take_word(to, bases, amb, at, n, i);
		return;
	}
	KH_ROLLED
	for (uint32_t i = 0; i < words; i++) {
		to->base[i] = bases[at / 32 + i];
		to->unknown[i] = 0;
		any |= i + 1 < words ? amb[at / 32 + i] : 0;
	}
	to->base[words - 1] &= kh_text_first(n - 32 * (words - 1));
	any |= amb[at / 32 + words - 1] << (32 * words - n);
	KH_ROLLED
	for (uint32_t i = 0; any != 0 && i < words; i++)
		kh_text_take_word(to, bases, amb, at, n, i);
}

/* Word i of the reverse complement of a read of n bases. */
static KH_HD void kh_text_turn_word(kh_oriented *to, const kh_oriented *read, uint32_t n,
				    uint32_t i)
{
	const uint64_t in = kh_text_first(n - 32 * i < 32 ? n - 32 * i : 32);

	to->base[i] = ~kh_text_reverse_word(read->base, n, i) & in;
	to->unknown[i] = kh_text_reverse_word(read->unknown, n, i);
}

/* The same of all words, each of which is reversed once; reads with unknown bases are few. */
static KH_HD void kh_text_turn(kh_oriented *to, const kh_oriented *read, uint32_t n)
{
	const uint32_t words = (n + 31) / 32;
	const unsigned sh = 2 * (32 * words - n);
	uint64_t any = 0, x;

	if (words == 0)                 /* as of the second mate of a single read */
		return;
	x = kh_kmer_reverse(read->base[words - 1], 32);
	KH_ROLLED
	for (uint32_t i = 0; i < words; i++) {
		const uint64_t y = i + 1 < words ? kh_kmer_reverse(read->base[words - 2 - i], 32)
						 : 0;

		to->base[i] = ~(sh ? x >> sh | y << (64 - sh) : x);
		to->unknown[i] = 0;
		any |= read->unknown[i];
		x = y;
	}
	to->base[words - 1] &= kh_text_first(n - 32 * (words - 1));
	KH_ROLLED
	for (uint32_t i = 0; any != 0 && i < words; i++)
		to->unknown[i] = kh_text_reverse_word(read->unknown, n, i);
}

/* Both. */
static KH_HD void kh_text_read(kh_oriented to[2], const uint64_t *bases, const uint32_t *amb,
			       uint64_t at, uint32_t n)
{
	kh_text_take(&to[0], bases, amb, at, n);
	kh_text_turn(&to[1], &to[0], n);
}

#endif
