/* classify_results.c - writes the results that are made of a sample's counts */
#include <config.h>
#include "cmd/classify_in.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include "base/threads.h"
#include "cmd/record.h"

static int write_report(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct classify *j = arg;
	const kh_report_options o = { .zero_counts = j->v.zero_counts,
				      .plain = j->kraken,
				      .minimizer_data = j->v.distinct,
				      .mpa = j->v.mpa };

	(void)i;
	return kh_report(b, j->db->tax, &r->tally, &o, err);
}

/* --- names -------------------------------------------------------------------------- */
int kh_classify_sample_name(const struct classify *j, size_t i, char **name, kh_err *err)
{
	static const char *const end[] = { ".gz", ".bgz", ".fastq", ".fq", ".fasta", ".fa",
					   ".fna", "_1", "_R1" };
	const kh_sheet_sample *x = &j->sheet.v[i];
	const char *given = x->name ? x->name : j->v.many.sample;
	const char *from = given ? given
			   : j->v.out.prefix ? j->v.out.prefix : x->reads[0].path[0][0];
	const char *slash = given ? NULL : strrchr(from, '/');

	*name = strdup(slash && slash[1] ? slash + 1 : from);
	if (!*name)
		return kh_fail_nomem(err);
	for (size_t k = 0; k < sizeof end / sizeof *end && !given && !j->v.out.prefix; k++) {
		const size_t n = strlen(*name), m = strlen(end[k]);
		const bool mate = end[k][0] == '_';

		if (n > m && strcmp(*name + n - m, end[k]) == 0 && (!mate || x->reads[0].paired))
			(*name)[n - m] = '\0';
	}
	return KH_OK;
}

static int write_profile(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct classify *j = arg;

	(void)i;
	return kh_profile_table(b, j->db, r, err);
}

/* --- summary ------------------------------------------------------------------------ */
static json_t *words(const char *const *word, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, kh_record_path(word[i]));
	return a;
}

/* As the rule of the database has it: Kraken 2's is the number itself. */
static json_t *confidence(const struct classify *j)
{
	char text[32];

	if (!j->db->k2)
		return json_integer(j->rule.confidence);
	snprintf(text, sizeof text, "%.15g", 1000 * j->v.confidence);
	return json_string(text);
}

/* All options that the files of a sample depend on. */
static json_t *parameters(const struct classify *j)
{
	const struct classify_values *v = &j->v;

	return json_pack("{s:b, s:b, s:b, s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:b, s:b, "
			 "s:b, s:s, s:o, s:o, s:o, s:o, s:b, s:I, s:I, s:b, s:o, s:o, s:s?}",
			 "lineage_column", (int)v->line.lineage,
			 "second_best", (int)v->line.second,
			 "sample_pass", (int)v->sample_pass,
			 "profile", kh_record_path(v->out.profile),
			 "confidence_thousandths", confidence(j),
			 "use_names", (int)v->line.names,
			 "report_zero_counts", (int)v->zero_counts,
			 "report_minimizer_data", (int)v->distinct,
			 "use_mpa_style", (int)v->mpa, "no_mate_check", (int)v->reads.no_mate_check,
			 "allow_no_eof", (int)v->reads.allow_no_eof, "paired", (int)v->reads.paired,
			 "interleaved", (int)v->reads.interleaved,
			 "write", v->out.write ? v->out.write : "lines,report,json",
			 "classified_out", kh_record_path(v->out.classified),
			 "unclassified_out", kh_record_path(v->out.unclassified),
			 "extract", words(v->extract.v, v->extract.n),
			 "exclude", words(v->exclude.v, v->exclude.n),
			 "quick", (int)v->kraken.quick,
			 "minimum_hit_groups", (json_int_t)v->kraken.min_groups,
			 "minimum_base_quality", (json_int_t)v->kraken.min_quality,
			 "identity", (int)v->line.identity, "paf", kh_record_path(v->out.paf),
			 "sam", kh_record_path(v->out.sam), "unknown", v->unknown);
}

static json_t *host(void)
{
	struct utsname u;

	if (uname(&u) != 0)
		return json_object();
	return json_pack("{s:o, s:s, s:s, s:s, s:i}", "name", kh_record_path(u.nodename),
			 "system", u.sysname, "release", u.release, "machine", u.machine,
			 "cpus", (int)kh_cpus());
}

