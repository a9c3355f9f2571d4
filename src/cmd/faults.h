/* faults.h - how a run ends whose mapped database cannot be read any more */
#ifndef KH_CMD_FAULTS_H
#define KH_CMD_FAULTS_H

/* If a database is the reason for SIGBUS, SIGSEGV, SIGFPE or SIGABRT, the program ends as after any
 * other error: with one line that begins with "kmerhash NAME: ", without temporary files, with exit
 * status 1.  Otherwise temporary files are removed and the signal does what it did before. */
void kh_cmd_faults(const char *name);

#endif
