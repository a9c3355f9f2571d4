#include <config.h>
#include "io/inflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif
#include "base/mem.h"

struct kh_inflate {
	struct libdeflate_decompressor *whole;
	z_stream zlib;
	bool zlib_up;
#ifdef HAVE_ISAL
	struct inflate_state *isal;     /* NULL: zlib reads streams */
#endif
};

static int zlib_up(kh_inflate *z, kh_err *err)
{
	if (inflateInit2(&z->zlib, -MAX_WBITS) != Z_OK)
		return kh_fail_nomem(err);
	z->zlib_up = true;
	return KH_OK;
}

int kh_inflate_new(kh_inflate **out, kh_err *err)
{
	kh_inflate *z = kh_array(1, sizeof *z, err);
	const char *only = getenv("KH_GZ");
	bool isal = false;
	int rc = KH_ENOMEM;

	if (!z)
		return KH_ENOMEM;
	if (!(z->whole = libdeflate_alloc_decompressor())) {
		kh_fail_nomem(err);
		goto out;
	}
#ifdef HAVE_ISAL
	isal = !only || strcmp(only, "zlib") != 0;
	if (isal && !(z->isal = kh_array(1, sizeof *z->isal, err)))
		goto out;
#endif
	(void)only;
	rc = isal ? KH_OK : zlib_up(z, err);
	if (!rc)
		kh_inflate_reset(z);
out:
	if (rc)
		kh_inflate_free(z);
	else
		*out = z;
	return rc;
}

void kh_inflate_free(kh_inflate *z)
{
	if (!z)
		return;
	if (z->zlib_up)
		inflateEnd(&z->zlib);
#ifdef HAVE_ISAL
	free(z->isal);
#endif
	if (z->whole)
		libdeflate_free_decompressor(z->whole);
	free(z);
}

void kh_inflate_reset(kh_inflate *z)
{
#ifdef HAVE_ISAL
	if (z->isal) {
		isal_inflate_init(z->isal);
		z->isal->crc_flag = ISAL_DEFLATE;
		return;
	}
#endif
	inflateReset(&z->zlib);
}

bool kh_inflate_from(kh_inflate *z, const kh_inflate_middle *m)
{
	const unsigned bits = m->byte >> (8 - m->n_bits);

#ifdef HAVE_ISAL
	if (z->isal) {
		z->isal->read_in = bits;
		z->isal->read_in_length = (int32_t)m->n_bits;
		return m->n == 0 || isal_inflate_set_dict(z->isal, (uint8_t *)(uintptr_t)m->window,
							  (uint32_t)m->n) == COMP_OK;
	}
#endif
	return (m->n == 0
		|| inflateSetDictionary(&z->zlib, m->window, (uInt)m->n) == Z_OK)
	       && inflatePrime(&z->zlib, (int)m->n_bits, (int)bits) == Z_OK;
}

/* The libraries take sizes of 32 bits. */
static unsigned slice(size_t n)
{
	return n > INT_MAX / 2 ? INT_MAX / 2 : (unsigned)n;
}

#ifdef HAVE_ISAL
static enum kh_inflate_state some_isal(struct inflate_state *z, kh_inflate_io *io)
{
	unsigned n_in = slice(io->n_in), n_out = slice(io->n_out);

	z->next_in = (uint8_t *)(uintptr_t)io->in;
	z->avail_in = n_in;
	z->next_out = io->out;
	z->avail_out = n_out;
	int rc = isal_inflate(z);
	io->in = z->next_in;
	io->n_in -= n_in - z->avail_in;
	io->out = z->next_out;
	io->n_out -= n_out - z->avail_out;
	if (rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT)
		return KH_INFLATE_BAD;
	if (z->block_state != ISAL_BLOCK_FINISH)
		return KH_INFLATE_MORE;
	/* bytes looked at, not used */
	unsigned back = (unsigned)z->read_in_length / 8;
	io->in -= back;
	io->n_in += back;
	return KH_INFLATE_END;
}
#endif

static enum kh_inflate_state some_zlib(z_stream *z, kh_inflate_io *io)
{
	unsigned n_in = slice(io->n_in), n_out = slice(io->n_out);

	z->next_in = (Bytef *)(uintptr_t)io->in;
	z->avail_in = n_in;
	z->next_out = io->out;
	z->avail_out = n_out;
	int rc = inflate(z, Z_NO_FLUSH);
	io->in = z->next_in;
	io->n_in -= n_in - z->avail_in;
	io->out = z->next_out;
	io->n_out -= n_out - z->avail_out;
	if (rc == Z_STREAM_END)
		return KH_INFLATE_END;
	return rc == Z_OK || rc == Z_BUF_ERROR ? KH_INFLATE_MORE : KH_INFLATE_BAD;
}

enum kh_inflate_state kh_inflate_some(kh_inflate *z, kh_inflate_io *io)
{
#ifdef HAVE_ISAL
	if (z->isal)
		return some_isal(z->isal, io);
#endif
	return some_zlib(&z->zlib, io);
}

bool kh_inflate_block(kh_inflate *z, const kh_inflate_io *io)
{
	size_t n_in, n_out;

	return libdeflate_deflate_decompress_ex(z->whole, io->in, io->n_in, io->out, io->n_out,
						&n_in, &n_out) == LIBDEFLATE_SUCCESS &&
	       n_in == io->n_in && n_out == io->n_out;
}

uint32_t kh_crc32(uint32_t crc, const void *p, size_t n)
{
	return libdeflate_crc32(crc, p, n);
}
