/* classify_outputs.c - the names of what classify writes, its report and its summary */
#include <config.h>
#include "cmd/classify_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cmd/profile_json.h"
#include "cmd/record.h"
#include "cmd/summary.h"
#include "io/output.h"
#include "io/paths.h"
#include "run/registers.h"

/* --- names ------------------------------------------------------------------------ */
/* With '#' in its name, a file for each mate. */
static int split_name(const char *name, bool paired, char *out[2], kh_err *err)
{
	const char *hash = name ? strchr(name, '#') : NULL;

	if (!name)
		return KH_OK;
	if (!paired || !hash) {
		out[0] = strdup(name);
		return out[0] ? KH_OK : kh_fail_nomem(err);
	}
	for (int i = 0; i < 2; i++)
		if (asprintf(&out[i], "%.*s_%d%s", (int)(hash - name), name, i + 1, hash + 1) < 0) {
			out[i] = NULL;
			return kh_fail_nomem(err);
		}
	return KH_OK;
}

int kh_classify_names(struct classify *j, kh_err *err)
{
	const bool paired = j->o.paired;
	struct classify_outputs *out = &j->out;
	int rc = split_name(j->v.classified, paired, out->name[0], err);

	if (!rc)
		rc = split_name(j->v.unclassified, paired, out->name[1], err);
	for (int i = 0; i < 2; i++) {
		j->o.classified[i] = out->name[0][i];
		j->o.unclassified[i] = out->name[1][i];
	}
	return rc;
}

static int add_outputs(kh_paths *p, const struct classify *j, kh_err *err)
{
	char *const (*name)[2] = j->out.name;
	const char *path[] = { j->o.output, j->v.report, j->v.json,  j->v.html, j->v.profile,
			       j->v.registers, name[0][0], name[0][1], name[1][0], name[1][1] };
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof path / sizeof *path && !rc; i++)
		rc = kh_paths_output(p, path[i], err);
	return rc;
}

/* Checks the database, or the references that it is made of. */
static int check_database(const kh_paths *p, const struct classify *j, kh_err *err)
{
	const kh_words *table[] = { &j->v.references, &j->v.maps, &j->v.seqids };
	char *db = NULL;
	int rc = KH_OK;

	if (j->v.references.n == 0) {
		rc = kh_db_find(&db, j->v.db, err);
		if (!rc)
			rc = kh_paths_input(p, db, "the database", err);
		free(db);
		return rc;
	}
	for (size_t i = 0; i < 3 && !rc; i++)
		for (size_t k = 0; k < table[i]->n && !rc; k++)
			rc = kh_paths_input(p, table[i]->v[k], "an input", err);
	return rc ? rc : kh_cmd_check_taxonomy(p, j->v.taxonomy, err);
}

int kh_classify_check_files(const struct classify *j, int n, char **input, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	if (!rc)
		rc = add_outputs(p, j, err);
	for (int i = 0; i < n && !rc; i++)
		rc = kh_paths_input(p, input[i], "an input", err);
	if (!rc)
		rc = check_database(p, j, err);
	kh_paths_free(p);
	return rc;
}

/* --- report and summary ----------------------------------------------------------- */
/* Writes all of it; it has its name only when it is committed. */
static int write_file(kh_text *out, const kh_buf *b, kh_err *err)
{
	int rc = kh_text_put(out, b->p, b->n, NULL, err);

	return rc ? rc : kh_text_finish(out, err);
}

static int report_text(struct classify *j, kh_buf *b, kh_err *err)
{
	const kh_report_options o = { .zero_counts = j->v.zero_counts,
				      .minimizer_data = j->v.minimizer_data,
				      .mpa = j->v.mpa };

	return kh_report(b, j->db->tax, &j->results.tally, &o, err);
}

/* Records what was read and what was made. */
static json_t *record(const struct classify *j)
{
	const kh_sheet_reads reads = { .path = { j->file[0].v, j->file[1].v },
				       .n = j->file[0].n,
				       .paired = j->file[1].n > 0 };
	const kh_sheet_sample sample = { .reads = (kh_sheet_reads *)&reads, .n_reads = 1 };
	char *const (*name)[2] = j->out.name;
	char *const path[] = { (char *)j->o.output, (char *)j->v.report, (char *)j->v.html,
			       (char *)j->v.profile, (char *)j->v.registers, name[0][0],
			       name[0][1], name[1][0], name[1][1] };

	return kh_classify_record(j, kh_record_inputs(&sample, false, NULL),
				  kh_record_paths(path, sizeof path / sizeof *path));
}

