/* lookup.h - many keys at once in the table of a database */
#ifndef KH_KRAKEN2_LOOKUP_H
#define KH_KRAKEN2_LOOKUP_H

#include <stddef.h>
#include "kraken2/rule.h"

typedef struct kh_k2_table {
	const kh_k2_rule *rule;
	const unsigned char *cells;
	const uint32_t *taxon;          /* of values */
} kh_k2_table;

/* The taxa of n keys, as preorder numbers or KH_NO_TAXON. */
void kh_k2_lookup(const kh_k2_table *t, const uint64_t *key, size_t n, uint32_t *taxon);

#endif
