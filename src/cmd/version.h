/* version.h - what kmerhash --version says */
#ifndef KH_CMD_VERSION_H
#define KH_CMD_VERSION_H

#include <stdbool.h>

/* One line; if `all`, also what the program was built with and what it finds here. */
void kh_version(bool all);

#endif
