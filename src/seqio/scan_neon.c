/*
 * scan_neon.c - 32 bytes at a time, in two vectors
 *
 * Bytes become codes by the shuffles of scan_avx2.c. Four codes come into a byte by shifts to the
 * right within lanes of 16 and then 32 bits, which leave it lowest there. A bit of each byte is
 * taken by adding neighbours up three times, each byte having kept the bit that is its own. There
 * is no way to take line feeds out of packed bits, so that sequence lines are packed one by one.
 */
#include <config.h>
#include "seqio/scan_in.h"

#ifdef __AARCH64EL__
#include <arm_neon.h>

struct text32 {
	uint8x16_t lo, hi;
};

struct chunk {
	uint64_t bases;
	uint32_t amb;           /* not ACGTU */
	uint32_t feed;          /* line feeds */
};

static inline struct text32 load(const char *s)
{
	return (struct text32) { vld1q_u8((const uint8_t *)s), vld1q_u8((const uint8_t *)s + 16) };
}

static inline struct text32 equal(struct text32 v, char c)
{
	const uint8x16_t all = vdupq_n_u8((uint8_t)c);

	return (struct text32) { vceqq_u8(v.lo, all), vceqq_u8(v.hi, all) };
}

static inline struct text32 either(struct text32 a, struct text32 b)
{
	return (struct text32) { vorrq_u8(a.lo, b.lo), vorrq_u8(a.hi, b.hi) };
}

/* Two bits for each byte, of masks of ones: those of a in the low 32, those of b above. */
static inline uint64_t bits_of_two(struct text32 a, struct text32 b)
{
	static const uint8_t own[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
	const uint8x16_t bit = vld1q_u8(own);
	uint8x16_t of_a = vpaddq_u8(vandq_u8(a.lo, bit), vandq_u8(a.hi, bit));
	uint8x16_t of_b = vpaddq_u8(vandq_u8(b.lo, bit), vandq_u8(b.hi, bit));
	uint8x16_t four = vpaddq_u8(of_a, of_b);

	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(four, four)), 0);
}

static inline uint32_t bits_of(struct text32 a)
{
	return (uint32_t)bits_of_two(a, a);
}

/* A mask of the bytes that are ACGTU, *code: their codes, and 0 for all else. */
static inline uint8x16_t codes(uint8x16_t v, uint8x16_t *code)
{
	static const uint8_t number[16] = { 0, 0, 0, 1, 3, 3, 0, 2 };
	static const uint8_t letter[16] = { 1, 'A', 1, 'C', 'T', 'U', 1, 'G',
					    1, 1, 1, 1, 1, 1, 1, 1 };
	uint8x16_t low = vandq_u8(v, vdupq_n_u8(15)), up = vandq_u8(v, vdupq_n_u8(0xdf));
	uint8x16_t is = vceqq_u8(up, vqtbl1q_u8(vld1q_u8(letter), low));

	*code = vandq_u8(vqtbl1q_u8(vld1q_u8(number), low), is);
	return is;
}

/* The lowest byte of each lane gets its four codes. */
static inline uint16x8_t by_four(uint8x16_t code)
{
	uint16x8_t two = vreinterpretq_u16_u8(code);
	uint32x4_t four = vreinterpretq_u32_u16(vsraq_n_u16(two, two, 6));

	return vreinterpretq_u16_u32(vsraq_n_u32(four, four, 12));
}

static inline struct chunk pack32(struct text32 v)
{
	struct text32 code, is = { codes(v.lo, &code.lo), codes(v.hi, &code.hi) };
	uint16x8_t four = vuzp1q_u16(by_four(code.lo), by_four(code.hi));
	uint64_t mask = bits_of_two(is, equal(v, '\n'));

	return (struct chunk) {
		vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(four)), 0),
		~(uint32_t)mask,
		(uint32_t)(mask >> 32),
	};
}

/* Not 0 where a byte is an ambiguous letter; scan_avx2.c explains the tables. */
static inline uint8x16_t ambiguous(uint8x16_t v)
{
	static const uint8_t low[16] = { 0,     0, 2 | 4, 4, 2, 0,     4,     4,
					 2 | 4, 4, 1,     2, 0, 1 | 2, 1 | 2, 0 };
	static const uint8_t high[16] = { 0, 0, 1, 0, 2, 4, 2, 4 };

	return vtstq_u8(vqtbl1q_u8(vld1q_u8(low), vandq_u8(v, vdupq_n_u8(15))),
			vqtbl1q_u8(vld1q_u8(high), vshrq_n_u8(v, 4)));
}

/* The index of the first bad byte among those that are not bases, or n. */
static inline size_t first_bad(struct text32 v, uint32_t amb, size_t n)
{
	const struct text32 letter = { ambiguous(v.lo), ambiguous(v.hi) };
	const uint32_t bad = amb ? amb & ~bits_of(letter) : 0;

	return bad ? (size_t)__builtin_ctz(bad) : n;
}

static inline uint32_t below(uint32_t mask, size_t n)
{
	return n < 32 ? mask & ((UINT32_C(1) << n) - 1) : mask;
}

static inline uint64_t bases_below(uint64_t bases, size_t n)
{
	return n < 32 ? bases & ((UINT64_C(1) << 2 * n) - 1) : bases;
}

