#include <config.h>
#include "build/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

static int copy_all(kh_out *copy, int fd, const char *input, kh_err *err)
{
	enum { N = 1 << 20 };
	char *buf = malloc(N);
	int rc = buf ? KH_OK : kh_fail_nomem(err);

	while (!rc) {
		const ssize_t n = read(fd, buf, N);

		if (n == 0)
			break;
		if (n > 0)
			rc = kh_out_write(copy, buf, (size_t)n, err);
		else if (errno != EINTR)
			rc = kh_fail_errno(err, input);
	}
	free(buf);
	return rc;
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
	if (!rc)
		rc = copy_all(*copy, fd, input, err);
	free(name);
	if (!standard)
		close(fd);
	return rc;
}
