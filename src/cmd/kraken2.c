/*
 * kraken2.c - the program called as kraken2 or as k2: its command line, as one of classify
 *
 * The options are those of the script kraken2: they may be shortened and may begin with one '-',
 * and an unknown one is reported and ignored.  `k2 classify` has the same options and a few more;
 * the next k2 in PATH runs all other commands of k2.
 */
#include <config.h>
#include "cmd/program.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "cmd/options.h"
#include "db/kraken.h"
#include "io/paths.h"

#define KRAKEN2_VERSION "2.17.1"         /* whose lines and reports these are */
enum { USAGE = 64 };                    /* the script's exit status for wrong usage */

/* An option of kraken2, and what classify calls it: an option, or a setting.  NULL: it has no
 * meaning there. */
static const struct {
	const char *name, *as;
	bool arg;
} option[] = {
	{ "db", NULL, true },
	{ "threads", NULL, true },
	{ "bzip2-compressed", NULL, false },
	{ "help", NULL, false },
	{ "version", NULL, false },
	{ "use-mpa-style", NULL, false },
	{ "report-minimizer-data", NULL, false },
	{ "quick", "quick", false },
	{ "unclassified-out", "--unclassified-out", true },
	{ "classified-out", "--classified-out", true },
	{ "output", "--output", true },
	{ "confidence", "--confidence", true },
	{ "memory-mapping", NULL, false },
	{ "paired", "--paired", false },
	{ "use-names", "--use-names", false },
	{ "gzip-compressed", NULL, false },
	{ "only-classified-output", NULL, false },
	{ "fastq-input", NULL, false },
	{ "fasta-input", NULL, false },
	{ "minimum-base-quality", "minimum-base-quality", true },
	{ "report", "--report", true },
	{ "report-zero-counts", "zero-counts", false },
	{ "minimum-hit-groups", "minimum-hit-groups", true },
	{ "interleaved", "--interleaved", false },
	{ "log", NULL, true },
	{ "use-daemon", NULL, false },
};
enum { OPT_DB, OPT_THREADS, OPT_BZIP2, OPT_HELP, OPT_VERSION, OPT_MPA, OPT_DISTINCT,
       N_OPTIONS = sizeof option / sizeof *option };

/* The command line of classify while it is made. */
typedef struct line {
	char **word;                    /* owned, and so are the words */
	size_t n, cap;
	const char *db, *threads;
	bool bzip2, paired, mpa, distinct;
	const char *kraken_only, *confidence;   /* an option that a .khdb ignores; a share */
	bool k2;                        /* `k2 classify` */
} line;

static int failed(const char *what, const char *why)
{
	fprintf(stderr, "kraken2: %s%s\n", what, why);
	return 1;
}

static int add(line *l, const char *fmt, ...) KH_PRINTF(2, 3);
static int add(line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (KH_GROW(l->word, l->cap, l->n + 2, NULL))
		return failed("no memory", "");
	va_start(ap, fmt);
	n = vasprintf(&l->word[l->n], fmt, ap);
	va_end(ap);
	if (n < 0)
		return failed("no memory", "");
	l->word[++l->n] = NULL;
	return 0;
}

static void usage(FILE *f)
{
	fprintf(f, "Usage: kraken2 [options] <filename(s)>\n\nOptions:\n");
	for (int i = 0; i < N_OPTIONS; i++)
		fprintf(f, "  --%s%s\n", option[i].name, option[i].arg ? " ..." : "");
	fprintf(f, "\nThis is kmerhash; kmerhash-kraken2(1) says what differs.\n");
}

/* --- the database ----------------------------------------------------------------- */
static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A name without a slash is looked for in the folders of KRAKEN2_DB_PATH, or here; a file, which is
 * no database of Kraken 2, here in any case.  *path is to be freed. */
static int find_db(const line *l, char **path)
{
	const char *at = getenv("KRAKEN2_DB_PATH");
	const char *name = l->db ? l->db : getenv("KRAKEN2_DEFAULT_DB");

	if (!name)
		return failed("Must specify DB with either --db or $KRAKEN2_DEFAULT_DB", "");
	if (strchr(name, '/') || (l->k2 && is_folder(name)))
		return (*path = strdup(name)) ? 0 : failed("no memory", "");
	for (at = at ? at : ""; at; at = *at ? at + 1 : NULL) {
		const size_t n = strcspn(at, ":");

		if (asprintf(path, "%.*s/%s", n ? (int)n : 1, n ? at : ".", name) < 0)
			return *path = NULL, failed("no memory", "");
		if (is_folder(*path))
			return 0;
		free(*path);
		*path = NULL;
		at += n;
	}
	if (kh_path_is_file(name, &(struct stat) { 0 }))
		return (*path = strdup(name)) ? 0 : failed("no memory", "");
	return failed("unable to find the database in $KRAKEN2_DB_PATH: ", name);
}

/* What options do with a database that kmerhash has built. */
static void tell_kind(const line *l, const char *db)
{
	if (kh_db_is_kraken(db))
		return;
	if (l->kraken_only)
		fprintf(stderr, "kraken2: warning: %s is not Kraken 2's, so --%s is ignored\n", db,
			l->kraken_only);
	if (l->confidence && strtod(l->confidence, NULL) > 0)
		fprintf(stderr, "kraken2: warning: %s is not Kraken 2's, so --confidence is the "
			"share of a read's 12-mers that match the called reference\n", db);
}

