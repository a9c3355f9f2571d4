#include <config.h>
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/escape.h"
#include "base/mem.h"
#include "base/system.h"
#include "io/paths.h"
#include "io/reserve.h"
#include "io/temporary.h"

struct kh_out {
	char *path;                     /* its name in messages */
	int fd;
	bool regular;
	bool terminal;                  /* what is written is escaped: escape.h */
	kh_reserve reserve;
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
	if (create(o) != 0) {
		o->tmp.name[0] = 0;
		kh_temporary_forget(&o->tmp);
		return kh_fail(err, KH_EIO, "%s: cannot create a file beside it: %s", o->path,
			       strerror(errno));
	}
	if (asprintf(&o->file, "%.*s%s", (int)(kh_base_name(path) - path), path, o->tmp.name) < 0) {
		o->file = NULL;
		return kh_fail_nomem(err);
	}
	return KH_OK;
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

static void remove_temporary(kh_temporary *t)
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
	remove_temporary(&o->tmp);
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
	if (kh_reserve_fill(&o->reserve, o->fd, p, n))
		return KH_OK;
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

bool kh_out_reserve(kh_out *o, uint64_t bytes, unsigned threads)
{
	return o->whole && kh_reserve_take(&o->reserve, o->fd, bytes, threads);
}

int kh_out_sync(kh_out *o, kh_err *err)
{
	if (o->regular && fsync(o->fd) != 0)
		return kh_fail(err, KH_EIO, "%s: fsync failed: %s", o->path, strerror(errno));
	return KH_OK;
}

/* --- commit ----------------------------------------------------------------------- */
/* Gives the new file the owner, the group and the mode of that which it replaces: somebody may have
 * set them for a reason. */
static int keep_rights(const kh_out *o, kh_err *err)
{
	mode_t mode = o->before.st_mode & 0777;
	bool failed = false;
	struct stat st;

	/* only root can set another owner; another group, only its members */
	if (fstat(o->fd, &st) != 0)
		failed = true;
	else if (st.st_uid != o->before.st_uid && fchown(o->fd, o->before.st_uid, (gid_t)-1) != 0)
		failed = errno != EPERM;
	if (!failed && st.st_gid != o->before.st_gid &&
	    fchown(o->fd, (uid_t)-1, o->before.st_gid) != 0) {
		failed = errno != EPERM;
		mode &= ~(mode_t)070;   /* they are other people */
	}
	if (failed || fchmod(o->fd, mode) != 0)
		return kh_fail(err, KH_EIO, "%s: cannot give it the owner and mode of the file "
			       "that it replaces: %s", o->path, strerror(errno));
	return KH_OK;
}

/* Makes sure that everything is on disk. The file has to stay open, as it is locked; but some
 * file systems report only at a close that there was no room, so a second descriptor of it is
 * closed. */
static int finish(kh_out *o, kh_err *err)
{
	int rc = o->base && o->replaces ? keep_rights(o, err) : KH_OK, fd;

	if (!rc && !kh_reserve_end(&o->reserve, o->fd))
		rc = kh_fail(err, KH_EIO, "%s: ftruncate failed: %s", o->path, strerror(errno));
	if (!rc)
		rc = kh_out_sync(o, err);
	if (rc)
		return rc;
	fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0 || close(fd) != 0)
		return kh_fail(err, KH_EIO, "%s: close failed: %s", o->path, strerror(errno));
	return KH_OK;
}

/* Keeps the file that has the final name now under another one. */
static int keep_old(kh_out *o, kh_err *err)
{
	int rc = kh_temporary_name(&o->old, o->folder, o->base, err);

	if (rc) {
		o->old.name[0] = 0;
		return rc;
	}
	if (linkat(o->folder, o->base, o->folder, o->old.name, 0) == 0)
		return KH_OK;
	o->lost = errno != ENOENT;      /* not every file system can link */
	o->old.name[0] = 0;
	kh_temporary_forget(&o->old);
	return KH_OK;
}

