/*
 * originals.h - tables of other authors beside ours, where the user has their sources
 *
 * Each is a file in originals/, which configure's --with-NAME=DIR adds.  They are systems as those
 * of cuda/tables are, but only insert, and find, erase or retrieve where that is said.
 */
#ifndef KHT_BENCH_ORIGINALS_H
#define KHT_BENCH_ORIGINALS_H

#include "cuda/tables/filter.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const kht_table_system kht_original_cuco, kht_original_bght4, kht_original_bght16,
	kht_original_slabhash, kht_original_warpcore, kht_original_warpcore_multi,
	kht_original_warpcore_list, kht_original_hkv, kht_original_hkv2, kht_original_warpspeed,
	kht_original_cuco_multi;

/* A table of cuda/tables or an original, or NULL. */
const kht_table_system *kht_bench_system(const char *name);

#define KHT_ORIGINAL_K 31

/* A filter of k-mers; query() writes 1 bit or 8 bits for each of n, as `answer` says: 1 for those
 * that were inserted, and false positives.  No base is masked. */
typedef struct kht_original_filter {
	const char *name;
	unsigned answer;
	int (*open)(size_t bits, void **f, kh_err *err);
	int (*insert)(void *f, const kht_sequence *q, size_t n, kht_stream s, kh_err *err);
	int (*query)(void *f, const kht_sequence *q, size_t n, void *found, kht_stream s,
		     kh_err *err);
	size_t (*bytes)(void *f);
	void (*close)(void *f);
} kht_original_filter;

extern const kht_original_filter kht_original_cuco_filter, kht_original_cusbf;
/* Those that were compiled in, ended by NULL. */
extern const kht_original_filter *const kht_bench_filters[];

#ifdef __cplusplus
}
#endif
#endif
