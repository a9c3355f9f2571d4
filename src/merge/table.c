#include <config.h>
#include "merge/table.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "run/report.h"

enum { FIRST_SLOTS = 1024 };
#define NONE UINT32_MAX

void kh_merge_clear(kh_merge *m)
{
	free(m->taxon);
	free(m->names);
	free(m->sample);
	free(m->cell);
	free(m->slot);
	free(m->order);
	free(m->first);
	*m = (kh_merge) { .n = 0 };
}

/* --- taxa by their taxid ---------------------------------------------------------- */
static uint32_t *probe(const kh_merge *m, uint32_t taxid)
{
	size_t i = (taxid * UINT32_C(2654435769)) & m->mask;

	while (m->slot[i] && m->taxon[m->slot[i] - 1].taxid != taxid)
		i = (i + 1) & m->mask;
	return &m->slot[i];
}

uint32_t kh_merge_find(const kh_merge *m, uint32_t taxid)
{
	return m->slot ? *probe(m, taxid) - 1 : NONE;   /* a free slot is 0 */
}

/* Keeps at least half of the slots free. */
static int make_room(kh_merge *m, kh_err *err)
{
	const size_t n = m->slot ? 2 * (m->mask + 1) : FIRST_SLOTS;

	if (m->slot && 2 * (m->n + 1) <= m->mask)
		return KH_OK;
	if (m->n >= NONE - 1)
		return kh_fail(err, KH_EFORMAT, "too many taxa");
	uint32_t *slot = kh_array(n, sizeof *slot, err);
	if (!slot)
		return KH_ENOMEM;
	free(m->slot);
	m->slot = slot;
	m->mask = n - 1;
	for (size_t i = 0; i < m->n; i++)
		*probe(m, m->taxon[i].taxid) = (uint32_t)i + 1;
	return KH_OK;
}

static int add_name(kh_merge *m, kh_span s, kh_err *err)
{
	int rc = kh_grow((void **)&m->names, &m->names_cap, m->names_len + s.n + 1, 1, err);

	if (rc)
		return rc;
	memcpy(m->names + m->names_len, s.p, s.n);
	m->names[m->names_len + s.n] = 0;
	m->names_len += s.n + 1;
	return KH_OK;
}

/* --- a report --------------------------------------------------------------------- */
struct row {
	uint64_t clade, direct;
	uint32_t taxid;
	size_t depth;
	kh_span code, name;
};

/* A row whose descendants are being read. */
struct open_row {
	uint32_t taxon;
	uint64_t line, clade, sum;      /* sum: its own reads and those of its children */
};

struct reader {
	kh_merge *m;
	kh_tsv l;
	uint32_t sample;
	kh_errs *errs;
	kh_err *err;
	struct open_row *open;
	size_t n_open, cap;
	int columns;                    /* of the first row: 6 or 8 */
	size_t errors_before;
	bool sound;                     /* no row has been bad so far */
};

/* Notes that a row is bad; the tree is not checked any more. */
#define BAD(r, ...) ((r)->sound = false, kh_errs_note((r)->errs, (r)->err, KH_EFORMAT, __VA_ARGS__))

static unsigned long long line_of(const struct reader *r)
{
	return r->l.line;
}

/* Blanks, digits, and perhaps a point and more digits. */
static bool is_percent(kh_span s)
{
	size_t i = 0, digits = 0, points = 0;

	while (i < s.n && s.p[i] == ' ')
		i++;
	for (; i < s.n; i++) {
		const bool digit = s.p[i] >= '0' && s.p[i] <= '9';

		if (!digit && s.p[i] != '.')
			return false;
		digits += digit;
		points += !digit;
	}
	return digits > 0 && points < 2;
}

/* A letter of "URDKPCOFGS" and perhaps digits; "-" or nothing where a report has no rank. */
static bool is_code(kh_span s)
{
	if (s.n == 0 || kh_span_is(s, "-"))
		return true;
	if (s.n >= KH_MERGE_CODE || !memchr("URDKPCOFGS", s.p[0], 10))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return true;
}

static int split(kh_span row, kh_span *column, int max)
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

static int bad_column(struct reader *r, int column, kh_span found, const char *want)
{
	return BAD(r, "%s:%llu: column %d: \"%s\" is not %s", r->l.name, line_of(r), column,
		   kh_span_show(found).s, want);
}

