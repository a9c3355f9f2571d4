/*
 * reader_reference.h - the grammar of reader.h once more, slow and plain
 *
 * All lines first, then rule after rule over whole lines.  Gives the records in front
 * of the first error, and the line of that.  Shares no code with src/.
 */
#ifndef KH_READER_REFERENCE_H
#define KH_READER_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ref_line {
	const char *s;
	size_t n;               /* without the end of line */
	size_t full;            /* with it */
	size_t cut;             /* n less blanks at the end */
};

struct ref_record {
	const char *name;
	size_t name_len, id_len;
	char *seq;              /* upper case, T for U, N for what is ambiguous */
	size_t len, room;
	const char *text;
	size_t text_len;
	bool fastq;
};

struct ref {
	struct ref_line *line;
	size_t n_line;
	struct ref_record *rec;
	size_t n_rec;
	size_t bad_line;        /* 0: no error */
};

static inline void ref_lines(struct ref *r, const char *s, size_t n)
{
	r->line = calloc(n + 1, sizeof *r->line);
	for (size_t i = 0; i < n;) {
		struct ref_line *l = &r->line[r->n_line++];
		size_t e = i;

		while (e < n && s[e] != '\n')
			e++;
		l->s = s + i;
		l->n = e - i;
		l->full = e < n ? l->n + 1 : l->n;
		if (e < n && l->n > 0 && s[e - 1] == '\r')
			l->n--;
		if (r->n_line == 1 && l->n >= 3 && !memcmp(l->s, "\xef\xbb\xbf", 3)) {
			l->s += 3;
			l->n -= 3;
			l->full -= 3;
		}
		l->cut = l->n;
		while (l->cut > 0
		       && (l->s[l->cut - 1] == ' ' || l->s[l->cut - 1] == '\t'))
			l->cut--;
		i = e < n ? e + 1 : n;
	}
}

static bool ref_header_ok(const struct ref_line *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->s[i] == '\0' || l->s[i] == '\r')
			return false;
	return true;
}

