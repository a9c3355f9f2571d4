/*
 * source.c - opens inputs, finds out their kind, and reads plain bytes
 */
#include <config.h>
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/system.h"
#include "io/source_in.h"
#include "io/together.h"

/* Inputs that are known by their first bytes and not read here. */
static const struct foreign {
	const char *magic;
	unsigned n;
	const char *what, *hint;
} foreign[] = {
	{ "\x28\xb5\x2f\xfd", 4, "zstd-compressed", "zstd -dc" },
	{ "BZh", 3, "bzip2-compressed", "bzip2 -dc" },
	{ "\xfd" "7zXZ\0", 6, "xz-compressed", "xz -dc" },
	{ "\x04\x22\x4d\x18", 4, "lz4-compressed", "lz4 -dc" },
	{ "LZIP", 4, "lzip-compressed", "lzip -dc" },
	{ "\x1f\x9d", 2, "compressed by compress(1)", "zcat" },
	{ "PK\x03\x04", 4, "a zip archive", "unzip -p" },
	{ "7z\xbc\xaf\x27\x1c", 6, "a 7z archive", "7z x -so" },
	{ "CRAM", 4, "a CRAM file", "samtools fastq" },
	{ "NCBI.sra", 8, "an SRA archive", "fasterq-dump -Z" },
	{ "\xff\xfe", 2, "UTF-16 text", "iconv -f UTF-16 -t UTF-8" },
	{ "\xfe\xff", 2, "UTF-16 text", "iconv -f UTF-16 -t UTF-8" },
};

static int refuse_foreign(const char *name, const uint8_t *p, size_t n, kh_err *err)
{
	for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
		const struct foreign *f = &foreign[i];

		if (n >= f->n && memcmp(p, f->magic, f->n) == 0)
			return kh_fail(err, KH_EFORMAT,
				       "%s: %s; only plain text and gzip are read: "
				       "convert it, or "
				       "pipe the output of '%s' into standard input, '-'",
				       name, f->what, f->hint);
	}
	return KH_OK;
}

static bool has_gz_name(const char *name)
{
	size_t n = strlen(name);

	return (n > 3 && strcasecmp(name + n - 3, ".gz") == 0)
	       || (n > 4 && strcasecmp(name + n - 4, ".bgz") == 0)
	       || (n > 5 && strcasecmp(name + n - 5, ".gzip") == 0);
}

static int refuse_empty_gz(const char *name, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT,
		       "%s: empty, but its name says gzip (an empty .gz file "
		       "is not a gzip file; it has 20 bytes or more)",
		       name);
}

/* Waits for something to read, also if the descriptor does not block. */
static ssize_t read_some(int fd, void *buf, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (n > 1 << 30)
		n = 1 << 30;
	for (;;) {
		ssize_t got = read(fd, buf, n);

		if (got >= 0 || (errno != EINTR && errno != EAGAIN))
			return got;
		if (errno == EAGAIN)
			poll(&p, 1, -1);
	}
}

/* The same of a source.  A stream that gives nothing is looked at now and then, for its run may
 * have been stopped: then -1, with ECANCELED. */
static ssize_t read_source(const kh_source *s, void *buf, size_t n)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	enum { LOOK_MS = 100 };

	while (s->m && poll(&p, 1, LOOK_MS) == 0)
		if (kh_monitor_stopped(s->m)) {
			errno = ECANCELED;
			return -1;
		}
	return read_some(s->fd, buf, n);
}

static int fail_read(const kh_source *s, kh_err *err)
{
	if (errno != ECANCELED)
		return kh_fail_errno(err, s->name);
	err->code = KH_ECANCEL;
	return KH_ECANCEL;
}

int kh_source_each(int fd, const char *name, kh_bytes_fn *fn, void *arg, kh_err *err)
{
	enum { N = 1 << 20 };
	char *buf = malloc(N);
	int rc = buf ? KH_OK : kh_fail_nomem(err);
	ssize_t n = 1;

	while (!rc && n != 0) {
		n = read_some(fd, buf, N);
		if (n < 0)
			rc = kh_fail_errno(err, name);
		else if (n > 0)
			rc = fn(arg, buf, (size_t)n, err);
	}
	free(buf);
	return rc;
}

static int fail_size(const kh_source *s, uint64_t size, kh_err *err)
{
	return kh_fail(err, KH_EIO, "%s: became %s while it was read: %llu of %llu bytes", s->name,
		       size < s->size ? "shorter" : "longer", (unsigned long long)size,
		       (unsigned long long)s->size);
}

int kh_source_check_end(const kh_source *s, kh_err *err)
{
	struct stat st;

	if (s->size == 0 || fstat(s->fd, &st) != 0 || (uint64_t)st.st_size == s->size)
		return KH_OK;
	return fail_size(s, (uint64_t)st.st_size, err);
}

