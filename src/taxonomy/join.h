/*
 * join.h - the trees of several databases as one
 *
 * A taxon is known by its taxid.  Trees that were made of one taxonomy agree on what they share:
 * its name, its rank and its parent, and with these its whole path.  Trees that do not would give
 * reports in which a taxon stands at two places, so they are refused.
 *
 * Trees of dump files and trees of lineages number their taxa in different ways.  They are joined
 * only if that is asked for, by names: as `build --set move-taxa` does, a taxon of a lineage is
 * that of the dump files which has its name and its rank and lies below one that is called as the
 * first part of the lineage.
 */
#ifndef KH_TAXONOMY_JOIN_H
#define KH_TAXONOMY_JOIN_H

#include "taxonomy/taxonomy.h"

typedef struct kh_taxonomy_part {
	const kh_taxonomy *tax;
	const char *name;               /* of its database, for messages */
	uint32_t *number;               /* becomes that of each of its taxa in the joined tree */
} kh_taxonomy_part;

/* The tree of all taxa of n parts, as one database of all references has it.  Fails if two parts do
 * not agree; the message names the first such taxon, and its paths.  by_name: trees of both kinds
 * are joined, too. */
int kh_taxonomy_join(kh_taxonomy **t, const kh_taxonomy_part *part, size_t n, bool by_name,
		     kh_err *err);

#endif
