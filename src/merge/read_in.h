/*
 * read_in.h - what the readers of reports and of profiles share: how a row comes into the table
 *
 * read_rows.c has it.  read_report.c knows the rows of a report, read_profile.c those of a profile;
 * read.c tells them apart.
 */
#ifndef KH_MERGE_READ_IN_H
#define KH_MERGE_READ_IN_H

#include "merge/table.h"
#include "taxonomy/taxonomy.h"

/* What a profile begins with. */
#define KH_MERGE_PROFILE_HEAD "name\trank\tdetected\t"

typedef struct kh_merge_reader {
	kh_merge *m;
	kh_tsv tsv;
	uint32_t sample;
	kh_errs *errs;
	kh_err *err;
	bool sound;                     /* no row has been bad so far */
} kh_merge_reader;

/* What each row has, of a report or of a profile. */
typedef struct kh_merge_row {
	uint32_t taxid;
	kh_span code, name;
} kh_merge_row;

/* Notes that a row is bad; the tree is not checked any more. */
#define KH_MERGE_BAD(r, ...) \
	((r)->sound = false, kh_errs_note((r)->errs, (r)->err, KH_EFORMAT, __VA_ARGS__))

static inline unsigned long long kh_merge_line(const kh_merge_reader *r)
{
	return r->tsv.line;
}

int kh_merge_bad_column(kh_merge_reader *r, int column, kh_span found, const char *want);

/* The code of that letter, a static string; NULL: no rank has it.  sink.c */
const char *kh_merge_code(char letter);
/* Adds a taxon: of *t the name and the code are those of x. */
int kh_merge_add_taxon(kh_merge *m, const kh_merge_taxon *t, const kh_merge_row *x,
		       uint32_t *number, kh_err *err);
/* Finds or adds the taxon of a row; *number is UINT32_MAX if that was an error. */
int kh_merge_find_taxon(kh_merge_reader *r, const kh_merge_row *x, uint32_t parent,
			uint32_t *number);
int kh_merge_add_cell(kh_merge_reader *r, const kh_merge_cell *c);

/* Reading failed with *r->err: the other samples do not matter, as the input cannot be read. */
int kh_merge_unreadable(kh_merge_reader *r);

/* Each reads all of its input from r->tsv. */
int kh_merge_read_report(kh_merge_reader *r);
int kh_merge_read_profile(kh_merge_reader *r);

#endif