int kh_source_check(const char *path, uint64_t *size, kh_err *err)
{
	uint8_t head[16];
	struct stat st;

	*size = 0;
	if (strcmp(path, "-") == 0)
		return KH_OK;
	if (stat(path, &st) < 0)
		return kh_fail_errno(err, path);
	if (S_ISDIR(st.st_mode))
		return kh_fail(err, KH_EIO, "%s: is a directory", path);
	if (!S_ISREG(st.st_mode))
		return access(path, R_OK) < 0 ? kh_fail_errno(err, path) : KH_OK;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kh_fail_errno(err, path);
	ssize_t n = read_some(fd, head, sizeof head);
	int rc = n < 0 ? kh_fail_errno(err, path) : KH_OK;
	close(fd);
	if (!rc && n == 0 && has_gz_name(path))
		rc = refuse_empty_gz(path, err);
	if (!rc)
		rc = refuse_foreign(path, head, (size_t)n, err);
	if (!rc)
		*size = (uint64_t)st.st_size;
	return rc;
}

static void add_to_digest(kh_source *s, const void *p, size_t n)
{
	if (s->digest.state)
		XXH3_64bits_update(s->digest.state, p, n);
	s->digest.n += n;
}

int64_t kh_source_raw(kh_source *s, void *buf, size_t n, kh_err *err)
{
	ssize_t got = (ssize_t)(s->back.end - s->back.pos);

	if (got > 0) {
		got = (size_t)got < n ? got : (ssize_t)n;
		memcpy(buf, s->back.p + s->back.pos, (size_t)got);
		s->back.pos += (size_t)got;
		if (s->back.pos == s->back.end) {
			free(s->back.p);
			s->back.p = NULL;
			s->back.pos = s->back.end = 0;
		}
	} else if (!s->fault.code) {
		got = read_source(s, buf, n);
		if (got < 0)
			fail_read(s, &s->fault);
		else
			add_to_digest(s, buf, (size_t)got);
	}
	if (s->fault.code && got <= 0) {
		if (err)
			*err = s->fault;
		return s->fault.code;
	}
	s->taken += (uint64_t)got;
	return got;
}

int kh_source_fill(kh_source *s, size_t need, kh_err *err)
{
	if (s->end - s->pos >= need || s->at_end)
		return KH_OK;
	size_t from = s->pos - KH_INFLATE_BACK;

	memmove(s->in, s->in + from, s->end - from);
	s->pos -= from;
	s->end -= from;
	while (s->end - s->pos < need) {
		int64_t got = kh_source_raw(s, s->in + s->end,
					    KH_INFLATE_BACK + KH_SOURCE_IN - s->end, err);
		if (got < 0)
			return (int)got;
		if (got == 0) {
			s->at_end = true;
			return s->taken > s->size ? kh_source_check_end(s, err) : KH_OK;
		}
		s->end += (size_t)got;
	}
	return KH_OK;
}

/* Will a read return within ms milliseconds?  A FIFO that has not been written to yet is
 * not at its end. */
static bool is_ready(const kh_source *s, int ms)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };

	return s->pos < s->end || s->at_end || s->late.code || poll(&p, 1, ms) != 0;
}

/* A writer that is at work fills a pipe again within that time. */
bool kh_source_dry(const kh_source *s)
{
	return s->in_step && !is_ready(s, 1);
}

static int open_fd(kh_source *s, const char *path, kh_err *err)
{
	struct stat st;

	if (strcmp(path, "-") == 0) {
		s->fd = STDIN_FILENO;
	} else {
		const int flag = s->in_step || s->m ? O_NONBLOCK : 0;

		s->fd = open(path, O_RDONLY | O_CLOEXEC | flag);
		if (s->fd < 0)
			return kh_fail_errno(err, path);
		s->own_fd = true;
		if (flag && fcntl(s->fd, F_SETFL, 0) < 0)
			return kh_fail_errno(err, path);
	}
	if (fstat(s->fd, &st) < 0)
		return kh_fail_errno(err, s->name);
	if (S_ISREG(st.st_mode))
		s->m = NULL;
	if (S_ISDIR(st.st_mode))
		return kh_fail(err, KH_EIO, "%s: is a directory", s->name);
	if (S_ISREG(st.st_mode) && lseek(s->fd, 0, SEEK_CUR) == 0)
		s->size = (uint64_t)st.st_size;
	return KH_OK;
}

static int sniff(kh_source *s, kh_err *err)
{
	int rc = kh_source_fill(s, 16, err);
	const uint8_t *p = s->in + s->pos;
	size_t n = s->end - s->pos;

	s->looked = true;
	if (rc)
		return rc;
	if (n == 0 && has_gz_name(s->name))
		return refuse_empty_gz(s->name, err);
	rc = refuse_foreign(s->name, p, n, err);
	if (rc)
		return rc;
	if (n > 0 && p[0] == 0x1f && (n == 1 || p[1] == 0x8b))
		return kh_gz_open(s, err);
	s->kind = s->size > 0 ? KH_SOURCE_RANGES : KH_SOURCE_STREAM;
	return KH_OK;
}

