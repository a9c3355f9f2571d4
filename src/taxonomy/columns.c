#include <config.h>
#include "taxonomy/columns.h"

#include <string.h>

/* The next column of [*p, end).  -1: a quotation mark has no end, or no comma follows its end. */
static int next_column(char between, const char **p, const char *end, kh_span *column)
{
	const char *from = *p, *to;

	if (between == ',' && from < end && *from == '"') {
		to = memchr(from + 1, '"', (size_t)(end - from - 1));
		if (!to || (to + 1 < end && to[1] != ','))
			return -1;
		*column = (kh_span) { from + 1, (size_t)(to - from - 1) };
		*p = to + 2;
		return 0;
	}
	to = memchr(from, between, (size_t)(end - from));
	*column = kh_row_cell((kh_span) { from, (size_t)((to ? to : end) - from) });
	*p = (to ? to : end) + 1;
	return 0;
}

int kh_columns_split(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err)
{
	const char *p = row.p, *end = row.p + row.n;
	const unsigned long long line = tsv->line;
	int n = 0;

	c->n = -1;
	for (; p <= end; n++) {
		if (n == KH_COLUMNS_MAX)
			return kh_errs_note(errs, err, KH_EFORMAT, "%s:%llu: more than %d columns",
					    tsv->name, line, (int)KH_COLUMNS_MAX);
		if (next_column(c->between, &p, end, &c->v[n]))
			return kh_errs_note(errs, err, KH_EFORMAT,
					    "%s:%llu: column %d: a quotation mark that does not "
					    "end the column", tsv->name, line, n + 1);
	}
	c->n = n;
	return KH_OK;
}

int kh_columns_first(kh_columns *c, const kh_tsv *tsv, kh_span row, kh_errs *errs, kh_err *err)
{
	size_t skip = 0;

	while (skip < row.n && (row.p[skip] == '#' || (skip > 0 && row.p[skip] == ' ')))
		skip++;
	c->between = memchr(row.p, '\t', row.n) ? '\t' : ',';
	return kh_columns_split(c, tsv, (kh_span) { row.p + skip, row.n - skip }, errs, err);
}

int kh_columns_find(const kh_columns *c, const char *const *words)
{
	for (int i = 0; i < c->n; i++)
		for (int k = 0; words[k]; k++)
			if (kh_span_is_word(c->v[i], words[k]))
				return i;
	return -1;
}
