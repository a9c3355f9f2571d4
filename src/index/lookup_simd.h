/*
 * lookup_simd.h - the look-up and the check of index.h, a bucket at a time: 1.15 times as many
 * pairs as without (doc/speed.md)
 *
 * kh_index_find() and kh_index_check() are the specification.  Here the 19 tags and
 * lengths of a bucket are compared and added up at once, without branches on what is in
 * them: SSE2, which every x86-64 has, and SIMDe (kmer/avx2.h) says in NEON on AArch64.
 * Elsewhere the specification is used.
 */
#ifndef KH_INDEX_LOOKUP_SIMD_H
#define KH_INDEX_LOOKUP_SIMD_H

#include <stdbool.h>
#include <string.h>
#include "index/index.h"

#ifdef __SSE2__
#define KH_PROBE_SIMD
#include <emmintrin.h>
#elif defined __AARCH64EL__ && defined HAVE_SIMDE_X86_AVX2_H
#define KH_PROBE_SIMD
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/sse2.h>
#endif

#ifdef KH_PROBE_SIMD
/* A bit for each of the 19 positions that holds `tag`. */
static inline uint32_t kh_probe_tags(const kh_bucket *b, uint32_t tag)
{
	const __m128i t = _mm_set1_epi16((short)tag);
	__m128i lo = _mm_loadu_si128((const __m128i *)b->tag);
	__m128i mid = _mm_loadu_si128((const __m128i *)(b->tag + 8));
	__m128i hi = _mm_loadu_si128((const __m128i *)(b->tag + KH_BUCKET_SLOTS - 8));

	lo = _mm_packs_epi16(_mm_cmpeq_epi16(lo, t), _mm_cmpeq_epi16(mid, t));
	hi = _mm_packs_epi16(_mm_cmpeq_epi16(hi, t), _mm_setzero_si128());
	return (uint32_t)_mm_movemask_epi8(lo) |
	       (uint32_t)_mm_movemask_epi8(hi) << (KH_BUCKET_SLOTS - 8);
}

/* A bit for each position but the first whose tag is not above the one before it. */
static inline uint32_t kh_probe_falls(const kh_bucket *b)
{
	static const int from[3] = { 0, 8, KH_BUCKET_SLOTS - 9 };
	const __m128i zero = _mm_setzero_si128();
	__m128i f[3];

	for (int i = 0; i < 3; i++) {
		__m128i before = _mm_loadu_si128((const __m128i *)(b->tag + from[i]));
		__m128i tag = _mm_loadu_si128((const __m128i *)(b->tag + from[i] + 1));

		f[i] = _mm_cmpeq_epi16(_mm_subs_epu16(tag, before), zero);
	}
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(f[0], f[1])) << 1 |
	       (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(f[2], zero)) << (KH_BUCKET_SLOTS - 8);
}

/* A bit for each of the 19 positions that has length `len`. */
static inline uint32_t kh_probe_lens(const kh_bucket *b, int len)
{
	const __m128i v = _mm_set1_epi8((char)len);
	__m128i lo = _mm_loadu_si128((const __m128i *)b->len);
	__m128i hi = _mm_loadu_si128((const __m128i *)(b->len + KH_BUCKET_SLOTS - 16));

	return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(lo, v)) |
	       (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(hi, v)) << (KH_BUCKET_SLOTS - 16);
}

/* The words of the positions before i.  Few lists are overpopulated, and few positions are among
 * the last three. */
static inline uint32_t kh_probe_words(const kh_bucket *b, int i)
{
	static const uint8_t before[32] = { 255, 255, 255, 255, 255, 255, 255, 255,
					    255, 255, 255, 255, 255, 255, 255, 255 };
	const __m128i mask = _mm_loadu_si128((const __m128i *)(before + 16 - (i < 16 ? i : 16)));
	const __m128i len = _mm_and_si128(_mm_loadu_si128((const __m128i *)b->len), mask);
	const __m128i sum = _mm_sad_epu8(len, _mm_setzero_si128());
	const __m128i is_over = _mm_cmpeq_epi8(len, _mm_set1_epi8((char)KH_LIST_OVER));
	uint32_t n = (uint32_t)_mm_cvtsi128_si32(sum) + (uint32_t)_mm_extract_epi16(sum, 4);

	for (int over = _mm_movemask_epi8(is_over); over; over &= over - 1)
		n -= KH_LIST_OVER - 1;
	for (int j = 16; j < i; j++)
		n += kh_list_words(b->len[j]);
	return n;
}

/* A bit for each position in use. */
static inline uint32_t kh_probe_used(const kh_bucket *b)
{
	return kh_probe_lens(b, 0) ^ 0x7ffffu;
}

/* kh_bucket_base(); both kinds of processors are little endian. */
static inline uint64_t kh_probe_base(const kh_bucket *b)
{
	uint64_t x;

	memcpy(&x, b, sizeof x);
	return x & ((UINT64_C(1) << 48) - 1);
}

static inline kh_list kh_probe_list(const kh_range *r, const kh_bucket *b, int i, uint32_t bits)
{
	kh_list l;

	l.bit = kh_range_word(r, kh_probe_base(b) + kh_probe_words(b, i), bits);
	l.n = kh_list_words(b->len[i]);
	l.over = b->len[i] == KH_LIST_OVER;
	return l;
}

/* The list of the lowest position in `match`, unless it is unused, which tag 0 matches, too: it
 * lies behind all that are used. */
static inline kh_list kh_probe_first(const kh_range *r, const kh_bucket *b, uint32_t match,
				     uint32_t bits)
{
	const int i = match ? __builtin_ctz(match) : 0;
	const kh_list none = { 0, 0, 0 };

	return match && b->len[i] ? kh_probe_list(r, b, i, bits) : none;
}

/* kh_index_find(), the home bucket (place >> 16 of range r) being known. */
static inline kh_list kh_probe_find(const kh_range *r, const kh_bucket *b, uint32_t tag,
				    uint32_t bits)
{
	uint32_t carried = (1u << (b->flags & KH_BUCKET_CARRIED)) - 1;
	const uint32_t match = kh_probe_tags(b, tag) & ~carried;

	if (match || !kh_bucket_goes_on(b, tag))
		return kh_probe_first(r, b, match, bits);
	b++;
	carried = (1u << (b->flags & KH_BUCKET_CARRIED)) - 1;
	return kh_probe_first(r, b, kh_probe_tags(b, tag) & carried, bits);
}
#else
static inline kh_list kh_probe_find(const kh_range *r, const kh_bucket *b, uint32_t tag,
				    uint32_t bits)
{
	return kh_bucket_find(r, b, tag, bits);
}
#endif

/* True only if kh_index_check() accepts the range. If false, kh_index_check() says why, or
 * accepts it still, if there are more taxa than bins. The buckets must lie before the locations,
 * as they do in a file. */
bool kh_probe_sound(const void *image, const kh_range *r, uint32_t n_bins, uint32_t n_taxa);

#endif
