/*
 * source_together.c - a gzip source between its sequential reader and those who inflate it together
 *
 * The sequential reader (source_gz.c) reads the header of a member; then a device, or threads, take
 * over if there is enough to do, and give back when only the sequential reader can go on.
 */
#include <config.h>
#include "io/source.h"

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

/* Lets the device take over, or threads, where one of them can. */
static int begin(kh_source *s, kh_err *err)
{
	bool began;
	int rc = kh_gzdev_begin(s, &began, err);

	if (began) {
		s->together = KH_GZ_BY_DEVICE;
		return rc;
	}
	if (!rc)
		rc = kh_pgzip_begin(s, &began, err);
	if (!rc && began)
		s->together = KH_GZ_BY_THREADS;
	return rc;
}

int kh_source_work(kh_source *s, kh_gz_job *job, kh_err *err)
{
	int rc = 0;

	if (s->with.threads == 0 && !s->with.by.f)
		return 0;
	/* A regular file is ready, also if it is read in step with another one. */
	if (s->size > 0 && (rc = kh_source_await(s, 0, err)) < 0)
		return rc;
	if (s->together == KH_GZ_ALONE && (rc = begin(s, err)))
		return rc;
	job->by_device.g = NULL;
	if (s->together == KH_GZ_BY_THREADS)
		return kh_pgzip_work(s->pgzip, &job->by_threads, err);
	if (s->together == KH_GZ_ALONE)
		return 0;
	rc = kh_gzdev_work(s->device, &job->by_device);
	s->taken = kh_gzdev_taken(s->device);
	return rc;
}

kh_gzdev *kh_source_gzdev(const kh_source *s)
{
	return s->together == KH_GZ_BY_DEVICE ? s->device : NULL;
}

void kh_gz_do(const kh_gz_job *job)
{
	if (job->by_device.g)
		kh_gzdev_do(&job->by_device);
	else
		kh_pgzip_do(&job->by_threads);
}

int kh_source_part(kh_source *s, kh_gz_part *part, kh_err *err)
{
	const bool by_device = s->together == KH_GZ_BY_DEVICE;
	bool leave;
	int rc = KH_OK;

	part->by_device.g = NULL;
	if (by_device) {
		kh_gzdev_take(s->device, &part->by_device, &leave);
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
	return by_device ? kh_gzdev_end(s, err) : kh_pgzip_end(s, err);
}

int kh_gz_finish(kh_gz_part *part, char *out, size_t *n, kh_err *err)
{
	int rc;

	if (!part->by_device.g) {
		rc = kh_pgzip_finish(&part->by_threads, out, n, err);
	} else {
		rc = kh_gzdev_finish(&part->by_device, out, err);
		*n = out && !rc ? part->n : 0;
	}
	part->any = false;
	return rc;
}

int kh_gz_resume(kh_source *s, const uint8_t *window, size_t n_window, unsigned skip, kh_err *err)
{
	kh_inflate_middle m = { .window = window + KH_DEFLATE_WINDOW - n_window, .n = n_window };

	if (skip) {
		int rc = kh_source_fill(s, 1, err);

		if (rc)
			return rc;
		m.byte = s->in[s->pos++];
		m.n_bits = 8 - skip;
	}
	kh_inflate_reset(s->z);
	return kh_inflate_from(s->z, &m) ? KH_OK : kh_fail_nomem(err);
}
