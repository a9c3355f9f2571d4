/*
 * frames.h - keeps texts until the end of a run, compressed, in a file without a name
 *
 * A sample's lines can be written only when all of it has been read. Until then what they are
 * made of is kept on disk (io/spill.h): a frame for each ticket. Any worker puts frames in any
 * order, and, when all have been put, gets them back in any order.
 */
#ifndef KH_SAMPLE_FRAMES_H
#define KH_SAMPLE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

typedef struct kh_frames kh_frames;

/* `beside`: a file in whose folder it is made. */
int kh_frames_open(kh_frames **s, const char *beside, unsigned workers, kh_err *err);
void kh_frames_close(kh_frames *s);

/* `worker`: the number of the worker, which is one thread at a time. */
int kh_frames_put(kh_frames *s, unsigned worker, uint64_t ticket, const kh_buf *f, kh_err *err);
int kh_frames_get(kh_frames *s, unsigned worker, uint64_t ticket, kh_buf *f, kh_err *err);
uint64_t kh_frames_count(const kh_frames *s);    /* the greatest ticket, and 1 */
uint64_t kh_frames_bytes(const kh_frames *s);

/* A number in a frame: 7 bits a byte, all but the last byte with 128 added. */
int kh_frame_number(kh_buf *f, uint64_t x, kh_err *err);
/* Reads a number at *at, and moves *at behind it. */
uint64_t kh_frame_read(const char **at);

#endif
