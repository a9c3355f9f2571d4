/*
 * census.c - the fragments of a sample, counted by class on each device
 *
 * A part of a census is the memory of one device; kernels of all queues there count in it
 * (census.cu).  At the end it is read, and the masks of the other devices are added to those of the
 * first one, which then counts the stretches that they mark.
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/engine/engine_in.h"

enum {
	/* Classes of a part.  30 million reads of 100 species have 113 thousand, and their number
	 * grows with the root of that of the reads: 80 MB are enough for 10^9. */
	CLASSES = 1 << 20,
	CHUNK = 1 << 22                 /* masks that are added at a time */
};

/* What stands in front of the classes, so that one copy brings both. */
struct head {
	uint64_t many[KH_N_MOST + 1];
	uint32_t n;
};

struct part {
	int device;
	cudaStream_t stream;
	kh_gpu_buf room, stretch;
	kh_gpu_buf host;                /* a head, and the first classes */
	kh_gpu_census gpu;
};

struct census {
	kh_census base;
	struct part *part;              /* base.parts of them */
	uint32_t n_targets, likely;
	uint64_t n_stretches;
	kh_gpu_buf own, found;          /* of a search, on the first device, and on the host: */
	kh_gpu_buf searched;            /* own[n_targets], found[n_targets] */
};

void kh_cuda_census_close(kh_census *base)
{
	struct census *c = (struct census *)base;

	if (!c)
		return;
	for (unsigned i = 0; c->part && i < c->base.parts; i++) {
		struct part *p = &c->part[i];

		cudaSetDevice(p->device);
		if (p->stream)
			cudaStreamDestroy(p->stream);
		kh_gpu_drop(&p->room);
		kh_gpu_drop(&p->stretch);
		kh_gpu_drop(&p->host);
		if (i > 0)
			continue;
		kh_gpu_drop(&c->own);
		kh_gpu_drop(&c->found);
		kh_gpu_drop(&c->searched);
	}
	free(c->part);
	free(c);
}

/* Where the arrays lie from `at` on; returns their bytes. */
static size_t lay_out(const struct census *c, char *at, uint32_t classes, kh_gpu_census *g)
{
	char *const from = at;

	g->cap = classes;
	for (g->bits = 1; (uint32_t)1 << g->bits < 2 * classes;)
		g->bits++;
	g->many = (uint64_t *)(at + offsetof(struct head, many));
	g->n = (uint32_t *)(at + offsetof(struct head, n));
	at += kh_gpu_up(sizeof(struct head));
	g->at = (kh_class *)at;
	at += kh_gpu_up(classes * sizeof *g->at);
	g->slot = (uint64_t *)at;
	at += kh_gpu_up(sizeof *g->slot << g->bits);
	g->mask = (uint32_t *)at;
	at += kh_gpu_up(c->n_stretches * sizeof *g->mask);
	return (size_t)(at - from);
}

/* Bytes of a head and so many classes. */
static size_t front_bytes(uint32_t classes)
{
	return kh_gpu_up(sizeof(struct head)) + classes * sizeof(kh_class);
}

static int open_search(struct census *c, kh_err *err)
{
	const size_t bytes = (size_t)c->n_targets * sizeof(uint32_t);
	int rc = kh_gpu_use(c->part[0].device, err);

	if (!rc)
		rc = kh_gpu_room_exact(&c->own, bytes, err);
	if (!rc)
		rc = kh_gpu_room_exact(&c->found, bytes, err);
	return rc ? rc : kh_gpu_host_room(&c->searched, 2 * bytes, err);
}

static int open_part(struct census *c, struct part *p, const kh_census_options *o, kh_err *err)
{
	const uint32_t classes = o->classes > 0 ? o->classes : CLASSES;
	const size_t bytes = lay_out(c, NULL, classes, &p->gpu),
		     stretches = ((size_t)o->n_targets + 1) * sizeof *o->stretch;
	int rc = kh_gpu_use(p->device, err);

	if (rc || (rc = kh_cuda_spare(bytes + stretches, err)) ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking), err)) ||
	    (rc = kh_gpu_room_exact(&p->room, bytes, err)) ||
	    (rc = kh_gpu_room_exact(&p->stretch, stretches, err)) ||
	    (rc = kh_gpu_host_room(&p->host, front_bytes(c->likely), err)))
		return rc;
	lay_out(c, p->room.p, classes, &p->gpu);
	p->gpu.stretch = p->stretch.p;
	if ((rc = KH_GPU(cudaMemsetAsync(p->room.p, 0, bytes, p->stream), err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(p->stretch.p, o->stretch, stretches,
					 cudaMemcpyHostToDevice, p->stream),
			 err)))
		return rc;
	return KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_cuda_census_open(kh_census **out, kh_engine *e, const kh_census_options *o, kh_err *err)
{
	struct census *c;
	int rc = KH_OK;

	*out = NULL;
	/* rounds of exchange would have to be held for each census that begins or ends */
	if (e->rounds)
		return KH_OK;
	c = kh_array(1, sizeof *c, err);
	if (!c)
		return KH_ENOMEM;
	c->base.parts = (unsigned)e->n;
	c->n_targets = o->n_targets;
	c->likely = o->likely;
	c->n_stretches = o->stretch[o->n_targets];
	c->part = kh_array(e->n, sizeof *c->part, err);
	if (!c->part)
		rc = KH_ENOMEM;
	for (size_t i = 0; i < e->n && !rc; i++) {
		c->part[i].device = e->copy[i].device;
		rc = open_part(c, &c->part[i], o, err);
	}
	if (!rc)
		rc = open_search(c, err);
	if (rc)
		kh_cuda_census_close(&c->base);
	else
		*out = &c->base;
	return rc == KH_ENOMEM ? KH_OK : rc;
}

