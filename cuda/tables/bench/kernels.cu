/* kernels.cu - data for the bench, and the machine's limits */
#include "cuda/tables/bench/kernels.h"

#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"

#define BLOCK 256

static unsigned blocks(size_t n) { return (unsigned)((n + BLOCK - 1) / BLOCK); }

/* Bijections that have nothing in common with the tables' mixes: Wellons' lowbias32, and
 * Stafford's mix 13 behind an odd multiplier. */
static __device__ uint64_t key_of(uint64_t id, unsigned bits, kht_bench_order order)
{
	if (order == KHT_BENCH_SEQUENTIAL)
		return id;
	if (bits == 32) {
		uint32_t x = (uint32_t)id;
		x ^= x >> 16;
		x *= 0x7feb352du;
		x ^= x >> 15;
		x *= 0x846ca68bu;
		return x ^ x >> 16;
	}
	id = id * UINT64_C(0xd6e8feb86659fd93) + 1;
	id = (id ^ id >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	id = (id ^ id >> 27) * UINT64_C(0x94d049bb133111eb);
	return id ^ id >> 31;
}

static __device__ void store(void *p, size_t i, unsigned bits, uint64_t x)
{
	if (bits == 32)
		((uint32_t *)p)[i] = (uint32_t)x;
	else
		((uint64_t *)p)[i] = x;
}

static __global__ void make_keys(kht_bench_gen g, void *keys)
{
	size_t i = kht_thread_id();

	if (i >= g.n)
		return;
	uint64_t id = g.distinct ? kht_reduce(kh_fmix64(i + 77), (uint32_t)g.distinct) : i;
	id = g.spread ? (i + g.first) % g.distinct : id + g.first;
	store(keys, i, g.key_bits, key_of(id, g.key_bits, g.order));
}

static __global__ void make_values(kht_bench_gen g, void *values)
{
	size_t i = kht_thread_id();

	if (i < g.n)
		store(values, i, g.value_bits, i);
}

static __global__ void make_skewed(kht_bench_gen g, kht_bench_skew k, void *keys)
{
	size_t i = kht_thread_id();
	uint64_t mask = (UINT64_C(1) << k.log2n) - 1, x = i;
	unsigned c = 0, half = k.log2n / 2;

	if (i >= g.n)
		return;
	x = x * UINT64_C(0x9e3779b97f4a7c15) & mask; /* a permutation of log2n bits */
	x ^= x >> half;
	x = x * UINT64_C(0xd6e8feb86659fd93) & mask;
	x ^= x >> half;
	while (x >= k.pair[c])
		c++;
	uint64_t pair = x - (c ? k.pair[c - 1] : 0), first = c ? k.key[c - 1] : 0;
	store(keys, i, g.key_bits, key_of(first + pair / k.times[c], g.key_bits, g.order));
}

static __global__ void add_up(const void *p, size_t n, unsigned bits, unsigned long long *sum)
{
	unsigned long long x = 0;

	for (size_t i = kht_thread_id(); i < n; i += (size_t)gridDim.x * BLOCK)
		x += bits == 32 ? ((const uint32_t *)p)[i] : ((const uint64_t *)p)[i];
	for (int d = 16; d > 0; d /= 2)
		x += __shfl_xor_sync(KHT_FULL, x, d);
	if ((threadIdx.x & 31) == 0)
		atomicAdd(sum, x);
}

static __global__ void make_ops(size_t n, unsigned writes, uint8_t *op)
{
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	unsigned x = kht_reduce(kh_fmix64(i + 12345), 200);
	op[i] = x >= 2 * writes ? 0 : x & 1 ? 2 : 3; /* search, update, delete */
}

/* LANES lanes read one place, 16 bytes each. */
template <int LANES> static __global__ void random_reads(const uint4 *p, uint32_t places, size_t n)
{
	size_t i = kht_thread_id() / LANES * 4;
	unsigned sum = 0;
	uint4 x[4];

	for (int k = 0; k < 4; k++) {
		size_t at = kht_reduce(kh_fmix64(i + k), places);
		x[k] = __ldg(p + at * LANES + threadIdx.x % LANES);
	}
	for (int k = 0; k < 4; k++)
		sum += x[k].x ^ x[k].y ^ x[k].z ^ x[k].w;
	if (sum == 0xdeadbeef && i < n)
		*(volatile unsigned *)p = sum;
}

static __global__ void random_cas(unsigned long long *p, uint32_t places, size_t n)
{
	size_t i = kht_thread_id();

	if (i < n)
		atomicCAS(p + (size_t)kht_reduce(kh_fmix64(i), places) * 4 + (i & 3), 0ull, i);
}

static __global__ void random_sectors(uint4 *p, uint32_t places, size_t n)
{
	size_t i = kht_thread_id();

	if (i < n * 2)
		p[(size_t)kht_reduce(kh_fmix64(i / 2), places) * 2 + (i & 1)] =
			make_uint4(i, i, i, i);
}

cudaError_t kht_bench_keys(const kht_bench_gen *g, void *keys, cudaStream_t s)
{
	make_keys<<<blocks(g->n), BLOCK, 0, s>>>(*g, keys);
	return cudaGetLastError();
}

cudaError_t kht_bench_values(const kht_bench_gen *g, void *values, cudaStream_t s)
{
	make_values<<<blocks(g->n), BLOCK, 0, s>>>(*g, values);
	return cudaGetLastError();
}

cudaError_t kht_bench_skewed(const kht_bench_gen *g, const kht_bench_skew *k, void *keys,
			     cudaStream_t s)
{
	make_skewed<<<blocks(g->n), BLOCK, 0, s>>>(*g, *k, keys);
	return cudaGetLastError();
}

cudaError_t kht_bench_sum(const void *p, size_t n, unsigned bits, unsigned long long *sum,
			  cudaStream_t s)
{
	add_up<<<1024, BLOCK, 0, s>>>(p, n, bits, sum);
	return cudaGetLastError();
}

cudaError_t kht_bench_ops(size_t n, unsigned writes, uint8_t *op, cudaStream_t s)
{
	make_ops<<<blocks(n), BLOCK, 0, s>>>(n, writes, op);
	return cudaGetLastError();
}

static __global__ void end_of_line(void) {}

cudaError_t kht_bench_mark(cudaStream_t s)
{
	end_of_line<<<1, 1, 0, s>>>();
	return cudaGetLastError();
}

cudaError_t kht_bench_limit(enum kht_bench_limit what, void *p, size_t bytes, size_t n,
			    cudaStream_t s)
{
	switch (what) {
	case KHT_LIMIT_READ32:
		random_reads<2>
			<<<blocks(n / 2), BLOCK, 0, s>>>((uint4 *)p, (uint32_t)(bytes / 32), n);
		break;
	case KHT_LIMIT_READ64:
		random_reads<4><<<blocks(n), BLOCK, 0, s>>>((uint4 *)p, (uint32_t)(bytes / 64), n);
		break;
	case KHT_LIMIT_READ128:
		random_reads<8>
			<<<blocks(n * 2), BLOCK, 0, s>>>((uint4 *)p, (uint32_t)(bytes / 128), n);
		break;
	case KHT_LIMIT_CAS:
		random_cas<<<blocks(n), BLOCK, 0, s>>>((unsigned long long *)p,
						       (uint32_t)(bytes / 32), n);
		break;
	case KHT_LIMIT_SECTOR:
		random_sectors<<<blocks(n * 2), BLOCK, 0, s>>>((uint4 *)p, (uint32_t)(bytes / 32),
							       n);
		break;
	}
	return cudaGetLastError();
}
