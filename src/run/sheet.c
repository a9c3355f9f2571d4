#include <config.h>
#include "run/sheet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "taxonomy/columns.h"

enum { SAMPLE, READS1, READS2, FASTA, LONG, N_FILES, INTERLEAVED = N_FILES, CONTROL, TYPE,
       CONCENTRATION, N_ROLES };

void kh_sheet_clear(kh_sheet *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->v[i].n_reads; k++) {
			free(s->v[i].reads[k].path[0]);
			free(s->v[i].reads[k].path[1]);
		}
		for (int k = 0; k < KH_N_RESULTS; k++)
			free(s->v[i].path[k]);
		free(s->v[i].reads);
		free(s->v[i].name);
	}
	for (size_t i = 0; i < s->n_files; i++)
		free(s->file[i].path);
	free(s->file);
	kh_numbers_clear(&s->numbers);
	free(s->v);
	*s = (kh_sheet) { .v = NULL };
}

kh_sheet_sample *kh_sheet_add(kh_sheet *s, const char *name, kh_err *err)
{
	char *own = name ? strdup(name) : NULL;

	if (name && !own) {
		kh_fail_nomem(err);
		return NULL;
	}
	if (KH_GROW(s->v, s->cap, s->n + 1, err)) {
		free(own);
		return NULL;
	}
	s->v[s->n] = (kh_sheet_sample) { .name = own };
	return &s->v[s->n++];
}

/* A copy, owned by the sheet. */
static const char *keep(kh_sheet *s, kh_span path, const kh_sheet_file *where, bool second,
			kh_err *err)
{
	kh_sheet_file *f;

	if (KH_GROW(s->file, s->cap_files, s->n_files + 1, err))
		return NULL;
	f = &s->file[s->n_files];
	*f = *where;
	f->second = second;
	f->path = strndup(path.p, path.n);
	if (!f->path)
		kh_fail_nomem(err);
	s->n_files += f->path != NULL;
	return f->path;
}

int kh_sheet_add_reads(kh_sheet *s, kh_sheet_sample *x, const kh_span path[2],
		       const kh_sheet_file where[2], kh_err *err)
{
	const bool paired = path[1].n > 0;
	int rc = KH_OK;

	if (x->n_reads == 0 || x->reads[x->n_reads - 1].paired != paired) {
		rc = KH_GROW(x->reads, x->cap, x->n_reads + 1, err);
		if (rc)
			return rc;
		x->reads[x->n_reads++] = (kh_sheet_reads) { .paired = paired };
	}
	kh_sheet_reads *reads = &x->reads[x->n_reads - 1];
	for (int i = 0; i <= paired && !rc; i++) {
		rc = KH_GROW(reads->path[i], reads->cap[i], reads->n + 1, err);
		if (!rc && !(reads->path[i][reads->n] = keep(s, path[i], &where[i], i, err)))
			rc = KH_ENOMEM;
	}
	reads->n += !rc;
	return rc;
}

/* --- rows ------------------------------------------------------------------------- */
struct reader {
	kh_sheet *s;
	kh_tsv *tsv;
	kh_errs *errs;
	kh_err *err;
	kh_columns c;
	int column[N_ROLES];            /* of the table, from 0; -1: not there */
	int columns;                    /* of the header; -1: it cannot be split */
};

#define BAD(r, ...) kh_errs_note((r)->errs, (r)->err, KH_EFORMAT, __VA_ARGS__)

static unsigned long long line_of(const struct reader *r)
{
	return r->tsv->line;
}

static int role_of(kh_span name)
{
	static const char *const words[N_ROLES][6] = {
		[SAMPLE] = { "sample" },
		[READS1] = { "reads1", "fq1", "fastq_1", "reads_1", "fastq1", "short_reads_1" },
		[READS2] = { "reads2", "fq2", "fastq_2", "reads_2", "fastq2", "short_reads_2" },
		[FASTA] = { "fasta" },
		[LONG] = { "long_reads" },
		[INTERLEAVED] = { "interleaved" },
		[CONTROL] = { "control" },
		[TYPE] = { "type", "sample_type" },
		[CONCENTRATION] = { "concentration" },
	};

	for (int i = 0; i < N_ROLES; i++)
		for (int k = 0; k < 6 && words[i][k]; k++)
			if (kh_span_is_word(name, words[i][k]))
				return i;
	return -1;
}

/* Is a row that begins with '#' the header? */
static bool names_columns(struct reader *r, kh_span row)
{
	kh_errs errs = { .v = NULL };
	kh_err err;
	bool sample = false;

	if (kh_columns_first(&r->c, r->tsv, row, &errs, &err) == KH_OK)
		for (int i = 0; i < r->c.n; i++)
			sample |= role_of(r->c.v[i]) == SAMPLE;
	kh_errs_clear(&errs);
	return sample;
}

