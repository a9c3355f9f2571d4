/*
 * temporary.h - files under a temporary name, in the folder where they are to stay
 *
 * The name is `.NAME.RANDOM.tmp`, with RANDOM 16 hexadecimal digits that nobody can guess; of a
 * long NAME its beginning and a checksum, so that it fits the file system's limit.  The files
 * are locked while they are in use, so those that a killed run left behind are found and removed
 * by the next one that writes the same name.  Those of this process are in a list that a
 * signal's handler may go through, however many they are.
 */
#ifndef KH_IO_TEMPORARY_H
#define KH_IO_TEMPORARY_H

#include "base/msg.h"

enum { KH_NAME_MAX = 255 };             /* bytes of a name, on any file system of Linux */

typedef struct kh_temporary {
	int folder;             /* borrowed */
	char name[KH_NAME_MAX + 1];
	struct kh_listed *entry;        /* in the list; NULL: not there */
} kh_temporary;

/* A name of `base`, entered into the list; there is no such file. */
int kh_temporary_name(kh_temporary *t, int folder, const char *base, kh_err *err);
/* Strikes it off the list: it has its own name, or is removed. */
void kh_temporary_forget(kh_temporary *t);
/* Removes what killed runs left of `base`. */
void kh_temporary_remove_stale(int folder, const char *base);
/* That lists the folder, which would be done thousands of times for thousands of outputs in one
 * folder. Between these two calls it is done only once. No other thread may open outputs
 * meanwhile. */
void kh_temporary_list(const char *folder);
void kh_temporary_unlist(void);
/* Removes all that are in the list, when the process ends; may be called by a signal's handler. */
void kh_temporary_remove_all(void);

#endif