static int open_source(kh_source **out, const char *path, bool in_step, kh_monitor *m,
		       kh_err *err)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	kh_source *s = kh_array(1, sizeof *s, err);

	if (!s)
		return KH_ENOMEM;
	s->fd = -1;
	s->in_step = in_step;
	s->m = m;
	s->pos = s->end = KH_INFLATE_BACK;
	s->name = kh_array(strlen(name) + 1, 1, err);
	s->in = kh_array(KH_INFLATE_BACK + KH_SOURCE_IN, 1, err);
	int rc = s->name && s->in ? KH_OK : KH_ENOMEM;
	if (!rc) {
		memcpy(s->name, name, strlen(name) + 1);
		rc = open_fd(s, path, err);
	}
	if (!rc && !in_step)
		rc = sniff(s, err);
	if (rc) {
		kh_source_close(s);
		return rc;
	}
	*out = s;
	return KH_OK;
}

int kh_source_open(kh_source **s, const char *path, kh_err *err)
{
	return open_source(s, path, false, NULL, err);
}

int kh_source_open_for(kh_source **s, const char *path, kh_monitor *m, kh_err *err)
{
	return open_source(s, path, false, m, err);
}

int kh_source_open_in_step(kh_source **s, const char *path, kh_err *err)
{
	return open_source(s, path, true, NULL, err);
}

int kh_source_await(kh_source *s, int ms, kh_err *err)
{
	if (s->in_step && !is_ready(s, ms))
		return 0;
	int rc = s->looked ? KH_OK : sniff(s, err);
	return rc ? rc : 1;
}

void kh_source_close(kh_source *s)
{
	if (!s)
		return;
	kh_inflate_free(s->z);
	kh_pgzip_free(s->pgzip);
	kh_gzdev_free(s->device.g);
	XXH3_freeState(s->digest.state);
	free(s->back.p);
	if (s->own_fd)
		close(s->fd);
	free(s->in);
	free(s->name);
	free(s);
}

static int64_t read_plain(kh_source *s, uint8_t *buf, size_t n, kh_err *err)
{
	size_t got = s->end - s->pos < n ? s->end - s->pos : n;

	memcpy(buf, s->in + s->pos, got);
	s->pos += got;
	while (got < n && !s->at_end && !(got > 0 && kh_source_dry(s))) {
		ssize_t r = read_source(s, buf + got, n - got);

		if (r < 0) {
			fail_read(s, &s->late);
			break;
		}
		s->at_end = r == 0;
		add_to_digest(s, buf + got, (size_t)r);
		got += (size_t)r;
		s->taken += (uint64_t)r;
	}
	if (s->at_end && got < n && s->size > 0 && s->taken != s->size && !s->late.code)
		fail_size(s, s->taken, &s->late);
	if (got == 0 && s->late.code) {
		if (err)
			*err = s->late;
		return s->late.code;
	}
	return (int64_t)got;
}

int64_t kh_source_read(kh_source *s, void *buf, size_t n, kh_err *err)
{
	return s->gz ? kh_gz_read(s, buf, n, err) : read_plain(s, buf, n, err);
}

int kh_source_pread(const kh_source *s, void *buf, size_t n, uint64_t at, kh_err *err)
{
	const ssize_t got = kh_read_at(s->fd, buf, n, at);

	return got < 0           ? kh_fail_errno(err, s->name)
	       : (size_t)got < n ? fail_size(s, at + (uint64_t)got, err) : KH_OK;
}

enum kh_source_kind kh_source_kind(const kh_source *s)
{
	return s->together != KH_GZ_ALONE ? KH_SOURCE_GZIP : s->kind;
}

bool kh_source_is_gzip(const kh_source *s)
{
	return s->kind == KH_SOURCE_STREAM && s->gz;
}

int kh_source_make_digest(kh_source *s, kh_err *err)
{
	if (!(s->digest.state = XXH3_createState()))
		return kh_fail_nomem(err);
	XXH3_64bits_reset(s->digest.state);
	s->digest.n = 0;
	add_to_digest(s, s->in + s->pos, s->end - s->pos);
	return KH_OK;
}

bool kh_source_digest(const kh_source *s, uint64_t *digest)
{
	if (!s->digest.state || s->size == 0 || s->digest.n != s->size)
		return false;
	*digest = XXH3_64bits_digest(s->digest.state);
	return true;
}

uint64_t kh_source_size(const kh_source *s)
{
	return s->size;
}

uint64_t kh_source_taken(const kh_source *s)
{
	return s->taken;
}

void kh_source_allow_no_eof(kh_source *s)
{
	s->allow_no_eof = true;
}
