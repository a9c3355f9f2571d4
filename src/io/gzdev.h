/*
 * gzdev.h - one gzip file, inflated by a device, as pgzip.h has it inflated by threads; or a plain
 * file, whose text is only brought there
 *
 *	kh_gzdev_next	 in order	names the next step: to read a chunk of a batch, or to run
 *					(inflate) a batch
 *	kh_gzdev_do	 any thread	does the step
 *	kh_gzdev_take	 in order	gives out the next part of the text
 *	kh_gzdev_finish	 any thread	copies that part
 *
 * Batches are read ahead of the text, by all threads that have nothing else to do, a chunk each.
 * The text of a run is proven before any of it is given out.  If a run stops where only the host
 * can judge (data that cannot be decoded, a member that is not right, the end of the file), or if
 * the device fails, the sequential reader goes on from the last proven place; so it reports all
 * errors of the file, and no text is lost.  The one error of the device itself is proven text that
 * cannot be copied to the host.  Only for regular files, as batches are read at any offset.
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
	bool plain;             /* the file is not compressed: its text is only to be parsed */
} kh_gzdev_options;

/* *g becomes NULL if the device has no room. */
int kh_gzdev_new(kh_gzdev **g, const kh_gzdev_options *o, kh_err *err);
/* When no thread is in here any more. */
void kh_gzdev_free(kh_gzdev *g);

/* In order, after kh_gzdev_new or kh_gzdev_leave: begins with the member at byte `member_at` of the
 * file, whose header ends in front of byte `at`.  members: the file is BGZF. */
void kh_gzdev_start(kh_gzdev *g, uint64_t member_at, uint64_t at, bool members);

typedef struct kh_gzdev_step {
	kh_gzdev *g;            /* NULL: none */
	enum { KH_GZDEV_WAIT, KH_GZDEV_READ, KH_GZDEV_RUN } what;
	unsigned slot;
	size_t chunk;
	uint64_t seen;
} kh_gzdev_step;

/* In order.  1: *step is to be done, outside the lock, then this is to be called again; 0: now
 * kh_gzdev_take has text, or says *leave. */
int kh_gzdev_next(kh_gzdev *g, kh_gzdev_step *step);
void kh_gzdev_do(const kh_gzdev_step *step);
/* Bytes of the file that have been read, or are being read. */
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

/* --- in place of taking text: it is parsed on the device.  All in order. */
/* *part: the text that is there and not used; part->g NULL: none. */
void kh_gzdev_look(kh_gzdev *g, kh_gzdev_part *part);
void kh_gzdev_use(kh_gzdev *g, size_t n);
/* Puts the rest of this text, in which no record ends, in front of the next run's text.  1; 0: that
 * is not there yet; < 0: cannot be joined; kh_gzdev_take gives the rest. */
int kh_gzdev_join(kh_gzdev *g);
kh_inflater_file *kh_gzdev_file(const kh_gzdev *g);

/* The place at which the sequential reader goes on. */
typedef struct kh_gzdev_rest {
	uint64_t at;            /* byte of the file */
	kh_gz_place place;
	bool open_end;          /* the member in front was a BGZF block with text */
	bool failed;            /* the device failed, and is not to be used for this file again */
} kh_gzdev_rest;

/* In order, after *leave.  Waits for reads, runs and parts that are under way. */
void kh_gzdev_leave(kh_gzdev *g, kh_gzdev_rest *rest);

#endif
