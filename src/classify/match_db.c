/* match_db.c - a database as segments are compared with it: match_types.h */
#include <config.h>
#include "classify/match.h"

void kh_rule_init(kh_rule *r, const kh_db_header *h)
{
	*r = (kh_rule) { .sampling = kh_db_sampling(h) };
}

/* By the least score of a call chance calls no more than one in 10000 fragments; without text, it
 * is more than one seed. */
void kh_match_least_of(const kh_db_header *h, kh_least *least)
{
	typedef unsigned __int128 wide;
	const wide text = h->bases ? (wide)h->bases : 1;

	for (int i = 0; i < KH_LEVELS; i++) {
		const wide seeds = (UINT64_C(2) << i) - 1;
		const bool random = seeds * 2 * text >> 2 * h->sampling.k > 0;
		wide power = (wide)3 << 2 * h->sampling.k;
		uint32_t x = 0;

		for (; x < 36 && seeds * 2 * text * (3 + 2 * x) * 10000 > power; x++)
			power *= 3;
		least->call[i] = h->sampling.k + (kh_db_is_thin(h) ? 1 : x);
		least->candidates[i] = random ? least->call[i] : 0;
	}
}

void kh_match_db_init(kh_match_db *x, const kh_db *db, const kh_rule *rule)
{
	*x = (kh_match_db) { .text = db->text,
			     .seeds = db->seeds,
			     .bins = db->bins,
			     .stretch = db->stretch,
			     .strains = db->strains,
			     .n_strains = db->n_strains,
			     .tree = kh_taxonomy_tree(db->tax),
			     .sampling = rule->sampling,
			     .alleles = db->alleles };
	kh_match_least_of(db->h, &x->least);
}

void kh_match_db_guess(kh_match_db *x, uint32_t guess[KH_MATCH_GUESSES], uint64_t n_bins)
{
	const kh_bins *b = &x->bins;
	uint32_t shift = 0, target = 0;

	while (n_bins >> shift > KH_MATCH_GUESSES - 2)
		shift++;
	for (uint64_t i = 0; i < KH_MATCH_GUESSES; i++) {
		while (target + 1 < b->n_targets && b->first[target + 1] <= i << shift)
			target++;
		guess[i] = target;
	}
	x->guess = guess;
	x->guess_shift = shift;
}