/* The first n <= 32 of a chunk. */
static inline void sink_add(struct kh_sink *k, const struct chunk *c, size_t n)
{
	const uint64_t bases = bases_below(c->bases, n);
	const uint32_t amb = below(c->amb, n);

	k->bases |= bases << 2 * k->r;
	k->amb |= amb << k->r;
	k->to->bases[k->w] = k->bases;
	k->to->amb[k->w] = k->amb;
	k->r += (unsigned)n;
	if (k->r >= 32) {
		unsigned used = (unsigned)n - (k->r -= 32);     /* 1 to 32 */

		k->bases = bases >> 1 >> (2 * used - 1);
		k->amb = (uint32_t)((uint64_t)amb >> used);
		k->w++;
	}
}

static size_t neon_pack(const kh_packed *to, uint64_t at, const char *s, size_t n)
{
	struct kh_sink k = kh_sink_at(to, at);
	size_t i = 0, here = 0, good = 0;

	for (; i < n && good == here; i += good) {
		struct text32 v = load(s + i);
		struct chunk c = pack32(v);

		here = n - i < 32 ? n - i : 32;
		good = first_bad(v, below(c.amb, here), here);
		sink_add(&k, &c, good);
	}
	kh_sink_end(&k);
	return i;
}

static size_t neon_lines(const kh_packed *to, kh_seq_lines *l, const char *s, size_t n)
{
	struct kh_sink k = kh_sink_at(to, l->at);
	size_t i = 0, line = 0, good = 0;

	l->n = l->last = 0;
	while (i < n && good == line) {
		struct text32 v = load(s + i);
		struct chunk c = pack32(v);
		size_t here = n - i < 32 ? n - i : 32;

		line = c.feed ? (size_t)__builtin_ctz(c.feed) : 32;
		line = line < here ? line : here;
		good = first_bad(v, below(c.amb, line), line);
		sink_add(&k, &c, good);
		l->at += good;
		i += good;
		if (good == line && line < here) {
			l->last = ++i;
			l->n++;
		}
	}
	kh_sink_end(&k);
	return i;
}

/* Not a quality: by how much a byte is above '!', or 223 and more below it, is above 93. */
static inline struct text32 above_first(struct text32 v)
{
	const uint8x16_t first = vdupq_n_u8('!');

	return (struct text32) { vsubq_u8(v.lo, first), vsubq_u8(v.hi, first) };
}

static inline uint32_t no_quality32(struct text32 v)
{
	const uint8x16_t last = vdupq_n_u8('~' - '!');
	struct text32 q = above_first(v);

	return bits_of((struct text32) { vcgtq_u8(q.lo, last), vcgtq_u8(q.hi, last) });
}

static size_t neon_quality(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i += 32) {
		uint32_t bad = below(no_quality32(load(s + i)), n - i);

		if (bad)
			return i + (size_t)__builtin_ctz(bad);
	}
	return n;
}

#define FASTQ_FN static inline
FASTQ_FN size_t header_end(const char *text, size_t from, size_t to, size_t *id)
{
	bool in_id = true;

	for (size_t i = from; i < to; i += 32) {
		struct text32 v = load(text + i), feed = equal(v, '\n');
		struct text32 stop = either(feed, either(equal(v, '\0'), equal(v, '\r')));
		struct text32 blank = either(feed, either(equal(v, ' '), equal(v, '\t')));
		uint64_t bits = bits_of_two(stop, blank);

		if (in_id && bits >> 32) {
			*id = i + (size_t)__builtin_ctzll(bits >> 32);
			in_id = false;
		}
		if ((uint32_t)bits) {
			size_t at = i + (size_t)__builtin_ctz((uint32_t)bits);

			return at < to && text[at] == '\n' ? at : to;
		}
	}
	return to;
}

FASTQ_FN size_t bases_end(const kh_packed *to, size_t word, const char *text,
			  const kh_text_range *r)
{
	for (size_t i = r->from; i < r->to; i += 32, word++) {
		struct text32 v = load(text + i);
		struct chunk c = pack32(v);
		size_t line = c.feed ? (size_t)__builtin_ctz(c.feed) : 32;

		c.amb = below(c.amb, line);
		to->bases[word] = c.bases;
		to->amb[word] = c.amb;
		if (first_bad(v, c.amb, line) < line)
			return r->to;
		if (c.feed)
			return i + line < r->to ? i + line : r->to;
	}
	return r->to;
}

FASTQ_FN bool pack_good(const kh_packed *to, size_t word, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i += 32, word++) {
		struct text32 v = load(s + i);
		struct chunk c = pack32(v);
		size_t here = n - i < 32 ? n - i : 32;

		c.amb = below(c.amb, here);
		to->bases[word] = c.bases;
		to->amb[word] = c.amb;
		if (first_bad(v, c.amb, here) < here)
			return false;
	}
	return true;
}

FASTQ_FN bool quality_good(const char *s, size_t n)
{
	uint8x16_t most = vdupq_n_u8(0);
	size_t i = 0;

	for (; i + 32 <= n; i += 32) {
		struct text32 q = above_first(load(s + i));

		most = vmaxq_u8(most, vmaxq_u8(q.lo, q.hi));
	}
	return vmaxvq_u8(most) <= '~' - '!' &&
	       (i == n || !below(no_quality32(load(s + i)), n - i));
}

#include "seqio/scan_fastq.inc"

static const kh_scan neon = { "neon", neon_pack, neon_lines, neon_quality, fastq_loop };

const kh_scan *kh_scan_neon(void)
{
	return &neon;
}
#else
const kh_scan *kh_scan_neon(void)
{
	return NULL;
}
#endif
