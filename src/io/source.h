/*
 * source.h - bytes from a file, a gzip or BGZF file, a FIFO or standard input
 *
 * The first bytes of an input decide its kind, not its name (but an empty file named .gz is an
 * error). gzip is taken strictly: every member must be whole and its CRC and length right; behind
 * the last one only zero bytes are accepted; a BGZF file must end with its empty block. So a
 * damaged stream is always an error, whichever library inflates it (inflate.h).
 *
 * Example: two gzip members of "ACGT\n", each of 25 bytes (header 10, deflate data 7, trailer 8),
 * are a file of 50 bytes with 10 bytes of text. Without its last byte, the 10 bytes are read, and
 * the next read fails: the data end early at byte 49. With another CRC in the second trailer, it
 * fails with a damaged member at byte 25.
 *
 * kh_source_read reads any kind in order. For several threads the kinds differ: a regular plain
 * file is read by ranges (kh_source_pread, any thread); of BGZF, runs of whole compressed blocks
 * are taken in order (kh_source_bgzf_run) and inflated by the thread that took them
 * (kh_bgzf_run_inflate); other gzip files, if kh_source_together allows it, and BGZF, if a device
 * inflates, are inflated together (together.h), and their text is given out in parts. All other
 * functions are for one thread at a time.
 */
#ifndef KH_IO_SOURCE_H
#define KH_IO_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"
#include "io/inflater.h"

typedef struct kh_source kh_source;
struct kh_gz_step;
struct kh_gz_part;

/* "-" is standard input.  Fails on a directory, on a missing or unreadable file and on a format
 * that is not read here, such as zstd, bzip2, zip, SRA, CRAM or UTF-16. */
int kh_source_open(kh_source **s, const char *path, kh_err *err);
/* The same for a run with this monitor: when the run is stopped, waiting for a stream, such as a
 * FIFO without a writer, ends with KH_ECANCEL. */
int kh_source_open_for(kh_source **s, const char *path, kh_monitor *m, kh_err *err);
/* The same for each of two inputs that are read in step: one process may write both in turn, so
 * opening waits neither for a writer nor for the first bytes, and a read gives the bytes that are
 * there rather than wait for more. */
int kh_source_open_in_step(kh_source **s, const char *path, kh_err *err);
/* To be called before each read of such an input.  1: there are bytes, or the end; 0: neither, for
 * `ms` milliseconds; < 0.  Any other source: 1. */
int kh_source_await(kh_source *s, int ms, kh_err *err);
void kh_source_close(kh_source *s);
/* Reads n bytes, fewer only in front of the end, or in step; 0 at the end; < 0.  Decoded bytes in
 * front of a damage are given before the damage is reported. */
int64_t kh_source_read(kh_source *s, void *buf, size_t n, kh_err *err);

/* Fails if the file is missing, unreadable, a directory, or foreign by its first bytes; consumes
 * nothing.  *size: of a regular file, else 0.  A FIFO is not opened. */
int kh_source_check(const char *path, uint64_t *size, kh_err *err);

/* Calls fn with all bytes of a descriptor, not inflated, from its present offset on; `name` is for
 * messages. */
typedef int kh_bytes_fn(void *arg, const void *p, size_t n, kh_err *err);
int kh_source_each(int fd, const char *name, kh_bytes_fn *fn, void *arg, kh_err *err);

/* Has the digest (XXH3) of the file's bytes made while they are read; before the first read. */
int kh_source_make_digest(kh_source *s, kh_err *err);
/* False: no regular file, or not all of it was read in order (kh_source_pread does not count).  For
 * the thread that may read. */
bool kh_source_digest(const kh_source *s, uint64_t *digest);

/* --- for the feed ---------------------------------------------------------------- */
enum kh_source_kind {
	KH_SOURCE_STREAM,       /* kh_source_read, in order */
	KH_SOURCE_RANGES,       /* a regular plain file: kh_source_pread too */
	KH_SOURCE_BGZF,         /* kh_source_bgzf_run, which may make it a STREAM */
	KH_SOURCE_GZIP          /* inflated together: kh_source_part, which may end that */
};

enum kh_source_kind kh_source_kind(const kh_source *s);
uint64_t kh_source_size(const kh_source *s);            /* of a regular file, else 0 */
bool kh_source_is_gzip(const kh_source *s);             /* gzip, not BGZF; after its first bytes */
uint64_t kh_source_taken(const kh_source *s);           /* bytes taken from the file */
void kh_source_allow_no_eof(kh_source *s);              /* BGZF without its last block */

/* At the end of the file: fails if its size is not that at opening. */
int kh_source_check_end(const kh_source *s, kh_err *err);
/* All n bytes at offset `at`, or an error. */
int kh_source_pread(const kh_source *s, void *buf, size_t n, uint64_t at, kh_err *err);

/* A run of BGZF blocks; zero it first, kh_bgzf_run_free frees what it owns. */
typedef struct kh_bgzf_run {
	uint8_t *data;
	size_t n, cap;
	uint64_t at;            /* offset of its first byte in the file */
	size_t n_out;           /* bytes it claims to hold */
	struct kh_inflate *z;   /* made when first needed */
} kh_bgzf_run;

/* Takes blocks that claim to hold `want` bytes or more of text, fewer at the end.  n_out 0: the
 * end, if the blocks in the run (there may be empty ones) can be inflated.  In front of a gzip
 * member that is no BGZF block, the kind becomes STREAM. */
int kh_source_bgzf_run(kh_source *s, kh_bgzf_run *run, size_t want, kh_err *err);
/* Any thread.  *n: bytes that are right, also on failure.  `out` has room for run->n_out. */
int kh_bgzf_run_inflate(kh_bgzf_run *run, const char *name, char *out, size_t *n, kh_err *err);
void kh_bgzf_run_free(kh_bgzf_run *run);

/* --- gzip by many threads ------------------------------------------------------------ */
/* Threads may inflate the source together.  To be called before it is read. */
typedef struct kh_together {
	unsigned threads;       /* 0: only a device */
	kh_inflate_by by;       /* a device, if f is not NULL; for regular files */
	size_t part;            /* bytes of text that are given out at once, at most */
	/* of kh_pgzip_options, for tests; 0: by `part` */
	size_t chunk, ahead, text;
	size_t least;           /* a device gets more compressed bytes than this; 0: 8 MiB */
} kh_together;

void kh_source_together(kh_source *s, const kh_together *t);
/* To be called before each kh_source_part.  1: *step is to be done first (kh_gz_do), by any thread,
 * outside the lock, then this is to be called again; 0: take a part. */
int kh_source_next_step(kh_source *s, struct kh_gz_step *step, kh_err *err);
/* Takes a part, in order; any thread finishes it (kh_gz_finish).  part->any false: none at present,
 * or, if the kind is another one now, the rest is to be read by that. */
int kh_source_part(kh_source *s, struct kh_gz_part *part, kh_err *err);

#endif
