/*
 * paf.h - where fragments lie in the references, as lines of PAF
 */
#ifndef KH_RUN_PAF_H
#define KH_RUN_PAF_H

#include "run/format.h"

/* The lines of fragment i of a task that is done, whose alignments were wanted. */
void kh_format_paf(kh_buf *b, const kh_db *db, const kh_task *t, size_t i);
/* Columns of all alignments of a fragment, and how many of them match. */
void kh_paf_identity(const kh_alignments *a, size_t i, uint64_t *matches, uint64_t *columns);

#endif
