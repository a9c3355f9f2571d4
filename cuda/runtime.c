#include <config.h>
#include "gpu.h"

#include <stdio.h>
#include <string.h>

/* The device of this thread, as cudaGetDevice would say if it could still be asked. */
static _Thread_local int current;

/* bytes: what was asked for, if known. */
static int out_of_memory(const char *call, int n, size_t bytes, kh_err *err)
{
	const bool host = strncmp(call, "cudaHostAlloc", (size_t)n) == 0;
	size_t free_bytes = 0, total = 0;
	char size[40] = "";

	if (bytes)
		snprintf(size, sizeof size, " of %.1f MB", (double)bytes / 1048576);
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
		       "out of GPU memory on cuda:%d: %.*s%s failed with %zu of %zu MB "
		       "free (--gpu-memory limits what a build takes)",
		       current, n, call, size, free_bytes >> 20, total >> 20);
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
	kh_fail(why, KH_ENODEV, "%s (%s)", cudaGetErrorString(e), cudaGetErrorName(e));
	return 0;
}

int kh_gpu_use(int device, kh_err *err)
{
	current = device;
	return KH_GPU(cudaSetDevice(device), err);
}

int kh_gpu_free(uint64_t *bytes, kh_err *err)
{
	size_t free_bytes, total;
	int rc = KH_GPU(cudaMemGetInfo(&free_bytes, &total), err);

	if (!rc)
		*bytes = free_bytes;
	return rc;
}

/* --- buffers ---------------------------------------------------------------------------
 */
void kh_gpu_drop(kh_gpu_buf *b)
{
	if (b->p && b->host)
		cudaFreeHost(b->p);
	else if (b->p)
		cudaFree(b->p);
	*b = (kh_gpu_buf) { .p = NULL };
}

int kh_gpu_room_exact(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	int rc;

	if (b->p && bytes <= b->bytes)
		return KH_OK;
	kh_gpu_drop(b);
	bytes = (bytes + 511) / 256 * 256;
	rc = check(cudaMalloc(&b->p, bytes), "cudaMalloc", bytes, err);
	if (rc)
		b->p = NULL;
	else
		b->bytes = bytes;
	return rc;
}

int kh_gpu_room(kh_gpu_buf *b, size_t bytes, kh_err *err)
{
	if (b->p && bytes <= b->bytes)
		return KH_OK;
	return kh_gpu_room_exact(b, b->p ? bytes + bytes / 2 : bytes, err);
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
	if (rc) {
		b->p = NULL;
		return rc;
	}
	b->bytes = bytes;
	b->host = true;
	return KH_OK;
}
