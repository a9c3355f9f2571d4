/*
 * source_together.c - hands a gzip source from its sequential reader to a device or threads, and
 * back
 *
 * The sequential reader (source_gz.c) reads the header of a member.  Then a device, or threads,
 * take over if enough bytes are left, and hand back when only the sequential reader can go on.  A
 * device reads the file by itself, from that header on.  Compressed bytes that threads have read
 * and not used go back to the sequential reader.
 */
#include <config.h>
#include "io/source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/deflate.h"
#include "io/source_in.h"
#include "io/together.h"

/* Compressed bytes of a chunk: about half as much as text of a part, so that a chunk gives two or
 * three parts; few enough for the caches, many enough that the search for a first block,
 * which lies some 30 KB behind on the average (gzip -6, FASTQ), costs little. */
enum { CHUNK_MIN = 4 << 10, CHUNK_MAX = 512 << 10, AHEAD_MIN = 64 << 10, AHEAD_MAX = 256 << 10 };

/* Compressed bytes that a device is worth while for: fewer are inflated by the time that the first
 * batch has gone there and back. */
#define LEAST ((size_t)8 << 20)

/* As many times more of a plain file. */
enum { PLAIN = 8 };

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
	if (!t->least)
		s->with.least = LEAST;
}

/* The sequential reader goes on there. */
static int go_on(kh_source *s, const kh_gz_place *p, kh_err *err)
{
	kh_inflate_middle m = { .window = p->window + KH_DEFLATE_WINDOW - p->n_window,
				.n = p->n_window };

	s->crc = p->crc;
	s->n_member = p->n_member;
	s->member_at = p->member_at;
	s->gz = p->where == KH_GZ_AT_HEADER    ? KH_GZ_MEMBER
		: p->where == KH_GZ_AT_TRAILER ? KH_GZ_TRAILER : KH_GZ_BODY;
	if (s->gz != KH_GZ_BODY)
		return KH_OK;
	if (p->skip) {
		int rc = kh_source_fill(s, 1, err);

		if (rc)
			return rc;
		m.byte = s->in[s->pos++];
		m.n_bits = 8 - p->skip;
	}
	kh_inflate_reset(s->z);
	return kh_inflate_from(s->z, &m) ? KH_OK : kh_fail_nomem(err);
}

/* --- a device ----------------------------------------------------------------------- */
static bool is_for_device(const kh_source *s)
{
	return s->with.by.f && !s->device.none && s->size > 0 &&
	       s->size - kh_source_at(s) > s->with.least;
}

/* Where the data of the BGZF block begin that the reader stands in front of; 0: it is none. */
static uint64_t block_data(kh_source *s)
{
	if (s->late.code || s->gz != KH_GZ_MEMBER || kh_source_fill(s, KH_SOURCE_IN, &s->late))
		return 0;
	const uint8_t *p = s->in + s->pos;
	const size_t n = s->end - s->pos;
	const bool is_gz = n > 2 && p[0] == 0x1f && p[1] == 0x8b;
	const struct kh_gz_head h = is_gz ? kh_gz_parse_head(p, n) : (struct kh_gz_head) { .n = 0 };

	s->member_at = kh_source_at(s);
	return h.n && !h.bad && h.bsize ? s->member_at + h.n : 0;
}

static int begin_device(kh_source *s, bool *began, kh_err *err)
{
	const bool members = s->kind == KH_SOURCE_BGZF;
	uint64_t data = 0;
	int rc = KH_OK;

	*began = false;
	if (!s->gz || !is_for_device(s))
		return KH_OK;
	if (members)
		data = block_data(s);
	else if (s->kind == KH_SOURCE_STREAM && kh_gz_to_data(s) && !s->bsize)
		data = kh_source_at(s);
	if (data == 0 || data - s->member_at > KH_INFLATER_HEAD)
		return KH_OK;
	if (!s->device.g) {
		const kh_gzdev_options o = { .by = s->with.by, .name = s->name, .fd = s->fd,
					     .size = s->size, .part = s->with.part };

		rc = kh_gzdev_new(&s->device.g, &o, err);
	}
	s->device.none = !s->device.g;
	if (rc || !s->device.g)
		return rc;
	s->device.from = s->member_at;
	kh_gzdev_start(s->device.g, s->member_at, data, members);
	*began = true;
	return KH_OK;
}

int kh_source_lend(kh_source *s, kh_err *err)
{
	const kh_gzdev_options o = { .by = s->with.by, .name = s->name, .fd = s->fd,
				     .size = s->size, .part = s->with.part, .plain = true };
	const uint64_t least = s->with.least * PLAIN;

	if (s->kind != KH_SOURCE_RANGES || !s->with.by.f || s->size <= least)
		return KH_OK;
	int rc = kh_gzdev_new(&s->device.g, &o, err);

	if (!rc && s->device.g) {
		kh_gzdev_start(s->device.g, 0, 0, false);
		s->together = KH_GZ_BY_DEVICE;
	}
	return rc;
}

void kh_source_take_back(kh_source *s)
{
	kh_gzdev_rest r;

	if (s->kind != KH_SOURCE_RANGES || s->together != KH_GZ_BY_DEVICE)
		return;
	kh_gzdev_leave(s->device.g, &r);
	s->together = KH_GZ_ALONE;
}

