/*
 * wrap_cuda.c - makes calls to CUDA fail; tests/kmerhash_faults is linked with it (--wrap)
 *
 *	KH_CUDA_FAIL=KIND:N     the N-th ...
 *	    alloc    allocation, on the device or of pinned memory: out of memory, once
 *	    full     allocation and every one after it: out of memory
 *	    call     call, once
 *	    lost     call and every one after it, as if the device were gone
 *	    kernel   kernel is one that traps: from there on the device itself refuses all
 *	KH_CUDA_STATUS=NUMBER   what `call` and `lost` give: a cudaError_t, 719 if not given
 *	KH_CUDA_COUNT=FILE      gets the numbers of allocations, calls and kernels at the end
 *	KH_CUDA_MEMORY=BYTES    what each device has; allocations beyond that fail, and
 *	                        cudaMemGetInfo tells of no more
 *
 * The runtime is linked statically, so that nothing can be preloaded for it; the calls that
 * our objects make are bent to these functions when the program is linked.
 */
#include <config.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kh_wrap_trap(cudaStream_t stream);

enum kind { NONE, ALLOC, FULL, CALL, LOST, KERNEL, N_KINDS };

static enum kind what;
static long at;
static cudaError_t status = cudaErrorLaunchFailure;
static atomic_long allocs, calls, kernels;
static atomic_bool gone;
static _Thread_local cudaError_t last;  /* as cudaGetLastError gives it, once */
static _Thread_local bool trapping;

/* Memory as KH_CUDA_MEMORY has it: what is allocated, under a lock. */
enum { DEVICES = 64, ALLOCATIONS = 1 << 16 };
static struct {
	void *p;
	size_t bytes;
	int device;
} allocation[ALLOCATIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t memory, taken[DEVICES];

static void __attribute__((constructor)) start(void)
{
	static const char *const name[N_KINDS] = { "", "alloc", "full", "call", "lost", "kernel" };
	const char *fail = getenv("KH_CUDA_FAIL"), *number = getenv("KH_CUDA_STATUS");
	const char *colon = fail ? strchr(fail, ':') : NULL;

	for (int i = ALLOC; colon && i < N_KINDS; i++)
		if (strlen(name[i]) == (size_t)(colon - fail) &&
		    strncmp(name[i], fail, strlen(name[i])) == 0)
			what = (enum kind)i;
	const char *bytes = getenv("KH_CUDA_MEMORY");

	at = colon ? atol(colon + 1) : 0;
	memory = bytes ? strtoull(bytes, NULL, 10) : 0;
	if (number)
		status = (cudaError_t)atoi(number);
}

static void __attribute__((destructor)) stop(void)
{
	const char *path = getenv("KH_CUDA_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fprintf(f, "%ld %ld %ld\n", atomic_load(&allocs), atomic_load(&calls),
			atomic_load(&kernels));
		fclose(f);
	}
}

/* What this call is to give; 0: let it through. */
static cudaError_t gate(bool alloc)
{
	const long n = atomic_fetch_add(&calls, 1) + 1;
	const long m = alloc ? atomic_fetch_add(&allocs, 1) + 1 : 0;

	if (what == LOST && n >= at)
		atomic_store(&gone, true);
	if (atomic_load(&gone) || (what == CALL && n == at))
		return last = status;
	if ((what == ALLOC && m == at) || (what == FULL && alloc && m >= at))
		return last = cudaErrorMemoryAllocation;
	return cudaSuccess;
}

/* name's wrapper: PARAMS with types, ARGS without. */
#define WRAP(alloc, name, PARAMS, ARGS) \
	cudaError_t __real_##name PARAMS; \
	cudaError_t __wrap_##name PARAMS; \
	cudaError_t __wrap_##name PARAMS \
	{ \
		cudaError_t refused = gate(alloc); \
\
		return refused ? refused : __real_##name ARGS; \
	}

/* --- memory ------------------------------------------------------------------------- */
/* Under the lock. */
static size_t room_on(int device)
{
	const size_t used = taken[device];

	return used < memory ? memory - used : 0;
}

/* As the driver takes it: whole pages of 2 MiB from a mebibyte on. */
static size_t pages(size_t n)
{
	const size_t mib = (size_t)1 << 20;

	return n < mib ? n : (n + 2 * mib - 1) / (2 * mib) * (2 * mib);
}

cudaError_t __real_cudaMalloc(void **p, size_t n);
cudaError_t __wrap_cudaMalloc(void **p, size_t n);
cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __real_cudaMemGetInfo(size_t *a, size_t *b);
cudaError_t __wrap_cudaMemGetInfo(size_t *a, size_t *b);
cudaError_t __real_cudaGetDevice(int *d);

/* Notes an allocation; false: there is no room. */
static bool note(void *p, size_t n, int device)
{
	size_t i = 0;

	for (; i < ALLOCATIONS && allocation[i].p; i++)
		;
	if (i == ALLOCATIONS || (memory && pages(n) > room_on(device)))
		return false;
	allocation[i].p = p;
	allocation[i].bytes = pages(n);
	allocation[i].device = device;
	taken[device] += pages(n);
	return true;
}

