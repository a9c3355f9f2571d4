/* flow_format.c - the outputs of a job: flow_in.h */
#include <config.h>
#include "run/flow_in.h"

#include "run/select.h"

kh_result_bufs kh_flow_bufs(const kh_flow *f, flow_job *w)
{
	kh_buf *to[KH_N_BY_FRAGMENT];
	const int c = KH_RESULT_CLASSIFIED, u = KH_RESULT_UNCLASSIFIED;

	for (int k = 0; k < KH_N_BY_FRAGMENT; k++) {
		w->buf[k].n = 0;
		to[k] = f->results->out[k] ? &w->buf[k] : NULL;
	}
	return (kh_result_bufs) {
		.lines = to[KH_RESULT_LINES],
		.reads = { [KH_SIDE_CLASSIFIED] = { to[c], to[to[c + 1] ? c + 1 : c] },
			   [KH_SIDE_UNCLASSIFIED] = { to[u], to[to[u + 1] ? u + 1 : u] } },
		.single = { [KH_SIDE_CLASSIFIED] = to[KH_RESULT_CLASSIFIED_SINGLE],
			    [KH_SIDE_UNCLASSIFIED] = to[KH_RESULT_UNCLASSIFIED_SINGLE] }
	};
}

static void format_reads(const kh_flow *f, flow_job *w, size_t i, const kh_result_bufs *to)
{
	const uint32_t taxon = w->call[i].taxon;
	const enum kh_side side = kh_select_side(f->style->select, taxon);
	const kh_block *b[2];
	const kh_record *r[2];

	if (side == KH_SIDE_NEITHER || !to->reads[side][0])
		return;
	kh_job_records(&w->job, i, b, r);
	for (int mate = 0; mate < 2 && r[mate]; mate++)
		kh_format_read(kh_result_buf_reads(to, side, mate, r[1] != NULL), f->style, b[mate],
			       r[mate],
			       side == KH_SIDE_CLASSIFIED ? f->style->tax->taxid[taxon] : 0);
}

/* Where a fragment lies, if it is selected: of what is called without a selection. */
static void format_places(const kh_flow *f, flow_job *w, size_t i)
{
	const kh_select *s = f->style->select;

	if (s && s->side && kh_select_side(s, w->call[i].taxon) != KH_SIDE_CLASSIFIED)
		return;
	if (f->results->out[KH_RESULT_PAF])
		kh_format_paf(&w->buf[KH_RESULT_PAF], f->db, &w->task, i);
	if (f->results->out[KH_RESULT_SAM])
		kh_format_sam(&w->buf[KH_RESULT_SAM], &w->one, f->db, &w->task, i);
}

/* Adds to the sums of the worker once a job, not for every read: the structs of workers share
 * cache lines, which would then move between cores all the time. */
int kh_flow_format(kh_flow *f, kh_flow_worker *self, flow_job *w, kh_err *err)
{
	const kh_result_bufs to = kh_flow_bufs(f, w);
	kh_pass *pass = f->results->pass;
	/* otherwise outputs are made when all calls are final */
	const bool now = !pass || !kh_pass_writes(pass);
	const bool lines = now && to.lines, reads = now && kh_results_want_reads(f->results);
	const bool places = f->results->out[KH_RESULT_PAF] || f->results->out[KH_RESULT_SAM];
	uint64_t classified = 0;

	for (size_t i = 0; i < w->job.n; i++) {
		const uint32_t taxon = w->call[i].taxon;

		if (taxon != KH_NO_TAXON) {
			self->tally.direct[taxon]++;
			classified++;
			if (self->tally.bases)
				self->tally.bases[taxon] += kh_job_fragment(&w->job, i);
		}
		if (lines)
			kh_format_line(to.lines, f->style, &w->task, i);
		if (places)
			format_places(f, w, i);
		if (reads)
			format_reads(f, w, i, &to);
	}
	self->sum.fragments += w->job.n;
	self->sum.classified += classified;
	self->tally.unclassified += w->job.n - classified;
	return pass ? kh_pass_count(pass, (unsigned)(self - f->worker), &w->task, err) : KH_OK;
}
