/*
 * temporary.h - files under a temporary name, in the folder where they are to stay
 *
 * The name is `.NAME.RANDOM.tmp`, with RANDOM 16 hexadecimal digits that nobody can guess; a long
 * NAME is cut and gets a checksum, so that it fits the file system's limit.  Files in use are
 * locked; so the next run that writes the same name finds the files that a killed run left, and
 * removes them.  The files of this process are in a list, of any length, that the handler of a
 * signal may go through.
 */
#ifndef KH_IO_TEMPORARY_H
#define KH_IO_TEMPORARY_H

#include "base/msg.h"

enum { KH_NAME_MAX = 255 };             /* bytes of a name, on any file system of Linux */

typedef struct kh_temporary {
	int folder;             /* borrowed */
	char name[KH_NAME_MAX + 1];
	struct kh_listed *entry;        /* its entry in the list, or NULL */
} kh_temporary;

/* Makes a temporary name for `base` and enters it into the list; the file does not exist yet. */
int kh_temporary_name(kh_temporary *t, int folder, const char *base, kh_err *err);
/* Strikes the file off the list, when it has its final name, or is removed. */
void kh_temporary_forget(kh_temporary *t);
/* Removes temporary files of `base` that killed runs left. */
void kh_temporary_remove_stale(int folder, const char *base);
/* Each such call lists the folder, but between these two calls the list is made only once, for
 * thousands of outputs in one folder. No other thread may open outputs meanwhile. */
void kh_temporary_list(const char *folder);
void kh_temporary_unlist(void);
/* Removes all files in the list, when the process ends; also in the handler of a signal. */
void kh_temporary_remove_all(void);

#endif