/* Depth is half the number of blanks in front of the name. */
static int parse_name(struct reader *r, int column, kh_span s, struct row *x)
{
	size_t blanks = 0;

	while (blanks < s.n && s.p[blanks] == ' ')
		blanks++;
	x->depth = blanks / 2;
	x->name = (kh_span) { s.p + blanks, s.n - blanks };
	if (x->name.n == 0)
		return bad_column(r, column, s, "a name");
	for (size_t i = 0; i < x->name.n; i++)
		if ((unsigned char)x->name.p[i] < ' ')
			return bad_column(r, column, s, "printable text");
	if (blanks % 2)
		return BAD(r, "%s:%llu: column %d: %zu blanks in front of \"%s\", expected two for "
			   "each level", r->l.name, line_of(r), column, blanks,
			   kh_span_show(x->name).s);
	return KH_OK;
}

/* Reads the columns of a row, as far as they do not depend on other rows. */
static int parse_row(struct reader *r, kh_span row, struct row *x)
{
	enum { MOST = 8 };
	kh_span c[MOST] = { { NULL, 0 } };
	const int n = split(row, c, MOST);
	uint64_t ignored;
	int rc = KH_OK;

	if (r->columns ? n != r->columns : n != 6 && n != 8)
		return BAD(r, "%s:%llu: %d%s columns between tabs, expected %s%s", r->l.name,
			   line_of(r), n, n > MOST ? " or more" : "",
			   r->columns == 6 ? "6" : r->columns == 8 ? "8" : "6 or 8",
			   r->columns ? " as above" : ", as a report of Kraken 2 has");
	r->columns = n;
	if (!is_percent(c[0]))
		rc = bad_column(r, 1, c[0], "a percentage");
	if (!rc && !kh_span_u64(c[1], &x->clade))
		rc = bad_column(r, 2, c[1], "a number of reads");
	if (!rc && !kh_span_u64(c[2], &x->direct))
		rc = bad_column(r, 3, c[2], "a number of reads");
	for (int i = 3; !rc && i < n - 3; i++)
		if (!kh_span_u64(c[i], &ignored))
			rc = bad_column(r, i + 1, c[i], "a number of features");
	if (!rc && !is_code(c[n - 3]))
		rc = bad_column(r, n - 2, c[n - 3], "a rank code, such as G, S or S1");
	if (!rc && !kh_span_u32(c[n - 2], &x->taxid))
		rc = bad_column(r, n - 1, c[n - 2], "a taxid");
	if (!rc && x->direct > x->clade)
		rc = BAD(r, "%s:%llu: column 3: %llu reads, more than the %llu of the whole clade",
			 r->l.name, line_of(r), (unsigned long long)x->direct,
			 (unsigned long long)x->clade);
	x->code = kh_span_is(c[n - 3], "-") ? (kh_span) { c[n - 3].p, 0 } : c[n - 3];
	return rc ? rc : parse_name(r, n, c[n - 1], x);
}

/* Ends the rows from `depth` on, and checks that their reads are at least those of their parts. */
static int close_rows(struct reader *r, size_t depth)
{
	int rc = KH_OK;

	while (r->n_open > depth && !rc) {
		const struct open_row *o = &r->open[--r->n_open];

		if (r->sound && o->sum != o->clade)
			rc = BAD(r, "%s:%llu: column 2: %llu reads in the clade, but %llu in its "
				 "parts: %s", r->l.name, (unsigned long long)o->line,
				 (unsigned long long)o->clade, (unsigned long long)o->sum,
				 r->n_open < KH_REPORT_LEVELS ? "rows are missing"
				 : "reports of taxonomies deeper than 1000 levels cannot be read");
	}
	return rc;
}

static const char *name_or_root(const kh_merge *m, uint32_t taxon)
{
	return taxon == NONE ? "none" : kh_merge_name(m, taxon);
}

