#include <config.h>
#include "output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "mem.h"

struct kh_out {
	char *path;                     /* its final name, or what it is called in messages */
	char *tmp;                      /* NULL: written in place */
	int fd;
	bool regular;
	bool whole;                     /* regular, and there is nothing in it but what is written here */
	int slot;                       /* in pending[] */
};

/* --- temporary files that a signal must remove ------------------------------------ */
enum { N_PENDING = 64 };
static _Atomic(char *) pending[N_PENDING];

static void remove_pending(void)
{
	for (int i = 0; i < N_PENDING; i++) {
		char *p = atomic_load(&pending[i]);

		if (p)
			unlink(p);
	}
}

static void on_signal(int sig)
{
	remove_pending();
	signal(sig, SIG_DFL);
	raise(sig);
}

void kh_out_signals(void)
{
	static const int sig[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction sa = { .sa_handler = on_signal }, old;

	for (size_t i = 0; i < sizeof sig / sizeof sig[0]; i++) {
		sigaction(sig[i], NULL, &old);
		if (old.sa_handler != SIG_IGN || sig[i] == SIGPIPE)
			sigaction(sig[i], &sa, NULL);
	}
	signal(SIGXFSZ, SIG_IGN);       /* the write then fails with EFBIG */
}

static int pending_add(char *path)
{
	for (int i = 0; i < N_PENDING; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&pending[i], &none, path))
			return i;
	}
	return -1;
}

/* --- names -------------------------------------------------------------------------- */
/* The folder of a path, "." if it names none; to be freed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is `name` the temporary name of `base`: ".BASE.<digits>.tmp"? */
static bool is_tmp_of(const char *name, const char *base)
{
	size_t n = strlen(base);
	const char *p = name + 1 + n;

	if (name[0] != '.' || strncmp(name + 1, base, n) != 0 || *p++ != '.')
		return false;
	n = strspn(p, "0123456789");
	return n > 0 && strcmp(p + n, ".tmp") == 0;
}

/* Removes what killed runs left: temporary files of this name that nobody locks. */
static void remove_stale(const char *folder, const char *base)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		int fd;

		if (!is_tmp_of(e->d_name, base))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), e->d_name, 0);
		close(fd);
	}
	closedir(d);
}

bool kh_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(other, &b) == 0 && !S_ISCHR(a.st_mode) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* --- opening -------------------------------------------------------------------------- */
static int open_tmp(kh_out *o, kh_err *err)
{
	char *folder = folder_of(o->path);
	int n = folder ? asprintf(&o->tmp, "%s/.%s.%ld.tmp", folder, base_of(o->path),
				  (long)getpid()) : -1;

	if (n < 0) {
		o->tmp = NULL;
		free(folder);
		return kh_fail_nomem(err);
	}
	remove_stale(folder, base_of(o->path));
	free(folder);
	o->slot = pending_add(o->tmp);
	o->fd = open(o->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (o->fd < 0) {
		int rc = kh_fail(err, KH_EIO, "%s: cannot create a file beside it: %s", o->path,
				 strerror(errno));

		if (o->slot >= 0)
			atomic_store(&pending[o->slot], NULL);
		free(o->tmp);
		o->tmp = NULL;
		return rc;
	}
	flock(o->fd, LOCK_SH | LOCK_NB);
	return KH_OK;
}

static int open_in_place(kh_out *o, kh_err *err)
{
	o->fd = strcmp(o->path, "-") == 0 ? dup(STDOUT_FILENO)
					  : open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return kh_fail_errno(err, o->path);
	if (strcmp(o->path, "-") == 0) {
		free(o->path);
		o->path = strdup("standard output");
		if (!o->path)
			return kh_fail_nomem(err);
	}
	return KH_OK;
}

int kh_out_open(kh_out **out, const char *path, kh_err *err)
{
	kh_out *o = kh_array(1, sizeof *o, err);
	struct stat st;
	int rc;

	if (!o)
		return KH_ENOMEM;
	if (strcmp(path, "/dev/stdout") == 0)   /* to open it would cut off what others have written there */
		path = "-";
	o->fd = o->slot = -1;
	o->path = strdup(path);
	if (!o->path)
		rc = kh_fail_nomem(err);
	else if (strcmp(path, "-") == 0)
		rc = open_in_place(o, err);
	else if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		rc = kh_fail(err, KH_EIO, "%s: is a folder", path);
	else if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		rc = open_in_place(o, err);
	else
		rc = open_tmp(o, err);
	if (rc) {
		kh_out_close(o);
		return rc;
	}
	o->regular = fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode);
	o->whole = o->regular && st.st_size == 0 && !(fcntl(o->fd, F_GETFL) & O_APPEND);
	*out = o;
	return KH_OK;
}

