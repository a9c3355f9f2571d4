/*
 * known.h - the taxa of a database, so that a reader of the page sees what could have been found
 *
 * The page has them as one compressed text: 14 bytes a taxon, and 11 more if it has another name
 * (of 45,776 made-up taxa); 50,000 taxa with another name each take 1.25 MB.  If the database has
 * more than KH_PAGE_KNOWN taxa, the page has those from genus up; if these are more, none.
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
	/* 0 in a database of Kraken 2, which does not list its sequences */
	uint32_t *genomes;              /* of the clade (sample/lengths.h) */
	uint64_t *longest;              /* bases of the longest of these */
	bool *part;                     /* a species whose references are part of a genome only */
	uint32_t species, parts;        /* species with references; those of `part` */
} kh_page_known;

/* Zero it first; to be cleared even if this fails. */
int kh_page_known_make(kh_page_known *k, const kh_db *db, kh_err *err);
void kh_page_known_clear(kh_page_known *k);

/* The member `known` of the page's data (README.md).  NULL with err set: no memory. */
json_t *kh_page_known_json(const kh_page_known *k, kh_err *err);

#endif
