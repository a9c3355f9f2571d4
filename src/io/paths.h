/*
 * paths.h - finds out whether names are of the same file
 *
 * A name stands for the file that would be opened: its device and inode, with all links followed,
 * or, if there is none yet, the path that it would have.  "-", /dev/stdout, /dev/fd/N and
 * /proc/self/fd/N stand for open descriptors.  A command checks all its outputs, then all its
 * inputs, before it reads any of them.
 */
#ifndef KH_IO_PATHS_H
#define KH_IO_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/msg.h"

/* The file of a name. */
typedef struct kh_path {
	int fd;                 /* the descriptor that it names, or -1 */
	char *real;             /* with all links followed; owned; NULL if fd >= 0 */
	bool there;             /* the file exists, and st is its status */
	struct stat st;
} kh_path;

/* `standard`: the descriptor that "-" stands for.  Clear it after use, also after a failure. */
int kh_path_find(kh_path *p, const char *path, int standard, kh_err *err);
void kh_path_clear(kh_path *p);
/* Fails if the name is a folder's, where no output can be. */
int kh_path_no_folder(const kh_path *p, const char *path, kh_err *err);
/* Is it a regular file?  *st becomes its status. */
bool kh_path_is_file(const char *path, struct stat *st);
/* The part behind the last slash. */
const char *kh_base_name(const char *path);
/* A name, by printf, in the folder of `path`; *to is to be freed, and NULL on failure. */
int kh_path_beside(char **to, const char *path, kh_err *err, const char *fmt, ...) KH_PRINTF(4, 5);

/* A file's device and inode, and its index in a list, or in one of several lists.  kh_by_file_id,
 * for qsort, orders by these members. */
typedef struct kh_file_id {
	dev_t dev;
	ino_t ino;
	size_t list, i;
} kh_file_id;
int kh_by_file_id(const void *a, const void *b);
static inline bool kh_is_same_file(const kh_file_id *a, const kh_file_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Are both inputs the same file or FIFO? */
bool kh_same_input(const char *a, const char *b);

typedef struct kh_paths kh_paths;

int kh_paths_new(kh_paths **p, kh_err *err);
void kh_paths_free(kh_paths *p);
/* Adds an output (NULL: none).  Fails if the name is empty or a folder's, or if its file is an
 * output already, or, unless a descriptor is named, the file of standard error.  Terminals,
 * /dev/null and pipes may be given several times. */
int kh_paths_output(kh_paths *p, const char *path, kh_err *err);
/* Fails if an output, or standard error, is this file; `what`: "an input", for the message. */
int kh_paths_input(const kh_paths *p, const char *path, const char *what, kh_err *err);
/* The same of n files. */
int kh_paths_inputs(const kh_paths *p, const char *const *path, size_t n, const char *what,
		    kh_err *err);

#endif
