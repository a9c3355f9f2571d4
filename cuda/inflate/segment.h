/*
 * segment.h - a segment is decoded to tokens, a stripe of it by all lanes of a warp   [HD]
 *
 * A token is one literal or two (bits 16-24: how many; 0-7, 8-15), or a match: bit 31, 16-24 its
 * length, 0-14 its distance less 1.
 */
#ifndef KH_CUDA_INFLATE_SEGMENT_H
#define KH_CUDA_INFLATE_SEGMENT_H

#include "cuda/inflate/header.h"

/* Of a lane. */
enum kh_inf_lane_state { KH_INF_LANE_RUN, KH_INF_LANE_END, KH_INF_LANE_BAD, KH_INF_LANE_FULL };

/* Where token k of lane j is, of those of a stripe: a lane stores four at a time. */
static KH_HD uint32_t kh_inf_token_at(uint32_t k, uint32_t j)
{
	return KH_INF_LANES * (k & ~3u) + 4 * j + (k & 3);
}

static KH_HD uint32_t kh_inf_token_length(uint32_t token)
{
	return token >> 16 & 511;
}

/* --- a lane --------------------------------------------------------------------------- */
/* Passes over symbols to the first one that begins at `bound` or behind, and over what cannot be
 * decoded, too. */
static KH_HD void kh_inf_pass_over(const kh_inf_tables *t, kh_inf_bits *b, uint32_t bound)
{
	while (b->p < bound) {
		const uint32_t win = kh_inf_peek(b), e = kh_inf_next_lit(t, win);

		if (e & KH_INF_LITERAL) {
			const uint32_t one = e >> 8 & 15;

			kh_inf_skip(b, b->p + one < bound ? e & 31 : one);
			continue;
		}
		kh_inf_skip(b, e & 31);
		if (!(e & KH_INF_SPECIAL))
			kh_inf_skip(b, kh_inf_next_dist(t, kh_inf_peek(b)) & 31);
	}
}

/* The tokens of a lane, which go to rows of 32 times four. */
typedef struct kh_inf_tokens {
	uint32_t *to;                   /* where its first one is */
	uint32_t cap, n;
	uint32_t four[4];               /* the last ones */
	uint32_t text;                  /* their bytes */
} kh_inf_tokens;

static KH_HD void kh_inf_store_four(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
#ifdef __CUDA_ARCH__
	*(uint4 *)to = make_uint4(a, b, c, d);
#else
	to[0] = a;
	to[1] = b;
	to[2] = c;
	to[3] = d;
#endif
}

static KH_HD void kh_inf_put_token(kh_inf_tokens *t, uint32_t token)
{
	t->text += kh_inf_token_length(token);
	t->four[0] = t->four[1];
	t->four[1] = t->four[2];
	t->four[2] = t->four[3];
	t->four[3] = token;
	if (!(++t->n & 3))
		kh_inf_store_four(t->to + KH_INF_LANES * (t->n - 4), t->four[0], t->four[1],
				  t->four[2], t->four[3]);
}

/* Stores those that are no four. */
static KH_HD void kh_inf_end_tokens(const kh_inf_tokens *t)
{
	uint32_t *const to = t->to + KH_INF_LANES * (t->n & ~3u);
	const uint32_t *four = t->four;

	if ((t->n & 3) == 1)
		kh_inf_store_four(to, four[3], 0, 0, 0);
	if ((t->n & 3) == 2)
		kh_inf_store_four(to, four[2], four[3], 0, 0);
	if ((t->n & 3) == 3)
		kh_inf_store_four(to, four[1], four[2], four[3], 0);
}

/* Decodes up to the first start of a symbol at `bound` or behind. */
static KH_HD enum kh_inf_lane_state kh_inf_decode_lane(const kh_inf_tables *t, kh_inf_bits *b,
						       uint32_t bound, kh_inf_tokens *to)
{
	while (b->p < bound) {
		uint32_t win = kh_inf_peek(b), e = kh_inf_next_lit(t, win), token;

		if (to->n == to->cap)
			return KH_INF_LANE_FULL;
		if (e & KH_INF_LITERAL) {
			const uint32_t one = e >> 8 & 15;
			const bool two = (e & KH_INF_TWO) && b->p + one < bound;

			kh_inf_skip(b, two ? e & 31 : one);
			token = two ? 2u << 16 | e >> 16 : 1u << 16 | (e >> 16 & 255);
			kh_inf_put_token(to, token);
			continue;
		}
		kh_inf_skip(b, e & 31);
		if (e & KH_INF_SPECIAL)
			return (e & KH_INF_WHICH) == (uint32_t)KH_INF_END ? KH_INF_LANE_END
									 : KH_INF_LANE_BAD;
		token = 1u << 31 |
			((e >> 16) + kh_inf_low(win >> (e >> 8 & 15), e >> 12 & 7)) << 16;
		win = kh_inf_peek(b);
		e = kh_inf_next_dist(t, win);
		kh_inf_skip(b, e & 31);
		if (e & KH_INF_SPECIAL)
			return KH_INF_LANE_BAD;
		token |= ((e >> 16) + kh_inf_low(win >> (e >> 8 & 15), e >> 12 & 15) - 1) & 0x7fff;
		kh_inf_put_token(to, token);
	}
	return KH_INF_LANE_RUN;
}

