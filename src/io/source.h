/*
 * source.h - bytes from a file, a gzip or BGZF file, a FIFO or standard input
 *
 * The first bytes of an input decide what it is, never its name. gzip is taken strictly: every
 * member must be whole and its CRC and length right; behind the last one only zero bytes are
 * accepted; a BGZF file must end with its empty block. So a damaged stream is always an error,
 * whichever library inflates it (inflate.h).
 *
 * Example: reads.fq.gz that is plain text is read as plain text, reads.fq that begins with 1f 8b as
 * gzip; if its last byte is missing, the last read fails, and all bytes before were given.
 *
 * kh_source_read is the plain sequential way. For parallel reading the kinds differ: a regular
 * plain file is read by ranges (kh_source_pread, any thread); of BGZF, runs of whole compressed
 * blocks are taken in order (kh_source_bgzf_run) and inflated by the thread that took them
 * (kh_bgzf_run_inflate); the text of another gzip file is given out in parts by threads that
 * inflate it together (together.h), if kh_source_together allows that; of BGZF, too, where a device
 * inflates. One thread at a time otherwise.
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
struct kh_gz_job;
struct kh_gz_part;

/* "-" is standard input.  Fails on a directory, on a missing or unreadable file and on
 * a compression that is not read here (zstd, bzip2, xz, zip, lz4, SRA, CRAM). */
int kh_source_open(kh_source **s, const char *path, kh_err *err);
/* The same for a run with this monitor: when that is stopped, waiting for a stream, such as a FIFO
 * that nobody writes to, ends with KH_ECANCEL. */
int kh_source_open_for(kh_source **s, const char *path, kh_monitor *m, kh_err *err);
/* The same of two inputs that are read in step, and that one process may write, now one,
 * now the other: does not wait for a writer, nor look at the first bytes, and reading
 * gives what is there rather than wait for more. */
int kh_source_open_in_step(kh_source **s, const char *path, kh_err *err);
/* To be called before each read of such a one.  1: there is something, or the end; 0: not
 * yet, and that for `ms` milliseconds; < 0.  Of another source 1. */
int kh_source_await(kh_source *s, int ms, kh_err *err);
void kh_source_close(kh_source *s);
/* Bytes, as many as n unless the end is near; 0 at the end; < 0.  Decoded bytes in
 * front of a damage are given before the damage is reported. */
int64_t kh_source_read(kh_source *s, void *buf, size_t n, kh_err *err);

/* Looks without consuming: missing, unreadable, a directory, foreign by its first
 * bytes.  *size: of a regular file, else 0.  A FIFO is not opened. */
int kh_source_check(const char *path, uint64_t *size, kh_err *err);

/* Calls fn with all bytes of a descriptor, as they are, from where it stands; `name` is for
 * messages. */
typedef int kh_bytes_fn(void *arg, const void *p, size_t n, kh_err *err);
int kh_source_each(int fd, const char *name, kh_bytes_fn *fn, void *arg, kh_err *err);

/* Makes the digest (XXH3) of the file's bytes while they are read; to be called before that. */
int kh_source_make_digest(kh_source *s, kh_err *err);
/* False: it is no regular file, or not all of it was read in order; kh_source_pread does not count.
 * To be called where a read may be. */
bool kh_source_digest(const kh_source *s, uint64_t *digest);

/* --- for the feed ---------------------------------------------------------------- */
enum kh_source_kind {
	KH_SOURCE_STREAM,       /* kh_source_read, in order */
	KH_SOURCE_RANGES,       /* a regular plain file: kh_source_pread too */
	KH_SOURCE_BGZF,         /* kh_source_bgzf_run, until that says that it is a STREAM */
	KH_SOURCE_GZIP          /* kh_source_part, the same; may become so again */
};

enum kh_source_kind kh_source_kind(const kh_source *s);
uint64_t kh_source_size(const kh_source *s);            /* of a regular file, else 0 */
bool kh_source_is_gzip(const kh_source *s);             /* gzip, not BGZF; after its first bytes */
uint64_t kh_source_taken(const kh_source *s);           /* bytes taken from the file */
void kh_source_allow_no_eof(kh_source *s);              /* BGZF without its last block */

/* Fails if the file has another size now than when it was opened; for its end. */
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

/* Takes blocks that claim to hold at least `want` bytes, if there are as many; n_out 0:
 * the end, if what was taken (run->n may be more than 0) can be inflated.
 * When a gzip member that is no BGZF block follows, the kind becomes STREAM. */
int kh_source_bgzf_run(kh_source *s, kh_bgzf_run *run, size_t want, kh_err *err);
/* Any thread.  *n: bytes that are right, also on failure.  `out` has run->n_out. */
int kh_bgzf_run_inflate(kh_bgzf_run *run, const char *name, char *out, size_t *n, kh_err *err);
void kh_bgzf_run_free(kh_bgzf_run *run);

/* --- gzip by many threads ------------------------------------------------------------ */
/* Threads may inflate the source together.  To be called before it is read. */
typedef struct kh_together {
	unsigned threads;       /* 0: only a device */
	kh_inflate_by by;       /* a device, if f is not NULL; for regular files */
	size_t part;            /* bytes of text that are given out at once, at most */
	/* 0: what suits `part` (pgzip.h says what they are; for tests) */
	size_t chunk, ahead, text;
	size_t least;           /* compressed bytes for which a device is worth while */
} kh_together;

void kh_source_together(kh_source *s, const kh_together *t);
/* To be called before each taking.  1: *job is to be done first (kh_gz_do), by any thread while
 * others take or work, then this is to be called again; 0: take. */
int kh_source_work(kh_source *s, struct kh_gz_job *job, kh_err *err);
/* Takes a part, in order; not `any`: nothing at present, or, when the kind is another one now, the
 * rest is to be read.  A part is finished by any thread (kh_gz_finish). */
int kh_source_part(kh_source *s, struct kh_gz_part *part, kh_err *err);

#endif
