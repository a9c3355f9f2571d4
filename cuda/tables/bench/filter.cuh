/*
 * filter.cuh - how a filter of another author is made one of the bench's, which are fed by sequence
 */
#ifndef KHT_ORIGINAL_FILTER_CUH
#define KHT_ORIGINAL_FILTER_CUH

#include <exception>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include "cuda/tables/host.cuh"
#include "cuda/tables/bench/originals.h"

/* The canonical k-mer at a base of a sequence without masked ones. */
struct original_kmer {
	const uint64_t *bases;

	/* Neighbours of d bits change places; the mask has the lower ones. */
	static __host__ __device__ uint64_t swapped(uint64_t y, unsigned d, uint64_t mask)
	{
		return (y >> d & mask) | (y & mask) << d;
	}
	__host__ __device__ uint64_t operator()(size_t i) const
	{
		const unsigned k = KHT_ORIGINAL_K, at = 2 * (unsigned)(i % 32);
		const uint64_t mask = (UINT64_C(1) << 2 * k) - 1;
		uint64_t x = bases[i / 32] >> at, y = 0;

		if (at + 2 * k > 64)
			x |= bases[i / 32 + 1] << (64 - at);
		x &= mask;
		/* The complement, its pairs of bits in the order of the other strand. */
		y = ~x;
		y = swapped(y, 2, UINT64_C(0x3333333333333333));
		y = swapped(y, 4, UINT64_C(0x0f0f0f0f0f0f0f0f));
		y = swapped(y, 8, UINT64_C(0x00ff00ff00ff00ff));
		y = swapped(y, 16, UINT64_C(0x0000ffff0000ffff));
		y = (y >> 32 | y << 32) >> (64 - 2 * k);
		return x < y ? x : y;
	}
};

static inline auto original_kmers(const kht_sequence &q)
{
	return thrust::make_transform_iterator(thrust::counting_iterator<size_t>(0),
					       original_kmer { q.bases });
}

/* M: a type that is made of the number of bits, has insert(), query() and bytes(); its query
 * answers in ANSWER bits a k-mer. */
template <class M> struct original_filter_of {
	template <class F> static int guarded(kh_err *err, F f)
	{
		try {
			f();
		} catch (const std::bad_alloc &) {
			return kh_fail_nomem(err);
		} catch (const std::exception &e) {
			return kh_fail(err, KH_EDEVICE, "%s", e.what());
		}
		return kht_launched("an original filter", err);
	}
	static int open(size_t bits, void **f, kh_err *err)
	{
		return guarded(err, [&] { *f = new M(bits); });
	}
	static int insert(void *f, const kht_sequence *q, size_t n, kht_stream s, kh_err *err)
	{
		return guarded(err, [&] { ((M *)f)->insert(*q, n, s); });
	}
	static int query(void *f, const kht_sequence *q, size_t n, void *found, kht_stream s,
			 kh_err *err)
	{
		return guarded(err, [&] { ((M *)f)->query(*q, n, found, s); });
	}
	static size_t bytes(void *f) { return ((M *)f)->bytes(); }
	static void close(void *f) { delete (M *)f; }
};

template <class M> constexpr kht_original_filter original_filter(const char *name)
{
	typedef original_filter_of<M> of;

	return { name, M::ANSWER, of::open, of::insert, of::query, of::bytes, of::close };
}

#endif
