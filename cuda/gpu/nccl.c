/*
 * nccl.c - the members of a run through NCCL
 *
 * The communicators do not block: a call that is under way is looked at again and again, together
 * with what the processes know of each other, until it is complete, has failed, or has taken too
 * long. After a failure they are aborted, and every later call fails.
 */
#include <config.h>
#include "cuda/gpu/comm_in.h"

#include <nccl.h>
#include <stdlib.h>
#include "cuda/gpu/gpu.h"
#include "base/mem.h"

#define PIECE ((size_t)1 << 30)         /* bytes of one message of NCCL's */

struct kh_gpu_comm {
	const kh_gpu_way *way;
	kh_comm *comm;
	unsigned size, first;
	size_t n;
	int *device;
	ncclComm_t *nccl;               /* of n; all NULL if there is but one member */
	double patience;
	bool dead;
};

/* --- errors ----------------------------------------------------------------------- */
static int check(const kh_gpu_comm *c, size_t i, ncclResult_t r, const char *call,
		 kh_err *err)
{
	if (r == ncclSuccess || r == ncclInProgress)
		return KH_OK;
	return kh_fail(err, r == ncclUnhandledCudaError ? KH_EDEVICE : KH_EIO,
		       "process %u, cuda:%d: %s: %s (%s)", kh_comm_self(c->comm),
		       c->device[i], call, ncclGetErrorString(r),
		       ncclGetLastError(c->nccl[i]));
}

static void nccl_abort(kh_gpu_comm *c)
{
	if (!c || c->dead)
		return;
	c->dead = true;
	for (size_t i = 0; i < c->n; i++)
		if (c->nccl[i] && cudaSetDevice(c->device[i]) == cudaSuccess)
			ncclCommAbort(c->nccl[i]);
	for (size_t i = 0; i < c->n; i++)
		c->nccl[i] = NULL;
}

static int dead(kh_err *err)
{
	return kh_fail(err, KH_EIO, "the communicator of the GPUs has been given up");
}

/* What the processes and NCCL know to have gone wrong; *busy: calls are under way. */
static int health(kh_gpu_comm *c, const char *what, bool *busy, kh_err *err)
{
	int rc = kh_comm_check(c->comm, err);

	*busy = false;
	for (size_t i = 0; i < c->n && !rc; i++) {
		ncclResult_t state = ncclSuccess;

		if (!c->nccl[i])
			continue;
		rc = check(c, i, ncclCommGetAsyncError(c->nccl[i], &state), what, err);
		if (!rc)
			rc = check(c, i, state, what, err);
		*busy |= state == ncclInProgress;
	}
	return rc;
}

static int late(const kh_gpu_comm *c, size_t i, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EIO,
		       "process %u, cuda:%d: %s: the other GPUs did not answer within %g s",
		       kh_comm_self(c->comm), c->device[i], what, c->patience);
}

/* Waits until no call is under way. */
static int await_calls(kh_gpu_comm *c, const char *what, kh_err *err)
{
	const double began = kh_seconds();
	bool busy;
	int rc;

	while (!(rc = health(c, what, &busy, err)) && busy) {
		if (kh_seconds() - began > c->patience) {
			rc = late(c, 0, what, err);
			break;
		}
		kh_gpu_comm_pause(began);
	}
	if (rc)
		nccl_abort(c);
	return rc;
}

/* Ends a group of calls of which the first error, if any, is rc. */
static int end(kh_gpu_comm *c, int rc, const char *what, kh_err *err)
{
	const ncclResult_t r = ncclGroupEnd();

	if (!rc)
		rc = check(c, 0, r, what, err);
	if (rc) {
		nccl_abort(c);
		return rc;
	}
	return r == ncclInProgress ? await_calls(c, what, err) : KH_OK;
}

/* --- open, close ------------------------------------------------------------------ */
/* The number of members of each process: how many there are, and which are this one's. */
static int count_members(kh_gpu_comm *c, kh_err *err)
{
	const unsigned processes = kh_comm_size(c->comm), me = kh_comm_self(c->comm);
	uint64_t *n = kh_array(processes, sizeof *n, err);
	int rc = n ? KH_OK : KH_ENOMEM;

	if (!rc)
		n[me] = c->n;
	if (!rc && c->comm)
		rc = kh_comm_sum(c->comm, n, processes, err);
	for (unsigned r = 0; r < processes && !rc; r++) {
		c->first += r < me ? (unsigned)n[r] : 0;
		c->size += (unsigned)n[r];
	}
	free(n);
	return rc;
}

static int join(kh_gpu_comm *c, kh_err *err)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id = { { 0 } };
	int rc = KH_OK;

	config.blocking = 0;
	if (kh_comm_self(c->comm) == 0)
		rc = check(c, 0, ncclGetUniqueId(&id), "ncclGetUniqueId", err);
	if (!rc && c->comm)
		rc = kh_comm_broadcast(c->comm, 0, &id, sizeof id, err);
	if (rc)
		return rc;
	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = check(c, i,
				   ncclCommInitRankConfig(&c->nccl[i], (int)c->size, id,
							  (int)(c->first + i), &config),
				   "ncclCommInitRankConfig", err);
	return end(c, rc, "ncclCommInitRankConfig", err);
}

