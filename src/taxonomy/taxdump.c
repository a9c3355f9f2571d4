/*
 * taxdump.c - nodes.dmp, names.dmp and merged.dmp
 *
 * Rows come in any order.  Nodes are sorted by taxid (NCBI's are), then parents become
 * indices, then a walk with marks finds cycles: each node is walked over once.
 */
#include <config.h>
#include "taxonomy/taxdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

enum { MAX_COLUMNS = 7 };
typedef int row_fn(kh_taxdump *d, const kh_tsv *tsv, const kh_span *column, kh_err *err);

typedef struct table {
	int columns, most;      /* the least that a row must have, and how many are looked at */
	row_fn *row;
} table;

static unsigned long long at(const kh_tsv *tsv) { return tsv->line; }

static uint32_t line32(const kh_tsv *tsv)
{
	return tsv->line < UINT32_MAX ? (uint32_t)tsv->line : UINT32_MAX;
}

/* --- rows ------------------------------------------------------------------ */
static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static kh_span trim(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	while (end > p && is_blank(end[-1]))
		end--;
	return (kh_span) { p, (size_t)(end - p) };
}

/* Splits the first `want` columns off, each with its '|' behind it; returns how many
 * there are.  The first column is a number: if a tab stands before its '|', a '|'
 * without one is a character of a name. */
static int split(kh_span row, kh_span *column, int want)
{
	const char *p = row.p, *end = row.p + row.n, *bar;
	bool tabs = false;
	int n = 0;

	for (; n < want; p = bar + 1) {
		const char *from = p;
		while ((bar = memchr(from, '|', (size_t)(end - from))) &&
		       tabs && bar[-1] != '\t')
			from = bar + 1;
		if (!bar)
			break;
		if (!n)
			tabs = bar > row.p && bar[-1] == '\t';
		column[n++] = trim(p, bar);
	}
	return n;
}

static int parse_table(kh_taxdump *d, kh_tsv *tsv, const table *t, kh_err *err)
{
	kh_span row, column[MAX_COLUMNS];
	int got, rc;

	while ((got = kh_tsv_next(tsv, &row, err)) > 0) {
		memset(column, 0, sizeof column);
		row = trim(row.p, row.p + row.n);
		if (!row.n || kh_row_is_comment(row))
			continue;
		int n = split(row, column, t->most);
		if (n < t->columns)
			return kh_fail(err, KH_EFORMAT,
				       "%s:%llu: %d column%s ending in '|', expected %d",
				       tsv->name, at(tsv), n, kh_plural((uint64_t)n), t->columns);
		if ((rc = t->row(d, tsv, column, err)))
			return rc;
	}
	return got;
}

static int taxid_of(kh_span s, uint32_t *taxid, const kh_tsv *tsv, kh_err *err)
{
	if (kh_span_u32(s, taxid) && *taxid)
		return KH_OK;
	return kh_fail(err, KH_EFORMAT, "%s:%llu: \"%s\" is not a taxid", tsv->name, at(tsv),
		       kh_span_show(s).s);
}

/* --- nodes.dmp ------------------------------------------------------------- */
enum { CODE = 6 };                       /* the column of the genetic code */

static int node_row(kh_taxdump *d, const kh_tsv *tsv, const kh_span *column, kh_err *err)
{
	kh_taxnode x = { .line = line32(tsv), .name = UINT32_MAX };
	uint32_t code;
	int rc;

	if ((rc = taxid_of(column[0], &x.taxid, tsv, err)) ||
	    (rc = taxid_of(column[1], &x.parent, tsv, err)))
		return rc;
	if (x.taxid == 1 && x.parent != 1)
		return kh_fail(err, KH_EFORMAT,
			       "%s:%llu: the root, taxid 1, has a parent, %u", tsv->name,
			       at(tsv), x.parent);
	if (x.taxid == x.parent && x.taxid != 1)
		return kh_fail(err, KH_EFORMAT,
			       "%s:%llu: second root: taxid %u is its own parent",
			       tsv->name, at(tsv), x.taxid);
	x.rank = x.taxid == 1 ? KH_RANK_NONE : kh_rank_find(column[2].p, column[2].n);
	if (column[CODE].n > 0 && kh_span_u32(column[CODE], &code) && code <= UINT8_MAX)
		x.code = (uint8_t)code;
	if (d->n == KH_NO_TAXON)
		return kh_fail(err, KH_EFORMAT, "%s:%llu: too many nodes", tsv->name,
			       at(tsv));
	if ((rc = KH_GROW(d->node, d->cap, d->n + 1, err)))
		return rc;
	d->node[d->n++] = x;
	return KH_OK;
}

