/*
 * reader_walk.c - functions for FASTQ, FASTA and FASTA in pieces: lines, headers, bases, and
 * messages that name the place of an error
 */
#include <config.h>
#include "seqio/reader_in.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

typedef unsigned long long ull;

/* --- parsed --------------------------------------------------------------------- */
void kh_parsed_free(kh_parsed *parsed)
{
	free(parsed->rec);
	free(parsed->bases);
	free(parsed->amb);
	*parsed = (kh_parsed) { 0 };
}

int kh_parsed_reserve(kh_parsed *parsed, uint64_t n, kh_err *err)
{
	size_t need = parsed->n_words + (size_t)(n >> 5) + 4, cap = parsed->cap_words;
	int rc;

	if (need <= parsed->cap_words)
		return KH_OK;
	rc = KH_GROW(parsed->bases, cap, need, err);
	if (rc)
		return rc;
	cap = parsed->cap_words;
	rc = KH_GROW(parsed->amb, cap, need, err);
	if (!rc)
		parsed->cap_words = cap;
	return rc;
}

int kh_parsed_push(kh_parsed *parsed, const kh_record *rec, kh_err *err)
{
	const kh_packed to = { parsed->bases, parsed->amb };
	int rc = KH_GROW(parsed->rec, parsed->cap_rec, parsed->n_rec + 1, err);

	if (rc)
		return rc;
	kh_pack_end(&to, rec->seq, rec->len);
	parsed->n_words = (size_t)((rec->seq + rec->len + 31) >> 5);
	parsed->rec[parsed->n_rec++] = *rec;
	return KH_OK;
}

/* --- what both formats share ----------------------------------------------------- */
const char *kh_walk_show(char c, char buf[16])
{
	if (c > ' ' && c <= '~')
		snprintf(buf, 16, "'%c'", c);
	else
		snprintf(buf, 16, "byte 0x%02x", (unsigned char)c);
	return buf;
}

int kh_walk_fail(const kh_walk *w, const char *what)
{
	return kh_fail(w->err, KH_EFORMAT, "%s:%llu: record %llu: %s", w->at->name,
		       (ull)w->line, (ull)w->at->n_rec + 1, what);
}

void kh_walk_bom(const kh_walk *w, kh_line *l)
{
	if (w->at->byte == 0 && l->at == w->r->from && l->len >= 3
	    && memcmp(w->parsed->text + l->at, "\xef\xbb\xbf", 3) == 0) {
		l->at += 3;
		l->len -= 3;
	}
}

int kh_walk_trim(kh_walk *w, kh_line *l)
{
	const char *text = w->parsed->text;
	const size_t n = l->len;

	while (l->len > 0 && is_blank(text[l->at + l->len - 1]))
		l->len--;
	return n - l->len <= KH_BLANKS_MAX ? KH_OK
	       : kh_walk_fail(w, "a line with more than 1 MiB of blanks");
}

/* Does the text behind the line's start, which is all there is, go on as a byte order mark? */
static bool may_be_bom(const kh_walk *w, const kh_line *l)
{
	return w->at->byte == 0 && l->at == w->r->from && l->len < 3 &&
	       memcmp(w->parsed->text + l->at, "\xef\xbb\xbf", l->len) == 0;
}

int kh_walk_judge_start(kh_walk *w, kh_line *l)
{
	if (w->r->final || may_be_bom(w, l))
		return KH_OK;
	kh_walk_bom(w, l);
	if (l->len > 0 && w->parsed->text[l->at + l->len - 1] == '\r')
		l->len--;                       /* it may belong to the end of the line */
	int rc = kh_walk_trim(w, l);
	if (rc || l->len == 0)
		return rc;
	const char c = w->parsed->text[l->at], format = w->at->format;
	const bool good = format ? c == format : c == '>' || c == '@';
	if (!good)
		return kh_walk_foreign(w, c);
	w->at->format = c;
	return 1;
}

int kh_walk_foreign(kh_walk *w, char c)
{
	char buf[16];
	const kh_position *at = w->at;

	if (c == '>' && at->format == '@')
		return kh_walk_fail(
			w, "expected '@', found '>': FASTA and FASTQ mixed in one file");
	if (c == '@' && at->format == '>')
		return kh_walk_fail(
			w, "expected '>' or a sequence, found '@': FASTA and FASTQ mixed "
			   "in one file, or a FASTQ file where FASTA is wanted");
	if (at->n_rec == 0 && w->line == 1 && w->r->to - w->r->from >= 4 &&
	    memcmp(w->parsed->text + w->r->from, "BAM\1", 4) == 0)
		return kh_walk_fail(w, "a BAM file: pipe the output of 'samtools fastq' into "
				       "standard input, '-'");
	if (c == ';')
		return kh_walk_fail(w, "';' comments are not part of FASTA or FASTQ");
	return kh_fail(w->err, KH_EFORMAT,
		       "%s:%llu: expected %s at the start of record %llu, "
		       "found %s",
		       at->name, (ull)w->line,
		       at->format == '@'   ? "'@'"
		       : at->format == '>' ? "'>'"
					   : "'>' or '@'",
		       (ull)at->n_rec + 1, kh_walk_show(c, buf));
}

