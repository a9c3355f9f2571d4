/*
 * scratch.c - memory of the kernel for fragments that are long or crowded (classify_block.cu)
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include "cuda/engine/engine_in.h"

enum { SCRATCH_BLOCKS = 64 };
#define SCRATCH_BYTES (UINT64_C(1) << 28)       /* or what a single block needs, if it is more */

static uint64_t power_above(uint64_t n)
{
	uint64_t p = 64;

	while (p < n)
		p *= 2;
	return p;
}

/* Lays out the scratch of one block of threads from `at` on; returns its bytes. */
static size_t carve(const kh_engine *e, char *at, kh_gpu_scratch *x)
{
	const uint64_t keys = 2 * (kh_sampling_bound(&e->rule.sampling, e->rule.max_span) +
				   e->rule.sampling.s + 2);
	const uint64_t n = ((uint64_t)e->db->tax->n + 63) & ~UINT64_C(63);
	char *from = at;

	x->cap_keys = (keys + 63) & ~UINT64_C(63);
	x->cap_seen = power_above(2 * keys);
	x->cap_table = power_above(keys * KH_LIST_MAX * 2);
	x->seen = (uint64_t *)at;
	x->key = x->seen + x->cap_seen;
	x->key2 = x->key + x->cap_keys;
	x->loc = x->key2 + x->cap_keys;
	x->n_loc = (uint32_t *)(x->loc + x->cap_keys);
	x->h = x->n_loc + x->cap_keys;
	x->best = x->h + n;
	x->over = x->best + n;
	x->touched = x->over + n;
	x->touched2 = x->touched + n;
	x->lcas = x->touched2 + n;
	x->votes = x->lcas + n;
	x->voted = x->votes + n;
	x->bin = x->voted + n;
	x->count = x->bin + x->cap_table;
	x->hits = x->count + x->cap_table;
	at = (char *)(x->hits + x->cap_table);
	return (size_t)(at - from);
}

/* Blocks of threads that there is scratch for; *one: bytes of each. */
static uint32_t scratch_blocks(const kh_engine *e, size_t *one)
{
	kh_gpu_scratch x;
	uint64_t n = SCRATCH_BYTES / (*one = carve(e, NULL, &x));

	return (uint32_t)(n < 1 ? 1 : n > SCRATCH_BLOCKS ? SCRATCH_BLOCKS : n);
}

uint64_t kh_cuda_scratch_bytes(const kh_engine *e)
{
	size_t one;
	const uint32_t n = scratch_blocks(e, &one);

	return (uint64_t)one * n;
}

int kh_cuda_scratch_open(kh_cuda_scratch *s, const kh_engine *e, cudaStream_t stream,
			 kh_err *err)
{
	kh_gpu_scratch x[SCRATCH_BLOCKS];
	size_t one;
	int rc;

	s->n = scratch_blocks(e, &one);
	rc = kh_gpu_room_exact(&s->room, one * s->n, err);
	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(s->room.p, 0, one * s->n, stream), err);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		carve(e, (char *)s->room.p + one * i, &x[i]);
		rc = KH_GPU(cudaMemsetAsync(x[i].seen, 0xff, x[i].cap_seen * 8, stream),
			    err);
	}
	if (!rc)
		rc = kh_gpu_room_exact(&s->list, s->n * sizeof *x, err);
	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(s->list.p, x, s->n * sizeof *x,
					    cudaMemcpyHostToDevice, stream),
			    err);
	return rc ? rc : KH_GPU(cudaStreamSynchronize(stream), err);
}

void kh_cuda_scratch_close(kh_cuda_scratch *s)
{
	KH_GPU_DROP(s->all);
}
