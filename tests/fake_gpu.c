/* fake_gpu.c - the calls of CUDA's runtime, without a GPU (fake_gpu.h) */
#include <config.h>
#include "fake_gpu.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"     /* of most calls nothing is needed */

fake_gpu fake;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current;
static _Thread_local cudaError_t last;
static atomic_long calls;

/* In front of each allocation. */
struct head {
	uint64_t bytes;
	int device;
	char fill[256 - 12];
};

void fake_reset(uint64_t memory)
{
	memset(&fake, 0, sizeof fake);
	atomic_store(&calls, 0);
	for (int i = 0; i < FAKE_DEVICES; i++)
		fake.memory[i] = memory;
}

long fake_calls(void) { return atomic_load(&calls); }

/* Does this call fail? */
static cudaError_t refused(void)
{
	const long n = atomic_fetch_add(&calls, 1) + 1;
	const bool fails = fake.fails_at && (fake.lost ? n >= fake.fails_at : n == fake.fails_at);

	return fails ? last = cudaErrorLaunchFailure : cudaSuccess;
}

/* Bytes that the driver takes for an allocation: whole pages of 2 MiB from a mebibyte on; smaller
 * ones share such pages. */
static uint64_t taken_for(uint64_t n)
{
	const uint64_t mib = UINT64_C(1) << 20;

	return n < mib ? n : (n + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

static uint64_t left(int device)
{
	const uint64_t used = fake.taken[device];

	return used < fake.memory[device] ? fake.memory[device] - used : 0;
}

cudaError_t cudaMalloc(void **p, size_t n)
{
	const uint64_t bytes = taken_for(n);
	struct head *h = NULL;

	if (refused())
		return last;
	pthread_mutex_lock(&lock);
	if (bytes <= left(current) && (h = aligned_alloc(256, (sizeof *h + n + 511) / 256 * 256))) {
		memset(h, 0xa5, sizeof *h + n);
		h->bytes = bytes;
		h->device = current;
		fake.taken[current] += bytes;
		if (fake.taken[current] > fake.most[current])
			fake.most[current] = fake.taken[current];
	}
	pthread_mutex_unlock(&lock);
	if (!h)
		return last = cudaErrorMemoryAllocation;
	*p = h + 1;
	return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
	struct head *h = p;

	if (!h--)
		return cudaSuccess;
	pthread_mutex_lock(&lock);
	fake.taken[h->device] -= h->bytes;
	pthread_mutex_unlock(&lock);
	free(h);
	return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
	pthread_mutex_lock(&lock);
	*free_bytes = left(current);
	*total = fake.memory[current];
	pthread_mutex_unlock(&lock);
	return refused();
}

cudaError_t cudaHostAlloc(void **p, size_t n, unsigned flags)
{
	if (refused())
		return last;
	*p = malloc(n);
	return *p ? cudaSuccess : (last = cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *p) { return free(p), cudaSuccess; }
cudaError_t cudaHostRegister(void *p, size_t n, unsigned flags) { return refused(); }
cudaError_t cudaHostUnregister(void *p) { return refused(); }

/* --- devices ------------------------------------------------------------------------ */
cudaError_t cudaSetDevice(int device) { return current = device, refused(); }
cudaError_t cudaGetDevice(int *device) { return *device = current, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *n) { return *n = FAKE_DEVICES, cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return refused(); }
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	return *can = 1, cudaSuccess;
}

/* --- errors ------------------------------------------------------------------------- */
cudaError_t cudaGetLastError(void)
{
	const cudaError_t e = last;

	last = cudaSuccess;
	return e;
}

const char *cudaGetErrorName(cudaError_t e)
{
	return e == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}

const char *cudaGetErrorString(cudaError_t e)
{
	return e == cudaErrorMemoryAllocation ? "out of memory" : "an error";
}

/* --- streams, events ----------------------------------------------------------------- */
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
	return *s = NULL, refused();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority)
{
	return *s = NULL, refused();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *first)
{
	return *least = *first = 0, refused();
}

cudaError_t cudaStreamDestroy(cudaStream_t s) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return refused(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags) { return refused(); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
	return *e = NULL, refused();
}

cudaError_t cudaEventDestroy(cudaEvent_t e) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return refused(); }
cudaError_t cudaEventSynchronize(cudaEvent_t e) { return fake.busy = false, refused(); }
cudaError_t cudaEventQuery(cudaEvent_t e)
{
	return refused() ? last : fake.busy ? (last = cudaErrorNotReady) : cudaSuccess;
}

/* --- copies, done at once -------------------------------------------------------------- */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
			    cudaStream_t s)
{
	return memmove(to, from, n), refused();
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
	return memmove(to, from, n), refused();
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
				size_t n, cudaStream_t s)
{
	return memmove(to, from, n), refused();
}

cudaError_t cudaMemsetAsync(void *p, int x, size_t n, cudaStream_t s)
{
	return memset(p, x, n), refused();
}

cudaError_t cudaMemset(void *p, int x, size_t n) { return memset(p, x, n), refused(); }
