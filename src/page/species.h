/*
 * species.h - the rows and columns of a page that show a profile
 */
#ifndef KH_PAGE_SPECIES_H
#define KH_PAGE_SPECIES_H

#include "page/page.h"
#include "run/profile.h"

enum {
	KH_PAGE_DETECTED,
	KH_PAGE_DISTINCT,
	KH_PAGE_ABUNDANCE,
	KH_PAGE_IDENTITY,
	KH_PAGE_WHY,
	KH_PAGE_EVENNESS,
	KH_PAGE_COVERED,
	KH_PAGE_FIRST,
	KH_PAGE_NEXT,
	KH_PAGE_PROFILE,                /* how many are above; those of controls follow */
	KH_PAGE_BLANK = KH_PAGE_PROFILE,
	KH_PAGE_RATE,
	KH_PAGE_CONTROL,
	KH_PAGE_FREQUENCY,
	KH_PAGE_COLUMNS
};
extern const kh_page_column kh_page_species[KH_PAGE_COLUMNS];

/* Rows of one sample. Zero it first. */
typedef struct kh_page_rows {
	kh_page_row *row;
	size_t n;
	kh_page_value *value;           /* KH_PAGE_COLUMNS a row */
	char (*why)[KH_PROFILE_WHY], (*next)[KH_PROFILE_WHY];
} kh_page_rows;

/* Makes the rows of a profile, whose taxa have the page's numbers.  Clear x even if it fails. */
int kh_page_rows_make(kh_page_rows *x, const kh_profile *p, kh_err *err);
/* Fills the column KH_PAGE_NEXT from the classes of the sample (next.c): for each species, the
 * other one that is most often a candidate of its reads. */
int kh_page_rows_next(kh_page_rows *x, const kh_profile *p, const kh_classes *c, kh_err *err);
/* Makes n rows without values. */
int kh_page_rows_init(kh_page_rows *x, size_t n, kh_err *err);
void kh_page_rows_clear(kh_page_rows *x);

#endif
