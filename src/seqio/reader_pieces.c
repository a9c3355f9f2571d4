/*
 * reader_pieces.c - FASTA whose records may be of any length, in pieces
 *
 * The bytes of a sequence line are packed as they come, whole line or not.  Only bytes that cannot
 * be judged yet are held back: a part of a header line, and blanks and a CR at the end of the
 * range, which may or may not be the end of a line.
 */
#include <config.h>
#include "seqio/reader.h"

#include <string.h>
#include "seqio/reader_in.h"

struct piece {
	kh_record rec;
	bool open;              /* rec is there */
};

size_t kh_reader_text_end(const char *text, size_t from, size_t to)
{
	size_t i = to;

	while (i > from + 1 && memchr(" \t\r\n", text[i - 1], 4))
		i--;
	const char *nl = i < to ? memchr(text + i, '\n', to - i) : NULL;
	return nl ? (size_t)(nl - text) + 1 : to;
}

static int close_piece(const kh_walk *w, struct piece *p, kh_err *err)
{
	const bool begins = !(p->rec.flags & KH_REC_CONTINUES);
	bool wanted = p->open && (p->rec.len > 0 || begins);

	p->open = false;
	if (wanted && begins)
		p->rec.text_len =
			kh_reader_text_end(w->parsed->text, p->rec.text, w->pos) - p->rec.text;
	return wanted ? kh_parsed_push(w->parsed, &p->rec, err) : KH_OK;
}

/* Takes a line in front of the first record. 1: it is blank, 0: it is not whole, < 0. */
static int before_first(kh_walk *w)
{
	kh_line l;

	if (!next_line(w, &l)) {
		int begins = kh_walk_judge_start(w, &l);

		w->pos = begins > 0 ? l.at : w->pos;    /* behind the byte order mark */
		return begins;
	}
	kh_walk_bom(w, &l);
	int rc = kh_walk_trim(w, &l);
	if (rc)
		return rc;
	if (l.len > 0 && w->parsed->text[l.at] != '>')
		return kh_walk_foreign(w, w->parsed->text[l.at]);
	w->pos = l.len > 0 ? l.at : l.next;     /* behind the byte order mark */
	w->line += l.len == 0;
	return 1;
}

static int header(kh_walk *w, struct piece *p)
{
	int rc = close_piece(w, p, w->err);

	if (rc)
		return rc;
	w->at->n_rec += w->at->in_seq;          /* the record before is whole */
	rc = kh_walk_header(w, &p->rec);
	if (rc <= 0)
		w->at->n_rec -= w->at->in_seq;
	if (rc > 0)
		p->open = w->at->in_seq = true;
	return rc;
}

/* Takes lines of bases alone. 1: some, 0: none, < 0. */
static int usual(kh_walk *w, struct piece *p)
{
	size_t from = w->pos, over;
	int rc = kh_walk_lines(w, &p->rec, &over);

	if (rc)
		return rc;
	if (w->pos > from) {
		w->at->mid_line = false;
		w->at->column = 0;
	}
	if (over > 0 && w->pos + over == w->r->to) {
		p->rec.len += over;
		w->pos += over;
		w->at->mid_line = true;
		w->at->column += over;
	}
	return w->pos > from;
}

/* Takes a sequence line, or a part of it. 1: go on, 0: the range is used up, < 0. */
static int bases(kh_walk *w, struct piece *p)
{
	const char *text = w->parsed->text;
	kh_line l;

	if (!p->open)
		p->rec = (kh_record) {
			.seq = (uint64_t)w->parsed->n_words << 5, .flags = KH_REC_CONTINUES,
		};
	p->open = true;
	int some = usual(w, p);
	if (some)
		return some;
	bool whole = next_line(w, &l);
	if (!whole && l.len > 0 && text[l.at + l.len - 1] == '\r')
		l.len--;
	int rc = kh_walk_trim(w, &l);
	if (rc)
		return rc;
	rc = l.len > 0 ? kh_walk_bases(w, &p->rec, &l) : KH_OK;
	if (rc)
		return rc;
	if (!whole) {
		w->pos += l.len;
		w->at->mid_line |= l.len > 0;
		w->at->column += l.len;
		return 0;
	}
	w->pos = l.next;
	w->line++;
	w->at->mid_line = false;
	w->at->column = 0;
	return 1;
}

int kh_reader_pieces(kh_position *at, kh_parsed *parsed, const kh_char_range *r, size_t *stop,
		     kh_err *err)
{
	kh_walk w = kh_walk_start(at, parsed, r, err);
	struct piece p = { .open = false };
	int rc = 1;

	at->format = '>';
	while (rc > 0 && w.pos < r->to) {
		char c = parsed->text[w.pos];

		if (at->mid_line)
			rc = bases(&w, &p);
		else if (c == '>')
			rc = header(&w, &p);
		else if (!at->in_seq)
			rc = before_first(&w);
		else if (c == '@' || c == ';')
			rc = kh_walk_foreign(&w, c);
		else
			rc = bases(&w, &p);
	}
	*stop = w.pos;
	kh_walk_position(&w);
	const int late = close_piece(&w, &p, rc < 0 ? NULL : err);
	return rc < 0 ? rc : late;
}
