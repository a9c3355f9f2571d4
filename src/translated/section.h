/*
 * section.h - translated seeds of a database: ORFs of the references, by genus, and their keys
 *
 *	build:    targets of a genus -> ORFs (orfs.c) -> keys; ORFs that the genus has nearly so
 *	          are left out (make.c) -> keys of one genus only,
 *	          thresholds by those of two (thresholds.c) -> the section, kmerhash-db(5)
 *	classify: a fragment that the rule left uncalled -> keys of its six frames -> places
 *	          -> ungapped comparison of its bases -> scores of genera (rule.c) -> a genus,
 *	          or none
 *
 * Reads are compared with the database's text: the stretches of targets that it keeps.
 * kmerhash-method(7) has the rule.
 */
#ifndef KH_TRANSLATED_SECTION_H
#define KH_TRANSLATED_SECTION_H

#include <stdint.h>
#include "base/msg.h"
#include "taxonomy/taxonomy.h"
#include "translated/letters.h"
#include "translated/look_up.h"

/* The text of a database: stretches ascend. */
typedef struct kh_translated_text {
	const uint32_t *text;
	uint64_t bases;                 /* with what lies between stretches */
	kh_translated_stretch *stretch; /* its genus is the number of a taxon */
	size_t n;
} kh_translated_text;

/* The place in the section of the genus that is this taxon, or KH_NO_TAXON. */
uint32_t kh_translated_genus_of(const kh_translated *t, uint32_t taxon);

/* Finds what a section consists of, and checks it: taxa are numbered below n_taxa.  The stretches
 * of the database's text, `of`, become the section's. */
int kh_translated_find(kh_translated *t, const void *section, uint64_t bytes, uint32_t n_taxa,
		       const kh_translated_text *of, kh_err *err);
void kh_translated_clear(kh_translated *t);

/* Makes t point into a copy of its section. */
void kh_translated_move(kh_translated *t, const void *copy);

/* The bytes of n places, and the bits that numbers below n take. */
uint64_t kh_translated_place_bytes(uint64_t n, uint32_t bits);
uint32_t kh_translated_bits(uint64_t n);

/* The genus of a target's taxon or, without one, its species. */
uint32_t kh_translated_taxon(const kh_taxonomy *tax, uint32_t taxon);

#endif
