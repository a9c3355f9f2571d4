/*
 * codes.h - bits of deflate data, headers of blocks, and tables to look codes up in   [HD]
 *
 * A function that takes (lane, n_lanes) is run by all lanes of a warp, with what they share in
 * common; on the CPU by lane 0 of 1.
 *
 * An entry of a table has bits 0-4: bits to go on by, extra ones included; 8-11: those of the first
 * code; and
 *	literals	16-23, and 24-31 if TWO
 *	length		12-14 extra bits, 16-24 base
 *	distance	12-15 extra bits, 16-31 base; with SPECIAL: longer than the table's bits if
 *			16-31 are not 0, else bad
 * A code that is longer than the table's bits is found by comparing.  lim[n]: the first 15 bits
 * behind the codes of n bits; off[n]: what makes a code of n bits its place in `order`, where the
 * entries of all codes are in their order.
 */
#ifndef KH_CUDA_INFLATE_CODES_H
#define KH_CUDA_INFLATE_CODES_H

#include "cuda/inflate/inflate.h"

enum {
	KH_INF_LITERAL = 1 << 5, KH_INF_TWO = 1 << 6, KH_INF_SPECIAL = 1 << 7,
	KH_INF_END = KH_INF_SPECIAL | 1 << 12, KH_INF_LONG = KH_INF_SPECIAL | 2 << 12,
	KH_INF_NO_CODE = KH_INF_SPECIAL | 3 << 12,
	KH_INF_WHICH = KH_INF_SPECIAL | 3 << 12
};

typedef struct kh_inf_tables {
	uint32_t lit[1 << KH_INF_LIT_BITS], dist[1 << KH_INF_DIST_BITS];
	uint32_t lit_order[288], dist_order[32];
	uint16_t lit_lim[16], dist_lim[16];
	int16_t lit_off[16], dist_off[16];
} kh_inf_tables;

/* What the lanes of a warp share while they decode. */
typedef struct kh_inf_work {
	kh_inf_tables t;
	uint8_t len[320];               /* of codes */
	uint32_t count[16], next[16];
	/* of each lane: where it begins and ends, bytes of text, tokens */
	uint32_t start[KH_INF_LANES], end[KH_INF_LANES], n[KH_INF_LANES], k[KH_INF_LANES];
	uint8_t state[KH_INF_LANES];
	uint32_t ok, head_end, n_lit, n_dist;
} kh_inf_work;

/* --- bits ----------------------------------------------------------------------------- */
static KH_HD uint32_t kh_inf_reverse(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return __brev(x);
#else
	x = x >> 16 | x << 16;
	x = (x & 0xff00ff00u) >> 8 | (x & 0x00ff00ffu) << 8;
	x = (x & 0xf0f0f0f0u) >> 4 | (x & 0x0f0f0f0fu) << 4;
	x = (x & 0xccccccccu) >> 2 | (x & 0x33333333u) << 2;
	return (x & 0xaaaaaaaau) >> 1 | (x & 0x55555555u) << 1;
#endif
}

/* 32 bits from bit n of lo on; n is taken modulo 32. */
static KH_HD uint32_t kh_inf_funnel(uint32_t lo, uint32_t hi, uint32_t n)
{
#ifdef __CUDA_ARCH__
	return __funnelshift_r(lo, hi, n);
#else
	n &= 31;
	return n ? lo >> n | hi << (32 - n) : lo;
#endif
}

/* The lower n < 32 bits. */
static KH_HD uint32_t kh_inf_low(uint32_t x, uint32_t n)
{
	return x & ((1u << n) - 1);
}

static KH_HD uint32_t kh_inf_load(const uint32_t *p)
{
#ifdef __CUDA_ARCH__
	return __ldg(p);
#else
	return *p;
#endif
}

/* The 32 bits from bit p on. */
static KH_HD uint32_t kh_inf_peek_at(const uint32_t *in, uint32_t p)
{
	return kh_inf_funnel(in[p >> 5], in[(p >> 5) + 1], p);
}

/* Word p / 32 and two more, so that loads come early. */
typedef struct kh_inf_bits {
	const uint32_t *in;
	uint32_t p, w0, w1, w2;
} kh_inf_bits;

static KH_HD void kh_inf_bits_at(kh_inf_bits *b, const uint32_t *in, uint32_t p)
{
	b->in = in;
	b->p = p;
	b->w0 = kh_inf_load(in + (p >> 5));
	b->w1 = kh_inf_load(in + (p >> 5) + 1);
	b->w2 = kh_inf_load(in + (p >> 5) + 2);
}

