/*
 * inflate.h - gzip files inflated by a GPU: what there is of a batch, and its launcher   [HD]
 *
 * A batch is a run of a file's compressed bytes, which begins at a known place: at a block, with
 * the 32 KiB of text in front of it, or at a member's header.
 *
 *	find	every bit is tried as the beginning of a block with tables, and every byte as that
 *		of a member; places are sorted.  A segment begins at each of them
 *	decode	a warp decodes a segment, up to a place that another one begins at.  Its lanes
 *		decode a stripe of a block at 32 places at a time, and leave tokens: one or two
 *		literals, or a match
 *	chain	the first segment begins at the known place, each other one where one before it
 *		ended; what was found in the wrong place drops out.  Now it is known where in the
 *		text, and of which member, each segment is, and each unit, a part of a
 *		stripe
 *	resolve	a warp makes the symbols of a unit of its tokens: bytes, and marks for what lies in
 *		front of the unit
 *	text	windows in front of groups of units are found by composing maps of marks; then
 *		marks become bytes
 *	sums	a warp makes the CRC of a segment
 *	settle	members that end here are compared with their trailers; the text that is proven
 *		ends in front of the first thing that is not right
 *
 * Example: a member whose header ends at bit 80 has blocks at bits 80 and 52,001, and bit 30,000
 * looks like one.  Three segments are decoded.  The one from bit 80 on ends at 52,001, where
 * another begins, so chain takes these two, and the one from 30,000 on drops out.
 *
 * A guessed place decides only the speed.  A lane's beginning is a guess, too: Huffman codes fall
 * into step by themselves (Klein and Wiseman, "Parallel Huffman decoding with applications to JPEG
 * files", 2003; Weissenberger and Schmidt, "Massively parallel Huffman decoding on GPUs", ICPP
 * 2018), and it is proven when the lane before it ends exactly there.  Marks are as in
 * io/deflate.h.
 */
#ifndef KH_CUDA_INFLATE_INFLATE_H
#define KH_CUDA_INFLATE_INFLATE_H

#include <stdbool.h>
#include <stdint.h>
#include "cuda/kernels/tuning.h"
#include "kmer/kmer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	KH_INF_LANES = 32,
	/* Bits that a lane decodes in front of its share, to fall into step: of FASTQ by gzip -6
	 * 0 to 1 stripe in 100 is decoded again, with 1024 bits 4 to 11. */
	KH_INF_AHEAD = 1536,
	KH_INF_STEP = 8192,             /* bits of a lane's share, at most, */
	KH_INF_STEP_MIN = 64,           /*   and at least */
	KH_INF_LIT_BITS = 9, KH_INF_DIST_BITS = 8,      /* of what tables are looked up with */
	KH_INF_WINDOW = 32768,
	KH_INF_MARK = 0x8000,
	KH_INF_GROUP = 256,             /* symbols that a warp makes at a time */
	KH_INF_RING = 512,              /* tokens that it keeps for that */
	KH_INF_PASSED = 64,             /* places in a segment at which no block ended, at most */
	KH_INF_HEAD = 1024,             /* bytes of a member's header, at most */
	KH_INF_SEGMENTS = 16384,        /* of a batch */
	KH_INF_STRIPES = 65536,
	KH_INF_UNITS = KH_TUNE_UNITS,   /* of a stripe */
	KH_INF_UNIT = KH_INF_LANES / KH_INF_UNITS,      /* its lanes */
	KH_INF_MAYBE = 1 << 22,         /* places that may be one as far as 13 bits and the code for
					 * code lengths tell */
	KH_INF_PAD = 1024               /* bytes that may be read behind those of a batch */
};

#define KH_INF_NONE 0xffffffffu

/* Bits of a block that the lanes of a warp have decoded. */
typedef struct kh_inf_stripe {
	uint32_t k[KH_INF_LANES];       /* tokens of each lane */
	uint32_t row;                   /* they are token[32 * row + kh_inf_token_at()]; of a
					 * stored block, its first byte */
	uint32_t stored;
	uint32_t next;                  /* of the segment */
	uint32_t n[KH_INF_UNITS];       /* text of each */
} kh_inf_stripe;

enum kh_inf_state {
	KH_INF_OPEN,
	KH_INF_NEXT,                    /* ends where another one may begin */
	KH_INF_FINAL,                   /* ends with the last block of a member */
	KH_INF_BAD,                     /* cannot be decoded */
	KH_INF_INPUT,                   /* the input ends in it */
	KH_INF_ROOM                     /* there was no room for its tokens, or its text */
};

typedef struct kh_inf_segment {
	uint32_t bit, end;              /* at a block's header; behind the last block */
	uint32_t n;                     /* bytes of text */
	uint32_t first, stripes;        /* the first stripe, and how many there are */
	uint32_t state;
	uint32_t head;                  /* byte of the header of the member that begins with it, or
					 * NONE */
	uint32_t next;                  /* the segment behind it, as kh_inf_next says */
	/* once the chain is known: where in the text, or NONE; number of its member, which is 0 for
	 * the one that was open where the batch began; CRC of its text, from 0 and not inverted */
	uint32_t at, member, crc;
} kh_inf_segment;

