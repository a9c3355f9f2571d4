/* votes.c - long fragments, whose pieces are compared two at a time: votes.h */
#include <config.h>
#include "translated/votes.h"

#include <stdlib.h>
#include "base/mem.h"
#include "taxonomy/tree.h"

/* What chance, and genes that all genera have, put ahead in a pair of pieces. */
enum { EACH = 20 };

void kh_votes_clear(kh_votes *t)
{
	free(t->v);
	*t = (kh_votes) { .v = NULL };
}

int kh_votes_add(kh_votes *t, uint32_t genus, uint32_t ahead, kh_err *err)
{
	size_t i = 0;
	int rc;

	t->pairs++;
	if (genus == KH_NO_TAXON)
		return KH_OK;
	while (i < t->n && t->v[i].genus != genus)
		i++;
	rc = kh_grow((void **)&t->v, &t->cap, i + 1, sizeof *t->v, err);
	if (rc)
		return rc;
	if (i == t->n)
		t->v[t->n++] = (struct kh_votes_genus) { genus, 0 };
	t->v[i].ahead += ahead;
	return KH_OK;
}

uint32_t kh_votes_end(kh_votes *t, const kh_translated *of)
{
	struct kh_votes_genus best = { KH_NO_TAXON, 0 };
	uint64_t second = 0, least;

	for (size_t i = 0; i < t->n; i++) {
		const struct kh_votes_genus x = t->v[i];
		const bool more = x.ahead > best.ahead ||
				  (x.ahead == best.ahead && x.genus < best.genus);

		if (more)
			second = best.ahead;
		else if (x.ahead > second)
			second = x.ahead;
		best = more ? x : best;
	}
	least = best.genus == KH_NO_TAXON
			? UINT64_MAX
			: of->genus[best.genus].threshold + EACH * (uint64_t)t->pairs;
	least = least < 2 * second ? 2 * second : least;
	t->n = t->pairs = 0;
	return best.ahead < least ? KH_NO_TAXON : best.genus;
}
