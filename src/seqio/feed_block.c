/*
 * feed_block.c - one block: its text, its uses, the file that it reads, the hashes of its names
 *
 * The other files of the feed call these functions, and these call none of theirs.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "seqio/feed_in.h"
#include "seqio/four_lines.h"
#include "seqio/scan.h"

const char *feed_file_name(const struct feed_stream *st, size_t file)
{
	const char *p = file == 0 && st->read.part ? st->read.part : st->path[file];

	return strcmp(p, "-") == 0 ? "standard input" : p;
}

/* --- text --------------------------------------------------------------------------- */
void feed_shift(struct feed_block *b, size_t by)
{
	b->raw += by;
	b->end += by;
	b->boundary += by;
	b->stop += by;
	b->head.stop += by;
	for (size_t i = b->first; i < b->parsed.n_rec; i++) {
		b->parsed.rec[i].name += by;
		b->parsed.rec[i].text += by;
	}
}

int feed_reserve(struct feed_block *b, size_t front, size_t n, kh_err *err)
{
	size_t raw = b->raw < front ? front + front / 2 : b->raw, have = b->end - b->raw;
	int rc = KH_GROW(b->buf, b->cap, raw + (n > have ? n : have) + KH_SCAN_PAD, err);

	if (rc || raw == b->raw)
		return rc;
	memmove(b->buf + raw, b->buf + b->raw, have);
	feed_shift(b, raw - b->raw);
	return KH_OK;
}

void feed_keep_slack(kh_feed *f, struct feed_stream *st, size_t n)
{
	if (n <= st->slack || n > FEED_SLACK)   /* only who commits a block changes it */
		return;
	pthread_mutex_lock(&f->lock);
	st->slack = n;
	pthread_mutex_unlock(&f->lock);
}

/* --- files -------------------------------------------------------------------------- */
void feed_input_hold(kh_feed *f, struct feed_input *in)
{
	pthread_mutex_lock(&f->lock);
	in->refs++;
	pthread_mutex_unlock(&f->lock);
}

void feed_input_drop(kh_feed *f, struct feed_input *in)
{
	pthread_mutex_lock(&f->lock);
	unsigned refs = --in->refs;
	pthread_mutex_unlock(&f->lock);
	if (refs == 0) {
		kh_source_close(in->src);
		free(in->whole.p);
		free(in);
	}
}

void feed_block_hold(kh_feed *f, struct feed_block *b, struct feed_input *in)
{
	b->in = in;
	feed_input_hold(f, in);
}

void feed_block_leave(kh_feed *f, struct feed_block *b)
{
	if (b->in)
		feed_input_drop(f, b->in);
	b->in = NULL;
}

int feed_read_range(const kh_feed *f, const struct feed_block *b, char *to,
		    const struct feed_range *r, kh_err *err)
{
	const kh_source *src = b->in->src;
	const bool all = f->o.to == 0 && b->pub.file_end && r->from + r->n == b->want;
	int rc = kh_source_pread(src, to, r->n, b->at + r->from, err);

	return rc || !all ? rc : kh_source_check_end(src, err);
}

int feed_text_again(const kh_feed *f, struct feed_block *b, kh_err *err)
{
	const size_t left = b->end - b->stop;
	int rc;

	if (!b->sliced)
		return KH_OK;
	if ((rc = feed_reserve(b, 0, b->want, err)) ||
	    (rc = feed_read_range(f, b, b->buf + b->raw, &(struct feed_range) { 0, b->want }, err)))
		return rc;
	b->sliced = false;
	b->end = b->raw + b->want;
	b->stop = b->end - left;
	b->parsed.text = b->pub.text = b->buf;
	/* a name may have been kept elsewhere */
	for (size_t i = b->first; i < b->parsed.n_rec; i++) {
		kh_record *r = &b->parsed.rec[i];

		r->name = r->text + 1;
		while (r->name_len > 0 && (b->buf[r->name] == ' ' || b->buf[r->name] == '\t'))
			r->name++;
	}
	return KH_OK;
}

