/*
 * single.cu - row 5: WarpCore's SingleValueHashTable (Juenger et al. 2020, IV-B)
 *
 * Open addressing with COPS, one value a key, in the three layouts; insert by CAS, erase
 * by tombstone.  By default one lane inserts and two look up, in windows of 2: sizes of
 * groups may differ, the window is what they share.  open_addressing.cuh has the
 * departures.
 */
#include "open_addressing.cuh"
#include "systems.h"

struct single {
	template <class S>
	static int open(const kh_table_config *c, kh_stream s, kh_table **out,
			kh_err *err)
	{
		typedef kh_open_table<S, false> T;
		typedef kh_bind<T> B;
		static const kh_table_fn fn = { B::insert, B::find,  B::count, B::retrieve,
						B::fold,   nullptr,  B::erase, nullptr,
						nullptr,   B::stats, B::view };
		T *t = kh_table_make<T>();

		*out = t;
		return kh_open_addressing(t, &fn, c, 2, 1, s, err);
	}
};

template <class K, class V>
static int open_single(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return kh_open_layout<single, K, V>(c, s, t, err);
}

int kh_single_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_single, c, c, s, t, err);
}
