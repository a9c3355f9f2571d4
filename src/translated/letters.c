/* letters.c - letters of codons, and their keys: letters.h */
#include <config.h>
#include "translated/letters.h"

#include <string.h>
#include "base/simd.h"
#include "kmer/text.h"

const uint8_t kh_letter_of[64] = {
	14, 13, 10, 16, 6, 7, 3, 5, 14, 14, 4, 16, 1, 0, 1, 0,
	12, 15, 11, 8, 6, 7, 3, 5, 5, 14, 4, 2, 1, 0, 1, 8,
	14, 13, 10, 16, 6, 7, 3, 5, 14, 14, 4, 9, 0, 0, 1, 0,
	12, 15, 11, 8, 6, 7, 3, 5, 5, 14, 4, 2, 1, 0, 1, 8,
};

const uint8_t kh_letter_of_reverse[64] = {
	8, 0, 8, 0, 2, 9, 2, 16, 5, 5, 5, 5, 8, 16, 8, 16,
	1, 1, 1, 1, 4, 4, 4, 4, 3, 3, 3, 3, 11, 10, 11, 10,
	0, 0, 0, 0, 14, 14, 14, 14, 7, 7, 7, 7, 15, 13, 15, 13,
	1, 0, 1, 1, 5, 14, 5, 14, 6, 6, 6, 6, 12, 14, 12, 14,
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

uint64_t kh_stops(uint64_t x, uint64_t next, bool code_4)
{
	const struct which first = which(x), second = which(x >> 2 | next << 62),
			   third = which(x >> 4 | next << 60);

	const uint64_t tga = code_4 ? 0 : second.g & third.a;

	return first.t & ((second.a & (third.a | third.g)) | tga);
}

uint64_t kh_stops_reverse(uint64_t x, uint64_t next, bool code_4)
{
	const struct which first = which(x), second = which(x >> 2 | next << 62),
			   third = which(x >> 4 | next << 60);
	const uint64_t c = ~(first.a | first.g | first.t) & KH_TEXT_LOW;
	const uint64_t second_c = ~(second.a | second.g | second.t) & KH_TEXT_LOW;

	const uint64_t tga = code_4 ? 0 : second_c & first.t;

	return third.a & ((second.t & (first.t | c)) | tga);
}

enum {
	LETTER_W = 9,
	MATE = 3                /* words of 64 letters, as most mates have them */
};

/* --- letters -------------------------------------------------------------------------- */
void kh_letters(const uint64_t *base, uint64_t at, uint32_t n, uint8_t *letter)
{
	for (uint32_t i = 0; i < n; i += 10) {  /* codons of 32 bases */
		const uint32_t some = n - i < 10 ? n - i : 10;
		uint64_t x = kh_bases_at(base, at + 3 * (uint64_t)i);

		for (uint32_t j = 0; j < some; j++, x >>= 6) {
			const uint8_t is = kh_letter_of[x & 63];

			/* a stop is TGA, of references of code 4 */
			letter[i + j] = is == KH_STOP ? LETTER_W : is;
		}
	}
}

static void of_read(const uint64_t *base, uint32_t n, uint8_t *letter, uint8_t *reverse)
{
	const uint32_t codons = n - 2;
	uint8_t *back = reverse + codons;

	for (uint32_t i = 0; i < codons; i++) {
		const uint64_t codon = kh_bases_at(base, i) & 63;

		letter[i] = kh_letter_of[codon];
		*--back = kh_letter_of_reverse[codon];
	}
}

void kh_letters_hide(const uint64_t *unknown, uint32_t n, uint8_t *letter, uint8_t *reverse)
{
	const uint32_t codons = n - 2;

	for (uint32_t w = 0; 32 * w < n; w++)
		for (uint64_t x = unknown[w]; x; x &= x - 1) {
			const uint32_t at = 32 * w + kh_text_lowest(x);

			for (uint32_t i = at < 2 ? 0 : at - 2; i <= at && i < codons; i++)
				letter[i] = reverse[codons - 1 - i] = KH_STOP;
		}
}

/* --- keys ----------------------------------------------------------------------------- */
static void sample(kh_letter_keys *s, uint32_t k, uint32_t step, const uint8_t *letter, uint32_t n)
{
	const uint32_t others = k - KH_SMER;
	uint16_t order[KH_LETTERS_ROOM];

	for (uint32_t i = 0; i < n + step * others; i++) {
		s->smer[i] = (uint16_t)(letter[i] << 12 | letter[i + step] << 8 |
					letter[i + 2 * step] << 4 | letter[i + 3 * step]);
		order[i] = (uint16_t)(s->smer[i] * (uint32_t)KH_SMER_ORDER);
	}
	memset(s->open, 0, sizeof s->open);
	memset(s->kept, 0, sizeof s->kept);
	for (uint32_t i = 0; i < n; i++) {
		const uint16_t middle = order[i + step * others / 2];
		uint64_t lesser = 0;

		for (uint32_t m = 0; m <= others; m++)
			lesser |= order[i + step * m] < middle;
		s->kept[i / 64] |= (lesser ^ 1) << i % 64;
		s->open[i / 64] |= (uint64_t)(letter[i] != KH_STOP) << i % 64;
	}
}

/* Keeps the bits that have n - 1 others behind them, each the third one from the one before. */
static inline void keep_rows(uint64_t *x, uint32_t words, uint32_t n)
{
	for (uint32_t have = 1, more; have < n; have += more) {
		more = have < n - have ? have : n - have;
		KH_UNROLLED
		for (uint32_t i = 0; i < words; i++)
			x[i] &= x[i] >> 3 * more | x[i + 1] << (64 - 3 * more);
	}
}

/* Sets the n - 1 bits behind each in the same way. */
static inline void fill_rows(uint64_t *x, uint32_t words, uint32_t n)
{
	for (uint32_t have = 1, more; have < n; have += more) {
		more = have < n - have ? have : n - have;
		KH_UNROLLED
		for (uint32_t i = words; i-- > 1;)
			x[i] |= x[i] << 3 * more | x[i - 1] >> (64 - 3 * more);
		x[0] |= x[0] << 3 * more;
	}
}

void kh_letters_rows(const kh_letter_keys *s, uint32_t n, uint32_t row, uint32_t k,
		     uint64_t at[KH_LETTERS_WORDS + 1])
{
	const uint32_t words = (n + 63) / 64;

	for (uint32_t i = 0; i <= words || i <= MATE; i++)
		at[i] = i < words ? s->open[i] : 0;
	if (words <= MATE) {
		keep_rows(at, MATE, row);
		fill_rows(at, MATE, row - k + 1);
	} else {
		keep_rows(at, words, row);
		fill_rows(at, words, row - k + 1);
	}
}

const kh_letters_by *kh_letters_best(void)
{
	static const kh_letters_by plain = { of_read, sample };
	const kh_letters_by *best = kh_simd_most() > 0 ? kh_letters_avx2() : NULL;

	return best ? best : &plain;
}
