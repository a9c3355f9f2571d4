/*
 * reader.h - the grammar of FASTA and FASTQ, over bytes in memory
 *
 * kh_reader_walk takes complete records from a place between two records on, until the input ends
 * or a record is malformed.  It serves speculation and commits alike, so both have the same rules.
 * Errors do not depend on how the text is cut either: lines are judged in order, and the start of a
 * line, if its end is not there yet, as the whole line would be.
 *
 * Lines end in LF or CR LF; the last may have no end.  A CR elsewhere is an error.
 * Blanks and tabs at the end of sequence and quality lines are cut, elsewhere in them they are
 * errors.  A line of nothing else is blank and may be anywhere.
 * A file is FASTA or FASTQ by its first byte that is not blank; a UTF-8 byte order
 * mark in front of it is skipped.  FASTA: '>' at the start of a line begins a record,
 * ';' comments are refused.  A name is the first word of a header line, perhaps behind blanks.
 * FASTQ: '@' line, sequence lines, '+' line (its text is not looked at), quality lines until there
 * are as many characters as bases; if the sequence is one line, so is the quality.  An empty
 * sequence has an empty quality line, or none.  Nucleotides: scan.h.  Header lines have at most
 * 64 MiB and no NUL, '+' lines at most 64 MiB, blanks at the end of a line at most 1 MiB.  So text
 * other than sequence takes little memory, and a line that starts wrong is refused before its end
 * is there.
 */
#ifndef KH_SEQIO_READER_H
#define KH_SEQIO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "seqio/feed.h"
#include "base/msg.h"

enum { KH_HEADER_MAX = 1 << 26, KH_BLANKS_MAX = 1 << 20 };

/* The position of a parse.  All zero but for the name and line 1: the start of a file. */
typedef struct kh_position {
	const char *name;       /* the file's, for messages */
	uint64_t line;          /* of the next byte, from 1 */
	uint64_t byte;          /* its offset in the decoded text */
	uint64_t n_rec;         /* whole records before it in the file */
	char format;            /* '>', '@', or 0: not known yet */
	/* pieces: */
	bool in_seq;            /* a record is open */
	bool mid_line;          /* the next byte goes on with a sequence line, */
	uint64_t column;        /*   of which so many bytes are done */
} kh_position;

/* Records and packed sequences; zero it first.  Offsets are into `text`, which must be
 * readable KH_SCAN_PAD bytes behind its end. */
typedef struct kh_parsed {
	const char *text;
	kh_record *rec;
	size_t n_rec, cap_rec;
	uint64_t *bases;
	uint32_t *amb;
	size_t n_words, cap_words;      /* n_words: the next sequence goes there */
	kh_mask mask;
	bool errors;            /* some record has `errors` */
} kh_parsed;

void kh_parsed_free(kh_parsed *parsed);
/* Room for a sequence of n bases that starts at word n_words. */
int kh_parsed_reserve(kh_parsed *parsed, uint64_t n, kh_err *err);

typedef struct kh_char_range {
	size_t from, to;        /* in text */
	bool final;             /* the file ends at `to` */
} kh_char_range;

/* Takes complete records; *stop is the offset of the first incomplete one, and `at` its place.  On
 * failure they are those of the bad record, and the parsed batch has all records before it. */
int kh_reader_walk(kh_position *at, kh_parsed *parsed, const kh_char_range *r, size_t *stop,
		   kh_err *err);

/* The same in pieces, FASTA only: a record's bases may end at r->to and go on in the next call's
 * parsed batch.  The text behind *stop (a part of a header line, or of a line's end) is to be given
 * again, together with the text that follows.  On failure the last piece has the good bases of the
 * bad record, unless *stop is at the '>' of that record. */
int kh_reader_pieces(kh_position *at, kh_parsed *parsed, const kh_char_range *r, size_t *stop,
		     kh_err *err);

/* The end of the last line in [from, to) that is not blank.  A record of FASTA begins at `from`. */
size_t kh_reader_text_end(const char *text, size_t from, size_t to);

/* The first line behind r->from that looks like the start of a record: it starts with '>'; or with
 * '@', and the line two below with '+'.  `format` 0: FASTQ is tried, then FASTA.  r->to if there is
 * none. */
size_t kh_reader_boundary(const char *text, const kh_char_range *r, char format);

#endif
