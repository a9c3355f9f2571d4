/*
 * deflate.h - deflate data (RFC 1951) decoded from the start of any block
 *
 * A match copies from the 32 KiB of text in front of it, which is not known where decoding begins
 * in the middle of a stream. So text is decoded to symbols of 16 bits: below 256 a byte,
 * otherwise KH_DEFLATE_MARK + i, which stands for byte i of the 32 KiB in front of the first
 * symbol. Marks are copied like bytes. When the 32 KiB are known, a table of 65536 entries turns
 * symbols into bytes. Example: a first match of length 3 and distance 2 gives the marks 0xfffe,
 * 0xffff and 0xfffe. The idea is that of Kerbiriou and Chikhi, "Parallel decompression of
 * gzip-compressed files and random access to DNA sequences" (2019, arXiv 1905.07224), for texts;
 * Knespel and Brunst, "Rapidgzip: parallel decompression and seeking in gzip files using cache
 * prefetching" (HPDC 2023, pages 295-307), have it for any data, with guesses that are proven
 * later.
 *
 * All data that zlib refuses are refused here, too: tables that are incomplete or oversubscribed,
 * no code for the end of the block, distances to before the first byte.  Nothing is read beyond
 * in[n + KH_DEFLATE_PAD - 1] and nothing written beyond out[cap - 1], whatever the data are.
 */
#ifndef KH_IO_DEFLATE_H
#define KH_IO_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KH_DEFLATE_WINDOW = 32768,
	KH_DEFLATE_MARK = 0x8000,
	KH_DEFLATE_PAD = 40,            /* zero bytes that must follow the input */
	KH_DEFLATE_SLACK = 320,         /* symbols below `cap` that one call may leave unused */
	KH_DEFLATE_LITLEN_BITS = 11,
	KH_DEFLATE_DIST_BITS = 9,
	/* A subtable has 2^(15 - BITS) entries at most and at least two codes lead to it. */
	KH_DEFLATE_LITLEN_SIZE = (1 << KH_DEFLATE_LITLEN_BITS) + 143 * 16,
	KH_DEFLATE_DIST_SIZE = (1 << KH_DEFLATE_DIST_BITS) + 15 * 64
};

enum kh_deflate_state {
	KH_DEFLATE_BLOCK,       /* a block is complete; `final`: it was the last one */
	KH_DEFLATE_FULL,        /* `out` is full in the middle of a block; call again with room */
	KH_DEFLATE_INPUT,       /* the input ends within the block, whose symbols are worthless */
	KH_DEFLATE_BAD          /* this is no deflate data */
};

typedef struct kh_deflate {
	const uint8_t *in;      /* n bytes, and KH_DEFLATE_PAD zeros */
	size_t n;
	size_t bit;             /* the next bit */
	uint16_t *out;
	size_t at, cap;         /* the next symbol, and the end; at >= KH_DEFLATE_WINDOW, with the
	                         * window in front */
	size_t oldest;          /* the first symbol that may be copied */
	bool final;             /* the present block, or the one before `bit`, is the last one */
	enum { KH_DEFLATE_BETWEEN, KH_DEFLATE_STORED, KH_DEFLATE_CODED } where;
	size_t stored;          /* bytes of a stored block that are still to come */
	uint32_t litlen[KH_DEFLATE_LITLEN_SIZE], dist[KH_DEFLATE_DIST_SIZE];
} kh_deflate;

/* Fills the window, out[0] to out[KH_DEFLATE_WINDOW - 1], with marks; decoding begins behind it. */
void kh_deflate_unknown_window(kh_deflate *d);
/* Decodes to the end of the block that is open, or else of the next one. */
enum kh_deflate_state kh_deflate_block(kh_deflate *d);

/* The start of a block.  For a stored block, `bit` is the start of its length, as the padding hides
 * where its three bits of header are; for a gzip member, that of its header. */
typedef struct kh_deflate_start {
	size_t bit;
	enum { KH_START_NONE, KH_START_CODED, KH_START_STORED, KH_START_MEMBER } kind;
} kh_deflate_start;

/* The block at the present place, if kh_deflate_find could find it: not the last one, and either
 * stored, with zeros as padding, or with tables of its own.  Otherwise its kind is
 * KH_START_NONE. */
kh_deflate_start kh_deflate_here(const kh_deflate *d);
typedef struct kh_deflate_finder {
	uint16_t filled[4096];
} kh_deflate_finder;

void kh_deflate_finder_init(kh_deflate_finder *f);
/* The first place from bit `from` on and below `to` that looks like the start of such a block: a
 * guess that only decoding can prove.  Overwrites the tables. */
kh_deflate_start kh_deflate_find(const kh_deflate_finder *f, kh_deflate *d, size_t from, size_t to);
/* Moves the decoder to the start of a block.  False: its length cannot be right. */
bool kh_deflate_go(kh_deflate *d, const kh_deflate_start *s);

/* Symbols to bytes, once `window`, the KH_DEFLATE_WINDOW bytes in front of them, is known. */
typedef struct kh_deflate_bytes {
	uint8_t of[65536];              /* of each symbol */
} kh_deflate_bytes;

void kh_deflate_bytes_init(kh_deflate_bytes *b, const uint8_t *window);
void kh_deflate_resolve(const kh_deflate_bytes *b, const uint16_t *symbol, size_t n, uint8_t *out);

static inline uint64_t kh_le64(const uint8_t *p)
{
	uint64_t x;

	__builtin_memcpy(&x, p, 8);
	return x;
}

#endif
