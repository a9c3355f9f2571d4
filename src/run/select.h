/*
 * select.h - reads by taxon: which of them go to the files of classified and unclassified reads
 *
 * Without a selection those are the reads that are called, and the others.  With --extract the
 * first file gets reads of some clades only and the second all others; reads of clades that are
 * excluded go to neither.
 */
#ifndef KH_RUN_SELECT_H
#define KH_RUN_SELECT_H

#include <stdint.h>
#include "base/errs.h"
#include "taxonomy/taxonomy.h"

enum kh_side { KH_SIDE_CLASSIFIED, KH_SIDE_UNCLASSIFIED, KH_SIDE_NEITHER };

typedef struct kh_select {
	uint8_t *side;                  /* by taxon; NULL: all are classified */
} kh_select;

/* Clades, by taxids or names between commas; several texts add up; NULL, 0: none. */
typedef struct kh_select_options {
	const char *const *extract, *const *exclude;
	size_t n_extract, n_exclude;
} kh_select_options;

/* Zero it first. Clades that the taxonomy does not have are added to `errs`. */
int kh_select_open(kh_select *s, const kh_taxonomy *tax, const kh_select_options *o, kh_errs *errs,
		   kh_err *err);
void kh_select_close(kh_select *s);

/* Where a fragment with this call goes (KH_NO_TAXON: none).  s may be NULL. */
static inline enum kh_side kh_select_side(const kh_select *s, uint32_t taxon)
{
	if (taxon == KH_NO_TAXON)
		return KH_SIDE_UNCLASSIFIED;
	return s && s->side ? (enum kh_side)s->side[taxon] : KH_SIDE_CLASSIFIED;
}

#endif
