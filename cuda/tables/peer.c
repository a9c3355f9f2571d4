/*
 * peer.c - what GPUs send each other, by copies from peer to peer
 *
 * A copy into a member's memory is put into the sender's stream, when the receiver's has
 * come to the exchange; the receiver's stream goes on when all copies to it are done.
 */
#include <config.h>
#include "cuda/tables/comm_in.h"

#include <stdlib.h>
#include "base/mem.h"
#include "cuda/kernels/gpu.h"

struct peers {
	kh_gpu_comm c;
	cudaEvent_t *came, *sent;
	kh_gpu_buf host;                /* of a sum: what each member has */
};

static struct peers *peers_of(kh_gpu_comm *c)
{
	return (struct peers *)(void *)c;
}

static void peer_close(kh_gpu_comm *c)
{
	struct peers *x = peers_of(c);

	for (size_t i = 0; x->came && x->sent && i < c->n; i++) {
		if (x->came[i])
			cudaEventDestroy(x->came[i]);
		if (x->sent[i])
			cudaEventDestroy(x->sent[i]);
	}
	kh_gpu_drop(&x->host);
	free(x->came);
	free(x->sent);
}

static int peer_open(kh_gpu_comm *c, kh_err *err)
{
	struct peers *x = peers_of(c);
	int rc;

	x->came = kh_array(c->n, sizeof(cudaEvent_t), err);
	x->sent = kh_array(c->n, sizeof(cudaEvent_t), err);
	rc = x->came && x->sent ? KH_OK : KH_ENOMEM;
	for (size_t i = 0; i < c->n && !rc; i++)
		if ((rc = kh_gpu_use(c->device[i], err)) ||
		    (rc = KH_GPU(cudaEventCreateWithFlags(&x->came[i], cudaEventDisableTiming),
				 err)) ||
		    (rc = KH_GPU(cudaEventCreateWithFlags(&x->sent[i], cudaEventDisableTiming),
				 err)))
			break;
	return rc;
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
	struct peers *x = peers_of(c);
	int rc = meet(c, x->came, message, err);

	for (size_t i = 0; i < c->n && !rc; i++) {
		rc = kh_gpu_use(c->device[i], err);
		if (!rc)
			rc = kh_gpu_comm_keep(&message[i], i, err);
		for (size_t d = 1; d < c->n && !rc; d++) /* each member to a different one */
			rc = give(c, i, (i + d) % c->n, message, err);
	}
	return rc ? rc : meet(c, x->sent, message, err);
}

/* Sums on the host: the copies of all members are under way together, there and back. */
static int peer_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	const size_t bytes = n * sizeof(uint64_t);
	kh_gpu_buf *host = &peers_of(c)->host;
	int rc = kh_gpu_host_room(host, c->n * bytes, err);
	uint64_t *x = host->p;

	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = KH_GPU(cudaMemcpyAsync(x + i * n, p[i], bytes,
						    cudaMemcpyDeviceToHost, stream[i]),
				    err);
	if (!rc)
		rc = kh_gpu_comm_wait(c, stream, err);
	for (size_t i = 1; i < c->n && !rc; i++)
		for (size_t k = 0; k < n; k++)
			x[k] += x[i * n + k];
	for (size_t i = 0; i < c->n && !rc; i++)
		if (!(rc = kh_gpu_use(c->device[i], err)))
			rc = KH_GPU(cudaMemcpyAsync(p[i], x, bytes, cudaMemcpyHostToDevice,
						    stream[i]),
				    err);
	return rc ? rc : kh_gpu_comm_wait(c, stream, err);        /* as the next sum uses x, too */
}

const kh_gpu_way kh_gpu_way_peer = {
	.bytes = sizeof(struct peers),
	.open = peer_open,
	.close = peer_close,
	.all_to_all = peer_all_to_all,
	.sum = peer_sum,
};
