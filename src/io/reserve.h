/*
 * reserve.h - room in a file in memory that is taken before the bytes are there
 *
 * It then need not be found while they are written, and several threads write: a file system lets
 * one thread write to a file at a time, but pages of a map are made by many side by side.
 */
#ifndef KH_IO_RESERVE_H
#define KH_IO_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kh_reserve {
	uint64_t bytes;                 /* from the start of the file on; 0: none */
	unsigned threads;               /* that may write there */
} kh_reserve;

/* Takes so many more bytes; false: the file does not lie in memory, or its file system would have
 * less than twice as much left for others as is taken. */
bool kh_reserve_take(kh_reserve *r, int fd, uint64_t bytes, unsigned threads);
/* Writes n bytes where the file stands; false: none were, so write() is to do it. */
bool kh_reserve_fill(const kh_reserve *r, int fd, const void *p, size_t n);
/* Gives back what lies behind the end of the file; false, with errno. */
bool kh_reserve_end(const kh_reserve *r, int fd);

#endif
