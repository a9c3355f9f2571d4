/*
 * pgzip.c - takes chunks in order: reads them, proves where they begin, gives out parts of their
 * text
 *
 * Chunks [head, tail) are in a ring. The fields from `ring` to `n_parts` belong to the thread that
 * holds the caller's lock. A thread that decodes a chunk or finishes a part uses only that chunk or
 * part, and the fields that `mu` guards.
 */
#include <config.h>
#include "io/pgzip.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/pgzip_in.h"

/* --- new, free -------------------------------------------------------------------- */
int kh_pgzip_new(kh_pgzip **out, const kh_pgzip_options *o, kh_err *err)
{
	kh_pgzip *p = kh_array(1, sizeof *p, err);

	if (!p)
		return KH_ENOMEM;
	pthread_mutex_init(&p->mu, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->o = *o;
	p->n_ring = (size_t)o->threads + 2;
	p->ring = kh_array(p->n_ring, sizeof *p->ring, err);
	p->done = kh_array(p->n_ring, sizeof *p->done, err);
	p->ahead = kh_array(o->ahead, 1, err);
	if (!p->ring || !p->done || !p->ahead) {
		kh_pgzip_free(p);
		return KH_ENOMEM;
	}
	for (size_t i = 0; i < p->n_ring; i++)
		p->ring[i].p = p;
	kh_deflate_finder_init(&p->finder);
	*out = p;
	return KH_OK;
}

void kh_pgzip_free(kh_pgzip *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->ring && i < p->n_ring; i++) {
		free(p->ring[i].in);
		free(p->ring[i].d.out);
		free(p->ring[i].event);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->mu);
	free(p->ring);
	free(p->done);
	free(p->ahead);
	free(p->rest);
	free(p);
}

void kh_pgzip_start(kh_pgzip *p, uint64_t member_at, uint64_t at)
{
	p->head = p->tail = 0;
	p->n_ahead = p->n_rest = p->n_window = 0;
	p->ahead_at = at;
	p->at_end = p->proven = p->tail_reached = p->leave = false;
	p->at = 8 * at;
	p->next = (kh_deflate_start) { p->at, KH_START_NONE };
	p->crc = 0;
	p->n_member = 0;
	p->member_at = member_at;
}

/* --- chunks are read --------------------------------------------------------------- */
static struct kh_pgzip_chunk *chunk_at(kh_pgzip *p, uint64_t i)
{
	return &p->ring[i % p->n_ring];
}

static int reserve_in(struct kh_pgzip_chunk *c, size_t n, kh_err *err)
{
	return KH_GROW(c->in, c->cap_in, n + KH_DEFLATE_PAD, err);
}

/* Makes the chunk begin at p->at with p->window, so that nothing has to be guessed. */
static int make_known(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_err *err)
{
	if (!pgzip_reserve(c, KH_DEFLATE_WINDOW))
		return kh_fail_nomem(err);
	c->known = true;
	for (size_t i = 0; i < KH_DEFLATE_WINDOW; i++)
		c->d.out[i] = p->window[i];
	c->d.oldest = KH_DEFLATE_WINDOW - p->n_window;
	c->start = (kh_deflate_start) { (size_t)(p->at - 8 * c->at), KH_START_NONE };
	if (p->next.kind == KH_START_MEMBER)
		c->start.kind = KH_START_MEMBER;
	return KH_OK;
}

/* Reads the next chunk: what has been read ahead, and what follows. */
static int read_chunk(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_err *err)
{
	const size_t want = p->o.chunk + p->o.ahead;
	int rc = reserve_in(c, want, err);

	if (rc)
		return rc;
	memcpy(c->in, p->ahead, p->n_ahead);
	c->n = p->n_ahead + p->o.read(p->o.arg, c->in + p->n_ahead, want - p->n_ahead);
	memset(c->in + c->n, 0, KH_DEFLATE_PAD);
	c->last = p->at_end = c->n < want;
	c->nominal = c->last ? c->n : p->o.chunk;
	c->at = p->ahead_at;
	c->text = p->o.text;
	c->known = false;
	p->n_ahead = c->n - c->nominal;
	p->ahead_at += c->nominal;
	memcpy(p->ahead, c->in + c->nominal, p->n_ahead);
	return KH_OK;
}

/* Puts what is left of the chunks before in front of this one. */
static int put_rest(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_err *err)
{
	int rc = reserve_in(c, p->n_rest + c->n, err);

	if (rc || p->n_rest == 0)
		return rc;
	memmove(c->in + p->n_rest, c->in, c->n + KH_DEFLATE_PAD);
	memcpy(c->in, p->rest, p->n_rest);
	c->n += p->n_rest;
	c->nominal += p->n_rest;
	c->at -= p->n_rest;
	p->n_rest = 0;
	return KH_OK;
}

