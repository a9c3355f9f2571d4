/* classify_samples.c - classify --samples: each sample, and what is already done */
#include <config.h>
#include "cmd/classify_samples_in.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "cmd/record.h"
#include "cmd/summary.h"
#include "io/temporary.h"
#include "run/registers.h"

/* --- what is recorded ------------------------------------------------------------- */
static json_t *words(const kh_words *w)
{
	return kh_record_paths((char *const *)w->v, w->n);
}

/* All options that the files of a sample depend on. */
static json_t *parameters(const struct classify *j)
{
	const struct classify_values *v = &j->v;

	return json_pack("{s:b, s:s?, s:s?, s:I, s:b, s:s, s:b, s:b, s:b, s:b, s:b, s:b, "
			 "s:b, s:s, s:s?, s:s?, s:o, s:o}",
			 "sample_pass", (int)v->sample_pass, "profile", v->profile,
			 "registers", v->registers,
			 "confidence_thousandths", (json_int_t)j->o.rule.confidence,
			 "use_names", (int)v->names,
			 "kraken_col5", v->col5 ? v->col5 : "features",
			 "report_zero_counts", (int)v->zero_counts,
			 "report_minimizer_data", (int)v->minimizer_data,
			 "use_mpa_style", (int)v->mpa, "no_mate_check", (int)v->no_mate_check,
			 "allow_no_eof", (int)v->allow_no_eof, "paired", (int)v->paired,
			 "interleaved", (int)v->interleaved,
			 "output_format", v->output_format ? v->output_format : "tsv",
			 "classified_out", v->classified, "unclassified_out", v->unclassified,
			 "extract", words(&v->extract), "exclude", words(&v->exclude));
}

static json_t *command(char *const *argv)
{
	json_t *a = json_array();

	for (; *argv; argv++)
		json_array_append_new(a, kh_record_path(*argv));
	return a;
}

json_t *kh_classify_record(const struct classify *j, json_t *inputs, json_t *outputs)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "command", command(j->argv), "inputs",
			 inputs, "outputs", outputs, "parameters", parameters(j), "database",
			 kh_record_database(j->db), "host", kh_record_host());
}

/* --- a sample --------------------------------------------------------------------- */
/* Have its files been made already, from the same reads, parameters and database? 1, 0, < 0 */
static int is_done(const struct samples *s, size_t i, kh_err *err)
{
	const struct files *f = &s->files[i];
	int rc = 0;

	if (!s->j->v.resume || access(f->path[JSON], F_OK) != 0)
		return 0;
	json_t *inputs = kh_record_inputs(&s->sheet.v[i], true, err);
	if (!inputs)
		return err->code;
	json_t *now = kh_classify_record(s->j, inputs, json_array());
	rc = kh_record_same(f->path[JSON], now);
	json_decref(now);
	if (rc)
		kh_log(KH_INFO, "sample %s: is there already", s->sheet.v[i].name);
	return rc;
}

static int open_table(kh_text **out, const char *path, kh_monitor *m, kh_err *err)
{
	if (!path)
		return KH_OK;
	const kh_text_options o = { .path = path,
				    .bgzf = kh_text_wants_bgzf(path),
				    .threads = 1 };

	return kh_text_open(out, &o, m, err);
}

/* Opens its second pass, if it has one. */
static int open_second(const struct samples *s, const struct files *f, kh_monitor *m,
		       kh_pass **pass, kh_err *err)
{
	const struct classify *j = s->j;
	const kh_pass_options o = { .db = j->db,
				      .rule = &j->o.rule,
				      .style = &j->o.style,
				      .m = m,
				      .threads = j->o.threads,
				      .change = j->v.sample_pass,
				      .lines = f->path[KH_RESULT_LINES] != NULL,
				      .reads = j->v.classified || j->v.unclassified,
				      .beside = f->path[REPORT] };

	if (!j->v.sample_pass && !j->v.profile)
		return KH_OK;
	return kh_pass_open(pass, &o, err);
}

static int open_sample(void *arg, size_t i, kh_monitor *m, kh_results_options *o, kh_err *err)
{
	struct samples *s = arg;
	struct files *f = &s->files[i];
	int rc = is_done(s, i, err);

	if (rc)
		return rc;
	for (int k = 0; k < KH_N_RESULTS; k++)
		o->path[k] = f->path[k];
	f->inputs = kh_record_inputs(&s->sheet.v[i], false, err);
	if (!f->inputs)
		return err->code;
	if ((rc = open_table(&f->report, f->path[REPORT], m, err)) ||
	    (rc = open_table(&f->profile, f->path[PROFILE], m, err)) ||
	    (rc = open_table(&f->registers, f->path[REGISTERS], m, err)) ||
	    (rc = open_table(&f->json, f->path[JSON], m, err)))
		return rc;
	return open_second(s, f, m, &o->pass, err);
}

