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

struct census {
	kh_census base;
	kh_cuda_part *part;             /* base.parts of them */
	uint32_t classes, n_targets, n_kept, likely;
	uint64_t n_stretches;
};

/* The arrays of a part. */
struct arrays {
	size_t bytes;                   /* of all */
	kh_gpu_census gpu;
	uint64_t *stretch, *origin;
	uint32_t *own, *found;          /* of a search, on the first device */
	uint8_t *shift;
};

void kh_cuda_census_close(kh_census *base)
{
	struct census *c = (struct census *)base;

	if (c)
		kh_cuda_parts_close(c->part, c->base.parts);
	free(c);
}

/* Bytes of a head and so many classes. */
static size_t front_bytes(uint32_t classes)
{
	return kh_gpu_up(sizeof(struct head)) + classes * sizeof(kh_class);
}

/* Where they lie from `at` on. */
static struct arrays lay_out(const struct census *c, char *at)
{
	char *const from = at;
	struct arrays a = { .gpu = { .cap = c->classes, .bits = 1 } };
	kh_gpu_census *g = &a.gpu;

	while ((uint32_t)1 << g->bits < 2 * c->classes)
		g->bits++;
	g->many = (uint64_t *)(at + offsetof(struct head, many));
	g->n = (uint32_t *)(at + offsetof(struct head, n));
	g->at = (kh_class *)(at + kh_gpu_up(sizeof(struct head)));
	at += kh_gpu_up(front_bytes(c->classes));
	g->slot = (uint64_t *)at;
	at += kh_gpu_up(sizeof *g->slot << g->bits);
	g->mask = (uint32_t *)at;
	at += kh_gpu_up(c->n_stretches * sizeof *g->mask);
	g->stretch = a.stretch = (uint64_t *)at;
	at += kh_gpu_up(((size_t)c->n_targets + 1) * sizeof *a.stretch);
	g->origin = a.origin = (uint64_t *)at;
	at += kh_gpu_up(c->n_kept * sizeof *a.origin);
	a.own = (uint32_t *)at;
	at += kh_gpu_up(c->n_targets * sizeof *a.own);
	a.found = (uint32_t *)at;
	at += kh_gpu_up(c->n_targets * sizeof *a.found);
	a.shift = (uint8_t *)at;
	at += kh_gpu_up(c->n_targets * sizeof *a.shift);
	a.bytes = (size_t)(at - from);
	return a;
}

static struct arrays arrays_of(const struct census *c, unsigned part)
{
	return lay_out(c, c->part[part].room.p);
}

/* Where the bins of each kept stretch would begin among those of all stretches of the census, less
 * the first one's number (kh_gpu_census). */
static uint64_t *make_origins(const kh_db *db, const uint64_t *stretch, kh_err *err)
{
	uint64_t *origin = kh_array(db->n_kept, sizeof *origin, err);

	for (uint32_t t = 0; origin && t < db->n_kept; t++) {
		const kh_db_locus l = kh_db_locate(db, t, db->bins.first[t]);

		origin[t] = KH_STRETCH * stretch[l.target] + l.at - db->bins.first[t];
	}
	return origin;
}

static int put_stretches(const struct census *c, const kh_db *db, const uint64_t *stretch,
			 kh_err *err)
{
	uint64_t *origin = make_origins(db, stretch, err);
	const size_t bytes = ((size_t)c->n_targets + 1) * sizeof *stretch;
	int rc = origin ? KH_OK : KH_ENOMEM;

	for (unsigned i = 0; i < c->base.parts && !rc; i++) {
		const struct arrays a = arrays_of(c, i);

		rc = kh_gpu_use(c->part[i].device, err);
		if (!rc)
			rc = kh_cuda_part_copy(&c->part[i], a.stretch, stretch, bytes, err);
		if (!rc)
			rc = kh_cuda_part_copy(&c->part[i], a.origin, origin,
					       c->n_kept * sizeof *origin, err);
	}
	free(origin);
	return rc;
}

