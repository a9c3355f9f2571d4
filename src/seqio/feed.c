/*
 * feed.c - the circulation of blocks: choosing a stream, settling, recycling
 */
#include <config.h>
#include "feed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "feed_in.h"
#include "mem.h"

const char *feed_file_name(const struct feed_stream *st, size_t file)
{
	const char *p = file == 0 && st->part ? st->part : st->path[file];

	return strcmp(p, "-") == 0 ? "standard input" : p;
}

/* --- open, close ----------------------------------------------------------------- */
static int check_options(const kh_feed_options *o, kh_err *err)
{
	size_t n_stdin = 0;

	if (o->n_path[0] == 0)
		return kh_fail(err, KH_EUSAGE, "no input file");
	if (o->n_path[1] && o->n_path[1] != o->n_path[0])
		return kh_fail(err, KH_EUSAGE,
			       "%zu files of first mates, but %zu of second mates",
			       o->n_path[0], o->n_path[1]);
	if (o->interleaved && o->n_path[1])
		return kh_fail(err, KH_EUSAGE,
			       "interleaved mates are in one file, not in two");
	if (o->pieces && (o->interleaved || o->n_path[1]))
		return kh_fail(err, KH_EUSAGE, "references have no mates");
	if (o->front % 32)
		return kh_fail(err, KH_EUSAGE, "front: %zu is no multiple of 32",
			       o->front);
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
	if (f->o.from > 0 && asprintf(&f->st[0].part, "%s (from byte %llu on)", f->st[0].path[0],
				      (unsigned long long)f->o.from) < 0) {
		f->st[0].part = NULL;
		return kh_fail_nomem(err);
	}
	return KH_OK;
}

static int stream_open(kh_feed *f, unsigned s, kh_err *err)
{
	struct feed_stream *st = &f->st[s];
	size_t n = f->o.n_blocks;

	st->path = f->o.path[s];
	st->n_path = f->o.n_path[s];
	st->fresh = true;
	st->slack = f->o.block_size < 1 << 14 ? f->o.block_size : 1 << 14;
	st->block = kh_array(n, sizeof *st->block, err);
	st->count = kh_array(st->n_path, sizeof *st->count, err);
	st->wait = kh_array(n, sizeof *st->wait, err);
	if (!st->block || !st->count || !st->wait)
		return KH_ENOMEM;
	int rc = kh_queue_new(&st->pool, f->m, n, err);
	pthread_mutex_init(&st->reading, NULL);
	for (size_t i = 0; !rc && i < n; i++) {
		st->block[i].pub.stream = s;
		st->block[i].pub.priv = &st->block[i];
		kh_queue_push(st->pool, &st->block[i]);
	}
	return rc;
}

int kh_feed_open(kh_feed **out, const kh_feed_options *o, kh_monitor *m, kh_err *err)
{
	int rc = check_options(o, err);
	kh_feed *f = rc ? NULL : kh_array(1, sizeof *f, err);

	if (!f)
		return rc ? rc : KH_ENOMEM;
	f->o = *o;
	f->m = m;
	if (f->o.block_size == 0)
		f->o.block_size = 1 << 20;
	if (f->o.n_blocks < 2)
		f->o.n_blocks = f->o.n_blocks ? 2 : kh_cpus() + 2;
	f->n_streams = o->n_path[1] ? 2 : 1;
	rc = kh_order_new(&f->order, m, f->o.n_blocks * f->n_streams, err);
	f->spare = kh_array(f->o.n_blocks, sizeof *f->spare, err);
	if (!f->spare)
		rc = KH_ENOMEM;
	for (unsigned s = 0; !rc && s < f->n_streams; s++)
		rc = stream_open(f, s, err);
	if (!rc)
		rc = check_paths(f, err);
	if (rc) {
		kh_feed_close(f);
		return rc;
	}
	*out = f;
	return KH_OK;
}

