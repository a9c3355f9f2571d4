/*
 * single.cu - WarpCore's SingleValueHashTable (Juenger et al. 2020, IV-B)
 *
 * Open addressing with COPS, one value a key, in the three layouts; insert by CAS, erase
 * by tombstone.  By default one lane inserts and two look up, in windows of 2: sizes of
 * groups may differ, the window is what they share.  open_addressing.cuh has the
 * departures.
 */
#include "cuda/tables/open_addressing.cuh"
#include "cuda/tables/systems.h"

template <class S> struct single : kht_open_table<S, false> {
	int open(kht_stream s, kh_err *err) { return this->start(2, 1, s, err); }
};

int kht_single_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<single, KHT_SINGLE_CAN>(c, s, t, err);
}
