/*
 * rule.h - the genus of fragments by translated seeds: kmerhash-method(7)
 *
 * Fragments are done some at a time, so that the memory has what they ask for when it is needed.
 * All numbers are integers, and among equal ones there is an order, so nothing depends on how
 * fragments come together.
 */
#ifndef KH_TRANSLATED_RULE_H
#define KH_TRANSLATED_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include "translated/section.h"

/* A read or mate in packed bases (kmer.h). */
typedef struct kh_translated_read {
	const uint64_t *bases;
	const uint32_t *amb;
	uint64_t at;
	uint64_t len;                   /* 0: there is none */
} kh_translated_read;

/* What became of a fragment. */
typedef struct kh_translated_call {
	size_t number;
	uint32_t taxon;                 /* KH_NO_TAXON: none */
} kh_translated_call;

/* One worker's scratch. */
typedef struct kh_translator kh_translator;

/* `t` must live as long. */
int kh_translator_new(kh_translator **r, const kh_translated *t, kh_err *err);
void kh_translator_free(kh_translator *r);
/* Adds a fragment, by any number. */
int kh_translator_add(kh_translator *r, const kh_translated_read mate[2], size_t number,
		      kh_err *err);
/* The calls of those that were added, in their order, which are lent until the next is added. */
int kh_translator_settle(kh_translator *r, const kh_translated_call **call, size_t *n, kh_err *err);
/* After a failure: forgets what was added. */
void kh_translator_forget(kh_translator *r);

#endif
