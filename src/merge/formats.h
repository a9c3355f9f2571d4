/*
 * formats.h - a merged table as text that other programs read
 *
 * Each format is a function over samples [from, to) of a finished table: all samples in one text,
 * or a text for each. Krona has one sample in a text.
 */
#ifndef KH_MERGE_FORMATS_H
#define KH_MERGE_FORMATS_H

#include "io/writer.h"
#include "merge/table.h"
#include "page/page.h"
#include "run/format.h"

enum kh_merge_value {
	KH_MERGE_CLADE,                 /* reads in the clade */
	KH_MERGE_READS,                 /* reads called just that */
	KH_MERGE_SHARE,                 /* of the clade among all reads, 0 to 1 */
	KH_MERGE_ABUNDANCE,             /* of a profile */
	KH_MERGE_ALL,                   /* all that there are, a column each */
	KH_MERGE_USUAL                  /* the clade's reads, of profiles the abundance */
};

typedef struct kh_merge_options {
	enum kh_merge_value value;      /* of the table */
	const char *rank;               /* a code: rows of that rank only; NULL: all */
	const kh_page_fact *fact;       /* of a page, n_facts of them, or NULL */
	size_t n_facts;
	const struct kh_page_known *known;      /* of a page, or NULL: page/known.h */
	size_t from, to;                /* samples */
} kh_merge_options;

/* Text on its way to a file. After a failure, nothing more is put into it. */
typedef struct kh_merge_sink {
	kh_buf b;
	kh_writer *writer;
	int rc;                         /* what failed first, with its message in *err */
	kh_err *err;
} kh_merge_sink;

/* Passes the text on, or does so if there is much of it.  The first returns s->rc. */
int kh_merge_flush(kh_merge_sink *s);
void kh_merge_flush_much(kh_merge_sink *s);

/* Puts a format's text into s; s->rc says whether that failed. */
typedef void kh_merge_fn(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s);

typedef struct kh_merge_format {
	const char *name, *suffix;      /* suffix: of a sample's file */
	kh_merge_fn *write;
	bool one_sample;
	bool ranks;                     /* --rank has a meaning */
	bool profiles;                  /* may be made of profiles */
	bool controls;                  /* needs samples that are controls */
} kh_merge_format;

/* Fails if a table of these samples cannot have the format or the value. */
int kh_merge_format_check(const kh_merge_format *f, const kh_merge *m, const kh_merge_options *o,
			  kh_err *err);

/* Finds a format by its name, or NULL. */
const kh_merge_format *kh_merge_format_find(const char *name);

/* The code of a rank that a user names: "species", "s", "S1"; NULL if it is none.  Static, or
 * what was given. */
const char *kh_merge_rank(const char *name);

/* The samples side by side, as one page for a browser; and each as a profile of CAMI. */
kh_merge_fn kh_merge_page, kh_merge_cami;
/* The species of samples beside controls, a row each: blanks.h */
kh_merge_fn kh_merge_blanks_table;

#endif