static int by_taxid(const void *a, const void *b)
{
	const kh_taxnode *x = a, *y = b;

	if (x->taxid != y->taxid)
		return x->taxid < y->taxid ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int sort_nodes(kh_taxdump *d, const char *file, kh_err *err)
{
	size_t i = 1;

	while (i < d->n && d->node[i - 1].taxid < d->node[i].taxid)
		i++;
	if (i < d->n)
		qsort(d->node, d->n, sizeof *d->node, by_taxid);
	if (!d->n || d->node[0].taxid != 1)
		return kh_fail(err, KH_EFORMAT, "%s: no root: taxid 1 is missing", file);
	for (i = 1; i < d->n; i++)
		if (d->node[i].taxid == d->node[i - 1].taxid)
			return kh_fail(err, KH_EFORMAT,
				       "%s:%u: taxid %u again (first in line %u)", file,
				       d->node[i].line, d->node[i].taxid,
				       d->node[i - 1].line);
	return KH_OK;
}

static int make_dir(kh_taxdump *d, kh_err *err)
{
	uint32_t max = d->node[d->n - 1].taxid;

	while (max >> d->shift > 2 * d->n)
		d->shift++;
	d->n_dir = (max >> d->shift) + 1;
	d->dir = kh_array(d->n_dir + 1, sizeof *d->dir, err);
	if (!d->dir)
		return KH_ENOMEM;
	for (size_t i = 0; i < d->n; i++)
		d->dir[(d->node[i].taxid >> d->shift) + 1]++;
	for (size_t b = 0; b < d->n_dir; b++)
		d->dir[b + 1] += d->dir[b];
	return KH_OK;
}

static uint32_t find_node(const kh_taxdump *d, uint32_t taxid)
{
	size_t b = taxid >> d->shift;

	if (b >= d->n_dir)
		return KH_NO_TAXON;
	uint32_t lo = d->dir[b], hi = d->dir[b + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (d->node[mid].taxid < taxid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->dir[b + 1] && d->node[lo].taxid == taxid ? lo : KH_NO_TAXON;
}

static int link_parents(kh_taxdump *d, const char *file, kh_err *err)
{
	for (size_t i = 0; i < d->n; i++) {
		kh_taxnode *x = &d->node[i];
		uint32_t p = find_node(d, x->parent);
		if (p == KH_NO_TAXON)
			return kh_fail(err, KH_EFORMAT,
				       "%s:%u: the parent of taxid %u, %u, is missing",
				       file, x->line, x->taxid, x->parent);
		x->parent = p;
	}
	return KH_OK;
}

/* Walks up from each node to one that an earlier walk has marked. */
static int check_cycles(const kh_taxdump *d, const char *file, kh_err *err)
{
	uint32_t *walk = kh_array(d->n, sizeof *walk, err);
	int rc = KH_OK;

	if (!walk)
		return KH_ENOMEM;
	walk[0] = UINT32_MAX;
	for (uint32_t i = 1; i < d->n && !rc; i++) {
		uint32_t j = i;
		for (; !walk[j]; j = d->node[j].parent)
			walk[j] = i;
		if (walk[j] == i)
			rc = kh_fail(err, KH_EFORMAT,
				     "%s:%u: taxid %u is its own ancestor", file,
				     d->node[j].line, d->node[j].taxid);
	}
	free(walk);
	return rc;
}

static int finish_nodes(kh_taxdump *d, const char *file, kh_err *err)
{
	int rc;

	if ((rc = sort_nodes(d, file, err)) || (rc = make_dir(d, err)) ||
	    (rc = link_parents(d, file, err)))
		return rc;
	return check_cycles(d, file, err);
}

/* --- names.dmp ------------------------------------------------------------- */
static int name_row(kh_taxdump *d, const kh_tsv *tsv, const kh_span *column, kh_err *err)
{
	kh_span name = column[1];
	uint32_t taxid;
	int rc = taxid_of(column[0], &taxid, tsv, err);

	if (!rc && kh_taxother_is(column[3]))
		return kh_taxdump_add_other(d, taxid, name, err);
	if (rc || !kh_span_is(column[3], "scientific name"))
		return rc;
	if (!kh_span_is_printable(name))
		return kh_fail(err, KH_EFORMAT,
			       "%s:%llu: name of taxid %u: expected printable text, "
			       "found \"%s\"",
			       tsv->name, at(tsv), taxid, kh_span_show(column[1]).s);
	uint32_t i = find_node(d, taxid);
	if (i == KH_NO_TAXON || d->node[i].name != UINT32_MAX)
		return KH_OK;
	if (name.n >= UINT32_MAX - d->names.n)
		return kh_fail(err, KH_EFORMAT, "%s:%llu: more than 4 GiB of names",
			       tsv->name, at(tsv));
	d->node[i].name = (uint32_t)d->names.n;
	kh_buf_word(&d->names, name.p, name.n);
	return kh_buf_check(&d->names, err);
}

static int check_names(const kh_taxdump *d, const char *nodes, const char *names,
		       kh_err *err)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->node[i].name == UINT32_MAX)
			return kh_fail(err, KH_EFORMAT,
				       "%s: no scientific name for taxid %u (%s:%u)",
				       names, d->node[i].taxid, nodes, d->node[i].line);
	return KH_OK;
}

/* --- merged.dmp ------------------------------------------------------------ */
static int merge_row(kh_taxdump *d, const kh_tsv *tsv, const kh_span *column, kh_err *err)
{
	kh_taxmerge x = { .line = line32(tsv) };
	int rc;

	if ((rc = taxid_of(column[0], &x.from, tsv, err)) ||
	    (rc = taxid_of(column[1], &x.to, tsv, err)))
		return rc;
	rc = KH_GROW(d->merge, d->merge_cap, d->n_merge + 1, err);
	if (!rc)
		d->merge[d->n_merge++] = x;
	return rc;
}

static int by_from(const void *a, const void *b)
{
	const kh_taxmerge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int finish_merged(kh_taxdump *d, const char *file, kh_err *err)
{
	if (d->n_merge)
		qsort(d->merge, d->n_merge, sizeof *d->merge, by_from);
	for (size_t i = 1; i < d->n_merge; i++) {
		const kh_taxmerge *x = &d->merge[i - 1], *y = &d->merge[i];
		if (x->from == y->from && x->to != y->to)
			return kh_fail(
				err, KH_EFORMAT,
				"%s:%u: taxid %u merged into %u (line %u: into %u)", file,
				y->line, y->from, y->to, x->line, x->to);
	}
	return KH_OK;
}

static const kh_taxmerge *find_merged(const kh_taxdump *d, uint32_t taxid)
{
	size_t lo = 0, hi = d->n_merge;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (d->merge[mid].from < taxid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < d->n_merge && d->merge[lo].from == taxid ? &d->merge[lo] : NULL;
}

uint32_t kh_taxdump_node(const kh_taxdump *d, uint32_t taxid)
{
	uint32_t i = find_node(d, taxid);

	/* what a taxid was merged into may have been merged, too; not in a circle for ever */
	for (size_t step = 0; i == KH_NO_TAXON && step < d->n_merge; step++) {
		const kh_taxmerge *x = find_merged(d, taxid);

		if (!x)
			break;
		i = find_node(d, taxid = x->to);
	}
	return i;
}

uint32_t kh_taxdump_find(const kh_taxdump *d, uint32_t taxid)
{
	uint32_t i = kh_taxdump_node(d, taxid);

	return i == KH_NO_TAXON ? 0 : d->node[i].taxid;
}

uint32_t kh_taxdump_code(const kh_taxdump *d, uint32_t taxid)
{
	const uint32_t i = kh_taxdump_node(d, taxid);

	return i == KH_NO_TAXON ? 0 : d->node[i].code;
}

int kh_taxdump_new(kh_taxdump **out, kh_err *err)
{
	static const kh_taxnode root = { .taxid = 1, .parent = 1 };
	kh_taxdump *d = kh_array(1, sizeof *d, err);
	int rc = d ? KH_GROW(d->node, d->cap, 1, err) : KH_ENOMEM;

	if (!rc) {
		d->node[d->n++] = root;
		kh_buf_word(&d->names, "root", 4);
		rc = kh_buf_check(&d->names, err);
	}
	if (rc)
		kh_taxdump_close(d);
	else
		*out = d;
	return rc;
}

void kh_taxdump_reopen(kh_taxdump *d)
{
	for (size_t i = 0; i < d->n; i++)
		d->node[i].parent = d->node[d->node[i].parent].taxid;
}

int kh_taxdump_add(kh_taxdump *d, const kh_taxnode *x, kh_span name, kh_err *err)
{
	const uint32_t at = d->dir ? find_node(d, x->taxid) : KH_NO_TAXON;
	int rc;

	if (at != KH_NO_TAXON) {
		d->node[at].parent = x->parent == 1 ? d->node[at].parent : x->parent;
		return KH_OK;
	}
	rc = KH_GROW(d->node, d->cap, d->n + 1, err);
	if (rc)
		return rc;
	if (d->n == KH_NO_TAXON || name.n >= UINT32_MAX - d->names.n)
		return kh_fail(err, KH_EFORMAT, "too many taxa in lineages and taxonomy");
	d->node[d->n] = *x;
	d->node[d->n++].name = (uint32_t)d->names.n;
	kh_buf_word(&d->names, name.p, name.n);
	return kh_buf_check(&d->names, err);
}

int kh_taxdump_end(kh_taxdump *d, kh_err *err)
{
	free(d->dir);
	d->dir = NULL;
	d->shift = 0;
	return finish_nodes(d, "the lineages beside the taxonomy", err);
}

/* --- the three together ---------------------------------------------------- */
static const table nodes_table = { 3, CODE + 1, node_row };
static const table names_table = { 4, 4, name_row };
static const table merged_table = { 2, 2, merge_row };

void kh_taxdump_close(kh_taxdump *d)
{
	if (!d)
		return;
	free(d->node);
	free(d->merge);
	free(d->other);
	free(d->names.p);
	free(d->dir);
	free(d);
}

/* The tables in order: nodes, names, merged (its `read` NULL: there is none). */
static int parse(kh_taxdump **out, kh_tsv tsv[3], kh_err *err)
{
	kh_taxdump *d = kh_array(1, sizeof *d, err);
	int rc = KH_ENOMEM;

	if (!d)
		return rc;
	if ((rc = parse_table(d, &tsv[0], &nodes_table, err)) ||
	    (rc = finish_nodes(d, tsv[0].name, err)))
		goto out;
	d->node[0].name = 0;
	kh_buf_word(&d->names, "root", 4);
	if ((rc = kh_buf_check(&d->names, err)) ||
	    (rc = parse_table(d, &tsv[1], &names_table, err)) ||
	    (rc = check_names(d, tsv[0].name, tsv[1].name, err)))
		goto out;
	kh_taxdump_sort_others(d);
	if (tsv[2].read && ((rc = parse_table(d, &tsv[2], &merged_table, err)) ||
			  (rc = finish_merged(d, tsv[2].name, err))))
		goto out;
	*out = d;
	d = NULL;
out:
	kh_taxdump_close(d);
	return rc;
}

int kh_taxdump_parse(kh_taxdump **d, const kh_bytes *nodes, const kh_bytes *names,
		     const kh_bytes *merged, kh_err *err)
{
	const kh_bytes *in[3] = { nodes, names, merged };
	kh_span rest[3];
	kh_tsv tsv[3] = { 0 };

	for (int i = 0; i < 3 && in[i]; i++) {
		rest[i] = (kh_span) { in[i]->p, in[i]->n };
		kh_tsv_init(&tsv[i], in[i]->name, kh_tsv_bytes, &rest[i]);
	}
	const int rc = parse(d, tsv, err);
	for (int i = 0; i < 3; i++)
		kh_tsv_clear(&tsv[i]);
	return rc;
}

const char *const kh_taxdump_file[KH_TAXDUMP_FILES] = { "nodes.dmp", "names.dmp", "merged.dmp" };

int kh_taxdump_open(kh_taxdump **d, const char *dir, kh_err *err)
{
	kh_tsv tsv[3] = { 0 };
	char *path[3] = { NULL };
	int rc = KH_OK;

	for (int i = 0; i < 3 && !rc; i++) {
		rc = kh_print(&path[i], err, "%s/%s", dir, kh_taxdump_file[i]);
		if (!rc && (i < 2 || access(path[i], F_OK) == 0 || errno != ENOENT))
			rc = kh_tsv_open(&tsv[i], path[i], err);
	}
	if (!rc)
		rc = parse(d, tsv, err);
	for (int i = 0; i < 3; i++) {
		kh_tsv_clear(&tsv[i]);
		free(path[i]);
	}
	return rc;
}
