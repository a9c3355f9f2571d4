/*
 * feed_slices.c - reads and parses a block of FASTQ slice by slice, where nobody will look at its
 * text
 *
 * A block's text does not stay in the caches of a core next to what is made of it: the copy out of
 * the page cache, and the parser behind it, work at the speed of a slower cache, or of memory.  A
 * slice does.  It is read, parsed and overwritten by the next one.  What is kept is what joining
 * the block with its neighbours takes: the text in front of the first boundary, and that behind the
 * last whole record, with one byte between them.  Offsets of names and records are those in the
 * whole text; where that is needed after all, to parse it from another place or to quote a name, it
 * is read again.
 *
 *	buf + raw	the first slice, in which the first boundary must be
 *	  + 1 slice	what is left of the slice before
 *	  + 2 slices	the slices that follow
 */
#include <config.h>
#include "seqio/feed.h"

#include <string.h>
#include "seqio/feed_in.h"

/* Slices a block. */
enum { SLICES = 16 };

struct slices {
	kh_feed *f;
	struct feed_block *b;
	size_t size;            /* bytes a slice */
	size_t done;            /* bytes of the block that have been read */
	size_t end;             /* where those in the buffer end */
	kh_err *err;
};

bool feed_in_slices(kh_feed *f, const struct feed_block *b)
{
	const struct feed_stream *st = &f->st[b->pub.stream];

	if (!f->no_text || f->o.interleaved || f->o.pieces || b->format == '>' ||
	    b->want < f->o.block_size / 2)
		return false;
	pthread_mutex_lock(&f->lock);
	const bool fits = !st->whole && !st->long_records;
	pthread_mutex_unlock(&f->lock);
	return fits;
}

static void forget(struct slices *s)
{
	struct feed_block *b = s->b;

	b->h.n_rec = FEED_ROOM;
	b->h.n_words = s->f->o.front / 32;
	b->n_mate = 0;
	b->boundary = b->stop = 0;
}

/* The block, and those that follow, are to be parsed as a whole: they are FASTA, or records are
 * long or odd. */
static int give_up(struct slices *s)
{
	forget(s);
	pthread_mutex_lock(&s->f->lock);
	s->f->st[s->b->pub.stream].whole = true;
	pthread_mutex_unlock(&s->f->lock);
	return 0;
}

/* Reads the next bytes to that place.  A failure goes to b->bad; nothing of the block is taken
 * then. */
static bool read_on(struct slices *s, size_t to)
{
	struct feed_block *b = s->b;
	const size_t left = b->want - s->done;
	const struct feed_range r = { s->done, left < s->size ? left : s->size };

	if (feed_read_range(s->f, b, to, &r, &b->bad)) {
		forget(s);
		return false;
	}
	s->done += r.n;
	s->end = to + r.n;
	return true;
}

/* Parses from b->stop on. Offsets of the new records grow by what the text in the buffer stands too
 * low. */
static int parse_on(struct slices *s)
{
	struct feed_block *b = s->b;
	const bool final = s->done == b->want && b->pub.file_end;
	const kh_text_range r = { b->stop, s->end, final };
	const size_t mark = b->h.n_rec, by = b->raw + s->done - s->end;
	int rc = kh_reader_walk(&b->place, &b->h, &r, &b->stop, s->err);

	if (!rc)
		rc = feed_hash_names(s->f, b, s->err);
	for (size_t i = mark; i < b->h.n_rec; i++) {
		b->h.rec[i].name += by;
		b->h.rec[i].text += by;
	}
	return rc;
}

/* 1; 0: not in slices; < 0. */
static int parse_all(struct slices *s)
{
	struct feed_block *b = s->b;
	const size_t next = b->raw + 2 * s->size;
	int rc;

	while ((rc = parse_on(s)) == 0 && s->done < b->want) {
		const size_t left = s->end - b->stop;

		if (left > s->size)
			return give_up(s);
		memmove(b->buf + next - left, b->buf + b->stop, left);
		b->stop = next - left;
		if (!read_on(s, next))
			return 1;
	}
	if (rc)
		return rc == KH_ENOMEM ? rc : give_up(s);
	const size_t left = s->end - b->stop;
	memmove(b->buf + b->boundary + 1, b->buf + b->stop, left);
	b->stop = b->boundary + 1;
	b->end = b->stop + left;
	b->sliced = b->ahead = true;
	return 1;
}

int feed_slices(kh_feed *f, struct feed_block *b, kh_err *err)
{
	struct slices s = { .f = f, .b = b, .size = f->o.block_size / SLICES, .err = err };
	int rc = feed_room(b, 0, 3 * s.size, err);

	if (!rc)
		rc = kh_parsed_reserve(&b->h, b->want, err);
	if (rc)
		return rc;
	b->h.text = b->buf;
	b->place = (kh_place) { .name = "", .line = 1, .byte = !b->file_start };
	if (!read_on(&s, b->raw))
		return 1;
	const kh_text_range first = { b->raw, s.end, false };
	b->boundary = b->file_start ? b->raw : kh_reader_boundary(b->buf, &first, '@');
	if (b->boundary == s.end || b->buf[b->boundary] == '>')
		return give_up(&s);
	b->stop = b->boundary;
	return parse_all(&s);
}

int feed_text_again(const kh_feed *f, struct feed_block *b, kh_err *err)
{
	const size_t left = b->end - b->stop;
	int rc;

	if (!b->sliced)
		return KH_OK;
	if ((rc = feed_room(b, 0, b->want, err)) ||
	    (rc = feed_read_range(f, b, b->raw, &(struct feed_range) { 0, b->want }, err)))
		return rc;
	b->sliced = false;
	b->end = b->raw + b->want;
	b->stop = b->end - left;
	b->h.text = b->pub.text = b->buf;
	return KH_OK;
}
