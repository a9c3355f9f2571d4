/*
 * coverage.h - where along the references the fragments of a sample lie
 *
 * Counts the fragments that are located (kh_class.located: one species alone is best, and the best
 * place lies in one of its targets) and that the first pass called that species or below.
 *
 * A target is divided into at most KH_COVERAGE_PARTS parts, none smaller than an interval, so the
 * counts take no more memory than the masks of intervals do.  Example: with bins of 16 bases an
 * interval has 128; lambda, of 48,502 bases, has 379 intervals and 100 parts of about 485 bases.
 */
#ifndef KH_SAMPLE_COVERAGE_H
#define KH_SAMPLE_COVERAGE_H

#include "db/db.h"
#include "sample/classes.h"

enum { KH_COVERAGE_PARTS = 100, KH_COVERAGE_TARGETS = 3 };

typedef struct kh_coverage kh_coverage;

int kh_coverage_new(kh_coverage **c, const kh_db *db, kh_err *err);
void kh_coverage_free(kh_coverage *c);
/* Counts a located fragment of class k; any thread. */
void kh_coverage_add(kh_coverage *c, const kh_class *k, uint32_t target, uint32_t bin);

/* A target with fragments; what it points to lives as long as the coverage. */
typedef struct kh_covered_target {
	uint32_t target;
	uint64_t many;                  /* fragments; one in several parts counts in each */
	const uint32_t *part;           /* in each part */
	uint32_t n;                     /* parts */
} kh_covered_target;

typedef struct kh_covered {
	uint32_t species;
	uint64_t many;
	/* its targets with the most fragments, n of them */
	kh_covered_target target[KH_COVERAGE_TARGETS];
	uint32_t n;
	uint64_t share[KH_SHARES];      /* fragments by the share of their k-mers found */
} kh_covered;

/* Lists the species with fragments, those with the most first, `limit` at most.  `classes` are the
 * joined classes of the sample.  The caller frees *list. */
int kh_coverage_list(const kh_coverage *c, const kh_classes *classes, size_t limit,
		     kh_covered **list, size_t *n, kh_err *err);

#endif
