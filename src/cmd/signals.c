#include <config.h>
#include "cmd/program.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "io/output.h"

static void on_signal(int sig)
{
	const int saved = errno;
	sigset_t set;

	if (!kh_out_interrupt(sig)) {
		errno = saved;
		return;
	}
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);       /* a signal does not end process 1 of a container */
}

void kh_cmd_signals(void)
{
	static const int sig[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,   SIGALRM, SIGUSR1,
				   SIGUSR2, SIGXCPU, SIGPIPE, SIGVTALRM, SIGPROF };
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;

	for (size_t i = 0; i < sizeof sig / sizeof sig[0]; i++) {
		sigaction(sig[i], NULL, &old);
		if (old.sa_handler != SIG_IGN || sig[i] == SIGPIPE)
			sigaction(sig[i], &sa, NULL);
	}
	signal(SIGXFSZ, SIG_IGN);       /* the write then fails with EFBIG */
}
