/* runtime.c - devices and buffers, and the messages of failures (gpu.h) */
#include <config.h>
#include "cuda/kernels/gpu.h"

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "base/size.h"

enum { PAGE = 4096 };

/* The device of this thread, as after some errors cudaGetDevice cannot tell it. */
static _Thread_local int current;

/* bytes: what was asked for, if known. */
static int out_of_memory(const char *call, int n, size_t bytes, kh_err *err)
{
	const bool host = strncmp(call, "cudaHost", 8) == 0;
	size_t free_bytes = 0, total = 0;
	char size[40] = "";

	if (bytes)
		snprintf(size, sizeof size, " of %s", kh_size_show(bytes).s);
	if (host)
		return kh_fail(err, KH_ENOMEM,
			       "out of pinned host memory for cuda:%d: %.*s%s failed",
			       current, n, call, size);
	if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess) {
		cudaGetLastError();
		return kh_fail(err, KH_ENOMEM, "out of GPU memory on cuda:%d: %.*s%s failed",
			       current, n, call, size);
	}
	return kh_fail(err, KH_ENOMEM,
		       "out of GPU memory on cuda:%d: %.*s%s failed with %s of %s free",
		       current, n, call, size, kh_size_show(free_bytes).s,
		       kh_size_show(total).s);
}

static int check(cudaError_t status, const char *call, size_t bytes, kh_err *err)
{
	const int n = (int)strcspn(call, "(");

	if (status == cudaSuccess)
		return KH_OK;
	cudaGetLastError();             /* clears it */
	if (status == cudaErrorMemoryAllocation)
		return out_of_memory(call, n, bytes, err);
	return kh_fail(err, KH_EDEVICE, "cuda:%d: %.*s: %s (%s)", current, n, call,
		       cudaGetErrorString(status), cudaGetErrorName(status));
}

int kh_gpu_check(int status, const char *call, kh_err *err)
{
	return check((cudaError_t)status, call, 0, err);
}