int kh_cuda_census_open(kh_census **out, kh_engine *e, const kh_census_options *o, kh_err *err)
{
	struct census *c;
	int rc;

	*out = NULL;
	c = kh_array(1, sizeof *c, err);
	if (!c)
		return KH_ENOMEM;
	c->base.parts = (unsigned)e->n;
	c->classes = o->classes > 0 ? o->classes : CLASSES;
	c->n_targets = o->n_targets;
	c->n_kept = e->db->n_kept;
	c->likely = o->likely;
	c->n_stretches = o->stretch[o->n_targets];
	rc = kh_cuda_parts_open(&c->part, e, lay_out(c, NULL).bytes, front_bytes(o->likely), err);
	if (!rc && c->part)
		rc = put_stretches(c, e->db, o->stretch, err);
	if (rc || !c->part)
		kh_cuda_census_close(&c->base);
	else
		*out = &c->base;
	return rc;
}

kh_gpu_census kh_cuda_census_of(const kh_census *base, unsigned worker)
{
	const struct census *c = (const struct census *)base;

	return arrays_of(c, worker % c->base.parts).gpu;
}

/* --- reading ---------------------------------------------------------------------- */
/* Brings the head and so many classes to the host. */
static int fetch(kh_cuda_part *p, uint32_t classes, kh_err *err)
{
	const size_t bytes = front_bytes(classes);
	int rc = kh_gpu_host_room(&p->host, bytes, err);

	return rc ? rc : kh_cuda_part_copy(p, p->host.p, p->room.p, bytes, err);
}

int kh_cuda_census_read(kh_census *base, unsigned part, kh_census_part *to, kh_err *err)
{
	const struct census *c = (const struct census *)base;
	kh_cuda_part *p = &c->part[part];
	const uint32_t cap = c->classes, first = c->likely < cap ? c->likely : cap;
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
/* Adds masks of another part, or of the host if that is NULL, to those of the first device, by way
 * of `chunk`. */
static int add_masks(struct census *c, const kh_gpu_buf *chunk, const kh_cuda_part *from,
		     const uint32_t *mask, kh_err *err)
{
	const kh_cuda_part *to = &c->part[0], *by = from ? from : to;
	int rc = KH_OK;

	for (uint64_t at = 0; at < c->n_stretches && !rc; at += CHUNK) {
		const uint64_t n = c->n_stretches - at < CHUNK ? c->n_stretches - at : CHUNK;

		if ((rc = kh_gpu_use(by->device, err)) ||
		    (rc = kh_cuda_part_copy(by, chunk->p, mask + at, n * sizeof *mask, err)) ||
		    (rc = kh_gpu_use(to->device, err)) ||
		    (rc = kh_gpu_check(kh_gpu_census_join(arrays_of(c, 0).gpu.mask + at, chunk->p,
							  n, to->stream),
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
		rc = add_masks(c, &chunk, &c->part[i], arrays_of(c, i).gpu.mask, err);
	if (!rc && also)
		rc = add_masks(c, &chunk, NULL, also, err);
	kh_gpu_drop(&chunk);
	return rc;
}

int kh_cuda_census_search(kh_census *base, const kh_census_search *s, kh_err *err)
{
	struct census *c = (struct census *)base;
	const kh_cuda_part *p = &c->part[0];
	const struct arrays a = arrays_of(c, 0);
	const size_t bytes = (size_t)c->n_targets * sizeof *s->own;
	const kh_gpu_census_search q = { .mask = a.gpu.mask, .stretch = a.stretch, .own = a.own,
					 .shift = a.shift, .found = a.found, .n = c->n_targets };
	int rc = add_all_masks(c, s->also, err);

	if (rc || (rc = kh_gpu_use(p->device, err)) ||
	    (rc = kh_cuda_part_copy(p, a.own, s->own, bytes, err)) ||
	    (rc = kh_cuda_part_copy(p, a.shift, s->shift, c->n_targets, err)) ||
	    (rc = kh_gpu_check(kh_gpu_census_search_run(&q, p->stream), "breadth", err)))
		return rc;
	return kh_cuda_part_copy(p, s->found, a.found, bytes, err);
}