/* Notes the digests of files that were read in order, so that they are not read again. */
static int read_sample(void *arg, size_t i, size_t k, const kh_feed *feed, kh_err *err)
{
	struct samples *s = arg;
	const kh_sheet_reads *r = s->sheet.v[i].reads;
	uint64_t digest;
	size_t input = 0;
	int rc = KH_OK;

	for (size_t before = 0; before < k; before++)
		input += r[before].n * (r[before].paired ? 2 : 1);
	for (size_t f = 0; f < r[k].n; f++)
		for (unsigned mate = 0; mate <= r[k].paired; mate++, input++)
			if (!rc && kh_feed_digest(feed, mate, f, &digest))
				rc = kh_record_digest(s->files[i].inputs, input, digest, err);
	return rc;
}

static int write_json(const struct samples *s, const struct files *f, const kh_results *r,
		      kh_err *err)
{
	const struct classify *j = s->j;
	json_t *rec = kh_classify_record(j, json_incref(f->inputs), kh_record_paths(f->path, JSON));
	const kh_summary x = { .db = j->db->h,
			       .counts = &r->sum,
			       .confidence = j->v.confidence,
			       .backend = j->choice.backend->name,
			       .processes = 1,
			       .threads = j->o.threads,
			       .pass = kh_pass_result_of(r->pass),
			       .seconds_database = j->loaded,
			       .record = rec };
	kh_buf b = { NULL, 0, 0 };
	int rc = rec ? kh_summary_text(&b, &x, err) : kh_fail_nomem(err);

	if (!rc)
		rc = kh_text_put(f->json, b.p, b.n, NULL, err);
	free(b.p);
	json_decref(rec);
	return rc;
}

static int finish_sample(void *arg, size_t i, kh_results *r, kh_text *table[KH_SAMPLE_TABLES],
			 kh_err *err)
{
	struct samples *s = arg;
	const struct classify_values *v = &s->j->v;
	const struct files *f = &s->files[i];
	const kh_report_options o = { .zero_counts = v->zero_counts,
				      .minimizer_data = v->minimizer_data,
				      .mpa = v->mpa };
	const kh_sampling sampling = kh_db_sampling(s->j->db->h);
	kh_buf b = { NULL, 0, 0 };
	int rc = kh_record_digests(f->inputs, &s->sheet.v[i], err);

	if (!rc && f->registers)        /* before the report sums up clades */
		rc = kh_registers_write(f->registers, &r->tally.distinct, s->j->db->tax,
					&sampling, err);
	if (!rc)
		rc = kh_report(&b, s->j->db->tax, &r->tally, &o, err);
	if (!rc)
		rc = kh_text_put(f->report, b.p, b.n, NULL, err);
	b.n = 0;
	if (!rc && f->profile)
		rc = kh_classify_profile(s->j, f->path[PROFILE], r, &b, err);
	if (!rc && f->profile)
		rc = kh_text_put(f->profile, b.p, b.n, NULL, err);
	free(b.p);
	table[0] = f->report;
	table[1] = f->profile;
	table[2] = f->registers;
	table[3] = f->json;             /* the last file: where the summary is, all others are */
	return rc ? rc : write_json(s, f, r, err);
}

static void close_sample(void *arg, size_t i, const kh_results *r, const kh_err *err)
{
	struct samples *s = arg;
	struct files *f = &s->files[i];
	const char *name = s->sheet.v[i].name;

	if (err && err->code != KH_ECANCEL) {
		kh_err told = { .code = err->code };

		kh_fail(&told, err->code, "sample %s: %.400s", name, err->msg);
		kh_cmd_fail(&kh_cmd_classify, &told);
	} else if (!err && f->inputs) {
		kh_log(KH_INFO,
		       "sample %s: %" PRIu64 " fragments, %" PRIu64 " classified (%.2f %%)", name,
		       r->sum.fragments, r->sum.classified,
		       r->sum.fragments
			       ? 100.0 * (double)r->sum.classified / (double)r->sum.fragments
			       : 0.0);
	}
	f->there = !err;
	kh_text_close(f->report);
	kh_text_close(f->profile);
	kh_text_close(f->registers);
	kh_text_close(f->json);
	json_decref(f->inputs);
	f->report = f->profile = f->registers = f->json = NULL;
	f->inputs = NULL;
}

/* Memory that one sample frees, mostly blocks of text, is used by the next one. Giving it back to
 * the system in between would only make the system clear all of its pages again. */
static void keep_memory(void)
{
#if defined M_MMAP_THRESHOLD && defined M_TRIM_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* --- all of them ------------------------------------------------------------------ */
/* Bytes of the files of all samples, of those that are ordinary ones. */
static uint64_t bytes_of(const kh_sheet *s)
{
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->v[i].n_reads; k++) {
			const kh_sheet_reads *r = &s->v[i].reads[k];

			for (size_t f = 0; f < (r->paired ? 2 : 1) * r->n; f++)
				if (stat(r->path[f / r->n][f % r->n], &st) == 0 &&
				    S_ISREG(st.st_mode))
					bytes += (uint64_t)st.st_size;
		}
	return bytes;
}

