/*
 * spread.h - text for one file, in order, that many threads copy there
 *
 * write() takes a file for itself, so one thread's copying limits a file.  Into a map any number
 * can copy.  Where files are kept in memory (tmpfs), that makes up for the faults of new pages from
 * a few threads on; on other file systems it does not.  Pages are reserved before they are mapped,
 * so a full file system is an error and not a signal.
 */
#ifndef KH_IO_SPREAD_H
#define KH_IO_SPREAD_H

#include "base/threads.h"
#include "io/output.h"
#include "io/text.h"

typedef struct kh_spread kh_spread;

/* For what comes behind the first `at` bytes of `out`, of which kh_out_maps is true; `pieces`: the
 * most that may wait. */
int kh_spread_new(kh_spread **s, kh_out *out, uint64_t at, size_t pieces, kh_monitor *m,
		  kh_err *err);
void kh_spread_free(kh_spread *s);
/* In order, one caller at a time. What is lent is copied later, by those who help. */
int kh_spread_put(kh_spread *s, const char *p, size_t n, kh_loan *loan, kh_err *err);
/* Copies what waits; any thread, any time. */
void kh_spread_help(kh_spread *s);
/* After the last put, when no other thread is in here: copies the rest, and ends the file there. */
int kh_spread_finish(kh_spread *s, kh_err *err);

#endif
