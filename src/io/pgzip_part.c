/*
 * pgzip_part.c - parts are finished: symbols to bytes, and the CRC and length of members
 *
 * The thread that finishes a part computes its CRC. CRCs are joined in the order of parts, by the
 * thread that finishes the last missing part. Only a part in which a member ends waits for the
 * parts in front of it.
 */
#include <config.h>
#include "io/pgzip.h"

#include <zlib.h>
#include "io/inflate.h"
#include "io/pgzip_in.h"
#include "io/source_in.h"

struct member_sum {
	uint32_t crc;
	uint64_t n;
};

static struct member_sum join(struct member_sum a, struct member_sum b)
{
	return (struct member_sum) {
		(uint32_t)crc32_combine(a.crc, b.crc, (z_off_t)b.n), a.n + b.n
	};
}

/* The bytes of symbols [from, to), in steps that stay in the cache for their CRC. */
static struct member_sum resolve(const struct kh_pgzip_chunk *c, size_t from, size_t to, char *out)
{
	enum { STEP = 1 << 14 };
	struct member_sum s = { 0, to - from };

	for (size_t n; from < to; from += n, out += n) {
		n = to - from < STEP ? to - from : STEP;
		kh_deflate_resolve(&c->bytes, c->d.out + from, n, (uint8_t *)out);
		s.crc = kh_crc32(s.crc, out, n);
	}
	return s;
}

/* What is wrong with a member, or NULL. */
static const char *judge(const struct pgzip_event *e, struct member_sum s)
{
	return s.crc != e->crc ? KH_GZ_BAD_CRC : (uint32_t)s.n != e->n ? KH_GZ_BAD_LENGTH : NULL;
}

/* Joins the CRCs of parts in order. The caller holds the lock. */
static void join_done(kh_pgzip *p)
{
	for (struct pgzip_done *d; (d = &p->done[p->n_joined % p->n_ring])->there; p->n_joined++) {
		const struct member_sum had = { p->crc, p->n_member }, got = { d->crc, d->n };
		const struct member_sum now = d->restarts ? got : join(had, got);

		p->crc = now.crc;
		p->n_member = now.n;
		if (d->restarts)
			p->member_at = d->member_at;
		d->there = false;
	}
	pgzip_has_changed(p);
}

/* The members that end in a part: the first of them began in front of it. */
struct ends {
	struct member_sum first;
	const char *bad;        /* of the others */
	size_t bad_at;
	uint64_t bad_member;
};

static struct member_sum to_bytes(const kh_pgzip_part *part, char *out, struct ends *ends)
{
	const struct kh_pgzip_chunk *c = part->chunk;
	size_t from = part->from;

	for (size_t i = 0; i < part->n_event; i++) {
		const struct pgzip_event *e = &c->event[part->event + i];
		const struct member_sum s = resolve(c, from, e->at, out + (from - part->from));

		from = e->at;
		if (i == 0) {
			ends->first = s;
		} else if (!ends->bad && (ends->bad = judge(e, s))) {
			ends->bad_at = e->at;
			ends->bad_member = e[-1].next_at;
		}
	}
	return resolve(c, from, part->from + part->n, out + (from - part->from));
}

/* Checks the first of these members, when all in front of the part has been joined. The caller
 * holds the lock. */
static void judge_first(kh_pgzip *p, const kh_pgzip_part *part, struct ends *ends)
{
	const struct pgzip_event *e = &part->chunk->event[part->event];
	const struct member_sum had = { p->crc, p->n_member };
	const char *bad = judge(e, join(had, ends->first));

	if (bad) {
		ends->bad = bad;
		ends->bad_at = e->at;
		ends->bad_member = p->member_at;
	}
}

/* A part is done, whose last member goes on behind it.  The caller holds the lock. */
static void end_part(kh_pgzip *p, kh_pgzip_part *part, struct member_sum last)
{
	struct kh_pgzip_chunk *c = part->chunk;

	p->done[part->number % p->n_ring] = (struct pgzip_done) {
		true, last.crc, last.n, part->n_event > 0,
		part->n_event ? c->event[part->event + part->n_event - 1].next_at : 0
	};
	c->refs--;
	join_done(p);
	part->chunk = NULL;
}

int kh_pgzip_finish(kh_pgzip_part *part, char *out, size_t *n, kh_err *err)
{
	kh_pgzip *p = part->chunk->p;
	struct ends ends = { .bad = NULL };
	const struct member_sum last = to_bytes(part, out, &ends);

	pthread_mutex_lock(&p->mu);
	if (part->n_event) {
		while (p->n_joined < part->number)
			pthread_cond_wait(&p->changed, &p->mu);
		judge_first(p, part, &ends);
	}
	end_part(p, part, last);
	pthread_mutex_unlock(&p->mu);
	*n = ends.bad ? ends.bad_at - part->from : part->n;
	return ends.bad ? kh_gz_damaged(p->o.name, ends.bad_member, ends.bad, err) : KH_OK;
}

void kh_pgzip_drop(kh_pgzip_part *part)
{
	kh_pgzip *p = part->chunk->p;

	pthread_mutex_lock(&p->mu);
	end_part(p, part, (struct member_sum) { 0, 0 });
	pthread_mutex_unlock(&p->mu);
}
