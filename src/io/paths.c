#include <config.h>
#include "io/paths.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/mem.h"

enum { MAX_LINKS = 40 };                /* links that are followed, as many as in the kernel */
enum { PROC_MAGIC = 0x9fa0 };           /* file system type of /proc */

/* --- where a name leads ----------------------------------------------------------- */
const char *kh_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The folder of a path, "." if it names none; to be freed. */
static char *folder_of(const char *path)
{
	const char *base = kh_base_name(path);

	if (base == path)
		return strdup(".");
	return strndup(path, base == path + 1 ? 1 : (size_t)(base - path - 1));
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is this a name of a descriptor, below /proc?  *fd: of this process; -1: of another one. */
static bool names_descriptor(const char *path, const char *folder, int *fd)
{
	const char *base = kh_base_name(path);
	struct stat st, own, thread;
	struct statfs fs;
	char *end;

	if (!isdigit((unsigned char)*base) || statfs(folder, &fs) != 0 ||
	    fs.f_type != PROC_MAGIC || stat(folder, &st) != 0)
		return false;
	errno = 0;
	const unsigned long n = strtoul(base, &end, 10);
	if (*end || errno || n > INT_MAX)
		return false;
	const bool ours = (stat("/proc/self/fd", &own) == 0 && same_file(&st, &own)) ||
			  (stat("/proc/thread-self/fd", &thread) == 0 && same_file(&st, &thread));
	*fd = ours ? (int)n : -1;
	return true;
}

/* May somebody else have put the link there for us to follow?  In a folder like /tmp open(2)
 * follows none but those of ourselves and of the folder's owner, if the system is set up to
 * (fs.protected_symlinks); we never do. */
static bool is_planted(const kh_target *p, const char *folder)
{
	struct stat st;

	return stat(folder, &st) == 0 && (st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
	       p->st.st_uid != geteuid() && p->st.st_uid != st.st_uid;
}

/* Replaces p->path, a link in `folder`, by what it leads to. */
static int follow(kh_target *p, const char *folder, kh_err *err)
{
	char target[PATH_MAX], *next = NULL;
	ssize_t n;

	if (is_planted(p, folder))
		return kh_fail(err, KH_EIO, "%s: a link of another user in a folder that all can "
			       "write to: not followed", p->path);
	n = readlink(p->path, target, sizeof target - 1);
	if (n < 0)
		return kh_fail_errno(err, p->path);
	target[n] = 0;
	if (target[0] == '/')
		next = strdup(target);
	else if (asprintf(&next, "%s/%s", folder, target) < 0)
		next = NULL;
	if (!next)
		return kh_fail_nomem(err);
	free(p->path);
	p->path = next;
	return KH_OK;
}

/* One step: 1: a link was followed, 0: this is the place, < 0. */
static int step(kh_target *p, kh_err *err)
{
	char *folder = folder_of(p->path);
	int rc = folder ? 0 : kh_fail_nomem(err);

	if (!rc && names_descriptor(p->path, folder, &p->fd)) {
		p->there = (p->fd >= 0 ? fstat(p->fd, &p->st) : stat(p->path, &p->st)) == 0;
		p->foreign = p->fd < 0;
	} else if (!rc && lstat(p->path, &p->st) != 0) {
		p->folder_there = stat(folder, &p->st) == 0;
	} else if (!rc && S_ISLNK(p->st.st_mode)) {
		rc = follow(p, folder, err);
		rc = rc ? rc : 1;
	} else if (!rc) {
		p->there = true;
	}
	free(folder);
	return rc;
}

int kh_target_find(kh_target *p, const char *path, int standard, kh_err *err)
{
	int rc = 1;

	*p = (kh_target) { .fd = -1 };
	if (!*path)
		return kh_fail(err, KH_EUSAGE, "a file is named by an empty string");
	if (strcmp(path, "-") == 0) {
		p->fd = standard;
		p->there = fstat(standard, &p->st) == 0;
		return KH_OK;
	}
	p->path = strdup(path);
	if (!p->path)
		return kh_fail_nomem(err);
	for (int i = 0; i < MAX_LINKS && rc > 0; i++)
		rc = step(p, err);
	if (rc > 0)
		return kh_fail(err, KH_EIO, "%s: %s", path, strerror(ELOOP));
	if (!rc && p->fd >= 0) {
		free(p->path);
		p->path = NULL;
	}
	return rc;
}

void kh_target_clear(kh_target *p)
{
	free(p->path);
	*p = (kh_target) { .fd = -1 };
}

static bool same_place(const kh_target *a, const kh_target *b)
{
	if (a->there != b->there)
		return false;
	if (a->there)
		return same_file(&a->st, &b->st);
	if (a->folder_there && b->folder_there)
		return same_file(&a->st, &b->st) &&
		       strcmp(kh_base_name(a->path), kh_base_name(b->path)) == 0;
	return a->path && b->path && strcmp(a->path, b->path) == 0;
}

/* --- inputs ----------------------------------------------------------------------- */
bool kh_same_input(const char *a, const char *b)
{
	kh_target x, y = { .fd = -1 };
	bool same = !kh_target_find(&x, a, STDIN_FILENO, NULL) &&
		    !kh_target_find(&y, b, STDIN_FILENO, NULL) && same_place(&x, &y) &&
		    !(x.there && S_ISCHR(x.st.st_mode));

	kh_target_clear(&x);
	kh_target_clear(&y);
	return same;
}

bool kh_is_standard_input(const char *path)
{
	kh_target p;
	struct stat in;
	bool is = strcmp(path, "-") == 0;

	if (!is && !kh_target_find(&p, path, STDIN_FILENO, NULL)) {
		is = p.there && !S_ISREG(p.st.st_mode) && fstat(STDIN_FILENO, &in) == 0 &&
		     same_file(&p.st, &in) && strcmp(path, "/dev/null") != 0;
		kh_target_clear(&p);
	}
	return is;
}

/* --- all of a command ------------------------------------------------------------- */
struct entry {
	kh_target place;
	const char *path;               /* as it was named; borrowed */
	size_t next;                    /* 1 + number of another one of the same slot; 0: none */
};

/* Outputs may be thousands, so each is compared with those of its slot only. */
struct kh_paths {
	struct entry *v;                /* outputs; [0] is standard error */
	size_t n, cap;
	size_t *slot;                   /* 1 + number of the last entry of this hash; 0: none */
	size_t n_slots;                 /* a power of two, at least n */
};

/* Equal for what is the same place. */
static size_t slot_of(const kh_paths *p, const kh_target *t)
{
	const uint64_t file[2] = { t->st.st_dev, t->st.st_ino };
	const char *name = t->there ? "" : t->folder_there ? kh_base_name(t->path)
			   : t->path ? t->path : "";
	const uint64_t seed = t->there || t->folder_there ? XXH3_64bits(file, sizeof file) : 0;

	return XXH3_64bits_withSeed(name, strlen(name), seed) & (p->n_slots - 1);
}

static void put_into_slot(kh_paths *p, size_t i)
{
	size_t *slot = &p->slot[slot_of(p, &p->v[i].place)];

	p->v[i].next = *slot;
	*slot = i + 1;
}

static int more_slots(kh_paths *p, kh_err *err)
{
	const size_t n = p->n_slots ? 4 * p->n_slots : 64;
	size_t *slot = kh_array(n, sizeof *slot, err);

	if (!slot)
		return KH_ENOMEM;
	free(p->slot);
	p->slot = slot;
	p->n_slots = n;
	for (size_t i = 0; i < p->n; i++)
		put_into_slot(p, i);
	return KH_OK;
}

int kh_paths_new(kh_paths **out, kh_err *err)
{
	kh_paths *p = kh_array(1, sizeof *p, err);
	int rc = p ? kh_grow((void **)&p->v, &p->cap, 1, sizeof *p->v, err) : KH_ENOMEM;

	if (!rc)
		rc = more_slots(p, err);
	if (rc) {
		kh_paths_free(p);
		return rc;
	}
	p->v[0] = (struct entry) { .path = "standard error" };
	p->v[0].place.fd = STDERR_FILENO;
	p->v[0].place.there = fstat(STDERR_FILENO, &p->v[0].place.st) == 0;
	put_into_slot(p, 0);
	p->n = 1;
	*out = p;
	return KH_OK;
}

void kh_paths_free(kh_paths *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		kh_target_clear(&p->v[i].place);
	if (p) {
		free(p->v);
		free(p->slot);
	}
	free(p);
}

/* False for a character device or a socket: what is written to one is not read back. */
static bool has_content(const kh_target *p)
{
	return !p->there || !(S_ISCHR(p->st.st_mode) || S_ISSOCK(p->st.st_mode));
}

static const char *shown(const char *path, const char *standard)
{
	return strcmp(path, "-") == 0 ? standard : path;
}

/* True of an open descriptor that leads to the same file as standard error: that is on purpose,
 * as with `>log 2>&1`. */
static bool is_shared(const kh_paths *p, size_t i, const kh_target *with)
{
	return i == 0 && with->fd >= 0 && p->v[0].place.fd >= 0;
}

/* The number of the first output that is this place, or SIZE_MAX. */
static size_t first_same(const kh_paths *p, const kh_target *place, bool for_output)
{
	size_t first = SIZE_MAX;

	for (size_t i = p->slot[slot_of(p, place)]; i-- > 0; i = p->v[i].next)
		if (i < first && same_place(&p->v[i].place, place) &&
		    !(for_output && is_shared(p, i, place)))
			first = i;
	return first;
}

static int check_output(const kh_paths *p, const struct entry *e, kh_err *err)
{
	const size_t i = first_same(p, &e->place, true);

	if (i == SIZE_MAX)
		return KH_OK;
	if (i == 0)
		return kh_fail(err, KH_EUSAGE, "%s is both %s and an output", e->path,
			       p->v[0].path);
	return kh_fail(err, KH_EUSAGE, "%s is named for two outputs",
		       shown(e->path, "standard output"));
}

int kh_paths_output(kh_paths *p, const char *path, kh_err *err)
{
	struct entry e = { .path = path };
	int rc;

	if (!path)
		return KH_OK;
	rc = kh_target_find(&e.place, path, STDOUT_FILENO, err);
	if (!rc && has_content(&e.place) && !(e.place.there && S_ISFIFO(e.place.st.st_mode)))
		rc = check_output(p, &e, err);
	if (!rc)
		rc = kh_grow((void **)&p->v, &p->cap, p->n + 1, sizeof *p->v, err);
	if (!rc && p->n == p->n_slots)
		rc = more_slots(p, err);
	if (rc) {
		kh_target_clear(&e.place);
		return rc;
	}
	p->v[p->n] = e;
	put_into_slot(p, p->n++);
	return KH_OK;
}

int kh_paths_input(const kh_paths *p, const char *path, const char *what, kh_err *err)
{
	kh_target place;
	int rc = kh_target_find(&place, path, STDIN_FILENO, err);
	const size_t i = rc || !has_content(&place) ? SIZE_MAX : first_same(p, &place, false);

	if (i != SIZE_MAX)
		rc = kh_fail(err, KH_EUSAGE, "%s is both %s and %s",
			     shown(i > 0 ? p->v[i].path : path,
				   i > 0 ? "standard output" : "standard input"),
			     what, i > 0 ? "an output" : p->v[0].path);
	kh_target_clear(&place);
	return rc;
}