json_t *kh_classify_record(const struct classify *j, json_t *inputs, json_t *outputs)
{
	size_t n = 0;

	while (j->argv[n])
		n++;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "command",
			 words((const char *const *)j->argv, n), "inputs", inputs, "outputs",
			 outputs, "parameters", parameters(j), "database",
			 json_incref(j->database), "host", host());
}

static json_t *database(const kh_db *db)
{
	const kh_db_header *h = db->h;
	const char *scheme = db->k2 ? "kraken2" : kh_scheme_name(h->sampling.scheme);
	char digest[20], name[256];

	snprintf(digest, sizeof digest, "%016" PRIx64, h->digest);
	kh_cmd_db_name(db, name, sizeof name);
	return json_pack("{s:o, s:s, s:I, s:s, s:I, s:I, s:I, s:s}", "name",
			 kh_record_path(name), "tool", h->tool,
			 "version", (json_int_t)h->version, "scheme", scheme,
			 "k", (json_int_t)h->sampling.k, "targets", (json_int_t)h->n_targets,
			 "features", (json_int_t)h->features, "digest", digest);
}

/* What may differ between two runs that give the same counts. */
static json_t *run(const struct classify *j, size_t i, const kh_results *r, const char *name)
{
	char date[KH_DATE];

	kh_cmd_date(kh_cmd_now(), date);
	json_t *o = json_pack("{s:s, s:o, s:s, s:i, s:f, s:f, s:f, s:I}", "date", date,
			      "sample", kh_record_path(name),
			      "backend", j->on.choice.backend->name,
			      "threads", (int)j->on.threads, "seconds_database", j->loaded,
			      "seconds_classify", r->sum.seconds,
			      "seconds_total", kh_cmd_seconds(),
			      "peak_memory", (json_int_t)kh_cmd_peak());
	json_t *record = kh_classify_record(j, json_incref(j->sample[i].inputs),
					    kh_record_outputs(&j->sheet.v[i], r));
	const bool whole = o && record && json_object_update(o, record) == 0;

	json_decref(record);
	if (!whole)
		json_decref(o);
	return whole ? o : NULL;
}

/* Whether the second pass changed calls, and how many. */
static json_t *pass(const kh_pass_result *r)
{
	const char *state = r->model->changes ? "changed"
			  : r->model->small   ? "kept: too few fragments"
					      : "kept: not asked for";

	return json_pack("{s:s, s:I, s:I, s:I}", "calls", state, "changed",
			 (json_int_t)r->changed, "classes", (json_int_t)r->classes->n,
			 "least_fragments", (json_int_t)KH_SAMPLE_LEAST);
}

static int write_summary(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct classify *j = arg;
	char *name = NULL;
	int rc = j->feed.digests ? kh_record_digests(j->sample[i].inputs, &j->sheet, i, r, err)
				 : KH_OK;

	if (rc || (rc = kh_classify_sample_name(j, i, &name, err)))
		return rc;
	const kh_run_summary *s = &r->sum;
	json_t *root = json_pack("{s:s, s:s, s:o, s:{s:I, s:I, s:I, s:I}, s:{s:f}, s:o*, s:o}",
				 "tool", "kmerhash",
				 "version", PACKAGE_VERSION, "database", database(j->db),
				 "fragments", "input", (json_int_t)s->fragments,
				 "classified", (json_int_t)s->classified,
				 "unclassified", (json_int_t)(s->fragments - s->classified),
				 "bases", (json_int_t)s->bases,
				 "options", "confidence", j->v.confidence,
				 "sample", r->pass ? pass(kh_pass_result_of(r->pass)) : NULL,
				 "run", run(j, i, r, name));
	free(name);
	return kh_record_text(b, root, err);
}

kh_write_fn *const kh_classify_write[KH_N_RESULTS] = {
	[KH_RESULT_REPORT] = write_report,
	[KH_RESULT_PROFILE] = write_profile,
	[KH_RESULT_PAGE] = kh_classify_page,
	[KH_RESULT_SUMMARY] = write_summary,
};
