/*
 * deflate.c - the loop that decodes a block to symbols
 */
#include <config.h>
#include "io/deflate.h"

#include <string.h>
#include "io/deflate_in.h"

enum { LITLEN_BITS = KH_DEFLATE_LITLEN_BITS, DIST_BITS = KH_DEFLATE_DIST_BITS };

/* --- headers of blocks -------------------------------------------------------------- */
/* At the length of a stored block. */
static bool stored_length(kh_deflate *d)
{
	const uint32_t x = deflate_take(d, 32);

	if (deflate_past_end(d) || ((x >> 16 ^ x) & 0xffff) != 0xffff)
		return false;
	d->stored = x & 0xffff;
	d->where = KH_DEFLATE_STORED;
	return true;
}

static bool block_header(kh_deflate *d)
{
	const uint32_t head = deflate_take(d, 3);

	d->final = head & 1;
	d->where = KH_DEFLATE_CODED;
	switch (head >> 1) {
	case 0:
		d->bit = (d->bit + 7) / 8 * 8;
		return stored_length(d);
	case 1:
		return deflate_fixed_tables(d);
	case 2:
		return deflate_tables(d);
	default:
		return false;
	}
}

/* --- blocks --------------------------------------------------------------------------- */
static enum kh_deflate_state stored(kh_deflate *d)
{
	const size_t at = d->bit / 8, room = d->cap - d->at;
	const size_t n = d->stored < room ? d->stored : room;

	if (at > d->n || n > d->n - at)
		return KH_DEFLATE_INPUT;
	for (size_t i = 0; i < n; i++)
		d->out[d->at + i] = d->in[at + i];
	d->at += n;
	d->bit += 8 * n;
	d->stored -= n;
	return d->stored ? KH_DEFLATE_FULL : KH_DEFLATE_BLOCK;
}

