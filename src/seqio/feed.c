/*
 * feed.c - how blocks circulate: choosing a stream, committing in order, using them again
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "seqio/feed_in.h"
#include "base/mem.h"
#include "io/paths.h"

/* --- open, close ----------------------------------------------------------------- */
static int check_options(const kh_feed_options *o, kh_err *err)
{
	size_t n_stdin = 0;

	if (o->n_path[0] == 0)
		return kh_fail(err, KH_EUSAGE, "no input file");
	if (o->n_path[1] && o->n_path[1] != o->n_path[0])
		return kh_fail(err, KH_EUSAGE,
			       "%zu file%s of first mates, but %zu of second mates",
			       o->n_path[0], kh_plural(o->n_path[0]), o->n_path[1]);
	if (o->interleaved && o->n_path[1])
		return kh_fail(err, KH_EUSAGE,
			       "interleaved mates are in one file, not in two");
	if (o->pieces && (o->interleaved || o->n_path[1]))
		return kh_fail(err, KH_EUSAGE, "references have no mates");
	if (o->front % 32)
		return kh_fail(err, KH_EUSAGE, "front: %zu is no multiple of 32",
			       o->front);
	for (size_t i = 0; i < o->n_path[1]; i++)
		if (strcmp(o->path[0][i], "-") != 0 && kh_same_input(o->path[0][i], o->path[1][i]))
			return kh_fail(err, KH_EUSAGE,
				       "%s is named for the first mates and for the second",
				       o->path[1][i]);
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < o->n_path[s]; i++)
			n_stdin += strcmp(o->path[s][i], "-") == 0;
	if (n_stdin > 1)
		return kh_fail(err, KH_EUSAGE, "standard input is given %zu times",
			       n_stdin);
	return KH_OK;
}

static int check_paths(kh_feed *f, kh_err *err)
{
	for (unsigned s = 0; s < f->n_streams; s++)
		for (size_t i = 0; i < f->st[s].n_path; i++) {
			uint64_t size;
			int rc = kh_source_check(f->st[s].path[i], &size, err);

			if (rc)
				return rc;
			f->total += f->o.to > 0 && i + 1 == f->st[s].n_path ? f->o.to : size;
		}
	f->total -= f->o.from;
	return f->o.from > 0 ? kh_print(&f->st[0].read.part, err, "%s (from byte %llu on)",
					f->st[0].path[0], (unsigned long long)f->o.from) : KH_OK;
}

static int stream_open(kh_feed *f, unsigned s, kh_err *err)
{
	struct feed_stream *st = &f->st[s];
	const size_t n = f->n_blocks;

	st->path = f->o.path[s];
	st->n_path = f->o.n_path[s];
	st->read.fresh = true;
	st->slack = f->o.block_size < 1 << 14 ? f->o.block_size : 1 << 14;
	st->block = kh_array(n, sizeof *st->block, err);
	st->counted.v = kh_array(st->n_path, sizeof *st->counted.v, err);
	st->wait.v = kh_array(n, sizeof *st->wait.v, err);
	st->read.digest = kh_array(st->n_path, sizeof *st->read.digest, err);
	st->read.ahead = kh_array(f->o.threads + 1, sizeof *st->read.ahead, err);
	if (!st->read.ahead || !st->block || !st->counted.v || !st->wait.v || !st->read.digest)
		return KH_ENOMEM;
	int rc = kh_queue_new(&st->pool, f->m, n, err);
	pthread_mutex_init(&st->read.lock, NULL);
	pthread_cond_init(&st->read.inflated, NULL);
	for (size_t i = 0; !rc && i < n; i++) {
		st->block[i].pub.stream = s;
		st->block[i].pub.priv = &st->block[i];
		kh_queue_push(st->pool, &st->block[i]);
	}
	return rc;
}

size_t kh_feed_blocks(const kh_feed_options *o)
{
	return (o->workers ? o->workers : kh_cpus()) * (1 + (size_t)o->held) + 2;
}

