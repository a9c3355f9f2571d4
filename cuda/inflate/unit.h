/*
 * unit.h - the tokens of a unit become symbols   [HD]
 *
 * A warp takes 32 tokens at a time into a ring, with a bit where each begins in the text, and makes
 * 256 symbols of them at a time, eight a lane: a count of bits says which token a symbol belongs
 * to.  What it refers to in groups before is known; within the group each symbol that is not known
 * takes over what it refers to, until all are: a chain of n takes log n turns.
 *
 * On the CPU the lanes of a warp take turns in each step (KH_INF_EACH: lane, l), and what each has
 * in registers is an array of 32.
 */
#ifndef KH_CUDA_INFLATE_UNIT_H
#define KH_CUDA_INFLATE_UNIT_H

#include "cuda/inflate/segment.h"

#ifdef __CUDA_ARCH__
#define KH_INF_TURNS 1
#define KH_INF_EACH for (int l = 0, lane = (int)(threadIdx.x & 31); l < 1; l++)
#define KH_INF_TURN int l = 0; l < 1; l++
#define KH_INF_UNROLL _Pragma("unroll")
#else
#define KH_INF_TURNS 32
#define KH_INF_EACH for (int l = 0, lane = 0; l < 32; l++, lane++)
#define KH_INF_TURN int l = 0; l < 32; l++
#define KH_INF_UNROLL
#endif

/* A symbol that is not known yet: number of the group's symbol that it is a copy of. */
#define KH_INF_PENDING (1u << 31)

typedef struct kh_inf_ring {
	uint32_t token[KH_INF_RING];
	uint32_t begins[KH_INF_RING];   /* a bit for each of 32 KH_INF_RING symbols */
	uint32_t tile[KH_INF_GROUP];
} kh_inf_ring;

/* The tokens of a unit that come next. */
typedef struct kh_inf_source {
	uint32_t stripe, j, i, n, to;   /* token i of the n that lane j has; lanes up to `to` */
	uint32_t k[KH_INF_TURNS];       /* tokens of all lanes */
	const uint32_t *row;
	const uint8_t *stored;          /* bytes of a stored block */
} kh_inf_source;

/* The group at hand. */
typedef struct kh_inf_eights {
	uint32_t v[KH_INF_TURNS][8];
	uint32_t pending[KH_INF_TURNS]; /* a bit for each that is not known yet */
} kh_inf_eights;

/* Where a warp is in its unit. */
typedef struct kh_inf_making_unit {
	const kh_inf_batch *b;
	const kh_inf_unit *u;
	kh_inf_ring *r;
	kh_inf_source from;
	uint16_t *out;                  /* symbol 0; out - skew is aligned to eight symbols */
	int n, skew;
	int made;                       /* symbols of tokens in the ring */
	uint32_t n_in, n_out;           /* tokens that went into the ring, and out of it */
	uint32_t token[KH_INF_TURNS];
} kh_inf_making_unit;

/* Where symbol j of a group is in the tile: no bank twice when lanes store their eighths. */
static KH_HD uint32_t kh_inf_tile_at(uint32_t j)
{
	return (j & 7) * 32 + (j >> 3);
}

/* x becomes the sum of those of the lanes before; returns the sum of all. */
static KH_HD uint32_t kh_inf_scan(uint32_t *x)
{
#ifdef __CUDA_ARCH__
	const int lane = (int)(threadIdx.x & 31);
	uint32_t s = x[0];

	for (int d = 1; d < 32; d *= 2) {
		const uint32_t y = __shfl_up_sync(0xffffffffu, s, (unsigned)d);

		if (lane >= d)
			s += y;
	}
	x[0] = s - x[0];
	return __shfl_sync(0xffffffffu, s, 31);
#else
	uint32_t s = 0;

	for (int l = 0; l < 32; l++) {
		const uint32_t y = x[l];

		x[l] = s;
		s += y;
	}
	return s;
#endif
}

static KH_HD uint32_t kh_inf_of_lane(const uint32_t *x, uint32_t j)
{
#ifdef __CUDA_ARCH__
	return __shfl_sync(0xffffffffu, x[0], (int)j);
#else
	return x[j];
#endif
}

static KH_HD bool kh_inf_any(uint32_t x)
{
#ifdef __CUDA_ARCH__
	return __any_sync(0xffffffffu, x != 0);
#else
	return x != 0;
#endif
}

