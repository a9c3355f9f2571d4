#include <config.h>
#include "io/paths.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

enum { MAX_LINKS = 40 };                /* links that are followed, as many as in the kernel */

/* --- where a name leads ----------------------------------------------------------- */
bool kh_path_is_file(const char *path, struct stat *st)
{
	return stat(path, st) == 0 && S_ISREG(st->st_mode);
}

const char *kh_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The descriptor that a path names, or -1. */
static int descriptor(const char *path)
{
	static const char *const standard[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	static const char *const folder[] = { "/dev/fd/", "/proc/self/fd/" };

	for (int i = 0; i < 3; i++)
		if (strcmp(path, standard[i]) == 0)
			return i;
	for (int i = 0; i < 2; i++) {
		const char *n = path + strlen(folder[i]);
		char *end;

		if (strncmp(path, folder[i], strlen(folder[i])) != 0 || !isdigit((unsigned char)*n))
			continue;
		const unsigned long fd = strtoul(n, &end, 10);
		return *end || fd > INT_MAX ? -1 : (int)fd;
	}
	return -1;
}

int kh_path_beside(char **to, const char *path, kh_err *err, const char *fmt, ...)
{
	va_list ap;
	char *name;

	va_start(ap, fmt);
	const int n = vasprintf(&name, fmt, ap);
	va_end(ap);
	if (n < 0) {
		*to = NULL;
		return kh_fail_nomem(err);
	}
	const int rc = kh_print(to, err, "%.*s%s", (int)(kh_base_name(path) - path), path, name);
	free(name);
	return rc;
}

/* May somebody else have put the link there for us to follow?  In a folder like /tmp open(2)
 * follows none but those of ourselves and of the folder's owner, if the system is set up to
 * (fs.protected_symlinks); we never do. */
static bool is_planted(const char *path, const struct stat *link)
{
	char *folder;
	struct stat st;
	const bool is = !kh_path_beside(&folder, path, NULL, ".") && stat(folder, &st) == 0 &&
			(st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
			link->st_uid != geteuid() && link->st_uid != st.st_uid;

	free(folder);
	return is;
}

/* Replaces *at by what it leads to if it is a link.  1; 0: it is none; < 0. */
static int follow(char **at, kh_err *err)
{
	char target[PATH_MAX];
	struct stat st;

	if (lstat(*at, &st) != 0 || !S_ISLNK(st.st_mode))
		return 0;
	if (is_planted(*at, &st))
		return kh_fail(err, KH_EIO, "%s: a link of another user in a folder that all can "
			       "write to: not followed", *at);
	const ssize_t n = readlink(*at, target, sizeof target - 1);
	if (n < 0)
		return kh_fail_errno(err, *at);
	target[n] = 0;
	char *next;
	const int rc = target[0] == '/' ? kh_print(&next, err, "%s", target)
					: kh_path_beside(&next, *at, err, "%s", target);
	free(*at);
	*at = next;
	return rc ? rc : 1;
}

/* The path that open(2) would make a file at; its last part need not be there. */
static int resolve(char **real, const char *path, kh_err *err)
{
	char *at = strdup(path), *folder;
	int links = 0, rc = at ? 1 : kh_fail_nomem(err);

	while (rc == 1)
		if ((rc = follow(&at, err)) == 1 && ++links > MAX_LINKS)
			rc = kh_fail(err, KH_EIO, "%s: %s", path, strerror(ELOOP));
	*real = at;
	if (rc)
		return rc;
	if ((rc = kh_path_beside(&folder, at, err, ".")))
		return rc;
	char *all = realpath(folder, NULL);
	free(folder);
	if (!all)               /* the folder is not there either */
		return KH_OK;
	rc = kh_print(real, err, "%s/%s", all, kh_base_name(at));
	free(all);
	free(at);
	return rc;
}

int kh_path_find(kh_path *p, const char *path, int standard, kh_err *err)
{
	int rc;

	*p = (kh_path) { .fd = strcmp(path, "-") == 0 ? standard : descriptor(path) };
	if (!*path)
		return kh_fail(err, KH_EUSAGE, "a file is named by an empty string");
	if (p->fd < 0 && (rc = resolve(&p->real, path, err)))
		return rc;
	p->there = (p->fd >= 0 ? fstat(p->fd, &p->st) : stat(path, &p->st)) == 0;
	/* of other errors who opens it tells; but a temporary file has a shorter name than this */
	return p->there || p->fd >= 0 || errno != ENAMETOOLONG ? KH_OK : kh_fail_errno(err, path);
}

int kh_path_no_folder(const kh_path *p, const char *path, kh_err *err)
{
	const bool is = p->fd < 0 && (!*kh_base_name(path) ||
				      (p->there && S_ISDIR(p->st.st_mode)));

	return is ? kh_fail(err, KH_EIO, "%s: is a folder", path) : KH_OK;
}

void kh_path_clear(kh_path *p)
{
	free(p->real);
	*p = (kh_path) { .fd = -1 };
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int kh_by_file_id(const void *pa, const void *pb)
{
	const kh_file_id *a = pa, *b = pb;
	int c = compare(a->dev, b->dev);

	c = c ? c : compare(a->ino, b->ino);
	c = c ? c : compare(a->list, b->list);
	return c ? c : compare(a->i, b->i);
}

/* An order of what names lead to: 0 if that is the same. */
static int compare_paths(const void *pa, const void *pb)
{
	const kh_path *a = pa, *b = pb;
	int c = compare(a->there, b->there);

	if (!c && a->there && !(c = compare(a->st.st_dev, b->st.st_dev)))
		return compare(a->st.st_ino, b->st.st_ino);
	return c ? c : strcmp(a->real ? a->real : "", b->real ? b->real : "");
}

/* --- inputs ----------------------------------------------------------------------- */
bool kh_same_input(const char *a, const char *b)
{
	kh_path x, y = { .fd = -1 };
	bool same = !kh_path_find(&x, a, STDIN_FILENO, NULL) &&
		    !kh_path_find(&y, b, STDIN_FILENO, NULL) && compare_paths(&x, &y) == 0 &&
		    !(x.there && S_ISCHR(x.st.st_mode));

	kh_path_clear(&x);
	kh_path_clear(&y);
	return same;
}

/* --- all of a command ------------------------------------------------------------- */
typedef struct output {
	kh_path at;             /* the first member: they are compared by it */
	const char *name;       /* borrowed; NULL: standard error */
} output;

struct kh_paths {
	void *tree;             /* of output, by tsearch(3) */
};

static void output_free(void *arg)
{
	output *o = arg;

	kh_path_clear(&o->at);
	free(o);
}

int kh_paths_new(kh_paths **out, kh_err *err)
{
	kh_paths *p = kh_array(1, sizeof *p, err);
	output *o = p ? kh_array(1, sizeof *o, err) : NULL;

	if (o) {
		o->at.fd = STDERR_FILENO;
		o->at.there = fstat(STDERR_FILENO, &o->at.st) == 0;
	}
	if (!o || !tsearch(o, &p->tree, compare_paths)) {
		free(o);
		free(p);
		return kh_fail_nomem(err);
	}
	*out = p;
	return KH_OK;
}

void kh_paths_free(kh_paths *p)
{
	if (p)
		tdestroy(p->tree, output_free);
	free(p);
}

/* False for a character device or a socket: what is written to one is not read back. */
static bool has_content(const kh_path *p)
{
	return !p->there || !(S_ISCHR(p->st.st_mode) || S_ISSOCK(p->st.st_mode));
}

static const char *shown(const char *path, const char *standard)
{
	return strcmp(path, "-") == 0 ? standard : path;
}

/* Fails if there is another output at the same place. */
static int judge(const output *o, const output *other, kh_err *err)
{
	const bool pipe = o->at.there && S_ISFIFO(o->at.st.st_mode);

	if (o == other || pipe || !has_content(&o->at))
		return KH_OK;
	if (other->name)
		return kh_fail(err, KH_EUSAGE, "%s is named for two outputs",
			       shown(o->name, "standard output"));
	/* a descriptor that leads where standard error does is on purpose, as with `>log 2>&1` */
	return o->at.fd >= 0 ? KH_OK
	       : kh_fail(err, KH_EUSAGE, "%s is both standard error and an output", o->name);
}

int kh_paths_output(kh_paths *p, const char *path, kh_err *err)
{
	output *o = path ? kh_array(1, sizeof *o, err) : NULL;

	if (!o)
		return path ? KH_ENOMEM : KH_OK;
	o->name = path;
	int rc = kh_path_find(&o->at, path, STDOUT_FILENO, err);
	if (!rc)
		rc = kh_path_no_folder(&o->at, path, err);
	output *const *found = rc ? NULL : tsearch(o, &p->tree, compare_paths);
	if (!rc)
		rc = found ? judge(o, *found, err) : kh_fail_nomem(err);
	if (!found || *found != o)
		output_free(o);
	return rc;
}

int kh_paths_input(const kh_paths *p, const char *path, const char *what, kh_err *err)
{
	kh_path in;
	int rc = kh_path_find(&in, path, STDIN_FILENO, err);
	output *const *o = rc || !has_content(&in) ? NULL : tfind(&in, &p->tree, compare_paths);

	if (o && (*o)->name)
		rc = kh_fail(err, KH_EUSAGE, "%s is both %s and an output",
			     shown((*o)->name, "standard output"), what);
	else if (o)
		rc = kh_fail(err, KH_EUSAGE, "%s is both %s and standard error",
			     shown(path, "standard input"), what);
	kh_path_clear(&in);
	return rc;
}

int kh_paths_inputs(const kh_paths *p, const char *const *path, size_t n, const char *what,
		    kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++)
		rc = kh_paths_input(p, path[i], what, err);
	return rc;
}
