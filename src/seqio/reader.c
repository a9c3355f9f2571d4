/*
 * reader.c - the grammar of whole records: FASTQ and FASTA
 */
#include <config.h>
#include "seqio/reader.h"

#include <string.h>
#include "base/mem.h"
#include "seqio/reader_in.h"

typedef unsigned long long ull;

/* Takes the record, which is whole and ends at pos. */
static int take(kh_walk *w, kh_record *rec)
{
	int rc = kh_parsed_push(w->parsed, rec, w->err);

	if (rc)
		return rc;
	w->at->n_rec++;
	kh_walk_position(w);
	return 1;
}

/* To be called where no whole line is left: an error at the end of the file, else 0. */
static int run_dry(const kh_walk *w, const kh_record *rec, const char *wanted)
{
	if (!w->r->final)
		return 0;
	int n = rec->id_len > 100 ? 100 : (int)rec->id_len;
	return kh_fail(w->err, KH_EFORMAT,
		       "%s:%llu: record %llu ('%.*s') is cut off: the file "
		       "ends at byte %llu, %s",
		       w->at->name, (ull)w->line - 1, (ull)w->at->n_rec + 1, n,
		       w->parsed->text + rec->name, (ull)(w->base + w->pos), wanted);
}

/* Passes over blank lines to the beginning of a record. 1; 0: there is none; < 0. */
static int find_record(kh_walk *w)
{
	kh_line l;

	for (;;) {
		const char *text = w->parsed->text;

		if (w->at->format && w->pos < w->r->to && text[w->pos] == w->at->format)
			return 1;
		if (!next_line(w, &l))
			return kh_walk_judge_start(w, &l);
		kh_walk_bom(w, &l);
		int rc = kh_walk_trim(w, &l);
		if (rc)
			return rc;
		if (l.len > 0) {
			char c = text[l.at];

			if (!w->at->format && (c == '>' || c == '@'))
				w->at->format = c;
			return c && c == w->at->format ? 1 : kh_walk_foreign(w, c);
		}
		w->pos = l.next;
		w->line++;
		kh_walk_position(w);
	}
}

/* The length of a line, whose end is not there yet, without the blanks and CR that may belong to
 * its end. */
static size_t certain(const kh_walk *w, const kh_line *l)
{
	const char *text = w->parsed->text + l->at;
	size_t n = l->len;

	while (n > 0 && (text[n - 1] == '\r' || is_blank(text[n - 1])))
		n--;
	return n;
}

/* For a line of bases whose end is not there yet: fails if what is there is wrong however it goes
 * on. */
static int judge_bases(kh_walk *w, const kh_record *rec, kh_line l)
{
	const char *text = w->parsed->text;
	kh_record copy = *rec;
	int rc;

	if (w->r->final)
		return KH_OK;
	if (l.len > 0 && text[l.at + l.len - 1] == '\r')
		l.len--;
	rc = kh_walk_trim(w, &l);
	l.len = certain(w, &l);
	return rc || l.len == 0 ? rc : kh_walk_bases(w, &copy, &l);
}

/* --- FASTQ ----------------------------------------------------------------------- */
/* Takes the sequence lines and the '+' line. *n: the number of sequence lines. */
static int fastq_bases(kh_walk *w, kh_record *rec, size_t *n)
{
	kh_line l;

	for (*n = 0;;) {
		const char *text = w->parsed->text;

		const bool whole = next_line(w, &l);
		char c = l.len > 0 ? text[l.at] : '\n';
		if (c == '+' && l.len > KH_HEADER_MAX)
			return kh_walk_fail(w, "a '+' line of more than 64 MiB");
		if (c == '+' && whole)
			break;
		if (whole && (c == '@' || c == '>'))
			return kh_walk_fail(w, c == '@' ? "expected a sequence or '+', found '@'"
							: "expected a sequence or '+', found '>'");
		int rc = whole ? kh_walk_trim(w, &l)
			 : c == '+' || c == '@' || c == '>' ? KH_OK : judge_bases(w, rec, l);
		if (!whole)
			return rc ? rc : run_dry(w, rec, "before its '+' line");
		if (rc)
			return rc;
		rc = l.len > 0 ? kh_walk_bases(w, rec, &l) : KH_OK;
		if (rc)
			return rc;
		*n += l.len > 0;
		w->pos = l.next;
		w->line++;
	}
	if (memchr(w->parsed->text + l.at, '\r', l.len))
		return kh_walk_fail(w, "a carriage return inside the '+' line (lines end in LF or "
				       "CR LF)");
	w->pos = l.next;
	w->line++;
	return 1;
}

