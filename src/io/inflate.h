/*
 * inflate.h - raw deflate and CRC-32, by libraries
 *
 * gzip headers and trailers are read by source_gz.c, so the libraries only inflate and
 * cannot differ in what they accept around the data.  libdeflate is the fastest for whole blocks;
 * streams are for ISA-L, where it is there, or else for zlib.  They agree on what is damaged,
 * but for hand-made data whose Huffman tables are incomplete: zlib refuses these, where
 * the others may go by the CRC, which must be right in any case.  KH_GZ=zlib in the environment
 * has zlib read streams in any case (tests).
 */
#ifndef KH_IO_INFLATE_H
#define KH_IO_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

/* How many bytes in front of `in` must stay readable and unchanged between calls: the
 * library may have looked ahead by as many and gives them back at the end. */
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

/* A stream in pieces: reset, then feed until END.  Moves the span on. */
void kh_inflate_reset(kh_inflate *z);
enum kh_inflate_state kh_inflate_some(kh_inflate *z, kh_inflate_io *io);

/* After reset: begins at a block in the middle of a stream, behind a window of n <= 32768 bytes,
 * with the upper `n_bits` bits of the byte in front of `in`. */
typedef struct kh_inflate_middle {
	const uint8_t *window;
	size_t n;
	unsigned n_bits;
	uint8_t byte;
} kh_inflate_middle;

/* Where a gzip stream was inflated up to, so that another reader can go on. */
typedef struct kh_gz_place {
	enum { KH_GZ_AT_HEADER, KH_GZ_AT_TRAILER, KH_GZ_AT_BLOCK } where;
	unsigned skip;          /* at a block: bits of the next byte that are used */
	uint8_t window[32768];  /* the text in front: its last n_window bytes */
	size_t n_window;
	uint32_t crc;           /* of the member, as far as it was given out */
	uint64_t n_member, member_at;
} kh_gz_place;

bool kh_inflate_from(kh_inflate *z, const kh_inflate_middle *m);

/* A whole stream at once: true if exactly n_in bytes give exactly n_out. */
bool kh_inflate_block(kh_inflate *z, const kh_inflate_io *io);

uint32_t kh_crc32(uint32_t crc, const void *p, size_t n);

#endif
