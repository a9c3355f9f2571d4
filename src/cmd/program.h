/* program.h - what the program does around its commands: how it starts, and how it ends */
#ifndef KH_CMD_PROGRAM_H
#define KH_CMD_PROGRAM_H

#include <stdbool.h>

/* Opens those of the descriptors 0 to 2 that are closed, and makes printing wait where a
 * descriptor does not block and has no room. 0, or -1: /dev/null cannot be opened. */
int kh_cmd_streams(void);

/* Signals from people, batch systems, containers and limits end the program as usual, but
 * temporary files are removed before that. A signal that was ignored when the program started
 * stays ignored, except SIGPIPE: a closed pipe ends the program quietly. */
void kh_cmd_signals(void);
/* If a database is the reason for SIGBUS, SIGSEGV, SIGFPE or SIGABRT, the program ends as after any
 * other error: with one line that begins with "kmerhash NAME: ", without temporary files, with exit
 * status 1.  Otherwise temporary files are removed and the signal does what it did before. */
void kh_cmd_faults(const char *name);

/* --version -v: what the program was built with, and what it finds here. */
void kh_version_details(void);

/* Is the program called as kraken2?  Then it does what that would do with this command line, and
 * this is the exit status. */
bool kh_is_kraken2(const char *program);
int kh_kraken2(int argc, char **argv);

#endif
