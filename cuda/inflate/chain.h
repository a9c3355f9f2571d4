/*
 * chain.h - which segments follow one another, and what of them is proven   [HD]
 */
#ifndef KH_CUDA_INFLATE_CHAIN_H
#define KH_CUDA_INFLATE_CHAIN_H

#include "cuda/inflate/find.h"

/* In place of the number of a segment: nothing follows this one. */
#define KH_INF_LAST 0xfffffffeu

/* The segment that begins at that bit, with the header at byte `head`, from number i on; LAST:
 * there is none. */
static KH_HD uint32_t kh_inf_segment_at(const kh_inf_batch *b, uint32_t i, uint32_t bit,
					uint32_t head)
{
	uint32_t lo = i, hi = b->c->n_segment;

	if (lo < hi && b->segment[lo].bit == bit)
		hi = lo;
	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (b->segment[mid].bit < bit)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->c->n_segment && b->segment[lo].bit == bit && b->segment[lo].head == head
		       ? lo : KH_INF_LAST;
}

/* The byte of the trailer behind a member's last block. */
static KH_HD uint32_t kh_inf_trailer(const kh_inf_segment *s)
{
	return (s->end + 7) / 8;
}

/* The segment that follows number i; LAST; or NONE: what is in i does not count.  Its state says
 * why: a member of which the trailer and the next header are not all there has to wait for them. */
static KH_HD uint32_t kh_inf_next(const kh_inf_batch *b, uint32_t i)
{
	kh_inf_segment *s = &b->segment[i];
	const uint32_t head = kh_inf_trailer(s) + KH_INF_TRAILER;

	if (s->state == KH_INF_NEXT)
		return kh_inf_segment_at(b, i + 1, s->end, KH_INF_NONE);
	if (s->state != KH_INF_FINAL)
		return KH_INF_NONE;
	if (!b->last && (head > b->n || b->n - head < KH_INF_HEAD)) {
		s->state = KH_INF_INPUT;
		return KH_INF_NONE;
	}
	const kh_inf_head h = kh_inf_head_at(b, head);

	return h.n ? kh_inf_segment_at(b, i + 1, 8 * (head + h.n), head) : KH_INF_LAST;
}

/* --- CRC-32 ----------------------------------------------------------------------------- */
/* a * b, modulo the polynomial, in the reflected order of bits. */
static KH_HD uint32_t kh_inf_crc_times(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (int i = 0; i < 32; i++) {
		if (a & 0x80000000u >> i)
			r ^= b;
		b = b & 1 ? b >> 1 ^ 0xedb88320u : b >> 1;
	}
	return r;
}

/* x to the power of 8 n: what a CRC is multiplied by when n bytes follow. */
static KH_HD uint32_t kh_inf_crc_power(uint64_t n)
{
	uint32_t r = 0x80000000u, x = 0x00800000u;

	for (; n; n >>= 1) {
		if (n & 1)
			r = kh_inf_crc_times(r, x);
		x = kh_inf_crc_times(x, x);
	}
	return r;
}

/* The part that segment i has in the CRC of a text that ends at byte `end`. */
static KH_HD uint32_t kh_inf_crc_part(const kh_inf_segment *s, uint32_t end)
{
	return kh_inf_crc_times(s->crc, kh_inf_crc_power(end - (s->at + s->n)));
}

/* The CRC of what had `crc` when n bytes follow, whose own is `sum`, from 0 and not inverted. */
static KH_HD uint32_t kh_inf_crc_join(uint32_t crc, uint64_t n, uint32_t sum)
{
	return ~(kh_inf_crc_times(~crc, kh_inf_crc_power(n)) ^ sum);
}

/* --- what is proven ------------------------------------------------------------------------ */
/* The text of a member here ends at byte `end`: bytes and CRC of all of it so far. */
static KH_HD uint64_t kh_inf_member_sum(const kh_inf_batch *b, uint32_t member, uint32_t end,
					uint32_t sum, uint32_t *crc)
{
	const kh_inf_member *m = &b->member[member];
	const uint64_t n = end - m->from;

	*crc = kh_inf_crc_join(member ? 0 : b->start.crc, n, sum);
	return (member ? 0 : b->start.n) + n;
}

