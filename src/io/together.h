/*
 * together.h - a gzip source that several threads inflate together: by a device (gzdev.h), or by
 * themselves (pgzip.h)
 */
#ifndef KH_IO_TOGETHER_H
#define KH_IO_TOGETHER_H

#include "io/gzdev.h"
#include "io/pgzip.h"
#include "io/source.h"

/* One of the two. */
typedef struct kh_gz_step {
	kh_pgzip_step by_threads;
	kh_gzdev_step by_device;        /* g NULL: by threads */
} kh_gz_step;

/* The device that inflates the source at present, or reads it (kh_source_lend); or NULL. */
kh_gzdev *kh_source_gzdev(const kh_source *s);
/* Lets the device read a plain file, whose text is parsed there, if that is worth while.  Until the
 * file is taken back, when no text is used any more, nothing else reads it. */
int kh_source_lend(kh_source *s, kh_err *err);
void kh_source_take_back(kh_source *s);
/* Any thread, outside the lock. */
void kh_gz_do(const kh_gz_step *step);

typedef struct kh_gz_part {
	bool any;                       /* there is one */
	size_t n;                       /* bytes of text */
	kh_pgzip_part by_threads;
	kh_gzdev_part by_device;        /* g NULL: by threads */
} kh_gz_part;

/* Any thread ends a part.  *n: bytes that are right, also on failure.  `out` has room for
 * part->n. */
int kh_gz_finish(kh_gz_part *part, char *out, size_t *n, kh_err *err);
/* The text of the part is not wanted any more. */
void kh_gz_drop(kh_gz_part *part);

#endif
