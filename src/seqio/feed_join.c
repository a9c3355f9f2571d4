/*
 * feed_join.c - commits a block: joins the records that were parsed ahead with the blocks before
 *
 * The rest of the blocks before (the carry) is put in front of the block, and must give whole
 * records up to exactly the boundary where parsing ahead began. Then the boundary lies between two
 * records, and the records that were parsed from there on are right. Otherwise the carry and the
 * block are parsed again. Errors are only raised here, and by the same parser, so they do not
 * depend on how the text was cut.
 *
 * FASTA is parsed in pieces: all that a block needs to know of the blocks before it is whether it
 * begins inside a sequence, and the carry is a part of a line.  feed_long.c joins the pieces.
 */
#include <config.h>
#include "seqio/feed.h"

#include <stdlib.h>
#include <string.h>
#include "seqio/feed_in.h"
#include "base/mem.h"
#include "seqio/scan.h"

struct join {
	kh_feed *f;
	struct feed_stream *st;
	struct feed_block *b;
	bool final;
	size_t pos;             /* the place of the stream in the text of the block, */
	size_t from;            /* and where it was when the carry had been put there */
	kh_err *err;
};

/* --- carry ----------------------------------------------------------------------- */
static int carry_add(struct join *j, size_t from)
{
	struct feed_stream *st = j->st;
	size_t n = j->b->end - from;
	int rc = KH_GROW(st->carry.p, st->carry.cap, st->carry.n + n, j->err);

	if (rc)
		return rc;
	if (n > 0)
		memcpy(st->carry.p + st->carry.n, j->b->buf + from, n);
	st->carry.n += n;
	return KH_OK;
}

/* For a long carry: puts the block behind the carry, in its buffer. */
static int carry_over(struct join *j)
{
	struct feed_stream *st = j->st;
	struct feed_block *b = j->b;
	size_t raw = st->carry.n, cap = b->cap;
	char *buf = b->buf;
	int rc = carry_add(j, b->raw);

	if (!rc)
		rc = KH_GROW(st->carry.p, st->carry.cap, st->carry.n + KH_SCAN_PAD, j->err);
	if (rc)
		return rc;
	b->buf = st->carry.p;
	b->cap = st->carry.cap;
	st->carry.p = buf;
	st->carry.cap = cap;
	feed_shift(b, raw - b->raw);
	j->pos = 0;
	return KH_OK;
}

static int carry_in(struct join *j)
{
	struct feed_stream *st = j->st;
	struct feed_block *b = j->b;
	int rc = KH_OK;

	if (st->carry.n > FEED_SLACK) {
		rc = carry_over(j);
	} else {
		rc = feed_reserve(b, st->carry.n, 0, j->err);
		j->pos = b->raw - st->carry.n;
		if (!rc && st->carry.n > 0)
			memcpy(b->buf + j->pos, st->carry.p, st->carry.n);
	}
	b->parsed.text = b->buf;
	j->from = j->pos;
	feed_keep_slack(j->f, st, st->carry.n);
	return rc;
}

static int carry_out(struct join *j)
{
	j->st->carry.n = 0;
	int rc = carry_add(j, j->pos);
	j->st->carry.tried = j->st->carry.n;
	return rc;
}

/* --- records --------------------------------------------------------------------- */
/* Moves the records from `mark` on, which were added last, to the front. */
static int head_to_front(struct join *j, size_t mark)
{
	kh_parsed *parsed = &j->b->parsed;
	size_t n = parsed->n_rec - mark;

	if (n < FEED_FREE) {                    /* one more may come in front */
		memcpy(parsed->rec + FEED_FREE - n, parsed->rec + mark, n * sizeof *parsed->rec);
		parsed->n_rec = mark;
		j->b->first = FEED_FREE - n;
		return KH_OK;
	}
	kh_record *head = kh_array(n, sizeof *head, j->err);
	if (!head)
		return KH_ENOMEM;
	memcpy(head, parsed->rec + mark, n * sizeof *head);
	memmove(parsed->rec + FEED_FREE + n, parsed->rec + FEED_FREE,
		(mark - FEED_FREE) * sizeof *parsed->rec);
	memcpy(parsed->rec + FEED_FREE, head, n * sizeof *head);
	free(head);
	j->b->mate.n = 0;
	return feed_text_again(j->f, j->b, j->err);     /* names are hashed again */
}

/* Forgets the records before `mark`. */
static void forget_ahead(struct join *j, size_t mark)
{
	kh_parsed *parsed = &j->b->parsed;

	memmove(parsed->rec + FEED_FREE, parsed->rec + mark,
		(parsed->n_rec - mark) * sizeof *parsed->rec);
	parsed->n_rec = FEED_FREE + (parsed->n_rec - mark);
	j->b->mate.n = 0;
}

