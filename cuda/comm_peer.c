/*
 * comm_peer.c - the members of one process by copies from peer to peer
 *
 * A copy into a member's memory is put into the sender's stream, when the receiver's has
 * come to the exchange; the receiver's stream goes on when all copies to it are done.
 */
#include <config.h>
#include "comm_in.h"

#include <stdlib.h>
#include "gpu.h"
#include "mem.h"

struct kh_gpu_comm {
	const kh_gpu_way *way;
	size_t n;
	int *device;
	cudaEvent_t *came, *sent;
};

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
	(void)c;                        /* nobody waits for others here */
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

/* Each stream has come here before anything is written to its member's memory. */
static int meet(kh_gpu_comm *c, cudaEvent_t *event, const kh_gpu_parcel *p, kh_err *err)
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

static int peer_all_to_all(kh_gpu_comm *c, const kh_gpu_parcel *parcel, kh_err *err)
{
	int rc = meet(c, c->came, parcel, err);

	for (size_t i = 0; i < c->n && !rc; i++) {
		const kh_gpu_parcel *p = &parcel[i];

		rc = kh_gpu_comm_keep(p, (unsigned)i, err);
		for (size_t d = 1; d < c->n && !rc; d++) {
			const size_t j = (i + d) % c->n;        /* each to another one */

			if (p->bytes[j] > 0)
				rc = KH_GPU(cudaMemcpyPeerAsync(
						    (char *)parcel[j].recv + parcel[j].from[i],
						    c->device[j],
						    (const char *)p->send + p->at[j],
						    c->device[i], p->bytes[j], p->stream),
					    err);
		}
	}
	return rc ? rc : meet(c, c->sent, parcel, err);
}

/* By way of the host. */
static int peer_sum(kh_gpu_comm *c, uint64_t *const *p, size_t n, const cudaStream_t *stream,
		    kh_err *err)
{
	uint64_t *sum, *one;
	int rc;

	if (c->n == 1)
		return KH_OK;
	sum = kh_array(2 * n, sizeof *sum, err);
	one = sum + n;
	rc = sum ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < c->n && !rc; i++) {
		rc = KH_GPU(cudaMemcpyAsync(one, p[i], n * 8, cudaMemcpyDeviceToHost, stream[i]),
			    err);
		if (!rc)
			rc = KH_GPU(cudaStreamSynchronize(stream[i]), err);
		for (size_t j = 0; j < n && !rc; j++)
			sum[j] += one[j];
	}
	for (size_t i = 0; i < c->n && !rc; i++) {
		rc = KH_GPU(cudaMemcpyAsync(p[i], sum, n * 8, cudaMemcpyHostToDevice, stream[i]),
			    err);
		if (!rc)
			rc = KH_GPU(cudaStreamSynchronize(stream[i]), err);
	}
	free(sum);
	return rc;
}

static int peer_wait(kh_gpu_comm *c, const cudaStream_t *stream, kh_err *err)
{
	const double began = kh_seconds();
	int done;

	while ((done = kh_gpu_comm_done(c->device, c->n, stream, err)) == 0)
		kh_gpu_comm_pause(began);
	return done < 0 ? done : KH_OK;
}

const kh_gpu_way kh_gpu_way_peer = {
	.open = peer_open,
	.close = peer_close,
	.abort = peer_abort,
	.size = peer_size,
	.first = peer_first,
	.all_to_all = peer_all_to_all,
	.sum = peer_sum,
	.wait = peer_wait,
};