int kh_feed_open(kh_feed **out, const kh_feed_options *o, kh_monitor *m, kh_err *err)
{
	int rc = check_options(o, err);
	kh_feed *f = rc ? NULL : kh_array(1, sizeof *f, err);

	if (!f)
		return rc ? rc : KH_ENOMEM;
	f->o = *o;
	f->m = m;
	f->patience = o->patience;
	pthread_mutex_init(&f->lock, NULL);
	if (f->o.block_size == 0)
		f->o.block_size = KH_BLOCK_SIZE;
	f->n_blocks = kh_feed_blocks(o);
	f->n_streams = o->n_path[1] ? 2 : 1;
	rc = kh_order_new(&f->order, m, f->n_blocks * f->n_streams, err);
	f->spare = kh_array(f->n_streams * f->n_blocks, sizeof *f->spare, err);
	f->slice_text = kh_array(f->n_streams * f->n_blocks, sizeof *f->slice_text, err);
	if (!f->spare || !f->slice_text)
		rc = KH_ENOMEM;
	for (unsigned s = 0; !rc && s < f->n_streams; s++)
		rc = stream_open(f, s, err);
	if (!rc)
		rc = check_paths(f, err);
	if (!rc)
		rc = feed_parsed_open(f, err);
	if (rc) {
		kh_feed_close(f);
		return rc;
	}
	*out = f;
	return KH_OK;
}

static void stream_close(kh_feed *f, struct feed_stream *st)
{
	for (size_t i = 0; st->block && i < f->n_blocks; i++)
		feed_block_free(f, &st->block[i]);
	if (st->read.in)
		feed_input_drop(f, st->read.in);
	while ((st->read.in = feed_ahead_next(st)))
		feed_input_drop(f, st->read.in);
	pthread_mutex_destroy(&st->read.lock);
	pthread_cond_destroy(&st->read.inflated);
	kh_queue_free(st->pool);
	free(st->read.ahead);
	free(st->block);
	free(st->read.part);
	free(st->counted.v);
	free(st->read.digest);
	free(st->wait.v);
	free(st->carry.p);
	feed_long_free(&st->open);
	feed_long_free(&st->closed);
}

