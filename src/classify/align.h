/*
 * align.h - where fragments lie in the targets, and which of their bases match there
 */
#ifndef KH_CLASSIFY_ALIGN_H
#define KH_CLASSIFY_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a record, or a part of it, lies in a target. */
typedef struct kh_aligned {
	uint32_t mate;                  /* 0 or 1 */
	uint32_t target;
	bool back;                      /* its reverse complement lies there */
	uint32_t quality;
	uint32_t score;                 /* as the rule counts it */
	uint64_t from, to;              /* bases of the record, */
	uint64_t at, end;               /* and of the target */
	uint64_t matches, columns;      /* columns: with those of gaps, */
	uint32_t gaps, gap_columns;     /* which are so many */
	size_t first_run;
	uint32_t n_runs;
} kh_aligned;

/* Columns without a gap, and the gap behind them: above 0 bases of the target that the record
 * lacks, below 0 the other way round; 0 behind the last ones.  In the order of the target. */
typedef struct kh_align_run {
	uint32_t columns;
	int32_t gap;
} kh_align_run;

/* Those of a job's fragments: number i has list[i].n from v[list[i].from] on.  Zero it first. */
typedef struct kh_alignments {
	kh_aligned *v;
	kh_align_run *run;
	struct kh_align_list {
		size_t from, n;
	} *list;
	size_t n, n_runs, cap, cap_runs, cap_list;
} kh_alignments;

void kh_alignments_clear(kh_alignments *a);

#endif
