/* classify.c - kmerhash classify */
#include <config.h>

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory_left.h"
#include "base/size.h"
#include "cmd/classify_in.h"
#include "cmd/record.h"
#include "db/in_use.h"
#include "io/temporary.h"
#include "run/load.h"
#include "sample/model.h"

/* --- the database ----------------------------------------------------------------- */
/* Reports all taxa that the database does not have at once. */
static int select_reads(struct classify *j, kh_err *err)
{
	const kh_select_options o = { .extract = j->v.extract.v,
				      .exclude = j->v.exclude.v,
				      .n_extract = j->v.extract.n,
				      .n_exclude = j->v.exclude.n };
	int rc = kh_select_open(&j->select, j->db->tax, &o, &j->errs, err);

	for (size_t i = 0; i + 1 < j->errs.n; i++)
		kh_cmd_fail(j->command, &j->errs.v[i]);
	if (!rc && j->errs.n > 0) {
		*err = j->errs.v[j->errs.n - 1];
		rc = err->code;
	}
	j->style.select = &j->select;
	return rc;
}

/* Candidates take hours, and only a join says whether they suit one another. */
static int check_candidates(const struct classify *j, kh_err *err)
{
	const kh_sampling s = kh_db_sampling(j->db->h);

	if (!j->v.out.candidates)
		return KH_OK;
	kh_log(KH_INFO, "candidates for parts with the same seeds: k = %u, s = %u, stride %u "
	       "(build --set total-bases of all references gives these)", s.k, s.s, s.stride);
	return kh_volumes_can_join(j->db, err);
}

/* The second pass asks over how much of a genome reads are spread. */
static int warn_of_genes(const struct classify *j, kh_err *err)
{
	bool are = false;
	int rc = j->v.sample_pass || j->v.out.profile ? kh_genomes_are_short(j->db, &are, err)
						      : KH_OK;

	if (!rc && are)
		kh_log(KH_WARN, "most species have fewer than %d bases in the database, as marker "
		       "genes (16S, ITS) have: --sample-pass and --profile judge by how reads are "
		       "spread over a genome, and are wrong about reads of one gene",
		       KH_SHORT_GENOME);
	return rc;
}

static int load_db(struct classify *j, kh_err *err)
{
	const kh_load_options o = { .db = j->v.db.v,
				    .n = j->v.db.n,
				    .by_name = j->v.join_taxa != NULL,
				    .on = &j->on,
				    .no_verify = j->v.no_verify,
				    .verify = j->v.verify,
				    .stamps = true,
				    .confidence = j->v.confidence,
				    .unknown = j->v.unknown ? kh_translated_level_of(j->v.unknown)
							    : kh_translated_level_usual(),
				    .want = j->v.sample_pass || j->v.out.profile
					    ? KH_WANT_CANDIDATES
					    : j->v.line.second ? KH_WANT_SECOND : KH_WANT_NONE,
				    .aligned = kh_classify_aligns(&j->v),
				    .min_groups = (uint32_t)j->v.kraken.min_groups,
				    .quick = j->v.kraken.quick };

	int rc = kh_load(&j->db, &j->rule, &o, err);

	if (rc || (rc = check_candidates(j, err)) || (rc = warn_of_genes(j, err)))
		return rc;
	const kh_volumes_options p = { .db = j->db, .rule = &j->rule, .path = j->v.join.v,
				     .n = j->v.join.n,
				     .compared = kh_classify_aligns(&j->v) || j->v.distinct ||
						 j->v.out.profile };

	if (j->v.unknown && (!j->db->translated.head || j->v.confidence > 0))
		kh_log(KH_WARN, "--set unknown is for one database built with --translated, "
		       "without --confidence, and ignored");
	j->style.tax = j->db->tax;
	j->style.k = j->db->h->sampling.k;
	j->style.quality = j->feed.mask.quality;
	if (j->v.join.n > 0 && kh_volumes_open(&j->volumes, &p, err))
		return err->code;
	if (j->v.out.json &&
	    kh_record_database(&j->database, j->db, j->v.many.samples != NULL, err))
		return err->code;
	return select_reads(j, err);
}

/* --- before anything is loaded ------------------------------------------------------ */
/* Bytes for blocks of text with their records, results and lines. */
static uint64_t memory_needed(const struct classify *j)
{
	const kh_feed_options *f = &j->feed;
	bool two = j->v.many.samples != NULL;        /* any sample may consist of pairs */

	for (size_t k = 0; k < j->sheet.v[0].n_reads; k++)
		two |= j->sheet.v[0].reads[k].paired;
	return (f->block_size ? f->block_size : KH_BLOCK_SIZE) *
	       ((uint64_t)kh_feed_blocks(f) * (two ? 2 : 1) * 5 / 2 + j->on.threads);
}

