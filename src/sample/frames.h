/*
 * frames.h - keeps texts until the end of a run, in a file without a name
 *
 * A sample's lines can be written only when all of it has been read. Until then what they are
 * made of is kept on disk (io/spill.h): a frame for each ticket. Any worker puts frames in any
 * order, and, when all have been put, gets them back in any order.
 */
#ifndef KH_SAMPLE_FRAMES_H
#define KH_SAMPLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

typedef struct kh_frames kh_frames;

/* `beside`: a file in whose folder it is made. `pack`: frames are long texts, to be compressed. */
int kh_frames_open(kh_frames **s, const char *beside, unsigned workers, bool pack, kh_err *err);
void kh_frames_close(kh_frames *s);

/* `worker`: the number of the worker, which is one thread at a time. */
int kh_frames_put(kh_frames *s, unsigned worker, uint64_t ticket, const kh_buf *f, kh_err *err);
int kh_frames_get(kh_frames *s, unsigned worker, uint64_t ticket, kh_buf *f, kh_err *err);
uint64_t kh_frames_count(const kh_frames *s);    /* the greatest ticket, and 1 */
uint64_t kh_frames_bytes(const kh_frames *s);

/* A number in a frame: 7 bits a byte, all but the last byte with 128 added. */
#define KH_FRAME_NUMBER 10      /* bytes of one, at most */
void kh_frame_number(kh_buf *f, uint64_t x);
/* Writes it at `at`, where there is room for it, and returns the place behind it. */
static inline char *kh_frame_put(char *at, uint64_t x)
{
	for (; x >= 128; x >>= 7)
		*at++ = (char)(x | 128);
	*at++ = (char)x;
	return at;
}
/* Reads a number at *at, and moves *at behind it. */
static inline uint64_t kh_frame_read(const char **at)
{
	uint64_t x = 0;
	unsigned shift = 0;

	for (; (unsigned char)**at >= 128; (*at)++, shift += 7)
		x |= (uint64_t)(**at & 127) << shift;
	return x | (uint64_t)(unsigned char)*(*at)++ << shift;
}

#endif
