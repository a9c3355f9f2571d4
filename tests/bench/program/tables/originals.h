/*
 * originals.h - tables of other authors beside ours, where the user has their sources
 *
 * Each is a file in originals/, which configure's --with-NAME=DIR adds.  They are systems as those
 * of cuda/tables are, but only insert and find, and erase where that is said.
 */
#ifndef KHT_BENCH_ORIGINALS_H
#define KHT_BENCH_ORIGINALS_H

#include "cuda/tables/table.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const kht_table_system kht_original_cuco, kht_original_bght4, kht_original_bght16,
	kht_original_slabhash;

/* A table of cuda/tables or an original, or NULL. */
const kht_table_system *kht_bench_system(const char *name);

#ifdef __cplusplus
}
#endif
#endif
