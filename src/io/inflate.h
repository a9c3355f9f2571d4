/*
 * inflate.h - raw deflate and CRC-32, by libraries
 *
 * source_gz.c reads gzip headers and trailers, so the libraries only inflate, and cannot differ in
 * the headers that they accept.  libdeflate is the fastest for whole blocks; ISA-L, if it is built
 * in, or else zlib, inflates streams.  They agree on what is damaged, but for hand-made data with
 * incomplete Huffman tables: zlib refuses these, the others may accept them if the CRC is right.
 * With KH_GZ=zlib in the environment zlib inflates all streams (tests).
 */
#ifndef KH_IO_INFLATE_H
#define KH_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* So many bytes in front of `in` must stay readable and unchanged between calls: the library may
 * look ahead, and gives the bytes that it did not use back at the end. */
enum { KH_INFLATE_BACK = 8 };

typedef struct kh_inflate kh_inflate;

enum kh_inflate_state { KH_INFLATE_MORE, KH_INFLATE_END, KH_INFLATE_BAD };

int kh_inflate_new(kh_inflate **z, kh_err *err);
void kh_inflate_free(kh_inflate *z);

typedef struct kh_inflate_io {
	const uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
} kh_inflate_io;

/* A stream in chunks: reset, then feed until END.  Moves the pointers of *io on. */
void kh_inflate_reset(kh_inflate *z);
enum kh_inflate_state kh_inflate_some(kh_inflate *z, kh_inflate_io *io);

/* The start of a block in the middle of a stream: the n <= 32768 bytes of text in front; the
 * block's first `n_bits` bits are the upper ones of `byte`, the next are in `in`. */
typedef struct kh_inflate_middle {
	const uint8_t *window;
	size_t n;
	unsigned n_bits;
	uint8_t byte;
} kh_inflate_middle;

/* The place up to which a gzip stream was inflated, where another reader can go on. */
typedef struct kh_gz_place {
	enum { KH_GZ_AT_HEADER, KH_GZ_AT_TRAILER, KH_GZ_AT_BLOCK } where;
	unsigned skip;          /* at a block: bits of the next byte that are used */
	uint8_t window[32768];  /* its last n_window bytes are the text in front */
	size_t n_window;
	uint32_t crc;           /* of the member's n_member bytes that were given out */
	uint64_t n_member, member_at;
} kh_gz_place;

/* After reset: begins there. */
bool kh_inflate_from(kh_inflate *z, const kh_inflate_middle *m);

/* A whole stream at once: true if exactly n_in bytes give exactly n_out. */
bool kh_inflate_block(kh_inflate *z, const kh_inflate_io *io);

uint32_t kh_crc32(uint32_t crc, const void *p, size_t n);

#endif
