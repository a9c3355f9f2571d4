/* blanks_profile.c - the column of a profile that says what controls have as well */
#include <config.h>
#include "merge/blanks.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { MOST = 64 };             /* columns of a profile; it has 22 */

/* Places of columns; -1: not there. */
struct columns {
	int detected, taxid, blank;
};

struct verdict {
	uint32_t taxid;
	const char *name;
};

static int by_taxid(const void *a, const void *b)
{
	const struct verdict *x = a, *y = b;

	return x->taxid < y->taxid ? -1 : x->taxid > y->taxid;
}

/* The verdicts of a sample by taxid, to be freed; NULL: no memory. */
static struct verdict *verdicts_of(const kh_merge *m, uint32_t sample, size_t *n, kh_err *err)
{
	struct verdict *v = kh_array(m->n_blanks, sizeof *v, err);

	*n = 0;
	for (size_t i = 0; v && i < m->n_blanks; i++)
		if (m->blank[i].sample == sample)
			v[(*n)++] = (struct verdict) {
				m->taxon[m->blank[i].taxon].taxid,
				kh_merge_blank_name(m->blank[i].verdict),
			};
	if (*n > 0)
		qsort(v, *n, sizeof *v, by_taxid);
	return v;
}

static struct columns find_columns(const kh_span *c, int n)
{
	struct columns at = { -1, -1, -1 };

	for (int i = 0; i < n; i++) {
		if (kh_span_is(c[i], "detected"))
			at.detected = i;
		else if (kh_span_is(c[i], "taxid"))
			at.taxid = i;
		else if (kh_span_is(c[i], "blank"))
			at.blank = i;
	}
	return at;
}

/* A row of a profile, and its columns, which the first row names. */
struct row {
	struct columns at;
	bool header;
	kh_span c[MOST];
	int n;
};

/* The next row; zero it first, but for `at`, which is {-1, -1, -1}.  1; 0: there is none. */
static int next_row(kh_tsv *profile, struct row *r, kh_err *err)
{
	kh_span text;
	const int got = kh_tsv_next(profile, &text, err);

	if (got <= 0)
		return got;
	r->n = kh_span_split(text, r->c, MOST);
	r->header = r->at.taxid < 0;
	if (r->header)
		r->at = find_columns(r->c, r->n);
	if (r->n > MOST || r->at.taxid < 0 || r->at.taxid >= r->n || r->at.blank >= r->n)
		return kh_fail(err, KH_EFORMAT, "%s: was changed while it was used",
			       profile->name);
	return 1;
}

/* Appends column i of a row, if it is not the one of verdicts. */
static void put_column(kh_buf *b, const struct row *r, int i)
{
	if (i == r->at.blank)
		return;
	kh_buf_string(b, i > 0 ? "\t" : "");
	kh_buf_add(b, r->c[i].p, r->c[i].n);
}

/* The verdict on the taxon of a row, or "-". */
static const char *word_of(const struct row *r, const struct verdict *v, size_t n)
{
	struct verdict key = { 0, NULL };
	const struct verdict *found = kh_span_u32(r->c[r->at.taxid], &key.taxid)
					      ? bsearch(&key, v, n, sizeof *v, by_taxid) : NULL;

	return r->header ? "blank" : found ? found->name : "-";
}

int kh_merge_blanks_profile(const kh_merge *m, uint32_t sample, kh_tsv *profile, kh_buf *b,
			    bool *changed, kh_err *err)
{
	struct row r = { .at = { -1, -1, -1 } };
	size_t known;
	struct verdict *v = verdicts_of(m, sample, &known, err);
	int rc = v ? 1 : KH_ENOMEM;

	*changed = false;
	while (rc > 0 && (rc = next_row(profile, &r, err)) > 0) {
		const char *word = word_of(&r, v, known);

		*changed |= r.at.blank < 0 || !kh_span_is(r.c[r.at.blank], word);
		for (int i = 0; i < r.n; i++) {
			put_column(b, &r, i);
			if (i == r.at.detected) {
				kh_buf_string(b, "\t");
				kh_buf_string(b, word);
			}
		}
		kh_buf_string(b, "\n");
	}
	free(v);
	return rc ? rc : kh_buf_check(b, err);
}

int kh_merge_blanks_drop(kh_tsv *profile, kh_buf *b, bool *changed, kh_err *err)
{
	struct row r = { .at = { -1, -1, -1 } };
	int rc;

	*changed = false;
	while ((rc = next_row(profile, &r, err)) > 0) {
		*changed |= r.at.blank >= 0;
		for (int i = 0; i < r.n; i++)
			put_column(b, &r, i);
		kh_buf_string(b, "\n");
	}
	return rc ? rc : kh_buf_check(b, err);
}
