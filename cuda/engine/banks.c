/*
 * banks.c - memory of each device in which the kernels of all its queues count: the banks of a
 * census, or of counters of distinct features
 */
#include <config.h>
#include "cuda/engine/engine_in.h"

#include <stdlib.h>
#include "base/mem.h"

void kh_cuda_banks_close(kh_cuda_bank *p, size_t n)
{
	for (size_t i = 0; p && i < n; i++) {
		cudaSetDevice(p[i].device);
		if (p[i].stream)
			cudaStreamDestroy(p[i].stream);
		kh_gpu_drop(&p[i].room);
		kh_gpu_drop(&p[i].host);
	}
	free(p);
}

static int bank_open(kh_cuda_bank *p, int device, size_t bytes, size_t host, kh_err *err)
{
	int rc = kh_gpu_use(device, err);

	p->device = device;
	if (rc || (rc = kh_cuda_spare(bytes, err)) ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), err)) ||
	    (rc = kh_gpu_room_exact(&p->room, bytes, err)) ||
	    (rc = kh_gpu_host_room(&p->host, host, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(p->room.p, 0, bytes, p->stream), err)))
		return rc;
	return KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_cuda_banks_open(kh_cuda_bank **out, const kh_engine *e, size_t bytes, size_t host,
		       kh_err *err)
{
	kh_cuda_bank *p;
	int rc = KH_OK;

	*out = NULL;
	if (e->by_host)
		return KH_OK;
	p = kh_array(e->n, sizeof *p, err);
	if (!p)
		return KH_OK;
	for (size_t i = 0; i < e->n && !rc; i++)
		rc = bank_open(&p[i], e->copy[i].device, bytes, host, err);
	if (rc)
		kh_cuda_banks_close(p, e->n);
	else
		*out = p;
	return rc == KH_ENOMEM ? KH_OK : rc;
}

int kh_cuda_bank_copy(const kh_cuda_bank *p, void *to, const void *from, size_t bytes, kh_err *err)
{
	int rc = KH_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, p->stream), err);

	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}
