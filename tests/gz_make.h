/* gz_make.h - gzip members and BGZF blocks for tests */
#ifndef KH_GZ_MAKE_H
#define KH_GZ_MAKE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

static inline void bytes_le(struct bytes *b, unsigned long v, unsigned n)
{
	for (; n > 0; n--, v >>= 8)
		bytes_add(b, &(unsigned char) { v & 255 }, 1);
}

static inline void add_deflated(struct bytes *b, const void *data, size_t n)
{
	z_stream z = { 0 };
	size_t room = n + n / 1000 + 64;
	unsigned char *out = malloc(room);

	deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
	z.next_in = (unsigned char *)(uintptr_t)data;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = (unsigned)room;
	deflate(&z, Z_FINISH);
	bytes_add(b, out, room - z.avail_out);
	deflateEnd(&z);
	free(out);
}

static inline void add_trailer(struct bytes *b, const void *data, size_t n)
{
	bytes_le(b, crc32(0, data ? data : (const void *)"", (unsigned)n), 4);
	bytes_le(b, n, 4);
}

static inline void add_gz(struct bytes *b, const void *data, size_t n)
{
	bytes_add(b, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	add_deflated(b, data, n);
	add_trailer(b, data, n);
}

static inline void add_bgzf_block(struct bytes *b, const void *data, size_t n)
{
	size_t at = b->n;

	bytes_add(b, "\x1f\x8b\x08\4\0\0\0\0\0\xff\6\0BC\2\0\0\0", 18);
	add_deflated(b, data, n);
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

static inline void add_bgzf_eof(struct bytes *b)
{
	add_bgzf_block(b, NULL, 0);
}

#endif
