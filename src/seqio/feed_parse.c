/*
 * feed_parse.c - parses a block from its first boundary on, before the preceding blocks are known
 */
#include <config.h>
#include "seqio/feed.h"

#include "seqio/feed_in.h"

/* A failure of the parse is no error yet: the guessed boundary may not be the start of a record,
 * which is found out when the block is committed. */
static int unless_judged(int rc)
{
	return rc == KH_ENOMEM ? rc : KH_OK;
}

static int records_ahead(struct feed_block *b, kh_err *err)
{
	kh_char_range r = { b->raw, b->end, b->pub.file_end && !b->bad.code };

	b->boundary = b->file_start ? b->raw : kh_reader_boundary(b->buf, &r, b->format);
	if (b->boundary == b->end)
		return KH_OK;
	r.from = b->boundary;
	int rc = kh_reader_walk(&b->position, &b->parsed, &r, &b->stop, err);
	b->odd = rc < 0;
	b->ahead = true;
	return unless_judged(rc);
}

/* Parses what is in front of the first header line, which is taken to be inside a sequence. */
static int head_ahead(struct feed_block *b, bool final, kh_err *err)
{
	kh_char_range r = { b->raw, b->boundary, final && b->boundary == b->end };
	char c = b->buf[b->raw];

	b->head.position = (kh_position) {
		.name = "", .line = 1, .byte = 1, .in_seq = true,
		.mid_line = c != '>' && c != '@' && c != ';',
	};
	int rc = kh_reader_pieces(&b->head.position, &b->parsed, &r, &b->head.stop, err);
	b->head.good = rc == 0;
	b->head.n = b->parsed.n_rec - FEED_FREE;
	return unless_judged(rc);
}

/* Whether records of FASTA are parsed in pieces, so that one that spans blocks is parsed by as many
 * workers.  What this says is right at the start of a file, and elsewhere it is found out when the
 * block is committed. */
static bool is_fasta(const kh_feed *f, const struct feed_block *b)
{
	const kh_char_range r = { b->raw, b->end, false };

	if (f->o.pieces || f->o.interleaved)
		return f->o.pieces;
	if (b->file_start)
		return b->buf[b->raw] == '>';
	if (b->format)
		return b->format == '>';
	const size_t at = kh_reader_boundary(b->buf, &r, 0);
	return at == b->end || b->buf[at] == '>';
}

/* "\n>" begins a record wherever it is found. */
static int pieces_ahead(kh_feed *f, struct feed_block *b, kh_err *err)
{
	bool final = b->pub.file_end && !b->bad.code;
	kh_char_range r = { b->raw, b->end, final };
	int rc = KH_OK;

	b->head.n = 0;
	b->boundary = b->raw;
	if (!b->file_start && b->buf[b->raw] != '>')
		b->boundary = kh_reader_boundary(b->buf, &r, '>');
	if (b->boundary > b->raw) {
		rc = head_ahead(b, final, err);
		b->parsed.n_words = f->o.front / 32 + (b->boundary - b->raw) / 32 + 2;
	}
	b->ahead = true;
	b->stop = b->end;
	if (rc || b->boundary == b->end)
		return rc;
	r.from = b->boundary;
	b->position.in_seq = !b->file_start;
	rc = kh_reader_pieces(&b->position, &b->parsed, &r, &b->stop, err);
	b->odd = rc < 0;
	return unless_judged(rc);
}

int feed_parse(kh_feed *f, struct feed_block *b, kh_err *err)
{
	b->parsed.text = b->buf;
	if (b->sliced || b->past || b->end == b->raw)
		return KH_OK;
	b->position = (kh_position) { .name = "", .line = 1, .byte = !b->file_start };
	b->pieces = is_fasta(f, b);
	if (b->pieces)
		return pieces_ahead(f, b, err);
	int rc = records_ahead(b, err);
	return rc ? rc : feed_hash_names(f, b, err);
}
