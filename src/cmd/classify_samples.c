/* classify_samples.c - begins, ends and reports the samples of a table */
#include <config.h>
#include "cmd/classify_in.h"
#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/record.h"

/* --- options ---------------------------------------------------------------------- */
int kh_classify_check_samples(const struct classify *j, int n_operands, kh_err *err)
{
	const struct classify_values *v = &j->v;

	for (const char *p = v->many.sample; p && *p; p++)
		if ((unsigned char)*p < ' ')
			return kh_fail(err, KH_EUSAGE, "--set sample: not printable text");
	if (!v->many.samples) {
		if (v->out.outdir || v->many.keep_going || v->many.resume)
			return kh_fail(err, KH_EUSAGE, "--outdir, --resume and --set keep-going "
				       "need --samples SHEET");
		if (v->out.write && !v->out.prefix)
			return kh_fail(err, KH_EUSAGE, "--write needs --prefix OUT, or --samples "
				       "SHEET");
		return KH_OK;
	}
	if (!v->out.outdir)
		return kh_fail(err, KH_EUSAGE, "--samples needs --outdir DIR");
	if (n_operands > 0)
		return kh_fail(err, KH_EUSAGE, "reads are named by --samples or by operands: not "
			       "both");
	if (v->out.output || v->out.report || v->out.json || v->out.prefix || v->many.sample)
		return kh_fail(err, KH_EUSAGE, "--samples names its outputs itself: no --output, "
			       "--report, --json, --prefix or --set sample");
	const char *end[] = { v->out.classified, v->out.unclassified, v->out.profile, v->out.paf,
			      v->out.sam };
	for (size_t i = 0; i < sizeof end / sizeof *end; i++)
		if (end[i] && strchr(end[i], '/'))
			return kh_fail(err, KH_EUSAGE, "'%s': with --samples that is how names "
				       "of files in --outdir end, and has no '/'", end[i]);
	if (v->kraken.bzip2)
		return kh_fail(err, KH_EUSAGE, "--set bzip2 is for operands");
	if (v->reads.paired || v->reads.interleaved)
		return kh_fail(err, KH_EUSAGE, "--samples says itself which reads are paired");
	if (v->out.html && v->mpa)
		return kh_fail(err, KH_EUSAGE, "--html of samples is made of their reports, which "
			       "--set mpa-style has no counts of taxa for");
	return KH_OK;
}

/* --- a sample --------------------------------------------------------------------- */
/* Have its files been made already, from the same reads, parameters and database? 1, 0, < 0 */
static int is_done(const struct classify *j, size_t i, kh_err *err)
{
	const kh_sheet_sample *x = &j->sheet.v[i];
	const char *summary = x->path[KH_RESULT_SUMMARY];
	json_t *inputs, *now;
	int rc;

	if (!j->v.many.resume || access(summary, F_OK) != 0)
		return 0;
	if (!(inputs = kh_record_inputs(&j->sheet, i, err)))
		return err->code;
	rc = kh_record_digests(inputs, &j->sheet, i, NULL, err);
	now = kh_classify_record(j, inputs, json_array());
	if (!rc && (rc = kh_record_same(x, now)))
		kh_log(KH_INFO, "sample %s: is there already", x->name);
	json_decref(now);
	return rc;
}

int kh_classify_begin(void *arg, size_t i, kh_err *err)
{
	struct classify *j = arg;
	const int rc = is_done(j, i, err);

	if (rc)
		return rc;
	j->sample[i].inputs = kh_record_inputs(&j->sheet, i, err);
	return j->sample[i].inputs ? KH_OK : err->code;
}

void kh_classify_end(void *arg, size_t i, const kh_results *r, const kh_err *err)
{
	struct classify *j = arg;
	const char *name = j->sheet.v[i].name;
	const kh_run_summary *s = &r->sum;

	if (name && err && err->code != KH_ECANCEL) {
		kh_err named = { .code = err->code };

		kh_fail(&named, err->code, "sample %s: %.400s", name, err->msg);
		kh_cmd_fail(j->command, &named);
	} else if (name && !err && j->sample[i].inputs) {
		kh_log(KH_INFO,
		       "sample %s: %" PRIu64 " fragment%s, %" PRIu64 " classified (%.2f %%)",
		       name, s->fragments, kh_plural(s->fragments), s->classified,
		       s->fragments ? 100.0 * (double)s->classified / (double)s->fragments : 0.0);
	}
	j->sample[i].there = !err;
	json_decref(j->sample[i].inputs);
	j->sample[i].inputs = NULL;
}

/* --- all of them ------------------------------------------------------------------ */
int kh_classify_tell_samples(const struct classify *j, int rc, kh_err *err)
{
	const kh_run_totals *t = &j->totals;

	if (!rc) {
		kh_log(KH_INFO, "%zu sample%s%s, %" PRIu64 " fragment%s, %" PRIu64 " classified",
		       t->done, kh_plural(t->done),
		       t->skipped ? ", others were there already" : "", t->sum.fragments,
		       kh_plural(t->sum.fragments), t->sum.classified);
		kh_log(KH_INFO,
		       "%s classify on %s: %.2f s, of which %.2f s for the database, %s of memory",
		       PACKAGE_STRING, j->on.choice.backend->name, kh_cmd_seconds(),
		       j->loaded, kh_size_show(kh_cmd_peak()).s);
	}
	if (t->failed == 0)
		return rc;
	char before[64] = "";
	if (t->skipped > 0)
		snprintf(before, sizeof before, ", %zu %s before", t->skipped,
			 t->skipped == 1 ? "was" : "were");
	return rc ? kh_fail(err, rc, "stopped, %zu of %zu sample%s %s done%s (--set keep-going "
			    "goes on behind one that fails)", t->done, j->sheet.n,
			    kh_plural(j->sheet.n), t->done == 1 ? "is" : "are", before)
		  : kh_fail(err, KH_EIO, "%zu of %zu sample%s failed", t->failed, j->sheet.n,
			    kh_plural(j->sheet.n));
}
