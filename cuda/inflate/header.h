/*
 * header.h - headers of blocks with tables   [HD]
 *
 * They are read by one lane, in registers, as thousands of places that look like one are tried.
 */
#ifndef KH_CUDA_INFLATE_HEADER_H
#define KH_CUDA_INFLATE_HEADER_H

#include "cuda/inflate/codes.h"

/* The code for code lengths, in registers: of code n of its order, the symbol (5 bits); of length
 * l, what makes its codes their place in that order (8 bits of `off`), and the first 7 bits behind
 * them (8 bits of `lim`). */
typedef struct kh_inf_precode {
	uint64_t sorted[2], off;
	uint32_t lim[2];
} kh_inf_precode;

static KH_HD uint32_t kh_inf_ones(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popcll(x);
#else
	return (uint32_t)__builtin_popcountll(x);
#endif
}

static KH_HD uint32_t kh_inf_lowest(uint64_t x)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__ffsll((long long)x) - 1;
#else
	return (uint32_t)__builtin_ctzll(x);
#endif
}

/* How many of the four bytes of lim are at most v. */
static KH_HD uint32_t kh_inf_bytes_to(uint32_t v, uint32_t lim)
{
#ifdef __CUDA_ARCH__
	return (uint32_t)__popc(__vcmpgeu4(v * 0x01010101u, lim) & 0x01010101u);
#else
	return (uint32_t)(v >= (lim & 255)) + (v >= (lim >> 8 & 255)) + (v >= (lim >> 16 & 255)) +
	       (v >= lim >> 24);
#endif
}

/* The n lengths of the code for code lengths: that of symbol s in bits 3 s. */
static KH_HD uint64_t kh_inf_prelengths(kh_inf_bits *b, uint32_t n)
{
	/* the symbols in the order of the format, five bits each: the first 12, the others */
	const uint64_t lo = 16 | 17 << 5 | 18 << 10 | (uint64_t)8 << 20 | (uint64_t)7 << 25 |
			    (uint64_t)9 << 30 | (uint64_t)6 << 35 | (uint64_t)10 << 40 |
			    (uint64_t)5 << 45 | (uint64_t)11 << 50 | (uint64_t)4 << 55;
	const uint64_t hi = 12 | 3 << 5 | 13 << 10 | 2 << 15 | (uint64_t)14 << 20 |
			    (uint64_t)1 << 25 | (uint64_t)15 << 30;
	uint64_t lens = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t s = (uint32_t)(i < 12 ? lo >> 5 * i : hi >> 5 * (i - 12)) & 31;

		lens |= (uint64_t)kh_inf_take(b, 3) << 3 * s;
	}
	return lens;
}

/* Bit 3 s of each symbol s whose length is l. */
static KH_HD uint64_t kh_inf_of_length(uint64_t lens, uint32_t l)
{
	return (l & 1 ? lens : ~lens) & (l & 2 ? lens >> 1 : ~(lens >> 1)) &
	       (l & 4 ? lens >> 2 : ~(lens >> 2)) & UINT64_C(0x49249249249249);
}

/* False: the lengths are no complete code. */
static KH_HD bool kh_inf_make_precode(kh_inf_precode *c, uint64_t lens)
{
	uint32_t code = 0, n = 0;

	c->sorted[0] = c->sorted[1] = c->off = 0;
	c->lim[0] = 0;
	c->lim[1] = 0xff000000u;
	for (uint32_t l = 1; l < 8; l++) {
		uint64_t of = kh_inf_of_length(lens, l);

		code <<= 1;
		c->off |= (uint64_t)((n - code) & 255) << 8 * l;
		code += kh_inf_ones(of);
		const uint32_t end = code << (7 - l);
		if (end > 128)
			return false;
		if (l < 5)
			c->lim[0] |= end << 8 * (l - 1);
		else if (l < 7)
			c->lim[1] |= end << 8 * (l - 5);
		for (; of; of &= of - 1, n++)
			c->sorted[n >= 12] |= (uint64_t)(kh_inf_lowest(of) / 3)
					      << 5 * (n < 12 ? n : n - 12);
	}
	c->lim[1] |= 0x00ff0000u;       /* that of 7 bits is never passed */
	return code == 128;
}