/* Finds or adds the taxon of a row; *number is NONE if that was an error. */
static int find_taxon(struct reader *r, const struct row *x, uint32_t parent, uint32_t *number)
{
	kh_merge *m = r->m;
	uint32_t *slot;
	int rc = make_room(m, r->err);

	if (rc)
		return rc;
	*number = NONE;
	slot = probe(m, x->taxid);
	if (*slot) {
		const kh_merge_taxon *t = &m->taxon[*slot - 1];

		if (t->parent != parent)
			return BAD(r, "%s:%llu: taxid %u below \"%.60s\", but in %s:%llu below "
				   "\"%.60s\": two taxonomies", r->l.name, line_of(r), x->taxid,
				   name_or_root(m, parent), m->sample[t->sample].path,
				   (unsigned long long)t->line, name_or_root(m, t->parent));
		m->renamed += !kh_span_is(x->name, kh_merge_name(m, *slot - 1)) ||
			      !kh_span_is(x->code, t->code);
		*number = *slot - 1;
		return KH_OK;
	}
	rc = kh_grow((void **)&m->taxon, &m->cap, m->n + 1, sizeof *m->taxon, r->err);
	if (rc)
		return rc;
	m->taxon[m->n] = (kh_merge_taxon) { .taxid = x->taxid, .parent = parent,
					    .sample = r->sample, .line = r->l.line,
					    .name = m->names_len };
	memcpy(m->taxon[m->n].code, x->code.p, x->code.n);
	rc = add_name(m, x->name, r->err);
	if (!rc)
		*slot = *number = (uint32_t)m->n++;
	if (!rc)
		++*slot;
	return rc;
}

/* Is the taxon among this sample's rows already?  These are the last cells. */
static int add_cell(struct reader *r, const struct row *x, uint32_t taxon)
{
	kh_merge *m = r->m;
	int rc = kh_grow((void **)&m->cell, &m->cells_cap, m->n_cells + 1, sizeof *m->cell, r->err);

	if (!rc)
		m->cell[m->n_cells++] =
			(kh_merge_cell) { taxon, r->sample, x->clade, x->direct };
	return rc;
}

static int unclassified(struct reader *r, const struct row *x)
{
	kh_merge_sample *s = &r->m->sample[r->sample];

	if (r->n_open > 0 || x->depth > 0 || x->direct != x->clade || s->unclassified > 0)
		return BAD(r, "%s:%llu: taxid 0 stands for the unclassified reads, in one row of "
			   "its own", r->l.name, line_of(r));
	s->unclassified = x->clade;
	return KH_OK;
}

/* Puts a row into the tree. */
static int place(struct reader *r, const struct row *x)
{
	uint32_t parent, taxon;
	int rc;

	if (x->depth > r->n_open || (x->depth == 0 && r->n_open > 0))
		return BAD(r, "%s:%llu: \"%s\" is indented by %zu blanks, expected %s%zu",
			   r->l.name, line_of(r), kh_span_show(x->name).s, 2 * x->depth,
			   r->n_open ? "2 to " : "", 2 * r->n_open);
	if (x->depth == 0 && x->taxid != 1)
		return BAD(r, "%s:%llu: column %d: the root has taxid %u, expected 1", r->l.name,
			   line_of(r), r->columns - 1, x->taxid);
	rc = close_rows(r, x->depth);
	if (rc || !r->sound)
		return rc;
	parent = x->depth ? r->open[x->depth - 1].taxon : NONE;
	rc = find_taxon(r, x, parent, &taxon);
	if (rc || taxon == NONE)
		return rc;
	rc = kh_grow((void **)&r->open, &r->cap, r->n_open + 1, sizeof *r->open, r->err);
	if (rc)
		return rc;
	if (x->depth)
		r->open[x->depth - 1].sum += x->clade;
	else
		r->m->sample[r->sample].classified = x->clade;
	r->open[r->n_open++] = (struct open_row) { taxon, r->l.line, x->clade, x->direct };
	return add_cell(r, x, taxon);
}

static int read_rows(struct reader *r)
{
	uint64_t rows = 0;
	kh_span row;
	int got, rc = KH_OK;

	while (!rc && (got = kh_tsv_next(&r->l, &row, r->err)) > 0) {
		struct row x = { .taxid = 0 };

		if (row.n > 0 && row.p[0] == '#' && rows == 0)
			continue;       /* kraken2-inspect writes its parameters into such lines */
		rows++;
		const size_t before = r->errs->found;
		rc = parse_row(r, row, &x);
		if (!rc && r->errs->found == before && r->sound)
			rc = x.taxid == 0 ? unclassified(r, &x) : place(r, &x);
	}
	/* the input cannot be read, so the other samples do not matter */
	if (!rc && got < 0)
		return r->err->code == KH_ENOMEM ? KH_ENOMEM
						 : kh_errs_add(r->errs, r->err, r->err);
	if (!rc && rows == 0)
		rc = BAD(r, "%s: is empty; expected a report, which has a row at least",
			 r->l.name);
	return rc ? rc : close_rows(r, 0);
}

static int by_taxon(const void *a, const void *b)
{
	const kh_merge_cell *x = a, *y = b;

	return (x->taxon > y->taxon) - (x->taxon < y->taxon);
}