static int fastq_quality_line(kh_walk *w, const kh_line *l)
{
	const char *q = w->parsed->text + l->at;
	size_t good = w->scan->quality(q, l->len);
	char buf[16];

	if (good == l->len)
		return KH_OK;
	return kh_fail(w->err, KH_EFORMAT,
		       "%s:%llu: record %llu: expected a quality character "
		       "('!' to '~'), found %s, column %zu",
		       w->at->name, (ull)w->line, (ull)w->at->n_rec + 1,
		       kh_walk_show(q[good], buf), good + 1);
}

static int fastq_quality(kh_walk *w, const kh_record *rec, size_t n_lines)
{
	uint64_t n = 0;
	kh_line l;

	while (n < rec->len) {
		const bool whole = next_line(w, &l);
		int rc = kh_walk_trim(w, &l);

		if (!rc && l.len > rec->len + KH_HEADER_MAX)
			rc = kh_walk_fail(w, "a quality line more than 64 MiB longer than the "
					  "sequence");
		if (!whole)
			l.len = certain(w, &l);
		if (!rc)
			rc = fastq_quality_line(w, &l);
		if (rc)
			return rc;
		if (!whole)
			return run_dry(w, rec, "before its quality is complete");
		if (w->parsed->mask.quality && n + l.len <= rec->len)
			kh_mask_quality(w->parsed, rec->seq + n, w->parsed->text + l.at, l.len);
		n += l.len;
		if (n < rec->len && w->r->final && l.next == w->r->to) {
			w->pos = l.next;
			w->line++;
			return run_dry(w, rec, "before its quality is complete");
		}
		if (n > rec->len || (l.len > 0 && n < rec->len && n_lines == 1))
			return kh_fail(w->err, KH_EFORMAT,
				       "%s:%llu: record %llu: quality has %llu "
				       "characters, sequence %llu",
				       w->at->name, (ull)w->line, (ull)w->at->n_rec + 1,
				       (ull)n, (ull)rec->len);
		w->pos = l.next;
		w->line++;
	}
	return 1;
}

/* Takes the quality line of an empty sequence, which is empty, too, or missing. */
static int fastq_no_quality(kh_walk *w)
{
	kh_line l;

	if (!next_line(w, &l))
		return w->r->final;
	int rc = kh_walk_trim(w, &l);
	if (rc)
		return rc;
	if (l.len == 0) {
		w->pos = l.next;
		w->line++;
	}
	return 1;
}

/* Takes records of the usual form, many at a time. 1: some, 0: none, < 0. */
static int fastq_usual(kh_walk *w)
{
	kh_parsed *parsed = w->parsed;
	size_t n = parsed->n_rec;
	kh_char_range r = { w->pos, w->r->to, false };
	int rc = kh_parsed_reserve(parsed, r.to - r.from + 256, w->err);

	if (!rc)
		rc = KH_GROW(parsed->rec, parsed->cap_rec, n + 256, w->err);
	if (rc)
		return rc;
	w->pos = w->scan->fastq(parsed, &r);
	for (size_t i = n; i < parsed->n_rec && (parsed->mask.u || parsed->mask.quality); i++)
		kh_mask_usual(parsed, &parsed->rec[i]);
	n = parsed->n_rec - n;
	w->line += 4 * n;
	w->at->n_rec += n;
	kh_walk_position(w);
	return n > 0;
}

