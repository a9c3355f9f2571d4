/* columns.h - tables on the standard output */
#ifndef KH_CMD_COLUMNS_H
#define KH_CMD_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/msg.h"

/* Is the standard output a terminal? */
bool kh_cmd_lines_up(void);

/* Prints lines of columns between tabs: as they are, but on a terminal so that the columns line up,
 * those of numbers, which may have a word on top, by their last digit. */
int kh_cmd_print_columns(const char *text, size_t n, kh_err *err);

#endif
