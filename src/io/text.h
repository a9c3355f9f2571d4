/*
 * text.h - an output of text in order, plain or as BGZF, compressed by all threads
 *
 * What is put in (in order, one caller at a time) is cut every 65280 bytes, wherever the calls
 * end; each unit becomes one BGZF block. So the compressed file depends on the text alone, not on
 * batches or threads. Units are compressed by the threads that call kh_text_help, and are written
 * in order.
 */
#ifndef KH_IO_TEXT_H
#define KH_IO_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"

typedef struct kh_text kh_text;

/* Bytes that are lent to texts.  When all parts have come back and the owner has ended the loan,
 * back(arg) is called, by any thread. */
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

/* m: the run's, or NULL: nothing else fails while the text is written. */
int kh_text_open(kh_text **t, const kh_text_options *o, kh_monitor *m, kh_err *err);
void kh_text_close(kh_text *t);                 /* uncommitted: nothing is left */
/* Whole units of p are lent, not copied, if `loan` is not NULL. */
int kh_text_put(kh_text *t, const char *p, size_t n, kh_loan *loan, kh_err *err);
/* Compresses what waits; any thread, any time. */
int kh_text_help(kh_text *t);
/* After the last put, when no other thread is in here: the rest and the end, durable, but not yet
 * under its name. */
int kh_text_finish(kh_text *t, kh_err *err);
/* The same of n texts (NULL among them is fine), if that was not done, and their names: all get
 * them, or none. */
int kh_text_commit(kh_text *const *t, size_t n, kh_err *err);
/* The size of the file of a finished text, and the XXH3 of its bytes; false: they are not known, or
 * the file is none that holds only this. */
bool kh_text_digest(const kh_text *t, uint64_t *bytes, uint64_t *xxh3);

/* Is it written as it is put in, and not compressed? */
bool kh_text_plain(const kh_text *t);

/* Does a file of this name want compression: "*.gz", "*.bgz"? */
bool kh_text_wants_bgzf(const char *path);

#endif
