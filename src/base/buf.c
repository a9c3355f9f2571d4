#include <config.h>
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

bool kh_buf_reserve(kh_buf *b, size_t more)
{
	b->lost |= KH_GROW(b->p, b->cap, b->n + more, NULL) != KH_OK;
	return !b->lost;
}

void kh_buf_add(kh_buf *b, const void *p, size_t n)
{
	if (!kh_buf_reserve(b, n) || n == 0)    /* both may be NULL */
		return;
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void kh_buf_word(kh_buf *b, const void *p, size_t n)
{
	kh_buf_add(b, p, n);
	kh_buf_add(b, "", 1);
}

void kh_buf_string(kh_buf *b, const char *s)
{
	kh_buf_add(b, s, strlen(s));
}

void kh_buf_print(kh_buf *b, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	kh_buf_add(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

int kh_buf_check(const kh_buf *b, kh_err *err)
{
	return b->lost ? kh_fail_nomem(err) : KH_OK;
}