int kh_pgzip_next(kh_pgzip *p, kh_pgzip_step *step, kh_err *err)
{
	pthread_mutex_lock(&p->mu);
	struct kh_pgzip_chunk *head = chunk_at(p, p->head), *c = chunk_at(p, p->tail);
	const bool any = p->head < p->tail, ready = any && !head->busy;
	const bool room = p->tail - p->head < p->n_ring && c->refs == 0;
	*step = (kh_pgzip_step) { .p = p, .seen = p->changes };
	pthread_mutex_unlock(&p->mu);
	if (p->leave || ready || (!any && p->at_end))
		return 0;
	if (!room || p->at_end)
		return 1;
	int rc = read_chunk(p, c, err);
	/* If all chunks before it are proven, its start and its window are known. */
	if (!rc && !any && !(rc = put_rest(p, c, err)))
		rc = make_known(p, c, err);
	if (rc)
		return rc;
	c->busy = true;
	p->tail++;
	step->chunk = c;
	return 1;
}

void kh_pgzip_do(const kh_pgzip_step *step)
{
	kh_pgzip *p = step->p;

	if (step->chunk)
		pgzip_decode(step->chunk, &p->finder);
	pthread_mutex_lock(&p->mu);
	if (step->chunk) {
		step->chunk->busy = false;
		pgzip_has_changed(p);
	}
	while (p->changes == step->seen)
		pthread_cond_wait(&p->changed, &p->mu);
	pthread_mutex_unlock(&p->mu);
}

/* --- chunks are proven -------------------------------------------------------------- */
/* Does the chunk begin at p->next, as far as a guess can say? */
static bool is_right(const kh_pgzip *p, const struct kh_pgzip_chunk *c)
{
	return c->known || (c->stop != PGZIP_NONE && p->next.kind == c->start.kind
			    && p->next.bit == 8 * c->at + c->start.bit);
}

/* Waits until no thread reads the symbols of the chunk any more. */
static void wait_for_parts(kh_pgzip *p, struct kh_pgzip_chunk *c)
{
	pthread_mutex_lock(&p->mu);
	while (c->refs > 0)
		pthread_cond_wait(&p->changed, &p->mu);
	pthread_mutex_unlock(&p->mu);
}

static int decode_again(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_err *err)
{
	wait_for_parts(p, c);
	int rc = put_rest(p, c, err);
	if (!rc)
		rc = make_known(p, c, err);
	if (!rc)
		pgzip_decode(c, &p->finder);
	return rc;
}

/* With less text in front than a window: does a match copy from before the first byte? */
static bool is_too_far(const kh_pgzip *p, const struct kh_pgzip_chunk *c)
{
	const unsigned first = KH_DEFLATE_MARK + KH_DEFLATE_WINDOW - (unsigned)p->n_window;

	if (p->n_window == KH_DEFLATE_WINDOW)
		return false;
	for (size_t i = KH_DEFLATE_WINDOW; i < c->n_out; i++)
		if (c->d.out[i] >= KH_DEFLATE_MARK && c->d.out[i] < first)
			return true;
	return false;
}

/* Makes the window for what follows the chunk. */
static void next_window(kh_pgzip *p, const struct kh_pgzip_chunk *c)
{
	const size_t from = c->n_event ? c->event[c->n_event - 1].at : KH_DEFLATE_WINDOW;
	const size_t had = c->n_event ? 0 : p->n_window, n = c->n_out - from;
	const size_t now = n < KH_DEFLATE_WINDOW ? n : KH_DEFLATE_WINDOW;

	memmove(p->window, p->window + now, KH_DEFLATE_WINDOW - now);
	kh_deflate_resolve(&c->bytes, c->d.out + c->n_out - now, now,
			   p->window + KH_DEFLATE_WINDOW - now);
	p->n_window = had + n < KH_DEFLATE_WINDOW ? had + n : KH_DEFLATE_WINDOW;
}

/* Keeps the chunk's bytes from its end on that the next one does not have. */
static int keep_rest(kh_pgzip *p, const struct kh_pgzip_chunk *c, kh_err *err)
{
	const size_t from = c->end_bit / 8;

	if (from >= c->nominal)
		return KH_OK;
	p->n_rest = c->nominal - from;
	int rc = KH_GROW(p->rest, p->cap_rest, p->n_rest, err);
	if (!rc)
		memcpy(p->rest, c->in + from, p->n_rest);
	return rc;
}

/* Only the sequential reader can go on behind this chunk? */
static bool is_end(const struct kh_pgzip_chunk *c)
{
	switch (c->stop) {
	case PGZIP_NEXT:
		return false;
	case PGZIP_EARLY:
		/* so that the bytes in front of a chunk do not grow without bound */
		return c->n_out == KH_DEFLATE_WINDOW || (c->last && !c->by_output);
	default:
		return true;
	}
}

