/* dtable_kernels.cu - hash values and their bins, hash ranges of equal load, answers in
 * order */
#include "cuda/tables/dtable_kernels.h"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/placing.cuh"
#include "cuda/tables/retrieve.cuh"

#define AHEAD      8 /* keys of a thread in flight */
#define HASH_BLOCK 1024

/* --- hash and count (Alg. 2, 3 to 9) ---------------------------------------------- */

/* Each block counts in shared memory, and adds its counts to the sums at the end. */
template <class K> static __global__ void __launch_bounds__(HASH_BLOCK) hash_keys(kht_dhash h)
{
	extern __shared__ uint32_t counter[];
	const unsigned bins = 1u << h.bins_log2;
	const size_t step = (size_t)gridDim.x * HASH_BLOCK * AHEAD;

	for (unsigned b = threadIdx.x; b < bins; b += HASH_BLOCK)
		counter[b] = 0;
	__syncthreads();
	for (size_t from = (size_t)blockIdx.x * HASH_BLOCK * AHEAD; from < h.n; from += step) {
		K x[AHEAD];

#pragma unroll
		for (unsigned k = 0; k < AHEAD; k++) {
			size_t i = from + k * HASH_BLOCK + threadIdx.x;
			if (i < h.n)
				x[k] = ((const K *)h.keys)[i];
		}
#pragma unroll
		for (unsigned k = 0; k < AHEAD; k++) {
			size_t i = from + k * HASH_BLOCK + threadIdx.x;
			if (i >= h.n)
				break;
			K m = kht_mix(x[k], h.seed);
			((K *)h.mixed)[i] = m;
			atomicAdd(counter + (uint32_t)(m >> (sizeof(K) * 8 - h.bins_log2)), 1u);
		}
	}
	__syncthreads();
	for (unsigned b = threadIdx.x; b < bins; b += HASH_BLOCK)
		if (counter[b])
			atomicAdd(h.count + b, counter[b]);
}

template <class K> static int hash(const kht_dhash *h, cudaStream_t s, kh_err *err)
{
	const unsigned bytes = 4u << h->bins_log2;
	int device, cores = 0;
	size_t blocks = (h->n + HASH_BLOCK * AHEAD - 1) / (HASH_BLOCK * AHEAD);
	int rc = kht_cuda(cudaGetDevice(&device), "hash values", err);

	if (!rc)
		rc = kht_cuda(
			cudaDeviceGetAttribute(&cores, cudaDevAttrMultiProcessorCount, device),
			"hash values", err);
	if (!rc)
		rc = kht_cuda(cudaFuncSetAttribute(hash_keys<K>,
						   cudaFuncAttributeMaxDynamicSharedMemorySize,
						   (int)bytes),
			      "hash values", err);
	if (rc)
		return rc;
	cores *= h->bins_log2 < KHT_DBINS_MAX ? 2 : 1; /* that fit on one */
	if (blocks > (size_t)cores)
		blocks = (size_t)cores;
	hash_keys<K><<<(unsigned)blocks, HASH_BLOCK, bytes, s>>>(*h);
	return kht_launched("hash values", err);
}

int kht_dt_hash(const kht_dhash *h, cudaStream_t s, kh_err *err)
{
	if (h->n == 0)
		return KH_OK;
	return h->key_bits == 32 ? hash<uint32_t>(h, s, err) : hash<uint64_t>(h, s, err);
}

/* --- hash ranges of equal load (Alg. 2, 11 to 16) --------------------------------- */

static __global__ void sum_chunks(kht_dcounts c, uint64_t *sum)
{
	size_t b = kht_thread_id();
	uint64_t x = 0;

	if (b >= c.bins)
		return;
	for (unsigned k = 0; k < c.chunks; k++)
		x += c.count[(size_t)k * c.bins + b];
	sum[b] = x;
}

int kht_dt_sum(const kht_dcounts *c, uint64_t *sum, cudaStream_t s, kh_err *err)
{
	sum_chunks<<<kht_blocks(c->bins), KHT_BLOCK, 0, s>>>(*c, sum);
	return kht_launched("sums of bins", err);
}

/* Bin where the members before m have their share; before[b] keys lie below bin b, and in all
 * before[bins]. */
static __global__ void find_splits(kht_dcounts c, const uint64_t *before, uint32_t *split)
{
	unsigned m = (unsigned)kht_thread_id();
	uint32_t from = 0, to = c.bins;

	if (m > c.members)
		return;
	if (m == 0 || m == c.members) {
		split[m] = m ? c.bins : 0;
		return;
	}
	if (!before) {
		split[m] = (uint32_t)((uint64_t)c.bins * m / c.members);
		return;
	}
	uint64_t all = before[c.bins];
	uint64_t share = all / c.members * m + all % c.members * m / c.members;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (before[mid] < share)
			from = mid + 1;
		else
			to = mid;
	}
	/* the bin before may be nearer to the share */
	if (from > 0 && share - before[from - 1] < before[from] - share)
		from--;
	split[m] = from;
}

