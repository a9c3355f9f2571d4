/*
 * match.cu - fragments compared with text
 *
 * Each thread compares a fragment, or a part of a long one (match_item.h, match_small.h): it has so
 * few seeds and places that the lanes of a warp would mostly wait for one another's turns.  The
 * kernels run one after the other in a stream:
 *
 *	mark    which k-mers are seeds, word by word: most of the work, and the same for all
 *	match   fragments and parts, in small rooms, in local memory
 *	left    those for which that was too little, in large ones, in memory of the queue
 *	sum     the calls of long fragments, by the claims of their parts
 *
 * What needs still more is left to the host: its call has the taxon KH_GPU_CALL_LEFT.
 */
#include "cuda/kernels/match_item.h"
#include "cuda/kernels/syncmers.cuh"

namespace {

constexpr unsigned BLOCK = 128;         /* threads */
constexpr unsigned LARGE_BLOCK = 32, LARGE_BLOCKS = 16; /* of those with large rooms */

/* Marks the k-mers of each word that are features, as if all words were one sequence: those of a
 * record that lie inside it are right. */
template <int H>
__global__ void __launch_bounds__(THREADS) mark_kernel(kh_gpu_query q)
{
	const uint32_t w = blockIdx.x * THREADS + threadIdx.x;
	const kh_sampling sk = q.rule.sampling;

	if (w == q.n_words)
		q.mark[w] = 0;          /* read beside the last one */
	if (w >= q.n_words)
		return;
	const uint64_t amb = q.amb[w] | (uint64_t)q.amb[w + 1] << 32;
	const uint32_t keep = syncmers_of<H>(q.bases[w], q.bases[w + 1], sk.s) & ~smear(amb, sk.k);

	q.mark[w] = leave_out(sk, q.bases, w, keep);
}

__global__ void __launch_bounds__(BLOCK, 4) match_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	if (i >= q.n + q.n_slices)
		return;
	if (i < q.n && kh_gpu_is_long(&q, i)) {
		/* which features its parts have found is not kept */
		if (q.found)
			kh_gpu_leave_to_host(&q, i);
		return;
	}
	const kh_small_caps caps = kh_small_usual();
	uint64_t room[KH_SMALL_WORDS];
	kh_small x;

	kh_small_init(&x, &db, &caps, room);
	if (!kh_gpu_compare(&q, &x, i))
		q.left[atomicAdd(&q.counts[KH_GPU_LEFT], 1)] = i;
}

__global__ void __launch_bounds__(LARGE_BLOCK) left_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	const kh_small_caps caps = kh_small_large();
	uint64_t *room = (uint64_t *)q.rooms + (size_t)thread_number() * kh_small_words(&caps);
	const uint32_t n = q.counts[KH_GPU_LEFT];

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	for (uint32_t at; (at = atomicAdd(&q.counts[KH_GPU_LEFT_TAKEN], 1)) < n;) {
		kh_small x;

		kh_small_init(&x, &db, &caps, room);
		kh_gpu_compare_left(&q, &x, q.left[at]);
	}
}

__global__ void __launch_bounds__(BLOCK) sum_kernel(const __grid_constant__ kh_gpu_query q)
{
	__shared__ kh_match_db db;
	const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;

	if (threadIdx.x == 0)
		db = q.text;
	__syncthreads();
	if (i < q.n_longs)
		kh_gpu_sum(&q, &db, &q.longs[i]);
}

template <int H>
void mark(const kh_gpu_query *q, cudaStream_t stream)
{
	mark_kernel<H><<<q->n_words / THREADS + 1, THREADS, 0, stream>>>(*q);
}

void mark_any(const kh_gpu_query *q, cudaStream_t stream)
{
	switch ((q->rule.sampling.k - q->rule.sampling.s) / 2) {
	case 1: mark<1>(q, stream); break;
	case 2: mark<2>(q, stream); break;
	case 3: mark<3>(q, stream); break;
	case 4: mark<4>(q, stream); break;
	case 5: mark<5>(q, stream); break;
	case 6: mark<6>(q, stream); break;
	case 7: mark<7>(q, stream); break;
	default: mark<8>(q, stream); break;
	}
}

} /* namespace */

extern "C" int kh_gpu_query_match(const kh_gpu_query *q, cudaStream_t stream)
{
	const uint32_t items = q->n + q->n_slices;

	mark_any(q, stream);
	match_kernel<<<(items + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(*q);
	left_kernel<<<LARGE_BLOCKS, LARGE_BLOCK, 0, stream>>>(*q);
	if (q->n_longs > 0 && !q->found)
		sum_kernel<<<(q->n_longs + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(*q);
	return cudaGetLastError();
}

extern "C" size_t kh_gpu_query_match_room(void)
{
	const kh_small_caps caps = kh_small_large();

	return (size_t)LARGE_BLOCKS * LARGE_BLOCK * kh_small_words(&caps) * sizeof(uint64_t);
}

extern "C" int kh_gpu_query_match_local(uint64_t *bytes)
{
	cudaFuncAttributes a;
	int device, blocks = 0, threads = 0;
	cudaError_t e = cudaFuncGetAttributes(&a, match_kernel);

	if (e == cudaSuccess)
		e = cudaGetDevice(&device);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
	if (e == cudaSuccess)
		e = cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor,
					   device);
	*bytes = (uint64_t)blocks * (uint64_t)threads * a.localSizeBytes;
	return e;
}
