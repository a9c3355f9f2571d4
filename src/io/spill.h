/*
 * spill.h - a temporary file for data that memory has no room for
 *
 * It has no name once it is open, so nothing of it is left, however the program ends.
 */
#ifndef KH_IO_SPILL_H
#define KH_IO_SPILL_H

#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"

typedef struct kh_spill {
	int fd;                         /* -1: not open */
	const char *what;               /* for messages: "temporary file of WHAT"; borrowed */
} kh_spill;

/* In the folder of the file `beside`, which need not be there. */
int kh_spill_open(kh_spill *s, const char *beside, kh_err *err);
void kh_spill_close(kh_spill *s);
/* All n bytes at offset `at`, or an error; any number of threads. */
int kh_spill_write(const kh_spill *s, const void *p, size_t n, uint64_t at, kh_err *err);
int kh_spill_read(const kh_spill *s, void *p, size_t n, uint64_t at, kh_err *err);

#endif
