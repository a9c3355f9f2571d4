/*
 * peer.c - the members of one process by copies from peer to peer
 *
 * A copy into a member's memory is put into the sender's stream, when the receiver's has
 * come to the exchange; the receiver's stream goes on when all copies to it are done.  A stream
 * that has not done so in time ends in an error, and so does every later call.
 */
#include <config.h>
#include "cuda/gpu/comm_in.h"

#include <stdlib.h>
#include "cuda/gpu/gpu.h"
#include "base/mem.h"

struct kh_gpu_comm {
	const kh_gpu_way *way;
	size_t n;
	int *device;
	cudaEvent_t *came, *sent;
	kh_gpu_buf host;                /* of a sum: what each member has */
	double patience;
	bool dead;
};

static int check_alive(const kh_gpu_comm *c, kh_err *err)
{
	return c->dead ? kh_fail(err, KH_EIO, "copies between GPUs: an earlier one failed") : KH_OK;
}

/* Waits until the streams have done all that was put into them. */
static int await_streams(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	const double began = kh_seconds();
	int done = 0, rc = check_alive(c, err);

	while (!rc && (done = kh_gpu_comm_done(c->device, c->n, stream, err)) == 0) {
		if (kh_seconds() - began > c->patience)
			rc = kh_fail(err, KH_EDEVICE, "copies between GPUs: that of cuda:%d is not "
				     "done after %g s (KH_COMM_TIMEOUT)", kh_gpu_current(),
				     c->patience);
		else
			kh_gpu_comm_pause(began);
	}
	rc = rc ? rc : done < 0 ? done : KH_OK;
	c->dead = c->dead || rc;
	return rc;
}

static int events(kh_gpu_comm *c, size_t i, kh_err *err)
{
	int rc = kh_gpu_use(c->device[i], err);

	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&c->came[i], cudaEventDisableTiming), err);
	if (!rc)
		rc = KH_GPU(cudaEventCreateWithFlags(&c->sent[i], cudaEventDisableTiming), err);
	return rc;
}

static void peer_abort(kh_gpu_comm *c)
{
	/* within a process no thread waits for a member that failed */
	(void)c;
}

static void peer_close(kh_gpu_comm *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		if (c->came[i])
			cudaEventDestroy(c->came[i]);
		if (c->sent[i])
			cudaEventDestroy(c->sent[i]);
	}
	kh_gpu_drop(&c->host);
	free(c->came);
	free(c->sent);
	free(c->device);
	free(c);
}

static int peer_open(kh_gpu_comm **out, kh_comm *comm, const int *device, size_t n,
		     kh_err *err)
{
	kh_gpu_comm *c = kh_array(1, sizeof *c, err);
	int rc = c ? KH_OK : KH_ENOMEM;

	(void)comm;
	if (rc)
		return rc;
	c->way = &kh_gpu_way_peer;
	c->patience = kh_gpu_comm_patience();
	c->device = kh_array(n, sizeof *c->device, err);
	c->came = kh_array(n, sizeof(cudaEvent_t), err);
	c->sent = kh_array(n, sizeof(cudaEvent_t), err);
	if (!c->device || !c->came || !c->sent)
		rc = KH_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		c->device[c->n++] = device[i];
	for (size_t i = 0; i < n && !rc; i++)
		rc = events(c, i, err);
	if (rc)
		peer_close(c);
	else
		*out = c;
	return rc;
}

static unsigned peer_size(const kh_gpu_comm *c)
{
	return (unsigned)c->n;
}

static unsigned peer_first(const kh_gpu_comm *c)
{
	(void)c;
	return 0;
}

/* A member's memory is written to only when its own stream has come to this point. */
static int meet(kh_gpu_comm *c, cudaEvent_t *event, const kh_gpu_message *p, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = KH_GPU(cudaEventRecord(event[i], p[i].stream), err);
	for (size_t i = 0; i < c->n && !rc; i++)
		for (size_t j = 0; j < c->n && !rc; j++)
			if (i != j)
				rc = KH_GPU(cudaStreamWaitEvent(p[i].stream, event[j], 0), err);
	return rc;
}

/* Copies what member i sends to member j. */
static int give(const kh_gpu_comm *c, size_t i, size_t j, const kh_gpu_message *message,
		kh_err *err)
{
	const kh_gpu_message *p = &message[i], *to = &message[j];
	int rc = KH_OK;

	for (; p && !rc; p = p->more, to = to->more)
		if (p->bytes[j] > 0)
			rc = KH_GPU(cudaMemcpyPeerAsync((char *)to->recv + to->from[i],
							c->device[j],
							(const char *)p->send + p->at[j],
							c->device[i], p->bytes[j],
							p->stream),
				    err);
	return rc;
}

static int peer_all_to_all(kh_gpu_comm *c, const kh_gpu_message *message, kh_err *err)
{
	int rc = check_alive(c, err);

	if (!rc)
		rc = meet(c, c->came, message, err);
	for (size_t i = 0; i < c->n && !rc; i++) {
		rc = kh_gpu_use(c->device[i], err);
		if (!rc)
			rc = kh_gpu_comm_keep(&message[i], (unsigned)i, err);
		for (size_t d = 1; d < c->n && !rc; d++) /* each member to a different one */
			rc = give(c, i, (i + d) % c->n, message, err);
	}
	return rc ? rc : meet(c, c->sent, message, err);
}

/* Sums on the host: the copies of all members are under way together, there and back. */
static int peer_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	const size_t bytes = n * sizeof(uint64_t);
	uint64_t *x;
	int rc = check_alive(c, err);

	if (rc || c->n == 1 || n == 0)
		return rc;
	rc = kh_gpu_host_room(&c->host, c->n * bytes, err);
	x = c->host.p;
	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = KH_GPU(cudaMemcpyAsync(x + i * n, p[i], bytes,
						    cudaMemcpyDeviceToHost, stream[i]),
				    err);
	if (!rc)
		rc = await_streams(c, stream, err);
	for (size_t i = 1; i < c->n && !rc; i++)
		for (size_t k = 0; k < n; k++)
			x[k] += x[i * n + k];
	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = KH_GPU(cudaMemcpyAsync(p[i], x, bytes, cudaMemcpyHostToDevice,
						    stream[i]),
				    err);
	return rc ? rc : await_streams(c, stream, err);        /* as the next sum uses x, too */
}

const kh_gpu_way kh_gpu_way_peer = {
	.open = peer_open,
	.close = peer_close,
	.abort = peer_abort,
	.size = peer_size,
	.first = peer_first,
	.all_to_all = peer_all_to_all,
	.sum = peer_sum,
	.wait = await_streams,
};
