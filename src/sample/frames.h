/*
 * frames.h - texts that wait for the end of a run, compressed, in a file without a name
 *
 * A sample's lines can be written only when all of it has been read.  Until then what they are
 * made of is kept on disk: a frame a ticket, put by any worker in any order, got back likewise
 * when all have been put.  The file's name is removed at once, so nothing is left behind.
 */
#ifndef KH_SAMPLE_FRAMES_H
#define KH_SAMPLE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include "base/threads.h"

typedef struct kh_frames kh_frames;

/* `beside`: a file in whose folder it is made. */
int kh_frames_open(kh_frames **s, const char *beside, unsigned workers, kh_monitor *m, kh_err *err);
void kh_frames_close(kh_frames *s);

typedef struct kh_frame {
	char *p;
	size_t n, cap;
} kh_frame;

/* worker: each is one thread at a time. */
int kh_frames_put(kh_frames *s, unsigned worker, uint64_t ticket, const kh_frame *f, kh_err *err);
int kh_frames_get(kh_frames *s, unsigned worker, uint64_t ticket, kh_frame *f, kh_err *err);
uint64_t kh_frames_count(const kh_frames *s);    /* one behind the greatest ticket */
uint64_t kh_frames_bytes(const kh_frames *s);

/* What frames hold: numbers of 7 bits a byte, the last one below 128; and bytes. */
int kh_frame_number(kh_frame *f, uint64_t x, kh_err *err);
int kh_frame_bytes(kh_frame *f, const void *p, size_t n, kh_err *err);
/* *at moves on. */
uint64_t kh_frame_read(const char **at);

#endif
