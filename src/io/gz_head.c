/* gz_head.c - the header of a gzip member, and whether it is a BGZF block */
#include <config.h>
#include "io/source_in.h"

#include <string.h>

enum { GZ_HCRC = 2, GZ_EXTRA = 4, GZ_NAME = 8, GZ_COMMENT = 16, GZ_RESERVED = 0xe0 };

/* The BGZF field among the extra fields: 'B' 'C' 2 0 and the block's size less 1. */
static size_t bgzf_field(const uint8_t *p, size_t n)
{
	for (size_t len; n >= 4; p += len, n -= len) {
		len = 4 + kh_le16(p + 2);
		if (len > n)
			break;
		if (p[0] == 'B' && p[1] == 'C' && len == 6)
			return kh_le16(p + 4) + 1;
	}
	return 0;
}

/* Index behind the zero that ends a string at i; 0: it is not there. */
static size_t skip_string(const uint8_t *p, size_t i, size_t n)
{
	const uint8_t *z = i < n ? memchr(p + i, 0, n - i) : NULL;

	return z ? (size_t)(z - p) + 1 : 0;
}

struct kh_gz_head kh_gz_parse_head(const uint8_t *p, size_t n)
{
	struct kh_gz_head h = { 0, 0, NULL };
	size_t i = 10;

	if (n < 10)
		return h;
	unsigned flags = p[3];
	if (p[2] != 8 || flags & GZ_RESERVED) {
		h.bad = "its header has an unknown method or flag";
		return h;
	}
	if (flags & GZ_EXTRA) {
		if (n < 12 || n - 12 < kh_le16(p + 10))
			return h;
		h.bsize = bgzf_field(p + 12, kh_le16(p + 10));
		i = 12 + kh_le16(p + 10);
	}
	if (flags & GZ_NAME && (i = skip_string(p, i, n)) == 0)
		return h;
	if (flags & GZ_COMMENT && (i = skip_string(p, i, n)) == 0)
		return h;
	if (flags & GZ_HCRC) {
		if (n - i < 2)
			return h;
		if (kh_le16(p + i) != (kh_crc32(0, p, i) & 0xffff))
			h.bad = "its header has a wrong checksum";
		i += 2;
	}
	h.n = i;
	if (h.bsize && h.bsize < h.n + KH_GZ_TRAILER_BYTES)
		h.bad = "its BGZF size is impossible";
	return h;
}
