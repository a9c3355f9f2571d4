/* many_avx512.c - many.h, eight at a time: genomes are added 1.36 times as fast (doc/speed.md) */
#include <config.h>
#include "index/many.h"

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#include <string.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,bmi2")))

static inline __mmask8 lanes(size_t left)
{
	return left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
}

/* Where the bytes of eight words go, of those with an even and of those with an odd number: words
 * of 8 bits and more share bytes with their neighbours, but not with the next but one. */
struct packing {
	unsigned char from[2][64];
	uint64_t used[2];               /* bytes that have some of such a word */
};

static void find_bytes(struct packing *p, uint32_t bits)
{
	*p = (struct packing) { .used = { 0 } };
	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t first = i * bits / 8, last = (i * bits + bits - 1) / 8;

		for (uint32_t at = first; at <= last; at++) {
			p->from[i % 2][at] = (unsigned char)(8 * i + at - first);
			p->used[i % 2] |= UINT64_C(1) << at;
		}
	}
}

AVX512 static void pack(uint32_t *word, uint64_t n, uint32_t bits)
{
	const uint64_t eights = n / 8 * 8;
	unsigned char *out = (unsigned char *)word;
	uint32_t rest[8] = { 0 };
	struct packing p;

	if (bits < 8 || bits == 32 || n == 0) {
		kh_many_plain()->pack(word, n, bits);
		return;
	}
	find_bytes(&p, bits);
	const __m512i even = _mm512_loadu_si512(p.from[0]), odd = _mm512_loadu_si512(p.from[1]);
	const __m512i at = _mm512_mullo_epi64(_mm512_set1_epi64(bits),
					      _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
	const __m512i shift = _mm512_and_si512(at, _mm512_set1_epi64(7));
	const __mmask64 bytes = (UINT64_C(1) << bits) - 1;

	for (uint64_t i = 0; i < eights; i += 8, out += bits) {
		const __m256i eight = _mm256_loadu_si256((const __m256i *)(word + i));
		const __m512i x = _mm512_sllv_epi64(_mm512_cvtepu32_epi64(eight), shift);
		const __m512i y =
			_mm512_or_si512(_mm512_maskz_permutexvar_epi8(p.used[0], even, x),
					_mm512_maskz_permutexvar_epi8(p.used[1], odd, x));

		_mm512_mask_storeu_epi8(out, bytes, y);
	}
	/* the others, and zeros */
	memcpy(rest, word + eights, (size_t)(n - eights) * sizeof *rest);
	kh_many_plain()->pack(rest, 8, bits);
	memcpy(out, rest, (size_t)((n * bits + 31) / 32 * 4 - eights / 8 * bits));
}

/* Eight words are `bits` bytes, so in each eight the same bytes make a word, shifted by the
 * same. */
AVX512 static void unpack(const void *p, uint64_t bit, uint32_t bits, uint32_t *word, size_t n)
{
	const unsigned char *from = (const unsigned char *)p + (bit >> 3);
	const __m512i first = _mm512_add_epi64(
		_mm512_mullo_epi64(_mm512_set1_epi64(bits),
				   _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)),
		_mm512_set1_epi64((long long)(bit & 7)));
	const __m512i shift = _mm512_and_si512(first, _mm512_set1_epi64(7));
	const __m512i ones = _mm512_set1_epi64(0x0101010101010101);
	/* of each lane the byte of its first bit, and the seven behind it */
	const __m512i byte = _mm512_add_epi8(
		_mm512_mullo_epi64(_mm512_srli_epi64(first, 3), ones),
		_mm512_set1_epi64(0x0706050403020100));
	const __m512i mask = _mm512_set1_epi64((long long)((UINT64_C(1) << bits) - 1));

	for (size_t i = 0; i < n; i += 8, from += bits) {
		const size_t words = n - i < 8 ? n - i : 8;
		const size_t bytes = ((bit & 7) + words * bits + 7) / 8;
		__m512i x = _mm512_maskz_loadu_epi8((UINT64_C(1) << bytes) - 1, from);

		x = _mm512_srlv_epi64(_mm512_permutexvar_epi8(byte, x), shift);
		_mm512_mask_cvtepi64_storeu_epi32(word + i, lanes(n - i),
						  _mm512_and_si512(x, mask));
	}
}

/* The quotient of two numbers below 2^53 by doubles is right or, next to a whole number, 1 too
 * high or low; what is left tells.  So ceil(place * 2^24 / B) is the quotient q and 1 more if
 * something is left of place * 2^24 - q * B, and 1 more if that exceeds B. */