/* --- a stripe --------------------------------------------------------------------------- */
typedef struct kh_inf_share {
	const uint32_t *in;
	uint32_t from, step, limit;     /* bits; limit: of the input */
	uint32_t *token;                /* rows of the stripe */
	uint32_t cap;                   /* tokens a lane */
} kh_inf_share;

/* Lane j decodes its share from bit `at` on. */
static KH_HD void kh_inf_decode_share(kh_inf_shared *w, const kh_inf_share *s, uint32_t j,
				      kh_inf_bits *b)
{
	kh_inf_tokens to = { s->token + 4 * j, s->cap, 0, { 0, 0, 0, 0 }, 0 };
	const uint32_t bound = kh_inf_least(s->from + (j + 1) * s->step, s->limit);

	w->start[j] = b->p;
	w->state[j] = (uint8_t)kh_inf_decode_lane(&w->t, b, bound, &to);
	kh_inf_end_tokens(&to);
	w->end[j] = b->p;
	w->n[j] = to.text;
	w->k[j] = to.n;
}

/* Decodes again all lanes that do not begin where the one before them ended. */
static KH_HD void kh_inf_decode_again(int lane, int n_lanes, kh_inf_shared *w,
				      const kh_inf_share *s)
{
	uint32_t to = 0;
	kh_inf_bits b;

	for (uint32_t i = 1; i < KH_INF_LANES; i++)
		to |= w->start[i] != w->end[i - 1] ? 1u << i : 0;
#ifdef __CUDA_ARCH__
	const uint32_t at = lane ? w->end[lane - 1] : 0;

	__syncwarp();
	if (to >> lane & 1) {
		kh_inf_bits_at(&b, s->in, at);
		kh_inf_decode_share(w, s, (uint32_t)lane, &b);
	}
#else
	uint32_t at[KH_INF_LANES] = { 0 };

	for (uint32_t i = 1; i < KH_INF_LANES; i++)
		at[i] = w->end[i - 1];
	for (uint32_t i = (uint32_t)lane; i < KH_INF_LANES; i += (uint32_t)n_lanes) {
		if (to >> i & 1) {
			kh_inf_bits_at(&b, s->in, at[i]);
			kh_inf_decode_share(w, s, i, &b);
		}
	}
#endif
	KH_INF_SYNC();
}

/* Returns how many lanes are proven: the last of them has ended the block, or cannot go on, or all
 * 32 have come to the end of their shares. */
static KH_HD uint32_t kh_inf_decode_stripe(int lane, int n_lanes, kh_inf_shared *w,
					   const kh_inf_share *s)
{
	KH_INF_SYNC();
	for (uint32_t j = (uint32_t)lane; j < KH_INF_LANES; j += (uint32_t)n_lanes) {
		const uint32_t mine = kh_inf_least(s->from + j * s->step, s->limit);
		const bool near = j == 0 || mine - s->from < KH_INF_AHEAD;
		kh_inf_bits b;

		kh_inf_bits_at(&b, s->in, near ? s->from : mine - KH_INF_AHEAD);
		kh_inf_pass_over(&w->t, &b, mine);
		kh_inf_decode_share(w, s, j, &b);
	}
	KH_INF_SYNC();
	for (;;) {
		uint32_t j = 0;

		while (w->state[j] == KH_INF_LANE_RUN && j + 1 < KH_INF_LANES &&
		       w->start[j + 1] == w->end[j])
			j++;
		if (w->state[j] != KH_INF_LANE_RUN || j + 1 == KH_INF_LANES)
			return j + 1;
		KH_INF_SYNC();
		kh_inf_decode_again(lane, n_lanes, w, s);
	}
}

