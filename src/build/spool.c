/*
 * spool.c - an input that cannot be read twice, kept in a file beside the database
 *
 * Without -k the right k is known only when all bases have been read, so they may have to be read
 * again.  The file has a hidden name, and is removed when it is closed, or when a signal ends the
 * program.
 */
#include <config.h>
#include "build/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "io/source.h"

static int append(void *copy, const void *p, size_t n, kh_err *err)
{
	return kh_out_write(copy, p, n, err);
}

int kh_spool(kh_out **copy, const char *input, const char *db, kh_err *err)
{
	const bool standard = strcmp(input, "-") == 0;
	const int fd = standard ? STDIN_FILENO : open(input, O_RDONLY | O_CLOEXEC);
	const char *slash = strrchr(input, '/');
	char *name = NULL;
	int rc;

	if (fd < 0)
		return kh_fail_errno(err, input);
	if (asprintf(&name, "%s.%s", db, standard ? "stdin" : slash ? slash + 1 : input) < 0)
		name = NULL;
	rc = name ? kh_out_open(copy, name, err) : kh_fail_nomem(err);
	if (!rc && (rc = kh_source_each(fd, input, append, *copy, err))) {
		kh_out_close(*copy);
		*copy = NULL;
	}
	free(name);
	if (!standard)
		close(fd);
	return rc;
}
