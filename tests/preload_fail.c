/*
 * preload_fail.c - makes the n-th call of a kind fail; to be named in LD_PRELOAD
 *
 *	KH_FAIL=KIND:N          KIND: alloc read write fsync rename close
 *	KH_FAIL_HOW=fail|short|eintr|kill       short: half of what was asked for; N: every call
 *	                        from there; kill: by SIGKILL, before the call
 *	KH_PAGES=N              the host has so many pages of memory
 *	KH_WHEN_MAPPED=COMMAND  is run when a file has just been mapped, once
 *	KH_WHEN_OPENED=N:NAME:COMMAND
 *	                        is run before the file NAME is opened for the N-th time
 *	KH_FS_TYPE=HEX          the type of all file systems, as fstatfs tells it; the time of a
 *	                        file's change is then that of its last write, in seconds
 *	KH_FAIL_COUNT=FILE      gets the number of calls of that kind, when the program ends
 *
 * Calls inside stdio of the C library are not intercepted, so messages are still printed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

enum kind { NONE, ALLOC, READ, WRITE, FSYNC, RENAME, CLOSE };
enum how { FAIL, SHORT, INTERRUPT, KILL };

static atomic_long calls;
static long at;                 /* 0: none */
static enum kind what;
static enum how how;

static void start(void)
{
	static const char *const name[] = {
		"", "alloc", "read", "write", "fsync", "rename", "close"
	};
	const char *fail = getenv("KH_FAIL"), *mode = getenv("KH_FAIL_HOW");
	const char *colon = fail ? strchr(fail, ':') : NULL;

	for (int i = ALLOC; colon && i <= CLOSE; i++)
		if (strlen(name[i]) == (size_t)(colon - fail) &&
		    strncmp(name[i], fail, strlen(name[i])) == 0)
			what = (enum kind)i;
	how = !mode || mode[0] == 'f' ? FAIL
	      : mode[0] == 's'        ? SHORT
	      : mode[0] == 'k'        ? KILL
				      : INTERRUPT;
	atomic_store(&calls, 0);
	at = colon ? atol(colon + 1) : 0;
}

/* Calls count from main() on, as those before it are made by libraries. */
typedef int main_fn(int argc, char **argv, char **env);
static main_fn *program;

static int counted_main(int argc, char **argv, char **env)
{
	start();
	return program(argc, argv, env);
}