int kh_walk_header(kh_walk *w, kh_record *rec)
{
	const char *text = w->parsed->text;
	kh_line l;
	bool whole = next_line(w, &l);

	if (l.len > KH_HEADER_MAX)
		return kh_walk_fail(w, "a header line of more than 64 MiB");
	if (!whole)
		return 0;
	kh_walk_bom(w, &l);
	const char *name = text + l.at + 1;
	size_t n = l.len - 1, id = 0, blanks = 0;
	if (memchr(name, '\0', n))
		return kh_walk_fail(w, "a NUL byte in the header line");
	if (memchr(name, '\r', n))
		return kh_walk_fail(w,
			       "a carriage return inside the header line (lines end in "
			       "LF or CR LF)");
	while (blanks < n && is_blank(name[blanks]))
		blanks++;
	name += blanks;
	n -= blanks;
	while (id < n && !is_blank(name[id]))
		id++;
	*rec = (kh_record) {
		.name = l.at + 1 + blanks, .text = l.at, .text_len = l.next - l.at,
		.seq = (uint64_t)w->parsed->n_words << 5, .name_len = (uint32_t)n,
		.id_len = (uint32_t)id, .fastq = text[l.at] == '@',
	};
	w->pos = l.next;
	w->line++;
	return 1;
}

static int bad_base(const kh_walk *w, const kh_line *l, size_t i)
{
	char c = w->parsed->text[l->at + i], buf[16];
	ull column = (ull)(w->at->column + i + 1);
	const char *what =
		c == '\r' ? "a carriage return inside a line (lines end in LF or CR LF)"
		: is_blank(c) ? "a blank inside a sequence line"
			      : NULL;

	if (what)
		return kh_fail(w->err, KH_EFORMAT,
			       "%s:%llu: record %llu: %s, column %llu", w->at->name,
			       (ull)w->line, (ull)w->at->n_rec + 1, what, column);
	return kh_fail(w->err, KH_EFORMAT,
		       "%s:%llu: record %llu: expected a nucleotide, found "
		       "%s, column %llu",
		       w->at->name, (ull)w->line, (ull)w->at->n_rec + 1, kh_walk_show(c, buf),
		       column);
}

int kh_walk_bases(kh_walk *w, kh_record *rec, const kh_line *l)
{
	int rc = kh_parsed_reserve(w->parsed, rec->len + l->len, w->err);
	const kh_packed to = { w->parsed->bases, w->parsed->amb };

	if (rc)
		return rc;
	size_t good = w->scan->pack(&to, rec->seq + rec->len, w->parsed->text + l->at, l->len);
	if (good < l->len)
		return bad_base(w, l, good);
	if (w->parsed->mask.u)
		kh_mask_u(w->parsed, rec->seq + rec->len, w->parsed->text + l->at, l->len);
	rec->len += l->len;
	return KH_OK;
}

int kh_walk_lines(kh_walk *w, kh_record *rec, size_t *over)
{
	size_t n = w->r->to - w->pos;
	int rc = kh_parsed_reserve(w->parsed, rec->len + n, w->err);
	const kh_packed to = { w->parsed->bases, w->parsed->amb };
	kh_seq_lines l = { rec->seq + rec->len, 0, 0 };

	if (rc)
		return rc;
	size_t done = w->scan->lines(&to, &l, w->parsed->text + w->pos, n);
	if (w->parsed->mask.u)
		kh_mask_u(w->parsed, rec->seq + rec->len, w->parsed->text + w->pos, done);
	*over = done - l.last;
	rec->len = l.at - rec->seq - *over;
	w->pos += l.last;
	w->line += l.n;
	return KH_OK;
}

kh_walk kh_walk_start(kh_position *at, kh_parsed *parsed, const kh_char_range *r, kh_err *err)
{
	kh_walk w = {
		.at = at, .parsed = parsed, .r = r, .scan = kh_scan_get(), .pos = r->from,
		.line = at->line, .base = at->byte - r->from, .err = err,
	};

	return w;
}
