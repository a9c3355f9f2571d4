/*
 * fake_seeds.c - what the launchers of cuda/kernels/seeds.cu do, on one thread of the host
 * (fake_kernels.c)
 */
#include <config.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/builder.h"
#include "index/seeds.h"

size_t kh_gpu_seeds_scratch(uint64_t n)
{
	return n / 64 + 2048;
}

/* The list of a seed's pairs, over their bins; its words. */
static size_t make_list(const kh_gpu_encode *e, kh_cut *cut, uint64_t seed)
{
	const uint32_t from = e->head[seed];
	const size_t end = seed + 1 < e->n_heads ? e->head[seed + 1] : e->n;
	const kh_pairs p = { .loc = e->bin };
	size_t n = 0;

	if (kh_pairs_list(&p, from, end, cut, &e->bins, e->bin + from, &n, NULL))
		return 0;
	for (size_t i = from + n; i < end; i++)
		e->bin[i] = e->bin[from + n - 1];
	return n;
}

int kh_gpu_seed_lists(const kh_gpu_encode *e, cudaStream_t stream)
{
	kh_cut cut = { .in = NULL };
	uint64_t words = 0, slots = 0;

	(void)stream;
	for (uint64_t i = 0; i < e->n_heads; i++) {
		kh_gpu_range *r = &e->range[e->key[e->head[i]] >> 40];
		const size_t n = make_list(e, &cut, i);
		const bool over = n > KH_LIST_MAX, listed = !over && n > KH_SEED_SLOTS;

		e->len[i] = over ? KH_LIST_OVER : (uint8_t)n;
		e->lead[i] = words << 32 | slots;
		r->over += over;
		r->lists += listed;
		words += listed ? n : 0;
		slots += over || listed ? 1 : n;
	}
	kh_cut_clear(&cut);
	e->len[e->n_heads] = 0;
	e->lead[e->n_heads] = words << 32 | slots;
	for (unsigned p = 0; p <= KH_RANGES; p++) {
		e->range[p].entry = (uint32_t)e->lead[e->range[p].head];
		e->range[p].word = e->lead[e->range[p].head] >> 32;
	}
	return cudaSuccess;
}

int kh_gpu_seed_slots(const kh_gpu_encode *e, uint64_t *key, uint32_t *value, cudaStream_t stream)
{
	uint64_t at = 0, words[KH_RANGES] = { 0 };

	(void)stream;
	for (uint64_t i = 0; i < e->n_heads; i++) {
		const uint64_t k = e->key[e->head[i]];
		const bool one = e->len[i] > KH_SEED_SLOTS;

		for (uint32_t j = 0; j < (one ? 1 : e->len[i]); j++, at++) {
			key[at] = k;
			value[at] = !one ? e->bin[e->head[i] + j] + 1
				    : e->len[i] == KH_LIST_OVER
					    ? kh_seed_over(e->bins.bits)
					    : (uint32_t)((UINT64_C(1) << e->bins.bits) + 1 +
							 words[k >> 40]);
		}
		if (one && e->len[i] != KH_LIST_OVER)
			words[k >> 40] += e->len[i];
	}
	return cudaSuccess;
}

int kh_gpu_seed_words(const kh_gpu_encode *e, cudaStream_t stream)
{
	uint64_t words[KH_RANGES] = { 0 };

	(void)stream;
	for (uint64_t i = 0; i < e->n_heads; i++) {
		const uint64_t p = e->key[e->head[i]] >> 40;
		uint32_t *to = (uint32_t *)e->image + e->range[p].loc + words[p];

		if (e->len[i] <= KH_SEED_SLOTS || e->len[i] == KH_LIST_OVER)
			continue;
		for (uint32_t j = 0; j < e->len[i]; j++)
			to[j] = e->bin[e->head[i] + j] | (j + 1 < e->len[i] ? KH_SEED_MORE : 0);
		words[p] += e->len[i];
	}
	return cudaSuccess;
}

/* --- levels ------------------------------------------------------------------------------ */
/* Calls `to` with each slot, and its number in its line. */
static void each_slot(const kh_gpu_level *x, void *arg,
		      void (*to)(void *arg, const kh_gpu_level *x, uint64_t i, uint64_t place,
				 uint64_t number))
{
	uint64_t number = 0, before = 0;

	for (unsigned p = 0; p < KH_RANGES; p++)
		for (uint64_t i = x->part[p].slot; i < x->part[p + 1].slot; i++) {
			const uint64_t place =
				kh_seed_place(kh_seed_first(x->key[i]), x->part[p].lines);

			number = i > x->part[p].slot && place >> 8 == before ? number + 1 : 0;
			before = place >> 8;
			to(arg, x, i, place, number);
		}
}

static void count_one(void *arg, const kh_gpu_level *x, uint64_t i, uint64_t place, uint64_t number)
{
	(void)i, (void)place;
	*(uint64_t *)arg += number >= kh_seed_slots(x->bits);
}

int kh_gpu_seed_count_left(const kh_gpu_level *x, uint64_t *n, cudaStream_t stream)
{
	(void)stream;
	each_slot(x, n, count_one);
	return cudaSuccess;
}

struct leaving {
	const kh_gpu_left *l;
	uint64_t n;
};

static void leave_one(void *arg, const kh_gpu_level *x, uint64_t i, uint64_t place, uint64_t number)
{
	struct leaving *v = arg;

	(void)place;
	if (number < kh_seed_slots(x->bits))
		return;
	v->l->left[v->n] = (uint32_t)i;
	v->l->key[v->n] = (x->key[i] & ~((UINT64_C(1) << 40) - 1)) |
			  kh_seed_next(kh_seed_first(x->key[i]));
	v->l->value[v->n++] = x->value[i];
}

int kh_gpu_seed_left(const kh_gpu_level *x, const kh_gpu_left *l, cudaStream_t stream)
{
	struct leaving v = { .l = l };

	(void)stream;
	each_slot(x, &v, leave_one);
	*l->n_out = v.n;
	return v.n == l->n ? cudaSuccess : cudaErrorInvalidValue;
}

static void write_one(void *arg, const kh_gpu_level *x, uint64_t i, uint64_t place, uint64_t number)
{
	const uint64_t line = x->part[x->key[i] >> 40].line + (place >> 8);
	uint8_t *to = (uint8_t *)arg + 64 * line;
	const uint32_t slots = kh_seed_slots(x->bits);
	uint64_t bit = 8 * slots + number * (x->bits + 1);

	if (number >= slots)
		return;
	to[number] = (uint8_t)place;
	for (uint32_t b = 0; b <= x->bits; b++, bit++)
		to[bit / 8] |= (uint8_t)((x->value[i] >> b & 1) << bit % 8);
}

int kh_gpu_seed_lines(const kh_gpu_level *x, void *image, cudaStream_t stream)
{
	(void)stream;
	each_slot(x, image, write_one);
	return cudaSuccess;
}
