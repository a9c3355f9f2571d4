/*
 * make.h - the translated seeds of references: section.h has the data flow
 */
#ifndef KH_TRANSLATED_MAKE_H
#define KH_TRANSLATED_MAKE_H

#include <stdbool.h>
#include <stddef.h>
#include "translated/section.h"

/* Masks of bases that are not ACGTU, 16 a word as the text has them, in chunks; a chunk without any
 * is NULL. */
#define KH_UNKNOWN_CHUNK 20             /* 2^20 words */

/* A sequence of the references. */
typedef struct kh_translated_target {
	uint32_t genus;                 /* its taxon, */
	uint32_t called;                /* and what its fragments are called: that, or above it; */
	uint32_t family;                /* its family, or 0 */
	uint64_t at, bases;             /* where it begins in the text, at a multiple of 16 */
	uint64_t db_at;                 /* and in that of the database */
	bool code_4;                    /* by genetic code 4, else 11 */
} kh_translated_target;

typedef struct kh_translated_input {
	/* 16 bases a word, aligned to 8, and KH_TEXT_BEHIND words behind the last target */
	const uint32_t *text;
	const uint16_t *const *unknown;
	const kh_translated_target *target;     /* by genus, ascending */
	size_t n_targets;
	uint64_t db_bases;              /* of the database's text, where places are */
	unsigned threads;
} kh_translated_input;

typedef struct kh_translated_made kh_translated_made;

/* The same bytes for any number of threads. */
int kh_translated_make(kh_translated_made **m, const kh_translated_input *in, kh_err *err);
void kh_translated_made_free(kh_translated_made *m);
/* Gives the bytes of the section, in their order, to `put`. */
int kh_translated_put(const kh_translated_made *m,
		      int (*put)(void *arg, const void *p, size_t n, kh_err *err), void *arg,
		      kh_err *err);

#endif
