/* gz_make.h - gzip members and BGZF blocks for tests, and files without a name */
#ifndef KH_GZ_MAKE_H
#define KH_GZ_MAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

struct bytes {
	unsigned char *p;
	size_t n;
};

static inline void bytes_add(struct bytes *b, const void *p, size_t n)
{
	b->p = realloc(b->p, b->n + n + 1);
	if (n > 0)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

/* A file that has these bytes and no name; "/proc/self/fd/N". */
static inline int bytes_file(char path[32], const void *data, size_t n)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	for (size_t i = 0; i < n;) {
		ssize_t w = write(fd, (const char *)data + i, n - i);

		if (w <= 0)
			abort();
		i += (size_t)w;
	}
	lseek(fd, 0, SEEK_SET);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static inline void bytes_le(struct bytes *b, unsigned long v, unsigned n)
{
	for (; n > 0; n--, v >>= 8)
		bytes_add(b, &(unsigned char) { v & 255 }, 1);
}

/* How data are deflated. */
struct how {
	int level, strategy, memory;            /* of zlib */
	int window;                             /* bits of it; 0: 15 */
	int flush;
	size_t flush_every;                     /* as pigz does; 0: never */
	bool dressed;                           /* the header has all fields */
	const void *before;                     /* what matches may copy from, too */
	size_t n_before;
};

static inline void add_deflated(struct bytes *b, const void *data, size_t n, const struct how *h)
{
	const size_t room = 2 * n + 1000 + (h->flush_every ? n / h->flush_every * 32 : 0);
	const size_t step = h->flush_every ? h->flush_every : n;
	unsigned char *out = malloc(room);
	z_stream z = { .next_out = out, .avail_out = (unsigned)room };

	if (deflateInit2(&z, h->level, Z_DEFLATED, -(h->window ? h->window : 15), h->memory,
			 h->strategy) != Z_OK)
		abort();
	if (h->before)
		deflateSetDictionary(&z, h->before, (unsigned)h->n_before);
	for (size_t i = 0; i < n; i += step) {
		z.next_in = (unsigned char *)(uintptr_t)data + i;
		z.avail_in = (unsigned)(n - i < step ? n - i : step);
		deflate(&z, h->flush);
	}
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	bytes_add(b, out, room - z.avail_out);
	deflateEnd(&z);
	free(out);
}

static inline void add_trailer(struct bytes *b, const void *data, size_t n)
{
	bytes_le(b, crc32(0, data ? data : (const void *)"", (unsigned)n), 4);
	bytes_le(b, n, 4);
}

static inline void add_member(struct bytes *b, const void *data, size_t n, const struct how *h)
{
	const size_t at = b->n;

	if (h->dressed) {
		bytes_add(b, "\x1f\x8b\x08\x1e\0\0\0\0\0\3\5\0XY\1\0z", 17);
		bytes_add(b, "name\0a comment", 15);
		bytes_le(b, crc32(0, b->p + at, (unsigned)(b->n - at)) & 0xffff, 2);
	} else {
		bytes_add(b, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	}
	add_deflated(b, data, n, h);
	add_trailer(b, data, n);
}

static const struct how level_6 = { 6, Z_DEFAULT_STRATEGY, .memory = 8 };

static inline void add_gz(struct bytes *b, const void *data, size_t n)
{
	add_member(b, data, n, &level_6);
}

static inline void add_bgzf_block(struct bytes *b, const void *data, size_t n)
{
	size_t at = b->n;

	bytes_add(b, "\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2\0\0\0", 18);
	add_deflated(b, data, n, &level_6);
	add_trailer(b, data, n);
	b->p[at + 16] = (b->n - at - 1) & 255;
	b->p[at + 17] = (b->n - at - 1) >> 8;
}

/* In blocks of `step` bytes, with or without the empty one at the end. */
static inline void add_bgzf(struct bytes *b, const void *data, size_t n, size_t step)
{
	for (size_t i = 0; i < n; i += step)
		add_bgzf_block(b, (const char *)data + i, n - i < step ? n - i : step);
}

static inline void add_bgzf_eof(struct bytes *b) { add_bgzf_block(b, NULL, 0); }

#endif
