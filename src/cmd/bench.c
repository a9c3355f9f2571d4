/* cmd/bench.c - kmerhash bench: the GPU hash tables side by side; the pipeline's stages;
 * look-ups by where the index lies */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/gpu_build.h"
#include "bench/pipeline.h"
#include "bench/lookup_placement.h"
#include "bench/tables.h"
#include "cmd/options.h"

struct values {
	const char *experiment, *table, *db, *device, *dir;
	uint64_t log2n, repeat, threads;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	KH_TEXT("experiment", 0, AT(experiment), "NAME", "only this experiment [all]"),
	KH_TEXT("table", 0, AT(table), "NAME", "only this table [all]"),
	KH_UINT("log2n", 0, AT(log2n), 10, 30, "N", "2^N pairs a case [each experiment's own]"),
	KH_UINT("repeat", 0, AT(repeat), 1, 31, "N", "runs a case; the median counts"),
	KH_TEXT("db", 0, AT(db), "FILE",
		"a database: for pipeline's stages of classify, for placement"),
	KH_TEXT("device", 0, AT(device), "NAME",
		"auto, cpu, cuda or cuda:0,2 [auto; placement, build: cuda]"),
	KH_TEXT("dir", 0, AT(dir), "DIR", "pipeline: where files are written [TMPDIR, or /tmp]"),
	KH_UINT("threads", 0, AT(threads), 1, 1024, "N",
		"pipeline, placement, build: workers [all CPUs]"),
	KH_OPTS_END
};

static int pipeline(const kh_command *c, const struct values *v, char **refs, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	kh_err err = { 0, "" };
	kh_bench_pipeline_options o = { .refs = (const char *const *)refs,
					.n_refs = n,
					.db = v->db,
					.device = v->device ? v->device : "auto",
					.dir = v->dir        ? v->dir
					       : tmp && *tmp ? tmp
							     : "/tmp",
					.threads = kh_cmd_threads(v->threads),
					.repeat = (int)v->repeat };

	return kh_bench_pipeline(&o, stdout, &err) ? kh_cmd_fail(c, &err) : 0;
}

static int build(const kh_command *c, const struct values *v, char **refs, size_t n)
{
	kh_err err = { 0, "" };
	kh_choice choice;
	const kh_bench_packed_options o = { .choice = &choice,
					   .refs = (const char *const *)refs,
					   .n_refs = n,
					   .threads = kh_cmd_threads(v->threads),
					   .repeat = (int)v->repeat };
	int rc = kh_backend_choose(&choice, v->device ? v->device : "cuda", &err);

	if (!rc && choice.backend->on_host)
		rc = kh_fail(&err, KH_EUSAGE, "bench build is of GPUs");
	if (!rc)
		rc = kh_bench_packed(&o, stdout, &err);
	return rc ? kh_cmd_fail(c, &err) : 0;
}

static int placement(const kh_command *c, const struct values *v)
{
	kh_err err = { 0, "" };
	kh_choice choice;
	kh_bench_placement_options o = { .choice = &choice,
					 .db = v->db,
					 .threads = kh_cmd_threads(v->threads),
					 .repeat = (int)v->repeat };
	int rc = v->db ? kh_backend_choose(&choice, v->device ? v->device : "cuda", &err)
		       : kh_fail(&err, KH_EUSAGE, "placement needs --db FILE");

	if (!rc && choice.backend->on_host)
		rc = kh_fail(&err, KH_EUSAGE, "placement is measured on GPUs");
	if (!rc)
		rc = kh_bench_placement(&o, stdout, &err);
	return rc ? kh_cmd_fail(c, &err) : 0;
}

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .repeat = 5 };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &v);

	if (first <= 0)
		return first < 0 ? 2 : 0;
	if (kh_cmd_check_printing((const char *const *)argv + first + 1,
				  first < argc ? (size_t)(argc - first - 1) : 0, "a reference",
				  &err) ||
	    kh_cmd_check_printing(&v.db, v.db != NULL, "the database", &err))
		return kh_cmd_fail(c, &err);
	if (first + 1 < argc && strcmp(argv[first], "pipeline") == 0)
		return pipeline(c, &v, argv + first + 1, (size_t)(argc - first - 1));
	if (first + 1 < argc && strcmp(argv[first], "build") == 0)
		return build(c, &v, argv + first + 1, (size_t)(argc - first - 1));
	if (first + 1 == argc && strcmp(argv[first], "placement") == 0)
		return placement(c, &v);
	if (first + 1 != argc || strcmp(argv[first], "tables") != 0) {
		kh_fail(&err, KH_EUSAGE,
			"what to measure must be named: tables, placement, or pipeline or build "
			"and "
			"references");
		return kh_cmd_fail(c, &err);
	}
	kh_bench_tables_options o = { .experiment = v.experiment,
			       .table = v.table,
			       .log2n = (int)v.log2n,
			       .repeat = (int)v.repeat };
	return kh_bench_tables(&o, stdout, &err) ? kh_cmd_fail(c, &err) : 0;
}

const kh_command kh_cmd_bench = {
	"bench", "measure the GPU hash tables, or the pipeline's stages",
	"tables | placement | pipeline REFERENCE.fa... | build REFERENCE.fa...", opts, run
};