typedef int start_fn(main_fn *m, int argc, char **argv, main_fn *init, void (*fini)(void),
		     void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(main_fn *m, int argc, char **argv, main_fn *init, void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end);

int __libc_start_main(main_fn *m, int argc, char **argv, main_fn *init, void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	void *next = dlsym(RTLD_NEXT, "__libc_start_main");
	start_fn *go;

	memcpy(&go, &next, sizeof go);
	program = m;
	return go(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

static void __attribute__((destructor)) stop(void)
{
	const char *path = getenv("KH_FAIL_COUNT");
	char text[32];
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	if (fd >= 0)
		syscall(SYS_write, fd, text,
			snprintf(text, sizeof text, "%ld\n", atomic_load(&calls)));
}

/* Is this the call that fails? Once calls are short, all later ones are, too. */
static int hit(enum kind k)
{
	if (k != what)
		return 0;
	long n = atomic_fetch_add(&calls, 1) + 1;
	if (how == KILL && n == at)
		kill(getpid(), SIGKILL);
	return at > 0 && (n == at || (how == SHORT && n > at));
}

static size_t less(enum kind k, size_t n, int *failed)
{
	*failed = 0;
	if (!hit(k))
		return n;
	if (how == SHORT)
		return n > 1 ? n / 2 : n;
	errno = how == INTERRUPT ? EINTR : k == WRITE ? ENOSPC : EIO;
	*failed = 1;
	return 0;
}

static void *no_memory(void) { return errno = ENOMEM, NULL; }
void *malloc(size_t n) { return hit(ALLOC) ? no_memory() : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return hit(ALLOC) ? no_memory() : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return hit(ALLOC) ? no_memory() : __libc_realloc(p, n); }

/* A call that reads or writes so many bytes, of a file at a place or not. */
#define BYTES(name, kind, number, POINTER, PLACE, ...) \
	ssize_t name(int fd, POINTER p, size_t n PLACE) \
	{ \
		int failed; \
		size_t m = less(kind, n, &failed); \
\
		return failed ? -1 : syscall(number, fd, p, m __VA_ARGS__); \
	}
#define AT , off_t off
BYTES(read, READ, SYS_read, void *, )
BYTES(pread, READ, SYS_pread64, void *, AT, , off)
BYTES(write, WRITE, SYS_write, const void *, )
BYTES(pwrite, WRITE, SYS_pwrite64, const void *, AT, , off)
ssize_t pread64(int fd, void *p, size_t n, off_t off) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *p, size_t n, off_t off) __attribute__((alias("pwrite")));

int fstatfs(int fd, struct statfs *s)
{
	const char *type = getenv("KH_FS_TYPE");
	const int rc = (int)syscall(SYS_fstatfs, fd, s);

	if (!rc && type)
		s->f_type = strtol(type, NULL, 16);
	return rc;
}

static int told(int rc, struct stat *st)
{
	if (!rc && getenv("KH_FS_TYPE")) {
		st->st_mtim.tv_nsec = 0;
		st->st_ctim = st->st_mtim;
	}
	return rc;
}

int fstat(int fd, struct stat *st)
{
	return told((int)syscall(SYS_fstat, fd, st), st);
}

int stat(const char *path, struct stat *st)
{
	return told((int)syscall(SYS_newfstatat, AT_FDCWD, path, st, 0), st);
}

/* Runs a command without this library, once: `of` says when. */
static void run_once(const char *of, const char *command)
{
	char text[4096];

	snprintf(text, sizeof text, "%s", command);
	unsetenv(of);
	unsetenv("LD_PRELOAD");
	if (system(text) != 0)
		abort();
}

static void when_opened(const char *path)
{
	static atomic_long opened;
	const char *when = getenv("KH_WHEN_OPENED");
	const char *name = when ? strchr(when, ':') + 1 : "", *command = strchr(name, ':');

	if (command && strlen(path) == (size_t)(command - name) &&
	    strncmp(path, name, strlen(path)) == 0 &&
	    atomic_fetch_add(&opened, 1) + 1 == atol(when))
		run_once("KH_WHEN_OPENED", command + 1);
}

int open(const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	when_opened(path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int fsync(int fd)
{
	return hit(FSYNC) ? (errno = EIO, -1) : (int)syscall(SYS_fsync, fd);
}

int renameat(int folder, const char *from, int to_folder, const char *to)
{
	return hit(RENAME) ? (errno = EIO, -1)
	       : (int)syscall(SYS_renameat2, folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int close(int fd)
{
	int rc = (int)syscall(SYS_close, fd);

	return hit(CLOSE) ? (errno = EIO, -1) : rc;
}

void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	void *map = (void *)syscall(SYS_mmap, at, n, prot, flags, fd, off);
	const char *command = fd >= 0 && (flags & MAP_SHARED) ? getenv("KH_WHEN_MAPPED") : NULL;

	if (command && map != MAP_FAILED)
		run_once("KH_WHEN_MAPPED", command);
	return map;
}

void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t off)
	__attribute__((alias("mmap")));

typedef long sysconf_fn(int name);

long sysconf(int name)
{
	const char *pages = getenv("KH_PAGES");
	void *next = dlsym(RTLD_NEXT, "sysconf");
	sysconf_fn *real;

	memcpy(&real, &next, sizeof real);
	return name == _SC_PHYS_PAGES && pages ? atol(pages) : real(name);
}
