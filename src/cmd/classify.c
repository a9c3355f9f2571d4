/* classify.c - kmerhash classify */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/memory_left.h"
#include "build/references.h"
#include "cmd/classify_in.h"
#include "run/load.h"

/* --- the database ----------------------------------------------------------------- */
static int index_references(struct classify *j, kh_err *err)
{
	kh_words *maps = &j->v.seqids;          /* tables by sequence come first, as in build */
	kh_references refs = { .path = NULL };
	int rc =
		kh_grow((void **)&maps->v, &maps->cap, maps->n + j->v.maps.n, sizeof *maps->v, err);

	for (size_t i = 0; i < j->v.references.n && !rc; i++)
		rc = kh_references_add(&refs, j->v.references.v[i], err);
	if (!rc && refs.errs.found > 0) {
		*err = refs.errs.v[0];
		rc = err->code;
	}
	if (rc) {
		kh_references_clear(&refs);
		return rc;
	}
	for (size_t i = 0; i < j->v.maps.n; i++)
		maps->v[maps->n++] = j->v.maps.v[i];
	const kh_build_options o = { .refs = (const char *const *)refs.path,
				     .n_refs = refs.n,
				     .file_taxid = refs.taxid,
				     .taxonomy = j->v.taxonomy,
				     .maps = maps->v,
				     .n_maps = maps->n,
				     .sampling = { .scheme = KH_SYNCMER,
						   .stride = KH_STRIDE,
						   .no_repeats = 1 },
				     .max_span = KH_MAX_SPAN,
				     .max_locations = KH_MAX_LOCATIONS,
				     .threads = j->o.threads,
				     .device = j->v.device ? j->v.device : "auto",
				     .max_unmapped = KH_MAX_UNMAPPED,
				     .allow_no_eof = j->v.allow_no_eof };
	rc = kh_build_in_memory(o, &j->memory, err);
	kh_references_clear(&refs);
	return rc;
}

/* Reports all taxa that the database does not have at once. */
static int select_reads(struct classify *j, kh_err *err)
{
	const kh_select_options o = { .extract = j->v.extract.v,
				      .exclude = j->v.exclude.v,
				      .n_extract = j->v.extract.n,
				      .n_exclude = j->v.exclude.n };
	kh_errs errs = { NULL, 0, 0, 0 };
	int rc = kh_select_open(&j->select, j->db->tax, &o, &errs, err);

	for (size_t i = 0; i + 1 < errs.n; i++)
		kh_cmd_fail(&kh_cmd_classify, &errs.v[i]);
	if (!rc && errs.n > 0) {
		*err = errs.v[errs.n - 1];
		rc = err->code;
	}
	kh_errs_clear(&errs);
	j->o.style.select = &j->select;
	return rc;
}

static int load_db(struct classify *j, kh_err *err)
{
	const bool references = j->v.references.n > 0;
	int rc = references ? index_references(j, err) : KH_OK;
	const kh_load_options o = { .path = references ? j->memory.name : j->v.db,
				    .backend = j->choice.backend,
				    .shared = j->comm != NULL,
				    .no_verify = j->v.no_verify,
				    .verify = j->v.verify,
				    .stamps = !references,
				    .threads = j->o.threads,
				    .confidence = j->v.confidence,
				    .candidates = j->v.sample_pass || j->v.profile };

	if (!rc)
		rc = kh_load(&j->db, &j->o.rule, &o, err);
	if (rc)
		return rc;
	j->o.style.tax = j->db->tax;
	j->o.style.k = j->db->h->sampling.k;
	return select_reads(j, err);
}

static void tell(const struct classify *j)
{
	const kh_run_summary *s = &j->results.sum;
	double t = s->seconds > 0 ? s->seconds : 1e-9;

	kh_log(KH_INFO, "%" PRIu64 " %s, %" PRIu64 " classified (%.2f %%)", s->fragments,
	       j->o.paired ? "pairs" : "reads", s->classified,
	       s->fragments ? 100.0 * (double)s->classified / (double)s->fragments : 0.0);
	kh_log(KH_INFO,
	       "%s classify on %s: %.0f %s/s, %.1f s and %.1f s for the database, %.0f MB of "
	       "memory",
	       PACKAGE_STRING, j->choice.backend->name, (double)s->fragments / t,
	       j->o.paired ? "pairs" : "reads", t, j->loaded + s->seconds_load,
	       (double)kh_cmd_peak() * 1e-6);
}