/* --- tokens ----------------------------------------------------------------------------- */
static KH_HD void kh_inf_go_to(kh_inf_source *a, const kh_inf_batch *b, const kh_inf_unit *u)
{
	const kh_inf_stripe *s = &b->stripe[u->stripe];

	a->stripe = u->stripe;
	a->j = u->from;
	a->to = u->to;
	a->i = 0;
	KH_INF_EACH a->k[l] = s->k[lane];
	a->row = b->token + (uint64_t)KH_INF_LANES * s->row;
	a->stored = s->stored ? (const uint8_t *)b->in + s->row : 0;
	for (uint32_t i = 0; a->stored && i < u->from / KH_INF_UNIT; i++)
		a->stored += s->n[i];
	a->n = kh_inf_of_lane(a->k, u->from);
}

/* The next tokens, one a lane; 0: none. */
static KH_HD void kh_inf_next_tokens(kh_inf_source *a, uint32_t *token)
{
	while (a->i >= a->n && a->j + 1 < a->to) {
		if (a->stored)
			a->stored += a->n;
		a->j++;
		a->i = 0;
		a->n = kh_inf_of_lane(a->k, a->j);
	}
	KH_INF_EACH {
		const uint32_t i = a->i + (uint32_t)lane;

		token[l] = 0;
		if (i < a->n)
			token[l] = a->stored ? 1u << 16 | a->stored[i]
					     : a->row[kh_inf_token_at(i, a->j)];
	}
	a->i += KH_INF_LANES;
}

/* Takes tokens into the ring until the group that ends at symbol `end` is there.  False: there are
 * too few, which cannot be. */
static KH_HD bool kh_inf_fill_ring(kh_inf_making_unit *m, int end)
{
	kh_inf_ring *r = m->r;

	while (m->made < m->n && m->made < end) {
		uint32_t at[KH_INF_TURNS];

		for (KH_INF_TURN) {
			at[l] = kh_inf_token_length(m->token[l]);
		}
		const uint32_t sum = kh_inf_scan(at);
		const uint32_t count = kh_inf_least(KH_INF_LANES,
						    m->from.n - (m->from.i - KH_INF_LANES));
		if (sum == 0)
			return false;
		KH_INF_EACH {
			const uint32_t p = (uint32_t)(m->made + m->skew) + at[l];

			if ((uint32_t)lane >= count)
				continue;
			r->token[(m->n_in + (uint32_t)lane) % KH_INF_RING] = m->token[l];
#ifdef __CUDA_ARCH__
			atomicOr(&r->begins[p / 32 % KH_INF_RING], 1u << p % 32);
#else
			r->begins[p / 32 % KH_INF_RING] |= 1u << p % 32;
#endif
		}
		m->n_in += count;
		m->made += (int)sum;
		kh_inf_next_tokens(&m->from, m->token);
		KH_INF_SYNC();
	}
	return true;
}

/* --- symbols ---------------------------------------------------------------------------- */
/* A copy of symbol q, which is in front of the group at hand. */
static KH_HD uint32_t kh_inf_copied(const kh_inf_making_unit *m, int q)
{
	if (q >= 0)
		return m->out[q];
	if ((uint32_t)-q <= m->u->reach)
		return (uint32_t)(KH_INF_MARK + KH_INF_WINDOW + q);
	kh_inf_at_most(&m->b->c->bad_segment, m->u->segment);
	return 0;
}

/* The eight symbols of each lane, as far as they are known, of the group from symbol g on. */
static KH_HD void kh_inf_take_eights(kh_inf_making_unit *m, int g, kh_inf_eights *x)
{
	kh_inf_ring *r = m->r;
	uint32_t first[KH_INF_TURNS], begins[KH_INF_TURNS];

	KH_INF_EACH {
		const uint32_t p = (uint32_t)(g + m->skew) + 8 * (uint32_t)lane;

		begins[l] = r->begins[p / 32 % KH_INF_RING] >> p % 32 & 255;
		first[l] = kh_inf_ones(begins[l]);
	}
	const uint32_t begun = kh_inf_scan(first);
	KH_INF_SYNC();
	KH_INF_EACH {
		const int p = g + 8 * lane;
		uint32_t t = m->n_out + first[l] - 1, is = r->token[t % KH_INF_RING];

		if (lane < KH_INF_GROUP / 32)
			r->begins[((uint32_t)(g + m->skew) / 32 + (uint32_t)lane) % KH_INF_RING] =
				0;
		x->pending[l] = 0;
		KH_INF_UNROLL
		for (int i = 0; i < 8; i++) {
			const uint32_t b = begins[l] >> i & 1;

			if (b)
				is = r->token[++t % KH_INF_RING];
			const int q = p + i - 1 - (int)(is & 0x7fff);
			uint32_t v = b ? is & 255 : is >> 8 & 255;

			/* what is read from memory is not looked at before all are asked for */
			if (is >> 31 && p + i >= 0 && p + i < m->n) {
				const bool here = q >= 0 && q >= g;

				x->pending[l] |= (uint32_t)here << i;
				v = here ? KH_INF_PENDING | (uint32_t)(q - g)
					 : kh_inf_copied(m, q);
			}
			x->v[l][i] = v;
		}
	}
	m->n_out += begun;
}

