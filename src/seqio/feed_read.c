/*
 * feed_read.c - raw bytes into blocks
 *
 * Who holds a stream's lock takes its next bytes and the next ticket, so that tickets are in the
 * order of bytes.  What can be done by many at once, reading a range of a plain file or inflating a
 * run of BGZF blocks, is done outside it.
 */
#include <config.h>
#include "feed.h"

#include <stdlib.h>
#include <string.h>
#include "feed_in.h"
#include "mem.h"
#include "scan.h"

void feed_shift(struct feed_block *b, size_t by)
{
	b->raw += by;
	b->end += by;
	b->boundary += by;
	b->stop += by;
	b->head_stop += by;
	for (size_t i = FEED_ROOM; i < b->h.n_rec; i++) {
		b->h.rec[i].name += by;
		b->h.rec[i].text += by;
	}
}

int feed_room(struct feed_block *b, size_t front, size_t n, kh_err *err)
{
	size_t raw = b->raw < front ? front + front / 2 : b->raw, have = b->end - b->raw;
	int rc = kh_grow((void **)&b->buf, &b->cap,
			 raw + (n > have ? n : have) + KH_SCAN_PAD, 1, err);

	if (rc || raw == b->raw)
		return rc;
	memmove(b->buf + raw, b->buf + b->raw, have);
	feed_shift(b, raw - b->raw);
	return KH_OK;
}

void feed_input_drop(kh_feed *f, struct feed_input *in)
{
	kh_monitor_lock(f->m);
	unsigned refs = --in->refs;
	kh_monitor_unlock(f->m);
	if (refs == 0) {
		kh_source_close(in->src);
		free(in);
	}
}

/* What a stream is waited for while the other one might be read. */
enum { WAIT_MS = 10 };

static int open_next(kh_feed *f, struct feed_stream *st, kh_err *err)
{
	struct feed_input *in = kh_array(1, sizeof *in, err);

	if (!in)
		return KH_ENOMEM;
	int rc = f->n_streams == 2 ? kh_source_open_in_step(&in->src, st->path[st->file], err)
				   : kh_source_open(&in->src, st->path[st->file], err);
	if (rc) {
		free(in);
		return rc;
	}
	if (f->o.allow_no_eof)
		kh_source_allow_no_eof(in->src);
	in->refs = 1;
	st->in = in;
	st->at = st->file == 0 ? f->o.from : 0;
	st->fresh = true;
	return KH_OK;
}

static int take_range(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	const bool part = f->o.to > 0 && st->file + 1 == st->n_path;
	uint64_t left = (part ? f->o.to : kh_source_size(st->in->src)) - st->at;

	b->want = left < f->o.block_size ? (size_t)left : f->o.block_size;
	b->at = st->at;
	st->at += b->want;
	b->pub.file_end = b->want == left;
	b->in = st->in;
	kh_monitor_lock(f->m);
	st->in->refs++;
	f->done += b->want;
	kh_monitor_unlock(f->m);
	return KH_OK;
}

static int take_stream(kh_feed *f, struct feed_stream *st, struct feed_block *b,
		       kh_err *err)
{
	size_t n = f->o.block_size;
	int rc = feed_room(b, 0, n, err);

	if (rc)
		return rc;
	int64_t got = kh_source_read(st->in->src, b->buf + b->raw, n, err);
	if (got < 0)
		return (int)got;
	b->end = b->raw + (size_t)got;
	b->pub.file_end = got == 0;
	return KH_OK;
}

/* Two streams may have one writer, which waits for one of them to be read when we wait for the
 * other.  1: there is something to read; 0: not yet, the block has no bytes. */
static int await(kh_feed *f, struct feed_stream *st, kh_err *err)
{
	int s = (int)(st - f->st), rc = kh_source_await(st->in->src, WAIT_MS, err);

	if (rc < 0 || f->n_streams == 1)
		return rc;
	kh_monitor_lock(f->m);
	if (rc == 0)
		f->dry = 1 + s;
	else if (f->dry == 1 + s)
		f->dry = 0;
	kh_monitor_unlock(f->m);
	return rc;
}

/* Which bytes are the block's; under the stream's lock. */
static int take(kh_feed *f, struct feed_stream *st, struct feed_block *b, kh_err *err)
{
	int rc = KH_OK;

	b->pub.file = (unsigned)st->file;
	if (!st->in)
		rc = open_next(f, st, err);
	if (rc)
		return rc;
	b->file_start = st->fresh;
	st->fresh = false;
	kh_source *src = st->in->src;
	uint64_t before = kh_source_taken(src);
	if ((rc = await(f, st, err)) <= 0)
		return rc;
	rc = KH_OK;
	switch (kh_source_kind(src)) {
	case KH_SOURCE_RANGES:
		return take_range(f, st, b);
	case KH_SOURCE_BGZF:
		rc = kh_source_run(src, &b->run, f->o.block_size, err);
		b->pub.file_end = !rc && b->run.n_out == 0
				  && kh_source_kind(src) == KH_SOURCE_BGZF;
		if (rc || kh_source_kind(src) == KH_SOURCE_BGZF || b->run.n > 0)
			break;
		/* fall through */
	case KH_SOURCE_STREAM:
		rc = take_stream(f, st, b, err);
		break;
	}
	kh_monitor_lock(f->m);
	f->done += kh_source_taken(src) - before;
	kh_monitor_unlock(f->m);
	return rc;
}

static void take_ticket(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	kh_monitor_lock(f->m);
	b->pub.ticket = f->n_ticket++;
	b->raw = b->end = st->slack;
	b->format = st->format;
	st->ended |= b->past;
	kh_monitor_unlock(f->m);
}

static int take_next(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	pthread_mutex_lock(&st->reading);
	if (kh_monitor_stopped(f->m)) {         /* no more of what may be slow to come */
		pthread_mutex_unlock(&st->reading);
		return KH_ECANCEL;
	}
	b->past = st->file == st->n_path;
	take_ticket(f, st, b);
	if (!b->past && take(f, st, b, &b->bad))
		st->file = st->n_path;
	else if (b->pub.file_end)
		st->file++;
	if (st->in && (b->pub.file_end || b->bad.code)) {
		feed_input_drop(f, st->in);
		st->in = NULL;
	}
	pthread_mutex_unlock(&st->reading);
	return KH_OK;
}

int feed_read(kh_feed *f, struct feed_block *b, kh_err *err)
{
	struct feed_stream *st = &f->st[b->pub.stream];
	int rc = take_next(f, st, b);

	if (rc)
		return rc;
	if (b->in) {
		rc = feed_room(b, 0, b->want, err);
		if (!rc
		    && !kh_source_pread(b->in->src, b->buf + b->raw, b->want, b->at,
					&b->bad))
			b->end = b->raw + b->want;
		feed_input_drop(f, b->in);
		b->in = NULL;
	} else if (b->run.n > 0) {
		size_t n = 0;

		rc = feed_room(b, 0, b->run.n_out, err);
		if (!rc)
			kh_run_inflate(&b->run, feed_file_name(st, b->pub.file),
				       b->buf + b->raw, &n, &b->bad);
		b->end = b->raw + n;
	}
	return rc ? rc : feed_room(b, 0, 0, err);
}