/* Memory may be freed only when what was sent has arrived everywhere. */
static void nccl_close(kh_gpu_comm *c)
{
	kh_err e = { 0, "" };

	if (!c)
		return;
	if (!c->dead && c->size > 1) {
		int rc = KH_OK;

		ncclGroupStart();
		for (size_t i = 0; i < c->n && !rc; i++)
			rc = check(c, i, ncclCommFinalize(c->nccl[i]), "ncclCommFinalize",
				   &e);
		rc = end(c, rc, "ncclCommFinalize", &e);
		if (!rc)                /* a group that has ended may still have calls under way */
			await_calls(c, "ncclCommFinalize", &e);
		for (size_t i = 0; i < c->n; i++)
			if (c->nccl[i] && cudaSetDevice(c->device[i]) == cudaSuccess)
				ncclCommDestroy(c->nccl[i]);
	}
	free(c->nccl);
	free(c->device);
	free(c);
}

static int nccl_open(kh_gpu_comm **out, kh_comm *comm, const int *device, size_t n,
		     kh_err *err)
{
	kh_gpu_comm *c = kh_array(1, sizeof *c, err);
	int rc = c ? KH_OK : KH_ENOMEM;

	if (rc)
		return rc;
	c->way = &kh_gpu_way_nccl;
	c->comm = comm;
	c->patience = kh_gpu_comm_patience();
	c->device = kh_array(n, sizeof *c->device, err);
	c->nccl = kh_array(n, sizeof *c->nccl, err);
	rc = c->device && c->nccl ? KH_OK : KH_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		c->device[c->n++] = device[i];
	if (!rc && !(rc = count_members(c, err)) && c->size > 1)
		rc = join(c, err);
	if (rc) {
		nccl_abort(c);
		nccl_close(c);
		return rc;
	}
	*out = c;
	return KH_OK;
}

static unsigned nccl_size(const kh_gpu_comm *c)
{
	return c->size;
}

static unsigned nccl_first(const kh_gpu_comm *c)
{
	return c->first;
}

/* --- work ------------------------------------------------------------------------- */
/* What local member i sends to m and takes from it. */
static int exchange(kh_gpu_comm *c, size_t i, const kh_gpu_message *p, unsigned m,
		    kh_err *err)
{
	const char *send = (const char *)p->send + p->at[m];
	char *recv = (char *)p->recv + p->from[m];
	int rc = KH_OK;

	for (size_t at = 0, n; at < p->bytes[m] && !rc; at += n) {
		n = p->bytes[m] - at < PIECE ? p->bytes[m] - at : PIECE;
		rc = check(c, i,
			   ncclSend(send + at, n, ncclUint8, (int)m, c->nccl[i], p->stream),
			   "ncclSend", err);
	}
	for (size_t at = 0, n; at < p->got[m] && !rc; at += n) {
		n = p->got[m] - at < PIECE ? p->got[m] - at : PIECE;
		rc = check(c, i,
			   ncclRecv(recv + at, n, ncclUint8, (int)m, c->nccl[i], p->stream),
			   "ncclRecv", err);
	}
	return rc;
}

static int nccl_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err)
{
	int rc = c->dead ? dead(err) : KH_OK;

	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = kh_gpu_comm_keep(&message[i], c->first + (unsigned)i, err);
	if (rc || c->size == 1)
		return rc;
	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		for (const kh_gpu_message *p = &message[i]; p && !rc; p = p->more)
			for (unsigned m = 0; m < c->size && !rc; m++)
				if (m != c->first + i)
					rc = exchange(c, i, p, m, err);
	return end(c, rc, "all to all", err);
}

static int nccl_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	int rc = c->dead ? dead(err) : KH_OK;

	if (rc || c->size == 1 || n == 0)
		return rc;
	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = check(c, i,
			   ncclAllReduce(p[i], p[i], n, ncclUint64, ncclSum, c->nccl[i],
					 stream[i]),
			   "ncclAllReduce", err);
	return end(c, rc, "sum", err);
}

/* The first stream that has not done its work, for the message. */
static size_t lagging(const kh_gpu_comm *c, const cudaStream_t *stream)
{
	size_t i = 0;

	while (i + 1 < c->n && kh_gpu_comm_done(c->device + i, 1, stream + i, NULL) == 1)
		i++;
	return i;
}

static int nccl_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	const double began = kh_seconds();
	bool busy;
	int rc = c->dead ? dead(err) : KH_OK, done = 0;

	while (!rc && (done = kh_gpu_comm_done(c->device, c->n, stream, err)) == 0) {
		kh_gpu_comm_pause(began);
		rc = health(c, "waiting", &busy, err);
		if (!rc && c->size > 1 && kh_seconds() - began > c->patience)
			rc = late(c, lagging(c, stream), "waiting", err);
	}
	if (!rc && done < 0)
		rc = done;
	if (rc)
		nccl_abort(c);
	return rc;
}

const kh_gpu_way kh_gpu_way_nccl = {
	.open = nccl_open,
	.close = nccl_close,
	.abort = nccl_abort,
	.size = nccl_size,
	.first = nccl_first,
	.all_to_all = nccl_all_to_all,
	.sum = nccl_sum,
	.wait = nccl_wait,
};