/* The first chunk is decoded: finds out whether it is right, and where the next one begins. */
static int prove(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_err *err)
{
	int rc = KH_OK;

	if (!c->no_memory && (!is_right(p, c) || (!c->known && is_too_far(p, c))))
		rc = decode_again(p, c, err);
	if (!rc && c->no_memory)
		rc = kh_fail_nomem(err);
	if (rc)
		return rc;
	p->n_rest = 0;
	p->proven = true;
	kh_deflate_bytes_init(&c->bytes, p->window);
	next_window(p, c);
	p->at = 8 * c->at + c->end_bit;
	p->next = (kh_deflate_start) { 8 * c->at + c->end.bit, c->end.kind };
	p->tail_reached = c->stop == PGZIP_TAIL;
	p->leave = is_end(c);
	return c->by_output && !p->leave ? KH_OK : keep_rest(p, c, err);
}

/* --- parts -------------------------------------------------------------------------- */
static bool all_given(const struct kh_pgzip_chunk *c)
{
	return c->given == c->n_out && c->events_given == c->n_event;
}

/* Cuts off the next part; the parts of a chunk have about the same size. */
static void cut_part(kh_pgzip *p, struct kh_pgzip_chunk *c, kh_pgzip_part *part)
{
	const size_t left = c->n_out - c->given, n = left / p->o.part + (left % p->o.part > 0);

	*part = (kh_pgzip_part) { .chunk = c, .from = c->given, .n = n ? left / n : 0,
				  .event = c->events_given, .number = p->n_parts++ };
	c->given += part->n;
	while (c->events_given < c->n_event && c->event[c->events_given].at <= c->given)
		c->events_given++;
	part->n_event = c->events_given - part->event;
	pthread_mutex_lock(&p->mu);
	while (part->number - p->n_joined >= p->n_ring)
		pthread_cond_wait(&p->changed, &p->mu);
	c->refs++;
	pthread_mutex_unlock(&p->mu);
}

static bool is_busy(kh_pgzip *p, const struct kh_pgzip_chunk *c)
{
	pthread_mutex_lock(&p->mu);
	bool busy = c->busy;
	pthread_mutex_unlock(&p->mu);
	return busy;
}

int kh_pgzip_take(kh_pgzip *p, kh_pgzip_part *part, bool *leave, kh_err *err)
{
	int rc = KH_OK;

	*leave = false;
	part->chunk = NULL;
	while (!rc && p->head < p->tail) {
		struct kh_pgzip_chunk *c = chunk_at(p, p->head);

		if (is_busy(p, c))
			return 0;
		if (!p->proven && (rc = prove(p, c, err)))
			break;
		if (!all_given(c)) {
			cut_part(p, c, part);
			return 1;
		}
		*leave = p->leave;
		if (p->leave)
			return 0;
		p->proven = false;
		if (c->by_output)
			rc = decode_again(p, c, err);
		else
			p->head++;
	}
	return rc;
}

/* --- leave -------------------------------------------------------------------------- */
static void wait_for_all(kh_pgzip *p)
{
	pthread_mutex_lock(&p->mu);
	for (size_t i = 0; i < p->n_ring; i++)
		while (p->ring[i].busy || p->ring[i].refs > 0)
			pthread_cond_wait(&p->changed, &p->mu);
	pthread_mutex_unlock(&p->mu);
}

int kh_pgzip_leave(kh_pgzip *p, kh_pgzip_rest *rest, kh_err *err)
{
	const struct kh_pgzip_chunk *head = chunk_at(p, p->head);
	size_t n = p->n_rest + p->n_ahead;
	/* bytes of the next chunk that the last one has used */
	const size_t used = p->n_rest ? 0 : head->end_bit / 8 - head->nominal;

	wait_for_all(p);
	for (uint64_t i = p->head + 1; i < p->tail; i++)
		n += chunk_at(p, i)->nominal;
	uint8_t *in = kh_array(n, 1, err), *to = in;
	if (!in)
		return KH_ENOMEM;
	if (p->n_rest)
		memcpy(to, p->rest, p->n_rest);
	to += p->n_rest;
	for (uint64_t i = p->head + 1; i < p->tail; to += chunk_at(p, i++)->nominal)
		memcpy(to, chunk_at(p, i)->in, chunk_at(p, i)->nominal);
	memcpy(to, p->ahead, p->n_ahead);
	memmove(in, in + used, n - used);
	rest->in = in;
	rest->n = n - used;
	rest->place = (kh_gz_place) { .where = p->tail_reached ? KH_GZ_AT_TRAILER : KH_GZ_AT_BLOCK,
				      .skip = p->at % 8,
				      .n_window = p->n_window,
				      .crc = p->crc,
				      .n_member = p->n_member,
				      .member_at = p->member_at };
	memcpy(rest->place.window, p->window, sizeof p->window);
	return KH_OK;
}
