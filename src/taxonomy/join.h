/*
 * join.h - the trees of several databases as one
 *
 * A taxon is identified by its taxid.  Trees of one taxonomy agree on the name, the rank and the
 * parent of each taxid that they share, and so on its whole path.  Other trees are refused: in
 * their reports a taxon would have two places.
 *
 * Trees of dump files and trees of lineages number their taxa in different ways.  They are joined
 * only on request, by names: as in `build --set move-taxa`, a taxon of a lineage is the taxon of
 * the dump files with its name and its rank that lies below one with the name of the first part.
 */
#ifndef KH_TAXONOMY_JOIN_H
#define KH_TAXONOMY_JOIN_H

#include "taxonomy/taxonomy.h"

typedef struct kh_taxonomy_volume {
	const kh_taxonomy *tax;
	const char *name;               /* of its database, for messages */
	uint32_t *number;               /* output: by taxon, its number in the joined tree */
} kh_taxonomy_volume;

/* Makes the tree of all taxa of n volumes, as a database of all their references has it.  Fails if
 * two volumes disagree; the message names the first such taxon, and its paths.  by_name: trees of
 * dump files and of lineages may be joined. */
int kh_taxonomy_join(kh_taxonomy **t, const kh_taxonomy_volume *volume, size_t n, bool by_name,
		     kh_err *err);

#endif
