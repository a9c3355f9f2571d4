/* fake_sample.c - the launchers by which a sample is counted, on one thread, without a GPU: classes
 * of fragments, masks of intervals, registers of taxa (fake_match.c) */
#include <config.h>

#include <string.h>
#include "cuda/kernels/match_item.h"

/* --- classes ------------------------------------------------------------------------------ */
/* The place of a class, or KH_NO_CLASS if it is new and there is no room. */
static uint32_t place_of(const kh_gpu_census *c, const kh_class *k)
{
	const uint32_t mask = (UINT32_C(1) << c->bits) - 1;
	uint32_t at = (uint32_t)kh_class_mix(k) & mask;

	for (; c->slot[at]; at = (at + 1) & mask)
		if (memcmp(&c->at[c->slot[at] - 1], k, KH_CLASS_KEY) == 0)
			return (uint32_t)c->slot[at] - 1;
	if (*c->n >= c->cap)
		return KH_NO_CLASS;
	memcpy(&c->at[*c->n], k, KH_CLASS_KEY);
	c->slot[at] = ++*c->n;
	return *c->n - 1;
}

static uint32_t count(const kh_gpu_query *q, uint32_t i)
{
	const kh_call *call = &q->call[i];
	const kh_candidates *cand = &q->beside.candidates[i];
	const kh_gpu_census *c = &q->census;
	const uint32_t best = kh_class_best(cand), bin = cand->bin;
	const uint32_t target = best == KH_NO_TAXON ? 0 : kh_match_target(&q->db, bin);
	const bool located = best != KH_NO_TAXON &&
			     q->db.tree.species[q->db.bins.taxon[target]] == best;
	const bool has = call->taxon != KH_GPU_CALL_LEFT && kh_has_class(call, cand);
	const bool counted = has && !kh_gpu_called_later(q, i);
	const kh_class_rest rest = kh_class_rest_of(&q->rule, call, located);
	const kh_class k = kh_class_make(cand, &rest);
	const uint32_t place = counted ? place_of(c, &k) : KH_NO_CLASS;

	if (call->taxon != KH_GPU_CALL_LEFT && !has)
		return KH_NO_CLASS;
	if (place == KH_NO_CLASS) {
		q->counts[KH_GPU_UNCOUNTED]++;
		return KH_UNCOUNTED;
	}
	c->at[place].many++;
	c->many[kh_class_counted(call->kmers)]++;
	if (located)
		c->mask[(c->origin[target] + bin) / KH_INTERVAL] |= UINT32_C(1)
								   << kh_class_share(call);
	return place;
}

int kh_gpu_census_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	(void)stream;
	for (uint32_t x = 0; x < n; x++)
		for (uint32_t i = 0; q[x]->class_of && i < q[x]->n; i++)
			q[x]->class_of[i] = count(q[x], i);
	return cudaSuccess;
}

int kh_gpu_census_join(uint32_t *mask, const uint32_t *other, uint64_t n, cudaStream_t stream)
{
	(void)stream;
	for (uint64_t i = 0; i < n; i++)
		mask[i] |= other[i];
	return cudaSuccess;
}

int kh_gpu_census_search_run(const kh_gpu_census_search *s, cudaStream_t stream)
{
	(void)stream;
	for (uint32_t t = 0; t < s->n; t++) {
		uint64_t last = UINT64_MAX;

		s->found[t] = 0;
		for (uint64_t i = s->interval[t]; i < s->interval[t + 1]; i++) {
			const uint64_t block = (i - s->interval[t]) >> s->shift[t];

			if (!(s->mask[i] & s->own[t]) || block == last)
				continue;
			s->found[t]++;
			last = block;
		}
	}
	return cudaSuccess;
}

/* --- counters ----------------------------------------------------------------------------- */
/* The registers of a taxon: their number, or KH_GPU_NO_SET. */
static uint32_t set_of(const kh_gpu_counters *c, uint32_t taxon)
{
	if (c->set[taxon] == KH_GPU_SET_FREE)
		c->set[taxon] = *c->n < c->cap ? *c->n + 1 : KH_GPU_NO_SET;
	else
		return c->set[taxon] == KH_GPU_NO_SET ? KH_GPU_NO_SET : c->set[taxon] - 1;
	++*c->n;
	return c->set[taxon] == KH_GPU_NO_SET ? KH_GPU_NO_SET : c->set[taxon] - 1;
}

/* Counts the features of a fragment, or leaves them to the host. */
static void raise(const kh_gpu_query *q, uint32_t i)
{
	const kh_gpu_counters *c = &q->counters;
	const kh_call *call = &q->call[i];
	const uint32_t set = c->set ? set_of(c, call->taxon) : KH_GPU_NO_SET;
	kh_gpu_had had = { .fragment = i };

	if (set == KH_GPU_NO_SET) {
		q->counts[KH_GPU_UNCOUNTED_FOUND]++;
		q->found_at[i] = q->counts[KH_GPU_FOUND];
		for (uint32_t k = 0; k < call->found; k++)
			q->found[q->counts[KH_GPU_FOUND]++] = kh_gpu_next_had(q, &had);
		return;
	}
	c->found[set] += call->found;
	for (uint32_t k = 0; k < call->found; k++) {
		const kh_hll x = kh_hll_of(kh_gpu_next_had(q, &had));
		uint8_t *reg = (uint8_t *)c->reg + (size_t)set * KH_HLL_SIZE + x.at;

		*reg = x.value > *reg ? (uint8_t)x.value : *reg;
	}
}

int kh_gpu_counters_add(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	(void)stream;
	for (uint32_t x = 0; x < n; x++)
		for (uint32_t i = 0; q[x]->found && i < q[x]->n; i++) {
			q[x]->found_at[i] = KH_GPU_COUNTED;
			if (q[x]->call[i].taxon != KH_NO_TAXON &&
			    q[x]->call[i].taxon != KH_GPU_CALL_LEFT)
				raise(q[x], i);
		}
	return cudaSuccess;
}
