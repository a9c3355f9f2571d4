/*
 * main.c - kmerhash-bench: the GPU hash tables of the literature (cuda/tables/README.md)
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/tables/bench/measure.h"

static const char usage[] =
	"Usage: kmerhash-bench [options] tables\n"
	"measure the GPU hash tables of cuda/tables; its README.md says more\n\n"
	"Options:\n"
	"      --experiment NAME            only this experiment [all]\n"
	"      --table NAME                 only this table, or several with commas between [all]\n"
	"      --log2n N                    2^N pairs a case, 10 to 30 [each experiment's own]\n"
	"      --repeat N                   runs a case; the median counts [5]\n"
	"  -h, --help                       this text\n";

static int number(int *x, const char *arg, int min, int max, kh_err *err)
{
	char *end;

	errno = 0;
	const long n = strtol(arg, &end, 10);
	if (end == arg || *end || errno || n < min || n > max)
		return kh_fail(err, KH_EUSAGE, "'%s' is not a number from %d to %d", arg, min, max);
	*x = (int)n;
	return KH_OK;
}

static int parse(int argc, char **argv, kh_bench_tables_options *o, kh_err *err)
{
	static const struct option longs[] = { { "experiment", required_argument, NULL, 'e' },
					       { "table", required_argument, NULL, 't' },
					       { "log2n", required_argument, NULL, 'n' },
					       { "repeat", required_argument, NULL, 'r' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	int got, rc = KH_OK;

	while (!rc && (got = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		switch (got) {
		case 'e': o->experiment = optarg; break;
		case 't': o->table = optarg; break;
		case 'n': rc = number(&o->log2n, optarg, 10, 30, err); break;
		case 'r': rc = number(&o->repeat, optarg, 1, KH_BENCH_RUNS, err); break;
		case 'h': fputs(usage, stdout); exit(0);
		default: rc = kh_fail(err, KH_EUSAGE, "kmerhash-bench -h lists the options");
		}
	if (!rc && (optind + 1 != argc || strcmp(argv[optind], "tables") != 0))
		rc = kh_fail(err, KH_EUSAGE, "what to measure must be named: tables");
	return rc;
}

int main(int argc, char **argv)
{
	kh_bench_tables_options o = { NULL, NULL, 0, 5 };
	kh_err err = { 0, "" };
	int rc = parse(argc, argv, &o, &err);

	if (!rc)
		rc = kh_bench_tables(&o, stdout, &err);
	if (!rc && (fflush(stdout) || ferror(stdout)))
		rc = kh_fail_errno(&err, "standard output");
	if (rc)
		fprintf(stderr, "kmerhash-bench: %s\n", err.msg);
	return rc == KH_EUSAGE ? 2 : rc != 0;
}
