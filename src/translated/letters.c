/* letters.c - letters of codons, and their keys: letters.h */
#include <config.h>
#include "translated/letters.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif
#include "text/text.h"

#define ORDER UINT32_C(40503)           /* an odd number: orders are all different */

/* By codon, its first base in the lowest bits; 16: a stop. */
static const uint8_t letter_of[64] = {
	14, 13, 10, 16, 6, 7, 3, 5, 14, 14, 4, 16, 1, 0, 1, 0,
	12, 15, 11, 8, 6, 7, 3, 5, 5, 14, 4, 2, 1, 0, 1, 8,
	14, 13, 10, 16, 6, 7, 3, 5, 14, 14, 4, 9, 0, 0, 1, 0,
	12, 15, 11, 8, 6, 7, 3, 5, 5, 14, 4, 2, 1, 0, 1, 8,
};

uint32_t kh_key_len(uint64_t bases)
{
	return bases <= KH_KEY_BASES_8 ? 8 : KH_KEY_MOST;
}

/* --- stops ---------------------------------------------------------------------------- */
/* The bases that are A, G, or T: low bits; C is what is left. */
struct which {
	uint64_t a, g, t;
};

static struct which which(uint64_t x)
{
	const uint64_t lo = x & KH_TEXT_LOW, hi = x >> 1 & KH_TEXT_LOW;

	return (struct which) { ~(lo | hi) & KH_TEXT_LOW, hi & ~lo, hi & lo };
}

uint64_t kh_stops(uint64_t x, uint64_t next)
{
	const struct which first = which(x), second = which(x >> 2 | next << 62),
			   third = which(x >> 4 | next << 60);

	return first.t & ((second.a & (third.a | third.g)) | (second.g & third.a));
}

uint64_t kh_stops_reverse(uint64_t x, uint64_t next)
{
	const struct which first = which(x), second = which(x >> 2 | next << 62),
			   third = which(x >> 4 | next << 60);
	const uint64_t c = ~(first.a | first.g | first.t) & KH_TEXT_LOW;
	const uint64_t second_c = ~(second.a | second.g | second.t) & KH_TEXT_LOW;

	return third.a & ((second.t & (first.t | c)) | (second_c & first.t));
}

/* Of the reverse complement of a codon. */
static const uint8_t letter_of_reverse[64] = {
	8, 0, 8, 0, 2, 9, 2, 16, 5, 5, 5, 5, 8, 16, 8, 16,
	1, 1, 1, 1, 4, 4, 4, 4, 3, 3, 3, 3, 11, 10, 11, 10,
	0, 0, 0, 0, 14, 14, 14, 14, 7, 7, 7, 7, 15, 13, 15, 13,
	1, 0, 1, 1, 5, 14, 5, 14, 6, 6, 6, 6, 12, 14, 12, 14,
};

/* --- keys ----------------------------------------------------------------------------- */
void kh_letters_reverse(const uint64_t *base, uint64_t end, uint32_t n, uint8_t *letter)
{
	uint64_t x = 0;

	for (uint32_t i = 0; i < n; i++) {      /* ten codons of 32 bases, the last one highest */
		const uint32_t in = i % 10;

		if (in == 0) {
			const uint64_t from = end - 3 * (uint64_t)i;

			x = from >= 30 ? kh_bases_at(base, from - 30)
				       : kh_bases_at(base, 0) << 2 * (30 - from);
		}
		letter[i] = letter_of_reverse[x >> (54 - 6 * in) & 63];
	}
}

void kh_letters(const uint64_t *base, uint64_t at, uint32_t n, uint8_t *letter)
{
	uint64_t x = 0;

	for (uint32_t i = 0; i < n; i++) {      /* ten codons of 32 bases */
		x = i % 10 == 0 ? kh_bases_at(base, at + 3 * (uint64_t)i) : x >> 6;
		letter[i] = letter_of[x & 63];
	}
}

enum { PART = 8 };              /* letters at a time */

#if defined __SSE2__
/* PART letters from that on, as numbers of 16 bits. */
static __m128i letters_at(const uint8_t *letter)
{
	return _mm_unpacklo_epi8(_mm_loadl_epi64((const void *)letter), _mm_setzero_si128());
}

/* The PART s-mers that begin at these letters, and their orders. */
static void smers(const uint8_t *letter, uint16_t *smer, uint16_t *order)
{
	const __m128i a = _mm_slli_epi16(letters_at(letter), 12);
	const __m128i b = _mm_slli_epi16(letters_at(letter + 1), 8);
	const __m128i c = _mm_slli_epi16(letters_at(letter + 2), 4);
	const __m128i x = _mm_or_si128(_mm_or_si128(a, b),
				       _mm_or_si128(c, letters_at(letter + 3)));

	_mm_storeu_si128((void *)smer, x);
	_mm_storeu_si128((void *)order, _mm_mullo_epi16(x, _mm_set1_epi16((short)ORDER)));
}

/* A bit for each of PART letters at which a key of `others` + 1 s-mers is kept. */
static uint32_t kept_keys(const uint16_t *order, uint32_t others)
{
	const __m128i middle = _mm_loadu_si128((const void *)(order + others / 2));
	__m128i above = _mm_setzero_si128();    /* by how much the middle one's is greater */

	for (uint32_t m = 0; m <= others; m++)
		above = _mm_or_si128(above, _mm_subs_epu16(middle, _mm_loadu_si128(
								   (const void *)(order + m))));
	above = _mm_cmpeq_epi16(above, _mm_setzero_si128());
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(above, _mm_setzero_si128()));
}
#else
static void smers(const uint8_t *letter, uint16_t *smer, uint16_t *order)
{
	for (uint32_t i = 0; i < PART; i++) {
		smer[i] = (uint16_t)(letter[i] << 12 | letter[i + 1] << 8 | letter[i + 2] << 4 |
				     letter[i + 3]);
		order[i] = (uint16_t)(smer[i] * ORDER);
	}
}

static uint32_t kept_keys(const uint16_t *order, uint32_t others)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < PART; i++) {
		uint32_t lesser = 0;

		for (uint32_t m = 0; m <= others; m++)
			lesser |= order[i + m] < order[i + others / 2];
		kept |= !lesser << i;
	}
	return kept;
}
#endif

size_t kh_keys_sample(uint32_t k, const uint8_t *letter, uint32_t n, uint32_t *key, uint32_t *pos)
{
	uint16_t smer[KH_RUN_ROOM], order[KH_RUN_ROOM];
	const uint32_t starts = n < k ? 0 : n - k + 1;
	size_t kept = 0;

	for (uint32_t i = 0; i < n; i += PART)
		smers(letter + i, smer + i, order + i);
	for (uint32_t i = 0; i < starts; i += PART) {
		uint32_t some = kept_keys(order + i, k - KH_SMER);

		if (starts - i < PART)
			some &= (UINT32_C(1) << (starts - i)) - 1;
		for (; some; some &= some - 1) {
			const uint32_t at = i + (uint32_t)__builtin_ctz(some);
			const uint64_t first = (uint64_t)smer[at] << 16 | smer[at + 4];

			key[kept] = kh_key_mix(k == 8 ? first : first << 8 | smer[at + 6] % 256);
			pos[kept++] = at;
		}
	}
	return kept;
}
