/*
 * frames.h - keeps texts until the end of a run, in a file without a name
 *
 * A sample's lines can be written only when the whole sample has been read. Until then the data for
 * the lines of each ticket are a frame on disk (io/spill.h). Any worker puts frames in any order,
 * and gets them back in any order when all have been put.
 */
#ifndef KH_SAMPLE_FRAMES_H
#define KH_SAMPLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

typedef struct kh_frames kh_frames;

/* The file is made in the folder of `beside`. `pack`: frames are long texts, and compressed. */
int kh_frames_open(kh_frames **s, const char *beside, unsigned workers, bool pack, kh_err *err);
void kh_frames_close(kh_frames *s);

/* `worker`: its number; one thread at a time is that worker. */
int kh_frames_put(kh_frames *s, unsigned worker, uint64_t ticket, const kh_buf *f, kh_err *err);
int kh_frames_get(kh_frames *s, unsigned worker, uint64_t ticket, kh_buf *f, kh_err *err);
uint64_t kh_frames_count(const kh_frames *s);    /* the greatest ticket + 1 */
uint64_t kh_frames_bytes(const kh_frames *s);

/* A number in a frame is LEB128: 7 bits a byte, all but the last byte with 128 added. */
#define KH_FRAME_NUMBER 10      /* bytes of one, at most */
void kh_frame_number(kh_buf *f, uint64_t x);
/* Writes x at `at`, where there is room for it; returns the place behind x. */
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
