/* mask.c - makes the bases of kh_mask ambiguous */
#include <config.h>
#include "seqio/reader_in.h"

#include <string.h>

static void set(kh_parsed *parsed, uint64_t i)
{
	parsed->amb[i >> 5] |= UINT32_C(1) << (i & 31);
}

/* A U is rare, and memchr() looks at many characters at a time. */
static bool any_u(const char *s, size_t n)
{
	return memchr(s, 'U', n) || memchr(s, 'u', n);
}

void kh_mask_u(kh_parsed *parsed, uint64_t at, const char *s, size_t n)
{
	if (!any_u(s, n))
		return;
	for (size_t i = 0; i < n; i++) {
		if ((s[i] & 0xdf) == 'U')
			set(parsed, at);
		at += s[i] != '\n';
	}
}

void kh_mask_quality(kh_parsed *parsed, uint64_t at, const char *q, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (q[i] - '!' < parsed->mask.quality)
			set(parsed, at + i);
}

void kh_mask_usual(kh_parsed *parsed, const kh_record *r)
{
	if (parsed->mask.u)
		kh_mask_u(parsed, r->seq, parsed->text + r->name + r->name_len + 1, r->len);
	if (parsed->mask.quality)
		kh_mask_quality(parsed, r->seq,
				parsed->text + r->text + r->text_len - 1 - r->len, r->len);
}
