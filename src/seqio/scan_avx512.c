/*
 * scan_avx512.c - sequence lines and FASTQ records, 64 bytes at a time
 *
 * As scan_avx2.c, with mask registers; line feeds are taken out by compressing the bytes (in
 * registers: compressing into memory is slow on some machines).
 */
#include <config.h>
#include "seqio/scan_in.h"

#include <string.h>

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>

#define AVX512                                                                           \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,popcnt")))
#define AVX512_INLINE static inline AVX512 __attribute__((always_inline))

AVX512_INLINE __m512i all(const char lane[16])
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)lane));
}

AVX512_INLINE __m512i load(const char *s)
{
	return _mm512_loadu_si512(s);
}

AVX512_INLINE uint64_t equal(__m512i v, char c)
{
	return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(c));
}

/* 2-bit codes in bytes, 0 where there is no base; *amb: there. */
AVX512_INLINE __m512i codes(__m512i v, uint64_t *amb)
{
	static const char code[16] = { 0, 0, 0, 1, 3, 3, 0, 2 };
	static const char letter[16] = { 1, 'A', 1, 'C', 'T', 'U', 1, 'G',
					 1, 1, 1, 1, 1, 1, 1, 1 };
	__m512i up = _mm512_and_si512(v, _mm512_set1_epi8((char)0xdf));
	__mmask64 is = _mm512_cmpeq_epi8_mask(up, _mm512_shuffle_epi8(all(letter), v));

	*amb = ~(uint64_t)is;
	return _mm512_maskz_shuffle_epi8(is, all(code), v);
}

struct two {
	uint64_t lo, hi;
};

AVX512_INLINE struct two squeeze(__m512i c)
{
	__m512i by2 = _mm512_maddubs_epi16(c, _mm512_set1_epi16(0x0401));
	__m512i by4 = _mm512_madd_epi16(by2, _mm512_set1_epi32(0x00100001));
	__m128i out = _mm512_cvtepi32_epi8(by4);

	return (struct two) { (uint64_t)_mm_cvtsi128_si64(out),
			      (uint64_t)_mm_extract_epi64(out, 1) };
}

/* scan_avx2.c explains the tables. */
AVX512_INLINE uint64_t ambiguous64(__m512i v)
{
	static const char low[16] = { 0,     0, 2 | 4, 4, 2, 0,     4,     4,
				      2 | 4, 4, 1,     2, 0, 1 | 2, 1 | 2, 0 };
	static const char high[16] = { 0, 0, 1, 0, 2, 4, 2, 4 };
	__m512i h = _mm512_and_si512(_mm512_srli_epi16(v, 4), _mm512_set1_epi8(15));

	return _mm512_test_epi8_mask(_mm512_shuffle_epi8(all(low), v),
				     _mm512_shuffle_epi8(all(high), h));
}

AVX512_INLINE uint64_t below(uint64_t mask, size_t n)
{
	return n < 64 ? _bzhi_u64(mask, (unsigned)n) : mask;
}

/* The index of the first bad byte among those that are not bases, or 64. */
AVX512_INLINE size_t first_bad(__m512i v, uint64_t amb)
{
	return amb ? _tzcnt_u64(amb & ~ambiguous64(v)) : 64;
}

/* n <= 64; bits from n on are clear. */
AVX512_INLINE void sink_add(struct kh_sink *k, struct two b, uint64_t amb, unsigned n)
{
	unsigned r = k->r;
	uint64_t x0 = k->bases | b.lo << 2 * r;
	uint64_t x1 = b.lo >> 1 >> (63 - 2 * r) | b.hi << 2 * r;
	uint64_t x2 = b.hi >> 1 >> (63 - 2 * r);
	uint64_t a = k->amb | amb << r;
	uint32_t a2 = (uint32_t)(amb >> 1 >> (63 - r));

	k->to->bases[k->w] = x0;
	k->to->bases[k->w + 1] = x1;
	k->to->amb[k->w] = (uint32_t)a;
	k->to->amb[k->w + 1] = (uint32_t)(a >> 32);
	r += n;
	k->bases = r < 32 ? x0 : r < 64 ? x1 : x2;
	k->amb = r < 32 ? (uint32_t)a : r < 64 ? (uint32_t)(a >> 32) : a2;
	k->w += r >> 5;
	k->r = r & 31;
}