void kh_feed_close(kh_feed *f)
{
	if (!f)
		return;
	feed_parsed_close(f);
	for (unsigned s = 0; s < f->n_streams; s++)
		stream_close(f, &f->st[s]);
	while (f->n_spare > 0)
		free(f->spare[--f->n_spare].buf);
	free(f->spare);
	while (f->n_slice_text > 0)
		free(f->slice_text[--f->n_slice_text].buf);
	free(f->slice_text);
	kh_order_free(f->order);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* --- next ------------------------------------------------------------------------ */
/* How many records the stream will have when all blocks that are being read are committed. */
static uint64_t outlook(const struct feed_stream *st)
{
	uint64_t a_block = st->n_committed ? st->n_rec / st->n_committed : 1;

	return st->n_rec + (st->n_drawn - st->n_committed) * (a_block ? a_block : 1);
}

/* The stream that is behind the other, or -1 when all has been read. With `committed` only
 * records of committed blocks count; then no block of that stream waits for mates, so all of them
 * come back, and a caller may wait for one. The caller holds the lock. */
static int behind(const kh_feed *f, bool committed)
{
	const struct feed_stream *a = &f->st[0], *b = &f->st[1];

	if (a->ended || f->n_streams == 1)
		return f->n_streams == 2 && !b->ended ? 1 : a->ended ? -1 : 0;
	if (b->ended)
		return 0;
	if (f->orphan)
		return f->orphan - 1;
	if (committed)
		return b->n_rec < a->n_rec;
	if (f->dry)
		/* the last read gave nothing, so try the other stream */
		return f->dry == 1;
	return outlook(b) < outlook(a);
}

/* Takes a free block of the stream that is to be read next. 1; 0: nothing is left, or, unless this
 * may wait for one, no block. */
static int draw(kh_feed *f, bool wait, struct feed_block **out)
{
	pthread_mutex_lock(&f->lock);
	int s = behind(f, false), w = behind(f, true);
	pthread_mutex_unlock(&f->lock);
	if (s < 0)
		return 0;
	struct feed_block *b = kh_queue_try(f->st[s].pool);
	if (!b && w != s)
		b = kh_queue_try(f->st[w].pool);
	if (!b && wait)
		b = kh_queue_pop(f->st[w].pool);
	if (!b)
		return wait ? KH_ECANCEL : 0;
	pthread_mutex_lock(&f->lock);
	f->st[b->pub.stream].n_drawn++;
	pthread_mutex_unlock(&f->lock);
	*out = b;
	return 1;
}

static int next(kh_feed *f, bool wait, kh_block **out, kh_err *err)
{
	struct feed_block *b;
	int rc = draw(f, wait, &b);

	if (rc <= 0)
		return rc;
	rc = feed_block_begin(f, b, err);
	b->parsed.mask = f->o.mask;
	if (!rc)
		rc = feed_read(f, b, err);
	if (!rc)
		rc = feed_parse(f, b, err);
	if (rc)
		return rc;
	*out = &b->pub;
	return 1;
}

int kh_feed_next(kh_feed *f, kh_block **b, kh_err *err)
{
	return next(f, true, b, err);
}

int kh_feed_try(kh_feed *f, kh_block **b, kh_err *err)
{
	return next(f, false, b, err);
}

/* --- commit, release ------------------------------------------------------------- */
/* Makes the records of a block visible, and counts them for its stream: both are final now. */
static void publish(kh_feed *f, struct feed_block *b)
{
	struct feed_stream *st = &f->st[b->pub.stream];
	kh_block *p = &b->pub;

	p->text = b->buf;
	p->bases = b->parsed.bases;
	p->amb = b->parsed.amb;
	p->n_words = b->parsed.n_words;
	bool goes_on = p->n_rec > 0 && p->rec[0].flags & KH_REC_CONTINUES;
	p->first = st->n_rec - goes_on;
	pthread_mutex_lock(&f->lock);
	st->n_rec += p->n_rec - goes_on;
	st->n_committed++;
	st->long_records = st->position.format == '@' && b->want >= f->o.block_size &&
			   p->n_rec <= b->want / f->o.block_size;
	st->ended |= st->failed;
	st->format = st->position.format;
	pthread_mutex_unlock(&f->lock);
	if (p->file_end && !st->failed) {
		st->counted.v[p->file] = st->position.n_rec;
		st->counted.files = p->file + 1;
	}
	if (f->n_streams == 2 && p->n_rec > 0 && !f->orphan) {
		feed_ref(f, b);
		st->wait.v[(st->wait.head + st->wait.n++) % f->n_blocks] =
			(struct feed_wait) { b, 0 };
	}
}

/* Commits a block; called in the order of blocks, one at a time. */
static int commit(void *arg, void *item, kh_err *err)
{
	kh_feed *f = arg;
	struct feed_block *b = item;
	struct feed_stream *st = &f->st[b->pub.stream];
	int rc = KH_OK;

	if (b->past)
		st->finished = true;
	else if (!st->failed && (rc = feed_join(f, b, &st->err)) != 0)
		st->failed = true;
	publish(f, b);
	if (rc && f->n_streams == 1) {
		if (f->o.interleaved && feed_check_pairs(f, &b->pub, err))
			return KH_EFORMAT;
		*err = st->err;
		return rc;
	}
	rc = f->o.pieces ? KH_OK : feed_make_jobs(f, b, err);
	if (!rc && f->o.committed)
		rc = f->o.committed(f->o.arg, &b->pub, err);
	if (f->o.text == KH_FEED_BASES && f->n_streams == 1)
		feed_drop_text(f, b);
	return rc;
}

int kh_feed_put(kh_feed *f, kh_block *p, kh_err *err)
{
	if (kh_order_put(f->order, p->ticket, p->priv, commit, f))
		return kh_monitor_error(f->m, err);
	return kh_order_is_done(f->order, p->ticket);
}

int kh_feed_jobs(kh_feed *f, kh_block *p, kh_jobs *jobs, kh_err *err)
{
	const struct feed_block *b = p->priv;
	const int rc = kh_order_wait(f->order, p->ticket);

	*jobs = (kh_jobs) { rc ? NULL : b->jobs.v, rc ? 0 : b->jobs.n };
	return rc ? kh_monitor_error(f->m, err) : KH_OK;
}

int kh_feed_commit(kh_feed *f, kh_block *p, kh_jobs *jobs, kh_err *err)
{
	const int rc = kh_feed_put(f, p, err);

	*jobs = (kh_jobs) { .n = 0 };
	return rc < 0 ? rc : kh_feed_jobs(f, p, jobs, err);
}

void kh_feed_release(kh_feed *f, kh_block *b)
{
	feed_unref(f, b->priv);
}

void kh_feed_release_job(kh_feed *f, const kh_job *j)
{
	if (j->there) {
		feed_parsed_release(f, j->there);
		return;
	}
	feed_unref(f, j->block[0]->priv);
	if (j->block[1])
		feed_unref(f, j->block[1]->priv);
}

bool kh_feed_digest(const kh_feed *f, unsigned mate, size_t file, uint64_t *digest)
{
	const struct feed_digest *d = &f->st[mate].read.digest[file];

	*digest = d->value;
	return d->known;
}

uint64_t kh_feed_swapped(const kh_feed *f)
{
	return f->n_swapped;
}

void kh_feed_progress(kh_feed *f, uint64_t *done, uint64_t *total)
{
	pthread_mutex_lock(&f->lock);
	*done = f->done;
	*total = f->total;
	pthread_mutex_unlock(&f->lock);
}