static KH_HD uint32_t kh_inf_peek(const kh_inf_bits *b)
{
	return kh_inf_funnel(b->w0, b->w1, b->p);
}

/* n <= 32 */
static KH_HD void kh_inf_skip(kh_inf_bits *b, uint32_t n)
{
	const uint32_t q = b->p + n;

	if ((q ^ b->p) >> 5) {
		b->w0 = b->w1;
		b->w1 = b->w2;
		b->w2 = kh_inf_load(b->in + (q >> 5) + 2);
	}
	b->p = q;
}

/* n < 32 */
static KH_HD uint32_t kh_inf_take(kh_inf_bits *b, uint32_t n)
{
	const uint32_t x = kh_inf_low(kh_inf_peek(b), n);

	kh_inf_skip(b, n);
	return x;
}

/* --- entries -------------------------------------------------------------------------- */
static KH_HD uint32_t kh_inf_lit_entry(uint32_t s, uint32_t len)
{
	const uint32_t extra = s < 265 || s > 284 ? 0 : (s - 261) / 4;

	if (s < 256)
		return len | len << 8 | s << 16 | KH_INF_LITERAL;
	if (s == 256)
		return len | len << 8 | KH_INF_END;
	if (s > 285)
		return len | len << 8 | KH_INF_NO_CODE;
	if (s == 285)
		return len | len << 8 | 258u << 16;
	const uint32_t base = s < 265 ? s - 254 : ((4 + (s - 261) % 4) << extra) + 3;
	return (len + extra) | len << 8 | extra << 12 | base << 16;
}

static KH_HD uint32_t kh_inf_dist_entry(uint32_t s, uint32_t len)
{
	const uint32_t extra = s < 4 ? 0 : s / 2 - 1;

	if (s > 29)
		return len | KH_INF_SPECIAL;
	const uint32_t base = s < 4 ? s + 1 : ((2 + s % 2) << extra) + 1;
	return (len + extra) | len << 8 | extra << 12 | base << 16;
}

static KH_HD uint32_t kh_inf_next_lit(const kh_inf_tables *t, uint32_t win)
{
	uint32_t e = t->lit[kh_inf_low(win, KH_INF_LIT_BITS)];

	if ((e & KH_INF_WHICH) == (uint32_t)KH_INF_LONG) {
		const uint32_t v = kh_inf_reverse(win) >> 17;
		uint32_t l = KH_INF_LIT_BITS + 1;

		while (v >= t->lit_lim[l])
			l++;
		e = t->lit_order[t->lit_off[l] + (int)(v >> (15 - l))];
	}
	return e;
}

static KH_HD uint32_t kh_inf_next_dist(const kh_inf_tables *t, uint32_t win)
{
	uint32_t e = t->dist[kh_inf_low(win, KH_INF_DIST_BITS)];

	if (e & KH_INF_SPECIAL && e >> 16) {
		const uint32_t v = kh_inf_reverse(win) >> 17;
		uint32_t l = KH_INF_DIST_BITS + 1;

		while (v >= t->dist_lim[l])
			l++;
		e = t->dist_order[t->dist_off[l] + (int)(v >> (15 - l))];
	}
	return e;
}

/* --- tables --------------------------------------------------------------------------- */
/* A table in the making. */
typedef struct kh_inf_making {
	uint32_t *table, *order;
	uint16_t *lim;
	int16_t *off;
	uint32_t root;                  /* bits that it is looked up with */
	bool dist;
} kh_inf_making;

static KH_HD kh_inf_making kh_inf_making_of(kh_inf_work *w, bool dist)
{
	kh_inf_making m;

	m.table = dist ? w->t.dist : w->t.lit;
	m.order = dist ? w->t.dist_order : w->t.lit_order;
	m.lim = dist ? w->t.dist_lim : w->t.lit_lim;
	m.off = dist ? w->t.dist_off : w->t.lit_off;
	m.root = dist ? KH_INF_DIST_BITS : KH_INF_LIT_BITS;
	m.dist = dist;
	return m;
}

/* By one lane: lim and off, of the counts of lengths.  w->ok becomes 0 if they are no code; as zlib
 * has it, that is one that is complete, or a single code of one bit, or no distances at all. */
