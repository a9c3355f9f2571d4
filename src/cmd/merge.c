/* cmd/merge.c - kmerhash merge */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/progress.h"
#include "cmd/options.h"
#include "io/paths.h"
#include "io/temporary.h"
#include "merge/blanks.h"
#include "merge/formats.h"
#include "merge/inputs.h"
#include "merge/summaries.h"

struct values {
	const char *output, *outdir, *format, *rank, *value, *list, *profile;
	const char *controls;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_TEXT("output", 'o', AT(output), "FILE", "the text of all samples [standard output]"),
	KH_TEXT("outdir", 'O', AT(outdir), "DIR", "in its place: a file a sample in this folder"),
	KH_TEXT("format", 'f', AT(format), "NAME",
		"table, html, krona, biom, cami-profile or blanks [table]"),
	KH_TEXT("rank", 'r', AT(rank), "RANK", "taxa of this rank only: species, S, S1"),
	KH_TEXT("value", 0, AT(value), "WHAT", "of a table: clade, reads, share, abundance or all"),
	KH_TEXT("list", 'l', AT(list), "FILE",
		"names of more reports, one a line, or SAMPLE tab NAME"),
	KH_OPTS_COMMON,
	KH_OPTS_END
};

static const kh_opt settings[] = {
	KH_TEXT("controls", 0, AT(controls), "SAMPLE,...",
		"blanks, html: the samples that are negative controls"),
	KH_TEXT("profile", 0, AT(profile), "NAME",
		"of a folder: the profiles SAMPLE.NAME in it, not the reports; html: both"),
	KH_SETTINGS_COMMON,
	KH_OPTS_END
};

struct merge_cmd {
	struct values v;
	const kh_merge_format *format;
	kh_merge_options o;
	kh_merge_files files;
	kh_merge m;
	kh_errs errs;
	kh_merge profiles;              /* of a page, beside the reports */
	char **beside;                  /* their files, or NULL */
	char **out;                     /* files that are written */
	size_t n_outputs;
};

/* --- options ---------------------------------------------------------------------- */
static int set_value(struct merge_cmd *j, kh_err *err)
{
	static const char *const name[] = { [KH_MERGE_CLADE] = "clade", [KH_MERGE_READS] = "reads",
					    [KH_MERGE_SHARE] = "share",
					    [KH_MERGE_ABUNDANCE] = "abundance",
					    [KH_MERGE_ALL] = "all" };
	unsigned i = 0;

	j->o.value = KH_MERGE_USUAL;
	if (!j->v.value)
		return KH_OK;
	while (i <= KH_MERGE_ALL && strcmp(j->v.value, name[i]) != 0)
		i++;
	if (i > KH_MERGE_ALL)
		return kh_fail(err, KH_EUSAGE, "--value: '%s' is none of clade, reads, share, "
			       "abundance, all",
			       j->v.value);
	j->o.value = (enum kh_merge_value)i;
	return KH_OK;
}

static int to_options(struct merge_cmd *j, kh_err *err)
{
	const char *name = j->v.format ? j->v.format : "table";

	j->format = kh_merge_format_find(name);
	if (!j->format)
		return kh_fail(err, KH_EUSAGE, "--format: '%s' is none of table, html, krona, "
			       "biom, cami-profile and blanks%s", name,
			       strcmp(name, "metaphlan") ? ""
			       : "; taxpasta and KrakenTools make MetaPhlAn's of a report");
	if (j->v.rank && !j->format->ranks)
		return kh_fail(err, KH_EUSAGE, "--rank has no meaning with --format %s", name);
	if (j->v.value && strcmp(name, "table") != 0)
		return kh_fail(err, KH_EUSAGE, "--value has no meaning with --format %s", name);
	if (j->v.rank && !(j->o.rank = kh_merge_rank(j->v.rank)))
		return kh_fail(err, KH_EUSAGE, "--rank: '%s' is neither a rank, such as species, "
			       "nor a code, such as S1", j->v.rank);
	if (j->v.controls && !j->format->controls && strcmp(name, "html") != 0)
		return kh_fail(err, KH_EUSAGE, "--set controls has no meaning with --format %s",
			       name);
	if (j->format->controls && !j->v.controls)
		return kh_fail(err, KH_EUSAGE, "--format %s needs --set controls=SAMPLE,...", name);
	if (j->v.output && j->v.outdir)
		return kh_fail(err, KH_EUSAGE, "--output or --outdir, not both");
	if (strcmp(name, "html") != 0)          /* else they are beside the reports */
		j->files.profile = j->v.profile;
	return set_value(j, err);
}

