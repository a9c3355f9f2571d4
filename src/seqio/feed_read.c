/*
 * feed_read.c - reads raw bytes into blocks
 *
 * The thread that holds the lock of a stream takes its next bytes and the next ticket, so tickets
 * are in the order of bytes. Threads read ranges of a plain file, and inflate runs of BGZF blocks
 * or parts of a gzip stream, without the lock, at the same time.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdlib.h>
#include <string.h>
#include "seqio/feed_in.h"
#include "base/mem.h"
#include "seqio/scan.h"

/* Milliseconds to wait for one mate file before trying the other. */
enum { WAIT_MS = 10 };
/* Fewer threads for a gzip stream are not faster together than one of them with a library that goes
 * through it in order: decoding from a guessed place, and then the marks, cost twice as much.
 * Where the environment has KH_GZ_TOGETHER, any number will do, and any size of file for a device
 * (tests). */
enum { THREADS_TOGETHER = 3 };

int feed_open(kh_feed *f, const struct feed_stream *st, size_t file, struct feed_input **out,
	      kh_err *err)
{
	struct feed_input *in = kh_array(1, sizeof *in, err);

	if (!in)
		return KH_ENOMEM;
	int rc = f->n_streams == 2 ? kh_source_open_in_step(&in->src, st->path[file], err)
				   : kh_source_open_for(&in->src, st->path[file], f->m, err);
	if (!rc && f->o.digests && (rc = kh_source_make_digest(in->src, err)))
		kh_source_close(in->src);
	if (rc) {
		free(in);
		return rc;
	}
	if (f->o.allow_no_eof)
		kh_source_allow_no_eof(in->src);
	const bool any = getenv("KH_GZ_TOGETHER");
	const bool many = any || f->o.threads / f->n_streams >= THREADS_TOGETHER;
	kh_source_together(in->src, &(kh_together) { .threads = many ? f->o.threads : 0,
						     .by = f->o.inflate,
						     .least = any,
						     .part = f->o.block_size });
	in->refs = 1;
	feed_ahead_look(f, st, in);
	*out = in;
	return KH_OK;
}

int feed_open_next(kh_feed *f, struct feed_stream *st, kh_err *err)
{
	struct feed_input *in = feed_ahead_next(st);
	const int rc = in ? KH_OK : feed_open(f, st, st->read.file, &in, err);

	if (rc)
		return rc;
	st->read.in = in;
	st->read.at = st->read.file == 0 ? f->o.from : 0;
	st->read.fresh = true;
	return KH_OK;
}

void feed_count_read(kh_feed *f, uint64_t n)
{
	pthread_mutex_lock(&f->lock);
	f->done += n;
	pthread_mutex_unlock(&f->lock);
}

/* --- bytes that a block has taken are brought, without the lock ------------------------- */
/* They are there: take_stream has read them. */
static int fetch_nothing(kh_feed *f, struct feed_block *b, kh_err *err)
{
	(void)f;
	return feed_reserve(b, 0, 0, err);
}

static int fetch_range(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const struct feed_range all = { 0, b->want };
	int rc = feed_in_slices(f, b) ? feed_slices(f, b, err) : 0;

	if (rc != 0)
		return rc < 0 ? rc : KH_OK;
	rc = feed_reserve(b, 0, b->want, err);
	if (!rc && !feed_read_range(f, b, b->buf + b->raw, &all, &b->bad))
		b->end = b->raw + b->want;
	feed_block_leave(f, b);
	return rc ? rc : feed_reserve(b, 0, 0, err);
}

static int fetch_part(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const int rc = feed_reserve(b, 0, b->part.n, err);
	size_t n = 0;

	if (rc)
		kh_gz_drop(&b->part);
	else
		kh_gz_finish(&b->part, b->buf + b->raw, &n, &b->bad);
	b->end = b->raw + n;
	feed_block_leave(f, b);
	return rc ? rc : feed_reserve(b, 0, 0, err);
}

static int fetch_bgzf_run(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const int rc = feed_reserve(b, 0, b->run.n_out, err);
	size_t n = 0;

	if (!rc)
		kh_bgzf_run_inflate(&b->run, feed_file_name(&f->st[b->pub.stream], b->pub.file),
				    b->buf + b->raw, &n, &b->bad);
	b->end = b->raw + n;
	return rc ? rc : feed_reserve(b, 0, 0, err);
}