/* Copies a match of n symbols; up to 15 more may be written. */
static inline void copy_match(uint16_t *to, size_t dist, size_t n)
{
	const uint16_t *from = to - dist;

	if (dist >= 8) {
		memcpy(to, from, 16);
		memcpy(to + 8, from + 8, 16);
		for (size_t i = 16; i < n; i += 8)
			memcpy(to + i, from + i, 16);
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}

/* The input, 57 bits or more at a time. The bits in `bits` above the `n` that count are right,
 * too: a later read puts the same bits there. */
struct reader {
	const uint8_t *in;
	uint64_t bits;
	unsigned n;
};

static inline void refill(struct reader *r)
{
	r->bits |= kh_le64(r->in) << r->n;
	r->in += (63 - r->n) / 8;
	r->n |= 56;
}

static inline void use(struct reader *r, uint32_t entry)
{
	r->bits >>= entry & 63;
	r->n -= entry & 63;
}

/* The value of an entry's extra bits. */
static inline uint32_t extra(uint64_t bits, uint32_t entry)
{
	return (uint32_t)((bits & ((UINT64_C(1) << (entry & 63)) - 1)) >> (entry >> 8 & 31));
}

static inline uint16_t *put(uint16_t *out, uint32_t entry)
{
	const uint32_t pair = entry >> 8 & 0x00ff00ff;

	memcpy(out, &pair, 4);
	return out + 1 + (entry >> 16 & 1);
}

static inline uint32_t next_litlen(const kh_deflate *d, const struct reader *r)
{
	return d->litlen[r->bits & ((1u << LITLEN_BITS) - 1)];
}

static inline uint32_t sub_entry(const uint32_t *sub, const struct reader *r, uint32_t e)
{
	return sub[r->bits & ((1u << (e >> 12 & 15)) - 1)];
}

/* Saves where the loop stands when it ends. */
static enum kh_deflate_state stop(kh_deflate *d, const struct reader *r, const uint16_t *out,
				  enum kh_deflate_state state)
{
	d->bit = 8 * (size_t)(r->in - d->in) - r->n;
	d->at = (size_t)(out - d->out);
	return deflate_past_end(d) ? KH_DEFLATE_INPUT : state;
}

/* A match whose length is entry e.  False: its distance is none. */
static inline bool match(const kh_deflate *d, struct reader *r, uint32_t e, uint16_t **out)
{
	const uint32_t n = (e >> 20) + extra(r->bits, e);

	use(r, e);
	uint32_t f = d->dist[r->bits & ((1u << DIST_BITS) - 1)];
	if (f & DEFLATE_DIST_SPECIAL) {
		if (!(f >> 12 & 15))
			return false;
		use(r, f);
		f = sub_entry(d->dist + (1 << DIST_BITS) + (f >> 16 & 0x7fff), r, f);
		if (f & DEFLATE_DIST_SPECIAL)
			return false;
	}
	const size_t dist = (f >> 16) + extra(r->bits, f);
	use(r, f);
	if (dist > (size_t)(*out - d->out) - d->oldest)
		return false;
	copy_match(*out, dist, n);
	*out += n;
	return true;
}

/* A turn uses up to 56 bits: four look-ups of literals, or a length (15 bits and 5) with a distance
 * (15 and 13). */
static enum kh_deflate_state coded(kh_deflate *d)
{
	struct reader r = { .in = d->in + d->bit / 8 };
	uint16_t *out = d->out + d->at, *const end = d->out + d->cap - KH_DEFLATE_SLACK;
	const uint8_t *const in_end = d->in + d->n + 8;

	if (deflate_past_end(d) || d->cap < KH_DEFLATE_SLACK)
		return deflate_past_end(d) ? KH_DEFLATE_INPUT : KH_DEFLATE_FULL;
	refill(&r);
	use(&r, d->bit % 8);
	while (out < end && r.in <= in_end) {
		refill(&r);
		uint32_t e = next_litlen(d, &r);

		if (e & DEFLATE_LITERAL) {
			use(&r, e);
			out = put(out, e);
			e = next_litlen(d, &r);
			if (e & DEFLATE_LITERAL) {
				use(&r, e);
				out = put(out, e);
				e = next_litlen(d, &r);
				if (e & DEFLATE_LITERAL) {
					use(&r, e);
					out = put(out, e);
					continue;
				}
			}
			refill(&r);
		}
		if (e & DEFLATE_SPECIAL) {
			if ((e & DEFLATE_WHICH) == DEFLATE_SUB) {
				use(&r, e);
				e = sub_entry(d->litlen + (1 << LITLEN_BITS) + (e >> 20), &r, e);
			}
			if (e & DEFLATE_LITERAL) {
				use(&r, e);
				out = put(out, e);
				continue;
			}
			if (e & DEFLATE_SPECIAL) {
				use(&r, e);
				return stop(d, &r, out,
					    (e & DEFLATE_WHICH) == DEFLATE_END ? KH_DEFLATE_BLOCK
									       : KH_DEFLATE_BAD);
			}
		}
		if (!match(d, &r, e, &out))
			return stop(d, &r, out, KH_DEFLATE_BAD);
	}
	return stop(d, &r, out, KH_DEFLATE_FULL);
}

enum kh_deflate_state kh_deflate_block(kh_deflate *d)
{
	if (d->where == KH_DEFLATE_BETWEEN && !block_header(d))
		return deflate_past_end(d) ? KH_DEFLATE_INPUT : KH_DEFLATE_BAD;
	enum kh_deflate_state state = d->where == KH_DEFLATE_STORED ? stored(d) : coded(d);
	if (state == KH_DEFLATE_BLOCK)
		d->where = KH_DEFLATE_BETWEEN;
	return state;
}

void kh_deflate_unknown_window(kh_deflate *d)
{
	for (unsigned i = 0; i < KH_DEFLATE_WINDOW; i++)
		d->out[i] = (uint16_t)(KH_DEFLATE_MARK + i);
	d->oldest = 0;
}

/* --- places -------------------------------------------------------------------------- */
kh_deflate_start kh_deflate_here(const kh_deflate *d)
{
	const uint32_t head = deflate_peek(d, 3);
	const size_t len = (d->bit + 3 + 7) / 8;

	if (head == 4)
		return (kh_deflate_start) { d->bit, KH_START_CODED };
	if (head == 0 && len <= d->n && deflate_peek(d, (unsigned)(8 * len - d->bit)) == 0)
		return (kh_deflate_start) { 8 * len, KH_START_STORED };
	return (kh_deflate_start) { d->bit, KH_START_NONE };
}

bool kh_deflate_go(kh_deflate *d, const kh_deflate_start *s)
{
	d->bit = s->bit;
	d->where = KH_DEFLATE_BETWEEN;
	d->final = false;
	return s->kind != KH_START_STORED || (s->bit / 8 <= d->n && stored_length(d));
}

/* --- symbols to bytes ------------------------------------------------------------------ */
void kh_deflate_bytes_init(kh_deflate_bytes *b, const uint8_t *window)
{
	for (unsigned i = 0; i < 256; i++)
		b->of[i] = (uint8_t)i;
	memcpy(b->of + KH_DEFLATE_MARK, window, KH_DEFLATE_WINDOW);
}

/* The bytes of four symbols. */
static inline uint32_t four(const kh_deflate_bytes *b, const uint16_t *symbol)
{
	const uint64_t x = kh_le64((const uint8_t *)symbol);

	return b->of[x & 0xffff] | (uint32_t)b->of[x >> 16 & 0xffff] << 8
	       | (uint32_t)b->of[x >> 32 & 0xffff] << 16 | (uint32_t)b->of[x >> 48] << 24;
}

void kh_deflate_resolve(const kh_deflate_bytes *b, const uint16_t *symbol, size_t n, uint8_t *out)
{
	size_t i = 0;

	for (; n - i >= 8; i += 8) {
		const uint64_t x = four(b, symbol + i) | (uint64_t)four(b, symbol + i + 4) << 32;

		memcpy(out + i, &x, 8);
	}
	for (; i < n; i++)
		out[i] = b->of[symbol[i]];
}
