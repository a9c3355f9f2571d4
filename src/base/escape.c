#include <config.h>
#include "base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the character at p, of n that are there, if it is UTF-8 as Unicode says; else 0. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	const size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3
			   : p[0] < 0xf5 ? 4 : 0;
	uint32_t x = p[0] & (0xffU >> (len + 1));

	if (len <= 1 || len > n)
		return len == 1;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		x = x << 6 | (p[i] & 0x3f);
	}
	const bool surrogate = x >= 0xd800 && x < 0xe000, overlong = x < (len == 3 ? 0x800U : 0);
	return surrogate || overlong || (len == 4 && (x < 0x10000 || x > 0x10ffff)) ? 0 : len;
}

static bool is_control(const unsigned char *p, size_t len)
{
	return p[0] < 0x20 || p[0] == 0x7f || (len == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

size_t kh_escape(char *to, const char *from, size_t n, const char *keep)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)from, *end = p + n;
	char *at = to;

	while (p < end) {
		const size_t len = utf8_length(p, (size_t)(end - p));

		if (len > 0 && (!is_control(p, len) || (*p && strchr(keep, *p)))) {
			memcpy(at, p, len);
			at += len;
			p += len;
			continue;
		}
		for (size_t i = 0; i < (len > 0 ? len : 1); i++, p++) {
			*at++ = '\\';
			*at++ = 'x';
			*at++ = hex[*p >> 4];
			*at++ = hex[*p & 15];
		}
	}
	return (size_t)(at - to);
}

char *kh_escaped(const char *s)
{
	const size_t n = strlen(s);
	char *to = malloc(KH_ESCAPED * n + 1);

	if (to)
		to[kh_escape(to, s, n, "")] = 0;
	return to;
}