AVX512 size_t kh_scan_lines_avx512(const kh_packed *to, kh_seq_lines *l, const char *s, size_t n)
{
	struct kh_sink k = kh_sink_at(to, l->at);
	size_t i = 0, here = 64;

	l->n = l->last = 0;
	for (; i < n && here == 64; i += here) {
		uint64_t amb;
		__m512i v = load(s + i), c = codes(v, &amb);
		uint64_t feed = equal(v, '\n');

		here = first_bad(v, amb & ~feed);
		if (n - i < here)
			here = n - i;
		uint64_t keep = below(~feed, here);
		unsigned taken = (unsigned)_mm_popcnt_u64(keep);
		feed = below(feed, here);
		sink_add(&k, squeeze(_mm512_maskz_compress_epi8(keep, c)),
			 _pext_u64(amb, keep), taken);
		l->at += taken;
		l->n += (unsigned)_mm_popcnt_u64(feed);
		if (feed)
			l->last = i + 64 - (unsigned)__builtin_clzll(feed);
	}
	kh_sink_end(&k);
	return i;
}

#define FASTQ_FN AVX512_INLINE
/* Few bytes of a header are blanks or control characters: one comparison finds all of them. */
AVX512_INLINE size_t header_end(const char *text, size_t from, size_t to, size_t *id)
{
	bool in_id = true;

	for (size_t i = from; i < to; i += 64) {
		uint64_t low = _mm512_cmple_epu8_mask(load(text + i), _mm512_set1_epi8(' '));

		for (; low; low &= low - 1) {
			const size_t at = i + _tzcnt_u64(low);
			const char c = text[at];

			if (in_id && (c == ' ' || c == '\t' || c == '\n')) {
				*id = at;
				in_id = false;
			}
			if (c == '\n')
				return at < to ? at : to;
			if (c == '\0' || c == '\r')
				return to;
		}
	}
	return to;
}

AVX512_INLINE void put(const kh_packed *to, size_t word, struct two b, uint64_t amb)
{
	to->bases[word] = b.lo;
	to->bases[word + 1] = b.hi;
	to->amb[word] = (uint32_t)amb;
	to->amb[word + 1] = (uint32_t)(amb >> 32);
}

AVX512_INLINE size_t bases_end(const kh_packed *to, size_t word, const char *text,
			       const kh_text_range *r)
{
	for (size_t i = r->from; i < r->to; i += 64, word += 2) {
		uint64_t amb;
		__m512i v = load(text + i), c = codes(v, &amb);
		const uint64_t feed = equal(v, '\n');

		amb &= _blsmsk_u64(feed) >> (feed != 0);        /* below the line feed */
		put(to, word, squeeze(c), amb);
		if (first_bad(v, amb) < 64)
			return r->to;
		if (feed) {
			const size_t end = i + _tzcnt_u64(feed);

			return end < r->to ? end : r->to;
		}
	}
	return r->to;
}

AVX512_INLINE bool pack_good(const kh_packed *to, size_t word, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i += 64, word += 2) {
		uint64_t amb;
		__m512i v = load(s + i), c = codes(v, &amb);

		amb = below(amb, n - i);
		put(to, word, squeeze(c), amb);
		if (first_bad(v, amb) < 64)
			return false;
	}
	return true;
}

/* Bytes that are no qualities. */
AVX512_INLINE uint64_t no_quality64(__m512i v)
{
	return _mm512_cmpgt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8('!')),
				      _mm512_set1_epi8('~' - '!'));
}

AVX512_INLINE bool quality_good(const char *s, size_t n)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < n; i += 64)
		bad |= below(no_quality64(load(s + i)), n - i);
	return bad == 0;
}

#include "seqio/scan_fastq.inc"

AVX512 size_t kh_scan_fastq_avx512(kh_parsed *h, const kh_text_range *r)
{
	return fastq_loop(h, r);
}

#endif
