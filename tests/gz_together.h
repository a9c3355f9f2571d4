/* gz_together.h - a source read by several threads, its text in order, for tests */
#ifndef KH_GZ_TOGETHER_H
#define KH_GZ_TOGETHER_H

#include <pthread.h>
#include <stdbool.h>
#include "gz_make.h"
#include "io/source.h"
#include "io/together.h"

struct together_text {
	struct bytes text;
	int rc;
	kh_err err;
};

struct together {
	pthread_mutex_t lock;
	kh_source *s;
	size_t part;
	struct together_text *piece;    /* in the order in which they were taken */
	size_t n, cap;
	size_t parts;                   /* of them, inflated outside the lock */
	bool ended;
};

/* Under the lock: the number of a new piece. */
static inline size_t together_piece(struct together *t)
{
	if (t->n == t->cap) {
		t->cap = 2 * t->cap + 16;
		t->piece = realloc(t->piece, t->cap * sizeof *t->piece);
	}
	t->piece[t->n] = (struct together_text) { { NULL, 0 }, 0, { 0, "" } };
	return t->n++;
}

/* A part, whose piece is taken, is finished outside the lock. */
static inline void together_part(struct together *t, kh_gz_part *part, size_t i)
{
	struct together_text x = { { NULL, 0 }, 0, { 0, "" } };

	pthread_mutex_unlock(&t->lock);
	x.text.p = malloc(part->n + 1);
	x.rc = kh_gz_finish(part, (char *)x.text.p, &x.text.n, &x.err);
	pthread_mutex_lock(&t->lock);
	t->piece[i] = x;
	t->ended |= x.rc < 0;
	t->parts++;
}

/* Under the lock: what a reader of its own does. */
static inline void together_read(struct together *t)
{
	struct together_text x = { { malloc(t->part), 0 }, 0, { 0, "" } };
	int64_t n = kh_source_read(t->s, x.text.p, t->part, &x.err);
	size_t i = together_piece(t);

	x.text.n = n > 0 ? (size_t)n : 0;
	x.rc = n < 0 ? (int)n : 0;
	t->ended |= n <= 0;
	t->piece[i] = x;
}

static inline void *together_run(void *arg)
{
	struct together *t = arg;
	kh_err err = { 0, "" };

	pthread_mutex_lock(&t->lock);
	while (!t->ended) {
		kh_gz_part part = { .any = false };
		kh_gz_step step;
		int rc = kh_source_next_step(t->s, &step, &err);

		if (rc > 0) {
			pthread_mutex_unlock(&t->lock);
			kh_gz_do(&step);
			pthread_mutex_lock(&t->lock);
			continue;
		}
		if (!rc && kh_source_kind(t->s) == KH_SOURCE_GZIP) {
			rc = kh_source_part(t->s, &part, &err);
			if (part.any)
				together_part(t, &part, together_piece(t));
		} else if (!rc) {
			together_read(t);
		}
		if (rc) {
			size_t i = together_piece(t);

			t->piece[i].rc = rc;
			t->piece[i].err = err;
			t->ended = true;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Up to the first failure; threads 0: sequentially.  *parts, if not NULL: how many were not read
 * sequentially. */
static inline struct together_text read_together(const char *path, const kh_together *with,
						 size_t *parts)
{
	struct together t = { .part = with->part };
	struct together_text o = { { NULL, 0 }, 0, { 0, "" } };
	pthread_t thread[16];

	o.rc = kh_source_open(&t.s, path, &o.err);
	if (o.rc)
		return o;
	pthread_mutex_init(&t.lock, NULL);
	kh_source_together(t.s, with);
	for (unsigned i = 0; i < with->threads; i++)
		pthread_create(&thread[i], NULL, together_run, &t);
	for (unsigned i = 0; i < with->threads; i++)
		pthread_join(thread[i], NULL);
	if (with->threads == 0)
		together_run(&t);
	for (size_t i = 0; i < t.n; i++) {
		if (!o.rc && t.piece[i].text.n)
			bytes_add(&o.text, t.piece[i].text.p, t.piece[i].text.n);
		if (!o.rc && t.piece[i].rc) {
			o.rc = t.piece[i].rc;
			o.err = t.piece[i].err;
		}
		free(t.piece[i].text.p);
	}
	if (parts)
		*parts = t.parts;
	free(t.piece);
	kh_source_close(t.s);
	pthread_mutex_destroy(&t.lock);
	return o;
}

/* Are two readings of a file alike? */
static inline bool same_text(const struct together_text *a, const struct together_text *b)
{
	return a->rc == b->rc && (a->rc == 0 || strcmp(a->err.msg, b->err.msg) == 0) &&
	       a->text.n == b->text.n &&
	       (a->text.n == 0 || memcmp(a->text.p, b->text.p, a->text.n) == 0);
}

/* Is a file read by these what it is read by the sequential reader? */
static inline bool same_as_alone(const struct bytes *file, const kh_together *with)
{
	const kh_together alone = { .part = with->part };
	char path[32];
	const int fd = bytes_file(path, file->p, file->n);
	struct together_text a = read_together(path, with, NULL);
	struct together_text b = read_together(path, &alone, NULL);
	const bool same = same_text(&a, &b);

	free(a.text.p);
	free(b.text.p);
	close(fd);
	return same;
}

static inline void source_runs(kh_source *s, const char *path, struct together_text *o, size_t step,
			       size_t most)
{
	kh_bgzf_run run = { 0 };
	size_t n = 1;

	while (n > 0 && o->text.n < most && kh_source_kind(s) == KH_SOURCE_BGZF) {
		if ((o->rc = kh_source_bgzf_run(s, &run, step, &o->err)))
			break;
		char *buf = malloc(run.n_out + 1);
		o->rc = kh_bgzf_run_inflate(&run, path, buf, &n, &o->err);
		bytes_add(&o->text, buf, n);
		free(buf);
		if (o->rc)
			break;
		if (n != run.n_out)
			abort();
	}
	kh_bgzf_run_free(&run);
}

/* All of a file, or about `most` bytes, by reads of so many, and BGZF in runs of blocks if
 * wanted. */
static inline struct together_text read_source(const char *path, bool runs, size_t step,
					       size_t most)
{
	struct together_text o = { { NULL, 0 }, 0, { 0, "" } };
	kh_source *s = NULL;
	char *buf = malloc(step);
	int64_t n = 1;

	o.rc = kh_source_open(&s, path, &o.err);
	if (!o.rc && runs)
		source_runs(s, path, &o, step, most);
	if (!o.rc && !(runs && kh_source_kind(s) == KH_SOURCE_BGZF)) {
		while (o.text.n < most && (n = kh_source_read(s, buf, step, &o.err)) > 0)
			bytes_add(&o.text, buf, (size_t)n);
		if (n <= 0 && kh_source_read(s, buf, step, NULL) != n)
			abort();                /* it ends once more, or fails */
		o.rc = n < 0 ? (int)n : 0;
	}
	kh_source_close(s);
	free(buf);
	return o;
}

#endif
