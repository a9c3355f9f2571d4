/*
 * index_build.cuh - kernels that build the product's index from sorted pairs: index.cu
 */
#ifndef KHT_INDEX_BUILD_CUH
#define KHT_INDEX_BUILD_CUH

#include "index/index.h"
#include "cuda/tables/placing.cuh"

#define TILE 4096

struct entries {
	const uint64_t *key; /* n, sorted; equal keys have ascending distinct locations */
	uint32_t *loc;
	uint32_t n, n_entries, tiles;
	kh_range *dir;
	uint32_t *from;       /* entry e: pairs from[e] up to from[e + 1] */
	uint64_t *slot;       /* of entry e, over all ranges */
	uint32_t *words;      /* of entry e's list */
	const uint32_t *base; /* scan of words */
	long long *lead;
	uint32_t *bad; /* a flag a range: an entry lies too far */
	kh_bucket *bucket;
	uint32_t *out;

	__device__ uint64_t place(uint32_t i) const
	{
		uint32_t r = kh_key_range(key[i]);
		return (uint64_t)r << 40 | kh_key_place(key[i], dir[r].buckets);
	}
	/* The home bucket of an entry, numbered over all ranges. */
	__device__ uint64_t home(uint64_t place) const
	{
		return dir[place >> 40].first_bucket + (place >> 16 & 0xffffff);
	}
};

template <class K> static __global__ void to_keys(const K *keys, size_t n, uint64_t *out)
{
	size_t i = kht_thread_id();

	if (i < n)
		out[i] = kh_key(keys[i]);
}

/* *falls is set where locations do not ascend in the order of the input. */
static __global__ void check_order(const uint32_t *loc, size_t n, uint32_t *falls)
{
	size_t i = kht_thread_id();

	if (i > 0 && i < n && loc[i] < loc[i - 1])
		*falls = 1;
}

static __global__ void flag_pairs(const uint64_t *key, const uint32_t *loc, size_t n,
				  uint32_t *flag)
{
	size_t i = kht_thread_id();

	if (i < n)
		flag[i] = i == 0 || key[i] != key[i - 1] || loc[i] != loc[i - 1];
}

static __global__ void keep_pairs(const uint64_t *key, const uint32_t *loc, size_t n,
				  const uint32_t *at, uint64_t *key_out, uint32_t *loc_out)
{
	size_t i = kht_thread_id();

	if (i >= n || at[i] == at[i + 1])
		return;
	key_out[at[i]] = key[i];
	loc_out[at[i]] = loc[i];
}

static __global__ void count_keys(const uint64_t *key, size_t n, uint32_t *keys)
{
	__shared__ uint32_t sum[KH_RANGES];
	size_t i = kht_thread_id();

	sum[threadIdx.x] = 0;
	__syncthreads();
	if (i < n && (i == 0 || key[i] != key[i - 1]))
		atomicAdd(sum + kh_key_range(key[i]), 1u);
	__syncthreads();
	if (sum[threadIdx.x])
		atomicAdd(keys + threadIdx.x, sum[threadIdx.x]);
}

static __global__ void flag_entries(entries e, uint32_t *flag)
{
	size_t i = kht_thread_id();

	if (i < e.n)
		flag[i] = i == 0 || e.place((uint32_t)i) != e.place((uint32_t)i - 1);
}

static __global__ void start_entries(entries e, const uint32_t *at)
{
	size_t i = kht_thread_id();

	if (i < e.n && at[i] != at[i + 1])
		e.from[at[i]] = (uint32_t)i;
	if (i == 0)
		e.from[e.n_entries] = e.n;
}

/* Merges the runs of several keys of one entry in place, by insertion, and keeps the distinct
 * locations. */
static __device__ uint32_t merge(uint32_t *l, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = l[i], j = k;

		while (j > 0 && l[j - 1] > x)
			j--;
		if (j > 0 && l[j - 1] == x)
			continue;
		if (k > KH_LIST_MAX)
			return k;
		for (uint32_t m = k; m > j; m--)
			l[m] = l[m - 1];
		l[j] = x;
		k++;
	}
	return k;
}

