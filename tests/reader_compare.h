/* reader_compare.h - a feed's records against the reference's */
#ifndef KH_READER_COMPARE_H
#define KH_READER_COMPARE_H

#include "feed_harness.h"
#include "reader_reference.h"

/* NULL, or what differs.  `path` is how messages name the input. */
static inline const char *compare(const struct got *g, const struct ref *r, const char *path)
{
	static char why[700];
	size_t n = r->n_rec;

	if (g->n_bad)
		return "a promise of feed.h is broken";
	if (!r->bad_line != !g->rc) {
		snprintf(why, sizeof why, "reference: line %zu; feed: %d %s", r->bad_line,
			 g->rc, g->rc ? g->err.msg : "");
		return why;
	}
	if (g->rc) {
		char want[80];

		snprintf(want, sizeof want, "%s:%zu: ", path, r->bad_line);
		if (strncmp(g->err.msg, want, strlen(want)) == 0)
			return NULL;
		snprintf(why, sizeof why, "expected %s..., got %s", want, g->err.msg);
		return why;
	}
	if (g->n != n) {
		snprintf(why, sizeof why, "%zu records, expected %zu", g->n, n);
		return why;
	}
	for (size_t i = 0; i < n; i++) {
		const struct got_record *a = &g->rec[i];
		const struct ref_record *b = &r->rec[i];
		const char *what = NULL;

		if (a->name_len != b->name_len || memcmp(a->name, b->name, b->name_len))
			what = "name";
		else if (a->id_len != b->id_len)
			what = "id";
		else if (a->len != b->len || memcmp(a->seq, b->seq, b->len))
			what = "bases";
		else if (!g->o.pieces && (a->text_len != b->text_len
					  || memcmp(a->text, b->text, b->text_len)))
			what = "text";
		else if (!a->fastq != !b->fastq)
			what = "format";
		if (what) {
			snprintf(why, sizeof why, "record %zu: %s differs", i + 1, what);
			return why;
		}
	}
	return NULL;
}

#endif
