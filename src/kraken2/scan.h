/*
 * scan.h - the k-mers of a sequence in order, as runs of k-mers with one minimizer
 *
 * A k-mer whose minimizer is another one than that of the k-mer before it makes a query.  Queries
 * of as many fragments as the caller likes are gathered, so that all are looked up at once.
 */
#ifndef KH_KRAKEN2_SCAN_H
#define KH_KRAKEN2_SCAN_H

#include <stddef.h>
#include "base/msg.h"
#include "kraken2/rule.h"

/* The queries of some fragments: keys, and their k-mers as runs.  A run is of a key, by its number
 * among these keys, or of a code above KH_K2_CODES. */
typedef struct kh_k2_queries {
	uint64_t *key;
	kh_k2_run *run;
	size_t n, n_runs, cap, cap_runs;
} kh_k2_queries;

void kh_k2_queries_clear(kh_k2_queries *a);

/* Room for the sequence that is read.  Zero it first. */
typedef struct kh_k2_scanner {
	unsigned char *chars;           /* a byte each: its bits, or KH_K2_CHAR_AMBIGUOUS */
	uint64_t *ring;                 /* candidates of the last l-mers */
	size_t cap_chars, cap_ring;
	unsigned char *frames;          /* six, one behind the other */
	size_t cap_frames;
} kh_k2_scanner;

enum { KH_K2_CHAR_AMBIGUOUS = 0xff };

void kh_k2_scanner_clear(kh_k2_scanner *s);

/* n bases from base `at` of a packed sequence (kmer.h). */
typedef struct kh_k2_bases {
	const uint64_t *bases;
	const uint32_t *amb;
	uint64_t at, n;
} kh_k2_bases;

/* Adds the k-mers of a sequence: of its bases, or of its six frames with the borders between. */
int kh_k2_scan(kh_k2_scanner *s, const kh_k2_rule *r, const kh_k2_bases *b, kh_k2_queries *a,
	       kh_err *err);
/* Adds a border. */
int kh_k2_border(kh_k2_queries *a, uint32_t code, kh_err *err);

#endif
