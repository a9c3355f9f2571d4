/* gpu/comm.c - chooses the way in which GPUs send to each other, and has what the ways share */
#include <config.h>
#include "cuda/gpu/comm_in.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cuda/gpu/gpu.h"

#define SPIN 300e-6                     /* seconds: longer than most exchanges take */

#ifdef HAVE_NCCL
static const kh_gpu_way *const nccl = &kh_gpu_way_nccl;
#else
static const kh_gpu_way *const nccl = NULL;
#endif

static const kh_gpu_way *way(const kh_gpu_comm *c)
{
	return *(const kh_gpu_way *const *)(const void *)c;
}

int kh_gpu_comm_open(kh_gpu_comm **c, kh_comm *comm, const int *device, size_t n, kh_err *err)
{
	const char *wish = getenv("KH_GPU_COMM");
	bool all, by_nccl = comm || (wish && strcmp(wish, "nccl") == 0);
	int rc = kh_gpu_peers(device, n, &all, err);

	if (rc)
		return rc;
	if (comm && !nccl)
		return kh_fail(err, KH_EUSAGE, "this program was built without NCCL: the GPUs of "
			       "several processes cannot work together");
	by_nccl |= !all;
	return (by_nccl && nccl ? nccl : &kh_gpu_way_peer)->open(c, comm, device, n, err);
}

int kh_gpu_comm_open_here(kh_gpu_comm **c, const int *device, size_t n, kh_err *err)
{
	return kh_gpu_way_peer.open(c, NULL, device, n, err);
}

void kh_gpu_comm_close(kh_gpu_comm *c)
{
	if (c)
		way(c)->close(c);
}

void kh_gpu_comm_abort(kh_gpu_comm *c)
{
	if (c)
		way(c)->abort(c);
}

unsigned kh_gpu_comm_size(const kh_gpu_comm *c)
{
	return way(c)->size(c);
}

unsigned kh_gpu_comm_first(const kh_gpu_comm *c)
{
	return way(c)->first(c);
}

int kh_gpu_comm_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err)
{
	return way(c)->all_to_all(c, message, err);
}

int kh_gpu_comm_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	return way(c)->sum(c, p, n, stream, err);
}

int kh_gpu_comm_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	return way(c)->wait(c, stream, err);
}

/* --- what the ways share ---------------------------------------------------------- */
int kh_gpu_comm_keep(const kh_gpu_message *p, unsigned self, kh_err *err)
{
	int rc = KH_OK;

	for (; p && !rc; p = p->more)
		if (p->bytes[self] > 0)
			rc = KH_GPU(cudaMemcpyAsync((char *)p->recv + p->from[self],
						    (const char *)p->send + p->at[self],
						    p->bytes[self], cudaMemcpyDeviceToDevice,
						    p->stream),
				    err);
	return rc;
}

double kh_gpu_comm_patience(void)
{
	double seconds;

	return kh_comm_timeout(&seconds, NULL) ? 60 : seconds;
}

void kh_gpu_comm_pause(double began)
{
	const struct timespec nap = { 0, 20000 };

	if (kh_seconds() - began > SPIN)
		nanosleep(&nap, NULL);
}

int kh_gpu_comm_done(const int *device, size_t n, const cudaStream_t *stream, kh_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int rc = kh_gpu_use(device[i], err);
		cudaError_t e = rc ? cudaSuccess : cudaStreamQuery(stream[i]);

		if (!rc && e == cudaErrorNotReady)
			return 0;
		if (!rc)
			rc = kh_gpu_check((int)e, "work of its stream", err);
		if (rc)
			return rc;
	}
	return 1;
}
