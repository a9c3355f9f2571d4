/*
 * format.h - text of results: a line for each fragment, reads with their taxon, and where fragments
 * lie in the references, as PAF and as SAM with the references' bases in MD
 *
 * Into buffers that grow; no stdio, no locale.
 */
#ifndef KH_RUN_FORMAT_H
#define KH_RUN_FORMAT_H

#include <stdbool.h>
#include "base/buf.h"
#include "classify/backend.h"
#include "classify/kraken.h"
#include "seqio/feed.h"
#include "taxonomy/taxonomy.h"

/* What column 5 of a line has. */
enum kh_column5 {
	KH_COLUMN5_FEATURES,            /* the call's, others, ambiguous: "562:31 0:4 A:30" */
	KH_COLUMN5_KMERS,               /* what each k-mer was called, in order: kh_task.runs */
	KH_COLUMN5_QUICK                /* "562:Q" */
};

typedef struct kh_style {
	const kh_taxonomy *tax;
	uint32_t k;
	/* which reads go to which file; NULL: classified and unclassified ones */
	const struct kh_select *select;
	bool names;                     /* "Name (taxid N)" in place of the taxid */
	/* columns more: the lineage of the taxon, the second-best taxon with its hits, the identity
	 * of the fragment with the references where it lies there */
	bool lineage, second, identity;
	enum kh_column5 column5;
	/* reads are written with their sequence in one line, with x for bases below a quality;
	 * otherwise as they were read */
	bool one_line;
	unsigned char quality;
} kh_style;

/* The outputs of a job: NULL where one is not wanted. */
typedef struct kh_result_bufs {
	kh_buf *lines;
	/* by kh_side and mate, [1] == [0] for one file; and for reads without mates */
	kh_buf *reads[2][2], *single[2];
} kh_result_bufs;

static inline kh_buf *kh_result_buf_reads(const kh_result_bufs *t, int side, int mate, bool paired)
{
	return !paired && t->single[side] ? t->single[side] : t->reads[side][mate];
}

/* The line of fragment i of a task that is done: five columns as kraken2 has them, of which the
 * last has the task's runs for KH_COLUMN5_KMERS, and what the style adds. */
void kh_format_line(kh_buf *b, const kh_style *s, const kh_task *t, size_t i);

/* The same in two steps, where the call comes later.  `id` is borrowed from the job. */
typedef struct kh_line_parts {
	const char *id;
	size_t id_len;
	bool mates;
	uint64_t len[2], ambiguous;
	const kh_k2_run *run;
	size_t n_runs;
	const kh_second *second;        /* for the style's; or NULL */
	uint64_t matches, columns;      /* of its alignments, if the style has their identity */
} kh_line_parts;
void kh_line_of(kh_line_parts *l, const kh_style *s, const kh_job *job, size_t i);
/* Its name and lengths only, of a job that has records. */
void kh_line_of_records(kh_line_parts *l, const kh_job *job, size_t i);
void kh_format_parts(kh_buf *b, const kh_style *s, const kh_line_parts *l, const kh_call *call);

/* Record r with " kraken:taxid|N" behind its name; taxid 0: as it is. Ends with a newline. */
void kh_format_read(kh_buf *b, const kh_style *s, const kh_block *blk, const kh_record *r,
		    uint32_t taxid);
/* The same of its text, as it was read, of which the first `head` bytes are the header. */
void kh_format_record(kh_buf *b, const char *text, size_t head, size_t len, uint32_t taxid);

/* --- a read as Kraken 2 writes it: one_line.c --------------------------------------------- */
/* Writes a header line of n bytes, with or without '>' or '@'.  " kraken:taxid|N" comes behind its
 * first word, where it does not become part of a SAM tag, in place of such words that it had. Needs
 * n + 24 bytes; returns the place of the next one. */
char *kh_put_header(char *to, const char *line, size_t n, uint32_t taxid);

/* Record r with such a header, unless taxid is 0; bases of a quality below `quality` are written as
 * x. */
void kh_one_line(kh_buf *b, const kh_block *blk, const kh_record *r, uint32_t taxid,
		 unsigned char quality);

/* --- where fragments lie in the references: paf.c, sam.c ---------------------------------- */
/* The lines of fragment i of a task that is done, whose alignments were wanted. */
void kh_format_paf(kh_buf *b, const kh_db *db, const kh_task *t, size_t i);

/* @SQ of the targets that reads of the selection may lie in; of all if it chooses none. */
int kh_sam_header(kh_buf *b, const kh_db *db, const struct kh_select *s, kh_err *err);
/* The lines of fragment i of a task that is done, whose alignments were wanted and whose reads have
 * their text.  `one` is a buffer for the use of this function. */
void kh_format_sam(kh_buf *b, kh_buf *one, const kh_db *db, const kh_task *t, size_t i);

#endif
