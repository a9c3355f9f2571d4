/*
 * pages.h - the index in large pages
 *
 * Nearly every look-up reads two places of the index that none before it read.  With pages of 4 KiB
 * the processor has to find the address of the page first, which takes as long as reading.  A
 * mapped file has large pages if the page cache has it in such, and if its map begins at a multiple
 * of their size.  With new kernels that is so on ext4, XFS and Btrfs, if the file was written, or
 * is first read, in large chunks; on tmpfs, large pages can be made of the small ones.  Elsewhere
 * the index can be copied.
 */
#ifndef KH_DB_PAGES_H
#define KH_DB_PAGES_H

#include <stdbool.h>
#include "db/db.h"

/* Maps db->bytes of db->fd so that they can have large pages, and asks for them. As mmap(). */
void *kh_db_map(const kh_db *db);
/* Is nearly all of the map in large pages?  Touches all of it to find out. */
bool kh_db_in_large_pages(const kh_db *db);
/* Makes large pages of the small ones that the page cache has. False: it cannot be done here. */
bool kh_db_make_large_pages(const kh_db *db);
/* Reads n bytes of a file from `at` on. */
int kh_db_read(const kh_db *db, void *p, size_t n, uint64_t at, kh_err *err);
/* Reads a section of a file into *copy, which is to be given back by kh_pages_free with the bytes
 * of the section. */
int kh_db_copy(const kh_db *db, enum kh_section s, void **copy, unsigned threads, kh_err *err);

#endif