/* Appends a sequence line; false: something that is no nucleotide. */
static bool ref_bases(struct ref_record *rec, const struct ref_line *l)
{
	if (rec->room < rec->len + l->cut)
		rec->seq = realloc(rec->seq, rec->room = 2 * (rec->len + l->cut));
	for (size_t i = 0; i < l->cut; i++) {
		char c = l->s[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		if (c == 'U')
			c = 'T';
		if (c == 0 || !strchr("ACGTRYSWKMBDHVNX-*.", c))
			return false;
		rec->seq[rec->len++] = strchr("ACGT", c) ? c : 'N';
	}
	return true;
}

static bool ref_quality_ok(const struct ref_line *l)
{
	for (size_t i = 0; i < l->cut; i++)
		if (l->s[i] < 33 || l->s[i] > 126)
			return false;
	return true;
}

static size_t ref_bad(struct ref *r, struct ref_record *rec, size_t line)
{
	free(rec->seq);
	r->bad_line = line + 1;
	return r->n_line;
}

static size_t ref_take(struct ref *r, const struct ref_record *rec, size_t next, size_t last)
{
	const struct ref_line *l = &r->line[last];

	r->rec[r->n_rec] = *rec;
	r->rec[r->n_rec++].text_len = (size_t)(l->s + l->full - rec->text);
	return next;
}

/* Each takes the record whose header is line i and gives the line behind it. */
static size_t ref_fasta(struct ref *r, struct ref_record *rec, size_t i)
{
	size_t last = i++;

	for (; i < r->n_line && (r->line[i].n == 0 || r->line[i].s[0] != '>'); i++) {
		const struct ref_line *l = &r->line[i];

		if (l->n > 0 && (l->s[0] == '@' || l->s[0] == ';'))
			return ref_bad(r, rec, i);
		if (!ref_bases(rec, l))
			return ref_bad(r, rec, i);
		if (l->cut > 0)
			last = i;
	}
	return ref_take(r, rec, i, last);
}

static size_t ref_fastq(struct ref *r, struct ref_record *rec, size_t i)
{
	size_t n_seq = 0, n_qual = 0, start = i++;

	for (; i < r->n_line && (r->line[i].n == 0 || r->line[i].s[0] != '+'); i++) {
		const struct ref_line *l = &r->line[i];

		if (l->n > 0 && (l->s[0] == '@' || l->s[0] == '>'))
			return ref_bad(r, rec, i);
		if (!ref_bases(rec, l))
			return ref_bad(r, rec, i);
		n_seq += l->cut > 0;
	}
	if (i == r->n_line)
		return ref_bad(r, rec, i - 1);
	if (memchr(r->line[i].s, '\r', r->line[i].n))
		return ref_bad(r, rec, i);
	start = i++;
	while (n_qual < rec->len && i < r->n_line) {
		const struct ref_line *l = &r->line[i];

		if (!ref_quality_ok(l))
			return ref_bad(r, rec, i);
		n_qual += l->cut;
		if (n_qual > rec->len)
			return ref_bad(r, rec, i);
		if (n_seq == 1 && l->cut > 0 && n_qual < rec->len)
			return ref_bad(r, rec, i);
		start = i++;
	}
	if (n_qual < rec->len)
		return ref_bad(r, rec, i - 1);
	if (rec->len == 0 && i < r->n_line && r->line[i].cut == 0)
		start = i++;
	return ref_take(r, rec, i, start);
}

static inline void ref_parse(struct ref *r, const char *s, size_t n)
{
	char format = 0;

	*r = (struct ref) { 0 };
	ref_lines(r, s, n);
	r->rec = calloc(r->n_line + 1, sizeof *r->rec);
	for (size_t i = 0; i < r->n_line;) {
		const struct ref_line *l = &r->line[i];
		struct ref_record rec = { .text = l->s, .name = l->s + 1 };

		if (l->cut == 0) {
			i++;
			continue;
		}
		if (format == 0 && (l->s[0] == '>' || l->s[0] == '@'))
			format = l->s[0];
		if (format != l->s[0] || !ref_header_ok(l)) {
			i = ref_bad(r, &rec, i);
			continue;
		}
		rec.seq = malloc(rec.room = 16);
		rec.fastq = format == '@';
		rec.name_len = l->n - 1;
		while (rec.name_len > 0 && (*rec.name == ' ' || *rec.name == '\t')) {
			rec.name++;
			rec.name_len--;
		}
		while (rec.id_len < rec.name_len && rec.name[rec.id_len] != ' '
		       && rec.name[rec.id_len] != '\t')
			rec.id_len++;
		i = format == '@' ? ref_fastq(r, &rec, i) : ref_fasta(r, &rec, i);
	}
}

/* A text of tests/corpus/reader with what EXPECT says of it. */
struct ref_case {
	char name[80], message[300];
	char text[4096];
	size_t n;
	unsigned n_rec;
};

/* Calls f of each. */
static inline unsigned ref_corpus(const char *srcdir, void (*f)(const struct ref_case *))
{
	char path[4096], line[500];
	unsigned n = 0;

	snprintf(path, sizeof path, "%s/tests/corpus/reader/EXPECT", srcdir);
	FILE *list = fopen(path, "r");
	for (; list && fgets(line, sizeof line, list); n++) {
		struct ref_case c = { .n = 0 };

		if (sscanf(line, "%79[^\t]\t%u\t%299[^\n]", c.name, &c.n_rec, c.message) < 2)
			abort();
		snprintf(path, sizeof path, "%s/tests/corpus/reader/%s", srcdir, c.name);
		FILE *text = fopen(path, "rb");
		if (!text)
			abort();
		c.n = fread(c.text, 1, sizeof c.text - 64, text);
		fclose(text);
		f(&c);
	}
	if (list)
		fclose(list);
	return n;
}

static inline void ref_free(struct ref *r)
{
	for (size_t i = 0; i < r->n_rec; i++)
		free(r->rec[i].seq);
	free(r->rec);
	free(r->line);
}

#endif