/* --- one process, or several ------------------------------------------------------ */
static kh_remote_options remote_options(const struct classify *j)
{
	return (kh_remote_options) { .comm = j->comm,
				     .choice = &j->choice,
				     .rule = &j->o.rule,
				     .placement = j->o.placement,
				     .gpu_memory = j->o.gpu_memory,
				     .threads = j->o.threads,
				     .block_size = j->o.feed.block_size,
				     .no_verify = j->v.no_verify,
				     .distinct = j->o.distinct };
}

static int join_parts(struct classify *j, kh_err *err)
{
	const kh_remote_options o = remote_options(j);
	int rc = j->comm ? kh_remote_open(&j->processes, j->db, &o, err) : KH_OK;

	j->loaded = kh_cmd_seconds();
	if (rc || !j->comm)
		return rc;
	const kh_share s = kh_remote_share(j->processes);
	kh_log(KH_DEBUG, "%s of the index on %s: ranges %u to %u, %" PRIu64 " bytes",
	       s.sharded ? "a part" : "all", j->choice.backend->name, s.from, s.to, s.bytes);
	j->to_all.context = j->processes;
	return KH_OK;
}

/* Bytes for blocks of text with their records, results and lines. */
static uint64_t memory_needed(const struct classify *j)
{
	const kh_feed_options *f = &j->o.feed;
	const bool two = f->n_path[1] || j->v.samples;  /* any sample may consist of pairs */
	const uint64_t blocks = (uint64_t)f->n_blocks * (two ? 2 : 1);
	const uint64_t block = f->block_size ? f->block_size : KH_BLOCK_SIZE;

	return block * (blocks * 5 / 2 + j->o.threads);
}

/* Called before anything is loaded. The pages of a mapped database do not count: the system can
 * drop them. */
static int check_memory(const struct classify *j, kh_err *err)
{
	const uint64_t need = memory_needed(j);
	const kh_memory_left left = kh_memory_left_now(j->o.threads);

	if (need <= left.bytes)
		return KH_OK;
	return kh_fail(err, KH_ENOMEM,
		       "the reads need about %.1f MB of memory in %zu blocks, and %.1f MB are left "
		       "%s; fewer --threads or a smaller --block-size need less",
		       (double)need * 1e-6, j->o.feed.n_blocks, (double)left.bytes * 1e-6,
		       left.limit);
}

/* Prints what a dry run tells, one figure a line: its name, a tab, bytes or a number. */
static void print_plan(const struct classify *j)
{
	const kh_db_header *h = j->db->h;
	uint64_t done, bytes;

	kh_feed_progress(j->feed, &done, &bytes);
	printf("inputs\t%zu\n", j->file[0].n + j->file[1].n);
	if (bytes > 0)
		printf("bytes\t%" PRIu64 "\n", bytes);
	printf("database\t%s\nk\t%" PRIu32 "\ntargets\t%" PRIu32 "\nfeatures\t%" PRIu64
	       "\nindex\t%" PRIu64 "\n", j->db->path, h->sampling.k, h->n_targets, h->features,
	       h->section[KH_SEC_INDEX].bytes);
	printf("backend\t%s\nthreads\t%u\nmemory\t%" PRIu64 "\n", j->choice.backend->name,
	       j->o.threads, memory_needed(j));
}

/* Opens inputs, outputs and the database without its index, and nothing more. */
static int try_all(struct classify *j, kh_err *err)
{
	const kh_db_options o = { .no_verify = true, .threads = j->o.threads };
	int rc;

	if (j->v.references.n)
		return kh_fail(err, KH_EUSAGE, "--dry-run: of --references, "
			       "build --dry-run says what they take");
	if ((rc = kh_monitor_new(&j->m, err)) ||
	    (rc = kh_feed_open(&j->feed, &j->o.feed, j->m, err)) ||
	    (rc = kh_classify_try_outputs(j, err)) ||
	    (rc = kh_db_open(&j->db, j->v.db, &o, err)))
		return rc;
	print_plan(j);
	return KH_OK;
}

/* A file in whose folder the spilled lines of the second pass are kept. */
static const char *beside(const struct classify *j, char **name)
{
	const char *file[] = { j->o.output, j->o.classified[0], j->o.unclassified[0] };
	const char *tmp = getenv("TMPDIR");

	for (int i = 0; i < 3; i++)
		if (file[i] && strcmp(file[i], "-") != 0 && strncmp(file[i], "/dev/", 5) != 0)
			return file[i];
	return asprintf(name, "%s/", tmp && *tmp ? tmp : "/tmp") < 0 ? (*name = NULL) : *name;
}

