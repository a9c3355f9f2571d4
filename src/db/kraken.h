/*
 * kraken.h - a folder with a database of Kraken 2, opened as one of ours
 *
 * The table is mapped, the two other files are read.
 */
#ifndef KH_DB_KRAKEN_H
#define KH_DB_KRAKEN_H

#include "db/db.h"

/* Has the folder any of the three files? */
bool kh_db_is_kraken(const char *folder);
/* Is this the name of such a table? */
bool kh_db_is_kraken_file(const char *path);
/* Folder and name; *file is to be freed. */
int kh_db_kraken_file(char **file, const char *folder, const char *name, kh_err *err);
/* Fills a database whose table is mapped, and checks what it is made of, cells unless
 * o->no_verify. */
int kh_db_load_kraken(kh_db *db, const kh_db_options *o, kh_err *err);
/* Checks that the values of all cells are taxa. */
int kh_db_check_kraken(const kh_db *db, unsigned threads, kh_err *err);
void kh_db_close_kraken(kh_db *db);

#endif
