/*
 * text.h - an output of text in order, plain or as BGZF, compressed by all threads
 *
 * The text (put in order, by one caller at a time) is cut into units of 65280 bytes, wherever the
 * calls end; each unit becomes one BGZF block. So the compressed file depends on the text alone,
 * not on batches or threads. Example: 100,000 bytes become blocks of 65,280 and 34,720 bytes of
 * text, and the empty block. Threads that call kh_text_help compress units, which are written in
 * order.
 */
#ifndef KH_IO_TEXT_H
#define KH_IO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"

typedef struct kh_text kh_text;

/* Bytes that are lent to texts.  When no unit uses them any more and the owner has ended the loan,
 * any thread calls back(arg). */
typedef struct kh_loan {
	_Atomic unsigned parts;
	void (*back)(void *arg);
	void *arg;
} kh_loan;

void kh_lend(kh_loan *l, void (*back)(void *arg), void *arg);
void kh_loan_end(kh_loan *l);

typedef struct kh_text_options {
	const char *path;
	bool bgzf;
	bool digest;                    /* kh_text_digest is wanted */
	unsigned threads;
} kh_text_options;

/* m: of the run; NULL: the text has one of its own, as nothing else can fail meanwhile. */
int kh_text_open(kh_text **t, const kh_text_options *o, kh_monitor *m, kh_err *err);
void kh_text_close(kh_text *t);                 /* an uncommitted file is removed */
/* With a loan, whole units of p are lent, not copied. */
int kh_text_put(kh_text *t, const char *p, size_t n, kh_loan *loan, kh_err *err);
/* Compresses the units that wait; any thread, any time. */
int kh_text_help(kh_text *t);
/* After the last put, when no other thread uses the text: writes the rest and the end; the file is
 * durable then, but not yet under its name. */
int kh_text_finish(kh_text *t, kh_err *err);
/* Finishes n texts (NULL among them is fine) that are not finished yet, and gives them their names:
 * to all, or to none. */
int kh_text_commit(kh_text *const *t, size_t n, kh_err *err);
/* The size and the XXH3 of the file of a finished text; false: they are not known, or the output is
 * not a file with this text alone (kh_out_whole). */
bool kh_text_digest(const kh_text *t, uint64_t *bytes, uint64_t *xxh3);

/* Is the text written as it is, not compressed? */
bool kh_text_plain(const kh_text *t);

/* Does a file of this name want compression: "*.gz", "*.bgz"? */
bool kh_text_wants_bgzf(const char *path);

#endif
