/* list.h - what the k-mers of a fragment were called, as Kraken 2 writes it in column 5 */
#ifndef KH_RUN_LIST_H
#define KH_RUN_LIST_H

#include "kraken2/rule.h"
#include "taxonomy/taxonomy.h"

/* Room that so many runs need. */
static inline size_t kh_list_bytes(size_t n_runs)
{
	return 24 * n_runs;
}

/* "562:13 0:4 A:31 |:| 562:2"; returns the place of the next byte. */
char *kh_list_put(char *at, const kh_taxonomy *tax, const kh_k2_run *run, size_t n);

#endif
