#include <config.h>
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

int kh_buf_room(kh_buf *b, size_t more, kh_err *err)
{
	return kh_grow((void **)&b->p, &b->cap, b->n + more, 1, err);
}

int kh_buf_add(kh_buf *b, const void *p, size_t n, kh_err *err)
{
	int rc = kh_buf_room(b, n, err);

	if (rc || n == 0)               /* both may be NULL */
		return rc;
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return KH_OK;
}

int kh_buf_word(kh_buf *b, const void *p, size_t n, kh_err *err)
{
	int rc = kh_buf_room(b, n + 1, err);

	if (rc)
		return rc;
	memcpy(b->p + b->n, p, n);
	b->p[b->n + n] = 0;
	b->n += n + 1;
	return KH_OK;
}

int kh_buf_string(kh_buf *b, const char *s, kh_err *err)
{
	return kh_buf_add(b, s, strlen(s), err);
}

int kh_buf_print(kh_buf *b, kh_err *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return kh_buf_add(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1, err);
}
