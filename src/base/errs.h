/*
 * errs.h - all that is wrong with an input, so that it can be told at once
 *
 * Who checks a table or a sheet goes on behind a bad row, and the user mends all rows in one go.
 */
#ifndef KH_BASE_ERRS_H
#define KH_BASE_ERRS_H

#include <stddef.h>
#include "base/msg.h"

enum { KH_ERRS_KEPT = 50 };             /* of more errors only the number is known */

typedef struct kh_errs {
	kh_err *v;                      /* the first ones, at most KH_ERRS_KEPT; owned */
	size_t n, cap;
	size_t found;
} kh_errs;

void kh_errs_clear(kh_errs *e);
/* Notes one more.  KH_OK: go on; KH_ENOMEM: there was no room for it, err says so. */
int kh_errs_add(kh_errs *e, const kh_err *one, kh_err *err);
/* The same of a message that is made here. */
int kh_errs_note(kh_errs *e, kh_err *err, int code, const char *fmt, ...) KH_PRINTF(4, 5);

#endif
