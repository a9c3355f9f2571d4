/*
 * counters.c - counters of distinct features, on each device
 *
 * A part is the memory of one device; kernels of all queues there count in it (counters.cu).  At
 * the end its registers are brought to the host, some taxa at a time.
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/engine/engine_in.h"

enum {
	TAXA = 1 << 15,                 /* with room for registers: 128 MB of each device */
	TOGETHER = 256                  /* taxa whose registers are brought to the host at a time */
};

struct part {
	int device;
	cudaStream_t stream;
	kh_gpu_buf room;
	kh_gpu_counters gpu;
};

struct kh_counters {
	struct part *part;
	size_t n;                       /* of them */
	uint32_t n_taxa;
	kh_gpu_buf host;                /* registers of TOGETHER taxa */
};

void kh_cuda_counters_close(kh_counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->part && i < c->n; i++) {
		cudaSetDevice(c->part[i].device);
		if (c->part[i].stream)
			cudaStreamDestroy(c->part[i].stream);
		kh_gpu_drop(&c->part[i].room);
		if (i == 0)
			kh_gpu_drop(&c->host);
	}
	free(c->part);
	free(c);
}

/* Where the arrays lie from `at` on; returns their bytes. */
static size_t lay_out(char *at, uint32_t n_taxa, kh_gpu_counters *g)
{
	char *const from = at;

	g->n = (uint32_t *)at;
	at += kh_gpu_up(sizeof *g->n);
	g->set = (uint32_t *)at;
	at += kh_gpu_up(n_taxa * sizeof *g->set);
	g->found = (uint64_t *)at;
	at += kh_gpu_up(g->cap * sizeof *g->found);
	g->reg = (uint32_t *)at;
	at += (size_t)g->cap * KH_HLL_SIZE;
	return (size_t)(at - from);
}

static int open_part(const kh_counters *c, struct part *p, uint32_t taxa, kh_err *err)
{
	int rc = kh_gpu_use(p->device, err);

	p->gpu.cap = taxa < c->n_taxa ? taxa : c->n_taxa;
	const size_t bytes = lay_out(NULL, c->n_taxa, &p->gpu);

	if (rc || (rc = kh_cuda_spare(bytes, err)) ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), err)) ||
	    (rc = kh_gpu_room_exact(&p->room, bytes, err)))
		return rc;
	lay_out(p->room.p, c->n_taxa, &p->gpu);
	rc = KH_GPU(cudaMemsetAsync(p->room.p, 0, bytes, p->stream), err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_cuda_counters_open(kh_counters **out, kh_engine *e, uint32_t taxa, kh_err *err)
{
	kh_counters *c;
	int rc = KH_OK;

	*out = NULL;
	/* rounds of exchange would have to be held for each sample that begins or ends */
	if (e->rounds)
		return KH_OK;
	c = kh_array(1, sizeof *c, err);
	if (!c)
		return KH_ENOMEM;
	c->n_taxa = e->db->tax->n;
	c->part = kh_array(e->n, sizeof *c->part, err);
	if (!c->part)
		rc = KH_ENOMEM;
	for (; c->n < e->n && !rc; c->n++) {
		c->part[c->n].device = e->copy[c->n].device;
		rc = open_part(c, &c->part[c->n], taxa > 0 ? taxa : TAXA, err);
	}
	if (!rc)
		rc = kh_gpu_host_room(&c->host, (size_t)TOGETHER * KH_HLL_SIZE, err);
	if (rc)
		kh_cuda_counters_close(c);
	else
		*out = c;
	return rc == KH_ENOMEM ? KH_OK : rc;
}

kh_gpu_counters kh_cuda_counters_of(const kh_counters *c, unsigned worker)
{
	return c->part[worker % c->n].gpu;
}

/* --- reading ---------------------------------------------------------------------- */
/* What a part has: numbers of the registers of all taxa, and the taxa by that number. */
struct found {
	uint32_t *set, *taxon;
	uint64_t *found;
	uint32_t n;                     /* taxa that have registers */
};

static void clear(struct found *f)
{
	free(f->set);
	free(f->taxon);
	free(f->found);
}

static int copy(const struct part *p, void *to, const void *from, size_t bytes, kh_err *err)
{
	int rc = KH_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, p->stream), err);

	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

static int find_sets(const kh_counters *c, const struct part *p, struct found *f, kh_err *err)
{
	int rc = copy(p, &f->n, p->gpu.n, sizeof f->n, err);

	if (rc)
		return rc;
	f->n = f->n < p->gpu.cap ? f->n : p->gpu.cap;
	f->set = kh_array(c->n_taxa, sizeof *f->set, err);
	f->taxon = kh_array(f->n, sizeof *f->taxon, err);
	f->found = kh_array(f->n, sizeof *f->found, err);
	if (!f->set || !f->taxon || !f->found)
		return KH_ENOMEM;
	if ((rc = copy(p, f->set, p->gpu.set, c->n_taxa * sizeof *f->set, err)) ||
	    (rc = copy(p, f->found, p->gpu.found, f->n * sizeof *f->found, err)))
		return rc;
	for (uint32_t t = 0; t < c->n_taxa; t++)
		if (f->set[t] != KH_GPU_SET_FREE && f->set[t] != KH_GPU_NO_SET)
			f->taxon[f->set[t] - 1] = t;
	return KH_OK;
}

static int read_part(kh_counters *c, const struct part *p, kh_distinct *to, kh_err *err)
{
	const uint8_t *reg = c->host.p;
	struct found f = { .n = 0 };
	int rc = kh_gpu_use(p->device, err);

	if (!rc)
		rc = find_sets(c, p, &f, err);
	for (uint32_t at = 0; at < f.n && !rc; at += TOGETHER) {
		const uint32_t n = f.n - at < TOGETHER ? f.n - at : TOGETHER;

		rc = copy(p, c->host.p, (const char *)p->gpu.reg + (size_t)at * KH_HLL_SIZE,
			  (size_t)n * KH_HLL_SIZE, err);
		for (uint32_t i = 0; i < n && !rc; i++)
			rc = kh_distinct_take(to, f.taxon[at + i], f.found[at + i],
					      reg + (size_t)i * KH_HLL_SIZE, err);
	}
	clear(&f);
	return rc;
}

int kh_cuda_counters_read(kh_counters *c, kh_distinct *to, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < c->n && !rc; i++)
		rc = read_part(c, &c->part[i], to, err);
	return rc;
}