/* What a warp resolves. */
typedef struct kh_inf_unit {
	uint32_t at, n;                 /* bytes of text */
	uint32_t reach;                 /* bytes in front of it that may be copied from */
	uint32_t stripe, from, to;      /* lanes [from, to) */
	uint32_t segment;
} kh_inf_unit;

typedef struct kh_inf_member {
	uint32_t head;                  /* byte of its header; NONE: it was open */
	uint32_t first, last;           /* segments; last: NONE if it does not end here */
	uint32_t from;                  /* in the text */
	uint32_t crc;                   /* of its text here, as of a segment */
} kh_inf_member;

/* Why a batch's text ends. */
enum kh_inf_stop {
	KH_INF_MORE,                    /* the next block is not all there: more input is needed */
	KH_INF_AGAIN,                   /* no room: to be run again from there */
	KH_INF_TAIL,                    /* at a trailer: only the sequential reader can go on */
	KH_INF_ODD                      /* the same, at a block, or at a member's header */
};

/* Where a batch begins, and the next one. */
typedef struct kh_inf_place {
	uint32_t bit;                   /* of the input: of a block, or behind a header, or of a
					 * trailer */
	uint32_t head;                  /* byte of the member's header if that begins here, or
					 * NONE */
	uint32_t window;                /* bytes of the member in front, up to 32768 */
	uint32_t crc;                   /* of the member, up to here, */
	uint64_t n;                     /*   and its bytes */
} kh_inf_place;

/* Counts, and the result; in the device's memory. */
typedef struct kh_inf_counts {
	uint32_t n_maybe, n_key, n_segment, n_stripe, n_row;
	uint32_t to_decode, to_resolve;
	uint32_t bad_segment;           /* the first one that copies from before its member */
	uint32_t n_chain;               /* the chain ends in front of this segment; */
	uint32_t why;                   /*   its state */
	uint32_t n_unit, n_member;
	/* result */
	uint32_t n_text;
	uint32_t stop;
	uint32_t head;                  /* the header of the member that is open at `end`; NONE: it
					 * was open before */
	uint32_t last_n;                /* text of the member that ends at `end`, or NONE */
	kh_inf_place end;
} kh_inf_counts;

/* All that kernels get; memory of the device. */
typedef struct kh_inf_batch {
	const uint32_t *in;             /* n bytes, and KH_INF_PAD more */
	uint32_t n;
	kh_inf_place start;
	bool members;                   /* BGZF: ends behind a member that is right */
	bool last;                      /* nothing follows the n bytes */
	uint32_t cap_row, cap_text;
	kh_inf_counts *c;
	uint32_t *maybe;                /* KH_INF_MAYBE */
	/* KH_INF_SEGMENTS: bit << 32 | byte of the header, or NONE */
	uint64_t *key, *sorted;
	kh_inf_segment *segment;
	kh_inf_stripe *stripe;
	kh_inf_unit *unit;              /* KH_INF_UNITS KH_INF_STRIPES */
	kh_inf_member *member;          /* KH_INF_SEGMENTS + 1 */
	uint32_t *token;                /* 32 cap_row */
	uint16_t *symbol;               /* cap_text */
	uint8_t *text;                  /* cap_text */
	uint16_t *map;                  /* KH_INF_WINDOW for each of `groups` */
	uint8_t *windows;               /* the same */
	const uint8_t *window;          /* in front of the batch, */
	uint8_t *window_behind;         /*   and behind it */
	void *scratch;                  /* of the sort */
	uint64_t n_scratch;
	uint32_t groups;                /* multiprocessors */
} kh_inf_batch;

/* Launchers; they return a cudaError_t.  *fits: the device has what the kernels need; *scratch:
 * bytes for the sort. */
int kh_gpu_inflate_prepare(bool *fits, uint32_t *groups, uint64_t *scratch);
int kh_gpu_inflate(const kh_inf_batch *b, void *stream);
/* The second half of it, from the units on. */
int kh_gpu_inflate_text_prepare(void);
int kh_gpu_inflate_text(const kh_inf_batch *b, void *stream);

#ifdef __cplusplus
}
#endif

/* Lets functions that all lanes of a warp run take turns on the CPU, where there is one lane. */
#ifdef __CUDA_ARCH__
#define KH_INF_SYNC() __syncwarp()
#else
#define KH_INF_SYNC() ((void)0)
#endif

static KH_HD uint32_t kh_inf_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Adds n, and returns what was there before. */
static KH_HD uint32_t kh_inf_add(uint32_t *count, uint32_t n)
{
#ifdef __CUDA_ARCH__
	return atomicAdd(count, n);
#else
	*count += n;
	return *count - n;
#endif
}

static KH_HD void kh_inf_at_most(uint32_t *x, uint32_t n)
{
#ifdef __CUDA_ARCH__
	atomicMin(x, n);
#else
	*x = *x < n ? *x : n;
#endif
}

#endif