static int find_files(struct merge_cmd *j, int n, char **path, kh_err *err)
{
	int rc = KH_OK;

	for (int i = 0; i < n && !rc; i++)
		rc = kh_merge_files_add(&j->files, path[i], &j->errs, err);
	if (!rc && j->v.list)
		rc = kh_merge_files_list(&j->files, j->v.list, &j->errs, err);
	if (!rc)
		rc = kh_merge_files_check(&j->files, &j->errs, err);
	if (rc || j->errs.found > 0)
		return rc;
	if (j->files.n == 0)
		return kh_fail(err, KH_EUSAGE, "no reports are named");
	if (j->format->one_sample && j->files.n > 1 && !j->v.outdir)
		return kh_fail(err, KH_EUSAGE, "--format %s has one sample a file: %zu samples "
			       "need --outdir DIR", j->format->name, j->files.n);
	return KH_OK;
}

/* The profiles beside reports: SAMPLE.NAME, as the file of the report calls the sample. */
static int find_beside(struct merge_cmd *j, kh_err *err)
{
	int rc = KH_OK;

	if (j->files.profile || !j->v.profile)
		return KH_OK;
	j->beside = kh_array(j->files.n, sizeof *j->beside, err);
	if (!j->beside)
		return KH_ENOMEM;
	for (size_t i = 0; i < j->files.n && !rc; i++) {
		const char *path = j->files.v[i].path;
		char *name = kh_merge_sample_name(path);

		rc = name ? kh_path_beside(&j->beside[i], path, err, "%s.%s", name, j->v.profile)
			  : kh_fail_nomem(err);
		if (!rc)
			rc = kh_merge_check_run(j->beside[i], name, &j->errs, err);
		free(name);
	}
	return rc;
}

static int check_output(const struct merge_cmd *j, char *const *out, size_t n, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	for (size_t i = 0; i < n && !rc; i++)
		rc = kh_paths_output(p, out[i], err);
	for (size_t i = 0; i < j->files.n && !rc; i++)
		rc = kh_paths_input(p, j->files.v[i].path, "an input", err);
	if (!rc && j->beside)
		rc = kh_paths_inputs(p, (const char *const *)j->beside, j->files.n, "an input",
				     err);
	if (!rc && j->v.list)
		rc = kh_paths_input(p, j->v.list, "the list of inputs", err);
	kh_paths_free(p);
	return rc;
}

/* --- reading ---------------------------------------------------------------------- */
/* Marks the controls, and compares the other samples with them. */
static int compare_blanks(struct merge_cmd *j, kh_err *err)
{
	const char *end;

	for (const char *name = j->v.controls; name; name = *end ? end + 1 : NULL) {
		const size_t n = strcspn(name, ",");
		size_t i = 0;

		end = name + n;
		while (i < j->m.n_samples && (strlen(j->m.sample[i].name) != n ||
					      strncmp(j->m.sample[i].name, name, n) != 0))
			i++;
		if (i == j->m.n_samples)
			return kh_fail(err, KH_EUSAGE, "--set controls: no sample is called "
				       "'%.*s'", (int)n, name);
		j->m.sample[i].control = true;
	}
	return j->v.controls ? kh_merge_blanks(&j->m, err) : KH_OK;
}

/* What reports of one taxonomy, which count whole reads, do not have. */
static int warn_of_oddities(const kh_merge *m, kh_err *err)
{
	kh_merge_domain two[2];
	const int rc = kh_merge_two_domains(m, two, err);

	if (m->renamed > 0)
		kh_log(KH_WARN, "%" PRIu64 " row%s another name or rank than the same taxid "
		       "in an earlier report, which counts", m->renamed,
		       m->renamed == 1 ? " has" : "s have");
	if (m->rounded > 0)
		kh_log(KH_WARN, "%" PRIu64 " clade%s as many reads as %s parts but for one a part "
		       "at most, as in reports of Bracken, which rounds", m->rounded,
		       m->rounded == 1 ? " has" : "s have", m->rounded == 1 ? "its" : "their");
	if (rc == 1)
		kh_log(KH_WARN, "the reports are of two taxonomies, as %s is taxid %" PRIu32
		       " and %" PRIu32 ": their taxa have rows of their own", two[0].name,
		       two[0].taxid, two[1].taxid);
	return rc < 0 ? rc : KH_OK;
}

static int read_reports(struct merge_cmd *j, kh_err *err)
{
	kh_step step = { .doing = "read", .things = "reports", .started = kh_seconds(),
			 .total = j->files.n };
	int rc = KH_OK;

	for (; step.done < j->files.n && !rc; step.done++) {
		const kh_merge_file *f = &j->files.v[step.done];

		kh_progress(&step);
		rc = kh_merge_read(&j->m, f->sample, f->path, &j->errs, err);
		if (!rc && j->beside)
			rc = kh_merge_read(&j->profiles, f->sample, j->beside[step.done], &j->errs,
					   err);
	}
	kh_progress_end();
	if (rc || j->errs.found > 0)
		return rc;
	if ((rc = warn_of_oddities(&j->m, err)))
		return rc;
	if (j->beside && !j->profiles.profiles)
		return kh_fail(err, KH_EFORMAT, "%s is no profile", j->beside[0]);
	if (j->beside)
		rc = kh_merge_add_evidence(&j->m, &j->profiles, err);
	if (!rc)
		rc = kh_merge_finish(&j->m, err);
	return rc ? rc : compare_blanks(j, err);
}