/* --- inputs ----------------------------------------------------------------------- */
/* Without an option, the first file says it for all. */
static bool is_bzip2(const char *path)
{
	char magic[2];
	FILE *f = kh_path_is_file(path, &(struct stat) { 0 }) ? fopen(path, "re") : NULL;
	const bool is = f && fread(magic, 1, 2, f) == 2 && memcmp(magic, "BZ", 2) == 0;

	if (f)
		fclose(f);
	return is;
}

static int add_inputs(line *l, int n, char **path)
{
	int rc = l->bzip2 || is_bzip2(path[0]) ? add(l, "--set=bzip2") : 0;

	rc = rc ? rc : add(l, "--");
	for (int i = 0; i < n && !rc; i++)
		rc = add(l, "%s", path[i]);
	return rc;
}

/* --- options ---------------------------------------------------------------------- */
static int add_option(line *l, const char *as, const char *value)
{
	if (as[0] != '-')
		return value ? add(l, "--set=%s=%s", as, value) : add(l, "--set=%s", as);
	return add(l, "%s", as) || (value && add(l, "%s", value));
}

/* Notes the options that more depends on. */
static void note(line *l, const char *name, const char *value)
{
	l->paired = l->paired || strcmp(name, "paired") == 0;
	if (strcmp(name, "confidence") == 0)
		l->confidence = value;
	if (strcmp(name, "quick") == 0 || strncmp(name, "minimum-", 8) == 0)
		l->kraken_only = name;
}

/* 0; -1: done; else the exit status. */
static int take(line *l, int i)
{
	switch (i) {
	case OPT_DB:
		l->db = optarg;
		return 0;
	case OPT_THREADS:
		l->threads = optarg;
		return 0;
	case OPT_BZIP2:
		l->bzip2 = true;
		return 0;
	case OPT_HELP:
		usage(stdout);
		return -1;
	case OPT_VERSION:
		printf("Kraken version %s (%s)\n", KRAKEN2_VERSION, PACKAGE_STRING);
		return -1;
	case OPT_MPA:
		l->mpa = true;
		return 0;
	case OPT_DISTINCT:
		l->distinct = true;
		return 0;
	default:
		note(l, option[i].name, optarg);
		return option[i].as ? add_option(l, option[i].as, optarg) : 0;
	}
}

static int parse(line *l, int argc, char **argv)
{
	struct option longs[N_OPTIONS + 1] = { { NULL, 0, NULL, 0 } };
	int got, rc = 0;

	for (int i = 0; i < N_OPTIONS; i++)
		longs[i] = (struct option) { option[i].name,
					     option[i].arg ? required_argument : no_argument, NULL,
					     i + 1 };
	while (!rc && (got = getopt_long_only(argc, argv, "", longs, NULL)) != -1)
		rc = got == '?' ? 0 : take(l, got - 1);
	return rc;
}

static int make_line(line *l, int argc, char **argv, char **db)
{
	const char *threads = getenv("KRAKEN2_NUM_THREADS");
	int rc = add(l, "classify") || add(l, "--quiet") || add(l, "--set=kraken2") ||
		 add(l, "--set=no-mate-check") || add(l, "--set=allow-no-eof");

	rc = rc ? rc : parse(l, argc, argv);
	if (rc)
		return rc;
	const int n = argc - optind;
	if (n == 0) {
		fprintf(stderr, "Need to specify input filenames!\n");
		usage(stderr);
		return USAGE;
	}
	if ((rc = find_db(l, db)))
		return rc;
	if (l->paired && n % 2)
		return failed("--paired requires positive and even number filenames", "");
	tell_kind(l, *db);
	/* reports in the style of MetaPhlAn have no columns for minimizers */
	if (l->mpa || l->distinct)
		rc = add(l, l->mpa ? "--set=mpa-style" : "--set=distinct");
	l->threads = l->threads ? l->threads : threads && *threads ? threads : "1";
	rc = rc || add(l, "--threads=%s", l->threads) || add(l, "--db=%s", *db);
	return rc ? rc : add_inputs(l, n, argv + optind);
}

/* --- names of the program --------------------------------------------------------- */
static bool is_called(const char *program, const char *name)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, name) == 0;
}

bool kh_is_kraken2(const char *program)
{
	return is_called(program, "kraken2") || is_called(program, "k2");
}

/* Becomes the first k2 in PATH that is not this program. */
static int hand_on(char **argv)
{
	const char *at = getenv("PATH");
	struct stat own, other;
	char path[4096];

	for (at = at ? at : ""; stat("/proc/self/exe", &own) == 0 && *at; at += *at == ':') {
		const size_t n = strcspn(at, ":");

		snprintf(path, sizeof path, "%.*s/k2", n ? (int)n : 1, n ? at : ".");
		if (kh_path_is_file(path, &other) &&
		    (other.st_dev != own.st_dev || other.st_ino != own.st_ino))
			execv(path, argv);
		at += n;
	}
	fprintf(stderr, "k2: only `k2 classify` is here, and no other k2 in PATH\n");
	return 1;
}

int kh_kraken2(int argc, char **argv)
{
	line l = { .k2 = is_called(argv[0], "k2") };
	char *db = NULL;
	int rc;

	if (l.k2) {
		if (argc < 2 || strcmp(argv[1], "classify") != 0)
			return hand_on(argv);
		argc--;
		argv++;
	}
	rc = make_line(&l, argc, argv, &db);
	if (rc == 0) {
		optind = 0;             /* begin anew with another command line */
		rc = kh_cmd_classify.run(&kh_cmd_classify, (int)l.n, l.word);
	}
	for (size_t i = 0; i < l.n; i++)
		free(l.word[i]);
	free(l.word);
	free(db);
	return rc < 0 ? 0 : rc;
}