static KH_HD void kh_inf_limits(kh_inf_work *w, const kh_inf_making *m)
{
	uint32_t code = 0, used = 0, at = 0;

	for (uint32_t l = 1; l < 16; l++) {
		const uint32_t c = w->count[l];

		code <<= 1;
		w->next[l] = code;
		m->off[l] = (int16_t)((int)at - (int)code);
		code += c;
		at += c;
		used += c << (15 - l);
		m->lim[l] = (uint16_t)(used > 32768 ? 32768 : used);
	}
	if (used != 32768 && !(at == 1 && w->count[1] == 1) && !(at == 0 && m->dist))
		w->ok = 0;
	w->count[0] = used;
	m->lim[15] = 0xffff;            /* so that a search ends */
}

/* Codes in their order, of 32 lengths at a time. */
static KH_HD void kh_inf_order(int lane, int n_lanes, kh_inf_work *w, const kh_inf_making *m,
			       const uint8_t *len, uint32_t n)
{
	for (uint32_t from = 0; from < n; from += (uint32_t)n_lanes) {
		const uint32_t s = from + (uint32_t)lane, l = s < n ? len[s] : 0;
		uint32_t code = 0;

#ifdef __CUDA_ARCH__
		const uint32_t same = __match_any_sync(0xffffffffu, l);
		const uint32_t rank = (uint32_t)__popc(same & ((1u << lane) - 1));

		code = w->next[l & 15] + rank;
		__syncwarp();
		if (rank == 0 && l)
			w->next[l] += (uint32_t)__popc(same);
		__syncwarp();
#else
		if (l)
			code = w->next[l]++;
#endif
		if (l)
			m->order[(int)code + m->off[l]] = m->dist ? kh_inf_dist_entry(s, l)
								  : kh_inf_lit_entry(s, l);
	}
}

/* The entry of the bits i. */
static KH_HD uint32_t kh_inf_entry(const kh_inf_making *m, uint32_t i, uint32_t used)
{
	const uint32_t v = kh_inf_reverse(i) >> 17;
	uint32_t l = 1;

	if (v >= used)
		return m->dist ? KH_INF_SPECIAL | 1u : KH_INF_NO_CODE | 1u;
	while (l <= m->root && v >= m->lim[l])
		l++;
	if (l > m->root)
		return m->dist ? KH_INF_SPECIAL | 1u << 16 : (uint32_t)KH_INF_LONG;
	return m->order[m->off[l] + (int)(v >> (15 - l))];
}

/* Makes entries of two literals.  What is read of another entry meanwhile does not change. */
static KH_HD void kh_inf_pair_literals(int lane, int n_lanes, uint32_t *table)
{
	for (uint32_t i = (uint32_t)lane; i < 1u << KH_INF_LIT_BITS; i += (uint32_t)n_lanes) {
		const uint32_t e = table[i], l = e >> 8 & 15;

		if (!(e & KH_INF_LITERAL) || l >= KH_INF_LIT_BITS)
			continue;
		const uint32_t f = table[i >> l], m = f >> 8 & 15;

		if ((f & KH_INF_LITERAL) && l + m <= KH_INF_LIT_BITS)
			table[i] = (l + m) | l << 8 | (e & 0xff0000) | (f & 0xff0000) << 8 |
				   KH_INF_LITERAL | KH_INF_TWO;
	}
}

/* One table, of the code lengths len[0, n).  w->ok becomes 0 if they are no code. */
static KH_HD_CALLED void kh_inf_make_table(int lane, int n_lanes, kh_inf_work *w,
					   const uint8_t *len, uint32_t n, bool dist)
{
	const kh_inf_making m = kh_inf_making_of(w, dist);

	for (uint32_t i = (uint32_t)lane; i < 16; i += (uint32_t)n_lanes)
		w->count[i] = 0;
	KH_INF_SYNC();
	for (uint32_t i = (uint32_t)lane; i < n; i += (uint32_t)n_lanes)
		kh_inf_add(&w->count[len[i]], 1);
	KH_INF_SYNC();
	if (lane == 0)
		kh_inf_limits(w, &m);
	KH_INF_SYNC();
	if (!*(volatile uint32_t *)&w->ok)
		return;
	const uint32_t used = w->count[0];
	kh_inf_order(lane, n_lanes, w, &m, len, n);
	KH_INF_SYNC();
	for (uint32_t i = (uint32_t)lane; i < 1u << m.root; i += (uint32_t)n_lanes)
		m.table[i] = kh_inf_entry(&m, i, used);
	KH_INF_SYNC();
	if (!dist)
		kh_inf_pair_literals(lane, n_lanes, m.table);
	KH_INF_SYNC();
}

/* --- headers of blocks with tables ------------------------------------------------------ */
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
static KH_HD void kh_inf_block_header(int lane, int n_lanes, const uint32_t *in, kh_inf_work *w,
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
