/* four_lines.h - what seqio/four_lines.h takes for plain records, and the grammar of reader.h */
#ifndef KH_TEST_FOUR_LINES_H
#define KH_TEST_FOUR_LINES_H

#include <stdlib.h>
#include <string.h>
#include "seqio/four_lines.h"
#include "seqio/reader.h"
#include "seqio/scan.h"

/* The lines of the record at `at`; false: there are not four. */
static inline bool four_lines_at(const char *text, size_t n, size_t at, kh_four_lines *r)
{
	r->at = (uint32_t)at;
	for (int i = 0; i < 4; i++) {
		const char *nl = at < n ? memchr(text + at, '\n', n - at) : NULL;

		if (!nl)
			return false;
		r->end[i] = (uint32_t)(nl - text);
		at = r->end[i] + 1;
	}
	return true;
}

static inline bool four_lines_plain(const char *text, const kh_four_lines *r)
{
	bool good = true, one = kh_four_lines_are_plain(text, r, 0, 1);

	for (uint32_t lane = 0; lane < 8; lane++)
		good = kh_four_lines_are_plain(text, r, lane, 8) && good;
	return good == one ? one : (abort(), false);
}

/* Are the words those of the parser? */
static inline bool four_lines_packed(const char *text, const kh_four_lines *r, const kh_parsed *p,
				     const kh_record *rec)
{
	const uint32_t len = kh_four_lines_bases(r);

	if (rec->text != r->at || rec->text + rec->text_len != r->end[3] + 1u || rec->len != len ||
	    rec->name != r->at + 1u || rec->id_len != kh_four_lines_name(text, r))
		return false;
	for (uint32_t w = 0; 32 * w < len; w++) {
		uint64_t bases;
		uint32_t amb;

		kh_chars_pack(text, r->end[0] + 1 + 32 * w, len - 32 * w < 32 ? len - 32 * w : 32,
			      &bases, &amb);
		if (bases != p->bases[rec->seq / 32 + w] || amb != p->amb[rec->seq / 32 + w])
			return false;
	}
	return true;
}

/* Compares both on a text that begins at a record: NULL, or what differs.  Text has KH_SCAN_PAD
 * bytes behind its end.  *n_plain: the records taken. */
static inline const char *four_lines_differ(const char *text, size_t n, size_t *n_plain)
{
	kh_position at = { .name = "x", .line = 1, .byte = 1, .format = '@' };
	kh_parsed all = { .text = text }, usual = { .text = text };
	const kh_char_range whole = { 0, n, false };
	const char *why = NULL;
	kh_four_lines r;
	size_t stop, pos = 0;
	kh_err err;

	kh_reader_walk(&at, &all, &whole, &stop, &err);
	usual.cap_rec = n + 1;
	usual.rec = malloc(usual.cap_rec * sizeof *usual.rec);
	if (!usual.rec || kh_parsed_reserve(&usual, n, &err))
		abort();
	kh_scan_plain()->fastq(&usual, &whole);
	for (*n_plain = 0; !why && four_lines_at(text, n, pos, &r) && four_lines_plain(text, &r);
	     ++*n_plain) {
		pos = r.end[3] + 1;
		if (*n_plain >= all.n_rec)
			why = "a record that is none";
		else if (!four_lines_packed(text, &r, &all, &all.rec[*n_plain]))
			why = "another record";
	}
	if (!why && *n_plain < usual.n_rec && !memchr(text, 'U', n) && !memchr(text, 'u', n))
		why = "a usual record that is not plain";
	kh_parsed_free(&all);
	kh_parsed_free(&usual);
	return why;
}

#endif
