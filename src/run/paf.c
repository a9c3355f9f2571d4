#include <config.h>
#include "run/format.h"

#include <string.h>
#include "base/digits.h"

enum {
	FIXED = 512,            /* all of a line but names and the list of gaps */
	RUN = 32                /* of that, an HSP and a gap */
};

static char *put_field(char *at, uint64_t x)
{
	*at = '\t';
	return put_number(at + 1, x);
}

/* Of all columns, where a gap is one, the share that differs, as 0.0123. */
static char *put_divergence(char *at, const kh_aligned *x)
{
	const uint64_t all = x->columns - x->gap_columns + x->gaps;
	const uint64_t share = ((all - x->matches) * 20000 / all + 1) / 2;

	at = put_text(at, share < 10000 ? "0." : "1.", 2);
	at = put_number(at, share / 1000 % 10);
	return put_three(at, (uint32_t)(share % 1000));
}

/* "60M1I89M" */
static char *put_gaps(char *at, const kh_align_run *run, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const int32_t gap = run[i].gap;

		at = put_number(at, run[i].columns);
		*at++ = 'M';
		if (gap == 0)
			continue;
		at = put_number(at, (uint64_t)(gap < 0 ? -(int64_t)gap : gap));
		*at++ = gap < 0 ? 'I' : 'D';
	}
	return at;
}

static void put_line(kh_buf *b, const kh_db *db, const kh_line_parts *l, const kh_alignments *a,
		     const kh_aligned *x)
{
	const kh_db_target *t = &db->target[x->target];
	const char *id = db->ids + t->id;
	const size_t len = strlen(id);
	char *at;

	if (!kh_buf_reserve(b, l->id_len + len + FIXED + RUN * (size_t)x->n_runs))
		return;
	at = put_text(b->p + b->n, l->id, l->id_len);
	if (l->mates)
		at = put_text(at, x->mate ? "/2" : "/1", 2);
	at = put_field(at, l->len[x->mate]);
	at = put_field(at, x->from);
	at = put_field(at, x->to);
	at = put_text(at, x->back ? "\t-\t" : "\t+\t", 3);
	at = put_text(at, id, len);
	at = put_field(at, t->bases);
	at = put_field(at, x->at);
	at = put_field(at, x->end);
	at = put_field(at, x->matches);
	at = put_field(at, x->columns);
	at = put_field(at, x->quality);
	at = put_text(at, "\ttp:A:P\tNM:i:", 13);
	at = put_number(at, x->columns - x->matches);
	at = put_text(at, "\tAS:i:", 6);
	at = put_number(at, x->score);
	at = put_text(at, "\tde:f:", 6);
	at = put_divergence(at, x);
	at = put_text(at, "\tcg:Z:", 6);
	at = put_gaps(at, a->run + x->first_run, x->n_runs);
	*at++ = '\n';
	b->n = (size_t)(at - b->p);
}

void kh_format_paf(kh_buf *b, const kh_db *db, const kh_task *t, size_t i)
{
	const kh_alignments *a = t->aligned;
	kh_line_parts l;

	if (a->list[i].n > 0)
		kh_line_of_records(&l, t->job, i);
	for (size_t k = 0; k < a->list[i].n; k++)
		put_line(b, db, &l, a, &a->v[a->list[i].from + k]);
}
