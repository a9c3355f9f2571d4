/*
 * feed_slices.c - reads and parses a block of FASTQ slice by slice, if the caller needs no text but
 * names: 1.18 times as many pairs on a GPU with 16 cores (version 0.2.0)
 *
 * The text of a block and its packed bases together do not fit into the caches of a core, so
 * copying the text from the page cache and parsing it have the speed of a slower cache, or of
 * memory.  A slice fits.  It is read, parsed and overwritten by the next one, in a buffer that goes
 * from block to block; in front of the slice is room for the rest of the one before.  The block
 * keeps only the text that joining it with its neighbours needs: up to the first boundary, which
 * must be in the first slice, and behind the last whole record, with one byte between the two.
 * Header lines come behind that byte, if the caller needs names.
 *
 * Offsets of records, and of names that are not kept, are those in the whole text.  If that is
 * needed after all, to parse it from another place or to quote a name, it is read again.
 */
#include <config.h>
#include "seqio/feed.h"

#include <string.h>
#include "base/mem.h"
#include "seqio/feed_in.h"
#include "seqio/scan.h"

/* Slices a block. */
enum { SLICES = 16 };

struct slices {
	kh_feed *f;
	struct feed_block *b;
	struct feed_text at;    /* where they are read to, from byte `size` on */
	size_t size;            /* bytes a slice */
	size_t done;            /* bytes of the block that have been read */
	size_t stop, end;       /* there: bytes [stop, end) are not parsed yet */
	kh_err *err;
};

bool feed_in_slices(kh_feed *f, const struct feed_block *b)
{
	const struct feed_stream *st = &f->st[b->pub.stream];

	if (f->o.text == KH_FEED_ALL || f->o.interleaved || f->o.pieces || b->format == '>' ||
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

	b->parsed.n_rec = FEED_FREE;
	b->parsed.n_words = s->f->o.front / 32;
	b->mate.n = 0;
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

/* Reads the next slice.  A failure goes to b->bad; nothing of the block is taken then. */
static bool read_on(struct slices *s)
{
	struct feed_block *b = s->b;
	const size_t left = b->want - s->done;
	const struct feed_range r = { s->done, left < s->size ? left : s->size };

	if (feed_read_range(s->f, b, s->at.buf + s->size, &r, &b->bad)) {
		forget(s);
		return false;
	}
	s->done += r.n;
	s->end = s->size + r.n;
	return true;
}

/* Appends text to what the block keeps. */
static int keep(struct slices *s, size_t from, size_t to)
{
	struct feed_block *b = s->b;
	int rc = feed_reserve(b, 0, b->end - b->raw + to - from, s->err);

	if (rc)
		return rc;
	memcpy(b->buf + b->end, s->at.buf + from, to - from);
	b->end += to - from;
	return KH_OK;
}

/* Appends the header lines of the records from `mark` on, in steps: text has KH_SCAN_PAD bytes
 * behind its end. */
static int keep_names(struct slices *s, size_t mark)
{
	enum { STEP = 16 };
	struct feed_block *b = s->b;
	size_t n = 0;

	for (size_t i = mark; i < b->parsed.n_rec; i++)
		n += b->parsed.rec[i].name_len;
	int rc = feed_reserve(b, 0, b->end - b->raw + n, s->err);
	if (rc)
		return rc;
	for (size_t i = mark; i < b->parsed.n_rec; i++) {
		kh_record *r = &b->parsed.rec[i];
		const char *from = s->at.buf + r->name;

		for (size_t k = 0; k < r->name_len; k += STEP)
			memcpy(b->buf + b->end + k, from + k, STEP);
		r->name = b->end;
		b->end += r->name_len;
	}
	return KH_OK;
}

/* Parses from s->stop on.  Offsets of the new records grow by how much less they are than in the
 * whole text. */
static int parse_on(struct slices *s)
{
	struct feed_block *b = s->b;
	const bool final = s->done == b->want && b->pub.file_end;
	const kh_char_range r = { s->stop, s->end, final };
	const size_t mark = b->parsed.n_rec, by = b->raw + s->done - s->end;
	int rc = kh_reader_walk(&b->position, &b->parsed, &r, &s->stop, s->err);

	if (!rc)
		rc = feed_hash_names(s->f, b, s->err);
	if (!rc && s->f->o.text == KH_FEED_NAMES)
		rc = keep_names(s, mark);
	for (size_t i = mark; i < b->parsed.n_rec; i++) {
		b->parsed.rec[i].name += s->f->o.text == KH_FEED_NAMES ? 0 : by;
		b->parsed.rec[i].text += by;
	}
	return rc;
}

/* 1; 0: not in slices; < 0. */
static int parse_all(struct slices *s)
{
	struct feed_block *b = s->b;
	int rc;

	while ((rc = parse_on(s)) == 0 && s->done < b->want) {
		const size_t left = s->end - s->stop;

		if (left > s->size)
			return give_up(s);
		memmove(s->at.buf + s->size - left, s->at.buf + s->stop, left);
		s->stop = s->size - left;
		if (!read_on(s))
			return 1;
	}
	if (rc)
		return rc == KH_ENOMEM ? rc : give_up(s);
	b->stop = b->end;
	if ((rc = keep(s, s->stop, s->end)))
		return rc;
	b->sliced = b->ahead = true;
	return 1;
}

static int begin(struct slices *s)
{
	struct feed_block *b = s->b;
	int rc = kh_parsed_reserve(&b->parsed, b->want, s->err);

	if (!rc)
		rc = KH_GROW(s->at.buf, s->at.cap, 2 * s->size + KH_SCAN_PAD, s->err);
	if (rc)
		return rc;
	b->parsed.text = s->at.buf;
	b->position = (kh_position) { .name = "", .line = 1, .byte = !b->file_start };
	if (!read_on(s))
		return 1;
	const kh_char_range first = { s->size, s->end, false };
	s->stop = b->file_start ? s->size : kh_reader_boundary(s->at.buf, &first, '@');
	if (s->stop == s->end || s->at.buf[s->stop] == '>')
		return give_up(s);
	b->boundary = b->raw + s->stop - s->size;
	rc = keep(s, s->size, s->stop + 1);
	return rc ? rc : parse_all(s);
}

int feed_slices(kh_feed *f, struct feed_block *b, kh_err *err)
{
	struct slices s = { .f = f, .b = b, .size = f->o.block_size / SLICES, .err = err };

	pthread_mutex_lock(&f->lock);
	if (f->n_slice_text > 0)
		s.at = f->slice_text[--f->n_slice_text];
	pthread_mutex_unlock(&f->lock);
	int rc = begin(&s);
	if (!b->sliced)
		b->end = b->raw;
	pthread_mutex_lock(&f->lock);
	f->slice_text[f->n_slice_text++] = s.at;
	pthread_mutex_unlock(&f->lock);
	return rc;
}