AVX512 static inline __m512i least_keys(__m512i place, __m512i B, __m512d per_place)
{
	const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi64(1);
	const __m512i q =
		_mm512_cvttpd_epu64(_mm512_mul_pd(_mm512_cvtepu64_pd(place), per_place));
	const __m512i left =
		_mm512_sub_epi64(_mm512_slli_epi64(place, 24), _mm512_mullo_epi64(q, B));
	const __m512i up = _mm512_mask_add_epi64(q, _mm512_cmpgt_epi64_mask(left, zero), q, one);

	return _mm512_mask_add_epi64(up, _mm512_cmpgt_epi64_mask(left, B), up, one);
}

AVX512 static bool keys(uint64_t *place, const uint32_t *rest, size_t n, uint32_t B, uint64_t least)
{
	const __m512i b = _mm512_set1_epi64(B);
	const __m512d per_place = _mm512_set1_pd((double)(1 << 24) / B);
	__m512i before = _mm512_set1_epi64((long long)least - 1), wrong = _mm512_setzero_si512();
	__mmask8 falls = 0;

	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 k = lanes(n - i);
		const __m512i at = _mm512_maskz_loadu_epi64(k, place + i);
		const __m512i more = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(k, rest + i));
		const __m512i key = _mm512_add_epi64(least_keys(at, b, per_place), more);
		const __m512i there = _mm512_srli_epi64(_mm512_mullo_epi64(key, b), 24);

		wrong = _mm512_mask_or_epi64(wrong, k, wrong, _mm512_xor_si512(there, at));
		wrong = _mm512_mask_or_epi64(wrong, k, wrong, _mm512_srli_epi64(key, 40));
		before = _mm512_alignr_epi64(key, before, 7);
		falls |= _mm512_mask_cmple_epi64_mask(k, key, before);
		before = key;
		_mm512_mask_storeu_epi64(place + i, k, key);
	}
	return !falls && _mm512_test_epi64_mask(wrong, wrong) == 0;
}

/* A half more than a number below 2^24, divided by a whole number, is not next to a whole one. */
AVX512 static void places(const uint64_t *key, size_t n, uint32_t B, uint64_t *place,
			  uint32_t *rest)
{
	const __m512i b = _mm512_set1_epi64(B), low = _mm512_set1_epi64(0xffffff);
	const __m512d half = _mm512_set1_pd(0.5), by_b = _mm512_set1_pd(1.0 / B);

	for (size_t i = 0; i < n; i += 8) {
		const __mmask8 k = lanes(n - i);
		const __m512i z = _mm512_mullo_epi64(_mm512_maskz_loadu_epi64(k, key + i), b);

		_mm512_mask_storeu_epi64(place + i, k, _mm512_srli_epi64(z, 24));
		if (!rest)
			continue;
		const __m512d behind = _mm512_cvtepu64_pd(_mm512_and_si512(z, low));
		const __m512d exact = _mm512_mul_pd(_mm512_add_pd(behind, half), by_b);

		_mm256_mask_storeu_epi32(rest + i, k, _mm512_cvttpd_epi32(exact));
	}
}

AVX512 static void homes(const kh_bucket *b, uint64_t number, uint64_t *place)
{
	const __m512i home = _mm512_set1_epi64((long long)(number << 16));

	for (unsigned i = 0; i < KH_BUCKET_SLOTS; i += 8) {
		const __mmask8 k = lanes(KH_BUCKET_SLOTS - i);
		const __m128i tag = _mm_maskz_loadu_epi16(k, b->tag + i);

		_mm512_mask_storeu_epi64(place + i, k,
					 _mm512_or_si512(home, _mm512_cvtepu16_epi64(tag)));
	}
}

AVX512 static bool move(uint32_t *word, size_t n, const kh_steps *steps, uint32_t end)
{
	const __m512i all = _mm512_set1_epi32((int)end);
	__mmask16 wrong = 0;

	for (size_t i = 0; i < n; i += 16) {
		const size_t left = n - i;
		const __mmask16 k = left >= 16 ? 0xffff : (__mmask16)((1u << left) - 1);
		const __m512i x = _mm512_maskz_loadu_epi32(k, word + i);
		__m512i to = x;

		wrong |= _mm512_mask_cmpge_epu32_mask(k, x, all);
		for (uint32_t s = 0; s < steps->n; s++) {
			const __m512i at = _mm512_set1_epi32((int)steps->at[s]);
			const __m512i by = _mm512_set1_epi32((int)steps->by[s]);

			to = _mm512_mask_add_epi32(to, _mm512_cmpge_epu32_mask(x, at), to, by);
		}
		_mm512_mask_storeu_epi32(word + i, k, to);
	}
	return !wrong;
}

static const kh_many avx512 = { "avx512", pack, unpack, keys, places, homes, move };

const kh_many *kh_many_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
			       __builtin_cpu_supports("avx512dq") &&
			       __builtin_cpu_supports("avx512vl") &&
			       __builtin_cpu_supports("avx512vbmi")
		       ? &avx512
		       : NULL;
}
#else
const kh_many *kh_many_avx512(void)
{
	return NULL;
}
#endif