static void stream_close(kh_feed *f, struct feed_stream *st)
{
	for (size_t i = 0; st->block && i < f->o.n_blocks; i++) {
		struct feed_block *b = &st->block[i];

		if (b->in)
			feed_input_drop(f, b->in);
		kh_harvest_free(&b->h);
		kh_run_free(&b->run);
		free(b->buf);
		free(b->mate);
	}
	if (st->in)
		feed_input_drop(f, st->in);
	pthread_mutex_destroy(&st->reading);
	kh_queue_free(st->pool);
	free(st->block);
	free(st->part);
	free(st->count);
	free(st->wait);
	free(st->carry);
}

void kh_feed_close(kh_feed *f)
{
	if (!f)
		return;
	for (unsigned s = 0; s < f->n_streams; s++)
		stream_close(f, &f->st[s]);
	while (f->n_spare > 0)
		free(f->spare[--f->n_spare].buf);
	free(f->spare);
	kh_order_free(f->order);
	free(f);
}

/* --- next ------------------------------------------------------------------------ */
/* How many records the stream will have when what was handed out is settled. */
static uint64_t outlook(const struct feed_stream *st)
{
	uint64_t a_block = st->n_settled ? st->n_rec / st->n_settled : 1;

	return st->n_rec + (st->n_drawn - st->n_settled) * (a_block ? a_block : 1);
}

/* Under the lock.  The stream that is behind, -1: all has been read.  `settled`: goes by
 * settled records only: then none of that stream's blocks waits for a mate, all come
 * back, and one may wait for them. */
static int behind(const kh_feed *f, bool settled)
{
	const struct feed_stream *a = &f->st[0], *b = &f->st[1];

	if (a->ended || f->n_streams == 1)
		return f->n_streams == 2 && !b->ended ? 1 : a->ended ? -1 : 0;
	if (b->ended)
		return 0;
	if (f->orphan)
		return f->orphan - 1;
	if (settled)
		return b->n_rec < a->n_rec;
	if (f->dry)
		return f->dry == 1;             /* the other one */
	return outlook(b) < outlook(a);
}

/* A free block of the stream to be read.  1, 0: nothing is left. */
static int draw(kh_feed *f, struct feed_block **out)
{
	kh_monitor_lock(f->m);
	int s = behind(f, false), w = behind(f, true);
	kh_monitor_unlock(f->m);
	if (s < 0)
		return 0;
	struct feed_block *b = kh_queue_try(f->st[s].pool);
	if (!b && w != s)
		b = kh_queue_try(f->st[w].pool);
	if (!b)
		b = kh_queue_pop(f->st[w].pool);
	if (!b)
		return KH_ECANCEL;
	kh_monitor_lock(f->m);
	f->st[b->pub.stream].n_drawn++;
	kh_monitor_unlock(f->m);
	*out = b;
	return 1;
}

/* After a record of uncommon length the memory is given back. */
static void slim(struct feed_block *b, size_t usual)
{
	if (b->cap / 16 > usual) {
		free(b->buf);
		b->buf = NULL;
		b->cap = 0;
	}
	if (b->h.cap_words / 16 > usual)
		kh_harvest_free(&b->h);
}

/* A place for the text of b, if there is one. */
static void take_spare(kh_feed *f, struct feed_block *b)
{
	kh_monitor_lock(f->m);
	if (!b->buf && f->n_spare > 0) {
		const struct feed_text t = f->spare[--f->n_spare];

		b->buf = t.buf;
		b->cap = t.cap;
	}
	kh_monitor_unlock(f->m);
}

static int reset(struct feed_block *b, size_t front, kh_err *err)
{
	kh_block *p = &b->pub;

	b->refs = 1;
	b->file_start = b->past = b->emitted = b->ahead = b->odd = b->head_good = false;
	b->bad.code = 0;
	b->run.n = b->run.n_out = 0;
	p->file_end = false;
	p->n_rec = p->n_words = 0;
	p->first = 0;
	b->boundary = b->stop = b->head_stop = b->n_mate = 0;
	b->h.n_rec = FEED_ROOM;
	b->h.n_words = front / 32;
	int rc = kh_grow((void **)&b->h.rec, &b->h.cap_rec, FEED_ROOM, sizeof *b->h.rec,
			 err);
	return rc ? rc : kh_harvest_reserve(&b->h, 0, err);
}

