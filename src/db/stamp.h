/*
 * stamp.h - remembers that a database was found to be sound, for the commands that open it next
 *
 * To check an index reads all of it, which for a short run is nearly all that there is to do. So
 * a file that was checked is remembered, in the user's cache: its device, inode, size, the times
 * of its last write and of its last change, and the checksum of its header, which has those of
 * all else. While all of these are the same, no program has written to the file by calls of the
 * system: each such call, and each that gives the name to another file, sets the time of change,
 * which no call can set back. Four changes go unnoticed: a disk that returns other bytes than were
 * written, a write to the device beneath the file system, a write through a shared map that was
 * open for writing before the check, and a clock that was set back to the very nanosecond.
 *
 * All that is so on the file systems that in_use.c names; files on others are not remembered.  A
 * stamp is good for 30 days.
 *
 * A file that was changed in the last seconds is not remembered, as two changes within a tick of
 * the clock have one time.  A stamp that other users could have written is not believed.
 */
#ifndef KH_DB_STAMP_H
#define KH_DB_STAMP_H

#include "db/db.h"

/* Was the open file checked before? *self: the checksum that its header had then. */
bool kh_stamp_find(const kh_db *db, uint64_t *self);
/* The index has been checked, all of it: remembers that, where it can be. */
void kh_stamp_write(const kh_db *db);

#endif
