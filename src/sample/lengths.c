#include <config.h>
#include "sample/lengths.h"

#include <string.h>

/* An accession: letters, a number, perhaps a dot and a version. */
struct accession {
	size_t letters;         /* bytes in front of the number */
	uint64_t number;
	bool any;
};

static struct accession read_accession(const char *s)
{
	const size_t len = strcspn(s, ".");
	struct accession a = { len, 0, false };

	while (a.letters > 0 && s[a.letters - 1] >= '0' && s[a.letters - 1] <= '9' &&
	       len - a.letters < 12)
		a.letters--;
	for (size_t i = a.letters; i < len; i++) {
		a.number = 10 * a.number + (uint64_t)(s[i] - '0');
		a.any = true;
	}
	return a;
}

bool kh_numbered_on(const char *a, const char *b)
{
	const struct accession x = read_accession(a), y = read_accession(b);

	return x.any && y.any && x.letters == y.letters && memcmp(a, b, x.letters) == 0 &&
	       y.number == x.number + 1;
}

void kh_species_stretches(const kh_db *db, uint64_t *length)
{
	const uint64_t stretch = (uint64_t)KH_STRETCH * db->h->sampling.stride;
	uint64_t sum = 0;

	for (uint32_t t = 0; t < db->tax->n; t++)
		length[t] = 2;
	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];
		const uint32_t s = db->tax->species[t->taxon];

		if (i == 0 || t[-1].taxon != t->taxon ||
		    !kh_numbered_on(db->ids + t[-1].id, db->ids + t->id))
			sum = 0;
		sum += t->bases;
		if (s != KH_NO_TAXON && sum / stretch > length[s])
			length[s] = sum / stretch;
	}
}
