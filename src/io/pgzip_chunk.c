/*
 * pgzip_chunk.c - decodes a chunk of compressed bytes to symbols
 *
 * Decoding begins at a block, or at the header of a member, and goes on over blocks and members to
 * the first place behind the chunk's nominal bytes that the search for the beginning of the next
 * chunk could find.
 */
#include <config.h>
#include "io/pgzip.h"

#include <string.h>
#include "base/mem.h"
#include "io/pgzip_in.h"
#include "io/source_in.h"

enum { TRAILER = 8, HEADER = 18 };

bool pgzip_reserve(struct kh_pgzip_chunk *c, size_t n)
{
	if (KH_GROW(c->d.out, c->cap_out, n, NULL))
		c->no_memory = true;
	return !c->no_memory;
}

/* The header of a plain gzip member at in[i]: its size, 0: there is none, or not all of it. */
static size_t member_header(const struct kh_pgzip_chunk *c, size_t i)
{
	const uint8_t *p = c->in + i;

	if (i > c->n || c->n - i < HEADER || p[0] != 0x1f || p[1] != 0x8b)
		return 0;
	const struct kh_gz_head h = kh_gz_parse_head(p, c->n - i);
	return h.bad || h.bsize ? 0 : h.n;
}

/* The first one from in[i] on, within the nominal bytes; otherwise c->nominal. */
static size_t next_member(const struct kh_pgzip_chunk *c, size_t i)
{
	for (const uint8_t *p; i < c->nominal; i++) {
		p = memchr(c->in + i, 0x1f, c->nominal - i);
		if (!p)
			break;
		i = (size_t)(p - c->in);
		if (member_header(c, i))
			return i;
	}
	return c->nominal;
}

/* Is this behind the chunk, and a place that the next one may begin at? */
static bool is_next(const struct kh_pgzip_chunk *c, const kh_deflate_start *s)
{
	return s->kind && s->bit >= 8 * c->nominal && !c->last;
}

static void stop_at(struct kh_pgzip_chunk *c, enum pgzip_stop stop, size_t bit)
{
	c->stop = stop;
	c->end_bit = bit;
	c->n_out = c->d.at;
}

/* Behind the last block of a member: over its trailer and the next one's header.  False: the chunk
 * ends here. */
static bool over_member(struct kh_pgzip_chunk *c)
{
	kh_deflate *d = &c->d;
	const size_t trailer = (d->bit + 7) / 8, header = trailer + TRAILER;
	const size_t n = member_header(c, header);

	stop_at(c, PGZIP_TAIL, 8 * trailer);
	c->end = (kh_deflate_start) { 8 * trailer, KH_START_NONE };
	if (!n)
		return false;
	if (KH_GROW(c->event, c->cap_event, c->n_event + 1, NULL)) {
		c->no_memory = true;
		return false;
	}
	const uint64_t x = kh_le64(c->in + trailer);
	c->event[c->n_event++] = (struct pgzip_event) { d->at, (uint32_t)x, (uint32_t)(x >> 32),
							c->at + header };
	d->oldest = d->at;
	const kh_deflate_start here = { 8 * header, KH_START_MEMBER };
	if (is_next(c, &here)) {
		stop_at(c, PGZIP_NEXT, here.bit);
		c->end = here;
		return false;
	}
	d->bit = 8 * (header + n);
	return true;
}

/* Makes more room for a block that alone has filled the chunk. False: it is too long. */
static bool more_output(struct kh_pgzip_chunk *c)
{
	kh_deflate *d = &c->d;
	const size_t n = d->cap - KH_DEFLATE_WINDOW;

	if (c->n_out > KH_DEFLATE_WINDOW || n >= KH_PGZIP_TEXT_MAX
	    || !pgzip_reserve(c, KH_DEFLATE_WINDOW + 2 * n))
		return false;
	d->cap = KH_DEFLATE_WINDOW + 2 * n;
	return true;
}

/* Decodes block by block from where d stands. */
static void decode_blocks(struct kh_pgzip_chunk *c)
{
	kh_deflate *d = &c->d;

	for (;;) {
		if (d->where == KH_DEFLATE_BETWEEN) {
			stop_at(c, PGZIP_NEXT, d->bit);
			c->end = kh_deflate_here(d);
			if (is_next(c, &c->end))
				return;
		}
		switch (kh_deflate_block(d)) {
		case KH_DEFLATE_BLOCK:
			if (d->final && !over_member(c))
				return;
			break;
		case KH_DEFLATE_FULL:
			if (more_output(c))
				break;
			c->by_output = true;
			c->stop = PGZIP_EARLY;
			return;
		case KH_DEFLATE_INPUT:
			c->stop = PGZIP_EARLY;
			return;
		case KH_DEFLATE_BAD:
			c->stop = PGZIP_BAD;
			return;
		}
	}
}

/* Decodes from c->start. */
static void decode_from(struct kh_pgzip_chunk *c)
{
	kh_deflate *d = &c->d;
	kh_deflate_start s = c->start;

	c->n_event = 0;
	c->by_output = false;
	d->at = KH_DEFLATE_WINDOW;
	d->cap = KH_DEFLATE_WINDOW + c->text;
	stop_at(c, PGZIP_BAD, s.bit);
	c->end = (kh_deflate_start) { s.bit, KH_START_NONE };
	if (s.kind == KH_START_MEMBER) {
		const size_t head = member_header(c, s.bit / 8);

		if (!head)
			return;
		s = (kh_deflate_start) { s.bit + 8 * head, KH_START_NONE };
		d->oldest = d->at;
	}
	if (kh_deflate_go(d, &s))
		decode_blocks(c);
}

/* Decodes from the first place that looks like the start of a block and proves to be decodable. */
static void decode_guessed(struct kh_pgzip_chunk *c, const kh_deflate_finder *finder)
{
	const size_t end = 8 * c->nominal;
	size_t member = next_member(c, 0);

	kh_deflate_unknown_window(&c->d);
	for (size_t bit = 0; bit < end && !c->no_memory; bit = c->start.bit + 1) {
		if (8 * member < bit)
			member = next_member(c, (bit + 7) / 8);
		c->d.oldest = 0;
		c->start = kh_deflate_find(finder, &c->d, bit, 8 * member);
		if (!c->start.kind && member < c->nominal)
			c->start = (kh_deflate_start) { 8 * member, KH_START_MEMBER };
		if (!c->start.kind)
			break;
		decode_from(c);
		if (c->stop != PGZIP_BAD && c->n_out > KH_DEFLATE_WINDOW)
			return;
	}
	c->stop = PGZIP_NONE;
}

void pgzip_decode(struct kh_pgzip_chunk *c, const kh_deflate_finder *finder)
{
	c->no_memory = false;
	c->given = KH_DEFLATE_WINDOW;
	c->events_given = 0;
	c->d.in = c->in;
	c->d.n = c->n;
	if (!pgzip_reserve(c, KH_DEFLATE_WINDOW + c->text))
		return;
	if (c->known)
		decode_from(c);
	else
		decode_guessed(c, finder);
}