/* Symbols that are copies of others in the group take these over. */
static KH_HD void kh_inf_take_over(kh_inf_ring *r, kh_inf_eights *x)
{
	uint32_t any = 0;

	for (KH_INF_TURN) {
		any |= x->pending[l];
	}
	if (!kh_inf_any(any))
		return;
	KH_INF_EACH {
		KH_INF_UNROLL
		for (int i = 0; i < 8; i++)
			r->tile[kh_inf_tile_at((uint32_t)(8 * lane + i))] = x->v[l][i];
	}
	do {
		uint32_t was[KH_INF_TURNS];

		KH_INF_SYNC();
		any = 0;
		for (KH_INF_TURN) {
			was[l] = x->pending[l];
			KH_INF_UNROLL
			for (int i = 0; i < 8; i++) {
				if (!(was[l] >> i & 1))
					continue;
				x->v[l][i] = r->tile[kh_inf_tile_at(x->v[l][i] &
								    (KH_INF_GROUP - 1))];
				if (!(x->v[l][i] & KH_INF_PENDING))
					x->pending[l] &= ~(1u << i);
			}
			any |= x->pending[l];
		}
		KH_INF_SYNC();
		KH_INF_EACH {
			KH_INF_UNROLL
			for (int i = 0; i < 8; i++)
				if (was[l] >> i & 1)
					r->tile[kh_inf_tile_at((uint32_t)(8 * lane + i))] =
						x->v[l][i];
		}
	} while (kh_inf_any(any));
}

static KH_HD void kh_inf_store_eights(const kh_inf_making_unit *m, int g, const kh_inf_eights *x)
{
	KH_INF_EACH {
		const int p = g + 8 * lane;
		const uint32_t *v = x->v[l];

#ifdef __CUDA_ARCH__
		if (p >= 0 && p + 8 <= m->n) {
			*(uint4 *)(m->out + p) = make_uint4(v[0] | v[1] << 16, v[2] | v[3] << 16,
							    v[4] | v[5] << 16, v[6] | v[7] << 16);
			continue;
		}
#endif
		KH_INF_UNROLL
		for (int i = 0; i < 8; i++)
			if (p + i >= 0 && p + i < m->n)
				m->out[p + i] = (uint16_t)v[i];
	}
}

/* By a warp: the symbols of a unit that has some. */
static KH_HD void kh_inf_resolve(const kh_inf_batch *b, const kh_inf_unit *u, kh_inf_ring *r)
{
	kh_inf_making_unit m;
	kh_inf_eights x;

	m.b = b;
	m.u = u;
	m.r = r;
	m.out = b->symbol + u->at;
	m.n = (int)u->n;
	m.skew = (int)(u->at & 7);
	m.made = 0;
	m.n_in = m.n_out = 0;
	KH_INF_EACH {
		(void)l;
		for (int i = lane; i < KH_INF_RING; i += 32)
			r->begins[i] = 0;
	}
	kh_inf_go_to(&m.from, b, u);
	kh_inf_next_tokens(&m.from, m.token);
	KH_INF_SYNC();
	for (int g = -m.skew; g < m.n; g += KH_INF_GROUP) {
		if (!kh_inf_fill_ring(&m, g + KH_INF_GROUP)) {
			kh_inf_at_most(&b->c->bad_segment, u->segment);
			return;
		}
		kh_inf_take_eights(&m, g, &x);
		kh_inf_take_over(r, &x);
		kh_inf_store_eights(&m, g, &x);
		KH_INF_SYNC();
	}
}

#endif