/* --- a segment ------------------------------------------------------------------------- */
/* A segment in the making; all lanes have the same. */
typedef struct kh_inf_cursor {
	uint32_t p;                     /* the next bit */
	uint32_t last;                  /* stripe, or NONE */
	uint32_t text, stripes, passed;
	uint32_t hint;                  /* the next found place is this segment's bit */
	enum kh_inf_state state;
} kh_inf_cursor;

/* Adds the first k lanes of w as a stripe.  False: there is no room. */
static KH_HD bool kh_inf_add_stripe(int lane, int n_lanes, const kh_inf_batch *b, kh_inf_shared *w,
				    uint32_t k, uint32_t row, bool stored, kh_inf_segment *seg,
				    kh_inf_cursor *at)
{
	KH_INF_SYNC();
	if (lane == 0) {
		const uint32_t i = kh_inf_add(&b->c->n_stripe, 1);
		uint32_t n[KH_INF_UNITS] = { 0 }, sum = 0;

		for (uint32_t j = 0; j < k; j++) {
			n[j / KH_INF_UNIT] += w->n[j];
			sum += w->n[j];
		}
		w->count[0] = i < KH_INF_STRIPES ? i : KH_INF_NONE;
		w->count[1] = sum;
		if (i < KH_INF_STRIPES) {
			kh_inf_stripe *s = &b->stripe[i];

			s->row = row;
			s->stored = stored;
			s->next = KH_INF_NONE;
			for (uint32_t j = 0; j < KH_INF_UNITS; j++)
				s->n[j] = n[j];
			if (at->last == KH_INF_NONE)
				seg->first = i;
			else
				b->stripe[at->last].next = i;
		}
	}
	KH_INF_SYNC();
	const uint32_t i = w->count[0], sum = w->count[1];
	if (i == KH_INF_NONE || sum > b->cap_text - at->text) {
		at->state = KH_INF_ROOM;
		return false;
	}
	for (uint32_t j = (uint32_t)lane; j < KH_INF_LANES; j += (uint32_t)n_lanes)
		b->stripe[i].k[j] = j < k ? w->k[j] : 0;
	at->last = i;
	at->text += sum;
	at->stripes++;
	return true;
}

/* The bit of segment number i, NONE behind the last one. */
static KH_HD uint32_t kh_inf_hint(const kh_inf_batch *b, uint32_t i)
{
	return i < b->c->n_segment ? b->segment[i].bit : KH_INF_NONE;
}

static KH_HD void kh_inf_stored_block(int lane, int n_lanes, const kh_inf_batch *b,
				      kh_inf_shared *w, kh_inf_segment *seg, kh_inf_cursor *at)
{
	const uint32_t byte = (at->p + 3 + 7) / 8;
	const uint32_t x = kh_inf_peek_at(b->in, 8 * byte), n = x & 0xffff;
	const uint32_t each = (n + KH_INF_LANES - 1) / KH_INF_LANES;

	if (((x >> 16 ^ x) & 0xffff) != 0xffff) {
		at->state = KH_INF_BAD;
		return;
	}
	if (byte + 4 > b->n || n > b->n - (byte + 4)) {
		at->state = KH_INF_INPUT;
		return;
	}
	KH_INF_SYNC();
	for (uint32_t j = (uint32_t)lane; j < KH_INF_LANES; j += (uint32_t)n_lanes)
		w->k[j] = w->n[j] = kh_inf_least(each, n - kh_inf_least(j * each, n));
	if (n == 0 || kh_inf_add_stripe(lane, n_lanes, b, w, KH_INF_LANES, byte + 4, true, seg, at))
		at->p = 8 * (byte + 4 + n);
}

/* Rows for `cap` tokens a lane; NONE: there is no room. */
static KH_HD uint32_t kh_inf_rows(int lane, const kh_inf_batch *b, kh_inf_shared *w, uint32_t cap)
{
	KH_INF_SYNC();
	if (lane == 0) {
		const uint32_t row = kh_inf_add(&b->c->n_row, cap);

		w->count[0] = row < b->cap_row && cap <= b->cap_row - row ? row : KH_INF_NONE;
	}
	KH_INF_SYNC();
	return w->count[0];
}

