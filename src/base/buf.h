/*
 * buf.h - text that grows: no stdio, no locale
 *
 * Text that memory has no room for is lost, and so is all text that is added later.  When all has
 * been added, kh_buf_check says once whether that happened.
 */
#ifndef KH_BASE_BUF_H
#define KH_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include "base/msg.h"

typedef struct kh_buf {
	char *p;                        /* to be freed by free(); no NUL behind it */
	size_t n, cap;
	bool lost;                      /* some of what was added */
} kh_buf;

/* Makes place for so many bytes more behind the text; false: there is no memory. */
bool kh_buf_reserve(kh_buf *b, size_t more);
void kh_buf_add(kh_buf *b, const void *p, size_t n);
/* Adds n bytes and a NUL behind them. */
void kh_buf_word(kh_buf *b, const void *p, size_t n);
void kh_buf_string(kh_buf *b, const char *s);
/* By printf; for short texts: what is longer than 511 bytes is cut. */
void kh_buf_print(kh_buf *b, const char *fmt, ...) KH_PRINTF(2, 3);
/* Fails if something was lost. */
int kh_buf_check(const kh_buf *b, kh_err *err);

#endif
