/* program.h - the start and the end of the program, around its commands */
#ifndef KH_CMD_PROGRAM_H
#define KH_CMD_PROGRAM_H

#include <stdbool.h>

/* Opens /dev/null for each closed one of the descriptors 0 to 2, and makes printing wait if a
 * non-blocking descriptor has no room. 0, or -1: /dev/null cannot be opened. */
int kh_cmd_streams(void);

/* Signals from people, batch systems, containers and limits end the program as usual, but
 * temporary files are removed before that. A signal that was ignored when the program started
 * stays ignored, except SIGPIPE: a closed pipe ends the program quietly. */
void kh_cmd_signals(void);
/* If a database is the reason for SIGBUS, SIGSEGV, SIGFPE or SIGABRT, the program ends as after any
 * other error: with one line that begins with "kmerhash NAME: ", without temporary files, with exit
 * status 1.  Otherwise temporary files are removed and the signal does what it did before. */
void kh_cmd_faults(const char *name);

/* --version -v: prints compiler and libraries, and this machine's CPUs, memory and devices. */
void kh_version_details(void);

/* Is the program called as kraken2 or k2?  Then kh_kraken2 does with the command line as these do,
 * and returns the exit status. */
bool kh_is_kraken2(const char *program);
int kh_kraken2(int argc, char **argv);

#endif
