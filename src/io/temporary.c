#include <config.h>
#include "io/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/mem.h"

enum { DIGITS = 16, AROUND = 1 + 1 + DIGITS + 4 };      /* ".", ".RANDOM", ".tmp" */

/* --- the list --------------------------------------------------------------------- */
enum { FREE, TAKEN, SET };

/* An entry is never freed, so that a handler may go through the list at any time.  What it removes
 * it takes, so that no thread sets that anew meanwhile. */
struct kh_listed {
	struct kh_listed *next;
	atomic_int state;
	int folder;
	char name[KH_NAME_MAX + 1];
};

static _Atomic(struct kh_listed *) list;

/* From one state to another; false: it has not the first one. */
static bool turn(struct kh_listed *e, int from, int to)
{
	return atomic_compare_exchange_strong(&e->state, &from, to);
}

void kh_temporary_remove_all(void)
{
	for (struct kh_listed *e = atomic_load(&list); e; e = e->next)
		if (turn(e, SET, TAKEN))
			unlinkat(e->folder, e->name, 0);
}

/* An entry that nobody uses, or a new one. */
static struct kh_listed *take_entry(kh_err *err)
{
	struct kh_listed *e;

	for (e = atomic_load(&list); e; e = e->next)
		if (turn(e, FREE, TAKEN))
			return e;
	e = kh_array(1, sizeof *e, err);
	if (!e)
		return NULL;
	e->state = TAKEN;
	e->next = atomic_load(&list);
	while (!atomic_compare_exchange_weak(&list, &e->next, e))
		;
	return e;
}

static int enter(kh_temporary *t, kh_err *err)
{
	t->entry = take_entry(err);
	if (!t->entry)
		return KH_ENOMEM;
	t->entry->folder = t->folder;
	memcpy(t->entry->name, t->name, sizeof t->name);
	atomic_store(&t->entry->state, SET);
	return KH_OK;
}

void kh_temporary_forget(kh_temporary *t)
{
	if (t->entry)
		turn(t->entry, SET, FREE);
	t->entry = NULL;
}

/* --- names ------------------------------------------------------------------------ */
/* What stands between the dots: `base`, or, if that is too long, its beginning and a checksum. */
static void stem_of(int folder, const char *base, char stem[KH_NAME_MAX + 1])
{
	const long limit = fpathconf(folder, _PC_NAME_MAX);
	const bool known = limit > 0 && limit < KH_NAME_MAX;
	const size_t most = (known ? (size_t)limit : KH_NAME_MAX) - AROUND;
	const size_t n = strlen(base);

	if (n <= most)
		memcpy(stem, base, n + 1);
	else
		snprintf(stem, KH_NAME_MAX + 1, "%.*s~%016" PRIx64, (int)(most - 17), base,
			 (uint64_t)XXH3_64bits(base, n));
}

int kh_temporary_name(kh_temporary *t, int folder, const char *base, kh_err *err)
{
	char stem[KH_NAME_MAX + 1];
	uint64_t random;
	ssize_t got;

	do
		got = getrandom(&random, sizeof random, 0);
	while (got < 0 && errno == EINTR);
	if (got != (ssize_t)sizeof random)
		return kh_fail_errno(err, "random bytes for the name of a temporary file");
	stem_of(folder, base, stem);
	t->folder = folder;
	snprintf(t->name, sizeof t->name, ".%.*s.%016" PRIx64 ".tmp", KH_NAME_MAX - AROUND, stem,
		 random);
	return enter(t, err);
}

/* --- what killed runs left -------------------------------------------------------- */
/* Is `name` a temporary name with this stem: ".STEM.<16 digits>.tmp"? */
static bool is_temporary_of(const char *name, const char *stem)
{
	size_t n = strlen(stem);
	const char *p = name + 1 + n;

	if (name[0] != '.' || strncmp(name + 1, stem, n) != 0 || *p++ != '.')
		return false;
	n = strspn(p, "0123456789abcdef");
	return n == DIGITS && strcmp(p + n, ".tmp") == 0;
}

/* fn is called with each name in the folder. */
static void each_name(int folder, void (*fn)(void *arg, const char *name), void *arg)
{
	const int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		fn(arg, e->d_name);
	closedir(d);
}

struct stale {
	int folder;
	char stem[KH_NAME_MAX + 1];
};

/* Of a file that is in use, somebody holds the lock. */
static void remove_if_stale(void *arg, const char *name)
{
	const struct stale *s = arg;

	if (!is_temporary_of(name, s->stem))
		return;
	const int fd = openat(s->folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(s->folder, name, 0);
	close(fd);
}

/* The folder that kh_temporary_list has looked at, and the hidden *.tmp in it. */
static struct {
	bool is_set;
	dev_t dev;
	ino_t ino;
	char **name;
	size_t n, cap;
} listed;

static void note(void *failed, const char *name)
{
	const size_t n = strlen(name);
	char *copy = NULL;

	if (name[0] != '.' || n < 4 || strcmp(name + n - 4, ".tmp") != 0)
		return;
	if (KH_GROW(listed.name, listed.cap, listed.n + 1, NULL) ||
	    !(copy = strdup(name)))
		*(bool *)failed = true;
	else
		listed.name[listed.n++] = copy;
}

void kh_temporary_list(const char *folder)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool failed = false;
	struct stat st;

	kh_temporary_unlist();
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0) {
		each_name(fd, note, &failed);
		listed.dev = st.st_dev;
		listed.ino = st.st_ino;
		listed.is_set = !failed;        /* else each output looks for itself */
	}
	close(fd);
}

void kh_temporary_unlist(void)
{
	for (size_t i = 0; i < listed.n; i++)
		free(listed.name[i]);
	free(listed.name);
	memset(&listed, 0, sizeof listed);
}

void kh_temporary_remove_stale(int folder, const char *base)
{
	struct stale s = { .folder = folder };
	struct stat st;

	stem_of(folder, base, s.stem);
	if (!listed.is_set || fstat(folder, &st) != 0 || st.st_dev != listed.dev ||
	    st.st_ino != listed.ino) {
		each_name(folder, remove_if_stale, &s);
		return;
	}
	for (size_t i = 0; i < listed.n; i++)
		remove_if_stale(&s, listed.name[i]);
}
