/* main.c - finds the command and runs it */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory_left.h"
#include "cmd/options.h"
#include "cmd/program.h"

static const kh_command *const command[] = {
	&kh_cmd_bracken_distrib,
	&kh_cmd_build,
	&kh_cmd_classify,
	&kh_cmd_inspect,
	&kh_cmd_merge,
	&kh_cmd_verify,
};

enum { N_COMMANDS = sizeof command / sizeof command[0] };

static void usage(FILE *f)
{
	fprintf(f, "Usage: kmerhash COMMAND [options] ...\n\nCommands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-16s %s\n", command[i]->name, command[i]->summary);
	fprintf(f, "\nkmerhash help COMMAND lists its options; "
		"kmerhash --version -v says what is here\n");
}

static const kh_command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(name, command[i]->name) == 0)
			return command[i];
	return NULL;
}

static bool takes(const kh_command *c, const char *word)
{
	const size_t n = strcspn(word, "=");

	for (const kh_opt *o = c->opts; o->name; o++)
		if (!o->hidden &&
		    ((n > 2 && strncmp(word, "--", 2) == 0 && strlen(o->name) == n - 2 &&
		      strncmp(o->name, word + 2, n - 2) == 0) ||
		     (n == 2 && o->letter && word[1] == o->letter)))
			return true;
	return false;
}

/* A command that takes the option; NULL: none does.  Most people want to classify. */
static const kh_command *taking(const char *option)
{
	if (takes(&kh_cmd_classify, option))
		return &kh_cmd_classify;
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (takes(command[i], option))
			return command[i];
	return NULL;
}

static int unknown(const char *name)
{
	const char *names[N_COMMANDS], *nearest;
	const kh_command *c = name[0] == '-' ? taking(name) : NULL;

	if (c) {
		fprintf(stderr, "kmerhash: '%s' is not a command, did you mean kmerhash %s %s ...? "
			"(kmerhash help lists them)\n", name, c->name, name);
		return 2;
	}
	for (size_t i = 0; i < N_COMMANDS; i++)
		names[i] = command[i]->name;
	nearest = kh_nearest(name, strlen(name), names, N_COMMANDS);
	fprintf(stderr, "kmerhash: '%s' is not a command%s%s%s (kmerhash help lists them)\n", name,
		nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
	return 2;
}

/* kmerhash help [COMMAND] */
static int help(const char *name)
{
	const kh_command *c = name ? find(name) : NULL;

	if (name && !c)
		return unknown(name);
	if (c)
		kh_usage(c);
	else
		usage(stdout);
	return 0;
}

static int version(int n, char **word)
{
	const bool all = n > 0 && (strcmp(word[0], "-v") == 0 ||
				   strcmp(word[0], "--verbose") == 0);

	if (n > all) {
		fprintf(stderr, "kmerhash: --version takes no '%s', only -v\n", word[all]);
		return 2;
	}
	printf("%s\n", PACKAGE_STRING);
	if (all)
		kh_version_details();
	return 0;
}

static int run(int argc, char **argv)
{
	const char *word = argv[1];
	const kh_command *c = find(word);

	if (c) {
		kh_cmd_faults(c->name);
		return c->run(c, argc - 1, argv + 1);
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0)
		return version(argc - 2, argv + 2);
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return help(argv[2]);
	return unknown(word);
}

int main(int argc, char **argv)
{
	int rc;

	if (kh_cmd_streams())
		return 1;
	kh_cmd_seconds();
#ifdef M_ARENA_MAX
	/* By default each thread reserves 64 MB of address space or more for what it allocates. */
	if (kh_address_space_left() != UINT64_MAX)
		mallopt(M_ARENA_MAX, 1);
#endif
	/* A GPU does what so many streams ask for side by side; by default it would be 8.  CUDA
	 * reads this when it begins, and what a user has set stays. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	const bool kraken2 = argc > 0 && kh_is_kraken2(argv[0]);
	if (argc < 2 && !kraken2) {
		usage(stderr);
		return 2;
	}
	kh_cmd_signals();
	rc = kraken2 ? kh_kraken2(argc, argv) : run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "kmerhash: standard output: %s\n", strerror(errno));
		rc = rc ? rc : 1;
	}
	return rc;
}
