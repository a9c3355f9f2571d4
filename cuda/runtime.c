#include <config.h>
#include "gpu.h"

#include <inttypes.h>

int kh_gpu_check(int status, const char *call, kh_err *err)
{
	size_t free_bytes = 0, total = 0;
	int device = -1, n = 0;

	if (status == cudaSuccess)
		return KH_OK;
	while (call[n] && call[n] != '(')
		n++;
	cudaGetLastError();             /* clears it */
	if (cudaGetDevice(&device) != cudaSuccess)
		device = -1;
	if (status == cudaErrorMemoryAllocation) {
		if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
			cudaGetLastError();
		return kh_fail(
			err, KH_ENOMEM,
			"out of GPU memory on cuda:%d: %.*s failed with %zu of %zu MB "
			"free (--gpu-memory limits what a build takes)",
			device, n, call, free_bytes >> 20, total >> 20);
	}
	return kh_fail(err, KH_EDEVICE, "cuda:%d: %.*s: %s (%s)", device, n, call,
		       cudaGetErrorString((cudaError_t)status),
		       cudaGetErrorName((cudaError_t)status));
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
	rc = KH_GPU(cudaMalloc(&b->p, bytes), err);
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
	rc = KH_GPU(cudaHostAlloc(&b->p, bytes, cudaHostAllocPortable), err);
	if (rc) {
		b->p = NULL;
		return rc;
	}
	b->bytes = bytes;
	b->host = true;
	return KH_OK;
}