static int run_samples(struct samples *s, kh_samples_summary *sum, kh_err *err)
{
	struct classify *j = s->j;
	const kh_compute_options co = { .rule = &j->o.rule,
					.choice = j->o.choice,
					.placement = j->o.placement,
					.gpu_memory = j->o.gpu_memory,
					.workers = j->o.threads,
					.input = bytes_of(&s->sheet),
					.block_size = j->o.feed.block_size };
	const kh_samples_options so = {
		.sample = s->sheet.v,
		.n = s->sheet.n,
		.db = j->db,
		.compute = &s->compute,
		.style = &j->o.style,
		.feed = j->o.feed,
		.distinct = j->o.distinct,
		.keep_going = j->v.keep_going,
		.at_once = s->sheet.n < j->o.threads ? (unsigned)s->sheet.n : j->o.threads,
		.open = open_sample,
		.read = read_sample,
		.finish = finish_sample,
		.close = close_sample,
		.arg = s
	};
	int rc = kh_compute_open(&s->compute, j->db, &co, err);

	if (rc)
		return rc;
	j->loaded += s->compute.seconds;
	kh_temporary_list(j->v.outdir);
	rc = kh_samples_run(&so, sum, err);
	kh_temporary_unlist();
	return rc;
}

/* --- a page of all ---------------------------------------------------------------- */
/* Before anything is classified: whether it can be written is known then. */
static int open_page(struct classify *j, kh_err *err)
{
	if (!j->v.html)
		return KH_OK;
	const kh_text_options o = { .path = j->v.html,
				    .bgzf = kh_text_wants_bgzf(j->v.html),
				    .threads = 1 };
	int rc = kh_monitor_new(&j->m, err);

	return rc ? rc : kh_text_open(&j->out.html, &o, j->m, err);
}

/* Of the samples that are there; none if there is none. */
static int write_page(struct samples *s, kh_err *err)
{
	kh_classify_report *r = kh_array(s->sheet.n, sizeof *r, err);
	size_t n = 0;
	int rc = r ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; r && i < s->sheet.n; i++)
		if (s->files[i].there)
			r[n++] = (kh_classify_report) { s->sheet.v[i].name,
							s->files[i].path[REPORT] };
	if (!rc && n > 0 && !(rc = kh_classify_samples_page(s->j, r, n, s->j->out.html, err)))
		rc = kh_text_commit(&s->j->out.html, 1, err);
	free(r);
	return rc;
}

static void tell(const struct samples *s, const kh_samples_summary *sum)
{
	const double t = kh_cmd_seconds();

	kh_log(KH_INFO, "%zu samples%s, %" PRIu64 " fragments, %" PRIu64 " classified",
	       sum->done, sum->skipped ? ", others were there already" : "", sum->fragments,
	       sum->classified);
	kh_log(KH_INFO, "%s classify on %s: %.2f s, of which %.2f s for the database, %.0f MB of "
	       "memory", PACKAGE_STRING, s->j->choice.backend->name, t, s->j->loaded,
	       (double)kh_cmd_peak() * 1e-6);
}

static void clear(struct samples *s)
{
	kh_compute_close(&s->compute);
	for (size_t i = 0; s->files && i < s->sheet.n; i++)
		for (int k = 0; k < N_FILES; k++)
			free(s->files[i].path[k]);
	free(s->files);
	kh_sheet_clear(&s->sheet);
	kh_errs_clear(&s->errs);
}

int kh_classify_samples(struct classify *j, int (*load)(struct classify *j, kh_err *err),
			kh_err *err)
{
	struct samples s = { .j = j };
	kh_samples_summary sum = { .done = 0 };
	int rc = kh_classify_samples_prepare(&s, err);

	if (!rc && s.errs.found > 0) {
		kh_cmd_fail_all(&kh_cmd_classify, &s.errs);
		rc = kh_fail(err, KH_EFORMAT, "%s: nothing is classified before that is mended",
			     j->v.samples);
	}
	if (!rc && j->v.dry_run) {
		printf("samples\t%zu\ninputs\t%zu\n", s.sheet.n, s.sheet.n_text);
		clear(&s);
		return KH_OK;
	}
	keep_memory();
	if (!rc && !(rc = open_page(j, err)))
		rc = load(j, err);
	j->loaded = kh_cmd_seconds();
	if (!rc)
		rc = run_samples(&s, &sum, err);
	if (!rc && j->v.html)
		rc = write_page(&s, err);
	if (!rc)
		tell(&s, &sum);
	if (!rc && sum.failed > 0)
		rc = kh_fail(err, KH_EIO, "%zu of %zu samples failed", sum.failed, s.sheet.n);
	else if (rc && sum.failed > 0)
		rc = kh_fail(err, rc, "stopped, %zu of %zu samples are done (--keep-going goes on "
			     "behind one that fails)", sum.done, s.sheet.n);
	clear(&s);
	return rc;
}
