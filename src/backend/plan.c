/* plan.c - the memory of a build on GPUs: what each step takes, and what fits (plan.h) */
#include <config.h>
#include "backend/plan.h"

#include "index/index.h"

/* --- arrays ------------------------------------------------------------------------- */
uint64_t kh_plan_round(uint64_t bytes)
{
	return kh_plan_taken((bytes + 511) / 256 * 256);
}

uint64_t kh_plan_pairs(uint64_t pairs)
{
	return kh_plan_round(8 * pairs) + kh_plan_round(4 * pairs);
}

/* --- steps -------------------------------------------------------------------------- */
uint64_t kh_plan_gathering(const kh_gpu_plan *p, uint64_t store, uint64_t pairs, uint64_t blocks)
{
	return store + kh_plan_pairs(pairs) + kh_plan_round(32 * blocks) + p->tables;
}

uint64_t kh_plan_sorting(const kh_gpu_plan *p, uint64_t pairs)
{
	return 2 * kh_plan_pairs(pairs) + kh_plan_round(p->sort_scratch(pairs)) + p->tables +
	       p->again;
}

uint64_t kh_plan_exchange(const kh_gpu_plan *p, uint64_t pairs, uint64_t come)
{
	const uint64_t more = come > pairs ? come : pairs;
	const uint64_t taking = kh_plan_pairs(pairs) + kh_plan_pairs(more) +
				kh_plan_round(p->sort_scratch(pairs)) + p->tables;
	const uint64_t sorting = kh_plan_sorting(p, more);

	return taking > sorting ? taking : sorting;
}

/* Arrays as finish_seeds.c makes them: by pair, by key, by slot, and by line.  Of many slots one in
 * five is left to the next level, or one in four, where each seed has four; of some thousands it
 * may be all. */
uint64_t kh_plan_encoding(const kh_gpu_plan *p, uint64_t pairs, uint64_t keys, unsigned ranges)
{
	enum { SLOTS = 12, FEW = 1 << 16 };
	const uint64_t some = pairs / 4 + FEW, left = some < pairs ? some : pairs;
	const uint64_t lines = pairs / SLOTS * 5 / 4 + 4 * FEW / SLOTS +
			       KH_SEED_LEVELS * (uint64_t)ranges;

	return kh_plan_round(4 * (pairs + 1)) + kh_plan_round(p->scan_scratch(pairs)) +
	       kh_plan_round(keys + 1) + kh_plan_round(8 * (keys + 1)) + kh_plan_pairs(pairs) +
	       kh_plan_round(4 * left) + 2 * kh_plan_pairs(left) + kh_plan_pairs(left / 3) +
	       kh_plan_round(p->sort_scratch(left)) + (KH_SEED_LEVELS + 1) * kh_plan_round(8192) +
	       kh_plan_round(64 * lines);
}

/* --- what fits ---------------------------------------------------------------------- */
uint64_t kh_plan_most(const kh_gpu_plan *p)
{
	uint64_t lo = 0, hi = p->limit / (2 * KH_PLAN_PAIR) + 1;

	while (hi - lo > 1) {
		const uint64_t mid = lo + (hi - lo) / 2;

		if (kh_plan_sorting(p, mid) <= p->limit)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static uint64_t least_of_wave(const kh_gpu_plan *p, uint64_t pairs, uint64_t largest)
{
	const uint64_t sorting = kh_plan_sorting(p, pairs);
	const uint64_t encoding = kh_plan_pairs(pairs) + p->tables + p->again +
				  kh_plan_encoding(p, largest, largest, 1);

	return sorting > encoding ? sorting : encoding;
}

uint64_t kh_plan_least(const kh_gpu_plan *p, uint64_t pairs)
{
	const uint64_t wave = least_of_wave(p, pairs, pairs);

	return wave > p->slots ? wave : p->slots;
}

bool kh_plan_stays(const kh_gpu_plan *p, uint64_t store, uint64_t pairs, uint64_t blocks,
		   uint64_t n)
{
	return kh_plan_gathering(p, store, pairs + n, blocks + 1) <= p->limit &&
	       pairs + n <= (p->most ? p->most : kh_plan_most(p));
}

uint64_t kh_plan_chunk(const kh_gpu_plan *p, uint64_t used, uint64_t store, uint64_t pairs,
		       uint64_t blocks, uint64_t n, uint64_t usual)
{
	uint64_t cap = usual > n ? usual : n;

	for (;; cap = cap / 2 > n ? cap / 2 : n) {
		const uint64_t more = kh_plan_pairs(cap);

		if (used + more <= p->limit && kh_plan_stays(p, store + more, pairs, blocks, n))
			return cap;
		if (cap == n)
			return 0;
	}
}

unsigned kh_plan_wave(const kh_gpu_plan *p, const uint64_t *count, unsigned from, unsigned end)
{
	uint64_t pairs = 0, largest = 0;
	unsigned to = from;

	for (; to < end; to++) {
		pairs += count[to];
		largest = count[to] > largest ? count[to] : largest;
		if (least_of_wave(p, pairs, largest) > p->limit)
			break;
	}
	return to;
}