/* Finds how many words each list has.  Locations of one key are ascending and distinct already;
 * those of several are merged first. */
static __global__ void size_lists(entries e)
{
	size_t i = kht_thread_id();

	if (i >= e.n_entries)
		return;
	uint32_t from = e.from[i], to = e.from[i + 1], n = to - from;
	if (e.key[from] != e.key[to - 1])
		n = merge(e.loc + from, n);
	e.words[i] = n > KH_LIST_MAX ? KH_LIST_OVER << 24 | 1 : n;
}

static __global__ void find_slots(entries e, bool write)
{
	uint32_t first = blockIdx.x * TILE + threadIdx.x * (TILE / KHT_BLOCK);
	long long lead = LLONG_MIN, all;

	for (uint32_t i = first; i < min(e.n_entries, first + TILE / KHT_BLOCK); i++)
		lead = max(lead, (long long)(KH_BUCKET_SLOTS * e.home(e.place(e.from[i]))) - i);
	long long before = kht_block_scan(lead, LLONG_MIN, kht_max(), &all);
	if (!write) {
		if (threadIdx.x == 0)
			e.lead[blockIdx.x] = all;
		return;
	}
	lead = max(before, e.lead[blockIdx.x]);
	for (uint32_t i = first; i < min(e.n_entries, first + TILE / KHT_BLOCK); i++) {
		uint64_t place = e.place(e.from[i]), home = e.home(place);

		lead = max(lead, (long long)(KH_BUCKET_SLOTS * home) - i);
		e.slot[i] = (uint64_t)(lead + i);
		if (e.slot[i] / KH_BUCKET_SLOTS > home + 1)
			e.bad[place >> 40] = 1;
	}
}

static __device__ uint32_t first_entry(const entries &e, uint64_t slot)
{
	uint32_t from = 0, to = e.n_entries;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (e.slot[mid] < slot)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Sets the base of each bucket of a range: the words of the range before the bucket's first
 * entry. */
static __global__ void set_bases(entries e, uint32_t range, uint32_t *range_words)
{
	uint32_t b = (uint32_t)kht_thread_id();
	const kh_range *r = e.dir + range;

	if (b > r->buckets)
		return;
	uint64_t at = r->first_bucket + b, x;
	uint32_t first = e.base[first_entry(e, KH_BUCKET_SLOTS * r->first_bucket)];
	x = e.base[first_entry(e, KH_BUCKET_SLOTS * at)] - first;
	for (int i = 0; i < 6; i++, x >>= 8)
		e.bucket[at].base[i] = (uint8_t)x;
	if (b == 0)
		range_words[range] = first;
}

static __global__ void fill_entries(entries e)
{
	size_t i = kht_thread_id();

	if (i >= e.n_entries)
		return;
	uint64_t place = e.place(e.from[i]), home = e.home(place), at = e.slot[i] / KH_BUCKET_SLOTS;
	uint32_t p = e.slot[i] % KH_BUCKET_SLOTS, over = e.words[i] >> 24,
		 n = e.words[i] & 0xffffff;
	unsigned *flags = (unsigned *)(e.bucket + at) + 1;

	e.bucket[at].tag[p] = (uint16_t)place;
	e.bucket[at].len[p] = (uint8_t)(over ? over : n);
	if (at > home) {
		atomicAdd(flags, 1u << 16);
		atomicOr((unsigned *)(e.bucket + home) + 1, (unsigned)KH_BUCKET_GOES_ON << 16);
	}
	for (uint32_t k = 0; k < n; k++)
		e.out[e.base[i] + k] = over ? 0 : e.loc[e.from[i] + k];
}

static __global__ void list_words(const uint32_t *words, size_t n, uint32_t *out)
{
	size_t i = kht_thread_id();

	if (i < n)
		out[i] = words[i] & 0xffffff;
}

#endif
