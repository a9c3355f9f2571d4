/* gpu_area.h - device memory that is compared on the host: poisoned, with a guard behind it */
#ifndef KH_TEST_GPU_AREA_H
#define KH_TEST_GPU_AREA_H

#include "test.h"
#include <cuda_runtime_api.h>
#include <string.h>

enum { GUARD = 256, POISON = 0xa5 };

typedef struct area {
	char *dev, *host;
	size_t n;
} area;

static inline void cuda(int e)
{
	if (e)
		fail_msg("CUDA: %s", cudaGetErrorString((cudaError_t)e));
}

static inline area area_new(const void *from, size_t n)
{
	area a = { NULL, malloc(n + GUARD), n };

	memset(a.host, POISON, n + GUARD);
	if (from && n)
		memcpy(a.host, from, n);
	cuda(cudaMalloc((void **)&a.dev, n + GUARD));
	cuda(cudaMemcpy(a.dev, a.host, n + GUARD, cudaMemcpyHostToDevice));
	return a;
}

/* Contents to the host; the guard must be whole. */
static inline void *area_get(area *a)
{
	cuda(cudaDeviceSynchronize());
	cuda(cudaMemcpy(a->host, a->dev, a->n + GUARD, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < GUARD; i++)
		if ((unsigned char)a->host[a->n + i] != POISON)
			fail_msg("byte %zu behind an output is %02x", i,
				 (unsigned char)a->host[a->n + i]);
	return a->host;
}

static inline void area_free(area *a)
{
	cudaFree(a->dev);
	free(a->host);
}

#endif
