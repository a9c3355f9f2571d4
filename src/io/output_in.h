/* output_in.h - the output and its names, for output.c and commit.c */
#ifndef KH_IO_OUTPUT_IN_H
#define KH_IO_OUTPUT_IN_H

#include <sys/stat.h>
#include "io/output.h"
#include "io/temporary.h"

struct kh_out {
	char *path;                     /* its name in messages */
	int fd;
	bool regular;
	bool terminal;                  /* output is escaped: escape.h */
	bool whole; /* kh_out_whole */
	/* unless it is written in place: */
	int folder;
	char *base;                     /* its final name in the folder; NULL: in place */
	kh_temporary tmp;               /* its name until then */
	char *file;                     /* the same with the folder, for other processes */
	bool replaces;                  /* a file, whose owner and mode `before` has */
	struct stat before;
	/* while it is being committed: */
	bool retired;                   /* the older file has lost the final name */
	bool named;                     /* it has its final name */
	/* another name of the older file; .name[0] != 0: it has one */
	kh_temporary old;
	bool lost;                      /* the older file could not be kept */
};

/* Removes a temporary file, if it has a name. */
void kh_out_remove(kh_temporary *t);
/* commit.c: a signal that comes between these two calls is raised again after the second, so that
 * its handler removes the file that is just being made, too. */
void kh_out_begin_naming(void);
void kh_out_end_naming(void);

#endif
