/* main.c - finds the command and runs it */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "cmd.h"
#include "output.h"

static const kh_command *const command[] = {
	&kh_cmd_bench,
	&kh_cmd_build,
	&kh_cmd_classify,
	&kh_cmd_inspect,
	&kh_cmd_verify,
};

enum { N_COMMANDS = sizeof command / sizeof command[0] };

static void usage(FILE *f)
{
	fprintf(f, "Usage: kmerhash COMMAND [options] ...\n\nCommands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-10s %s\n", command[i]->name, command[i]->summary);
	fprintf(f, "\nkmerhash COMMAND -h lists a command's options; kmerhash --version\n");
}

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(argv[1], command[i]->name) == 0)
			return command[i]->run(command[i], argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		printf("%s\n", PACKAGE_STRING);
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(stdout);
		return 0;
	}
	fprintf(stderr, "kmerhash: '%s' is not a command (kmerhash --help lists them)\n", argv[1]);
	return 2;
}

/* A standard stream that is closed would be the next file to be opened, and what is said on it
 * would be written there.  What takes its place can only be used the wrong way round. */
static int fill_streams(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY) != fd)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int rc;

	if (fill_streams())
		return 1;
	kh_cmd_seconds();
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	kh_out_signals();
	rc = run(argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "kmerhash: standard output: %s\n", strerror(errno));
		return rc ? rc : 1;
	}
	return rc;
}