int kh_feed_next(kh_feed *f, kh_block **out, kh_err *err)
{
	struct feed_block *b;
	int rc = draw(f, &b);

	if (rc <= 0)
		return rc;
	take_spare(f, b);
	slim(b, f->o.block_size + FEED_SLACK);
	rc = reset(b, f->o.front, err);
	if (!rc)
		rc = feed_read(f, b, err);
	if (!rc)
		rc = feed_parse(f, b, err);
	if (rc)
		return rc;
	*out = &b->pub;
	return 1;
}

/* --- settle, release ------------------------------------------------------------- */
/* The block's records are final; so is what the stream knows of them. */
static void publish(kh_feed *f, struct feed_block *b)
{
	struct feed_stream *st = &f->st[b->pub.stream];
	kh_block *p = &b->pub;

	p->text = b->buf;
	p->bases = b->h.bases;
	p->amb = b->h.amb;
	p->n_words = b->h.n_words;
	bool goes_on = p->n_rec > 0 && p->rec[0].flags & KH_REC_CONTINUES;
	p->first = st->n_rec - goes_on;
	kh_monitor_lock(f->m);
	st->n_rec += p->n_rec - goes_on;
	st->n_settled++;
	st->ended |= st->failed;
	st->format = st->place.format;
	kh_monitor_unlock(f->m);
	if (p->file_end && !st->failed) {
		st->count[p->file] = st->place.n_rec;
		st->files_done = p->file + 1;
	}
	if (f->n_streams == 2 && p->n_rec > 0 && !f->orphan) {
		kh_monitor_lock(f->m);
		b->refs++;
		kh_monitor_unlock(f->m);
		st->wait[(st->wait_head + st->n_wait++) % f->o.n_blocks] =
			(struct feed_wait) { b, 0 };
	}
}

static int settle(void *arg, void *item, kh_err *err)
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
	if (!rc || f->n_streams == 2)
		return b->settled(b->arg, &b->pub, err);
	if (f->o.interleaved && feed_check_pairs(f, &b->pub, err))
		return KH_EFORMAT;
	*err = st->err;
	return rc;
}

int kh_feed_settle(kh_feed *f, kh_block *p, kh_settled_fn *fn, void *arg, kh_err *err)
{
	struct feed_block *b = p->priv;
	int rc;

	b->settled = fn;
	b->arg = arg;
	rc = kh_order_put(f->order, p->ticket, b, settle, f);
	if (!rc)
		rc = kh_order_wait(f->order, p->ticket);
	return rc ? kh_monitor_error(f->m, err) : KH_OK;
}

void feed_unref(kh_feed *f, struct feed_block *b)
{
	kh_monitor_lock(f->m);
	unsigned refs = --b->refs;
	kh_monitor_unlock(f->m);
	if (refs == 0)
		kh_queue_give_back(f->st[b->pub.stream].pool, b);
}

void kh_feed_drop_text(kh_feed *f, kh_block *p)
{
	struct feed_block *b = p->priv;

	assert(f->n_streams == 1);
	kh_monitor_lock(f->m);
	f->spare[f->n_spare++] = (struct feed_text) { b->buf, b->cap };
	kh_monitor_unlock(f->m);
	p->text = b->buf = NULL;
	b->cap = 0;
}

void kh_feed_release(kh_feed *f, kh_block *b)
{
	feed_unref(f, b->priv);
}

void kh_feed_release_job(kh_feed *f, const kh_job *j)
{
	feed_unref(f, j->block[0]->priv);
	if (j->block[1])
		feed_unref(f, j->block[1]->priv);
}

void kh_feed_progress(kh_feed *f, uint64_t *done, uint64_t *total)
{
	kh_monitor_lock(f->m);
	*done = f->done;
	*total = f->total;
	kh_monitor_unlock(f->m);
}
