/* kraken2.h - the program called as kraken2 */
#ifndef KH_CMD_KRAKEN2_H
#define KH_CMD_KRAKEN2_H

#include <stdbool.h>

/* The version whose lines and reports these are. */
#define KH_KRAKEN2_VERSION "2.17.1"

/* Is the program called by this name? */
bool kh_is_kraken2(const char *program);
/* Does what kraken2 would do with this command line; returns the exit status. */
int kh_kraken2(int argc, char **argv);

#endif
