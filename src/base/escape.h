/*
 * escape.h - text from outside (names of files, ids, taxa) made fit to be shown
 *
 * Control characters can make a terminal do what it should not, and JSON allows only UTF-8. So
 * each byte of a control character, or of what is not UTF-8, becomes `\xHH`; all others stay.
 */
#ifndef KH_BASE_ESCAPE_H
#define KH_BASE_ESCAPE_H

#include <stddef.h>

enum { KH_ESCAPED = 4 };                /* bytes that one byte may become */

/* Writes the n bytes of `from` to `to`, which has room for KH_ESCAPED times as many; control
 * characters in `keep` stay, too.  Returns how many it has written. */
size_t kh_escape(char *to, const char *from, size_t n, const char *keep);
/* The same for a string: returns a new one, to be freed; NULL: no memory. */
char *kh_escaped(const char *s);

#endif