/* The pages of a mapped database do not count: the system can drop them. */
static int check_memory(const struct classify *j, kh_err *err)
{
	const uint64_t need = memory_needed(j);
	const kh_memory_left left = kh_memory_left_now(j->on.threads);

	if (need <= left.bytes)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM,
		       "the reads need about %s of memory in %zu blocks, and %s are left %s; fewer "
		       "--threads or a smaller --set block-size need less", kh_size_show(need).s,
		       kh_feed_blocks(&j->feed), kh_size_show(left.bytes).s, left.limit);
}

/* --- the run ------------------------------------------------------------------------ */
/* Memory that one sample frees, mostly blocks of text, is used by the next one. Giving it back to
 * the system in between would only make the system clear all of its pages again. */
static void keep_memory(void)
{
#if defined M_MMAP_THRESHOLD && defined M_TRIM_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* Classifies the samples of the sheet, when the files of operands are open and the database is
 * loaded. */
static int run_samples(struct classify *j, kh_err *err)
{
	const kh_compute_options co = { .on = &j->on,
					.rule = &j->rule,
					.input = kh_run_bytes(j->run),
					.block_size = j->feed.block_size,
					.features = j->v.distinct || j->v.out.profile };
	int rc = kh_db_reason(j->db, kh_compute_open(&j->compute, j->db, &co, err), err);

	j->loaded = kh_cmd_seconds();
	if (rc)
		return rc;
	if (j->v.out.outdir)
		kh_temporary_list(j->v.out.outdir);
	rc = kh_run_samples(j->run, j->db, &j->rule, &j->compute, &j->totals, err);
	kh_temporary_unlist();
	return rc;
}

/* From the files, which are opened first, to what is written of all samples. */
static int classify_all(struct classify *j, kh_err *err)
{
	const struct classify_values *v = &j->v;
	const kh_run_options o = { .sheet = &j->sheet,
				   .style = &j->style,
				   .feed = j->feed,
				   .threads = j->on.threads,
				   .distinct = v->distinct || v->out.profile,
				   .pass = (v->sample_pass || v->out.profile) && !v->out.candidates,
				   .volumes = v->join.n > 0 ? &j->volumes : NULL,
				   .change = v->sample_pass,
				   .keep_going = v->many.keep_going,
				   .write = kh_classify_write,
				   .begin = kh_classify_begin,
				   .end = kh_classify_end,
				   .check = v->kraken.bzip2 ? kh_classify_decompressed : NULL,
				   .arg = j };
	int rc;

	if (v->many.samples)
		keep_memory();
	if ((v->many.samples && (rc = kh_classify_open_all(j, err))) ||
	    (rc = kh_run_open(&j->run, &o, err)) || (rc = load_db(j, err)) ||
	    (rc = run_samples(j, err)))
		return rc;
	return kh_classify_write_all(j, err);
}

/* What Kraken 2 says at the end; some pipelines read it. */
static void tell_kraken2(const kh_run_summary *s)
{
	const double minutes = s->seconds > 0 ? s->seconds / 60 : 1e-9;
	const uint64_t all = s->fragments, not = all - s->classified;
	const double percent = all ? 100.0 / (double)all : 0;

	fprintf(stderr, "%" PRIu64 " sequences (%.2f Mbp) processed in %.3fs (%.1f Kseq/m, %.2f "
		"Mbp/m).\n  %" PRIu64 " sequences classified (%.2f%%)\n  %" PRIu64
		" sequences unclassified (%.2f%%)\n", all, (double)s->bases * 1e-6, s->seconds,
		(double)all * 1e-3 / minutes, (double)s->bases * 1e-6 / minutes, s->classified,
		(double)s->classified * percent, not, (double)not * percent);
}

/* The second pass was asked for, and changes nothing in some samples. */
static void warn_of_kept(const struct classify *j)
{
	const size_t kept = j->totals.sum.kept;

	if (!j->v.sample_pass || kept == 0)
		return;
	if (j->v.many.samples)
		kh_log(KH_WARN, "%zu sample%s fewer than %d fragments, which say too little: "
		       "--sample-pass leaves their calls as they are", kept,
		       kept == 1 ? " has" : "s have", KH_SAMPLE_LEAST);
	else
		kh_log(KH_WARN, "fewer than %d fragments say too little: --sample-pass leaves "
		       "their calls as they are", KH_SAMPLE_LEAST);
}

static void warn_of_swapped(const struct classify *j)
{
	const uint64_t n = j->totals.sum.swapped;

	if (n > 0 && !j->said_swapped)
		kh_log(KH_WARN, "of %" PRIu64 " pair%s the first mate is called the second one "
		       "(/2, 2:N:0) and the second one the first: are files of mates swapped?",
		       n, kh_plural(n));
}

/* What the sheet has: pairs, reads, or both, which together are fragments. */
static const char *things(const struct classify *j)
{
	size_t pairs = 0, all = 0;

	for (size_t i = 0; i < j->sheet.n; i++)
		for (size_t k = 0; k < j->sheet.v[i].n_reads; k++, all++)
			pairs += j->paired || j->sheet.v[i].reads[k].paired;
	return pairs == 0 ? "read" : pairs == all ? "pair" : "fragment";
}

static void log_summary(const struct classify *j)
{
	const kh_run_summary *s = &j->totals.sum;
	const char *what = things(j);
	char mapped[80] = "";
	double t = s->seconds > 0 ? s->seconds : 1e-9;

	kh_log(KH_INFO, "%" PRIu64 " %s%s, %" PRIu64 " classified (%.2f %%)", s->fragments, what,
	       kh_plural(s->fragments), s->classified,
	       s->fragments ? 100.0 * (double)s->classified / (double)s->fragments : 0.0);
	if (j->on.choice.backend->on_host && j->db)
		snprintf(mapped, sizeof mapped, " beside the %s of the mapped database",
			 kh_size_show(j->db->bytes).s);
	kh_log(KH_INFO,
	       "%s classify on %s: %.0f %ss/s, %.1f s and %.1f s for the database, %s of memory%s",
	       PACKAGE_STRING, j->on.choice.backend->name, (double)s->fragments / t, what, t,
	       j->loaded, kh_size_show(kh_cmd_peak()).s, mapped);
}

static int open_inflater(struct classify *j, kh_err *err)
{
	const kh_backend *be = j->on.choice.backend;
	const bool host = j->v.inflate && strcmp(j->v.inflate, "host") == 0;

	return be->inflate && !host ? be->inflater_open(&j->inflater, &j->on, err) : KH_OK;
}

static int classify(struct classify *j, kh_err *err)
{
	const kh_backend *be = j->on.choice.backend;
	int rc;

	/* the second pass needs candidates of the fragments */
	if ((j->v.sample_pass || j->v.out.profile || j->v.line.second) && !be->candidates)
		return kh_fail(err, KH_EUSAGE, "--sample-pass, --profile and --set second-best "
			       "need --device cpu, not %s", be->name);
	if ((j->v.out.candidates || j->v.join.n > 0) && !be->on_host)
		return kh_fail(err, KH_EUSAGE, "--%s needs --device cpu, not %s",
			       j->v.out.candidates ? "candidates" : "join", be->name);
	if ((rc = open_inflater(j, err)))
		return rc;
	kh_classify_feed_options(j);
	if ((rc = check_memory(j, err)))
		return rc;
	rc = classify_all(j, err);
	if (!rc) {
		warn_of_kept(j);
		warn_of_swapped(j);
	}
	if (j->v.many.samples)
		return kh_classify_tell_samples(j, rc, err);
	if (!rc && j->v.kraken.kraken2)
		tell_kraken2(&j->totals.sum);
	else if (!rc)
		log_summary(j);
	return rc;
}

static int choose_device(struct classify *j, kh_err *err)
{
	const kh_load_options o = { .db = j->v.db.v, .n = j->v.db.n,
				    .aligned = kh_classify_aligns(&j->v) || j->v.out.candidates ||
					       j->v.join.n > 0 };

	return kh_load_devices(&j->on.choice, j->v.device, &o, err);
}

static void clear(struct classify *j)
{
	kh_compute_close(&j->compute);
	kh_run_close(j->run);
	if (j->inflater)
		j->on.choice.backend->inflater_close(j->inflater);
	kh_writer_close(j->page);
	kh_writer_close(j->blanks);
	free(j->blanks_path);
	json_decref(j->database);
	kh_volumes_close(j->volumes);
	kh_db_close(j->db);
	kh_sheet_clear(&j->sheet);
	kh_classify_end_decompress(j);
	kh_errs_clear(&j->errs);
	kh_select_close(&j->select);
	free(j->sample);
	for (size_t i = 0; i < j->made.n; i++)
		free((char *)j->made.v[i]);
	free(j->made.v);
	free(j->v.db.v);
	free(j->v.join.v);
	free(j->v.extract.v);
	free(j->v.exclude.v);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct classify j = { .command = c, .v.kraken.min_groups = 2, .argv = argv };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &j.v), rc;

	if (first <= 0) {
		clear(&j);
		return -first;
	}
	if (j.v.many.check_sheet) {
		rc = kh_classify_check_sheet(&j, &err);
		clear(&j);
		return rc ? kh_cmd_fail(c, &err) : 0;
	}
	rc = kh_classify_options(&j, argc - first, argv + first, &err);
	if (!rc)
		rc = choose_device(&j, &err);
	if (!rc)
		rc = classify(&j, &err);
	if (rc)
		rc = kh_cmd_fail(c, &err);
	clear(&j);
	return rc;
}

const kh_command kh_cmd_classify = {
	"classify", "report the taxa of reads", "READS.fq[.gz]...", kh_classify_opts,
	kh_classify_settings, run, kh_classify_groups
};
