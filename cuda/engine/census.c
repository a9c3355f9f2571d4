/*
 * census.c - the fragments of a sample, counted by class on each device
 *
 * A bank of a census is the memory of one device, in which the kernels of all its queues count
 * (census.cu).  At the end it is read, and the masks of the other devices are added to those of the
 * first one, which then counts the intervals that they mark.
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "cuda/engine/engine_in.h"

enum {
	/* Classes of a bank: 100 or 400 MB.  20 million pairs of 2000 species have 34 thousand;
	 * reads of what many species have, as mobile elements, may make far more.  Where files are
	 * large, so many bytes for each class, there is room for more, if the device has it. */
	CLASSES = 1 << 20,
	MANY_CLASSES = 1 << 22,
	BYTES_A_CLASS = 4096,
	CHUNK = 1 << 22,                /* masks that are added at a time */
	PAGE = 4096
};

/* What stands in front of the classes. */
struct head {
	uint64_t many[KH_N_MOST + 1];
	uint32_t n;
};

/* Classes of a bank that were brought to the host. */
struct taken {
	char *p;
	size_t bytes;
	unsigned threads;
};

struct census {
	kh_census base;
	kh_cuda_bank *bank;             /* base.banks of them */
	struct taken *taken;            /* the same */
	uint32_t classes, n_targets, n_kept;
	uint64_t n_intervals;
};

/* The arrays of a bank. */
struct arrays {
	size_t bytes;                   /* of all */
	kh_gpu_census gpu;
	uint64_t *interval, *origin;
	uint32_t *own, *found;          /* of a search, on the first device */
	uint8_t *shift;
};

