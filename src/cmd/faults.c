#include <config.h>
#include "cmd/program.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "db/in_use.h"
#include "io/temporary.h"

static const char *command;
/* SIGBUS: the mapped file was cut off. The others: the file was overwritten after its offsets and
 * counts had been checked. */
static const int fault[] = { SIGBUS, SIGSEGV, SIGFPE, SIGABRT };
enum { N_FAULTS = sizeof fault / sizeof *fault };
static struct sigaction before[N_FAULTS];

/* Uses only what POSIX allows in a handler; a line that cannot be written is lost. */
static void say(const char *const *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (write(STDERR_FILENO, part[i], strlen(part[i])) < 0)
			return;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	static atomic_flag first = ATOMIC_FLAG_INIT;
	const char *path = "";
	const char *why = kh_db_fault(info->si_code > 0 ? info->si_addr : NULL, &path);

	(void)context;
	while (atomic_flag_test_and_set(&first))
		pause();                /* another thread has failed, too, and ends the program */
	kh_temporary_remove_all();
	if (why) {
		const char *const part[] = { "kmerhash ", command, ": ", path, ": ", why,
					     "\n" };

		say(part, sizeof part / sizeof *part);
		_exit(1);
	}
	for (int i = 0; i < N_FAULTS; i++)
		if (fault[i] == sig)
			sigaction(sig, &before[i], NULL);
	raise(sig);
}

void kh_cmd_faults(const char *name)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	command = name;
	for (int i = 0; i < N_FAULTS; i++)
		sigaction(fault[i], &sa, &before[i]);
}
