/* commit.c - outputs get their names together */
#include <config.h>
#include "io/output_in.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/paths.h"

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
	kh_out_remove(&o->old);
}

/* --- signals ---------------------------------------------------------------------- */
/* How many threads make files or give names. A signal that comes meanwhile is kept until none
 * does. */
static atomic_int naming, kept_signal;

bool kh_out_interrupt(int sig)
{
	/* from here on no thread begins; the last one that had begun before raises it again */
	atomic_store(&kept_signal, sig);
	if (atomic_load(&naming))
		return false;
	kh_temporary_remove_all();
	return true;
}

void kh_out_end_naming(void)
{
	int sig;

	if (atomic_fetch_sub(&naming, 1) == 1 && (sig = atomic_exchange(&kept_signal, 0)) != 0)
		raise(sig);
}

void kh_out_begin_naming(void)
{
	const struct timespec moment = { 0, 1000000 };
	int sig;

	atomic_fetch_add(&naming, 1);
	while ((sig = atomic_load(&kept_signal)) != 0) {        /* the process ends */
		/* The signal stays kept: a handler may be removing files, so none is made now.  But
		 * one may have seen this thread here, and waits to be called again. */
		if (atomic_fetch_sub(&naming, 1) == 1)
			raise(sig);
		nanosleep(&moment, NULL);
		atomic_fetch_add(&naming, 1);
	}
}

/* --- one run at a time ------------------------------------------------------------ */
/* Of two runs that write into one folder each gives its names while the other waits, so what is
 * there is all of one.  All runs lock folders in the order of their numbers, and each once.  Not
 * every file system can lock a folder; then nothing is waited for. */
static int lock_folders(kh_out *const *o, size_t n, kh_err *err)
{
	kh_file_id *id = kh_array(n, sizeof *id, err);
	struct stat st;
	size_t m = 0;

	if (!id)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (o[i] && o[i]->base && fstat(o[i]->folder, &st) == 0)
			id[m++] = (kh_file_id) { .dev = st.st_dev, .ino = st.st_ino, .i = i };
	qsort(id, m, sizeof *id, kh_by_file_id);
	for (size_t k = 0; k < m && m > 1; k++)
		while ((k == 0 || !kh_is_same_file(&id[k], &id[k - 1])) &&
		       flock(o[id[k].i]->folder, LOCK_EX) != 0 && errno == EINTR)
			;
	free(id);
	return KH_OK;
}

/* --- names ------------------------------------------------------------------------ */
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
	for (size_t i = 0; i < n; i++)
		if (o[i] && o[i]->base)
			flock(o[i]->folder, LOCK_UN);
	for (size_t i = 0; i < n && !rc; i++)
		if (o[i] && o[i]->base)
			rc = sync_folder(o[i], err);
	for (size_t i = n; i-- > 0 && rc;)
		if (o[i] && o[i]->base)
			take_back(o[i], err);
	for (size_t i = 0; i < n && !rc; i++)
		if (o[i] && o[i]->base)
			kh_out_remove(&o[i]->old);
	return rc;
}

int kh_out_commit(kh_out *const *o, size_t n, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++)
		if (o[i])
			rc = finish(o[i], err);
	if (rc || (rc = lock_folders(o, n, err)))       /* a signal ends this wait */
		return rc;
	kh_out_begin_naming();
	rc = name_all(o, n, err);
	kh_out_end_naming();
	return rc;
}