cudaError_t __wrap_cudaMalloc(void **p, size_t n)
{
	cudaError_t e = gate(true);
	int device = 0;
	bool noted;

	if (!e)
		e = __real_cudaGetDevice(&device);
	if (!e)
		e = __real_cudaMalloc(p, n);
	if (e)
		return e;
	pthread_mutex_lock(&lock);
	noted = note(*p, n, device % DEVICES);
	pthread_mutex_unlock(&lock);
	if (noted)
		return cudaSuccess;
	__real_cudaFree(*p);
	return last = cudaErrorMemoryAllocation;
}

cudaError_t __wrap_cudaFree(void *p)
{
	cudaError_t e = gate(false);

	if (e)
		return e;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; p && i < ALLOCATIONS; i++)
		if (allocation[i].p == p) {
			taken[allocation[i].device] -= allocation[i].bytes;
			allocation[i].p = NULL;
			break;
		}
	pthread_mutex_unlock(&lock);
	return __real_cudaFree(p);
}

cudaError_t __wrap_cudaMemGetInfo(size_t *a, size_t *b)
{
	cudaError_t e = gate(false);
	int device = 0;

	if (!e)
		e = __real_cudaMemGetInfo(a, b);
	if (!e)
		e = __real_cudaGetDevice(&device);
	if (e || !memory)
		return e;
	pthread_mutex_lock(&lock);
	*a = *a < room_on(device % DEVICES) ? *a : room_on(device % DEVICES);
	*b = memory;
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

/* --- all other calls ----------------------------------------------------------------- */
WRAP(true, cudaHostAlloc, (void **p, size_t n, unsigned flags), (p, n, flags))
WRAP(false, cudaFreeHost, (void *p), (p))
WRAP(false, cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind k),
     (to, from, n, k))
WRAP(false, cudaMemcpyAsync,
     (void *to, const void *from, size_t n, enum cudaMemcpyKind k, cudaStream_t s),
     (to, from, n, k, s))
WRAP(false, cudaDeviceCanAccessPeer, (int *can, int d, int peer), (can, d, peer))
WRAP(false, cudaDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags))
WRAP(false, cudaMemsetAsync, (void *p, int x, size_t n, cudaStream_t s), (p, x, n, s))
WRAP(false, cudaSetDevice, (int d), (d))
WRAP(false, cudaGetDevice, (int *d), (d))
WRAP(false, cudaGetDeviceCount, (int *n), (n))
WRAP(false, cudaDeviceGetAttribute, (int *x, enum cudaDeviceAttr a, int d), (x, a, d))
WRAP(false, cudaFuncGetAttributes, (struct cudaFuncAttributes *a, const void *f), (a, f))
WRAP(false, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     (int *n, const void *f, int block, size_t shared, unsigned flags),
     (n, f, block, shared, flags))
WRAP(false, cudaStreamCreateWithFlags, (cudaStream_t *s, unsigned flags), (s, flags))
WRAP(false, cudaStreamDestroy, (cudaStream_t s), (s))
WRAP(false, cudaStreamSynchronize, (cudaStream_t s), (s))
WRAP(false, cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned flags), (s, e, flags))
WRAP(false, cudaEventCreateWithFlags, (cudaEvent_t *e, unsigned flags), (e, flags))
WRAP(false, cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, s))
WRAP(false, cudaEventQuery, (cudaEvent_t e), (e))
WRAP(false, cudaEventSynchronize, (cudaEvent_t e), (e))
WRAP(false, cudaEventDestroy, (cudaEvent_t e), (e))

/* --- launches: <<<>>> comes out as the first of these, or as the second before CUDA 13 ---- */
/* Instead of the kernel: 0: let it through, 1: *e is the result. */
static int instead(cudaStream_t s, cudaError_t *e)
{
	if (trapping)
		return 0;
	*e = gate(false);
	if (*e)
		return 1;
	if (atomic_fetch_add(&kernels, 1) + 1 != at || what != KERNEL)
		return 0;
	trapping = true;
	*e = (cudaError_t)kh_wrap_trap(s);
	trapping = false;
	return 1;
}

#define WRAP_LAUNCH(name, function) \
	cudaError_t __real_##name(function f, dim3 grid, dim3 block, void **args, size_t shared, \
				  cudaStream_t s); \
	cudaError_t __wrap_##name(function f, dim3 grid, dim3 block, void **args, size_t shared, \
				  cudaStream_t s); \
	cudaError_t __wrap_##name(function f, dim3 grid, dim3 block, void **args, size_t shared, \
				  cudaStream_t s) \
	{ \
		cudaError_t e; \
\
		return instead(s, &e) ? e : __real_##name(f, grid, block, args, shared, s); \
	}

#if CUDART_VERSION >= 13000
WRAP_LAUNCH(__cudaLaunchKernel, cudaKernel_t)
#endif
WRAP_LAUNCH(cudaLaunchKernel, const void *)

/* --- the last error --------------------------------------------------------------- */
cudaError_t __real_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void);
cudaError_t __wrap_cudaGetLastError(void)
{
	cudaError_t e = last;

	last = cudaSuccess;
	if (atomic_load(&gone))
		return status;
	return e ? e : __real_cudaGetLastError();
}

cudaError_t __real_cudaPeekAtLastError(void);
cudaError_t __wrap_cudaPeekAtLastError(void);
cudaError_t __wrap_cudaPeekAtLastError(void)
{
	if (atomic_load(&gone))
		return status;
	return last ? last : __real_cudaPeekAtLastError();
}