/* --- what a block takes of its stream ----------------------------------------------------- */
/* Bytes of the next block.  A record of FASTQ that is longer than a block is put together, and
 * parsed, in the order of blocks; larger blocks leave less of that to do. */
static size_t range_size(kh_feed *f, const struct feed_stream *st)
{
	pthread_mutex_lock(&f->lock);
	const bool larger = st->long_records && f->n_streams == 1 && !f->o.pieces;
	pthread_mutex_unlock(&f->lock);
	return larger ? FEED_LARGER * f->o.block_size : f->o.block_size;
}

static int take_range(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	const bool part = f->o.to > 0 && st->read.file + 1 == st->n_path;
	const uint64_t left = (part ? f->o.to : kh_source_size(st->read.in->src)) - st->read.at;
	const size_t most = range_size(f, st);

	b->want = left < most ? (size_t)left : most;
	b->at = st->read.at;
	st->read.at += b->want;
	b->pub.file_end = b->want == left;
	feed_block_hold(f, b, st->read.in);
	b->fetch = fetch_range;
	feed_count_read(f, b->want);
	return KH_OK;
}

static int take_stream(kh_feed *f, struct feed_stream *st, struct feed_block *b,
		       kh_err *err)
{
	size_t n = f->o.block_size;
	int rc = feed_reserve(b, 0, n, err);

	if (rc)
		return rc;
	int64_t got = kh_source_read(st->read.in->src, b->buf + b->raw, n, err);
	if (got < 0)
		return (int)got;
	b->end = b->raw + (size_t)got;
	b->pub.file_end = got == 0;
	return KH_OK;
}

/* Takes a part of a gzip stream, or, where that is not possible, reads on in order. */
static int take_part(kh_feed *f, struct feed_stream *st, struct feed_block *b, kh_err *err)
{
	kh_source *src = st->read.in->src;
	int rc = kh_source_part(src, &b->part, err);

	if (!rc && b->part.any) {
		feed_block_hold(f, b, st->read.in);
		b->fetch = fetch_part;
	}
	return rc || kh_source_kind(src) != KH_SOURCE_STREAM ? rc : take_stream(f, st, b, err);
}

/* Has nothing been read for long, although the other stream has something to read? Then all
 * blocks of that one are in use, and wait for mates. */
static bool is_stuck(kh_feed *f, struct feed_stream *other)
{
	const double now = kh_seconds();
	bool stuck;

	pthread_mutex_lock(&f->lock);
	if (f->since == 0 || f->done != f->stood)
		f->since = now;
	f->stood = f->done;
	stuck = f->patience > 0 && now - f->since > f->patience;
	pthread_mutex_unlock(&f->lock);
	if (!stuck || pthread_mutex_trylock(&other->read.lock) != 0)
		return false;           /* another thread is reading the other one */
	stuck = other->read.in && kh_source_await(other->read.in->src, 0, NULL) == 1;
	pthread_mutex_unlock(&other->read.lock);
	return stuck;
}

/* Two streams may have one writer, which waits for one of them to be read when we wait for the
 * other.  1: there is something to read; 0: not yet, the block has no bytes. */
