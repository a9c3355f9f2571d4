/*
 * in_use.h - a database that is changed while it is mapped
 *
 * A mapped file shows at once what others write to it, and touching a page that was cut off raises
 * SIGBUS.  A run must neither crash nor give calls from a changed file.  So the file's identity is
 * compared before any output gets its name, and the handler of such a signal finds out here whether
 * a database is to blame.
 *
 * Where the time of change can be set back, the header is compared, too.  There a write behind the
 * header goes unnoticed if the times of the file are set back afterwards.
 */
#ifndef KH_DB_IN_USE_H
#define KH_DB_IN_USE_H

#include <sys/stat.h>
#include "base/msg.h"
#include "db/db.h"

/* Does the file lie on a file system of which it is known that each write sets the time of change,
 * and that no call sets it back?  On others, as by sshfs or of FAT, it is the time of the last
 * write, which can be set. */
bool kh_db_keeps_time_of_change(int fd);

/* Watches the file from now until kh_db_forget; `st` is its state when it was opened. */
void kh_db_watch(kh_db *db, const struct stat *st);
void kh_db_forget(const kh_db *db);

/* After an error (rc, with *err): if the file has been changed, that was the reason, so the
 * message is replaced by one that says so, and KH_EIO is returned. Otherwise returns rc. */
int kh_db_reason(const kh_db *db, int rc, kh_err *err);

/* What is wrong with a mapped database, if a fault at `address` comes from one; else NULL.
 * `path` is borrowed while the database is open.  Signal handlers may call this. */
const char *kh_db_fault(const void *address, const char **path);

#endif
