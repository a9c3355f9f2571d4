/*
 * output.h - files that appear only when complete
 *
 * A regular output is written under a temporary name in its folder (temporary.h) and gets its
 * own by rename() in kh_out_commit(), after fsync() of the file; then the folder is synced.
 * Several outputs of a run get their names together, or none does.  A symbolic link stays, and its
 * target is replaced.  An existing name that is no regular file (/dev/null, a FIFO) is written in
 * place, and so are descriptors ("-", /dev/stdout, /dev/fd/N), from their present offset on.
 *
 * Example: x/calls.tsv is written as x/.calls.tsv.0123456789abcdef.tmp.  If the run fails, only
 * that file is removed, and an older x/calls.tsv stays as it was.
 */
#ifndef KH_IO_OUTPUT_H
#define KH_IO_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_out kh_out;

int kh_out_open(kh_out **o, const char *path, kh_err *err);
/* Removes the temporary file of an output that was not committed. NULL is fine. */
void kh_out_close(kh_out *o);
/* The name of the temporary file; of an output in place, its own. */
const char *kh_out_file(const kh_out *o);
/* Waits while a non-blocking descriptor has no room.  On a terminal, control characters other than
 * tab and line feed, and bytes that are not UTF-8, are escaped. */
int kh_out_write(kh_out *o, const void *p, size_t n, kh_err *err);
/* At an absolute offset; regular files only. */
int kh_out_pwrite(kh_out *o, const void *p, size_t n, uint64_t at, kh_err *err);
/* Makes sure that all bytes written so far are on disk (fsync). */
int kh_out_sync(kh_out *o, kh_err *err);
/* Makes n outputs (NULL among them is fine) durable and visible under their names: all, or, if that
 * fails, none. Then a file that had a name before has it again, or the message says that it could
 * not be kept.  Of two processes that each commit several outputs in one folder, one waits for the
 * other, so all files are of one run.  The last output gets its name last, and an older file of
 * that name loses it first: so if that name exists, even after a process was killed, its file is of
 * the same run as the others. */
int kh_out_commit(kh_out *const *o, size_t n, kh_err *err);
/* Is it a regular file that was empty when opened, and not opened to append? */
bool kh_out_whole(const kh_out *o);

/* For the handler of a signal that ends the process.  True: temporary files are removed, no output
 * is opened or committed any more, and the process is to end.  False: a thread is just making a
 * file or giving names; the process must go on, and the signal is raised again after that. */
bool kh_out_interrupt(int sig);

#endif
