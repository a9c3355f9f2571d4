/* bucketlist.cuh - the view of bucketlist.cu: handles, and lists of growing buckets */
#ifndef KHT_BUCKETLIST_CUH
#define KHT_BUCKETLIST_CUH

#include "cuda/tables/slots.cuh"

/* A handle: state in bits 62-63, values in 32-61, index of the tail bucket in 0-31. */
enum kht_list_state { KHT_LIST_NONE, KHT_LIST_BLOCKED, KHT_LIST_READY, KHT_LIST_FULL };

static KH_HD uint64_t kht_handle(kht_list_state state, uint32_t count, uint32_t tail)
{
	return (uint64_t)state << 62 | (uint64_t)count << 32 | tail;
}
static KH_HD kht_list_state kht_handle_state(uint64_t h) { return (kht_list_state)(h >> 62); }
static KH_HD uint32_t kht_handle_count(uint64_t h) { return (uint32_t)(h >> 32) & 0x3fffffff; }
static KH_HD uint32_t kht_handle_tail(uint64_t h) { return (uint32_t)h; }

/* sum[i]: values in buckets 0 .. i.  Beyond the last of them all buckets are `last`
 * long. */
#define KHT_GROWTH 192
struct kht_growth {
	const uint32_t *sum;
	uint32_t last;

	/* The bucket that value number k lies in, and its place there. */
	__device__ uint32_t level(uint32_t k, uint32_t &place) const
	{
		uint32_t from = 0, to = KHT_GROWTH;

		while (from < to) {
			uint32_t mid = from + (to - from) / 2;
			if (sum[mid] <= k)
				from = mid + 1;
			else
				to = mid;
		}
		if (from == KHT_GROWTH) {
			place = (k - sum[KHT_GROWTH - 1]) % last;
			return from + (k - sum[KHT_GROWTH - 1]) / last;
		}
		place = k - (from ? sum[from - 1] : 0);
		return from;
	}
	__device__ uint32_t size(uint32_t level) const
	{
		return level == 0           ? sum[0]
		       : level < KHT_GROWTH ? sum[level] - sum[level - 1]
					    : last;
	}
};

template <class K, class V> struct kht_bucketlist_view {
	typedef K key_type;
	typedef V value_type;
	kht_tally<K> slots;      /* key, handle */
	kht_side<uint64_t> side; /* handles of the two mark keys */
	kht_cops cops;
	kht_growth growth;
	V *pool; /* a bucket but the first has the previous one's index first */
	unsigned group;

	template <class F> __device__ uint32_t each(const kht_group &g, K key, F f) const
	{
		int m = kht_mark<K>::of(key);
		size_t at = m >= 0 ? 0 : kht_slot_find<false>(slots, cops, g, key);

		if (at == ~(size_t)0)
			return 0;
		uint64_t h = m >= 0 ? side.list(m)[0] : slots.value(at);
		uint32_t n = kht_handle_count(h), tail = kht_handle_tail(h), place;
		if (n == 0)
			return 0;
		uint32_t level = growth.level(n - 1, place), used = place + 1, first = n - used;
		for (;; level--) {
			const V *b = pool + tail + (level > 0);
			for (uint32_t i = g.lane; i < used; i += g.size)
				f(first + i, b[i]);
			if (level == 0)
				return n;
			tail = (uint32_t)pool[tail];
			used = growth.size(level - 1);
			first -= used;
		}
	}
};

#endif
