#include <config.h>
#include "io/output_in.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/escape.h"
#include "base/mem.h"
#include "io/paths.h"

/* --- opening ---------------------------------------------------------------------- */
static int open_folder(kh_out *o, const char *path, kh_err *err)
{
	const char *base = kh_base_name(path);
	char *folder = base == path ? strdup(".") : strndup(path, (size_t)(base - path));

	o->base = strdup(base);
	if (!folder || !o->base) {
		free(folder);
		return kh_fail_nomem(err);
	}
	o->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	return o->folder >= 0 ? KH_OK
	       : kh_fail(err, KH_EIO, "%s: cannot open its folder: %s", o->path, strerror(errno));
}

/* Creates a file with a new name, locked so that no other process takes it for one left behind. */
static int create(kh_out *o)
{
	struct stat st;

	for (;;) {
		o->fd = openat(o->folder, o->tmp.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			       o->replaces ? 0600 : 0666);
		if (o->fd < 0)
			return -1;
		/* A process that clears up locks the file for a moment, and may remove it before
		 * the lock is ours. */
		while (flock(o->fd, LOCK_SH) != 0 && errno == EINTR)
			;
		if (fstat(o->fd, &st) == 0 && st.st_nlink > 0)
			return 0;
		close(o->fd);
	}
}

static int open_temporary(kh_out *o, const char *path, kh_err *err)
{
	int rc = open_folder(o, path, err);

	if (rc)
		return rc;
	kh_temporary_remove_stale(o->folder, o->base);
	rc = kh_temporary_name(&o->tmp, o->folder, o->base, err);
	if (rc) {
		o->tmp.name[0] = 0;
		return rc;
	}
	kh_out_begin_naming();
	const int created = create(o), why = errno;

	kh_out_end_naming();
	if (created != 0) {
		o->tmp.name[0] = 0;
		kh_temporary_forget(&o->tmp);
		return kh_fail(err, KH_EIO, "%s: cannot create a file beside it: %s", o->path,
			       strerror(why));
	}
	return kh_path_beside(&o->file, path, err, "%s", o->tmp.name);
}

static int open_place(kh_out *o, const char *path, const kh_path *p, kh_err *err)
{
	const int rc = kh_path_no_folder(p, path, err);

	if (rc)
		return rc;
	o->replaces = p->there;
	o->before = p->st;
	if (p->fd >= 0)
		o->fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	else if (p->there && !S_ISREG(p->st.st_mode))
		o->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	else
		return open_temporary(o, p->real, err);
	return o->fd >= 0 ? KH_OK : kh_fail_errno(err, o->path);
}

static kh_out *out_new(const char *path, kh_err *err)
{
	kh_out *o = kh_array(1, sizeof *o, err);

	if (!o)
		return NULL;
	o->fd = o->folder = -1;
	o->path = strdup(strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0
				 ? "standard output" : path);
	if (!o->path) {
		kh_fail_nomem(err);
		kh_out_close(o);
		return NULL;
	}
	return o;
}

int kh_out_open(kh_out **out, const char *path, kh_err *err)
{
	kh_out *o = out_new(path, err);
	struct stat st;
	kh_path place;
	int rc;

	if (!o)
		return KH_ENOMEM;
	rc = kh_path_find(&place, path, STDOUT_FILENO, err);
	if (!rc)
		rc = open_place(o, path, &place, err);
	kh_path_clear(&place);
	if (rc) {
		kh_out_close(o);
		return rc;
	}
	o->regular = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
	o->terminal = isatty(o->fd);
	o->whole = o->regular && st.st_size == 0 && !(fcntl(o->fd, F_GETFL) & O_APPEND);
	*out = o;
	return KH_OK;
}

const char *kh_out_file(const kh_out *o)
{
	return o->file ? o->file : o->path;
}

void kh_out_remove(kh_temporary *t)
{
	if (t->name[0])
		unlinkat(t->folder, t->name, 0);
	t->name[0] = 0;
	kh_temporary_forget(t);
}

void kh_out_close(kh_out *o)
{
	if (!o)
		return;
	kh_out_remove(&o->tmp);
	if (o->fd >= 0)
		close(o->fd);
	if (o->folder >= 0)
		close(o->folder);
	free(o->file);
	free(o->base);
	free(o->path);
	free(o);
}

/* --- writing ---------------------------------------------------------------------- */
/* After a write that failed: KH_OK if it is to be tried again. */
static int after_failure(const kh_out *o, kh_err *err)
{
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };

	if (errno == EINTR)
		return KH_OK;
	if (errno == EAGAIN) {
		poll(&p, 1, -1);
		return KH_OK;
	}
	/* not an error to report: the signal does what write() would have done */
	if (errno == EPIPE)
		raise(SIGPIPE);
	return kh_fail(err, KH_EIO, "%s: write failed: %s", o->path, strerror(errno));
}

static int write_raw(kh_out *o, const void *p, size_t n, kh_err *err)
{
	const char *at = p;

	while (n > 0) {
		ssize_t w = write(o->fd, at, n);
		int rc = w < 0 ? after_failure(o, err) : KH_OK;

		if (rc)
			return rc;
		at += w > 0 ? w : 0;
		n -= w > 0 ? (size_t)w : 0;
	}
	return KH_OK;
}

int kh_out_write(kh_out *o, const void *p, size_t n, kh_err *err)
{
	if (!o->terminal)
		return write_raw(o, p, n, err);
	char *shown = malloc(KH_ESCAPED * n + 1);
	int rc = shown ? write_raw(o, shown, kh_escape(shown, p, n, "\n\t"), err)
		       : kh_fail_nomem(err);

	free(shown);
	return rc;
}

int kh_out_pwrite(kh_out *o, const void *p, size_t n, uint64_t at, kh_err *err)
{
	const char *from = p;

	while (n > 0) {
		ssize_t w = pwrite(o->fd, from, n, (off_t)at);
		int rc = w < 0 ? after_failure(o, err) : KH_OK;

		if (rc)
			return rc;
		if (w < 0)
			continue;
		from += w;
		at += (uint64_t)w;
		n -= (size_t)w;
	}
	return KH_OK;
}

bool kh_out_whole(const kh_out *o)
{
	return o->whole;
}

int kh_out_sync(kh_out *o, kh_err *err)
{
	if (o->regular && fsync(o->fd) != 0)
		return kh_fail(err, KH_EIO, "%s: fsync failed: %s", o->path, strerror(errno));
	return KH_OK;
}
