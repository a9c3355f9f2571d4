/*
 * aligned.h - where fragments lie in the references: lines of PAF, and of SAM with the references'
 * bases in MD
 */
#ifndef KH_RUN_ALIGNED_H
#define KH_RUN_ALIGNED_H

#include "run/format.h"

/* paf.c */
/* The lines of fragment i of a task that is done, whose alignments were wanted. */
void kh_format_paf(kh_buf *b, const kh_db *db, const kh_task *t, size_t i);

/* sam.c */
/* @SQ of the targets that reads of the selection may lie in; of all if it chooses none. */
int kh_sam_header(kh_buf *b, const kh_db *db, const struct kh_select *s, kh_err *err);
/* The lines of fragment i of a task that is done, whose alignments were wanted and whose reads have
 * their text.  `one` is a buffer for the use of this function. */
void kh_format_sam(kh_buf *b, kh_buf *one, const kh_db *db, const kh_task *t, size_t i);

#endif