static int await(kh_feed *f, struct feed_stream *st, kh_err *err)
{
	int s = (int)(st - f->st), rc = kh_source_await(st->read.in->src, WAIT_MS, err);

	if (rc < 0 || f->n_streams == 1)
		return rc;
	if (rc == 0 && is_stuck(f, &f->st[!s]))
		return kh_fail(err, KH_EIO,
			       "%s: nothing has come for %.0f s, and %s, of which as much as there "
			       "is room for has been read, waits for it: if one program writes "
			       "both, it must write them in turn, a few mates at a time "
			       "(KMERHASH_MATE_TIMEOUT)",
			       feed_file_name(st, st->read.file), f->patience,
			       feed_file_name(&f->st[!s], f->st[!s].read.file));
	pthread_mutex_lock(&f->lock);
	if (rc == 0)
		f->dry = 1 + s;
	else if (f->dry == 1 + s)
		f->dry = 0;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/* Takes the bytes of the block. The caller holds the lock of the stream. */
static int take(kh_feed *f, struct feed_stream *st, struct feed_block *b, kh_err *err)
{
	kh_source *src = st->read.in->src;
	const uint64_t before = kh_source_taken(src);

	b->file_start = st->read.fresh;
	st->read.fresh = false;
	if (st->read.in->whole.state == FEED_THERE)
		return feed_ahead_take(f, st, b, err);
	int rc = await(f, st, err);
	if (rc <= 0)
		return rc;
	rc = KH_OK;
	switch (kh_source_kind(src)) {
	case KH_SOURCE_RANGES:
		return take_range(f, st, b);
	case KH_SOURCE_BGZF:
		rc = kh_source_bgzf_run(src, &b->run, f->o.block_size, err);
		if (b->run.n > 0)
			b->fetch = fetch_bgzf_run;
		b->pub.file_end = !rc && b->run.n_out == 0
				  && kh_source_kind(src) == KH_SOURCE_BGZF;
		if (rc || kh_source_kind(src) == KH_SOURCE_BGZF || b->run.n > 0)
			break;
		/* fall through */
	case KH_SOURCE_STREAM:
		rc = take_stream(f, st, b, err);
		break;
	case KH_SOURCE_GZIP:
		rc = take_part(f, st, b, err);
		break;
	}
	feed_count_read(f, kh_source_taken(src) - before);
	return rc;
}

static void take_ticket(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	pthread_mutex_lock(&f->lock);
	b->pub.ticket = f->n_ticket++;
	b->raw = b->end = st->slack;
	b->format = st->format;
	st->ended |= b->past;
	pthread_mutex_unlock(&f->lock);
}

int feed_ask(kh_feed *f, struct feed_stream *st, kh_gz_step *step, kh_err *err)
{
	kh_source *src = st->read.in->src;
	const uint64_t before = kh_source_taken(src);
	const int rc = kh_source_next_step(src, step, err);

	if (kh_source_kind(src) == KH_SOURCE_GZIP)
		feed_count_read(f, kh_source_taken(src) - before);
	return rc;
}

void feed_do(kh_feed *f, struct feed_input *in, const kh_gz_step *step, pthread_mutex_t *held)
{
	feed_input_hold(f, in);
	pthread_mutex_unlock(held);
	kh_gz_do(step);
	feed_input_drop(f, in);
	pthread_mutex_lock(held);
}

/* Opens the next file if need be, and inflates while the next text waits for that. The caller
 * holds the lock of the stream, which is given up while something is inflated. A failure goes to
 * b->bad. */
static void work(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	kh_gz_step step;

	while (st->read.file < st->n_path && !kh_monitor_stopped(f->m)) {
		if (!st->read.in && feed_open_next(f, st, &b->bad))
			return;
		if (feed_ahead_do(f, st))
			continue;
		if (st->read.in->whole.state == FEED_THERE || feed_ask(f, st, &step, &b->bad) <= 0)
			return;
		feed_do(f, st->read.in, &step, &st->read.lock);
	}
}

/* Behind the last bytes of b's file, or a failure. */
static void close_file(kh_feed *f, struct feed_stream *st, const struct feed_block *b)
{
	struct feed_digest *d = &st->read.digest[b->pub.file];

	d->known = !b->bad.code && kh_source_digest(st->read.in->src, &d->value);
	feed_input_drop(f, st->read.in);
	st->read.in = NULL;
}

static int take_next(kh_feed *f, struct feed_stream *st, struct feed_block *b)
{
	b->fetch = fetch_nothing;
	pthread_mutex_lock(&st->read.lock);
	work(f, st, b);
	if (kh_monitor_stopped(f->m)) {         /* do not wait for input that may be slow to come */
		pthread_mutex_unlock(&st->read.lock);
		return KH_ECANCEL;
	}
	b->past = st->read.file == st->n_path;
	b->pub.file = (unsigned)st->read.file;
	take_ticket(f, st, b);
	if (!b->past && (b->bad.code || take(f, st, b, &b->bad)))
		st->read.file = st->n_path;
	else if (b->pub.file_end)
		st->read.file++;
	if (st->read.in && (b->pub.file_end || b->bad.code))
		close_file(f, st, b);
	pthread_mutex_unlock(&st->read.lock);
	return KH_OK;
}

int feed_read(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const int rc = take_next(f, &f->st[b->pub.stream], b);

	return rc ? rc : b->fetch(f, b, err);
}
