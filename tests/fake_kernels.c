/*
 * fake_kernels.c - what the launchers of cuda/kernels/builder.h do, on one thread of the host
 *
 * Each does what its contract says, in another way than the kernel: so the builder is tested
 * against the contracts, and the kernels against the CPU by test_kernels.c, test_gpu_seeds.c and
 * test_gpu_shard.c, on a GPU.
 */
#include <config.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/builder.h"
#include "index/shard.h"

/* --- blocks ------------------------------------------------------------------------- */
size_t kh_gpu_sample_scratch(const kh_gpu_sample *s)
{
	return s->n_words * 16 + 4096;
}

int kh_gpu_sample_run(const kh_gpu_sample *s, cudaStream_t stream)
{
	uint32_t n = 0;

	(void)stream;
	for (uint32_t i = 0; i < s->n_pieces; i++) {
		const kh_gpu_piece *p = &s->piece[i];
		const kh_stretch st = { s->bases, s->amb, p->at, p->at + p->starts };
		const size_t m = kh_sampling_run(&s->sampling, &st, s->key + n, s->bin + n);

		for (size_t j = n; j < n + m; j++)
			s->bin[j] = p->bin + s->bin[j] / s->sampling.stride;
		n += (uint32_t)m;
	}
	*s->count = n;
	return cudaSuccess;
}

size_t kh_gpu_split_scratch(uint64_t bound, uint32_t n)
{
	return bound / 1024 * n + 256;
}

int kh_gpu_split_run(const kh_gpu_split *s, cudaStream_t stream)
{
	kh_shards own;
	size_t at = 0;

	(void)stream;
	kh_shards_even(&own, s->n);
	for (uint32_t o = 0; o < s->n; o++) {
		const size_t from = at;

		for (uint32_t i = 0; i < *s->count; i++) {
			const uint32_t range = kh_key_range(s->key[i]);

			if (s->to > 0 ? range >= s->from && range < s->to
				      : kh_shards_owner(&own, range) == o) {
				s->key2[at] = s->key[i];
				s->bin2[at++] = s->bin[i];
			}
		}
		if (s->size)
			s->size[o] = at - from;
	}
	return cudaSuccess;
}

/* --- pairs -------------------------------------------------------------------------- */
int kh_gpu_gather_run(const kh_gpu_gather *g, cudaStream_t stream)
{
	uint64_t at = 0;

	(void)stream;
	for (uint32_t p = 0; p < g->n; p++) {
		if (g->part[p].to != at)
			return cudaErrorInvalidValue;
		for (uint64_t i = 0; i < g->part[p].n; i++, at++) {
			g->key[at] = g->part[p].key[i];
			g->bin[at] = g->part[p].bin[i];
		}
	}
	return at == g->total ? cudaSuccess : cudaErrorInvalidValue;
}

/* A stable pass by `bits` bits of keys, to the other side. */
static void sort_pass(kh_gpu_sort *s, int from, int bits)
{
	uint64_t *next = calloc(((size_t)1 << bits) + 1, sizeof *next), *key = s->key;
	uint32_t *bin = s->bin;
	const uint64_t mask = (UINT64_C(1) << bits) - 1;

	for (uint64_t i = 0; i < s->n; i++)
		next[(key[i] >> from & mask) + 1]++;
	for (uint64_t d = 0; d < mask; d++)
		next[d + 1] += next[d];
	for (uint64_t i = 0; i < s->n; i++) {
		const uint64_t at = next[key[i] >> from & mask]++;

		s->key2[at] = key[i];
		s->bin2[at] = bin[i];
	}
	s->key = s->key2;
	s->bin = s->bin2;
	s->key2 = key;
	s->bin2 = bin;
	free(next);
}

/* One pass or three, so that what is sorted is on the other side. */
int kh_gpu_sort_run(kh_gpu_sort *s, cudaStream_t stream)
{
	const int bits = s->from ? 9 : 17;

	(void)stream;
	if (!s->scratch) {
		s->scratch_bytes = s->n / 6 + 4096;
		return cudaSuccess;
	}
	for (int from = s->from; from < s->bits; from += bits)
		sort_pass(s, from, bits);
	return cudaSuccess;
}

int kh_gpu_weigh(const uint64_t *key, const uint32_t *count, uint64_t n, uint64_t *weight,
		 cudaStream_t stream)
{
	(void)stream;
	if (count && *count > n)
		return cudaErrorInvalidValue;
	for (uint64_t i = 0; i < (count ? *count : n); i++)
		weight[kh_key_range(key[i])]++;
	return cudaSuccess;
}

int kh_gpu_bounds(const uint64_t *key, uint64_t n, uint64_t *at, cudaStream_t stream)
{
	uint64_t i = 0;

	(void)stream;
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		for (; i < n && key[i] >> 40 < p; i++)
			;
		at[p] = i;
	}
	return cudaSuccess;
}

/* --- keys ------------------------------------------------------------------------------ */
size_t kh_gpu_heads_scratch(uint64_t n)
{
	return n / 96 + 1024;
}

static uint64_t first_from(const uint32_t *of, uint64_t n, uint64_t pair)
{
	uint64_t i = 0;

	while (i < n && of[i] < pair)
		i++;
	return i;
}

int kh_gpu_heads(const kh_gpu_encode *e, cudaStream_t stream)
{
	uint64_t n = 0;

	(void)stream;
	for (uint32_t i = 0; i < e->n; i++)
		if (i == 0 || e->key[i] != e->key[i - 1])
			e->head[n++] = i;
	*e->n_out = n;
	return cudaSuccess;
}

int kh_gpu_range_heads(const kh_gpu_encode *e, cudaStream_t stream)
{
	(void)stream;
	for (unsigned p = 0; p <= KH_RANGES; p++)
		e->range[p].head = first_from(e->head, e->n_heads, e->range[p].pair);
	return cudaSuccess;
}
