/*
 * multi.cu - row 6: WarpCore's MultiValueHashTable (Juenger et al. 2020, IV-B)
 *
 * As single.cu, one slot a pair; retrieval counts, scans, copies.  Default group: 8
 * lanes, which the paper finds best up to 16 values a key.
 */
#include "open_addressing.cuh"
#include "systems.h"

struct multi {
	template <class S>
	static int open(const kh_table_config *c, kh_stream s, kh_table **out,
			kh_err *err)
	{
		typedef kh_open_table<S, true> T;
		typedef kh_bind<T> B;
		static const kh_table_fn fn = { B::insert, nullptr,  B::count, B::retrieve,
						B::fold,   nullptr,  B::erase, nullptr,
						nullptr,   B::stats, B::view };
		T *t = kh_table_make<T>();

		*out = t;
		return kh_open_addressing(t, &fn, c, 8, 8, s, err);
	}
};

template <class K, class V>
static int open_multi(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return kh_open_layout<multi, K, V>(c, s, t, err);
}

int kh_multi_open(const kh_table_config *c, kh_stream s, kh_table **t, kh_err *err)
{
	return KH_DISPATCH(open_multi, c, c, s, t, err);
}
