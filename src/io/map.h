/*
 * map.h - a part of a file, mapped to be written to
 */
#ifndef KH_IO_MAP_H
#define KH_IO_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps the bytes [at, at + n) of the file, whose large pages, if it has some, are large pages of
 * the map.  *large: it is to have some there, which makes it long enough; it becomes false where it
 * cannot have them, which does no harm.  NULL: errno says why. */
char *kh_map_part(int fd, uint64_t at, size_t n, bool *large);
void kh_map_drop(char *map, size_t n);

#endif