kh_gpu_census kh_cuda_census_of(const kh_census *base, unsigned worker)
{
	const struct census *c = (const struct census *)base;

	return c->part[worker % c->base.parts].gpu;
}

/* --- reading ---------------------------------------------------------------------- */
/* Brings the head and so many classes to the host. */
static int fetch(struct part *p, uint32_t classes, kh_err *err)
{
	const size_t bytes = front_bytes(classes);
	int rc = kh_gpu_host_room(&p->host, bytes, err);

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(p->host.p, p->room.p, bytes, cudaMemcpyDeviceToHost,
					    p->stream),
			    err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

int kh_cuda_census_read(kh_census *base, unsigned part, kh_census_part *to, kh_err *err)
{
	const struct census *c = (const struct census *)base;
	struct part *p = &c->part[part];
	const uint32_t cap = p->gpu.cap, first = c->likely < cap ? c->likely : cap;
	int rc = kh_gpu_use(p->device, err);

	if (!rc)
		rc = fetch(p, first, err);
	if (rc)
		return rc;
	const uint32_t taken = ((const struct head *)p->host.p)->n, n = taken < cap ? taken : cap;

	if (n > first && (rc = fetch(p, n, err)))
		return rc;
	const struct head *h = p->host.p;

	to->at = (kh_class *)((char *)p->host.p + kh_gpu_up(sizeof *h));
	to->n = n;
	memcpy(to->many, h->many, sizeof to->many);
	return KH_OK;
}

/* --- stretches -------------------------------------------------------------------- */
/* Copies n masks to the first device: from another part, or from the host if that is NULL. */
static int bring(const kh_gpu_buf *chunk, const struct part *to, const struct part *from,
		 const uint32_t *mask, uint64_t n, kh_err *err)
{
	const struct part *p = from ? from : to;
	const size_t bytes = n * sizeof *mask;
	int rc = kh_gpu_use(p->device, err);

	if (rc)
		return rc;
	rc = from ? kh_gpu_copy(chunk->p, to->device, mask, from->device, bytes, p->stream, err)
		  : KH_GPU(cudaMemcpyAsync(chunk->p, mask, bytes, cudaMemcpyHostToDevice,
					   p->stream),
			   err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(p->stream), err);
}

/* Adds masks to those of the first device, by way of `chunk`. */
static int add_masks(struct census *c, const kh_gpu_buf *chunk, const struct part *from,
		     const uint32_t *mask, kh_err *err)
{
	struct part *to = &c->part[0];
	int rc = KH_OK;

	for (uint64_t at = 0; at < c->n_stretches && !rc; at += CHUNK) {
		const uint64_t n = c->n_stretches - at < CHUNK ? c->n_stretches - at : CHUNK;

		if ((rc = bring(chunk, to, from, mask + at, n, err)) ||
		    (rc = kh_gpu_use(to->device, err)) ||
		    (rc = kh_gpu_check(kh_gpu_census_join(to->gpu.mask + at, chunk->p, n,
							  to->stream),
				       "sum of masks", err)))
			return rc;
		rc = KH_GPU(cudaStreamSynchronize(to->stream), err);
	}
	return rc;
}

static int add_all_masks(struct census *c, const uint32_t *also, kh_err *err)
{
	kh_gpu_buf chunk = { .p = NULL };
	int rc = KH_OK;

	if (c->base.parts == 1 && !also)
		return KH_OK;
	rc = kh_gpu_use(c->part[0].device, err);
	if (!rc)
		rc = kh_gpu_room_exact(&chunk, CHUNK * sizeof(uint32_t), err);
	for (unsigned i = 1; i < c->base.parts && !rc; i++)
		rc = add_masks(c, &chunk, &c->part[i], c->part[i].gpu.mask, err);
	if (!rc && also)
		rc = add_masks(c, &chunk, NULL, also, err);
	kh_gpu_drop(&chunk);
	return rc;
}

int kh_cuda_census_search(kh_census *base, const kh_census_search *s, kh_err *err)
{
	struct census *c = (struct census *)base;
	struct part *p = &c->part[0];
	const size_t bytes = (size_t)c->n_targets * sizeof *s->own;
	const kh_gpu_census_search q = { .mask = p->gpu.mask,
					 .stretch = p->gpu.stretch,
					 .own = c->own.p,
					 .found = c->found.p,
					 .n = c->n_targets };
	uint32_t *own = c->searched.p, *found = own + c->n_targets;
	int rc = add_all_masks(c, s->also, err);

	memcpy(own, s->own, bytes);
	if (rc || (rc = kh_gpu_use(p->device, err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(c->own.p, own, bytes, cudaMemcpyHostToDevice, p->stream),
			 err)) ||
	    (rc = kh_gpu_check(kh_gpu_census_search_run(&q, p->stream), "breadth", err)) ||
	    (rc = KH_GPU(cudaMemcpyAsync(found, c->found.p, bytes, cudaMemcpyDeviceToHost,
					 p->stream),
			 err)) ||
	    (rc = KH_GPU(cudaStreamSynchronize(p->stream), err)))
		return rc;
	memcpy(s->found, found, bytes);
	return KH_OK;
}
