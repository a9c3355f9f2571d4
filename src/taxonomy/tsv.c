#include <config.h>
#include "taxonomy/tsv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "io/source.h"

#define FIRST_CAP ((size_t)1 << 18)     /* stays in a core's cache */

void kh_tsv_init(kh_tsv *tsv, const char *name, kh_read_fn *read, void *arg)
{
	*tsv = (kh_tsv) { .name = name, .read = read, .arg = arg };
}

static int64_t read_source(void *arg, void *buf, size_t n, kh_err *err)
{
	return kh_source_read(arg, buf, n, err);
}

int kh_tsv_open(kh_tsv *tsv, const char *path, kh_err *err)
{
	kh_tsv_init(tsv, path, read_source, NULL);
	const int rc = kh_source_open(&tsv->source, path, err);
	tsv->arg = tsv->source;
	return rc;
}

void kh_tsv_clear(kh_tsv *tsv)
{
	kh_source_close(tsv->source);
	free(tsv->buf);
	*tsv = (kh_tsv) { 0 };
}

/* Moves the rest of a row to the front of the buffer and reads behind it. */
static int refill(kh_tsv *tsv, kh_err *err)
{
	size_t rest = tsv->end - tsv->pos;
	int rc;

	if (rest)
		memmove(tsv->buf, tsv->buf + tsv->pos, rest);
	tsv->pos = 0;
	tsv->end = rest;
	if (rest == tsv->cap) {
		if (rest >= KH_LINE_MAX)
			return kh_fail(err, KH_EFORMAT,
				       "%s:%llu: row longer than %zu bytes", tsv->name,
				       (unsigned long long)tsv->line + 1, KH_LINE_MAX);
		rc = KH_GROW(tsv->buf, tsv->cap, rest ? 2 * rest : FIRST_CAP, err);
		if (rc)
			return rc;
	}
	int64_t n = tsv->read(tsv->arg, tsv->buf + rest, tsv->cap - rest, err);
	if (n < 0)
		return (int)n;
	tsv->end += (size_t)n;
	tsv->eof = n == 0;
	return KH_OK;
}

/* Passes over a byte order mark. */
static int begin(kh_tsv *tsv, kh_err *err)
{
	static const char mark[] = "\xef\xbb\xbf";
	int rc = KH_OK;

	while (tsv->end < 3 && !tsv->eof && !rc && (tsv->end == 0 || tsv->buf[0] == mark[0]))
		rc = refill(tsv, err);
	tsv->begun = true;
	if (!rc && tsv->end >= 3 && memcmp(tsv->buf, mark, 3) == 0)
		tsv->pos = 3;
	return rc;
}

int kh_tsv_next(kh_tsv *tsv, kh_span *row, kh_err *err)
{
	size_t seen = 0;
	char *nl = NULL;
	int rc = tsv->begun ? KH_OK : begin(tsv, err);

	if (rc)
		return rc;

	while (seen == tsv->end - tsv->pos ||
	       !(nl = memchr(tsv->buf + tsv->pos + seen, '\n', tsv->end - tsv->pos - seen))) {
		seen = tsv->end - tsv->pos;
		if (tsv->eof)
			break;
		if ((rc = refill(tsv, err)))
			return rc;
	}
	if (!nl && !seen)
		return 0;
	if (!nl && !tsv->any_end)
		return kh_fail(err, KH_EFORMAT,
			       "%s:%llu: the last row has no line end: the table was cut off",
			       tsv->name, (unsigned long long)tsv->line + 1);
	row->p = tsv->buf + tsv->pos;
	row->n = nl ? (size_t)(nl - row->p) : seen;
	tsv->pos += row->n + (nl != NULL);
	tsv->line++;
	if (row->n && row->p[row->n - 1] == '\r')
		row->n--;
	return 1;
}

int kh_tsv_begins(kh_tsv *tsv, const char *with, kh_err *err)
{
	const size_t n = strlen(with);
	int rc = tsv->begun ? KH_OK : begin(tsv, err);

	while (tsv->end - tsv->pos < n && !tsv->eof && !rc)
		rc = refill(tsv, err);
	return rc ? rc : tsv->end - tsv->pos >= n && memcmp(tsv->buf + tsv->pos, with, n) == 0;
}

int64_t kh_tsv_bytes(void *arg, void *buf, size_t n, kh_err *err)
{
	kh_span *s = arg;

	(void)err;
	n = n < s->n ? n : s->n;
	if (n)
		memcpy(buf, s->p, n);
	s->p += n;
	s->n -= n;
	return (int64_t)n;
}

bool kh_span_u32(kh_span s, uint32_t *v)
{
	uint64_t x = 0;

	if (!s.n)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned char)s.p[i] - '0';
		if (digit > 9)
			return false;
		x = x * 10 + digit;
		if (x > UINT32_MAX)
			return false;
	}
	*v = (uint32_t)x;
	return true;
}

bool kh_span_u64(kh_span s, uint64_t *v)
{
	uint64_t x = 0;

	for (size_t i = 0; i < s.n; i++) {
		const unsigned digit = (unsigned char)s.p[i] - '0';

		if (digit > 9 || x > (UINT64_MAX - digit) / 10)
			return false;
		x = 10 * x + digit;
	}
	*v = x;
	return s.n > 0;
}

bool kh_span_is(kh_span s, const char *word)
{
	return s.n == strlen(word) && !memcmp(s.p, word, s.n);
}

bool kh_span_is_word(kh_span s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

bool kh_span_is_printable(kh_span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
	return s.n > 0;
}

int kh_span_split(kh_span row, kh_span *column, int max)
{
	const char *p = row.p, *end = row.p + row.n;

	for (int n = 0; n < max; n++) {
		const char *tab = memchr(p, '\t', (size_t)(end - p));

		column[n] = (kh_span) { p, (size_t)((tab ? tab : end) - p) };
		if (!tab)
			return n + 1;
		p = tab + 1;
	}
	return max + 1;
}

kh_span kh_span_trim(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	while (p < end && end[-1] == ' ')
		end--;
	return (kh_span) { p, (size_t)(end - p) };
}

bool kh_row_is_blank(kh_span row)
{
	for (size_t i = 0; i < row.n; i++)
		if (row.p[i] != ' ' && row.p[i] != '\t' && row.p[i] != ',')
			return false;
	return true;
}

kh_span kh_row_cell(kh_span row)
{
	const kh_span s = kh_span_trim(row.p, row.p + row.n);
	const bool quoted = s.n > 1 && s.p[0] == '"' && s.p[s.n - 1] == '"';

	return quoted ? (kh_span) { s.p + 1, s.n - 2 } : s;
}

kh_shown kh_span_show(kh_span s)
{
	kh_shown out;
	size_t max = sizeof out.s - 1, n = s.n < max ? s.n : max;

	for (size_t i = 0; i < n; i++)
		out.s[i] = s.p[i] >= 0x20 && s.p[i] < 0x7f ? s.p[i] : '?';
	if (s.n > max)
		memcpy(out.s + max - 3, "...", 3);
	out.s[n] = 0;
	return out;
}
