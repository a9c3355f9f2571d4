/*
 * pgzip.h - one gzip stream, inflated by many threads
 *
 * Deflate data can be decoded from the start of any block if the unknown 32 KiB of text in front
 * are written as marks (deflate.h).  So the compressed bytes are cut into chunks, wherever the cut
 * falls:
 *
 *	kh_pgzip_next	 in order	reads the next chunk
 *	kh_pgzip_do	 any thread	decodes it to symbols, from the first place where a block
 *					may begin to the first such place behind the chunk
 *	kh_pgzip_take	 in order	proves a chunk: it must begin where the one before ended,
 *					otherwise it is decoded again, from there; computes its last
 *					32 KiB of text, the window of the next chunk; gives its text
 *					out in parts
 *	kh_pgzip_finish	 any thread	makes the bytes of a part, and their CRC
 *
 * Calls "in order" come from one thread at a time, under a lock of the caller's; they take some
 * hundredths of the time of the rest.  A guessed place decides only the speed: symbols that were
 * decoded from a wrong one are never given out, because the first chunk begins at a member's first
 * block, and each other one where a proven one ended.  If nothing is being decoded when a chunk is
 * read, its beginning and its window are known, so a single thread decodes no marks and guesses
 * nothing.
 *
 * The sequential reader (source_gz.c) goes on from the last proven start of a block if the data
 * cannot be decoded, and at the end of a member if no other plain gzip member follows.  So it finds
 * these errors itself.  Here, the CRC and the length of a member that another one follows are
 * checked; for the member that the sequential reader goes on with, it is given both so far.
 *
 * Memory: threads + 2 chunks, each with its compressed bytes and at most `text` symbols of two
 * bytes (more only if a single block has more, up to KH_PGZIP_TEXT_MAX). A chunk that inflates to
 * more than that is decoded in several steps, in order.
 */
#ifndef KH_IO_PGZIP_H
#define KH_IO_PGZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "io/inflate.h"

typedef struct kh_pgzip kh_pgzip;

enum { KH_PGZIP_TEXT_MAX = 1 << 24 };

typedef struct kh_pgzip_options {
	const char *name;       /* for messages; borrowed */
	unsigned threads;
	size_t chunk;           /* compressed bytes */
	size_t ahead;           /* bytes read besides, for the block in which the chunk ends */
	size_t part;            /* bytes of text given out at once, at most */
	size_t text;            /* symbols of a chunk, at most, unless its first block has more */
	/* Gives the next n compressed bytes, fewer only at the end. */
	size_t (*read)(void *arg, void *buf, size_t n);
	void *arg;
} kh_pgzip_options;

int kh_pgzip_new(kh_pgzip **p, const kh_pgzip_options *o, kh_err *err);
/* When no thread is in here any more. */
void kh_pgzip_free(kh_pgzip *p);

/* In order, after kh_pgzip_new or kh_pgzip_leave: begins with the member whose header is at byte
 * `member_at` of the file; its data, which `read` gives next, begin at byte `at`. */
void kh_pgzip_start(kh_pgzip *p, uint64_t member_at, uint64_t at);

typedef struct kh_pgzip_chunk kh_pgzip_chunk;

/* A chunk to be decoded, or NULL, to wait for one. */
typedef struct kh_pgzip_step {
	kh_pgzip *p;
	kh_pgzip_chunk *chunk;
	uint64_t seen;
} kh_pgzip_step;

/* In order.  1: the caller is to do *step, outside the lock, and then to call this again; 0: now
 * kh_pgzip_take has text, or says *leave; < 0. */
int kh_pgzip_next(kh_pgzip *p, kh_pgzip_step *step, kh_err *err);
void kh_pgzip_do(const kh_pgzip_step *step);

/* n bytes of text from symbol `from` of a chunk on, and the events (ends of members) in it. */
typedef struct kh_pgzip_part {
	kh_pgzip_chunk *chunk;  /* NULL: none */
	size_t from, n;
	size_t event, n_event;
	uint64_t number;
} kh_pgzip_part;

/* In order.  1: a part, which must be finished or dropped; 0: nothing now;
 * < 0: no memory; *leave: only the sequential reader can go on. */
int kh_pgzip_take(kh_pgzip *p, kh_pgzip_part *part, bool *leave, kh_err *err);
/* *n: bytes that are right, also on failure.  `out` has room for part->n. */
int kh_pgzip_finish(kh_pgzip_part *part, char *out, size_t *n, kh_err *err);
/* In place of it, after a failure: the text is not wanted, and nothing is checked. */
void kh_pgzip_drop(kh_pgzip_part *part);

/* The place at which the sequential reader goes on. */
typedef struct kh_pgzip_rest {
	uint8_t *in;            /* compressed bytes from there on; the caller's, to be freed */
	size_t n;
	kh_gz_place place;
} kh_pgzip_rest;

/* In order, after *leave.  Waits for parts that are not finished. */
int kh_pgzip_leave(kh_pgzip *p, kh_pgzip_rest *rest, kh_err *err);

#endif