static int publish(kh_out *o, kh_err *err)
{
	int rc = o->retired ? KH_OK : keep_old(o, err);

	if (rc)
		return rc;
	if (renameat(o->folder, o->tmp.name, o->folder, o->base) != 0)
		return kh_fail(err, KH_EIO, "%s: rename failed: %s", o->path, strerror(errno));
	o->named = true;
	o->tmp.name[0] = 0;
	kh_temporary_forget(&o->tmp);
	return KH_OK;
}

static int sync_folder(const kh_out *o, kh_err *err)
{
	/* Some file systems cannot sync a folder, and give EINVAL. */
	if (fsync(o->folder) != 0 && errno != EINVAL)
		return kh_fail(err, KH_EIO, "%s: cannot sync its folder: %s", o->path,
			       strerror(errno));
	return KH_OK;
}

/* Takes the final name from the file that has it now, if that can be given back. */
static int retire(kh_out *o, kh_err *err)
{
	int rc = keep_old(o, err);

	if (rc || !o->old.name[0])
		return rc;
	if (unlinkat(o->folder, o->base, 0) != 0)
		return kh_fail(err, KH_EIO, "%s: cannot be replaced: %s", o->path,
			       strerror(errno));
	o->retired = true;
	return sync_folder(o, err);
}

/* Gives the final name back to the file that had it before. */
static void take_back(kh_out *o, kh_err *err)
{
	char why[sizeof err->msg];

	if (o->named && o->lost && err) {
		memcpy(why, err->msg, sizeof why);
		kh_fail(err, err->code, "%.300s; %.150s has been replaced already", why, o->path);
	} else if ((o->named || o->retired) && o->old.name[0]) {
		renameat(o->folder, o->old.name, o->folder, o->base);
		o->old.name[0] = 0;
	} else if (o->named && !o->lost) {
		unlinkat(o->folder, o->base, 0);
	}
	o->named = o->retired = false;
	remove_temporary(&o->old);
}

/* How many threads give names. A signal that comes meanwhile is kept until none does. */
static atomic_int committing, kept_signal;

bool kh_out_interrupt(int sig)
{
	if (atomic_load(&committing)) {
		atomic_store(&kept_signal, sig);
		/* if the last thread has looked for it before that, nobody else would */
		if (atomic_load(&committing) || atomic_exchange(&kept_signal, 0) == 0)
			return false;
	}
	kh_temporary_remove_all();
	return true;
}

/* The process ends as soon as the threads that give names have done so: no other one begins. */
static void begin_commit(void)
{
	const struct timespec moment = { 0, 1000000 };

	while (atomic_load(&kept_signal))
		nanosleep(&moment, NULL);
	atomic_fetch_add(&committing, 1);
}

static void end_commit(void)
{
	int sig;

	if (atomic_fetch_sub(&committing, 1) == 1 && (sig = atomic_exchange(&kept_signal, 0)) != 0)
		raise(sig);
}

static int name_all(kh_out *const *o, size_t n, kh_err *err)
{
	size_t with = 0, last = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < n; i++)
		if (o[i] && o[i]->base) {
			with++;
			last = i;
		}
	if (with > 1)
		rc = retire(o[last], err);
	for (size_t i = 0; i < n && !rc; i++)
		if (o[i] && o[i]->base)
			rc = publish(o[i], err);
	for (size_t i = 0; i < n && !rc; i++)
		if (o[i] && o[i]->base)
			rc = sync_folder(o[i], err);
	for (size_t i = n; i-- > 0 && rc;)
		if (o[i] && o[i]->base)
			take_back(o[i], err);
	for (size_t i = 0; i < n && !rc; i++)
		if (o[i] && o[i]->base)
			remove_temporary(&o[i]->old);
	return rc;
}

int kh_out_commit(kh_out *const *o, size_t n, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++)
		if (o[i])
			rc = finish(o[i], err);
	if (rc)
		return rc;
	begin_commit();
	rc = name_all(o, n, err);
	end_commit();
	return rc;
}
