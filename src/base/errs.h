/*
 * errs.h - collects the errors of an input, so that all of them are reported at once
 *
 * A check of a table or a sheet goes on behind a bad row, so that the user can correct all rows
 * at once.
 */
#ifndef KH_BASE_ERRS_H
#define KH_BASE_ERRS_H

#include <stddef.h>
#include "base/msg.h"

enum { KH_ERRS_KEPT = 50 };             /* further errors are only counted */

typedef struct kh_errs {
	kh_err *v;                      /* the first ones, at most KH_ERRS_KEPT; owned */
	size_t n, cap;
	size_t found;
} kh_errs;

void kh_errs_clear(kh_errs *e);
/* Adds an error.  Returns KH_OK, or KH_ENOMEM with *err. */
int kh_errs_add(kh_errs *e, const kh_err *one, kh_err *err);
/* The same with a message that is made here. */
int kh_errs_note(kh_errs *e, kh_err *err, int code, const char *fmt, ...) KH_PRINTF(4, 5);

#endif
