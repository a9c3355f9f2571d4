/*
 * source_pgzip.c - a gzip source between its two readers
 *
 * The sequential reader (source_gz.c) reads the header of a member; then, if threads are there and
 * there is more than one chunk's worth of data, they take over, and give back when only the
 * sequential reader can go on.  The bytes that they have read but not used are read again.
 */
#include <config.h>
#include "io/source.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "io/pgzip.h"
#include "io/source_in.h"

/* Compressed bytes of a chunk: about half as much as text of a part, so that a chunk gives two or
 * three parts; few enough for the caches, many enough that the search for a first block,
 * which lies some 30 KB behind on the average (gzip -6, FASTQ), costs little. */
enum { CHUNK_MIN = 4 << 10, CHUNK_MAX = 512 << 10, AHEAD_MIN = 64 << 10, AHEAD_MAX = 256 << 10 };

void kh_source_together(kh_source *s, const kh_together *t)
{
	const size_t n = t->part / 2;
	const size_t chunk = n < CHUNK_MIN ? CHUNK_MIN : n > CHUNK_MAX ? CHUNK_MAX : n;

	s->with = *t;
	if (!t->chunk)
		s->with.chunk = chunk;
	if (!t->ahead)
		s->with.ahead = chunk < AHEAD_MIN ? AHEAD_MIN : AHEAD_MAX;
	if (!t->text)
		s->with.text = 8 * s->with.chunk;
}

/* What the sequential reader has read already, then the file. */
static size_t read_bytes(void *arg, void *buf, size_t n)
{
	kh_source *s = arg;
	size_t got = s->end - s->pos < n ? s->end - s->pos : n;
	int64_t more = 1;

	memcpy(buf, s->in + s->pos, got);
	s->pos += got;
	for (; got < n && more > 0; got += more > 0 ? (size_t)more : 0)
		more = kh_source_raw(s, (char *)buf + got, n - got, NULL);
	return got;
}

static int make_pgzip(kh_source *s, kh_err *err)
{
	const kh_together *w = &s->with;
	const kh_pgzip_options o = {
		.name = s->name, .threads = w->threads, .chunk = w->chunk, .ahead = w->ahead,
		.part = w->part, .text = w->text, .read = read_bytes, .arg = s,
	};

	return s->pgzip ? KH_OK : kh_pgzip_new(&s->pgzip, &o, err);
}

/* Is there more than the sequential reader reads as fast alone?  A FIFO that is read in step with
 * another one must not be waited for. */
static bool is_worth_it(const kh_source *s)
{
	return s->size > 0 ? s->size - kh_source_at(s) > s->with.chunk : !s->in_step;
}

/* Can threads take over here? */
static bool may_begin(kh_source *s)
{
	return !s->together && s->kind == KH_SOURCE_STREAM && s->gz && is_worth_it(s)
	       && kh_gz_to_data(s) && !s->bsize;
}

int kh_source_work(kh_source *s, struct kh_pgzip_job *job, kh_err *err)
{
	int rc = 0;

	if (s->with.threads == 0)
		return 0;
	/* A regular file is ready, also if it is read in step with another one. */
	if (s->size > 0 && (rc = kh_source_await(s, 0, err)) < 0)
		return rc;
	if (may_begin(s)) {
		if ((rc = make_pgzip(s, err)))
			return rc;
		kh_pgzip_start(s->pgzip, s->member_at, kh_source_at(s));
		s->together = true;
	}
	return s->together ? kh_pgzip_work(s->pgzip, job, err) : 0;
}

/* The bytes that were read but not used are read again, then what the sequential reader has still
 * got, then what is left of those of the last time. */
static int give_back(kh_source *s, kh_pgzip_rest *r, kh_err *err)
{
	const size_t n_in = s->end - s->pos, left = s->back_end - s->back_pos;
	size_t cap = r->n;
	int rc = KH_GROW(r->in, cap, r->n + n_in + left, err);

	if (rc) {
		free(r->in);
		return rc;
	}
	memcpy(r->in + r->n, s->in + s->pos, n_in);
	if (left > 0)
		memcpy(r->in + r->n + n_in, s->back + s->back_pos, left);
	free(s->back);
	s->back = r->in;
	s->back_pos = 0;
	s->back_end = r->n + n_in + left;
	s->taken -= r->n + n_in;
	s->pos = s->end = KH_INFLATE_BACK;
	s->at_end = s->together = false;
	return KH_OK;
}

/* The sequential reader goes on, in the middle of a member. */
static int leave(kh_source *s, kh_err *err)
{
	kh_pgzip_rest r;
	int rc = kh_pgzip_leave(s->pgzip, &r, err);

	if (!rc)
		rc = give_back(s, &r, err);
	if (rc)
		return rc;
	s->crc = r.crc;
	s->n_member = r.n_member;
	s->member_at = r.member_at;
	s->gz = r.trailer ? KH_GZ_TRAILER : KH_GZ_BODY;
	if (r.trailer)
		return KH_OK;
	kh_inflate_middle m = { .window = r.window + sizeof r.window - r.n_window,
				.n = r.n_window };
	if (r.skip) {
		rc = kh_source_fill(s, 1, err);
		if (rc)
			return rc;
		m.byte = s->in[s->pos++];
		m.n_bits = 8 - r.skip;
	}
	kh_inflate_reset(s->z);
	return kh_inflate_from(s->z, &m) ? KH_OK : kh_fail_nomem(err);
}

int kh_source_part(kh_source *s, struct kh_pgzip_part *part, kh_err *err)
{
	bool has_to_leave;
	int rc = kh_pgzip_take(s->pgzip, part, &has_to_leave, err);

	if (rc < 0)
		return rc;
	return has_to_leave ? leave(s, err) : KH_OK;
}