void kh_cuda_census_close(kh_census *base)
{
	struct census *c = (struct census *)base;

	if (!c)
		return;
	for (unsigned i = 0; c->taken && i < c->base.banks; i++)
		kh_pages_free(c->taken[i].p, c->taken[i].bytes);
	kh_cuda_banks_close(c->bank, c->base.banks);
	free(c->taken);
	free(c);
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
	at += kh_gpu_up(sizeof(struct head)) + kh_gpu_up(c->classes * sizeof(kh_class));
	g->slot = (uint64_t *)at;
	at += kh_gpu_up(sizeof *g->slot << g->bits);
	g->mask = (uint32_t *)at;
	at += kh_gpu_up(c->n_intervals * sizeof *g->mask);
	g->interval = a.interval = (uint64_t *)at;
	at += kh_gpu_up(((size_t)c->n_targets + 1) * sizeof *a.interval);
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

static struct arrays arrays_of(const struct census *c, unsigned bank)
{
	return lay_out(c, c->bank[bank].room.p);
}

/* Where the bins of each kept stretch would begin among those of all intervals of the census, less
 * the first one's number (kh_gpu_census). */
static uint64_t *make_origins(const kh_db *db, const uint64_t *interval, kh_err *err)
{
	uint64_t *origin = kh_array(db->n_kept, sizeof *origin, err);

	for (uint32_t t = 0; origin && t < db->n_kept; t++) {
		const kh_db_locus l = kh_db_locate(db, t, db->bins.first[t]);

		origin[t] = KH_INTERVAL * interval[l.target] + l.at - db->bins.first[t];
	}
	return origin;
}

static int put_intervals(const struct census *c, const kh_db *db, const uint64_t *interval,
			 kh_err *err)
{
	uint64_t *origin = make_origins(db, interval, err);
	const size_t bytes = ((size_t)c->n_targets + 1) * sizeof *interval;
	int rc = origin ? KH_OK : KH_ENOMEM;

	for (unsigned i = 0; i < c->base.banks && !rc; i++) {
		const struct arrays a = arrays_of(c, i);

		rc = kh_gpu_use(c->bank[i].device, err);
		if (!rc)
			rc = kh_cuda_bank_copy(&c->bank[i], a.interval, interval, bytes, err);
		if (!rc)
			rc = kh_cuda_bank_copy(&c->bank[i], a.origin, origin,
					       c->n_kept * sizeof *origin, err);
	}
	free(origin);
	return rc;
}

static int open_banks(struct census *c, const kh_engine *e, kh_err *err)
{
	return kh_cuda_banks_open(&c->bank, e, lay_out(c, NULL).bytes, sizeof(struct head), err);
}

int kh_cuda_census_open(kh_census **out, kh_engine *e, const kh_census_options *o, kh_err *err)
{
	struct census *c;
	int rc;

	*out = NULL;
	c = kh_array(1, sizeof *c, err);
	if (!c)
		return KH_ENOMEM;
	c->base.banks = (unsigned)e->n;
	c->classes = o->classes > 0 ? o->classes
		     : e->input / BYTES_A_CLASS > CLASSES ? MANY_CLASSES : CLASSES;
	c->n_targets = o->n_targets;
	c->n_kept = e->db->n_kept;
	c->n_intervals = o->interval[o->n_targets];
	c->taken = kh_array(c->base.banks, sizeof *c->taken, err);
	rc = c->taken ? open_banks(c, e, err) : KH_ENOMEM;
	if (!rc && !c->bank && c->classes > CLASSES) {
		c->classes = CLASSES;
		rc = open_banks(c, e, err);
	}
	if (!rc && c->bank)
		rc = put_intervals(c, e->db, o->interval, err);
	if (rc || !c->bank)
		kh_cuda_census_close(&c->base);
	else
		*out = &c->base;
	return rc;
}

kh_gpu_census kh_cuda_census_of(const kh_census *base, unsigned worker)
{
	const struct census *c = (const struct census *)base;

	return arrays_of(c, worker % c->base.banks).gpu;
}

/* --- reading ---------------------------------------------------------------------- */
/* Pages are there when something was written to them; threads share them. */
static int write_some(void *arg, unsigned id, kh_err *err)
{
	const struct taken *t = arg;
	const size_t pages = (t->bytes + PAGE - 1) / PAGE;

	(void)err;
	for (size_t i = pages * id / t->threads; i < pages * (id + 1) / t->threads; i++)
		t->p[i * PAGE] = 0;
	return KH_OK;
}

/* Copies classes of a bank to pages that are pinned meanwhile, which takes a tenth of the time that
 * pinned ones take to be made. */
static int take(const kh_cuda_bank *p, struct taken *t, const kh_class *from, kh_team *team,
		kh_err *err)
{
	int rc;

	t->threads = kh_team_size(team);
	t->p = kh_pages(t->bytes, err);
	rc = t->p ? kh_team_run(team, write_some, t, err) : KH_ENOMEM;
	if (!rc)
		rc = KH_GPU(cudaHostRegister(t->p, t->bytes, cudaHostRegisterDefault), err);
	if (rc)
		return rc;
	rc = kh_cuda_bank_copy(p, t->p, from, t->bytes, err);
	cudaHostUnregister(t->p);
	return rc;
}

int kh_cuda_census_read(kh_census *base, unsigned bank, kh_team *team, kh_census_bank *to,
			kh_err *err)
{
	const struct census *c = (const struct census *)base;
	const kh_cuda_bank *p = &c->bank[bank];
	struct taken *t = &c->taken[bank];
	const kh_gpu_census g = arrays_of(c, bank).gpu;
	struct head *h = p->host.p;
	int rc = kh_gpu_use(p->device, err);

	if (!rc)
		rc = kh_cuda_bank_copy(p, h, p->room.p, sizeof *h, err);
	if (rc)
		return rc;
	to->n = h->n < c->classes ? h->n : c->classes;
	memcpy(to->many, h->many, sizeof to->many);
	t->bytes = to->n * sizeof *to->at;
	if (t->bytes > 0)
		rc = take(p, t, g.at, team, err);
	to->at = (kh_class *)t->p;
	return rc;
}

/* --- intervals -------------------------------------------------------------------- */
/* Adds masks, which the device of a bank can copy, to those of the first device, by way of
 * `chunk`. */
static int add_masks(struct census *c, const kh_gpu_buf *chunk, const kh_cuda_bank *by,
		     const uint32_t *mask, kh_err *err)
{
	const kh_cuda_bank *to = &c->bank[0];
	int rc = KH_OK;

	for (uint64_t at = 0; at < c->n_intervals && !rc; at += CHUNK) {
		const uint64_t n = c->n_intervals - at < CHUNK ? c->n_intervals - at : CHUNK;

		if ((rc = kh_gpu_use(by->device, err)) ||
		    (rc = kh_cuda_bank_copy(by, chunk->p, mask + at, n * sizeof *mask, err)) ||
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

	if (c->base.banks == 1 && !also)
		return KH_OK;
	rc = kh_gpu_use(c->bank[0].device, err);
	if (!rc)
		rc = kh_gpu_room_exact(&chunk, CHUNK * sizeof(uint32_t), err);
	for (unsigned i = 1; i < c->base.banks && !rc; i++)
		rc = add_masks(c, &chunk, &c->bank[i], arrays_of(c, i).gpu.mask, err);
	if (!rc && also)
		rc = add_masks(c, &chunk, &c->bank[0], also, err);
	kh_gpu_drop(&chunk);
	return rc;
}

int kh_cuda_census_search(kh_census *base, const kh_census_search *s, kh_err *err)
{
	struct census *c = (struct census *)base;
	const kh_cuda_bank *p = &c->bank[0];
	const struct arrays a = arrays_of(c, 0);
	const size_t bytes = (size_t)c->n_targets * sizeof *s->own;
	const kh_gpu_census_search q = { .mask = a.gpu.mask, .interval = a.interval, .own = a.own,
					 .shift = a.shift, .found = a.found, .n = c->n_targets };
	int rc = add_all_masks(c, s->also, err);

	if (rc || (rc = kh_gpu_use(p->device, err)) ||
	    (rc = kh_cuda_bank_copy(p, a.own, s->own, bytes, err)) ||
	    (rc = kh_cuda_bank_copy(p, a.shift, s->shift, c->n_targets, err)) ||
	    (rc = kh_gpu_check(kh_gpu_census_search_run(&q, p->stream), "breadth", err)))
		return rc;
	return kh_cuda_bank_copy(p, s->found, a.found, bytes, err);
}
