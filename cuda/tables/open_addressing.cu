/*
 * open_addressing.cu - WarpCore's SingleValueHashTable and MultiValueHashTable (Juenger et al.
 * 2020, IV-B)
 *
 * Open addressing with COPS, one value a key or one slot a pair, in the three layouts; insert by
 * CAS, erase by tombstone; retrieval counts, scans, copies.  open_addressing.cuh has the
 * departures.
 */
#include "cuda/tables/open_addressing.cuh"

/* By default one lane inserts and two look up, in windows of 2: sizes of groups may differ, the
 * window is what they share. */
template <class S> struct single : kht_open_table<S, false> {
	int open(kht_stream s, kh_err *err) { return this->start(2, 1, s, err); }
};

/* By default 8 lanes, which the paper finds best up to 16 values a key. */
template <class S> struct multi : kht_open_table<S, true> {
	int open(kht_stream s, kh_err *err) { return this->start(8, 8, s, err); }
};

int kht_single_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<single, KHT_SINGLE_CAN>(c, s, t, err);
}

int kht_multi_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_open<multi, KHT_MULTI_CAN>(c, s, t, err);
}
