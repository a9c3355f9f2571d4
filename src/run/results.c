#include <config.h>
#include "run/results.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

int kh_results_open(kh_results *r, const kh_results_options *o, kh_monitor *m, kh_err *err)
{
	if (o->pass)
		r->pass = o->pass;

	int rc = kh_tally_init(&r->tally, o->n_taxa, o->distinct, err);

	for (int k = 0; k < KH_N_RESULTS && !rc; k++)
		if (o->path[k]) {
			const kh_text_options t = { .path = o->path[k],
						    .bgzf = kh_text_wants_bgzf(o->path[k]),
						    .threads = o->threads };

			rc = kh_text_open(&r->out[k], &t, m, err);
		}
	return rc;
}

bool kh_results_any(const kh_results *r)
{
	for (int k = 0; k < KH_N_RESULTS; k++)
		if (r->out[k])
			return true;
	return false;
}

int kh_results_help(kh_results *r)
{
	int rc = KH_OK;

	for (int k = 0; k < KH_N_RESULTS && !rc; k++)
		if (r->out[k])
			rc = kh_text_help(r->out[k]);
	return rc;
}

int kh_results_commit(kh_results *r, kh_text *const *also, size_t n, kh_err *err)
{
	kh_text **all = kh_array(KH_N_RESULTS + n, sizeof(kh_text *), err);
	int rc = KH_ENOMEM;

	if (!all)
		return rc;
	memcpy(all, r->out, sizeof r->out);
	memcpy(all + KH_N_RESULTS, also, n * sizeof *also);
	rc = kh_text_commit(all, KH_N_RESULTS + n, err);
	free(all);
	return rc;
}

void kh_results_close(kh_results *r)
{
	for (int k = 0; k < KH_N_RESULTS; k++) {
		kh_text_close(r->out[k]);
		r->out[k] = NULL;
	}
	kh_tally_clear(&r->tally);
	kh_pass_close(r->pass);
	r->pass = NULL;
}
