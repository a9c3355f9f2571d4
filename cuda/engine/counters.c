/*
 * counters.c - counters of distinct features, on each device
 *
 * A bank is the memory of one device, in which the kernels of all its queues count (counters.cu).
 * At the end its registers are brought to the host, some taxa at a time.
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

struct kh_counters {
	kh_cuda_bank *bank;
	size_t n;                       /* of them */
	uint32_t n_taxa, cap;
};

void kh_cuda_counters_close(kh_counters *c)
{
	if (c)
		kh_cuda_banks_close(c->bank, c->n);
	free(c);
}

/* Where the arrays lie from `at` on; *bytes: of all. */
static kh_gpu_counters lay_out(const kh_counters *c, char *at, size_t *bytes)
{
	char *const from = at;
	kh_gpu_counters g = { .cap = c->cap };

	g.n = (uint32_t *)at;
	at += kh_gpu_up(sizeof *g.n);
	g.set = (uint32_t *)at;
	at += kh_gpu_up(c->n_taxa * sizeof *g.set);
	g.found = (uint64_t *)at;
	at += kh_gpu_up(g.cap * sizeof *g.found);
	g.reg = (uint32_t *)at;
	at += (size_t)g.cap * KH_HLL_SIZE;
	*bytes = (size_t)(at - from);
	return g;
}

int kh_cuda_counters_open(kh_counters **out, kh_engine *e, uint32_t taxa, kh_err *err)
{
	kh_counters *c = kh_array(1, sizeof *c, err);
	size_t bytes;
	int rc;

	*out = NULL;
	if (!c)
		return KH_ENOMEM;
	c->n = e->n;
	c->n_taxa = e->db->tax->n;
	c->cap = taxa > 0 ? taxa : TAXA;
	c->cap = c->cap < c->n_taxa ? c->cap : c->n_taxa;
	lay_out(c, NULL, &bytes);
	rc = kh_cuda_banks_open(&c->bank, e, bytes, (size_t)TOGETHER * KH_HLL_SIZE, err);
	if (rc || !c->bank)
		kh_cuda_counters_close(c);
	else
		*out = c;
	return rc;
}

static kh_gpu_counters counters_at(const kh_counters *c, const kh_cuda_bank *p)
{
	size_t bytes;

	return lay_out(c, p->room.p, &bytes);
}

kh_gpu_counters kh_cuda_counters_of(const kh_counters *c, unsigned worker)
{
	return counters_at(c, &c->bank[worker % c->n]);
}

/* --- reading ---------------------------------------------------------------------- */
/* What a bank has: numbers of the registers of all taxa, and the taxa by that number. */
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

static int find_sets(const kh_counters *c, const kh_cuda_bank *p, struct found *f, kh_err *err)
{
	const kh_gpu_counters g = counters_at(c, p);
	int rc = kh_cuda_bank_copy(p, &f->n, g.n, sizeof f->n, err);

	if (rc)
		return rc;
	f->n = f->n < g.cap ? f->n : g.cap;
	f->set = kh_array(c->n_taxa, sizeof *f->set, err);
	f->taxon = kh_array(f->n, sizeof *f->taxon, err);
	f->found = kh_array(f->n, sizeof *f->found, err);
	if (!f->set || !f->taxon || !f->found)
		return KH_ENOMEM;
	if ((rc = kh_cuda_bank_copy(p, f->set, g.set, c->n_taxa * sizeof *f->set, err)) ||
	    (rc = kh_cuda_bank_copy(p, f->found, g.found, f->n * sizeof *f->found, err)))
		return rc;
	for (uint32_t t = 0; t < c->n_taxa; t++)
		if (f->set[t] != KH_GPU_SET_FREE && f->set[t] != KH_GPU_NO_SET)
			f->taxon[f->set[t] - 1] = t;
	return KH_OK;
}

static int read_bank(kh_counters *c, const kh_cuda_bank *p, kh_distinct *to, kh_err *err)
{
	const char *from = (const char *)counters_at(c, p).reg;
	const uint8_t *reg = p->host.p;
	struct found f = { .n = 0 };
	int rc = kh_gpu_use(p->device, err);

	if (!rc)
		rc = find_sets(c, p, &f, err);
	for (uint32_t at = 0; at < f.n && !rc; at += TOGETHER) {
		const uint32_t n = f.n - at < TOGETHER ? f.n - at : TOGETHER;

		rc = kh_cuda_bank_copy(p, p->host.p, from + (size_t)at * KH_HLL_SIZE,
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
		rc = read_bank(c, &c->bank[i], to, err);
	return rc;
}
