#include <config.h>
#include "io/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/system.h"
#include "io/paths.h"

int kh_spill_open(kh_spill *s, const char *beside, kh_err *err)
{
	char *name;

	if (kh_path_beside(&name, beside, err, "."))
		return KH_ENOMEM;
	s->fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(name);
	if (s->fd >= 0)
		return KH_OK;
	/* not every file system can do that: then it has a name for a moment */
	if (kh_path_beside(&name, beside, err, ".kmerhash-spill.XXXXXX"))
		return KH_ENOMEM;
	s->fd = mkostemp(name, O_CLOEXEC);
	if (s->fd < 0)
		kh_fail(err, KH_EIO, "%s: cannot create a temporary file: %s", name,
			strerror(errno));
	else
		unlink(name);
	free(name);
	return s->fd < 0 ? KH_EIO : KH_OK;
}

void kh_spill_close(kh_spill *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static int failed(const kh_spill *s, const char *call, ssize_t got, kh_err *err)
{
	return kh_fail(err, KH_EIO, "temporary file of %s: %s failed: %s", s->what, call,
		       got < 0 ? strerror(errno) : "it is cut");
}

int kh_spill_write(const kh_spill *s, const void *p, size_t n, uint64_t at, kh_err *err)
{
	const char *c = p;

	while (n > 0) {
		const ssize_t m = pwrite(s->fd, c, n, (off_t)at);

		if (m < 0 && errno == EINTR)
			continue;
		if (m <= 0)
			return failed(s, "write", m, err);
		c += m;
		n -= (size_t)m;
		at += (uint64_t)m;
	}
	return KH_OK;
}

int kh_spill_read(const kh_spill *s, void *p, size_t n, uint64_t at, kh_err *err)
{
	const ssize_t got = kh_read_at(s->fd, p, n, at);

	return got == (ssize_t)n ? KH_OK : failed(s, "read", got, err);
}
