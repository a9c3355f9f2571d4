/*
 * cami.h - a profile as the CAMI challenges have it, version 0.10, which OPAL reads
 */
#ifndef KH_MERGE_CAMI_H
#define KH_MERGE_CAMI_H

#include "base/buf.h"
#include "taxonomy/taxonomy.h"

typedef struct kh_cami {
	/* of it taxids, parents, ranks and names are used */
	const kh_taxonomy *tax;
	const char *sample, *taxonomy_id;       /* of the header; the second one may be NULL */
	const double *share;            /* by taxon, 0 to 1; a taxon with 0 has no row */
	char rank;                      /* the letter of a rank: its rows only; 0: all */
} kh_cami;

/* Appends header and rows. */
void kh_cami_profile(kh_buf *b, const kh_cami *c);

#endif
