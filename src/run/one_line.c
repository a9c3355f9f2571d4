/* one_line.c - a read as Kraken 2 writes it: its sequence in one line, with x for masked bases */
#include <config.h>
#include "run/format.h"

#include <stdbool.h>
#include <string.h>
#include "base/digits.h"

/* Where the record is read. */
typedef struct cursor {
	const char *at, *end;
} cursor;

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Copies n characters of lines without what ends these. */
static char *copy_lines(char *to, cursor *c, uint64_t n)
{
	while (n > 0 && c->at < c->end) {
		const char *nl = memchr(c->at, '\n', (size_t)(c->end - c->at));
		const char *stop = nl ? nl : c->end;
		size_t len = (size_t)(stop - c->at);

		while (len > 0 && is_blank(c->at[len - 1]))
			len--;
		len = len < n ? len : (size_t)n;
		memcpy(to, c->at, len);
		to += len;
		n -= len;
		c->at = nl ? nl + 1 : c->end;
	}
	return to;
}

static void pass_line(cursor *c)
{
	const char *nl = memchr(c->at, '\n', (size_t)(c->end - c->at));

	c->at = nl ? nl + 1 : c->end;
}

static const char tag[] = "kraken:taxid|";

/* The length of a tag with its taxid at the start of a text, if it is a word of its own; else 0. */
static size_t tag_length(const char *p, size_t n)
{
	size_t i = sizeof tag - 1;

	if (n <= i || memcmp(p, tag, i) != 0)
		return 0;
	while (i < n && p[i] >= '0' && p[i] <= '9')
		i++;
	return i > sizeof tag - 1 && (i == n || is_blank(p[i])) ? i : 0;
}

char *kh_put_header(char *to, const char *line, size_t n, uint32_t taxid)
{
	size_t i = n > 0;               /* '>' or '@' and blanks may be in front of the name */

	while (i < n && is_blank(line[i]))
		i++;
	while (i < n && !is_blank(line[i]))
		i++;
	memcpy(to, line, i);
	to += i;
	*to++ = ' ';
	memcpy(to, tag, sizeof tag - 1);
	to = put_number(to + sizeof tag - 1, taxid);
	while (i < n) {
		const size_t had = is_blank(line[i]) ? tag_length(line + i + 1, n - i - 1) : 0;

		if (had > 0)
			i += 1 + had;
		else
			*to++ = line[i++];
	}
	return to;
}

static char *put_header(char *to, const kh_block *blk, const kh_record *r, uint32_t taxid)
{
	size_t n = r->name_len;

	while (n > 0 && is_blank(blk->text[r->name + n - 1]))
		n--;
	*to++ = r->fastq ? '@' : '>';
	if (taxid) {
		to = kh_put_header(to, blk->text + r->name, n, taxid);
	} else {
		memcpy(to, blk->text + r->name, n);
		to += n;
	}
	*to++ = '\n';
	return to;
}

void kh_one_line(kh_buf *b, const kh_block *blk, const kh_record *r, uint32_t taxid,
		 unsigned char quality)
{
	enum { FIXED = 64 };            /* what is not of the record */
	cursor c = { blk->text + r->name + r->name_len, blk->text + r->text + r->text_len };
	char *to, *bases;

	if (!kh_buf_reserve(b, (size_t)r->text_len + FIXED))
		return;
	to = bases = put_header(b->p + b->n, blk, r, taxid);
	pass_line(&c);
	to = copy_lines(to, &c, r->len);
	*to++ = '\n';
	if (r->fastq) {
		while (c.at < c.end && *c.at != '+')
			pass_line(&c);
		pass_line(&c);
		memcpy(to, "+\n", 2);
		char *const q = to + 2;

		to = copy_lines(q, &c, r->len);
		for (char *p = q; p < to; p++)
			if (*p - '!' < quality)
				bases[p - q] = 'x';
		*to++ = '\n';
	}
	b->n = (size_t)(to - b->p);
}