static int fastq(kh_walk *w)
{
	kh_record rec;
	size_t n_lines;
	int rc = fastq_usual(w);

	if (rc != 0)
		return rc;
	rc = kh_walk_header(w, &rec);

	if (rc > 0)
		rc = fastq_bases(w, &rec, &n_lines);
	if (rc > 0)
		rc = rec.len > 0 ? fastq_quality(w, &rec, n_lines) : fastq_no_quality(w);
	if (rc <= 0)
		return rc;
	rec.text_len = w->pos - rec.text;
	return take(w, &rec);
}

/* --- FASTA ----------------------------------------------------------------------- */
/* Takes whole lines of bases, as many as follow. */
static int fasta_usual(kh_walk *w, kh_record *rec)
{
	size_t from = w->pos, end, done;
	int rc = kh_walk_lines(w, rec, &done);

	for (end = w->pos; end > from && w->parsed->text[end - 1] == '\n'; end--)
		;
	if (end > from)                         /* the last line that is not empty */
		rec->text_len = end + 1 - rec->text;
	return rc;
}

static int fasta(kh_walk *w)
{
	kh_record rec;
	kh_line l;
	int rc = kh_walk_header(w, &rec);

	if (rc <= 0)
		return rc;
	for (;;) {
		rc = fasta_usual(w, &rec);
		if (rc)
			return rc;
		const char *text = w->parsed->text;
		char c = w->pos < w->r->to ? text[w->pos] : '\n';

		if (c == '>')
			return take(w, &rec);
		const bool whole = next_line(w, &l);
		if (!whole && w->r->final)
			return take(w, &rec);
		if (c == '@' || c == ';')
			return kh_walk_foreign(w, c);
		if (!whole)
			return judge_bases(w, &rec, l);
		rc = kh_walk_trim(w, &l);
		if (rc)
			return rc;
		rc = l.len > 0 ? kh_walk_bases(w, &rec, &l) : KH_OK;
		if (rc)
			return rc;
		w->pos = l.next;
		w->line++;
		if (l.len > 0)
			rec.text_len = w->pos - rec.text;
	}
}

int kh_reader_walk(kh_position *at, kh_parsed *parsed, const kh_char_range *r, size_t *stop,
		   kh_err *err)
{
	kh_walk w = kh_walk_start(at, parsed, r, err);
	const size_t first = parsed->n_rec;
	int rc;

	do {
		rc = find_record(&w);
		*stop = w.pos;
		if (rc > 0)
			rc = at->format == '@' ? fastq(&w) : fasta(&w);
	} while (rc > 0);
	if (at->format == '@')
		kh_reader_errors(parsed, first);
	return rc;
}

/* --- boundaries ------------------------------------------------------------------ */
/* The start of the line behind i, or r->to. */
static size_t line_behind(const char *text, const kh_char_range *r, size_t i)
{
	const char *nl = i < r->to ? memchr(text + i, '\n', r->to - i) : NULL;

	return nl ? (size_t)(nl - text) + 1 : r->to;
}

static size_t fastq_boundary(const char *text, const kh_char_range *r)
{
	size_t a = line_behind(text, r, r->from), b = line_behind(text, r, a), c;

	for (; b < r->to; a = b, b = c) {
		c = line_behind(text, r, b);
		if (c < r->to && text[a] == '@' && text[c] == '+')
			return a;
	}
	return r->to;
}

static size_t fasta_boundary(const char *text, const kh_char_range *r)
{
	for (size_t a = r->from; a < r->to; a++) {
		const char *mark = memchr(text + a, '>', r->to - a);

		if (!mark)
			break;
		a = (size_t)(mark - text);
		if (a > r->from && mark[-1] == '\n')
			return a;
	}
	return r->to;
}

size_t kh_reader_boundary(const char *text, const kh_char_range *r, char format)
{
	size_t at = r->to;

	if (format != '>')
		at = fastq_boundary(text, r);
	if (at == r->to && format != '@')
		at = fasta_boundary(text, r);
	return at;
}
