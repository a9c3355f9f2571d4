/*
 * feed_ahead.c - small gzip files, each inflated as a whole by one thread, before its turn
 *
 * Genomes come as thousands of small files.  A small file has only a few parts, so threads that
 * inflated one file together would wait for each other.  Instead, a thread without work inflates
 * the next file that no thread has begun.
 *
 * Example: of the files a, b, c, each of three threads inflates one.  When a is inflated, all
 * threads take blocks of its text and parse them; when a is used up, blocks of b.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "io/paths.h"
#include "seqio/feed_in.h"

enum { STEP = 1 << 20 };        /* bytes of text that are inflated at a time */

void feed_ahead_look(kh_feed *f, const struct feed_stream *st, struct feed_input *in)
{
	const uint64_t size = kh_source_size(in->src);
	kh_err none;

	if (f->n_streams == 1 && f->o.threads > 1 && st->n_path > 1 && size > 0 &&
	    size <= KH_FEED_SMALL && kh_source_await(in->src, 0, &none) == 1 &&
	    kh_source_is_gzip(in->src))
		in->whole.state = FEED_WANTED;
}

/* Nobody else is at it.  What is longer is read in order from there on. */
static void inflate(kh_feed *f, struct feed_input *in)
{
	struct feed_whole *w = &in->whole;
	int64_t got = 1;

	while (got > 0 && w->n < KH_FEED_AHEAD && !KH_GROW(w->p, w->cap, w->n + STEP, &w->bad)) {
		got = kh_source_read(in->src, w->p + w->n, STEP, &w->bad);
		w->n += got > 0 ? (size_t)got : 0;
	}
	w->end = got == 0;
	feed_count_read(f, kh_source_taken(in->src));
}

/* The next file that nobody is at: st->read.in, or one behind it, as many as there are threads. */
static struct feed_input *next_wanted(kh_feed *f, struct feed_stream *st)
{
	struct feed_input *in = st->read.in;
	struct stat s;
	kh_err none;

	for (size_t i = 0;; in = st->read.ahead[i++]) {
		if (in->whole.state == FEED_WANTED)
			return in;
		if (in->whole.state == FEED_NOT_WHOLE || i + 1 == f->o.threads)
			return NULL;
		if (i < st->read.n_ahead)
			continue;
		/* A file that cannot be opened is reported when its turn comes. */
		const size_t file = st->read.file + 1 + i;

		if (file == st->n_path || !kh_path_is_file(st->path[file], &s) ||
		    feed_open(f, st, file, &st->read.ahead[i], &none))
			return NULL;
		st->read.n_ahead++;
	}
}

int feed_ahead_do(kh_feed *f, struct feed_stream *st)
{
	struct feed_input *in;

	if (st->read.in->whole.state == FEED_NOT_WHOLE || st->read.in->whole.state == FEED_THERE)
		return 0;
	if (!(in = next_wanted(f, st))) {
		pthread_cond_wait(&st->read.inflated, &st->read.lock);
		return 1;
	}
	in->whole.state = FEED_INFLATING;
	feed_input_hold(f, in);
	pthread_mutex_unlock(&st->read.lock);
	inflate(f, in);
	pthread_mutex_lock(&st->read.lock);
	in->whole.state = FEED_THERE;
	pthread_cond_broadcast(&st->read.inflated);
	feed_input_drop(f, in);
	return 1;
}

struct feed_input *feed_ahead_next(struct feed_stream *st)
{
	struct feed_input *in = st->read.n_ahead > 0 ? st->read.ahead[0] : NULL;

	for (size_t i = 1; i < st->read.n_ahead; i++)
		st->read.ahead[i - 1] = st->read.ahead[i];
	st->read.n_ahead -= st->read.n_ahead > 0;
	return in;
}

/* Copies the bytes that feed_ahead_take has given to the block. */
static int fetch_ahead(kh_feed *f, struct feed_block *b, kh_err *err)
{
	const int rc = feed_reserve(b, 0, b->n_from, err);

	if (!rc)
		memcpy(b->buf + b->raw, b->in->whole.p + b->from, b->n_from);
	b->end = b->raw + (rc ? 0 : b->n_from);
	feed_block_leave(f, b);
	return rc ? rc : feed_reserve(b, 0, 0, err);
}

int feed_ahead_take(kh_feed *f, struct feed_stream *st, struct feed_block *b, kh_err *err)
{
	struct feed_whole *w = &st->read.in->whole;
	const size_t left = w->n - w->at;

	if (left == 0 && w->bad.code) {
		*err = w->bad;
		return w->bad.code;
	}
	b->from = w->at;
	b->n_from = left < f->o.block_size ? left : f->o.block_size;
	w->at += b->n_from;
	if (b->n_from > 0) {
		feed_block_hold(f, b, st->read.in);
		b->fetch = fetch_ahead;
	}
	if (w->at == w->n && !w->bad.code) {
		b->pub.file_end = w->end;
		if (!w->end)
			w->state = FEED_NOT_WHOLE;
	}
	return KH_OK;
}
