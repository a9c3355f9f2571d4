/*
 * waiting.h - fragments whose lines wait, in a frame (sample/frames.h), until calls are final
 *
 * Reads that follow one another have names that begin alike, and mostly the same length.  So a
 * frame keeps of a fragment only what differs from the one before it: some ten bytes, written and
 * read in a few nanoseconds, where its line has some forty.
 */
#ifndef KH_RUN_WAITING_H
#define KH_RUN_WAITING_H

#include "base/buf.h"
#include "run/format.h"

typedef struct kh_waiting {
	uint64_t class;                 /* any number but 0, or 0: it has none */
	kh_call call;                   /* without `found`; .taxon only if it has no class */
	uint32_t said;                  /* by translated seeds (graded.h), or KH_NO_TAXON */
	kh_line_parts line;
} kh_waiting;

/* last: the fragment before it in the frame, or zero. */
void kh_waiting_put(kh_buf *frame, const kh_waiting *k, const kh_waiting *last);
/* Reads the next fragment at *at into k, which has the one before it, or is zero; its id is in
 * `id`. */
void kh_waiting_read(const char **at, kh_waiting *k, kh_buf *id);

/* The reads of fragment i of a job, as they were read, behind it in the frame. */
void kh_waiting_put_reads(kh_buf *frame, const kh_job *job, size_t i);
/* Formats the reads at *at, if those of a fragment with this call are wanted. */
void kh_waiting_format_reads(const char **at, const kh_taxonomy *tax, const kh_style *style,
			     uint32_t taxon, const kh_result_bufs *to);

#endif