/* The next symbol; *l: bits of its code. */
static KH_HD uint32_t kh_inf_presymbol(const kh_inf_precode *c, uint32_t win, uint32_t *l)
{
	const uint32_t v = kh_inf_reverse(win) >> 25;

	*l = 1 + kh_inf_bytes_to(v, c->lim[0]) + kh_inf_bytes_to(v, c->lim[1]);
	const uint32_t off = (uint32_t)(int32_t)(int8_t)(c->off >> 8 * *l & 255);
	const uint32_t k = ((v >> (7 - *l)) + off) & 31;
	return (uint32_t)(k < 12 ? c->sorted[0] >> 5 * k : c->sorted[1] >> 5 * (k - 12)) & 31;
}

/* What code lengths fill: of literals and lengths, then of distances; 32768ths. */
typedef struct kh_inf_filled {
	uint32_t i, n_lit, sum, len256;
} kh_inf_filled;

/* Adds `times` codes of `val` bits.  False: they are too many, or literals do not fill their half
 * at least. */
static KH_HD bool kh_inf_fill(kh_inf_filled *f, uint32_t val, uint32_t times)
{
	const uint32_t w = val ? 32768u >> val : 0, i = f->i, end = i + times;

	if (i < f->n_lit && end >= f->n_lit) {
		f->sum += (f->n_lit - i) * w;
		if (f->sum != 32768 && f->sum != 16384)
			return false;
		f->sum = (end - f->n_lit) * w;
	} else {
		f->sum += times * w;
	}
	if (i <= 256 && 256 < end)
		f->len256 = val;
	f->i = end;
	return f->sum <= 32768;
}

/* By one lane: the code lengths of a block with tables, whose 14 bits of numbers are at *p, which
 * moves on; false: there are none.  len: where they go, or NULL. */
static KH_HD bool kh_inf_read_lengths(const uint32_t *in, uint32_t *p, uint32_t *n_lit,
				      uint32_t *n_dist, uint8_t *len)
{
	kh_inf_precode c;
	kh_inf_bits b;
	uint32_t last = 0;

	kh_inf_bits_at(&b, in, *p);
	const uint32_t head = kh_inf_take(&b, 14);
	*n_lit = 257 + (head & 31);
	*n_dist = 1 + (head >> 5 & 31);
	if (*n_lit > 286 || *n_dist > 30 ||
	    !kh_inf_make_precode(&c, kh_inf_prelengths(&b, 4 + (head >> 10))))
		return false;
	kh_inf_filled f = { 0, *n_lit, 0, 0 };
	while (f.i < *n_lit + *n_dist) {
		const uint32_t win = kh_inf_peek(&b), at = f.i;
		uint32_t l;
		const uint32_t s = kh_inf_presymbol(&c, win, &l);
		const uint32_t x = s < 16 ? 0 : s == 16 ? 2 : s == 17 ? 3 : 7;
		const uint32_t times =
			s < 16 ? 1 : (s == 18 ? 11 : 3) + kh_inf_low(win >> l, x);
		const uint32_t val = s < 16 ? s : s == 16 ? last : 0;

		kh_inf_skip(&b, l + x);
		if (times > *n_lit + *n_dist - at || (s == 16 && at == 0) ||
		    !kh_inf_fill(&f, val, times))
			return false;
		for (uint32_t i = 0; len && i < times; i++)
			len[at + i] = (uint8_t)val;
		last = val;
	}
	*p = b.p;
	return f.len256 != 0 && (f.sum == 32768 || f.sum == 16384 || f.sum == 0);
}

/* The header of a block of `type` (1 fixed, 2 with tables) at p, and its tables: w->ok, n_lit,
 * n_dist, head_end. */
static KH_HD void kh_inf_block_header(int lane, int n_lanes, const uint32_t *in, kh_inf_shared *w,
				      uint32_t p, uint32_t type)
{
	KH_INF_SYNC();
	if (lane == 0) {
		uint32_t q = p + 3;

		if (type == 2) {
			w->ok = kh_inf_read_lengths(in, &q, &w->n_lit, &w->n_dist, w->len);
		} else {
			for (int i = 0; i < 288; i++)
				w->len[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
			for (int i = 288; i < 320; i++)
				w->len[i] = 5;
			w->n_lit = 288;
			w->n_dist = 32;
			w->ok = type == 1;
		}
		w->head_end = q;
	}
	KH_INF_SYNC();
	if (*(volatile uint32_t *)&w->ok)
		kh_inf_make_table(lane, n_lanes, w, w->len, w->n_lit, false);
	KH_INF_SYNC();
	if (*(volatile uint32_t *)&w->ok)
		kh_inf_make_table(lane, n_lanes, w, w->len + w->n_lit, w->n_dist, true);
	KH_INF_SYNC();
}

#endif