/* Sorts the cells of the last sample by taxon; one that is there twice is an error. */
static int check_twice(struct reader *r, size_t from)
{
	kh_merge *m = r->m;
	int rc = KH_OK;

	if (m->n_cells > from)
		qsort(m->cell + from, m->n_cells - from, sizeof *m->cell, by_taxon);
	for (size_t i = from + 1; i < m->n_cells && !rc; i++)
		if (m->cell[i].taxon == m->cell[i - 1].taxon)
			rc = BAD(r, "%s: taxid %u has two rows", r->l.name,
				 m->taxon[m->cell[i].taxon].taxid);
	return rc;
}

int kh_merge_read(kh_merge *m, const kh_merge_input *in, kh_errs *errs, kh_err *err)
{
	struct reader r = { .m = m, .sample = (uint32_t)m->n_samples, .errs = errs, .err = err,
			    .sound = true };
	const size_t cells = m->n_cells;
	int rc = kh_grow((void **)&m->sample, &m->samples_cap, m->n_samples + 1, sizeof *m->sample,
			 err);

	if (rc)
		return rc;
	m->sample[m->n_samples++] = (kh_merge_sample) { .name = in->name, .path = in->path };
	kh_tsv_init(&r.l, in->path, in->read, in->arg);
	rc = read_rows(&r);
	if (!rc)
		rc = check_twice(&r, cells);
	kh_tsv_clear(&r.l);
	free(r.open);
	return rc;
}

/* --- the order -------------------------------------------------------------------- */
struct edge {
	uint32_t parent, taxid, taxon;
};

/* Children of a taxon stand together, in reverse order, as a stack needs them. */
static int by_parent(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->taxid < y->taxid) - (x->taxid > y->taxid);
}

/* Fills m->order: taxon 0 is the root, as its row comes first in any report. */
static void walk(kh_merge *m, const struct edge *edge, const size_t *child, uint32_t *stack)
{
	size_t n_stack = 1, n = 0;

	stack[0] = 0;
	while (n_stack > 0) {
		const uint32_t t = stack[--n_stack];

		m->order[n++] = t;
		for (size_t i = child[t]; i < child[t + 1]; i++)
			stack[n_stack++] = edge[i].taxon;
	}
}

static int make_order(kh_merge *m, kh_err *err)
{
	struct edge *edge = kh_array(m->n, sizeof *edge, err);
	size_t *child = kh_array(m->n + 2, sizeof *child, err);
	uint32_t *stack = kh_array(m->n, sizeof *stack, err);
	int rc = edge && child && stack ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 1; i < m->n && !rc; i++) {
		edge[i - 1] = (struct edge) { m->taxon[i].parent, m->taxon[i].taxid, i };
		child[m->taxon[i].parent + 1]++;
	}
	if (!rc && m->n > 0) {
		qsort(edge, m->n - 1, sizeof *edge, by_parent);
		for (size_t i = 0; i < m->n; i++)
			child[i + 1] += child[i];
		walk(m, edge, child, stack);
	}
	free(edge);
	free(child);
	free(stack);
	return rc;
}

/* Cells stand by sample; a stable sort by their taxon's place keeps that. */
static int sort_cells(kh_merge *m, kh_err *err)
{
	kh_merge_cell *cell = kh_array(m->n_cells, sizeof *cell, err);
	size_t *at = kh_array(m->n + 1, sizeof *at, err);       /* by taxon */
	int rc = cell && at ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < m->n_cells && !rc; i++)
		at[m->cell[i].taxon]++;
	for (size_t i = 0; i < m->n && !rc; i++) {
		const size_t count = at[m->order[i]];

		at[m->order[i]] = m->first[i];
		m->first[i + 1] = m->first[i] + count;
	}
	for (size_t i = 0; i < m->n_cells && !rc; i++)
		cell[at[m->cell[i].taxon]++] = m->cell[i];
	free(at);
	if (rc) {
		free(cell);
		return rc;
	}
	free(m->cell);
	m->cell = cell;
	m->cells_cap = m->n_cells;
	return KH_OK;
}

int kh_merge_finish(kh_merge *m, kh_err *err)
{
	m->order = kh_array(m->n, sizeof *m->order, err);
	m->first = kh_array(m->n + 1, sizeof *m->first, err);
	if (!m->order || !m->first)
		return KH_ENOMEM;
	int rc = make_order(m, err);
	return rc ? rc : sort_cells(m, err);
}
