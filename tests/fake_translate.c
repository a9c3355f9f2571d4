/* fake_translate.c - the launcher by which translated seeds are looked at, on one thread, without a
 * GPU: what the threads of a block of translate.cu share is done here one after the other */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/translate_group.h"

/* All that threads do up to the places of mates. */
static void find_places(kh_group *g, const kh_gpu_query *q, uint32_t group)
{
	const kh_translated *t = &q->translated.seeds;

	memset(g, 0xa5, sizeof *g);
	memcpy(g->letter, q->translated.letter, sizeof g->letter);
	for (uint32_t m = 0; m < KH_GROUP_MATES; m++)
		kh_group_begin(g, q, group, m);
	for (uint32_t m = 0; m < KH_GROUP_MATES; m++) {
		for (uint32_t w = 0; 32 * w < g->len[m]; w++)
			kh_group_take(g, q, m, w);
		for (uint32_t w = 0; 32 * w < g->len[m]; w++)
			kh_group_turn(g, m, w);
	}
	for (uint32_t i = KH_GROUP_FRAMES; i-- > 0;)    /* the order of keys is of no matter */
		kh_group_keys(g, q->translated.k, i);
	for (uint32_t i = kh_group_n(g->n_keys, KH_GROUP_KEYS); i-- > 0;)
		kh_group_find(g, t, q->translated.k, i);
	for (uint32_t i = 0; i < kh_group_n(g->n_places, KH_GROUP_PLACES); i++)
		kh_group_compare(g, t, i);
}

static uint32_t genus_of(kh_group *g, const kh_translated *t, uint32_t f)
{
	kh_group_best b = { .claim = NULL };
	uint32_t differ;

	if (!kh_group_rank(g, t, f, &b))
		return KH_GPU_CALL_LEFT;
	if (b.seek) {
		const kh_laid l = kh_group_sought(g, t, b.mate, &b.beside.place);

		b.beside.place.at = (int64_t)kh_text_nearest(&l, (uint64_t)b.beside.from,
							     (uint64_t)b.beside.to, &differ);
	}
	return kh_group_settle(g, t, &b);
}

int kh_gpu_query_translate_prepare(void)
{
	return cudaSuccess;
}

static void translate(const kh_gpu_query *q)
{
	const uint32_t mates = kh_group_mates(q), each = KH_GROUP_MATES / mates;
	kh_group *g = malloc(sizeof *g);

	if (!g)
		abort();
	for (uint32_t i = 0; i < q->n; i++)
		if (kh_group_wants(q, i))
			q->again[q->counts[KH_GPU_UNCALLED]++] = i;
	for (uint32_t at = 0; at < q->counts[KH_GPU_UNCALLED]; at += each) {
		find_places(g, q, at / each);
		for (uint32_t f = 0; f < each; f++)
			if (g->fragment[f * mates] != UINT32_MAX)
				q->genus[g->fragment[f * mates]] =
					genus_of(g, &q->translated.seeds, f);
	}
	free(g);
}

int kh_gpu_queries_translate(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	(void)stream;
	for (uint32_t i = 0; i < n; i++)
		if (q[i]->genus)
			translate(q[i]);
	return cudaSuccess;
}
