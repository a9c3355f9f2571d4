#include <config.h>
#include "run/results.h"

#include <stdlib.h>

int kh_results_open(kh_results *r, const kh_sheet_sample *x, unsigned threads, kh_monitor *m,
		    kh_err *err)
{
	int rc = KH_OK;

	for (int k = 0; k < KH_N_RESULTS && !rc; k++)
		if (x->path[k]) {
			const kh_writer_options o = {
				.path = x->path[k],
				.bgzf = k != KH_RESULT_CANDIDATES &&
					kh_writer_wants_bgzf(x->path[k]),
				.digest = x->path[KH_RESULT_SUMMARY] != NULL,
				.threads = k < KH_N_BY_FRAGMENT ? threads : 1
			};

			rc = kh_writer_open_for(&r->out[k], &o, m, err);
		}
	return rc;
}

void kh_results_close(kh_results *r)
{
	for (int k = 0; k < KH_N_RESULTS; k++)
		kh_writer_close(r->out[k]);
	kh_tally_clear(&r->tally);
	kh_pass_close(r->pass);
	kh_team_free(r->team);
	kh_answers_out_free(r->answers);
	free(r->digest);
	*r = (kh_results) { .pass = NULL };
}

int kh_results_end_answers(kh_results *r, kh_err *err)
{
	const kh_buf *b;
	int rc = kh_answers_out_end(r->answers, r->sum.answers.reads, &b, err);

	return rc ? rc : kh_writer_put(r->out[KH_RESULT_CANDIDATES], b->p, b->n, err);
}

bool kh_results_want_reads(const kh_results *r)
{
	for (int k = KH_RESULT_CLASSIFIED; k < KH_N_BY_FRAGMENT; k++)
		if (r->out[k])
			return true;
	return false;
}

int kh_results_help(kh_results *r)
{
	int rc = KH_OK;

	for (int k = 0; k < KH_N_BY_FRAGMENT && !rc; k++)
		if (r->out[k])
			rc = kh_writer_help(r->out[k]);
	return rc;
}
