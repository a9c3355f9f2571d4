/* buf.h - text that grows: no stdio, no locale */
#ifndef KH_BASE_BUF_H
#define KH_BASE_BUF_H

#include <stddef.h>
#include "base/msg.h"

typedef struct kh_buf {
	char *p;                        /* to be freed by free(); no NUL behind it */
	size_t n, cap;
} kh_buf;

int kh_buf_room(kh_buf *b, size_t more, kh_err *err);
int kh_buf_add(kh_buf *b, const void *p, size_t n, kh_err *err);
/* Adds n bytes and a NUL behind them. */
int kh_buf_word(kh_buf *b, const void *p, size_t n, kh_err *err);
int kh_buf_string(kh_buf *b, const char *s, kh_err *err);
/* By printf; for short texts: what is longer than 511 bytes is cut. */
int kh_buf_print(kh_buf *b, kh_err *err, const char *fmt, ...) KH_PRINTF(3, 4);

#endif
