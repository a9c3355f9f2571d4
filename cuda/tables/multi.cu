/*
 * multi.cu - WarpCore's MultiValueHashTable (Juenger et al. 2020, IV-B)
 *
 * As single.cu, one slot a pair; retrieval counts, scans, copies.  Default group: 8
 * lanes, which the paper finds best up to 16 values a key.
 */
#include "cuda/tables/open_addressing.cuh"
#include "cuda/tables/systems.h"

template <class S> struct multi : kht_open_table<S, true> {
	int open(kht_stream s, kh_err *err) { return this->start(8, 8, s, err); }
};

int kht_multi_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<multi, KHT_MULTI_CAN>(c, s, t, err);
}
