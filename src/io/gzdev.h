/*
 * gzdev.h - one gzip file, inflated by a device: what pgzip.h does by threads
 *
 *	kh_gzdev_work	 in order	says what is to be done next: a piece of a batch is to be
 *					read, or a batch to be run
 *	kh_gzdev_do	 any thread	does it
 *	kh_gzdev_take	 in order	gives out the next part of text that was run
 *	kh_gzdev_finish	 any thread	copies it
 *
 * Batches are read ahead of the text, by all threads that have nothing else to do, a piece each.
 * The text of a run is proven before any of it is given out.  Where a run stops at what only the
 * host can judge (data that cannot be decoded, a member that is not right, the end of the file), or
 * the device fails in it, the sequential reader goes on from the last place that was proven; so
 * errors are its own, and no text is lost.  Only what was proven, and cannot be copied from the
 * device any more, is an error.  For regular files, which are read from any place.
 */
#ifndef KH_IO_GZDEV_H
#define KH_IO_GZDEV_H

#include "io/inflate.h"
#include "io/inflater.h"

typedef struct kh_gzdev kh_gzdev;

typedef struct kh_gzdev_options {
	kh_inflate_by by;
	const char *name;       /* for messages; borrowed */
	int fd;                 /* of the file */
	uint64_t size;
	size_t part;            /* bytes of text given out at once, at most */
} kh_gzdev_options;

/* *g becomes NULL where the device has no room. */
int kh_gzdev_new(kh_gzdev **g, const kh_gzdev_options *o, kh_err *err);
/* When no thread is in here any more. */
void kh_gzdev_free(kh_gzdev *g);

/* In order: byte `at` of the file is the first one behind the header of a member that is at byte
 * `member_at`.  members: it is BGZF.  After kh_gzdev_new or kh_gzdev_leave. */
void kh_gzdev_start(kh_gzdev *g, uint64_t member_at, uint64_t at, bool members);

typedef struct kh_gzdev_job {
	kh_gzdev *g;            /* NULL: none */
	enum { KH_GZDEV_WAIT, KH_GZDEV_READ, KH_GZDEV_RUN } what;
	unsigned slot;
	size_t piece;
	uint64_t seen;
} kh_gzdev_job;

/* In order.  1: *job is to be done, outside the lock, then this is to be called again; 0:
 * kh_gzdev_take has something to say. */
int kh_gzdev_work(kh_gzdev *g, kh_gzdev_job *job);
void kh_gzdev_do(const kh_gzdev_job *job);
/* Bytes of the file that have been asked for. */
uint64_t kh_gzdev_taken(const kh_gzdev *g);

typedef struct kh_gzdev_part {
	kh_gzdev *g;            /* NULL: none */
	unsigned text;
	size_t from, n;
} kh_gzdev_part;

/* In order.  *leave: only the sequential reader can go on. */
void kh_gzdev_take(kh_gzdev *g, kh_gzdev_part *part, bool *leave);
/* Any thread ends a part: copies its text to `out`, which has room for part->n, or drops it. */
int kh_gzdev_finish(kh_gzdev_part *part, char *out, kh_err *err);
void kh_gzdev_drop(kh_gzdev_part *part);

/* --- in place of taking text: it is parsed where it is.  All in order. */
/* What is there of the text and was not used; part->g NULL: nothing. */
void kh_gzdev_look(kh_gzdev *g, kh_gzdev_part *part);
void kh_gzdev_use(kh_gzdev *g, size_t n);
/* Puts the rest of the text, which no record ends in, in front of the next one.  1; 0: that is not
 * there yet; < 0: only by kh_gzdev_take can it be had. */
int kh_gzdev_join(kh_gzdev *g);
kh_inflater_file *kh_gzdev_file(const kh_gzdev *g);

/* Where the sequential reader goes on. */
typedef struct kh_gzdev_rest {
	uint64_t at;            /* byte of the file */
	kh_gz_place place;
	bool open_end;          /* the member in front was a BGZF block with text */
	bool failed;            /* the device failed: it is not to be used for this file again */
} kh_gzdev_rest;

/* In order, after *leave.  Waits for what is under way. */
void kh_gzdev_leave(kh_gzdev *g, kh_gzdev_rest *rest);

#endif
