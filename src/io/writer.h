/*
 * writer.h - an output of bytes in order, plain or as BGZF, compressed by all threads
 *
 * What is put (in order, by one caller at a time) is cut into units of 65280 bytes, wherever the
 * calls end; each unit becomes one BGZF block. So the compressed file depends on these bytes alone,
 * not on batches or threads. Example: 100,000 bytes become blocks of 65,280 and 34,720 bytes, and
 * the empty block. Threads that call kh_writer_help compress units, which are written in order.
 */
#ifndef KH_IO_WRITER_H
#define KH_IO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"

typedef struct kh_writer kh_writer;

/* Bytes that are lent to writers.  When no unit uses them any more and the owner has ended the
 * loan, any thread calls back(arg). */
typedef struct kh_loan {
	_Atomic unsigned parts;
	void (*back)(void *arg);
	void *arg;
} kh_loan;

void kh_lend(kh_loan *l, void (*back)(void *arg), void *arg);
void kh_loan_end(kh_loan *l);

typedef struct kh_writer_options {
	const char *path;
	bool bgzf;
	bool digest;                    /* kh_writer_digest is wanted */
	unsigned threads;
} kh_writer_options;

/* The writer has a monitor of its own, as nothing else can fail meanwhile; */
int kh_writer_open(kh_writer **w, const kh_writer_options *o, kh_err *err);
/* or uses that of a run. */
int kh_writer_open_for(kh_writer **w, const kh_writer_options *o, kh_monitor *m, kh_err *err);
void kh_writer_close(kh_writer *w);             /* an uncommitted file is removed */
/* Copies the bytes; */
int kh_writer_put(kh_writer *w, const char *p, size_t n, kh_err *err);
/* or copies the ends alone: whole units in the middle are lent. */
int kh_writer_lend(kh_writer *w, const char *p, size_t n, kh_loan *loan, kh_err *err);
/* Compresses the units that wait; any thread, any time. */
int kh_writer_help(kh_writer *w);
/* After the last put, when no other thread uses the writer: writes the rest and the end; the file
 * is durable then, but not yet under its name. */
int kh_writer_finish(kh_writer *w, kh_err *err);
/* Finishes n writers (NULL among them is fine) that are not finished yet, and gives them their
 * names: to all, or to none. */
int kh_writer_commit(kh_writer *const *w, size_t n, kh_err *err);
/* The size and the XXH3 of the file of a finished writer; false: they are not known, or the output
 * is not a file with this alone (kh_out_whole). */
bool kh_writer_digest(const kh_writer *w, uint64_t *bytes, uint64_t *xxh3);

/* Are the bytes written as they are, not compressed? */
bool kh_writer_plain(const kh_writer *w);

/* Does a file of this name want compression: "*.gz", "*.bgz"? */
bool kh_writer_wants_bgzf(const char *path);

#endif
