/* bgzf.h - writes BGZF blocks (SAM specification, section 4.1) */
#ifndef KH_IO_BGZF_H
#define KH_IO_BGZF_H

#include <stddef.h>
#include "base/msg.h"

#define KH_BGZF_UNIT 65280              /* bytes of text in a block */
#define KH_BGZF_MAX 65536               /* bytes of a block, at most */

/* A compressor; one thread at a time. */
typedef struct libdeflate_compressor kh_bgzf;

int kh_bgzf_new(kh_bgzf **z, kh_err *err);
void kh_bgzf_free(kh_bgzf *z);

/* Text of n <= KH_BGZF_UNIT bytes to one block; returns its size, at most KH_BGZF_MAX. */
size_t kh_bgzf_pack(kh_bgzf *z, const void *p, size_t n, void *block);

/* The empty block that ends a file. */
extern const unsigned char kh_bgzf_eof[28];

#endif
