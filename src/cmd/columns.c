#include <config.h>
#include "cmd/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

struct column {
	size_t width;
	bool text;                      /* it has more than numbers below the first line */
};

struct columns {
	struct column *v;
	size_t n, cap;
};

/* One column of a line ends at a tab; the last one, with the newline, is not padded. */
static const char *tab_of(const char *p, const char *end)
{
	return memchr(p, '\t', (size_t)(end - p));
}

static const char *end_of_line(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline + 1 : end;
}

static bool is_number(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && strchr("0123456789. ", p[i]))
		i++;
	return i == n;
}

/* Characters, not bytes: those that continue one in UTF-8 do not count. */
static size_t width_of(const char *p, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n; i++)
		width += ((unsigned char)p[i] & 0xc0) != 0x80;
	return width;
}

static int measure_line(struct columns *c, bool first, const char *p, const char *end, kh_err *err)
{
	const char *tab;

	for (size_t i = 0; (tab = tab_of(p, end)); i++, p = tab + 1) {
		const size_t n = (size_t)(tab - p), width = width_of(p, n);
		int rc = kh_grow((void **)&c->v, &c->cap, i + 1, sizeof *c->v, err);

		if (rc)
			return rc;
		if (i == c->n)
			c->v[c->n++] = (struct column) { 0, false };
		if (width > c->v[i].width)
			c->v[i].width = width;
		c->v[i].text |= !first && !is_number(p, n);
	}
	return KH_OK;
}

static void print_line(const struct columns *c, const char *p, const char *end)
{
	const char *tab;

	for (size_t i = 0; (tab = tab_of(p, end)); i++, p = tab + 1) {
		const size_t n = (size_t)(tab - p);
		const int pad = (int)(c->v[i].width - width_of(p, n));

		printf("%*s", c->v[i].text ? 0 : pad, "");
		fwrite(p, 1, n, stdout);
		printf("%*s", (c->v[i].text ? pad : 0) + 2, "");
	}
	fwrite(p, 1, (size_t)(end - p), stdout);
}

bool kh_cmd_lines_up(void)
{
	return isatty(STDOUT_FILENO);
}

int kh_cmd_print_columns(const char *text, size_t n, kh_err *err)
{
	const char *const end = text + n;
	struct columns c = { NULL, 0, 0 };
	int rc = KH_OK;

	if (!kh_cmd_lines_up()) {
		fwrite(text, 1, n, stdout);
		return KH_OK;
	}
	for (const char *p = text; p < end && !rc; p = end_of_line(p, end))
		rc = measure_line(&c, p == text, p, end_of_line(p, end), err);
	for (const char *p = text; p < end && !rc; p = end_of_line(p, end))
		print_line(&c, p, end_of_line(p, end));
	free(c.v);
	return rc;
}
