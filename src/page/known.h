/*
 * known.h - the taxa of a database, for whoever asks whether a taxon was looked for
 *
 * A page has them as one compressed text: 14 bytes a taxon, and 11 more if it has another name (of
 * 45,776 made-up taxa).  Of a database with more taxa than KH_PAGE_KNOWN it has only those from
 * genus up, if these are not too many, too; 50,000 with another name each take 1.25 MB.
 */
#ifndef KH_PAGE_KNOWN_H
#define KH_PAGE_KNOWN_H

#include <jansson.h>
#include <stdbool.h>
#include "db/db.h"

#define KH_PAGE_KNOWN 50000

/* Arrays over the taxa of the database, by their numbers. */
typedef struct kh_page_known {
	const kh_db *db;                /* borrowed */
	/* of the clade; 0: a database of Kraken 2 does not know of which sequences it is made */
	uint32_t *genomes;              /* see sample/lengths.h */
	uint64_t *longest;              /* bases of the longest of them */
	bool *part;                     /* of a species, part of a genome is all there is */
	uint32_t species, parts;        /* species with references, and with parts only */
} kh_page_known;

/* Zero it first; to be cleared even if this fails. */
int kh_page_known_make(kh_page_known *k, const kh_db *db, kh_err *err);
void kh_page_known_clear(kh_page_known *k);

/* An object: README.md.  NULL with err set if memory runs out. */
json_t *kh_page_known_json(const kh_page_known *k, kh_err *err);

#endif