/* Is a member right that ends here? */
static KH_HD bool kh_inf_is_right(const kh_inf_batch *b, uint32_t member)
{
	const kh_inf_member *m = &b->member[member];
	const kh_inf_segment *s = &b->segment[m->last];
	const uint32_t t = kh_inf_trailer(s);
	uint32_t crc;
	const uint64_t n = kh_inf_member_sum(b, member, s->at + s->n, m->crc, &crc);

	if (t > b->n || b->n - t < KH_INF_TRAILER || kh_inf_le32(b, t) != crc ||
	    kh_inf_le32(b, t + 4) != (uint32_t)n)
		return false;
	return !b->members || (n <= 65536 && m->head + kh_inf_head_at(b, m->head).bsize ==
						     t + KH_INF_TRAILER);
}

/* What decides where the proven text ends. */
typedef struct kh_inf_verdict {
	uint32_t wrong;                 /* the first member that is not right, or NONE */
	uint32_t final;                 /* the last segment at which a member that is right ends,
					 * or NONE */
} kh_inf_verdict;

/* The last segment whose text counts, or NONE; *stop. */
static KH_HD uint32_t kh_inf_last_proven(const kh_inf_batch *b, const kh_inf_verdict *v,
					 uint32_t *stop)
{
	const kh_inf_counts *c = b->c;
	uint32_t last = c->n_chain ? c->n_chain - 1 : KH_INF_NONE;

	*stop = c->why == KH_INF_INPUT ? KH_INF_MORE : c->why == KH_INF_BAD ? KH_INF_ODD
									    : KH_INF_AGAIN;
	if (v->wrong != KH_INF_NONE && !b->members) {
		last = b->member[v->wrong].last;
		*stop = KH_INF_TAIL;
	}
	if (v->wrong != KH_INF_NONE && b->members)
		*stop = KH_INF_ODD;
	if (c->bad_segment <= last && last != KH_INF_NONE) {
		*stop = KH_INF_ODD;
		last = c->bad_segment ? c->bad_segment - 1 : KH_INF_NONE;
	}
	if (b->members)
		last = v->final;
	while (last != KH_INF_NONE && b->segment[last].at == KH_INF_NONE)
		last = last ? last - 1 : KH_INF_NONE;
	return last;
}

/* The place behind a member, whose header there is, or not. */
static KH_HD void kh_inf_end_at_member(const kh_inf_batch *b, uint32_t head, uint32_t *stop)
{
	const kh_inf_head h = kh_inf_head_at(b, head);
	const kh_inf_place place = { 8 * (head + h.n), head, 0, 0, 0 };

	b->c->end = place;
	b->c->head = head;
	if (!h.n)
		*stop = KH_INF_ODD;
}

/* The result: what counts ends behind segment `last`, NONE: in front of all; sum: the CRC of what
 * is here of the text of its member. */
static KH_HD void kh_inf_settle(const kh_inf_batch *b, uint32_t last, uint32_t sum, uint32_t stop)
{
	kh_inf_counts *c = b->c;
	kh_inf_place *end = &c->end;

	*end = b->start;
	c->head = b->start.head;
	c->n_text = 0;
	c->last_n = KH_INF_NONE;
	if (last != KH_INF_NONE) {
		const kh_inf_segment *s = &b->segment[last];
		const uint32_t head = kh_inf_trailer(s) + KH_INF_TRAILER;
		const bool final = s->state == KH_INF_FINAL;

		c->n_text = s->at + s->n;
		c->head = b->member[s->member].head;
		end->head = KH_INF_NONE;
		end->bit = s->end;
		end->n = kh_inf_member_sum(b, s->member, c->n_text, sum, &end->crc);
		end->window = end->n < KH_INF_WINDOW ? (uint32_t)end->n
							 : (uint32_t)KH_INF_WINDOW;
		if (final)
			c->last_n = (uint32_t)end->n;
		if (final && !b->members && (stop == KH_INF_TAIL || !kh_inf_head_at(b, head).n)) {
			stop = KH_INF_TAIL;
			end->bit = 8 * kh_inf_trailer(s);
		} else if (final) {
			kh_inf_end_at_member(b, head, &stop);
		}
	}
	c->stop = stop == KH_INF_AGAIN && last == KH_INF_NONE ? (uint32_t)KH_INF_ODD : stop;
}

#endif
