/* cmd_bench.c - kmerhash bench: the GPU hash tables side by side */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include "bench_tables.h"
#include "cmd.h"

struct values {
	const char *experiment, *table;
	uint64_t log2n, repeat;
};

#define AT(field) offsetof(struct values, field)

static const kh_opt opts[] = {
	{ "experiment", 0, KH_OPT_TEXT, "NAME", "only this experiment [all]",
	  AT(experiment), 0, 0 },
	{ "table", 0, KH_OPT_TEXT, "NAME", "only this table [all]", AT(table), 0, 0 },
	{ "log2n", 0, KH_OPT_UINT, "N", "2^N pairs a case [each experiment's own]",
	  AT(log2n), 10, 30 },
	{ "repeat", 0, KH_OPT_UINT, "N", "runs a case; the median counts", AT(repeat), 1,
	  31 },
	{ NULL, 0, KH_OPT_FLAG, NULL, NULL, 0, 0, 0 }
};

static int run(const kh_command *c, int argc, char **argv)
{
	struct values v = { .repeat = 5 };
	kh_err err = { 0, "" };
	int first = kh_opt_parse(c, argc, argv, &v);

	if (first <= 0)
		return first < 0 ? 2 : 0;
	if (first + 1 != argc || strcmp(argv[first], "tables") != 0) {
		kh_fail(&err, KH_EUSAGE, "what to measure must be named: tables");
		return kh_cmd_fail(c, &err);
	}
	kh_bench_options o = { .experiment = v.experiment,
			       .table = v.table,
			       .log2n = (int)v.log2n,
			       .repeat = (int)v.repeat };
	return kh_bench_tables(&o, stdout, &err) ? kh_cmd_fail(c, &err) : 0;
}

const kh_command kh_cmd_bench = { "bench", "measure the GPU hash tables", "tables", opts,
				  run };