int kht_dt_split(const kht_dcounts *c, uint64_t *sum, uint32_t *split, cudaStream_t s, kh_err *err)
{
	if (sum)
		kht_scan_tiles<<<1, KHT_BLOCK, 0, s>>>(sum, c->bins, (uint64_t)0, kht_plus());
	find_splits<<<kht_blocks(c->members + 1), KHT_BLOCK, 0, s>>>(*c, sum, split);
	return kht_launched("hash ranges", err);
}

/* A block a member and chunk. */
static __global__ void __launch_bounds__(KHT_BLOCK)
	count_owners(kht_dcounts c, const uint32_t *split, uint64_t *row)
{
	unsigned m = blockIdx.x, chunk = blockIdx.y;
	uint64_t x = 0, all;

	for (uint32_t b = split[m] + threadIdx.x; b < split[m + 1]; b += KHT_BLOCK)
		x += c.count[(size_t)chunk * c.bins + b];
	kht_block_scan(x, (uint64_t)0, kht_plus(), &all);
	if (threadIdx.x == 0)
		row[m * c.chunks + chunk] = all;
}

int kht_dt_owners(const kht_dcounts *c, const uint32_t *split, uint64_t *row, cudaStream_t s,
		  kh_err *err)
{
	count_owners<<<dim3(c->members, c->chunks), KHT_BLOCK, 0, s>>>(*c, split, row);
	return kht_launched("shares of the members", err);
}

/* --- answers ---------------------------------------------------------------------- */

static __global__ void number(uint32_t *p, size_t n)
{
	size_t i = kht_thread_id();

	if (i < n)
		p[i] = (uint32_t)i;
}

int kht_dt_number(uint32_t *p, size_t n, cudaStream_t s, kh_err *err)
{
	if (n == 0)
		return KH_OK;
	number<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(p, n);
	return kht_launched("numbers", err);
}

static __global__ void put_counts(kht_danswers a, uint32_t *counts)
{
	size_t i = kht_thread_id();
	uint32_t sum = 0;

	if (i >= a.n)
		return;
	for (unsigned k = 0; k < a.each; k++)
		sum += a.count[k * a.n + i];
	counts[a.index ? a.index[i] : i] = sum;
}

int kht_dt_counts(const kht_danswers *a, uint32_t *counts, cudaStream_t s, kh_err *err)
{
	if (a->n == 0)
		return KH_OK;
	put_counts<<<kht_blocks(a->n), KHT_BLOCK, 0, s>>>(*a, counts);
	return kht_launched("counts", err);
}

static __global__ void put_spans(kht_danswers a, const uint64_t *start, kht_span *span)
{
	size_t j = kht_thread_id();

	if (j >= a.n * a.each)
		return;
	size_t query = a.index ? a.index[j] : j % a.n, who = a.index ? 0 : j / a.n;
	span[query * a.each + who] = { (uint32_t)start[j], a.count[j] };
}

static __global__ void pick_offsets(const uint64_t *in, unsigned each, size_t n, uint64_t *out)
{
	size_t i = kht_thread_id();

	if (i < n)
		out[i] = in[i * each];
}

template <class V>
static int put_lists(kht_table *t, const kht_danswers *a, const kht_span *span, const void *values,
		     const kht_lists *out, cudaStream_t s, kh_err *err)
{
	kht_scratch<uint64_t> offset;
	kht_lists o = *out;
	int rc = a->each > 1 ? offset.take(t, a->n * a->each + 1, s, err) : KH_OK;

	if (a->each > 1)
		o.offsets = offset.p;
	if (!rc)
		rc = kht_span_copy(t, span, a->n * a->each, (const V *)values, &o, s, err);
	if (rc || a->each == 1)
		return rc;
	pick_offsets<<<kht_blocks(a->n + 1), KHT_BLOCK, 0, s>>>(offset.p, a->each, a->n + 1,
								out->offsets);
	return kht_launched("lists", err);
}

int kht_dt_lists(kht_table *t, const kht_danswers *a, const uint64_t *start, const void *values,
		 unsigned value_bits, const kht_lists *out, cudaStream_t s, kh_err *err)
{
	const size_t n = a->n * a->each;
	kht_scratch<kht_span> span;
	int rc;

	if (n == 0)
		return kht_cuda(cudaMemsetAsync(out->offsets, 0, 8, s), "lists", err);
	if ((rc = span.take(t, n, s, err)))
		return rc;
	put_spans<<<kht_blocks(n), KHT_BLOCK, 0, s>>>(*a, start, span.p);
	return value_bits == 32 ? put_lists<uint32_t>(t, a, span.p, values, out, s, err)
				: put_lists<uint64_t>(t, a, span.p, values, out, s, err);
}

static __global__ void put_lengths(kht_dcounts c, const uint64_t *start, const uint64_t *bound,
				   uint64_t *row)
{
	unsigned i = (unsigned)kht_thread_id();

	if (i < c.members * c.chunks)
		row[i % c.members * c.chunks + i / c.members] =
			start[bound[i + 1]] - start[bound[i]];
}

int kht_dt_lengths(const kht_dcounts *c, const uint64_t *start, const uint64_t *bound,
		   uint64_t *row, cudaStream_t s, kh_err *err)
{
	put_lengths<<<kht_blocks(c->members * c->chunks), KHT_BLOCK, 0, s>>>(*c, start, bound, row);
	return kht_launched("lengths of lists", err);
}
