/* files.c - all reads of a file, as the command classifies them: by run/run.h, on all slots */
#include <config.h>
#include "lib/kmerhash_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "db/in_use.h"
#include "db/join.h"
#include "run/open.h"
#include "run/profile.h"
#include "run/run.h"

struct files {
	kmerhash *k;
	const kmerhash_files *f;
	kh_sheet sheet;
	kh_run_totals totals;
};

static int write_report(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct files *x = arg;
	const kh_report_options o = { .plain = x->k->db->k2 != NULL };

	(void)i;
	return kh_report(b, x->k->db->tax, &r->tally, &o, err);
}

static int write_profile(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err)
{
	const struct files *x = arg;

	(void)i;
	return kh_profile_table(b, x->k->db, r, err);
}

static kh_write_fn *const write_fn[KH_N_RESULTS] = { [KH_RESULT_REPORT] = write_report,
						     [KH_RESULT_PROFILE] = write_profile };

static int begin(void *arg, size_t i, kh_err *err)
{
	(void)arg, (void)i, (void)err;
	return 0;
}

static void end(void *arg, size_t i, const kh_results *r, const kh_err *err)
{
	(void)arg, (void)i, (void)r, (void)err;
}

static int name_results(void *arg, kh_sheet_sample *s, kh_err *err)
{
	const kmerhash_files *f = ((const struct files *)arg)->f;
	const struct { enum kh_result k; const char *path; } out[] = {
		{ KH_RESULT_LINES, f->lines }, { KH_RESULT_REPORT, f->report },
		{ KH_RESULT_PROFILE, f->profile }
	};

	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		if (out[i].path && !(s->path[out[i].k] = strdup(out[i].path)))
			return kh_fail_nomem(err);
	return KH_OK;
}

static int make_sheet(struct files *x, kh_err *err)
{
	const kmerhash_files *f = x->f;
	const char *const reads[2] = { f->reads, f->mates };
	const kh_db *db = x->k->db;
	const char **path = kh_array(kh_db_volumes(db), sizeof *path, err);
	const kh_open_options o = { .db = path,
				    .n_db = kh_db_volumes(db),
				    .reads = reads,
				    .n_reads = f->mates ? 2 : 1,
				    .two = f->mates != NULL,
				    .name = name_results,
				    .arg = x };
	int rc;

	for (unsigned i = 0; path && i < kh_db_volumes(db); i++)
		path[i] = kh_db_volume(db, i)->path;
	rc = path ? kh_open_sheet(&x->sheet, &o, NULL, err) : KH_ENOMEM;
	free(path);
	return rc;
}

static int run(struct files *x, kh_err *err)
{
	kmerhash *k = x->k;
	const kh_backend *be = k->compute.be;
	const bool kraken = k->db->k2 != NULL, pass = x->f->sample_pass || x->f->profile;
	const kh_style style = { .tax = k->db->tax, .k = k->db->h->sampling.k,
				 .one_line = kraken,
				 .column5 = kraken ? KH_COLUMN5_KMERS : KH_COLUMN5_FEATURES,
				 .second = k->rule.want == KH_WANT_SECOND };
	const kh_run_options o = { .sheet = &x->sheet, .style = &style,
				   .feed = { .mask = { kraken, 0 },
					     .block_size = k->on.choice.backend->read_block_size,
					     .workers = k->n_slots, .held = be->depth,
					     .threads = k->n_slots },
				   .threads = k->n_slots, .distinct = x->f->profile != NULL,
				   .pass = pass, .change = x->f->sample_pass != 0,
				   .write = write_fn, .begin = begin, .end = end, .arg = x };
	kh_run *r = NULL;
	int rc = kh_run_open(&r, &o, err);

	if (!rc)
		rc = kh_run_samples(r, k->db, &k->rule, &k->compute, &x->totals, err);
	kh_run_close(r);
	return kh_db_reason(k->db, rc, err);
}

static int classify_files(struct files *x, kh_err *err)
{
	kmerhash *k = x->k;
	struct slot **slot;
	int rc;

	if (!x->f->reads)
		return kh_fail(err, KH_EUSAGE, "no reads are named");
	if ((x->f->sample_pass || x->f->profile) && k->rule.want != KH_WANT_CANDIDATES)
		return kh_fail(err, KH_EUSAGE, "the sample pass and the profile need a database "
			       "that was opened with KMERHASH_SAMPLE");
	if (!(slot = kh_array(k->n_slots, sizeof *slot, err)))
		return KH_ENOMEM;
	if (!(rc = make_sheet(x, err))) {
		const unsigned n = kh_lib_take_slots(k, k->n_slots, k->n_slots, slot);

		rc = run(x, err);
		kh_lib_give_slots(k, slot, n);
	}
	free(slot);
	return rc;
}

int kmerhash_classify_files(kmerhash *k, const kmerhash_files *files, kmerhash_counts *counts,
			    kmerhash_error *error)
{
	struct files x = { .k = k, .f = files };
	kh_err err = { 0, "" };
	const int rc = classify_files(&x, &err);

	kh_sheet_clear(&x.sheet);
	if (!rc && counts)
		*counts = (kmerhash_counts) { x.totals.sum.fragments, x.totals.sum.classified };
	return kh_lib_tell(error, rc, &err);
}