static void advance(kh_position *at, const kh_position *by, uint64_t byte_from)
{
	at->line += by->line - 1;
	at->byte += by->byte - byte_from;
	at->n_rec += by->n_rec;
}

static int walk_on(struct join *j)
{
	kh_char_range r = { j->pos, j->b->end, j->final };

	return kh_reader_walk(&j->st->position, &j->b->parsed, &r, &j->pos, j->err);
}

/* Parses from the carry to the boundary, and goes on from there. */
static int meet(struct join *j)
{
	struct feed_block *b = j->b;
	kh_position *at = &j->st->position;
	size_t mark = b->parsed.n_rec;
	int rc = KH_OK;

	if (j->pos < b->boundary) {
		kh_char_range r = { j->pos, b->boundary + 1, false };

		rc = kh_reader_walk(at, &b->parsed, &r, &j->pos, j->err);
	}
	bool same = !at->format || !b->position.format || at->format == b->position.format;
	if (rc || j->pos != b->boundary || !same) {
		j->st->distrust = true;
		forget_ahead(j, mark);
		rc = rc ? rc : feed_text_again(j->f, b, j->err);
		return rc ? rc : walk_on(j);
	}
	j->st->distrust = false;
	rc = head_to_front(j, mark);
	if (rc)
		return rc;
	advance(at, &b->position, !b->file_start);
	if (!at->format)
		at->format = b->position.format;
	j->pos = b->stop;
	return b->odd ? walk_on(j) : KH_OK;
}

/* Interleaved: leaves a record whose mate is not there yet for the next block. */
static int keep_pairs(struct join *j)
{
	kh_parsed *parsed = &j->b->parsed;
	kh_position *at = &j->st->position;

	if ((parsed->n_rec - j->b->first) % 2 == 0)
		return KH_OK;
	if (j->final)
		return kh_fail(j->err, KH_EFORMAT,
			       "%s: %llu record%s: interleaved mates, but the "
			       "number is odd", at->name, (unsigned long long)at->n_rec,
			       kh_plural(at->n_rec));
	const kh_record *last = &parsed->rec[--parsed->n_rec];
	for (size_t i = last->text; i < j->pos; i++)
		at->line -= j->b->buf[i] == '\n';
	at->byte -= j->pos - last->text;
	at->n_rec--;
	j->pos = last->text;
	return KH_OK;
}

/* Can the carry and the block hold a whole record?  If the carry is a part of a long one,
 * it is not parsed again with every block, but each time it has doubled, which is enough to notice
 * that it is no record. */
static bool is_worth_a_walk(const struct join *j)
{
	const struct feed_stream *st = j->st;
	const struct feed_block *b = j->b;
	size_t n = b->end - b->raw;

	if (j->final || b->bad.code || (b->ahead && !st->distrust))
		return true;
	return st->carry.n + n >= 2 * st->carry.tried;
}

static int join_records(struct join *j)
{
	struct feed_stream *st = j->st;
	struct feed_block *b = j->b;
	int rc = st->distrust ? feed_text_again(j->f, b, j->err) : KH_OK;

	if (rc)
		return rc;
	if (!is_worth_a_walk(j)) {
		b->parsed.n_rec = FEED_FREE;
		return carry_add(j, b->raw);
	}
	st->walked = true;
	rc = carry_in(j);
	if (!rc)
		rc = b->ahead ? meet(j) : walk_on(j);
	if (!rc && j->f->o.interleaved)
		rc = keep_pairs(j);
	return rc ? rc : carry_out(j);
}

/* --- pieces ---------------------------------------------------------------------- */
static int pieces_on(struct join *j, size_t to)
{
	kh_char_range r = { j->pos, to, j->final && to == j->b->end };

	return kh_reader_pieces(&j->st->position, &j->b->parsed, &r, &j->pos, j->err);
}

/* Parses all of it again, without what was parsed ahead. */
static int pieces_again(struct join *j)
{
	j->b->parsed.n_rec = FEED_FREE;
	j->b->parsed.n_words = j->f->o.front / 32;
	return pieces_on(j, j->b->end);
}

/* Parses the part in front of the first header line again, if the guess about its place was
 * wrong. */
static int head_again(struct join *j)
{
	struct feed_block *b = j->b;
	kh_parsed *parsed = &b->parsed;
	size_t words = parsed->n_words, mark = parsed->n_rec;

	parsed->n_words = j->f->o.front / 32;
	int rc = pieces_on(j, b->boundary);
	if (parsed->n_words < words)
		parsed->n_words = words;
	if (rc) {
		forget_ahead(j, mark);
		return rc;
	}
	/* rec has: FEED_FREE free places, head_n guessed records, those behind the boundary, the
	 * right ones */
	memmove(parsed->rec + FEED_FREE, parsed->rec + FEED_FREE + b->head.n,
		(parsed->n_rec - FEED_FREE - b->head.n) * sizeof *parsed->rec);
	parsed->n_rec -= b->head.n;
	return head_to_front(j, mark - b->head.n);
}

