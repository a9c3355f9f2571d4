/*
 * spool.h - an input that cannot be read twice, kept in a file beside the database
 *
 * Without -k the right k is known only when all bases have been read, so they may have to be read
 * again.  The file has a hidden name, and is removed when it is closed, or when a signal ends the
 * program.
 */
#ifndef KH_BUILD_SPOOL_H
#define KH_BUILD_SPOOL_H

#include "io/output.h"

/* Copies the input, "-" or a FIFO, byte for byte.  Its name is kh_out_file(*copy). */
int kh_spool(kh_out **copy, const char *input, const char *db, kh_err *err);

#endif
