/* report.c - samples as one report, as if their reads were those of one sample */
#include <config.h>
#include "merge/formats_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "run/report.h"

/* The table's taxa in its order, as a report needs them. */
struct tree {
	kh_taxonomy t;
	const kh_merge *m;
	uint32_t *at;                   /* by taxon of the table: its place in the order */
};

static void clear_tree(struct tree *x)
{
	free(x->t.taxid);
	free(x->t.parent);
	free(x->t.end);
	free(x->t.name);
	free(x->t.steps);
	free(x->t.level);
	free(x->at);
}

/* "S1" says how far up the next taxon with a letter is.  Reports that have no code for some taxa
 * leave that to be counted. */
static void set_code(kh_taxonomy *t, uint32_t i, const char *code)
{
	static const char letters[] = "RDKPCOFGS";
	const char *letter = code[0] ? strchr(letters, code[0]) : NULL;

	t->level[i] = letter ? (uint8_t)(letter - letters) : t->level[t->parent[i]];
	t->steps[i] = letter ? (uint32_t)strtoul(code + 1, NULL, 10) : t->steps[t->parent[i]] + 1;
}

static int make_tree(struct tree *x, kh_err *err)
{
	const kh_merge *m = x->m;
	kh_taxonomy *t = &x->t;

	t->n = (uint32_t)m->n;
	t->taxid = kh_array(m->n, sizeof *t->taxid, err);
	t->parent = kh_array(m->n, sizeof *t->parent, err);
	t->end = kh_array(m->n, sizeof *t->end, err);
	t->name = kh_array(m->n, sizeof *t->name, err);
	t->steps = kh_array(m->n, sizeof *t->steps, err);
	t->level = kh_array(m->n, sizeof *t->level, err);
	x->at = kh_array(m->n, sizeof *x->at, err);
	if (!t->taxid || !t->parent || !t->end || !t->name || !t->steps || !t->level || !x->at)
		return KH_ENOMEM;
	if (m->names.n > UINT32_MAX)
		return kh_fail(err, KH_EFORMAT, "the names of all taxa are more than 4 GiB");
	t->names = m->names.p;
	for (uint32_t i = 0; i < t->n; i++) {
		const kh_merge_taxon *of = &m->taxon[m->order[i]];

		x->at[m->order[i]] = i;
		t->taxid[i] = of->taxid;
		t->name[i] = (uint32_t)of->name;
		t->parent[i] = i ? x->at[of->parent] : 0;
		t->end[i] = i + 1;
		set_code(t, i, of->code);
	}
	for (uint32_t i = t->n; i-- > 1;)
		if (t->end[t->parent[i]] < t->end[i])
			t->end[t->parent[i]] = t->end[i];
	return KH_OK;
}

/* --- counts ------------------------------------------------------------------------- */
static void add_reads(kh_tally *sum, const kh_merge *m, const kh_merge_options *o)
{
	for (size_t s = o->from; s < o->to; s++)
		sum->unclassified += m->sample[s].unclassified;
	for (size_t i = 0; i < m->n; i++)
		for (size_t c = m->first[i]; c < m->first[i + 1]; c++)
			if (m->cell[c].sample >= o->from && m->cell[c].sample < o->to)
				sum->direct[i] += m->cell[c].direct;
}

void kh_merge_report(const kh_merge *m, const kh_merge_options *o, kh_merge_sink *s)
{
	const kh_report_options ro = { .zero_counts = false };
	struct tree x = { .m = m };
	kh_tally sum = { .n = 0 };
	kh_err *err = s->err;
	int rc = m->n ? KH_OK : kh_fail(err, KH_EFORMAT, "no report has a row for the root");

	if (!rc)
		rc = make_tree(&x, err);
	if (!rc)
		rc = kh_tally_init(&sum, x.t.n, false, err);
	if (!rc) {
		add_reads(&sum, m, o);
		rc = kh_report(&s->b, &x.t, &sum, &ro, err);
	}
	s->rc = rc;
	kh_tally_clear(&sum);
	clear_tree(&x);
}