static int end_device(kh_source *s, kh_err *err)
{
	kh_gzdev_rest r;

	kh_gzdev_leave(s->device.g, &r);
	/* where it soon comes to what it cannot do, it would only read much in vain */
	s->device.none = r.failed || r.at - s->device.from < s->with.least;
	free(s->back.p);
	s->back.p = NULL;
	s->back.pos = s->back.end = 0;
	s->pos = s->end = KH_INFLATE_BACK;
	s->at_end = false;
	if (lseek(s->fd, (off_t)r.at, SEEK_SET) < 0)
		return kh_fail_errno(err, s->name);
	s->taken = r.at;
	s->any_member = true;
	s->open_end = r.open_end;
	return go_on(s, &r.place, err);
}

/* --- threads ------------------------------------------------------------------------ */
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
static bool is_for_threads(const kh_source *s)
{
	return s->size > 0 ? s->size - kh_source_at(s) > s->with.chunk : !s->in_step;
}

static int begin_threads(kh_source *s, bool *began, kh_err *err)
{
	int rc = KH_OK;

	*began = s->with.threads > 0 && s->kind == KH_SOURCE_STREAM && s->gz && is_for_threads(s) &&
		 kh_gz_to_data(s) && !s->bsize;
	if (*began && !(rc = make_pgzip(s, err)))
		kh_pgzip_start(s->pgzip, s->member_at, kh_source_at(s));
	return rc;
}

/* The bytes that were read but not used are read again, then what the sequential reader has still
 * got, then what is left of those of the last time. */
static int give_back(kh_source *s, kh_pgzip_rest *r, kh_err *err)
{
	const size_t n_in = s->end - s->pos, left = s->back.end - s->back.pos;
	size_t cap = r->n;
	int rc = KH_GROW(r->in, cap, r->n + n_in + left, err);

	if (rc) {
		free(r->in);
		return rc;
	}
	memcpy(r->in + r->n, s->in + s->pos, n_in);
	if (left > 0)
		memcpy(r->in + r->n + n_in, s->back.p + s->back.pos, left);
	free(s->back.p);
	s->back.p = r->in;
	s->back.pos = 0;
	s->back.end = r->n + n_in + left;
	s->taken -= r->n + n_in;
	s->pos = s->end = KH_INFLATE_BACK;
	s->at_end = false;
	return KH_OK;
}

static int end_threads(kh_source *s, kh_err *err)
{
	kh_pgzip_rest r;
	int rc = kh_pgzip_leave(s->pgzip, &r, err);

	if (!rc)
		rc = give_back(s, &r, err);
	return rc ? rc : go_on(s, &r.place, err);
}

/* --- whoever it is ------------------------------------------------------------------ */
/* Lets the device take over, or threads, where one of them can. */
static int begin(kh_source *s, kh_err *err)
{
	bool began;
	int rc = begin_device(s, &began, err);

	if (began) {
		s->together = KH_GZ_BY_DEVICE;
		return rc;
	}
	if (!rc)
		rc = begin_threads(s, &began, err);
	if (!rc && began)
		s->together = KH_GZ_BY_THREADS;
	return rc;
}

int kh_source_next_step(kh_source *s, kh_gz_step *step, kh_err *err)
{
	int rc = 0;

	if (s->with.threads == 0 && !s->with.by.f)
		return 0;
	/* A regular file is ready, also if it is read in step with another one. */
	if (s->size > 0 && (rc = kh_source_await(s, 0, err)) < 0)
		return rc;
	if (s->together == KH_GZ_ALONE && (rc = begin(s, err)))
		return rc;
	step->by_device.g = NULL;
	if (s->together == KH_GZ_BY_THREADS)
		return kh_pgzip_next(s->pgzip, &step->by_threads, err);
	if (s->together == KH_GZ_ALONE)
		return 0;
	rc = kh_gzdev_next(s->device.g, &step->by_device);
	if (s->gz)
		s->taken = kh_gzdev_taken(s->device.g);
	return rc;
}

kh_gzdev *kh_source_gzdev(const kh_source *s)
{
	return s->together == KH_GZ_BY_DEVICE ? s->device.g : NULL;
}

void kh_gz_do(const kh_gz_step *step)
{
	if (step->by_device.g)
		kh_gzdev_do(&step->by_device);
	else
		kh_pgzip_do(&step->by_threads);
}

int kh_source_part(kh_source *s, kh_gz_part *part, kh_err *err)
{
	const bool by_device = s->together == KH_GZ_BY_DEVICE;
	bool leave;
	int rc = KH_OK;

	part->by_device.g = NULL;
	if (by_device) {
		kh_gzdev_take(s->device.g, &part->by_device, &leave);
		part->any = part->by_device.g;
		part->n = part->by_device.n;
	} else {
		rc = kh_pgzip_take(s->pgzip, &part->by_threads, &leave, err);
		if (rc < 0)
			return rc;
		part->any = part->by_threads.chunk;
		part->n = part->by_threads.n;
	}
	if (!leave)
		return KH_OK;
	s->together = KH_GZ_ALONE;
	return by_device ? end_device(s, err) : end_threads(s, err);
}

int kh_gz_finish(kh_gz_part *part, char *out, size_t *n, kh_err *err)
{
	int rc;

	if (!part->by_device.g) {
		rc = kh_pgzip_finish(&part->by_threads, out, n, err);
	} else {
		rc = kh_gzdev_finish(&part->by_device, out, err);
		*n = rc ? 0 : part->n;
	}
	part->any = false;
	return rc;
}

void kh_gz_drop(kh_gz_part *part)
{
	if (part->by_device.g)
		kh_gzdev_drop(&part->by_device);
	else
		kh_pgzip_drop(&part->by_threads);
	part->any = false;
}
