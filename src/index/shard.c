#include <config.h>
#include "index/shard.h"

void kh_shards_cut(kh_shards *s, const uint64_t weight[KH_RANGES], unsigned n)
{
	uint64_t before[KH_RANGES + 1] = { 0 };

	for (unsigned p = 0; p < KH_RANGES; p++)
		before[p + 1] = before[p] + weight[p];
	s->n = n;
	s->first[0] = 0;
	for (unsigned i = 1; i < n; i++) {
		const uint64_t all = before[KH_RANGES];
		const uint64_t goal = all / n * i + all % n * i / n;
		unsigned lo = s->first[i - 1], hi = KH_RANGES;

		while (lo < hi) {       /* the first cut at the goal or behind it */
			unsigned mid = (lo + hi) / 2;

			if (before[mid] < goal)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo > s->first[i - 1] && goal - before[lo - 1] < before[lo] - goal)
			lo--;
		s->first[i] = (uint16_t)lo;
	}
	s->first[n] = KH_RANGES;
}

void kh_shards_even(kh_shards *s, unsigned n)
{
	s->n = n;
	for (unsigned i = 0; i <= n; i++)
		s->first[i] = (uint16_t)((KH_RANGES * i + n - 1) / n);
}

unsigned kh_shards_owner(const kh_shards *s, unsigned range)
{
	unsigned m = 0;

	while (range >= s->first[m + 1])
		m++;
	return m;
}
