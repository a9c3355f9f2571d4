/*
 * main.c - kmerhash-bench: the stages of a build and of a run one by one; the GPU hash tables of
 * the literature
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/program.h"
#include "tests/bench/program/measure.h"

struct values {
	const char *experiment, *table, *db, *device, *dir;
	uint64_t log2n, repeat, threads;
	const char *const *refs;
	size_t n_refs;
};

/* --- options ---------------------------------------------------------------------- */
/* An option is a text, or a number from min to max. */
struct row {
	const char *name, *arg, *help;
	size_t at;
	uint64_t min, max;
};
#define AT(field) offsetof(struct values, field)
static const struct row rows[] = {
	{ "db", "FILE", "a database: for pipeline's stages of classify", AT(db), 0, 0 },
	{ "device", "NAME", "pipeline: auto, cpu, cuda or cuda:1 [auto]", AT(device), 0, 0 },
	{ "dir", "DIR", "pipeline: where files are written [TMPDIR, or /tmp]", AT(dir), 0, 0 },
	{ "experiment", "NAME", "tables: only this experiment [all]", AT(experiment), 0, 0 },
	{ "log2n", "N", "tables: 2^N pairs a case [each experiment's own]", AT(log2n), 10, 30 },
	{ "repeat", "N", "runs a case; the median counts [5]", AT(repeat), 1, KH_BENCH_RUNS },
	{ "table", "NAME", "tables: only this table [all]", AT(table), 0, 0 },
	{ "threads", "N", "pipeline: workers [all CPUs]", AT(threads), 1, 1024 },
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static void usage(void)
{
	printf("Usage: kmerhash-bench [options] tables | pipeline REFERENCE.fa...\n"
	       "measure the stages of kmerhash, or the GPU hash tables\n\nOptions:\n");
	for (size_t i = 0; i < N_ROWS; i++) {
		char left[64];

		snprintf(left, sizeof left, "      --%s %s", rows[i].name, rows[i].arg);
		printf("%-34s %s\n", left, rows[i].help);
	}
	printf("  -h, --help                       this text\n"
	       "The manual page kmerhash-bench(1) says more.\n");
}

static int set(const struct row *o, const char *arg, struct values *v, kh_err *err)
{
	void *to = (char *)v + o->at;
	unsigned long long x;
	char *end;

	if (o->max == 0) {
		*(const char **)to = arg;
		return KH_OK;
	}
	errno = 0;
	x = strtoull(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || x < o->min || x > o->max)
		return kh_fail(err, KH_EUSAGE, "--%s: '%s' is not a number from %d to %d", o->name,
			       arg, (int)o->min, (int)o->max);
	*(uint64_t *)to = x;
	return KH_OK;
}

/* Returns the index of the first operand; 0: help was printed; < 0: an error. */
static int parse(int argc, char **argv, struct values *v, kh_err *err)
{
	struct option longs[N_ROWS + 2] = { { NULL, 0, NULL, 0 } };
	int got, rc = KH_OK;

	for (int i = 0; i < N_ROWS; i++)
		longs[i] = (struct option) { rows[i].name, required_argument, NULL, 256 + i };
	longs[N_ROWS] = (struct option) { "help", no_argument, NULL, 'h' };
	while (!rc && (got = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (got == 'h') {
			usage();
			return 0;
		}
		rc = got < 256 ? kh_fail(err, KH_EUSAGE, "kmerhash-bench -h lists the options")
			       : set(&rows[got - 256], optarg, v, err);
	}
	return rc ? rc : optind;
}

/* --- what is measured ------------------------------------------------------------- */
static int pipeline(const struct values *v, kh_err *err)
{
	const char *tmp = getenv("TMPDIR");
	kh_bench_pipeline_options o = { .refs = v->refs,
					.n_refs = v->n_refs,
					.db = v->db,
					.device = v->device ? v->device : "auto",
					.dir = v->dir        ? v->dir
					       : tmp && *tmp ? tmp
							     : "/tmp",
					.threads = v->threads ? (unsigned)v->threads : kh_cpus(),
					.repeat = (int)v->repeat };

	return kh_bench_pipeline(&o, stdout, err);
}

static int tables(const struct values *v, kh_err *err)
{
	const kh_bench_tables_options o = { .experiment = v->experiment,
					    .table = v->table,
					    .log2n = (int)v->log2n,
					    .repeat = (int)v->repeat };

	return kh_bench_tables(&o, stdout, err);
}

static int run(int argc, char **argv, kh_err *err)
{
	static const struct {
		const char *name;
		bool refs;      /* it needs references; the others take no operand */
		int (*run)(const struct values *v, kh_err *err);
	} what[] = { { "pipeline", true, pipeline },
		     { "tables", false, tables } };
	struct values v = { .repeat = 5 };
	int first = parse(argc, argv, &v, err);

	if (first <= 0)
		return first;
	v.refs = (const char *const *)argv + first + 1;
	v.n_refs = first < argc ? (size_t)(argc - first - 1) : 0;
	for (size_t i = 0; i < sizeof what / sizeof what[0] && first < argc; i++)
		if (strcmp(argv[first], what[i].name) == 0 && what[i].refs == (v.n_refs > 0))
			return what[i].run(&v, err);
	return kh_fail(err, KH_EUSAGE, "what to measure must be named: tables, or pipeline and "
				       "references");
}

int main(int argc, char **argv)
{
	kh_err err = { 0, "" };
	int rc;

	kh_cmd_signals();
	rc = run(argc, argv, &err);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = kh_fail_errno(&err, "standard output");
	if (rc)
		fprintf(stderr, "kmerhash-bench: %s\n", err.msg);
	return rc == KH_EUSAGE ? 2 : rc != 0;
}
