/* votes.c - long fragments, whose parts are compared two at a time: votes.h */
#include <config.h>
#include "translated/votes.h"

#include <stdlib.h>
#include "base/mem.h"
#include "taxonomy/tree.h"
#include "translated/score.h"

/* What chance, and genes that all genera have, put ahead in a pair of parts. */
enum { EACH = 20 };

void kh_votes_clear(kh_votes *t)
{
	free(t->v);
	*t = (kh_votes) { .v = NULL };
}

int kh_votes_add(kh_votes *t, uint32_t genus, uint32_t ahead, uint32_t family, kh_err *err)
{
	size_t i = 0;
	int rc;

	if (genus == KH_NO_TAXON)
		return KH_OK;
	while (i < t->n && t->v[i].genus != genus)
		i++;
	rc = kh_grow((void **)&t->v, &t->cap, i + 1, sizeof *t->v, err);
	if (rc)
		return rc;
	if (i == t->n)
		t->v[t->n++] = (struct kh_votes_genus) { genus, 0, 0 };
	t->v[i].ahead += ahead;
	t->v[i].family += family;
	return KH_OK;
}

/* What is ahead by most, if that is at least the threshold and EACH for each pair of parts, and
 * twice what the next one is; or NULL. */
static const struct kh_votes_genus *first_of(const kh_votes *t, const kh_translated *of,
					     bool family)
{
	const struct kh_votes_genus *best = NULL;
	uint64_t second = 0, least = EACH * (uint64_t)t->pairs;

	for (size_t i = 0; i < t->n; i++) {
		const struct kh_votes_genus *x = &t->v[i];
		const bool more = !best || x->ahead > best->ahead ||
				  (x->ahead == best->ahead && x->genus < best->genus);
		const uint64_t less = more ? best ? best->ahead : 0 : x->ahead;

		second = less > second ? less : second;
		best = more ? x : best;
	}
	if (!best)
		return NULL;
	least += family ? of->level.kinship : kh_translated_least(of, best->genus);
	return best->ahead < least || best->ahead < 2 * second ? NULL : best;
}

/* Makes one of the genera of each family, by the lowest of their numbers, and of how far they are
 * ahead of other families.  Those without a family stay alone. */
static void join_families(kh_votes *t, const kh_translated *of)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct kh_votes_genus x = t->v[i];
		const uint32_t family = kh_translated_family(of, x.genus);
		size_t j = 0;

		while (j < n && (family == 0 || kh_translated_family(of, t->v[j].genus) != family))
			j++;
		if (j == n)
			t->v[n++] = (struct kh_votes_genus) { x.genus, 0, 0 };
		t->v[j].ahead += x.family;
		t->v[j].genus = x.genus < t->v[j].genus ? x.genus : t->v[j].genus;
	}
	t->n = n;
}

uint32_t kh_votes_end(kh_votes *t, const kh_translated *of)
{
	const struct kh_votes_genus *best = first_of(t, of, false);
	uint32_t call = best ? of->genus[best->genus].called : KH_NO_TAXON;

	if (!best) {
		join_families(t, of);
		best = first_of(t, of, true);
		if (best && kh_translated_family(of, best->genus) > 0)
			call = kh_translated_family(of, best->genus);
	}
	t->n = t->pairs = 0;
	return call;
}