static int open_second(struct classify *j, kh_err *err)
{
	char *tmp = NULL;
	const kh_pass_options o = {
		.db = j->db,
		.rule = &j->o.rule,
		.style = &j->o.style,
		.m = j->m,
		.threads = j->o.threads,
		.alone = true,
		.change = j->v.sample_pass,
		.lines = j->o.output != NULL,
		.reads = j->o.classified[0] || j->o.unclassified[0],
		.coverage = j->v.html != NULL,
		.beside = beside(j, &tmp),
	};
	int rc = KH_OK;

	if (j->v.sample_pass || j->v.profile)
		rc = o.beside ? kh_pass_open(&j->results.pass, &o, err) : kh_fail_nomem(err);
	free(tmp);
	return rc;
}

/* The second pass needs candidates of the fragments. */
static int check_second(const struct classify *j, kh_err *err)
{
	if (!(j->v.sample_pass || j->v.profile) || j->choice.backend->candidates)
		return KH_OK;
	return kh_fail(err, KH_EUSAGE, "--sample-pass and --profile need --device cpu, not %s",
		       j->choice.backend->name);
}

/* What process 0 does, or the only process. */
static int lead(struct classify *j, kh_err *err)
{
	int rc;

	if ((rc = kh_monitor_new(&j->m, err)) ||
	    (rc = kh_feed_open(&j->feed, &j->o.feed, j->m, err)) ||
	    (rc = kh_classify_open_tables(j, err)) ||
	    (rc = load_db(j, err)) || (rc = open_second(j, err)) || (rc = join_parts(j, err)))
		return rc;
	return kh_run(&j->o, j->db, j->feed, j->m, &j->results, err);
}

/* What all other processes do, which have neither input nor output. */
static int follow(struct classify *j, kh_err *err)
{
	int rc = load_db(j, err);

	if (!rc)
		rc = join_parts(j, err);
	return rc ? rc : kh_remote_serve(j->processes, err);
}

static int classify(struct classify *j, kh_err *err)
{
	int rc = kh_backend_choose(&j->choice, j->v.device ? j->v.device : "auto", err);

	if (!rc)
		rc = check_second(j, err);
	if (rc)
		return rc;
	if (j->comm) {
		const kh_remote_options o = remote_options(j);

		if ((rc = kh_remote_backend(&j->to_all, &o, err)))
			return rc;
		j->all_processes = (kh_choice) { .backend = &j->to_all, .n = 1 };
	}
	j->o.comm = j->comm;
	j->o.choice = j->comm ? &j->all_processes : &j->choice;
	j->o.write_tables = kh_classify_write_tables;
	j->o.arg = j;
	kh_classify_feed_options(j);
	if (kh_comm_self(j->comm) == 0 && (rc = check_memory(j, err)))
		return rc;
	if (j->v.samples)
		return kh_classify_samples(j, load_db, err);
	if (j->v.dry_run)
		return kh_comm_self(j->comm) == 0 ? try_all(j, err) : KH_OK;
	rc = kh_comm_self(j->comm) == 0 ? lead(j, err) : follow(j, err);
	/* every process has succeeded */
	return rc || !j->comm ? rc : kh_comm_barrier(j->comm, err);
}

static void clear(struct classify *j)
{
	kh_results_close(&j->results);
	kh_remote_close(j->processes);
	kh_feed_close(j->feed);
	kh_classify_close_outputs(j);   /* before the monitor, which their texts use */
	kh_monitor_free(j->m);
	kh_db_close(j->db);
	kh_memory_db_close(&j->memory);
	free(j->v.references.v);
	free(j->v.maps.v);
	free(j->v.seqids.v);
	free(j->v.extract.v);
	free(j->v.exclude.v);
	kh_select_close(&j->select);
	free(j->file[0].v);
	free(j->file[1].v);
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct classify j = { .v = { .db = getenv("KMERHASH_DB") }, .memory = { .fd = -1 },
			      .argv = argv };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &j.v), rc;

	if (first <= 0) {
		clear(&j);
		return first == -2 ? 1 : first < 0 ? 2 : 0;
	}
	rc = kh_comm_open(&j.comm, &err);
	kh_log_process(kh_comm_self(j.comm));
	if (!rc)
		rc = kh_classify_options(&j, argc - first, argv + first, &err);
	if (!rc)
		rc = classify(&j, &err);
	if (rc && j.comm)
		kh_comm_fail(j.comm, &err);
	if (rc)
		rc = kh_cmd_fail(c, &err);
	else if (kh_comm_self(j.comm) == 0 && !j.v.dry_run && !j.v.samples)
		tell(&j);
	clear(&j);
	rc = kh_cmd_part(j.comm, rc);
	return rc;
}

const kh_command kh_cmd_classify = {
	"classify", "report the taxa of reads", "READS.fq[.gz]...", kh_classify_opts, run
};
