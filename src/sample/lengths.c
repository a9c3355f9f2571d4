#include <config.h>
#include "sample/lengths.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

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

void kh_species_intervals(const kh_db *db, uint64_t *length)
{
	const uint64_t interval = (uint64_t)KH_INTERVAL * db->h->sampling.stride;
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
		if (s != KH_NO_TAXON && sum / interval > length[s])
			length[s] = sum / interval;
	}
}

/* --- parts of genomes --------------------------------------------------------------- */
/* Bases that the least genome known of a domain is not far above. */
static const struct {
	uint32_t taxid;
	uint64_t bases;
} least[] = { { 2, 100000 }, { 2157, 400000 }, { 2759, 2000000 } };

enum { FAR_SHORTER = 10 };      /* than the other species' mean */

/* Species that have references, and the sum of their lengths, in a clade. */
struct clade {
	uint64_t n, length;
};

static bool is_near(const kh_taxonomy *tax, uint32_t taxon)
{
	const char letter = tax->letter[taxon];

	return letter == 'G' || letter == 'F' || letter == 'O';
}

/* The others are those of the genus, or the family, or the order, if they have references. */
static bool is_part(const kh_db *db, uint32_t species, uint64_t length, const struct clade *clade)
{
	const kh_taxonomy *tax = db->tax;
	const uint64_t bases = length * KH_INTERVAL * db->h->sampling.stride;
	bool compared = false;

	for (uint32_t t = species; t != 0; t = tax->parent[t]) {
		for (size_t i = 0; i < sizeof least / sizeof *least; i++)
			if (tax->taxid[t] == least[i].taxid && bases < least[i].bases)
				return true;
		if (compared || !is_near(tax, t) || clade[t].n < 2)
			continue;
		if (FAR_SHORTER * length * (clade[t].n - 1) < clade[t].length - length)
			return true;
		compared = true;
	}
	return false;
}

int kh_species_parts(const kh_db *db, const uint64_t *length, bool *part, kh_err *err)
{
	const kh_taxonomy *tax = db->tax;
	struct clade *clade = kh_array(tax->n, sizeof *clade, err);

	if (!clade)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const uint32_t s = tax->species[db->target[i].taxon];

		if (s != KH_NO_TAXON)
			clade[s] = (struct clade) { 1, length[s] };
	}
	for (uint32_t t = tax->n - 1; t > 0; t--) {
		clade[tax->parent[t]].n += clade[t].n;
		clade[tax->parent[t]].length += clade[t].length;
	}
	for (uint32_t t = 0; t < tax->n; t++)
		part[t] = tax->species[t] == t && is_part(db, t, length[t], clade);
	free(clade);
	return KH_OK;
}
