/*
 * source_pgzip.c - a gzip source between its sequential reader and threads
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

int kh_pgzip_begin(kh_source *s, bool *began, kh_err *err)
{
	int rc = KH_OK;

	*began = s->with.threads > 0 && s->kind == KH_SOURCE_STREAM && s->gz && is_worth_it(s) &&
		 kh_gz_to_data(s) && !s->bsize;
	if (*began && !(rc = make_pgzip(s, err)))
		kh_pgzip_start(s->pgzip, s->member_at, kh_source_at(s));
	return rc;
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
	s->at_end = false;
	return KH_OK;
}

int kh_pgzip_end(kh_source *s, kh_err *err)
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
	return r.trailer ? KH_OK : kh_gz_resume(s, r.window, r.n_window, r.skip, err);
}