int kh_gpu_count(kh_err *why)
{
	cudaError_t e;
	int n = 0;

	e = cudaGetDeviceCount(&n);
	if (e == cudaSuccess)
		return n;
	cudaGetLastError();
	if (e == cudaErrorInsufficientDriver)   /* also if there is no driver at all */
		kh_fail(why, KH_ENODEV,
			"there is no NVIDIA driver, or it is older than CUDA %d.%d (%s)",
			CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, cudaGetErrorName(e));
	else
		kh_fail(why, KH_ENODEV, "%s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
	return 0;
}

int kh_gpu_use(int device, kh_err *err)
{
	current = device;
	return KH_GPU(cudaSetDevice(device), err);
}

int kh_gpu_current(void)
{
	return current;
}

int kh_gpu_first_stream(cudaStream_t *s, kh_err *err)
{
	int least, first;
	int rc = KH_GPU(cudaDeviceGetStreamPriorityRange(&least, &first), err);

	return rc ? rc : KH_GPU(cudaStreamCreateWithPriority(s, cudaStreamNonBlocking, first), err);
}

int kh_gpu_free(uint64_t *bytes, kh_err *err)
{
	size_t free_bytes, total;
	int rc = KH_GPU(cudaMemGetInfo(&free_bytes, &total), err);

	if (!rc)
		*bytes = free_bytes;
	return rc;
}

static int peer(int device, bool *can, kh_err *err)
{
	cudaError_t e;
	int mine = 0, yes = 0, rc = KH_GPU(cudaGetDevice(&mine), err);

	if (!rc && mine != device)
		rc = KH_GPU(cudaDeviceCanAccessPeer(&yes, mine, device), err);
	*can = mine == device;
	if (rc || !yes)
		return rc;
	e = cudaDeviceEnablePeerAccess(device, 0);
	*can = e != cudaErrorTooManyPeers;
	if (!*can || e == cudaErrorPeerAccessAlreadyEnabled) {
		cudaGetLastError();     /* clears it */
		return KH_OK;
	}
	return kh_gpu_check((int)e, "cudaDeviceEnablePeerAccess", err);
}

int kh_gpu_peers(const int *device, size_t n, bool *all, kh_err *err)
{
	bool can;
	int rc = KH_OK;

	*all = true;
	for (size_t i = 0; i < n && !rc; i++) {
		rc = kh_gpu_use(device[i], err);
		for (size_t j = 0; j < n && !rc; j++) {
			rc = peer(device[j], &can, err);
			*all &= can;
		}
	}
	return rc;
}

/* --- buffers ------------------------------------------------------------------------- */
void kh_gpu_drop(kh_gpu_buf *b)
{
	if (b->p && b->of == KH_GPU_DEVICE)
		cudaFree(b->p);
	if (b->p && b->of == KH_GPU_PINNED)
		cudaFreeHost(b->p);
	if (b->p && b->of == KH_GPU_PAGES) {
		cudaHostUnregister(b->p);
		kh_pages_free(b->p, b->bytes);
	}
	*b = (kh_gpu_buf) { .p = NULL };
}

void kh_gpu_drop_all(kh_gpu_buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kh_gpu_drop(&b[i]);
}

int kh_gpu_room_exact(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	int rc;

	if (b->p && bytes <= b->bytes)
		return KH_OK;
	kh_gpu_drop(b);
	bytes = (bytes + 511) / 256 * 256;
	rc = check(cudaMalloc(&b->p, bytes), "cudaMalloc", bytes, err);
	*b = (kh_gpu_buf) { rc ? NULL : b->p, rc ? 0 : bytes, KH_GPU_DEVICE };
	return rc;
}

int kh_gpu_room(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	size_t more = bytes + bytes / 2;
	int rc;

	if (b->p && bytes <= b->bytes)
		return KH_OK;
	if (!b->p)
		more = bytes;
	kh_gpu_drop(b);
	rc = kh_gpu_room_exact(b, more, err);
	return rc == KH_ENOMEM && more > bytes ? kh_gpu_room_exact(b, bytes, err) : rc;
}

int kh_gpu_zero_room(kh_gpu_buf *b, size_t bytes, cudaStream_t stream, kh_err *err)
{
	const size_t had = b->bytes;
	const int rc = kh_gpu_room(b, bytes, err);

	if (rc || b->bytes == had)
		return rc;
	return KH_GPU(cudaMemsetAsync(b->p, 0, b->bytes, stream), err);
}

int kh_gpu_host_room(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	int rc;

	if (b->p && bytes <= b->bytes)
		return KH_OK;
	bytes = (b->p ? bytes + bytes / 2 : bytes) + 256;
	kh_gpu_drop(b);
	rc = check(cudaHostAlloc(&b->p, bytes, cudaHostAllocPortable), "cudaHostAlloc",
		   bytes, err);
	*b = (kh_gpu_buf) { rc ? NULL : b->p, rc ? 0 : bytes, rc ? KH_GPU_DEVICE : KH_GPU_PINNED };
	return rc;
}

int kh_gpu_host_pages(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	char *p;
	int rc;

	if (b->p && bytes <= b->bytes)
		return KH_OK;
	kh_gpu_drop(b);
	p = kh_pages(bytes, err);
	if (!p)
		return KH_ENOMEM;
	/* Threads may do this at the same time, while the driver registers one after the other, and
	 * waits for pages that are not there. */
	for (size_t i = 0; i < bytes; i += PAGE)
		p[i] = 0;
	rc = check(cudaHostRegister(p, bytes, cudaHostRegisterPortable), "cudaHostRegister", bytes,
		   err);
	if (rc)
		kh_pages_free(p, bytes);
	else
		*b = (kh_gpu_buf) { p, bytes, KH_GPU_PAGES };
	return rc;
}