static int parse_header(struct reader *r, kh_span row)
{
	int rc = kh_columns_first(&r->c, r->tsv, row, r->errs, r->err);

	r->columns = r->c.n;
	for (int i = 0; i < r->columns && !rc; i++) {
		const int role = role_of(r->c.v[i]);

		if (role >= 0 && r->column[role] >= 0)
			rc = BAD(r, "%s:%llu: column %d: \"%s\" is there a second time",
				 r->tsv->name,
				 line_of(r), i + 1, kh_span_show(r->c.v[i]).s);
		else if (role >= 0)
			r->column[role] = i;
	}
	const bool reads = r->column[READS1] >= 0 || r->column[FASTA] >= 0 || r->column[LONG] >= 0;

	if (!rc && r->columns >= 0 && (r->column[SAMPLE] < 0 || !reads))
		rc = BAD(r, "%s:%llu: no column \"%s\" in the header; expected sample, reads1 and "
			    "perhaps reads2, between tabs or commas", r->tsv->name, line_of(r),
			 r->column[SAMPLE] < 0 ? "sample" : "reads1");
	return rc;
}

bool kh_sheet_is_name(kh_span s)
{
	if (s.n == 0 || s.n > 200 || s.p[0] == '.' || s.p[0] == '-')
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f || s.p[i] == '/')
			return false;
	return true;
}

/* --- samples ---------------------------------------------------------------------- */
/* Finds or adds the sample of a row; NULL: no memory. */
static kh_sheet_sample *sample_of(struct reader *r, kh_span name)
{
	const uint64_t hash = XXH3_64bits(name.p, name.n);
	kh_sheet *s = r->s;
	size_t at = 0;

	for (uint32_t i; (i = kh_numbers_next(&s->numbers, hash, &at)) != KH_NO_NUMBER;)
		if (kh_span_is(name, s->v[i].name))
			return &s->v[i];
	char *copy = strndup(name.p, name.n);
	kh_sheet_sample *x = copy ? kh_sheet_add(s, copy, r->err) : NULL;
	if (!copy)
		kh_fail_nomem(r->err);
	free(copy);
	if (!x || kh_numbers_add(&s->numbers, hash, (uint32_t)(s->n - 1), r->err))
		return NULL;
	x->line = r->tsv->line;
	return x;
}

/* Where reads are expected first. */
static int first_column(const struct reader *r)
{
	int role = READS1;

	while (role < LONG && r->column[role] < 0)
		role++;
	return r->column[role] + 1;
}

/* cell: by role. */
static int check_interleaved(struct reader *r, const kh_span cell[N_ROLES])
{
	const kh_span s = cell[INTERLEAVED];
	const bool yes = kh_span_is_word(s, "yes");
	const int column = r->column[INTERLEAVED] + 1;

	if (s.n > 0 && !yes && !kh_span_is_word(s, "no"))
		return BAD(r, "%s:%llu: column %d: \"%s\" is neither yes nor no", r->tsv->name,
			   line_of(r), column, kh_span_show(s).s);
	if (yes && (cell[READS1].n == 0 || cell[READS2].n > 0))
		return BAD(r, "%s:%llu: column %d: \"yes\", and %s", r->tsv->name, line_of(r),
			   column, cell[READS2].n > 0 ? "second mates have a file of their own"
						      : "there are no reads that may be mates");
	if (yes && !r->s->interleaved)
		r->s->interleaved = line_of(r);
	return KH_OK;
}

/* path: by role, SAMPLE's is unused. */
static int check_row(struct reader *r, kh_span name, const kh_span path[N_ROLES], bool *good)
{
	const size_t before = r->errs->found;
	int rc = KH_OK;

	if (!kh_sheet_is_name(name))
		rc = BAD(r, "%s:%llu: column %d: \"%s\" cannot be the name of a sample, and so of "
			    "files: expected no blank, no '/', and no '.' or '-' in front",
			 r->tsv->name, line_of(r), r->column[SAMPLE] + 1, kh_span_show(name).s);
	if (!rc && path[READS1].n == 0 &&
	    (path[READS2].n > 0 || path[FASTA].n + path[LONG].n == 0))
		rc = BAD(r, "%s:%llu: column %d: no reads; expected a file%s", r->tsv->name,
			 line_of(r), first_column(r),
			 path[READS2].n > 0 ? ", as there are second mates" : "");
	for (int i = READS1; i < N_FILES && !rc; i++)
		if (kh_span_is(path[i], "-") || memchr(path[i].p, 0, path[i].n))
			rc = BAD(r, "%s:%llu: column %d: \"%s\" is not the name of a file",
				 r->tsv->name, line_of(r), r->column[i] + 1,
				 kh_span_show(path[i]).s);
	if (!rc && path[READS2].n > 0 && path[READS1].n == path[READS2].n &&
	    memcmp(path[READS1].p, path[READS2].p, path[READS1].n) == 0)
		rc = BAD(r, "%s:%llu: column %d: \"%s\" is named for both mates", r->tsv->name,
			 line_of(r), r->column[READS2] + 1, kh_span_show(path[READS2]).s);
	if (!rc)
		rc = check_interleaved(r, path);
	*good = r->errs->found == before;
	return rc;
}

/* A negative control, or not; in a column that asks for it what is neither is an error, and in one
 * of types of samples it is some other type. */
