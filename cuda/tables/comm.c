/* comm.c - chooses the way in which GPUs send to each other, and has what the ways share */
#include <config.h>
#include "cuda/tables/comm_in.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "cuda/kernels/gpu.h"

#define SPIN 300e-6                     /* seconds: longer than most exchanges take */

#ifdef HAVE_NCCL
static const kh_gpu_way *const nccl = &kh_gpu_way_nccl;
#else
static const kh_gpu_way *const nccl = NULL;
#endif

/* --- open, close ------------------------------------------------------------------ */
/* KH_GPU_COMM_TIMEOUT; 60 where that is no number of seconds from 1 on. */
static double patience(void)
{
	const char *s = getenv("KH_GPU_COMM_TIMEOUT");
	const double seconds = s ? strtod(s, NULL) : 60;

	return seconds >= 1 ? seconds : 60;
}

static int open_way(const kh_gpu_way *way, kh_gpu_comm **out, const int *device, size_t n,
		    kh_err *err)
{
	kh_gpu_comm *c = kh_array(1, way->bytes, err);
	int rc;

	if (!c)
		return KH_ENOMEM;
	c->way = way;
	c->patience = patience();
	c->device = kh_array(n, sizeof *c->device, err);
	rc = c->device ? KH_OK : KH_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		c->device[c->n++] = device[i];
	if (!rc)
		rc = way->open(c, err);
	if (rc) {
		kh_gpu_comm_abort(c);
		kh_gpu_comm_close(c);
	} else {
		*out = c;
	}
	return rc;
}

int kh_gpu_comm_open(kh_gpu_comm **c, const int *device, size_t n, kh_err *err)
{
	const char *wish = getenv("KH_GPU_COMM");
	bool all, by_nccl = wish && strcmp(wish, "nccl") == 0;
	int rc = kh_gpu_peers(device, n, &all, err);

	if (rc)
		return rc;
	by_nccl |= !all;
	return open_way(by_nccl && nccl ? nccl : &kh_gpu_way_peer, c, device, n, err);
}

void kh_gpu_comm_close(kh_gpu_comm *c)
{
	if (!c)
		return;
	c->way->close(c);
	free(c->device);
	free(c);
}

void kh_gpu_comm_abort(kh_gpu_comm *c)
{
	if (!c || c->dead)
		return;
	c->dead = true;
	if (c->way->abort)
		c->way->abort(c);
}

/* --- work ------------------------------------------------------------------------- */
/* A call that failed is the last one. */
static int last_if(kh_gpu_comm *c, int rc)
{
	if (rc)
		kh_gpu_comm_abort(c);
	return rc;
}

static int check_alive(const kh_gpu_comm *c, kh_err *err)
{
	return c->dead ? kh_fail(err, KH_EIO, "what GPUs send each other: an earlier call failed")
		       : KH_OK;
}

int kh_gpu_comm_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err)
{
	int rc = check_alive(c, err);

	return rc ? rc : last_if(c, c->way->all_to_all(c, message, err));
}

int kh_gpu_comm_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	int rc = check_alive(c, err);

	return rc || c->n == 1 || n == 0 ? rc : last_if(c, c->way->sum(c, p, n, stream, err));
}

/* Has each of the streams done its work?  1; 0, and the current device has not; or an error. */
static int done(const kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	for (size_t i = 0; i < c->n; i++) {
		int rc = kh_gpu_use(c->device[i], err);
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

int kh_gpu_comm_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	const double began = kh_seconds();
	int is = 0, rc = check_alive(c, err);

	while (!rc && (is = done(c, stream, err)) == 0) {
		rc = kh_gpu_comm_pause(c, began, err);
		if (!rc && c->way->health)
			rc = c->way->health(c, err);
	}
	return last_if(c, rc ? rc : is < 0 ? is : KH_OK);
}

/* --- what the ways share ---------------------------------------------------------- */
int kh_gpu_comm_keep(const kh_gpu_message *p, size_t self, kh_err *err)
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

int kh_gpu_comm_pause(const kh_gpu_comm *c, double began, kh_err *err)
{
	const double waited = kh_seconds() - began;
	const struct timespec nap = { 0, 20000 };

	if (waited > c->patience)
		return kh_fail(err, KH_EDEVICE,
			       "what GPUs send each other: cuda:%d is not done after %g s "
			       "(KH_GPU_COMM_TIMEOUT)", kh_gpu_current(), c->patience);
	if (waited > SPIN)
		nanosleep(&nap, NULL);
	return KH_OK;
}