const char *kh_out_file(const kh_out *o)
{
	return o->tmp ? o->tmp : o->path;
}

int kh_out_join(kh_out **out, const char *path, const char *file, kh_err *err)
{
	kh_out *o = kh_array(1, sizeof *o, err);
	bool in_place = strcmp(path, file) == 0;
	int rc = KH_OK;

	if (!o)
		return KH_ENOMEM;
	o->slot = -1;
	o->fd = open(file, O_WRONLY | O_CLOEXEC);
	o->path = strdup(path);
	if (o->fd < 0)
		rc = kh_fail(err, KH_EIO, "%s: what rank 0 has made is not to be seen here: %s "
			     "(the ranks need one file system)", file, strerror(errno));
	else if (!o->path || (!in_place && !(o->tmp = strdup(file))))
		rc = kh_fail_nomem(err);
	if (rc) {
		kh_out_close(o);
		return rc;
	}
	if (o->tmp)
		o->slot = pending_add(o->tmp);
	flock(o->fd, LOCK_SH | LOCK_NB);
	o->regular = true;
	*out = o;
	return KH_OK;
}

void kh_out_close(kh_out *o)
{
	if (!o)
		return;
	if (o->tmp)
		unlink(o->tmp);
	if (o->slot >= 0)
		atomic_store(&pending[o->slot], NULL);
	if (o->fd >= 0)
		close(o->fd);
	free(o->tmp);
	free(o->path);
	free(o);
}

/* --- writing ---------------------------------------------------------------------------- */
/* A closed pipe is no error to talk about: raise what write() kept from us. */
static int fail_write(const kh_out *o, kh_err *err)
{
	if (errno == EPIPE)
		raise(SIGPIPE);
	return kh_fail(err, KH_EIO, "%s: write failed: %s", o->path, strerror(errno));
}

int kh_out_write(kh_out *o, const void *p, size_t n, kh_err *err)
{
	const char *at = p;

	while (n > 0) {
		ssize_t w = write(o->fd, at, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fail_write(o, err);
		at += w;
		n -= (size_t)w;
	}
	return KH_OK;
}

int kh_out_pwrite(kh_out *o, const void *p, size_t n, uint64_t at, kh_err *err)
{
	const char *from = p;

	while (n > 0) {
		ssize_t w = pwrite(o->fd, from, n, (off_t)at);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return fail_write(o, err);
		from += w;
		at += (uint64_t)w;
		n -= (size_t)w;
	}
	return KH_OK;
}

int kh_out_seek(kh_out *o, uint64_t at, kh_err *err)
{
	return lseek(o->fd, (off_t)at, SEEK_SET) < 0 ? kh_fail_errno(err, o->path) : KH_OK;
}

bool kh_out_whole(const kh_out *o)
{
	return o->whole;
}

static int sync_folder(const kh_out *o, kh_err *err)
{
	char *folder = folder_of(o->path);
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = KH_OK;

	/* Some file systems cannot sync a folder: EINVAL says so. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
		rc = kh_fail(err, KH_EIO, "%s: cannot sync its folder: %s", o->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(folder);
	return rc;
}

int kh_out_sync(kh_out *o, kh_err *err)
{
	if (o->regular && fsync(o->fd) != 0)
		return kh_fail(err, KH_EIO, "%s: fsync failed: %s", o->path, strerror(errno));
	return KH_OK;
}

int kh_out_commit(kh_out *o, kh_err *err)
{
	int fd = o->fd, rc = kh_out_sync(o, err);

	if (rc)
		return rc;
	o->fd = -1;
	if (close(fd) != 0)
		return kh_fail(err, KH_EIO, "%s: close failed: %s", o->path, strerror(errno));
	if (!o->tmp)
		return KH_OK;
	if (rename(o->tmp, o->path) != 0)
		return kh_fail(err, KH_EIO, "%s: rename failed: %s", o->path, strerror(errno));
	if (o->slot >= 0)
		atomic_store(&pending[o->slot], NULL);
	o->slot = -1;
	free(o->tmp);
	o->tmp = NULL;
	return sync_folder(o, err);
}