/* --- writing ---------------------------------------------------------------------- */
/* Writes samples [from, to) as one text. */
static int write_text(struct merge_cmd *j, const char *path, size_t from, size_t to, kh_err *err)
{
	const kh_writer_options t = { .path = path, .bgzf = kh_writer_wants_bgzf(path),
				      .threads = 1 };
	kh_merge_sink sink = { .err = err };
	int rc = kh_writer_open(&sink.writer, &t, err);

	if (rc)
		return rc;
	j->o.from = from;
	j->o.to = to;
	j->format->write(&j->m, &j->o, &sink);
	rc = kh_merge_flush(&sink);
	if (!rc)
		rc = kh_writer_commit(&sink.writer, 1, err);
	kh_writer_close(sink.writer);
	free(sink.b.p);
	return rc;
}

/* Names the texts: one, or one a sample in a folder.  All are checked before any is written. */
static int name_outputs(struct merge_cmd *j, kh_err *err)
{
	j->n_outputs = j->v.outdir ? j->files.n : 1;
	j->out = kh_array(j->n_outputs, sizeof *j->out, err);
	if (!j->out)
		return KH_ENOMEM;
	for (size_t i = 0; i < j->n_outputs; i++) {
		const char *sample = j->files.v[i].sample;

		if (j->v.outdir && (strchr(sample, '/') || sample[0] == '.'))
			return kh_fail(err, KH_EUSAGE, "sample %s cannot be the name of a file",
				       sample);
		if (j->v.outdir ? kh_print(&j->out[i], err, "%s/%s%s", j->v.outdir, sample,
					   j->format->suffix)
				: kh_print(&j->out[i], err, "%s", j->v.output ? j->v.output : "-"))
			return KH_ENOMEM;
	}
	return check_output(j, j->out, j->n_outputs, err);
}

static int write_folder(struct merge_cmd *j, kh_err *err)
{
	kh_step step = { .doing = "wrote", .things = "samples", .started = kh_seconds(),
			 .total = j->files.n };
	int rc = kh_cmd_make_folder(j->v.outdir, err);

	if (rc)
		return rc;
	kh_temporary_list(j->v.outdir);
	for (size_t i = 0; i < j->files.n && !rc; step.done = ++i) {
		kh_progress(&step);
		rc = write_text(j, j->out[i], i, i + 1, err);
	}
	kh_progress_end();
	return rc;
}

static int merge(struct merge_cmd *j, int n, char **path, kh_err *err)
{
	int rc = to_options(j, err);

	if (!rc)
		rc = find_files(j, n, path, err);
	if (!rc)
		rc = find_beside(j, err);
	if (!rc && j->errs.found == 0)
		rc = name_outputs(j, err);
	if (!rc && j->errs.found == 0)
		rc = read_reports(j, err);
	if (!rc && j->errs.found == 0)
		rc = kh_merge_format_check(j->format, &j->m, &j->o, err);
	if (rc || j->errs.found > 0)
		return rc;
	return j->v.outdir ? write_folder(j, err)
			   : write_text(j, j->out[0], 0, j->files.n, err);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct merge_cmd j = { .profiles = { .wants_evidence = true } };
	kh_err err = { 0, "" };
	const int first = kh_opt_parse(c, argc, argv, &j.v);

	if (first <= 0)
		return -first;
	int rc = merge(&j, argc - first, argv + first, &err), status = 0;
	if (j.errs.found > 0)
		status = kh_cmd_fail_all(c, &j.errs);
	if (rc)
		status = kh_cmd_fail(c, &err);
	for (size_t i = 0; j.beside && i < j.files.n; i++)
		free(j.beside[i]);
	free(j.beside);
	for (size_t i = 0; j.out && i < j.n_outputs; i++)
		free(j.out[i]);
	free(j.out);
	kh_merge_clear(&j.m);
	kh_merge_clear(&j.profiles);
	kh_merge_files_clear(&j.files);
	kh_errs_clear(&j.errs);
	kh_temporary_unlist();
	return status;
}

const kh_command kh_cmd_merge = {
	"merge", "make one table of the reports or profiles of several samples",
	"REPORT|PROFILE|FOLDER...", opts, settings, run, NULL
};
