/*
 * codes.h - bits of deflate data, and tables to look codes up in   [HD]
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
typedef struct kh_inf_shared {
	kh_inf_tables t;
	uint8_t len[320];               /* of codes */
	uint32_t count[16], next[16];
	/* of each lane: where it begins and ends, bytes of text, tokens */
	uint32_t start[KH_INF_LANES], end[KH_INF_LANES], n[KH_INF_LANES], k[KH_INF_LANES];
	uint8_t state[KH_INF_LANES];
	uint32_t ok, head_end, n_lit, n_dist;
} kh_inf_shared;

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

static KH_HD kh_inf_making kh_inf_making_of(kh_inf_shared *w, bool dist)
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
static KH_HD void kh_inf_limits(kh_inf_shared *w, const kh_inf_making *m)
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
static KH_HD void kh_inf_order(int lane, int n_lanes, kh_inf_shared *w, const kh_inf_making *m,
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

/* Makes entries of two literals.  All lanes have read theirs, and those behind them, before one is
 * written; of an entry that is one of two literals already, the first one is taken. */
static KH_HD void kh_inf_pair_literals(int lane, int n_lanes, uint32_t *table)
{
	for (uint32_t i = (uint32_t)lane; i < 1u << KH_INF_LIT_BITS; i += (uint32_t)n_lanes) {
		const uint32_t e = table[i], l = e >> 8 & 15;
		const uint32_t f = table[i >> l], m = f >> 8 & 15;

		KH_INF_SYNC();
		if ((e & f & KH_INF_LITERAL) && l + m <= KH_INF_LIT_BITS)
			table[i] = (l + m) | l << 8 | (e & 0xff0000) | (f & 0xff0000) << 8 |
				   KH_INF_LITERAL | KH_INF_TWO;
		KH_INF_SYNC();
	}
}

/* One table, of the code lengths len[0, n).  w->ok becomes 0 if they are no code. */
static KH_HD_CALLED void kh_inf_make_table(int lane, int n_lanes, kh_inf_shared *w,
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

#endif