static int summary_text(const struct classify *j, kh_buf *b, kh_err *err)
{
	json_t *rec = record(j);
	const kh_summary s = { .db = j->db->h,
			       .counts = &j->results.sum,
			       .confidence = j->v.confidence,
			       .backend = j->choice.backend->name,
			       .processes = kh_comm_size(j->comm),
			       .threads = j->o.threads,
			       .pass = kh_pass_result_of(j->results.pass),
			       .record = rec,
			       .seconds_database = j->loaded + j->results.sum.seconds_load };
	int rc = rec ? kh_summary_text(b, &s, err) : kh_fail_nomem(err);

	json_decref(rec);
	return rc;
}

/* Does a name end so, not counting the ending of a compressed file? */
static bool ends_with(const char *name, const char *end)
{
	const char *dot = kh_text_wants_bgzf(name) ? strrchr(name, '.') : name + strlen(name);
	const size_t n = (size_t)(dot - name), m = strlen(end);

	return n >= m && memcmp(dot - m, end, m) == 0;
}

/* The part of a path behind its last slash. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int kh_classify_profile(const struct classify *j, const char *name, const kh_results *r, kh_buf *b,
			kh_err *err)
{
	const kh_profile_input in = { .db = j->db,
				      .result = kh_pass_result_of(r->pass),
				      .tally = &r->tally,
				      .fragments = r->sum.fragments };
	kh_profile p;
	int rc = kh_profile_make(&p, &in, err);

	if (rc)
		return rc;
	if (ends_with(name, ".json"))
		rc = kh_profile_json_text(&p, b, err);
	else if (ends_with(name, ".cami"))
		rc = kh_profile_cami(&p, base_of(name), b, err);
	else
		rc = kh_profile_table(&p, b, err);
	kh_profile_clear(&p);
	return rc;
}

static int open_table(struct classify *j, kh_text **out, const char *path, kh_err *err)
{
	if (!path)
		return KH_OK;
	const kh_text_options o = { .path = path, .bgzf = kh_text_wants_bgzf(path), .threads = 1 };
	return kh_text_open(out, &o, j->m, err);
}

int kh_classify_open_tables(struct classify *j, kh_err *err)
{
	int rc = open_table(j, &j->out.report, j->v.report, err);

	if (!rc)
		rc = open_table(j, &j->out.json, j->v.json, err);
	if (!rc)
		rc = open_table(j, &j->out.html, j->v.html, err);
	if (!rc)
		rc = open_table(j, &j->out.profile, j->v.profile, err);
	if (!rc)
		rc = open_table(j, &j->out.registers, j->v.registers, err);
	j->o.tables[0] = j->out.report;
	j->o.tables[1] = j->out.json;
	j->o.tables[2] = j->out.html;
	j->o.tables[3] = j->out.profile;
	j->o.tables[4] = j->out.registers;
	return rc;
}

int kh_classify_try_outputs(struct classify *j, kh_err *err)
{
	const char *path[] = { j->v.report, j->v.json, j->v.html, j->v.profile, j->v.registers,
			       j->o.output, j->o.classified[0], j->o.classified[1],
			       j->o.unclassified[0], j->o.unclassified[1] };
	struct stat st;
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof path / sizeof *path && !rc; i++) {
		kh_out *out = NULL;

		/* opening a file that is written in place would empty it */
		if (!path[i] || strcmp(path[i], "-") == 0 ||
		    (lstat(path[i], &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
			continue;
		rc = kh_out_open(&out, path[i], err);
		kh_out_close(out);
	}
	return rc;
}

int kh_classify_write_tables(void *arg, kh_err *err)
{
	struct classify *j = arg;
	const kh_sampling sampling = kh_db_sampling(j->db->h);
	kh_buf b = { NULL, 0, 0 };
	int rc = KH_OK;

	if (j->out.registers)           /* before a report sums up clades */
		rc = kh_registers_write(j->out.registers, &j->results.tally.distinct, j->db->tax,
					&sampling, err);
	if (!rc && j->out.report && !(rc = report_text(j, &b, err)))
		rc = write_file(j->out.report, &b, err);
	b.n = 0;
	if (!rc && j->out.json && !(rc = summary_text(j, &b, err)))
		rc = write_file(j->out.json, &b, err);
	b.n = 0;
	if (!rc && j->out.html && !(rc = kh_classify_page(j, &b, err)))
		rc = write_file(j->out.html, &b, err);
	b.n = 0;
	if (!rc && j->out.profile &&
	    !(rc = kh_classify_profile(j, j->v.profile, &j->results, &b, err)))
		rc = write_file(j->out.profile, &b, err);
	free(b.p);
	return rc;
}

void kh_classify_close_outputs(struct classify *j)
{
	struct classify_outputs *out = &j->out;

	kh_text_close(out->report);
	kh_text_close(out->json);
	kh_text_close(out->html);
	kh_text_close(out->profile);
	kh_text_close(out->registers);
	for (int i = 0; i < 2; i++) {
		free(out->name[i][0]);
		free(out->name[i][1]);
	}
}
