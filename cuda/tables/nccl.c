/*
 * nccl.c - what GPUs send each other, by NCCL
 *
 * The communicators do not block: a call that is under way is looked at again and again, until it
 * is complete, has failed, or has taken too long. After a failure they are aborted, and every later
 * call fails.
 */
#include <config.h>
#include "cuda/tables/comm_in.h"

#include <nccl.h>
#include <stdlib.h>
#include "cuda/kernels/gpu.h"
#include "base/mem.h"

#define PIECE ((size_t)1 << 30)         /* bytes of one message of NCCL's */

struct by_nccl {
	kh_gpu_comm c;
	ncclComm_t *nccl;               /* of c.n; all NULL if there is but one member */
};

static ncclComm_t *nccl_of(const kh_gpu_comm *c)
{
	return ((const struct by_nccl *)(const void *)c)->nccl;
}

/* --- errors ----------------------------------------------------------------------- */
static int check(const kh_gpu_comm *c, size_t i, ncclResult_t r, const char *call,
		 kh_err *err)
{
	if (r == ncclSuccess || r == ncclInProgress)
		return KH_OK;
	return kh_fail(err, r == ncclUnhandledCudaError ? KH_EDEVICE : KH_EIO,
		       "cuda:%d: %s: %s (%s)", c->device[i], call, ncclGetErrorString(r),
		       ncclGetLastError(nccl_of(c)[i]));
}

static void nccl_abort(kh_gpu_comm *c)
{
	ncclComm_t *nccl = nccl_of(c);

	for (size_t i = 0; nccl && i < c->n; i++) {
		if (nccl[i] && cudaSetDevice(c->device[i]) == cudaSuccess)
			ncclCommAbort(nccl[i]);
		nccl[i] = NULL;
	}
}

/* What NCCL knows to have gone wrong; *busy: calls are under way. */
static int health(kh_gpu_comm *c, const char *what, bool *busy, kh_err *err)
{
	int rc = KH_OK;

	*busy = false;
	for (size_t i = 0; i < c->n && !rc; i++) {
		ncclResult_t state = ncclSuccess;

		if (!nccl_of(c)[i])
			continue;
		rc = check(c, i, ncclCommGetAsyncError(nccl_of(c)[i], &state), what, err);
		if (!rc)
			rc = check(c, i, state, what, err);
		*busy |= state == ncclInProgress;
	}
	return rc;
}

static int nccl_health(kh_gpu_comm *c, kh_err *err)
{
	bool busy;

	return health(c, "waiting", &busy, err);
}

/* Waits until no call is under way. */
static int await_calls(kh_gpu_comm *c, const char *what, kh_err *err)
{
	const double began = kh_seconds();
	bool busy;
	int rc;

	while (!(rc = health(c, what, &busy, err)) && busy)
		if ((rc = kh_gpu_comm_pause(c, began, err)))
			break;
	return rc;
}

/* Ends a group of calls of which the first error, if any, is rc. */
static int end(kh_gpu_comm *c, int rc, const char *what, kh_err *err)
{
	const ncclResult_t r = ncclGroupEnd();

	if (!rc)
		rc = check(c, 0, r, what, err);
	return !rc && r == ncclInProgress ? await_calls(c, what, err) : rc;
}

/* --- open, close ------------------------------------------------------------------ */
static int join(kh_gpu_comm *c, kh_err *err)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id = { { 0 } };
	int rc = check(c, 0, ncclGetUniqueId(&id), "ncclGetUniqueId", err);

	config.blocking = 0;
	if (rc)
		return rc;
	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = check(c, i,
				   ncclCommInitRankConfig(&nccl_of(c)[i], (int)c->n, id, (int)i,
							  &config),
				   "ncclCommInitRankConfig", err);
	return end(c, rc, "ncclCommInitRankConfig", err);
}

/* Memory may be freed only when what was sent has arrived everywhere. */
static void finalize(kh_gpu_comm *c)
{
	ncclComm_t *nccl = nccl_of(c);
	kh_err e = { 0, "" };
	int rc = KH_OK;

	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = check(c, i, ncclCommFinalize(nccl[i]), "ncclCommFinalize", &e);
	rc = end(c, rc, "ncclCommFinalize", &e);
	if (!rc)                        /* a group that has ended may still have calls under way */
		rc = await_calls(c, "ncclCommFinalize", &e);
	if (rc)
		kh_gpu_comm_abort(c);
	for (size_t i = 0; i < c->n; i++)
		if (nccl[i] && cudaSetDevice(c->device[i]) == cudaSuccess)
			ncclCommDestroy(nccl[i]);
}

static void nccl_close(kh_gpu_comm *c)
{
	if (!c->dead && c->n > 1)
		finalize(c);
	free(nccl_of(c));
}

static int nccl_open(kh_gpu_comm *c, kh_err *err)
{
	struct by_nccl *x = (struct by_nccl *)(void *)c;

	x->nccl = kh_array(c->n, sizeof *x->nccl, err);
	if (!x->nccl)
		return KH_ENOMEM;
	return c->n > 1 ? join(c, err) : KH_OK;
}

/* --- work ------------------------------------------------------------------------- */
/* What member i sends to m and takes from it. */
static int exchange(kh_gpu_comm *c, size_t i, const kh_gpu_message *p, size_t m,
		    kh_err *err)
{
	const char *send = (const char *)p->send + p->at[m];
	char *recv = (char *)p->recv + p->from[m];
	int rc = KH_OK;

	for (size_t at = 0, n; at < p->bytes[m] && !rc; at += n) {
		n = p->bytes[m] - at < PIECE ? p->bytes[m] - at : PIECE;
		rc = check(c, i,
			   ncclSend(send + at, n, ncclUint8, (int)m, nccl_of(c)[i], p->stream),
			   "ncclSend", err);
	}
	for (size_t at = 0, n; at < p->got[m] && !rc; at += n) {
		n = p->got[m] - at < PIECE ? p->got[m] - at : PIECE;
		rc = check(c, i,
			   ncclRecv(recv + at, n, ncclUint8, (int)m, nccl_of(c)[i], p->stream),
			   "ncclRecv", err);
	}
	return rc;
}

static int nccl_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = kh_gpu_comm_keep(&message[i], i, err);
	if (rc || c->n == 1)
		return rc;
	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		for (const kh_gpu_message *p = &message[i]; p && !rc; p = p->more)
			for (size_t m = 0; m < c->n && !rc; m++)
				if (m != i)
					rc = exchange(c, i, p, m, err);
	return end(c, rc, "all to all", err);
}

static int nccl_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	int rc = KH_OK;

	ncclGroupStart();
	for (size_t i = 0; i < c->n && !rc; i++)
		rc = check(c, i,
			   ncclAllReduce(p[i], p[i], n, ncclUint64, ncclSum, nccl_of(c)[i],
					 stream[i]),
			   "ncclAllReduce", err);
	return end(c, rc, "sum", err);
}

const kh_gpu_way kh_gpu_way_nccl = {
	.bytes = sizeof(struct by_nccl),
	.open = nccl_open,
	.close = nccl_close,
	.abort = nccl_abort,
	.all_to_all = nccl_all_to_all,
	.sum = nccl_sum,
	.health = nccl_health,
};
