/* fake_inflate.c - the launchers by which gzip is inflated, on one thread, without a GPU: what
 * kernels of cuda/inflate do with their threads is done here one after the other */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "cuda/inflate/chain.h"
#include "cuda/inflate/segment.h"
#include "cuda/inflate/unit.h"

int kh_gpu_inflate_prepare(bool *fits, uint32_t *groups, uint64_t *scratch)
{
	*fits = true;
	*groups = 2;
	*scratch = 256;
	return 0;
}

/* --- find, decode ------------------------------------------------------------------------- */
static void add_key(const kh_inf_batch *b, uint64_t key)
{
	if (key && b->c->n_key < KH_INF_SEGMENTS)
		b->key[b->c->n_key++] = key;
}

static void find(const kh_inf_batch *b)
{
	static _Thread_local uint8_t filled[4096];

	for (uint32_t i = 0; i < 4096; i++)
		filled[i] = kh_inf_filled_by(i);
	for (uint32_t w = b->start.bit / 32; w < (b->n + 3) / 4; w++) {
		const uint64_t x = b->in[w] | (uint64_t)b->in[w + 1] << 32;

		for (uint32_t k = 0; k < 4; k++)
			if ((x >> 8 * k & 0xffffff) == 0x088b1f &&
			    4 * w + k >= (b->start.bit + 7) / 8)
				add_key(b, kh_inf_member_key(b, 4 * w + k));
		for (uint32_t m = kh_inf_may_begin(x); m; m &= m - 1) {
			const uint32_t bit = kh_inf_lowest(m);

			if (32 * w + bit > b->start.bit &&
			    kh_inf_has_precode(filled, b->in + w, bit))
				add_key(b, kh_inf_block_key(b, 32 * w + bit));
		}
	}
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void make_segments(const kh_inf_batch *b)
{
	uint32_t n = 1;

	qsort(b->key, b->c->n_key, sizeof *b->key, by_number);
	b->segment[0].bit = b->start.bit;
	b->segment[0].head = b->start.head;
	for (uint32_t i = 0; i < b->c->n_key && n < KH_INF_SEGMENTS; i++) {
		const uint32_t bit = (uint32_t)(b->key[i] >> 32);

		if (bit <= b->segment[n - 1].bit)
			continue;
		b->segment[n].bit = bit;
		b->segment[n++].head = (uint32_t)b->key[i];
	}
	b->c->n_segment = n;
}

/* --- chain ---------------------------------------------------------------------------------- */
static void place_units(const kh_inf_batch *b, uint32_t i)
{
	const kh_inf_segment *s = &b->segment[i];
	const kh_inf_member *m = &b->member[s->member];
	uint32_t at = s->at;

	for (uint32_t j = s->first; j != KH_INF_NONE && s->n; j = b->stripe[j].next)
		for (uint32_t k = 0; k < KH_INF_UNITS; k++) {
			const uint32_t in_front = at - m->from + (s->member ? 0 : b->start.window);

			b->unit[b->c->n_unit++] = (kh_inf_unit) {
				at, b->stripe[j].n[k], kh_inf_least(in_front, KH_INF_WINDOW), j,
				k * KH_INF_UNIT, (k + 1) * KH_INF_UNIT, i
			};
			at += b->stripe[j].n[k];
		}
}

static void place_segment(const kh_inf_batch *b, uint32_t i, uint32_t at)
{
	kh_inf_segment *s = &b->segment[i];

	s->at = at;
	b->c->n_member += s->head != KH_INF_NONE;
	s->member = b->c->n_member;
	b->c->n_chain = i + 1;
	if (s->head != KH_INF_NONE)
		b->member[s->member] =
			(kh_inf_member) { s->head, i, KH_INF_NONE, at, 0 };
	if (s->state == KH_INF_FINAL)
		b->member[s->member].last = i;
	place_units(b, i);
}

static void chain(const kh_inf_batch *b)
{
	kh_inf_counts *c = b->c;
	uint32_t at = 0;

	for (uint32_t i = 0; i < c->n_segment; i++)
		b->segment[i].at = KH_INF_NONE;
	b->member[0] = (kh_inf_member) { KH_INF_NONE, 0, KH_INF_NONE, 0, 0 };
	c->why = KH_INF_ROOM;
	for (uint32_t i = 0; i < c->n_segment;) {
		const uint32_t next = kh_inf_next(b, i);

		if (next == KH_INF_NONE) {
			c->why = b->segment[i].state;
			return;
		}
		if (b->segment[i].n > b->cap_text - at)
			return;
		place_segment(b, i, at);
		at += b->segment[i].n;
		i = next;
	}
}

/* --- text --------------------------------------------------------------------------------- */
static void resolve(const kh_inf_batch *b)
{
	static _Thread_local kh_inf_ring ring;

	for (uint32_t k = 0; k < b->c->n_unit; k++) {
		const kh_inf_unit *u = &b->unit[k];

		if (u->n)
			kh_inf_resolve(b, u, &ring);
		for (uint32_t i = u->at; i < u->at + u->n; i++) {
			const uint16_t v = b->symbol[i];
			const int64_t from = (int64_t)u->at + v - KH_INF_MARK - KH_INF_WINDOW;

			b->text[i] = !(v & KH_INF_MARK) ? (uint8_t)v
				     : from >= 0        ? b->text[from]
							: b->window[KH_INF_WINDOW + from];
		}
	}
}

static void sum_up(const kh_inf_batch *b)
{
	for (uint32_t i = 0; i < b->c->n_chain; i++) {
		kh_inf_segment *s = &b->segment[i];

		if (s->at == KH_INF_NONE)
			continue;
		s->crc = ~(uint32_t)crc32(0, b->text + s->at, s->n) ^
			 kh_inf_crc_times(UINT32_MAX, kh_inf_crc_power(s->n));
		const uint32_t last = b->member[s->member].last;
		if (last < b->c->n_chain)
			b->member[s->member].crc ^= kh_inf_crc_part(
				s, b->segment[last].at + b->segment[last].n);
	}
}

static void settle(const kh_inf_batch *b)
{
	kh_inf_verdict v = { KH_INF_NONE, KH_INF_NONE };
	uint32_t sum = 0, stop;

	for (uint32_t m = 0; m <= b->c->n_member && v.wrong == KH_INF_NONE; m++) {
		if (b->member[m].last == KH_INF_NONE)
			continue;
		if (!kh_inf_is_right(b, m))
			v.wrong = m;
		else if (b->member[m].last < b->c->bad_segment)
			v.final = b->member[m].last;
	}
	const uint32_t last = kh_inf_last_proven(b, &v, &stop);
	for (uint32_t i = 0; last != KH_INF_NONE && i <= last; i++)
		if (b->segment[i].at != KH_INF_NONE &&
		    b->segment[i].member == b->segment[last].member)
			sum ^= kh_inf_crc_part(&b->segment[i],
					       b->segment[last].at + b->segment[last].n);
	kh_inf_settle(b, last, sum, stop);
	const uint32_t n = b->c->n_text;
	for (uint32_t i = 0; i < KH_INF_WINDOW; i++)
		b->window_behind[i] = i + n < KH_INF_WINDOW ? b->window[i + n]
							    : b->text[i + n - KH_INF_WINDOW];
}

int kh_gpu_inflate(const kh_inf_batch *b, void *stream)
{
	static _Thread_local kh_inf_shared w;

	(void)stream;
	memset(b->c, 0, sizeof *b->c);
	b->c->bad_segment = KH_INF_NONE;
	find(b);
	make_segments(b);
	for (uint32_t i = 0; i < b->c->n_segment; i++)
		kh_inf_decode_segment(0, 1, b, &w, i);
	chain(b);
	resolve(b);
	sum_up(b);
	settle(b);
	return 0;
}
