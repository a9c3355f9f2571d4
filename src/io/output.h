/*
 * output.h - files that appear only when complete
 *
 * A regular output is written to `.NAME.PID.tmp` in its folder and gets its name by
 * rename() in kh_out_commit(), after fsync() of the file; then the folder is synced.
 * What is there already and is no regular file (/dev/null, a FIFO, a symbolic link), and
 * standard output ("-", "/dev/stdout"), is written in place.  Temporary files are locked while
 * they are in use, so those that a killed run left behind are found and removed by the
 * next run that writes the same name; SIGINT and SIGTERM remove them at once.
 */
#ifndef KH_OUTPUT_H
#define KH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "msg.h"

typedef struct kh_out kh_out;

int kh_out_open(kh_out **o, const char *path, kh_err *err);
/* The rest of an output that was not committed is removed. NULL is fine. */
void kh_out_close(kh_out *o);
/* What is written to meanwhile, for another process that joins in: kh_out_join opens it
 * there (at any offset: kh_out_pwrite), and removes it as the first would, but only who opened it commits. */
const char *kh_out_file(const kh_out *o);
int kh_out_join(kh_out **o, const char *path, const char *file, kh_err *err);
int kh_out_write(kh_out *o, const void *p, size_t n, kh_err *err);
/* At an absolute offset; regular files only. */
int kh_out_pwrite(kh_out *o, const void *p, size_t n, uint64_t at, kh_err *err);
/* Where kh_out_write goes on. */
int kh_out_seek(kh_out *o, uint64_t at, kh_err *err);
/* What has been written is on disk before anything written later. */
int kh_out_sync(kh_out *o, kh_err *err);
/* Makes everything durable and visible under its name. */
int kh_out_commit(kh_out *o, kh_err *err);
/* Is it a regular file, which was opened empty and not to be appended to? */
bool kh_out_whole(const kh_out *o);

/* Is `path` the same file or folder as `other` (device and inode)?  A terminal, or /dev/null, is
 * not: what is written to it is not what is read from it. */
bool kh_same_file(const char *path, const char *other);

/* Removes temporary files on SIGINT, SIGTERM, SIGHUP and raises the signal again; a
 * closed pipe ends the program quietly by SIGPIPE, after the same clean-up. */
void kh_out_signals(void);

#endif