static void take_head(struct join *j)
{
	struct feed_block *b = j->b;
	kh_position *at = &j->st->position;

	advance(at, &b->head.position, 1);
	at->column = b->head.position.column + (b->head.position.line > 1 ? 0 : at->column);
	if (b->head.stop > b->raw)
		at->mid_line = b->head.position.mid_line;
	j->pos = b->head.stop;
}

static int pieces_meet(struct join *j)
{
	struct feed_block *b = j->b;
	kh_position *at = &j->st->position;
	char c = b->buf[b->raw];
	bool line_start = c == '>' || c == '@' || c == ';';
	bool guessed = j->pos == b->raw && !(at->mid_line && line_start);
	int rc = KH_OK;

	if (b->boundary == b->raw && !b->file_start && !guessed)
		return pieces_again(j);
	if (b->boundary > b->raw) {
		if (guessed && at->in_seq && b->head.good)
			take_head(j);
		else
			rc = head_again(j);
	}
	if (rc || b->boundary == b->end)
		return rc;
	advance(at, &b->position, !b->file_start);
	if (!at->in_seq && !b->file_start)
		at->n_rec--;            /* parsing ahead took a record to be open */
	at->in_seq = b->position.in_seq;
	at->mid_line = b->position.mid_line;
	at->column = b->position.column;
	j->pos = b->stop;
	return b->odd ? pieces_on(j, b->end) : KH_OK;
}

/* Makes whole records of the pieces; of a block that fails, of those before the bad record. */
static int make_whole(struct join *j, bool failed)
{
	const struct feed_block *b = j->b;
	const bool next = j->pos < b->end && b->buf[j->pos] == '>' && !j->st->position.mid_line;
	const feed_span s = { j->from, j->pos, next || (j->final && !failed) };

	if (j->final && !failed)
		j->st->position.n_rec += j->st->position.in_seq;
	return feed_long_records(j->f, j->b, &s, failed ? NULL : j->err);
}

static int join_pieces(struct join *j)
{
	struct feed_stream *st = j->st;
	struct feed_block *b = j->b;
	size_t n = b->end - b->raw;

	if (!j->final && !b->bad.code && st->carry.n + n < 2 * st->carry.tried
	    && !memchr(b->buf + b->raw, '\n', n)) {
		b->parsed.n_rec = FEED_FREE;
		return carry_add(j, b->raw);
	}
	int rc = carry_in(j);
	if (rc)
		return rc;
	rc = b->ahead && !st->walked ? pieces_meet(j) : pieces_again(j);
	st->walked = false;
	if (!rc)
		rc = carry_out(j);
	const int late = j->f->o.pieces ? KH_OK : make_whole(j, rc != 0);
	return rc ? rc : late;
}

/* Of which of both kinds is the text?  What was parsed ahead as the other kind is forgotten.  (If
 * that was in slices, the '@' at the boundary is an error of FASTA, so text behind it is no
 * loss.) */
static bool is_in_pieces(struct join *j)
{
	struct feed_block *b = j->b;

	if (b->file_start && b->pieces)
		j->st->position.format = '>';
	const bool fasta = j->st->position.format == '>' && !j->f->o.interleaved;
	const bool pieces = j->f->o.pieces || fasta;
	if (pieces != b->pieces) {
		b->parsed.n_rec = FEED_FREE;
		b->parsed.n_words = j->f->o.front / 32;
		b->ahead = b->odd = false;
		b->mate.n = 0;
	}
	return pieces;
}

int feed_join(kh_feed *f, struct feed_block *b, kh_err *err)
{
	struct feed_stream *st = &f->st[b->pub.stream];
	struct join j = { .f = f, .st = st, .b = b, .err = err };
	int rc;

	j.final = b->pub.file_end && !b->bad.code;
	if (b->file_start) {
		st->position =
			(kh_position) { .name = feed_file_name(st, b->pub.file), .line = 1 };
		st->carry.n = st->carry.tried = 0;
		st->distrust = st->walked = st->open.is = false;
	}
	rc = is_in_pieces(&j) ? join_pieces(&j) : join_records(&j);
	int late = f->o.pieces ? KH_OK : feed_hash_names(f, b, rc ? NULL : err);
	rc = rc ? rc : late;
	b->pub.rec = b->parsed.rec + b->first;
	b->pub.n_rec = b->parsed.n_rec - b->first;
	b->pub.errors = b->parsed.errors;
	if (!rc && b->bad.code) {
		if (err)
			*err = b->bad;
		rc = b->bad.code;
	}
	return rc;
}
