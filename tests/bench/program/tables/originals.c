/* originals.c - which tables of other authors were compiled in */
#include <config.h>
#include "tests/bench/program/tables/originals.h"

#include <string.h>

static const kht_table_system *const originals[] = {
#ifdef HAVE_CUCO
	&kht_original_cuco,
#endif
#ifdef HAVE_BGHT
	&kht_original_bght4, &kht_original_bght16,
#endif
#ifdef HAVE_SLABHASH
	&kht_original_slabhash,
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
