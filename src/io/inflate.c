#include <config.h>
#include "io/inflate.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif
#include "base/mem.h"

struct kh_inflate {
	z_stream zlib;
	bool zlib_up;
	bool stream_isal, block_libdeflate;
#ifdef HAVE_ISAL
	struct inflate_state *isal;
#endif
#ifdef HAVE_LIBDEFLATE
	struct libdeflate_decompressor *whole;
#endif
};

#if defined HAVE_ISAL || defined HAVE_LIBDEFLATE
/* Is this library wanted? Without KH_GZ each is used for what it does best. */
static bool wanted(const char *library)
{
	const char *s = getenv("KH_GZ");

	return !s || !*s || strcmp(s, library) == 0;
}
#endif

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

	if (!z)
		return KH_ENOMEM;
#ifdef HAVE_ISAL
	if (wanted("isal")) {
		z->isal = kh_array(1, sizeof *z->isal, err);
		if (!z->isal)
			goto fail;
		z->stream_isal = true;
	}
#endif
#ifdef HAVE_LIBDEFLATE
	if (wanted("libdeflate")) {
		z->whole = libdeflate_alloc_decompressor();
		if (!z->whole) {
			kh_fail_nomem(err);
			goto fail;
		}
		z->block_libdeflate = true;
	}
#endif
	if (!z->stream_isal && zlib_up(z, err))
		goto fail;
	kh_inflate_reset(z);
	*out = z;
	return KH_OK;
fail:
	kh_inflate_free(z);
	return KH_ENOMEM;
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
#ifdef HAVE_LIBDEFLATE
	if (z->whole)
		libdeflate_free_decompressor(z->whole);
#endif
	free(z);
}

void kh_inflate_reset(kh_inflate *z)
{
#ifdef HAVE_ISAL
	if (z->stream_isal) {
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
	if (z->stream_isal) {
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
	if (z->stream_isal)
		return some_isal(z->isal, io);
#endif
	return some_zlib(&z->zlib, io);
}

bool kh_inflate_block(kh_inflate *z, const kh_inflate_io *io)
{
#ifdef HAVE_LIBDEFLATE
	if (z->block_libdeflate) {
		size_t n_in, n_out;

		return libdeflate_deflate_decompress_ex(z->whole, io->in, io->n_in,
							io->out, io->n_out, &n_in, &n_out)
			       == LIBDEFLATE_SUCCESS
		       && n_in == io->n_in && n_out == io->n_out;
	}
#endif
	kh_inflate_io s = *io;
	uint8_t none;

	if (s.n_out == 0)
		s.out = &none;          /* zlib wants an address */
	kh_inflate_reset(z);
	return kh_inflate_some(z, &s) == KH_INFLATE_END && s.n_in == 0 && s.n_out == 0;
}

uint32_t kh_crc32(uint32_t crc, const void *p, size_t n)
{
#ifdef HAVE_LIBDEFLATE
	return libdeflate_crc32(crc, p, n);
#elif defined HAVE_ISAL
	return crc32_gzip_refl(crc, p, n);
#else
	const unsigned char *c = p;

	for (; n > 0; c += slice(n), n -= slice(n))
		crc = (uint32_t)crc32(crc, c, slice(n));
	return crc;
#endif
}
