/*
 * find.h - where blocks and members may begin   [HD]
 *
 * Nearly all of the time goes into refusing quickly: 13 bits, then the lengths of the code for code
 * lengths, which must fill that code's space exactly.  What passes is read as a whole header.  A
 * member's last block is not looked for.
 */
#ifndef KH_CUDA_INFLATE_FIND_H
#define KH_CUDA_INFLATE_FIND_H

#include "cuda/inflate/header.h"

enum { KH_INF_TRAILER = 8 };

/* Bits 0-31 of x at which a block may begin, as far as 13 bits tell: 0, 0, 1, and two numbers of
 * five bits that are below 30. */
static KH_HD uint32_t kh_inf_may_begin(uint64_t x)
{
	return (uint32_t)(~x & ~(x >> 1) & x >> 2 & ~(x >> 4 & x >> 5 & x >> 6 & x >> 7) &
			  ~(x >> 9 & x >> 10 & x >> 11 & x >> 12));
}

/* What the four lengths of three bits in x fill, in 128ths; 129 at most. */
static KH_HD uint8_t kh_inf_filled_by(uint32_t x)
{
	uint32_t sum = 0;

	for (; x; x >>= 3)
		if (x & 7)
			sum += 128u >> (x & 7);
	return (uint8_t)(sum > 129 ? 129 : sum);
}

/* Does the code for code lengths of a block at bit `bit` < 32 of five words fill its space?
 * filled: kh_inf_filled_by of 4096 numbers. */
static KH_HD bool kh_inf_has_precode(const uint8_t *filled, const uint32_t *word, uint32_t bit)
{
	const uint32_t q = bit + 13, r = bit + 17;
	const uint32_t *a = word + (q >> 5), *c = word + (r >> 5);
	const uint32_t n = 3 * (4 + (kh_inf_funnel(a[0], a[1], q) & 15));      /* 12 to 57 */
	uint32_t lo = kh_inf_funnel(c[0], c[1], r), hi = kh_inf_funnel(c[1], c[2], r);

	if (n < 32) {
		lo = kh_inf_low(lo, n);
		hi = 0;
	} else {
		hi = kh_inf_low(hi, n - 32);
	}
	return filled[lo & 4095] + filled[lo >> 12 & 4095] +
		       filled[(lo >> 24 | hi << 8) & 4095] + filled[hi >> 4 & 4095] +
		       filled[hi >> 16] == 128;
}

/* --- members -------------------------------------------------------------------------- */
typedef struct kh_inf_head {
	uint32_t n;                     /* bytes of the header; 0: none that is taken here */
	uint32_t bsize;                 /* of the member, by its BGZF field, or 0 */
} kh_inf_head;

static KH_HD uint32_t kh_inf_byte(const kh_inf_batch *b, uint32_t i)
{
	return ((const uint8_t *)b->in)[i];
}

static KH_HD uint32_t kh_inf_le16(const kh_inf_batch *b, uint32_t i)
{
	return kh_inf_byte(b, i) | kh_inf_byte(b, i + 1) << 8;
}

static KH_HD uint32_t kh_inf_le32(const kh_inf_batch *b, uint32_t i)
{
	return kh_inf_le16(b, i) | kh_inf_le16(b, i + 2) << 16;
}

/* The BGZF field in the extra fields [i, end); 0: there is none. */
static KH_HD uint32_t kh_inf_bgzf_field(const kh_inf_batch *b, uint32_t i, uint32_t end)
{
	for (uint32_t len; end - i >= 4; i += len) {
		len = 4 + kh_inf_le16(b, i + 2);
		if (len > end - i)
			break;
		if (kh_inf_byte(b, i) == 'B' && kh_inf_byte(b, i + 1) == 'C' && len == 6)
			return kh_inf_le16(b, i + 4) + 1;
	}
	return 0;
}

/* The header at byte `at`, of the kind that the batch has.  One with a checksum, and one that is
 * longer than KH_INF_HEAD, is left to the host. */
static KH_HD kh_inf_head kh_inf_head_at(const kh_inf_batch *b, uint32_t at)
{
	enum { CHECKSUM = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };
	const kh_inf_head none = { 0, 0 };
	kh_inf_head h = { 10, 0 };

	if (at > b->n || b->n - at < 18)
		return none;
	const uint32_t flags = kh_inf_byte(b, at + 3);
	const uint32_t most = kh_inf_least(b->n - at, KH_INF_HEAD);
	if (kh_inf_le16(b, at) != 0x8b1f || kh_inf_byte(b, at + 2) != 8 ||
	    flags & (RESERVED | CHECKSUM))
		return none;
	if (flags & EXTRA) {
		h.n = 12 + kh_inf_le16(b, at + 10);
		if (h.n > most)
			return none;
		h.bsize = kh_inf_bgzf_field(b, at + 12, at + h.n);
	}
	for (uint32_t bit = NAME; bit <= COMMENT; bit *= 2) {
		if (!(flags & bit))
			continue;
		while (h.n < most && kh_inf_byte(b, at + h.n))
			h.n++;
		if (h.n++ >= most)
			return none;
	}
	if (b->members ? h.bsize < h.n + KH_INF_TRAILER : h.bsize != 0)
		return none;
	return h;
}

/* The key of what is found: a place where a segment begins, or 0. */
static KH_HD uint64_t kh_inf_block_key(const kh_inf_batch *b, uint32_t bit)
{
	uint32_t p = bit + 3, n_lit, n_dist;

	return kh_inf_read_lengths(b->in, &p, &n_lit, &n_dist, 0)
		       ? (uint64_t)bit << 32 | KH_INF_NONE : 0;
}

static KH_HD uint64_t kh_inf_member_key(const kh_inf_batch *b, uint32_t at)
{
	const kh_inf_head h = kh_inf_head_at(b, at);

	return h.n && at + h.n < b->n ? (uint64_t)(at + h.n) << 35 | at : 0;
}

#endif
