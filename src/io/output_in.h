/* output_in.h - what the files of output.h share */
#ifndef KH_IO_OUTPUT_IN_H
#define KH_IO_OUTPUT_IN_H

#include <sys/stat.h>
#include "io/output.h"
#include "io/temporary.h"

struct kh_out {
	char *path;                     /* its name in messages */
	int fd;
	bool regular;
	bool terminal;                  /* what is written is escaped: escape.h */
	bool whole; /* a regular file that holds nothing but what is written here */
	/* unless it is written in place: */
	int folder;
	char *base;                     /* its final name in the folder; NULL: in place */
	kh_temporary tmp;               /* its name until then */
	char *file;                     /* the same with the folder, for other processes */
	bool replaces;                  /* a file with this owner and mode: */
	struct stat before;
	/* while it is being committed: */
	bool retired;                   /* that which had the final name has lost it */
	bool named;                     /* it has its final name */
	/* the file that had that name before; .name[0] != 0: there is one */
	kh_temporary old;
	bool lost;                      /* that file could not be kept */
};

/* Removes a temporary file, if it has a name. */
void kh_out_remove(kh_temporary *t);
/* commit.c: a signal that comes between these two is raised again after the last one, so a file
 * that is being made is not missed when temporary files are removed. */
void kh_out_begin_naming(void);
void kh_out_end_naming(void);

#endif