/* The stripes of a block whose tables are there. */
static KH_HD void kh_inf_coded_block(int lane, int n_lanes, const kh_inf_batch *b, kh_inf_shared *w,
				     kh_inf_segment *seg, kh_inf_cursor *at)
{
	at->p = w->head_end;
	for (;;) {
		const uint32_t hint = kh_inf_hint(b, at->hint);
		const uint32_t far = hint == KH_INF_NONE || hint < at->p ? UINT32_MAX
									  : hint - at->p;
		uint32_t step = kh_inf_least(far / KH_INF_LANES + 1, KH_INF_STEP);

		if (step < KH_INF_STEP_MIN)
			step = KH_INF_STEP_MIN;
		/* tokens have four bits on the average, or the stripe is shorter */
		const uint32_t cap = (step / 4 + 16) & ~3u, row = kh_inf_rows(lane, b, w, cap);

		if (row == KH_INF_NONE) {
			at->state = KH_INF_ROOM;
			return;
		}
		kh_inf_share s = { b->in, at->p, step, 8 * b->n,
				   b->token + (uint64_t)KH_INF_LANES * row, cap };
		uint32_t k = kh_inf_decode_stripe(lane, n_lanes, w, &s);
		if (w->state[k - 1] == KH_INF_LANE_FULL) {
			s.step = cap;           /* each token has one bit at least */
			k = kh_inf_decode_stripe(lane, n_lanes, w, &s);
		}
		const uint32_t state = w->state[k - 1], end = w->end[k - 1];

		if (state == KH_INF_LANE_BAD) {
			at->p = end;
			at->state = KH_INF_BAD;
			return;
		}
		if (!kh_inf_add_stripe(lane, n_lanes, b, w, k, row, false, seg, at))
			return;
		at->p = end;
		if (at->p > 8 * b->n || (at->p == 8 * b->n && state != KH_INF_LANE_END))
			at->state = KH_INF_INPUT;
		if (at->state != KH_INF_OPEN || state == KH_INF_LANE_END)
			return;
		while (kh_inf_hint(b, at->hint) <= at->p)
			at->hint++;
	}
}

/* Decodes the next block. */
static KH_HD void kh_inf_decode_block(int lane, int n_lanes, const kh_inf_batch *b,
				      kh_inf_shared *w, kh_inf_segment *seg, kh_inf_cursor *at)
{
	const uint32_t head = kh_inf_peek_at(b->in, at->p), type = head >> 1 & 3, from = at->p;

	if (type == 0) {
		kh_inf_stored_block(lane, n_lanes, b, w, seg, at);
	} else if (type == 1 && (head >> 3 & 127) == 0) {
		at->p += 10;            /* empty: pigz writes such */
	} else {
		kh_inf_block_header(lane, n_lanes, b->in, w, at->p, type);
		if (*(volatile uint32_t *)&w->ok)
			kh_inf_coded_block(lane, n_lanes, b, w, seg, at);
		else
			at->state = KH_INF_BAD;
	}
	/* what is wrong may be the zeros behind the input, where a header has 5000 bits at most */
	const uint32_t near = at->state == KH_INF_BAD ? at->p + 5000 : at->p;

	if (near > 8 * b->n && (at->state == KH_INF_BAD || at->state == KH_INF_OPEN))
		at->state = KH_INF_INPUT;
	if (at->state == KH_INF_OPEN && (head & 1))
		at->state = KH_INF_FINAL;
	while (kh_inf_hint(b, at->hint) < at->p) {
		at->passed += kh_inf_hint(b, at->hint) > from;
		at->hint++;
	}
}

/* Decodes segment number i, from block to block, up to a place that another one begins at. */
static KH_HD void kh_inf_decode_segment(int lane, int n_lanes, const kh_inf_batch *b,
					kh_inf_shared *w, uint32_t i)
{
	kh_inf_segment *seg = &b->segment[i];
	kh_inf_cursor at = { seg->bit, KH_INF_NONE, 0, 0, 0, i + 1, KH_INF_OPEN };

	while (at.state == KH_INF_OPEN) {
		kh_inf_decode_block(lane, n_lanes, b, w, seg, &at);
		if (at.state != KH_INF_OPEN)
			break;
		if (kh_inf_hint(b, at.hint) == at.p)
			at.state = KH_INF_NEXT;
		else if (at.passed > KH_INF_PASSED)
			at.state = KH_INF_BAD;
	}
	KH_INF_SYNC();
	if (lane == 0) {
		seg->end = at.p;
		seg->n = at.text;
		seg->stripes = at.stripes;
		seg->state = at.state;
		if (at.last == KH_INF_NONE)
			seg->first = KH_INF_NONE;
	}
}

#endif
