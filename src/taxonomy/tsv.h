/*
 * tsv.h - the rows of a text table, one by one, over any reader of bytes
 *
 * Memory depends on the longest row, not on the table, so tables may have any length.  Parsers of
 * tables are functions of bytes, not of a path.
 */
#ifndef KH_TAXONOMY_TSV_H
#define KH_TAXONOMY_TSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* Reads up to n bytes; returns how many, 0 at the end and in later calls, or < 0. */
typedef int64_t kh_read_fn(void *arg, void *buf, size_t n, kh_err *err);

/* Borrowed characters without a NUL. */
typedef struct kh_span {
	const char *p;
	size_t n;
} kh_span;

/* A reader of bytes in memory: arg is a kh_span, which becomes the bytes that are left. */
kh_read_fn kh_tsv_bytes;

#define KH_LINE_MAX ((size_t)16 << 20)  /* a longer row is an error: no table has one */

typedef struct kh_tsv {
	const char *name;       /* of the table, for messages; borrowed */
	uint64_t line;          /* number of the last row, from 1 */
	kh_read_fn *read;
	void *arg;
	char *buf;
	size_t cap, pos, end;   /* buf[pos] to buf[end - 1] were read and are not yet a row */
	bool eof, begun;
	struct kh_source *source;       /* opened by kh_tsv_open, or NULL */
	/* the last row may lack its line end, for lists that people write */
	bool any_end;
} kh_tsv;

void kh_tsv_init(kh_tsv *tsv, const char *name, kh_read_fn *read, void *arg);
/* The same for a file; to be cleared even if it fails. */
int kh_tsv_open(kh_tsv *tsv, const char *path, kh_err *err);
void kh_tsv_clear(kh_tsv *tsv);
/* Before the first row: does the text begin with this?  1, 0, or < 0. */
int kh_tsv_begins(kh_tsv *tsv, const char *with, kh_err *err);
/* 1: *row is the next row without its "\n" or "\r\n", valid until the next call; 0: the end; < 0:
 * an error.  A byte order mark at the start is skipped.  A last row without a line end is an error
 * unless any_end is set, as the table may have been cut off inside a number. */
int kh_tsv_next(kh_tsv *tsv, kh_span *row, kh_err *err);

/* False unless s is decimal digits, at least one, with a value below 2^32, or 2^64. */
bool kh_span_u32(kh_span s, uint32_t *v);
bool kh_span_u64(kh_span s, uint64_t *v);
bool kh_span_is(kh_span s, const char *word);
/* The same, in upper or lower case. */
bool kh_span_is_word(kh_span s, const char *word);
/* Is it not empty and without control characters? */
bool kh_span_is_printable(kh_span s);
/* Has a row only separators and blanks?  Spreadsheets write such rows. */
bool kh_row_is_blank(kh_span row);
/* Does it begin with '#'?  So do comments, and some headers. */
static inline bool kh_row_is_comment(kh_span row)
{
	return row.n > 0 && row.p[0] == '#';
}
/* The only column of a row, as in lists, without blanks and quotation marks around it. */
kh_span kh_row_cell(kh_span row);
/* Splits a row at tabs into max columns at most; returns how many there are, or max + 1 if more. */
int kh_span_split(kh_span row, kh_span *column, int max);
/* The bytes p to end - 1 without the blanks around them. */
kh_span kh_span_trim(const char *p, const char *end);

/* The span for a message: cut to 47 bytes at most, unprintable bytes as '?'. */
typedef struct kh_shown { char s[48]; } kh_shown;
kh_shown kh_span_show(kh_span s);

#endif