/* --- use ---------------------------------------------------------------------------- */
/* Gives memory back after a record of uncommon length. */
static void slim(struct feed_block *b, size_t usual)
{
	if (b->cap / 16 > usual) {
		free(b->buf);
		b->buf = NULL;
		b->cap = 0;
	}
	if (b->parsed.cap_words * (sizeof *b->parsed.bases + sizeof *b->parsed.amb) / 16 > usual)
		kh_parsed_free(&b->parsed);
}

/* Takes a buffer for the text of b from the spare ones, if there is one. */
static void take_spare(kh_feed *f, struct feed_block *b)
{
	pthread_mutex_lock(&f->lock);
	if (!b->buf && f->n_spare > 0) {
		const struct feed_text t = f->spare[--f->n_spare];

		b->buf = t.buf;
		b->cap = t.cap;
	}
	pthread_mutex_unlock(&f->lock);
}

int feed_block_begin(kh_feed *f, struct feed_block *b, kh_err *err)
{
	kh_block *p = &b->pub;

	take_spare(f, b);
	slim(b, f->o.block_size + FEED_SLACK);
	b->refs = 1;
	b->file_start = b->past = b->ahead = b->odd = b->pieces = b->head.good = false;
	b->sliced = false;
	b->bad.code = 0;
	b->jobs.n = 0;
	b->run.n = b->run.n_out = 0;
	p->file_end = false;
	p->n_rec = p->n_words = 0;
	p->first = 0;
	b->boundary = b->stop = b->head.stop = b->mate.n = 0;
	b->parsed.n_rec = b->first = FEED_FREE;
	b->parsed.errors = false;
	b->parsed.n_words = f->o.front / 32;
	int rc = KH_GROW(b->parsed.rec, b->parsed.cap_rec, FEED_FREE, err);
	return rc ? rc : kh_parsed_reserve(&b->parsed, 0, err);
}

void feed_block_free(kh_feed *f, struct feed_block *b)
{
	feed_block_leave(f, b);
	kh_parsed_free(&b->parsed);
	kh_bgzf_run_free(&b->run);
	free(b->buf);
	free(b->mate.v);
	free(b->jobs.v);
}

void feed_ref(kh_feed *f, struct feed_block *b)
{
	pthread_mutex_lock(&f->lock);
	b->refs++;
	pthread_mutex_unlock(&f->lock);
}

void feed_unref(kh_feed *f, struct feed_block *b)
{
	pthread_mutex_lock(&f->lock);
	unsigned refs = --b->refs;
	pthread_mutex_unlock(&f->lock);
	if (refs > 0)
		return;
	feed_block_leave(f, b);
	kh_queue_give_back(f->st[b->pub.stream].pool, b);
}

void feed_drop_text(kh_feed *f, struct feed_block *b)
{
	b->pub.text = NULL;
	if (b->sliced)                  /* that is little, and a place that blocks do not share */
		return;
	pthread_mutex_lock(&f->lock);
	f->spare[f->n_spare++] = (struct feed_text) { b->buf, b->cap };
	pthread_mutex_unlock(&f->lock);
	b->buf = NULL;
	b->cap = 0;
}

/* --- names -------------------------------------------------------------------------- */
int feed_hash_names(const kh_feed *f, struct feed_block *b, kh_err *err)
{
	const kh_parsed *parsed = &b->parsed;

	if (f->o.no_mate_check || !(f->o.interleaved || f->n_streams == 2))
		return KH_OK;
	int rc = KH_GROW(b->mate.v, b->mate.cap, parsed->n_rec, err);
	if (rc)
		return rc;
	for (size_t i = b->first; i < parsed->n_rec; i++) {
		if (i == FEED_FREE)
			i += b->mate.n;
		if (i >= parsed->n_rec)
			break;
		const kh_record *r = &parsed->rec[i];
		const char *id = parsed->text + r->name;

		b->mate.v[i] = feed_mate(XXH3_64bits(id, kh_mate_shared(id, r->id_len)),
				       kh_mate_number(id, r->id_len, r->name_len));
	}
	b->mate.n = parsed->n_rec > FEED_FREE ? parsed->n_rec - FEED_FREE : 0;
	return KH_OK;
}
