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
	struct verdict *v = kh_array(m ? m->n_blanks : 0, sizeof *v, err);

	*n = 0;
	for (size_t i = 0; v && m && i < m->n_blanks; i++)
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

/* Appends a row with a word behind the column `detected`; NULL: without one. */
static void put_row(kh_buf *b, const kh_span *c, int n, struct columns at, const char *word)
{
	for (int i = 0; i < n; i++) {
		if (i == at.blank)
			continue;
		kh_buf_string(b, i > 0 ? "\t" : "");
		kh_buf_add(b, c[i].p, c[i].n);
		if (i == at.detected && word) {
			kh_buf_string(b, "\t");
			kh_buf_string(b, word);
		}
	}
	kh_buf_string(b, "\n");
}

int kh_merge_blanks_profile(const kh_merge *m, uint32_t sample, kh_tsv *profile, kh_buf *b,
			    bool *changed, kh_err *err)
{
	struct columns at = { -1, -1, -1 };
	struct verdict key = { 0, NULL };
	kh_span row, c[MOST];
	size_t known;
	struct verdict *v = verdicts_of(m, sample, &known, err), *found;
	int got, rc = v ? KH_OK : KH_ENOMEM;

	*changed = false;
	while (!rc && (got = kh_tsv_next(profile, &row, err)) != 0) {
		const char *word = m ? "blank" : NULL;
		const bool header = at.taxid < 0;
		const int n = kh_span_split(row, c, MOST);

		if (header && got > 0)
			at = find_columns(c, n);
		if (got < 0 || n > MOST || at.taxid < 0 || at.taxid >= n || at.blank >= n) {
			rc = got < 0 ? got : kh_fail(err, KH_EFORMAT, "%s: was changed while it "
						     "was used", profile->name);
		} else {
			if (m && !header) {
				found = kh_span_u32(c[at.taxid], &key.taxid)
					? bsearch(&key, v, known, sizeof *v, by_taxid) : NULL;
				word = found ? found->name : "-";
			}
			*changed |= (at.blank >= 0) != (m != NULL) ||
				    (m && !kh_span_is(c[at.blank], word));
			put_row(b, c, n, at, word);
		}
	}
	free(v);
	return rc ? rc : kh_buf_check(b, err);
}
