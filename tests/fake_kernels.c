/*
 * fake_kernels.c - what the launchers of cuda/kernels/builder.h do, on one thread of the host
 *
 * Each does what its contract says, in another way than the kernel: so the builder is tested
 * against the contracts, and the kernels against the CPU by test_kernels.c, test_gpu_encode.c and
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
	const kh_gpu_remap *m = &g->remap;
	const kh_bins old = { .n = m->n, .first = m->first };
	uint64_t at = 0;

	(void)stream;
	for (uint32_t p = 0; p < g->n; p++) {
		if (g->part[p].to != at)
			return cudaErrorInvalidValue;
		for (uint64_t i = 0; i < g->part[p].n; i++, at++) {
			const uint32_t b = g->part[p].bin[i];
			const uint32_t seq = m->n ? kh_bins_target(&old, b) : 0;
			const bool dropped = m->n && m->to[seq] == UINT32_MAX;

			g->key[at] = dropped ? KH_GPU_DROPPED : g->part[p].key[i];
			g->bin[at] = m->n && !dropped ? b - m->first[seq] + m->to[seq] : b;
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
		if (key[i] < KH_GPU_DROPPED)
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

/* --- encoding ----------------------------------------------------------------------- */
size_t kh_gpu_encode_scratch(uint64_t n)
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

static uint64_t place_of(const kh_gpu_encode *e, uint32_t i)
{
	return (e->key[i] >> 40) << 48 | kh_key_place(e->key[i], e->range[e->key[i] >> 40].B);
}

int kh_gpu_entries(const kh_gpu_encode *e, cudaStream_t stream)
{
	uint64_t n = 0;

	(void)stream;
	for (uint64_t h = 0; h < e->n_heads; h++)
		if (h == 0 || place_of(e, e->head[h]) != place_of(e, e->head[h] - 1))
			e->entry[n++] = e->head[h];
	*e->n_out = n;
	return cudaSuccess;
}

int kh_gpu_place(const kh_gpu_encode *e, cudaStream_t stream)
{
	(void)stream;
	for (unsigned p = 0; p <= KH_RANGES; p++)
		e->range[p].entry = first_from(e->entry, e->n_entries, e->range[p].pair);
	e->entry[e->n_entries] = (uint32_t)e->n;
	for (uint64_t i = 0; i < e->n_entries; i++) {
		const uint64_t key = e->key[e->entry[i]], p = key >> 40;
		const uint64_t home = (place_of(e, e->entry[i]) & 0xffffffffffff) >> 16;
		const uint64_t j = i - e->range[p].entry;
		const uint64_t before = j ? e->slot[i - 1] + UINT64_C(1) : 0;
		const uint64_t slot = before > KH_BUCKET_SLOTS * home ? before
								      : KH_BUCKET_SLOTS * home;

		e->slot[i] = (uint32_t)slot;
		e->range[p].failed |= slot / KH_BUCKET_SLOTS > home + 1;
		if (e->key[e->entry[i + 1] - 1] != key && e->counts[0]++ < e->cap_several)
			e->several[e->counts[0] - 1] = (uint32_t)i;
	}
	return cudaSuccess;
}

static int by_bin(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The words of the list of entry i, in place of its pairs' bins; their number. */
static size_t make_list(const kh_gpu_encode *e, kh_cut *cut, uint64_t i)
{
	uint32_t *loc = e->bin + e->entry[i];
	const size_t pairs = e->entry[i + 1] - e->entry[i];
	kh_extent x = kh_extent_empty();
	size_t n = 0;

	for (size_t j = 0; j < pairs; j++) {
		x = kh_extent_add(x, e->bins.taxon[kh_bins_target(&e->bins, loc[j])]);
		if (n == 0 || loc[j] != loc[n - 1])
			loc[n++] = loc[j];
	}
	if (e->bins.most)
		n = kh_cut_list(cut, loc, n);
	if (n > KH_LIST_MAX)
		loc[0] = kh_tree_lca(&e->tree, x.lo, x.hi);
	return n;
}

int kh_gpu_lists(const kh_gpu_encode *e, cudaStream_t stream)
{
	uint64_t words = 0;
	kh_cut cut = { .bins = NULL };

	(void)stream;
	if (e->bins.most && kh_cut_grow(&cut, &e->bins, e->n, NULL))
		return cudaErrorMemoryAllocation;
	for (uint32_t s = 0; s < e->cap_several; s++) {
		const uint32_t from = e->entry[e->several[s]], to = e->entry[e->several[s] + 1];

		qsort(e->bin + from, to - from, sizeof *e->bin, by_bin);
	}
	for (uint64_t i = 0; i < e->n_entries; i++) {
		const size_t n = make_list(e, &cut, i);

		e->len[i] = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
		e->range[e->key[e->entry[i]] >> 40].over += n > KH_LIST_MAX;
		e->lead[i] = words;
		words += kh_list_words(e->len[i]);
	}
	kh_cut_clear(&cut);
	e->len[e->n_entries] = 0;
	e->lead[e->n_entries] = words;
	for (unsigned p = 0; p <= KH_RANGES; p++)
		e->range[p].word = e->lead[e->range[p].entry];
	return cudaSuccess;
}

/* The bytes of a bucket up to its first entry, of the words before that. */
static void set_base(kh_bucket *b, uint64_t words)
{
	for (int i = 0; i < 6; i++, words >>= 8)
		b->base[i] = (uint8_t)words;
}

/* The words of entry i, bit by bit, to where zeros are. */
static void put_words(const kh_gpu_encode *e, const kh_gpu_range *r, uint64_t i)
{
	uint8_t *to = (uint8_t *)((uint32_t *)e->image + r->loc);
	uint64_t at = (e->lead[i] - r->word) * e->bins.bits;

	for (uint32_t j = 0; j < kh_list_words(e->len[i]); j++)
		for (uint32_t b = 0; b < e->bins.bits; b++, at++)
			to[at / 8] |= (uint8_t)((e->bin[e->entry[i] + j] >> b & 1) << at % 8);
}

static void fill_range(const kh_gpu_encode *e, unsigned p)
{
	const kh_gpu_range *r = &e->range[p];
	kh_bucket *bucket = e->image + r->bucket;
	uint64_t i = r->entry;

	for (uint32_t b = 0; b <= r->B; b++) {
		set_base(&bucket[b], e->lead[i] - r->word);
		for (; i < r[1].entry && e->slot[i] / KH_BUCKET_SLOTS == b; i++) {
			const uint64_t place = place_of(e, e->entry[i]) & 0xffffffffffff;
			const uint32_t at = e->slot[i] % KH_BUCKET_SLOTS;

			bucket[b].flags += place >> 16 < b;
			bucket[b].len[at] = e->len[i];
			bucket[b].tag[at] = (uint16_t)place;
			put_words(e, r, i);
		}
		if (b < r->B && i < r[1].entry && e->slot[i] / KH_BUCKET_SLOTS == b + 1 &&
		    (place_of(e, e->entry[i]) & 0xffffffffffff) >> 16 == b)
			bucket[b].flags |= KH_BUCKET_GOES_ON;
	}
}

int kh_gpu_fill(const kh_gpu_encode *e, uint64_t n_start, cudaStream_t stream)
{
	(void)stream;
	memset(e->start, 0x5a, n_start * sizeof *e->start);
	for (unsigned p = 0; p < KH_RANGES; p++)
		if (e->range[p].B > 0)
			fill_range(e, p);
	return cudaSuccess;
}
