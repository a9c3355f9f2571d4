/* reader_in.h - functions that the files of the reader, mask.c and batch.c share */
#ifndef KH_SEQIO_READER_IN_H
#define KH_SEQIO_READER_IN_H

#include <string.h>
#include "seqio/reader.h"
#include "seqio/scan.h"

/* A walk in progress.  `pos` and `line` run ahead of the place while a record is open. */
typedef struct kh_walk {
	kh_position *at;
	kh_parsed *parsed;
	const kh_char_range *r;
	const kh_scan *scan;
	size_t pos;
	uint64_t line;
	uint64_t base;          /* offset of text[0] in the file, modulo 2^64 */
	kh_err *err;
} kh_walk;

typedef struct kh_line {
	size_t at, len;         /* without LF or CR LF */
	size_t next;
} kh_line;

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Finds the line at pos. False: there is no whole line any more. */
static inline bool next_line(const kh_walk *w, kh_line *l)
{
	const char *t = w->parsed->text + w->pos;
	const char *nl = w->pos < w->r->to
				 ? (const char *)memchr(t, '\n', w->r->to - w->pos)
				 : NULL;

	l->at = w->pos;
	if (!nl) {
		l->len = w->r->to - w->pos;
		l->next = w->r->to;
		return w->r->final && l->len > 0;
	}
	l->len = (size_t)(nl - t);
	l->next = w->pos + l->len + 1;
	if (l->len > 0 && nl[-1] == '\r')
		l->len--;
	return true;
}

/* Fails with "FILE:LINE: record N: " before `what`. */
int kh_walk_fail(const kh_walk *w, const char *what);
/* A character as messages show it: 'c', or "byte 0x0c". */
const char *kh_walk_show(char c, char buf[16]);
int kh_parsed_push(kh_parsed *parsed, const kh_record *rec, kh_err *err);

/* Takes the header line at pos; 1, 0: not whole yet, < 0. */
int kh_walk_header(kh_walk *w, kh_record *rec);
/* Packs a part of a sequence line behind rec's bases. */
int kh_walk_bases(kh_walk *w, kh_record *rec, const kh_line *l);
/* Takes all whole lines that follow and have only bases, or nothing. *over: the number of good
 * bases behind these lines, which are packed but not counted. */
int kh_walk_lines(kh_walk *w, kh_record *rec, size_t *over);
/* Fails with a message about the character c where a record should begin. */
int kh_walk_foreign(kh_walk *w, char c);
/* Cuts the blanks at the end of a line. */
int kh_walk_trim(kh_walk *w, kh_line *l);
/* Judges the start of a line whose end is not there yet, where a record or a blank line should
 * begin. 1: a record begins, at l->at; 0: not known yet; < 0: wrong, whatever follows. */
int kh_walk_judge_start(kh_walk *w, kh_line *l);
/* Moves the place to pos. */
static inline void kh_walk_position(kh_walk *w)
{
	w->at->line = w->line;
	w->at->byte = w->base + w->pos;
}

/* Make the bases of parsed->mask ambiguous, from base number `at` on: each U in n characters of
 * sequence lines (line feeds among them do not count); those of n bases with low qualities; both,
 * in a four-line record. */
void kh_mask_u(kh_parsed *parsed, uint64_t at, const char *s, size_t n);
void kh_mask_quality(kh_parsed *parsed, uint64_t at, const char *q, size_t n);
void kh_mask_usual(kh_parsed *parsed, const kh_record *r);
kh_walk kh_walk_start(kh_position *at, kh_parsed *parsed, const kh_char_range *r, kh_err *err);
/* Skips the byte order mark of a file's first line. */
void kh_walk_bom(const kh_walk *w, kh_line *l);

/* Sets `errors` of the long records of FASTQ from number `first` on. */
void kh_reader_errors(kh_parsed *parsed, size_t first);

#endif
