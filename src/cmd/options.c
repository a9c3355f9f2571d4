#include <config.h>
#include "cmd/options.h"

#include <errno.h>
#include <getopt.h>
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "io/paths.h"
#include "taxonomy/taxonomy.h"

enum { MAX_OPTS = 64, FIRST_LONG = 256, OPT_VERSION = 'V' };

void kh_usage(const kh_command *c)
{
	printf("Usage: kmerhash %s [options] %s\n%s\n\nOptions:\n", c->name, c->operands,
	       c->summary);
	for (const kh_opt *o = c->opts; o->name; o++) {
		char left[64];

		if (o->kind == KH_OPT_GONE)
			continue;
		snprintf(left, sizeof left, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
		printf("%-34s %s\n", left, o->help);
	}
	printf("  -h, --help                       this text\n"
	       "      --version                    the version of the program\n"
	       "The manual page kmerhash-%s(1) says more.\n", c->name);
}

int kh_cmd_fail(const kh_command *c, const kh_err *err)
{
	kh_log_failure(c->name, err->msg[0] ? err->msg : "stopped");
	return err->code == KH_EUSAGE ? 2 : 1;
}

int kh_cmd_fail_all(const kh_command *c, const kh_errs *errs)
{
	char more[64];
	int status = 2;

	for (size_t i = 0; i < errs->n; i++)
		if (kh_cmd_fail(c, &errs->v[i]) == 1)
			status = 1;
	snprintf(more, sizeof more, "%zu more errors are not shown", errs->found - errs->n);
	if (errs->found > errs->n)
		kh_log_failure(c->name, more);
	return status;
}

static int wrong(const kh_command *c, const char *fmt, ...) KH_PRINTF(2, 3);
static int wrong(const kh_command *c, const char *fmt, ...)
{
	char text[512], all[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(all, sizeof all, "%s (kmerhash %s -h lists the options)", text, c->name);
	kh_log_failure(c->name, all);
	return -1;
}

/* --- values ----------------------------------------------------------------------- */
static bool parse_uint(const char *s, bool suffix, uint64_t *x)
{
	static const char unit[] = "KMGT";
	char *end;
	unsigned long long v;
	const char *u;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || errno)
		return false;
	*x = v;
	if (suffix && *end & 0x40 && (u = strchr(unit, *end & ~0x20))) {
		unsigned shift = 10 * (unsigned)(u - unit + 1);

		if (v > UINT64_MAX >> shift)
			return false;
		*x = (uint64_t)v << shift;
		end++;
	}
	return *end == 0;
}

static bool parse_real(const char *s, double *x)
{
	char *end;

	errno = 0;
	*x = strtod(s, &end);
	return end != s && !errno && *end == 0;
}

static int set_number(const kh_command *c, const kh_opt *o, const char *arg, void *to)
{
	double x;

	if (o->kind == KH_OPT_REAL) {
		if (!parse_real(arg, &x) || !(x >= o->min && x <= o->max))
			return wrong(c, "--%s: '%s' is not a number from %g to %g", o->name, arg,
				     o->min, o->max);
		*(double *)to = x;
		return 0;
	}
	if (!parse_uint(arg, o->kind == KH_OPT_SIZE, to))
		return wrong(c, "--%s: '%s' is not a %s", o->name, arg,
			     o->kind == KH_OPT_SIZE ? "size (such as 512M)" : "whole number");
	x = (double)*(uint64_t *)to;
	if (o->max > 0 && (x < o->min || x > o->max))
		return wrong(c, "--%s: %s is not in %.0f to %.0f", o->name, arg, o->min, o->max);
	return 0;
}

static int set(const kh_command *c, const kh_opt *o, const char *arg, void *values)
{
	void *to = (char *)values + o->at;
	kh_words *w = to;
	kh_err err = { 0, "" };

	switch (o->kind) {
	case KH_OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case KH_OPT_TEXT:
		*(const char **)to = arg;
		return 0;
	case KH_OPT_LIST:
		if (kh_grow((void **)&w->v, &w->cap, w->n + 1, sizeof *w->v, &err))
			return kh_cmd_fail(c, &err), -2;
		w->v[w->n++] = arg;
		return 0;
	case KH_OPT_LOUDER:
		kh_log_level(KH_DEBUG);
		return 0;
	case KH_OPT_QUIETER:
		kh_log_level(KH_ERROR);
		return 0;
	case KH_OPT_LOG_JSON:
		kh_log_json(c->name);   /* it may have been shortened, so that it was not found */
		return 0;
	case KH_OPT_NOTE:
	case KH_OPT_NOTE_ARG:
		kh_log(KH_WARN, "--%s has no meaning here and is ignored", o->name);
		return 0;
	case KH_OPT_SILENT:
		return 0;
	case KH_OPT_GONE:
		return wrong(c, "--%s is no option any more: %s", o->name, o->help);
	default:
		return set_number(c, o, arg, to);
	}
}

/* Looked for before anything is parsed: a message on what is wrong with other options is of it. */
static void find_log_json(const kh_command *c, int argc, char **argv)
{
	const kh_opt *o = c->opts;

	while (o->name && o->kind != KH_OPT_LOG_JSON)
		o++;
	for (int i = 1; o->name && i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--log-json") == 0)
			kh_log_json(c->name);
}

/* --- the parser ------------------------------------------------------------------- */
/* What getopt_long needs to know of the options of a command. */
struct getopt_tables {
	struct option longs[MAX_OPTS + 3];
	char shorts[2 * MAX_OPTS + 4];
};

static void make_tables(struct getopt_tables *t, const kh_opt *o)
{
	char *at = t->shorts;
	int n = 0;

	*at++ = ':';
	*at++ = 'h';
	for (; o[n].name; n++) {
		const bool arg = o[n].arg != NULL;

		assert(n < MAX_OPTS);
		t->longs[n] = (struct option) { o[n].name, arg ? required_argument : no_argument,
						NULL, FIRST_LONG + n };
		if (o[n].letter)
			*at++ = o[n].letter;
		if (o[n].letter && arg)
			*at++ = ':';
	}
	*at = 0;
	t->longs[n] = (struct option) { "help", no_argument, NULL, 'h' };
	t->longs[n + 1] = (struct option) { "version", no_argument, NULL, OPT_VERSION };
	t->longs[n + 2] = (struct option) { NULL, 0, NULL, 0 };
}

int kh_opt_parse(const kh_command *c, int argc, char **argv, void *values)
{
	struct getopt_tables t;
	int got;

	find_log_json(c, argc, argv);
	make_tables(&t, c->opts);
	opterr = 0;
	while ((got = getopt_long(argc, argv, t.shorts, t.longs, NULL)) != -1) {
		const kh_opt *o = c->opts;

		if (got == 'h') {
			kh_usage(c);
			return 0;
		}
		if (got == OPT_VERSION) {
			puts(PACKAGE_STRING);
			return 0;
		}
		if (got == ':')
			return wrong(c, "option '%s' needs an argument", argv[optind - 1]);
		if (got == '?' && optopt && optopt < FIRST_LONG)
			return wrong(c, "unknown option '-%c'", optopt);
		if (got == '?')
			return wrong(c, "unknown option '%s'", argv[optind - 1]);
		if (got >= FIRST_LONG)
			o += got - FIRST_LONG;
		else
			while (o->letter != got)
				o++;
		int rc = set(c, o, optarg, values);
		if (rc)
			return rc;
	}
	return optind;
}

/* --- for all commands ------------------------------------------------------------- */
int kh_cmd_check_taxonomy(const kh_paths *p, const char *folder, kh_err *err)
{
	int rc = KH_OK;

	for (int i = 0; i < KH_TAXDUMP_FILES && folder && !rc; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", folder, kh_taxdump_file[i]) < 0)
			return kh_fail_nomem(err);
		rc = kh_paths_input(p, path, "a file of the taxonomy", err);
		free(path);
	}
	return rc;
}

int kh_cmd_check_printing(const char *const *path, size_t n, const char *what, kh_err *err)
{
	kh_paths *p = NULL;
	int rc = kh_paths_new(&p, err);

	if (!rc)
		rc = kh_paths_output(p, "-", err);
	for (size_t i = 0; i < n && !rc; i++)
		rc = kh_paths_input(p, path[i], what, err);
	kh_paths_free(p);
	return rc;
}

int kh_cmd_part(kh_comm *c, int status)
{
	const int at_once = kh_comm_close(c);

	return at_once ? at_once | KH_STATUS_AT_ONCE : status;
}

double kh_cmd_mate_timeout(void)
{
	const char *env = getenv("KMERHASH_MATE_TIMEOUT");
	double seconds = 60;

	if (env && *env && !(parse_real(env, &seconds) && seconds >= 0)) {
		kh_log(KH_WARN, "KMERHASH_MATE_TIMEOUT is not a number of seconds: '%s'", env);
		seconds = 60;
	}
	return seconds;
}

unsigned kh_cmd_threads(uint64_t asked)
{
	const char *env = getenv("KMERHASH_THREADS");
	unsigned cpus = kh_cpus();
	uint64_t n = asked;

	if (n == 0 && env && *env && !parse_uint(env, false, &n))
		kh_log(KH_WARN, "KMERHASH_THREADS is not a whole number: '%s'", env);
	if (n == 0)
		return cpus;
	if (n > cpus) {
		kh_log(KH_WARN, "%" PRIu64 " threads asked for, %u CPUs are there: using %u", n,
		       cpus, cpus);
		return cpus;
	}
	return (unsigned)n;
}

double kh_cmd_seconds(void)
{
	static double began;
	double now = kh_seconds();

	if (began == 0)
		began = now;
	return now - began;
}

/* VmHWM counts pages of files, too; those of a mapped database are shared, and the system can
 * drop them. */
uint64_t kh_cmd_peak(void)
{
	unsigned long long peak = 0, files = 0, x;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f)) {
		if (sscanf(line, "VmHWM: %llu", &x) == 1)
			peak = x;
		if (sscanf(line, "RssFile: %llu", &x) == 1)
			files = x;
	}
	if (f)
		fclose(f);
	return (uint64_t)(peak > files ? peak - files : peak) * 1024;
}