static int parse_control(struct reader *r, const kh_span path[N_ROLES], bool *control)
{
	static const char *const words[] = { "control", "blank", "negative", "yes", "true", "1",
					     "no", "false", "0", "sample" };
	const kh_span word = path[CONTROL];
	size_t i = 0;

	for (int k = 0; k < 3; k++)
		*control |= kh_span_is_word(path[TYPE], words[k]);
	while (i < 10 && !kh_span_is_word(word, words[i]))
		i++;
	*control |= i < 6;
	return i < 10 || word.n == 0 ? KH_OK
	       : BAD(r, "%s:%llu: column %d: \"%s\" is neither yes nor no", r->tsv->name,
		     line_of(r), r->column[CONTROL] + 1, kh_span_show(word).s);
}

/* Of a control nothing is asked, as there is too little to be measured. */
static int parse_concentration(struct reader *r, kh_span word, kh_sheet_sample *x)
{
	char text[32], *end = text;
	double c = 0;

	if (x->control)
		x->concentration = 0;
	if (x->control || word.n == 0)
		return KH_OK;
	if (word.n < sizeof text) {
		memcpy(text, word.p, word.n);
		text[word.n] = '\0';
		c = strtod(text, &end);
	}
	if (end != text + word.n || !isfinite(c) || c < 0)
		return BAD(r, "%s:%llu: column %d: \"%s\" is no concentration; expected a number, "
			      "or nothing", r->tsv->name, line_of(r),
			   r->column[CONCENTRATION] + 1, kh_span_show(word).s);
	if (x->concentration > 0 && (c < x->concentration || c > x->concentration))
		return BAD(r, "%s:%llu: column %d: \"%s\" is another concentration than in a row "
			      "of this sample above", r->tsv->name, line_of(r),
			   r->column[CONCENTRATION] + 1, kh_span_show(word).s);
	x->concentration = c;
	return KH_OK;
}

/* Adds the reads of a row: pairs, or a file of single reads, from the column of that role. */
static int add_reads(struct reader *r, kh_sheet_sample *x, const kh_span path[2], int role)
{
	const kh_sheet_file first = { .sample = (size_t)(x - r->s->v), .line = line_of(r),
				      .column = r->column[role] + 1 };
	kh_sheet_file where[2] = { first, first };

	where[1].column = r->column[READS2] + 1;
	return path[0].n > 0 ? kh_sheet_add_reads(r->s, x, path, where, r->err) : KH_OK;
}

static int parse_row(struct reader *r, kh_span row)
{
	kh_span path[N_ROLES];
	const kh_span *column = r->c.v;
	bool good;
	int rc = kh_columns_split(&r->c, r->tsv, row, r->errs, r->err);

	if (r->c.n < 0 || rc)
		return rc;
	while (r->c.n > r->columns && r->c.v[r->c.n - 1].n == 0)
		r->c.n--;
	if (r->c.n != r->columns)
		return BAD(r, "%s:%llu: %d column%s, expected %d as in the header", r->tsv->name,
			   line_of(r), r->c.n, kh_plural((uint64_t)r->c.n), r->columns);
	for (int i = 0; i < N_ROLES; i++)
		path[i] = r->column[i] >= 0 ? column[r->column[i]] : (kh_span) { "", 0 };
	rc = check_row(r, column[r->column[SAMPLE]], path, &good);
	if (rc || !good)
		return rc;
	kh_sheet_sample *x = sample_of(r, column[r->column[SAMPLE]]);
	if (!x)
		return KH_ENOMEM;
	rc = parse_control(r, path, &x->control);
	if (!rc)
		rc = parse_concentration(r, path[CONCENTRATION], x);
	if (!rc)
		rc = add_reads(r, x, &path[READS1], READS1);
	for (int role = FASTA; role <= LONG && !rc; role++)
		rc = add_reads(r, x, (const kh_span[]) { path[role], { "", 0 } }, role);
	return rc;
}

int kh_sheet_parse(kh_sheet *s, kh_tsv *tsv, kh_errs *errs, kh_err *err)
{
	struct reader r = { .s = s, .tsv = tsv, .errs = errs, .err = err };
	const size_t before = errs->found;
	bool header = false;
	kh_span row;
	int got, rc = KH_OK;

	for (int i = 0; i < N_ROLES; i++)
		r.column[i] = -1;
	while (!rc && (got = kh_tsv_next(tsv, &row, err)) != 0) {
		if (got < 0)
			rc = got;
		else if (kh_row_is_blank(row) || (header && kh_row_is_comment(row)))
			continue;
		else if (!header && kh_row_is_comment(row) && !names_columns(&r, row))
			continue;
		else if (header)
			rc = parse_row(&r, row);
		else if (!(rc = parse_header(&r, row)) && errs->found > before)
			break;          /* without its columns no row can be read */
		header = true;
	}
	if (!rc && errs->found == before && s->n == 0)
		rc = kh_errs_note(errs, err, KH_EFORMAT, "%s: no sample in this sheet", tsv->name);
	return rc;
}
