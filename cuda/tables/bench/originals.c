/* originals.c - which tables of other authors were compiled in */
#include <config.h>
#include "cuda/tables/bench/originals.h"

#include <string.h>

static const kht_table_system *const originals[] = {
#ifdef HAVE_CUCO
	&kht_original_cuco, &kht_original_cuco_multi,
#endif
#ifdef HAVE_BGHT
	&kht_original_bght4, &kht_original_bght16,
#endif
#ifdef HAVE_SLABHASH
	&kht_original_slabhash,
#endif
#ifdef HAVE_WARPCORE
	&kht_original_warpcore, &kht_original_warpcore_multi, &kht_original_warpcore_list,
#endif
#ifdef HAVE_HKV
	&kht_original_hkv, &kht_original_hkv2,
#endif
#ifdef HAVE_WARPSPEED
	&kht_original_warpspeed,
#endif
	NULL
};

const kht_original_filter *const kht_bench_filters[] = {
#ifdef HAVE_CUSBF
	&kht_original_cusbf,
#endif
#ifdef HAVE_CUCO
	&kht_original_cuco_filter,
#endif
	NULL
};

const kht_table_system *kht_bench_system(const char *name)
{
	for (int i = 0; originals[i]; i++)
		if (strcmp(originals[i]->name, name) == 0)
			return originals[i];
	return kht_table_system_find(name);
}
