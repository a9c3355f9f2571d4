/*
 * feed.h - from input files to jobs: blocks of parsed records, paired up, in order
 *
 * Every input is cut into blocks of bytes at arbitrary places.  Each worker takes a
 * block, parses what lies between the first and the last record boundary that it can
 * find in it (speculation).  Then the blocks are committed in order: what is left of the
 * block before is joined with the head of this one.  If that joined text is not exactly complete
 * records, the speculation was wrong and the rest of the file is parsed in order by
 * the general parser.  So the records are always those of a sequential parse
 * (induction over blocks), and speculation decides only the speed.
 *
 * Example: ">a\nACGT\n>b\nGG\n" is cut into ">a\nAC" and "GT\n>b\nGG\n".  A worker finds "\n>" in
 * the second block and parses b.  When this is committed, "GT\n" is put behind ">a\nAC": record a.
 *
 * FASTA is parsed in pieces, so that a record that spans blocks, a contig or a chromosome, is
 * parsed by as many workers: "\n>" begins a record wherever it stands, and what is in front of it
 * continues a sequence.  Pieces are put together when blocks are committed, unless the caller
 * wants them as they are.
 *
 *	kh_feed_next    -> block         (any thread; 0: no more)
 *	kh_feed_commit  -> jobs          (its records are final, and the jobs that it completes)
 * kh_feed_release (the block or job may be used again)
 */
#ifndef KH_SEQIO_FEED_H
#define KH_SEQIO_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"
#include "io/inflater.h"

/* Errors of records of so many bases or more are estimated from their qualities. */
#define KH_LONG_READ 1000

enum {
	KH_REC_CONTINUES = 1    /* pieces: continues the record of the block before */
};

/* One record, or in pieces mode a part of one.  Offsets are into its block. */
typedef struct kh_record {
	uint64_t name;          /* text: behind '>' or '@', to the end of the line */
	uint64_t text;          /* text: the whole record, from its '>' or '@' */
	uint64_t text_len; /*   to its last line's end; without the newline if at end of file */
	uint64_t seq;           /* packed: first base (a multiple of 32) */
	uint64_t len;           /* bases */
	uint32_t name_len;      /* the header line from its first word on; CR cut */
	uint32_t id_len;        /* its first word */
	uint32_t flags;
	uint32_t fastq;         /* 1: FASTQ */
	/* of a long one with qualities in one line: 1 + 2^24 times the share of wrong bases that
	 * these tell, by every 16th; else 0 */
	uint32_t errors;
} kh_record;

/* Owned by the feed; lent from kh_feed_next to kh_feed_release. */
typedef struct kh_block {
	uint64_t ticket;        /* order in which blocks are committed, over all streams */
	unsigned stream;        /* 0, or 1: the mates */
	unsigned file;          /* index in path[stream] */
	bool file_end;          /* the last block of its file (may be empty) */
	char *text;
	uint64_t *bases;        /* packed as kmer.h says */
	uint32_t *amb;
	size_t n_words;         /* 32-base words in use, pieces mode: counted from 0 with `front` */
	kh_record *rec;
	size_t n_rec;
	bool errors;            /* some record has `errors` */
	uint64_t first;         /* number of rec[0] in its stream */
	void *user;             /* the caller's, who sets it before the block is committed */
	void *priv;             /* the feed's own */
} kh_block;

/* A run of fragments (reads, or pairs) in input order: fragment i has the record
 * block[0]->rec[from[0] + i], and block[1]->rec[from[1] + i] as its mate; interleaved:
 * block[0]->rec[from[0] + 2 * i] and the one behind it. */
typedef struct kh_job {
	uint64_t ticket;        /* 0, 1, 2, ... without gaps */
	uint64_t first;         /* number of its first fragment in the run */
	size_t n;               /* fragments, > 0 */
	kh_block *block[2];     /* [1] NULL unless two files */
	size_t from[2];
	bool interleaved;
	/* or: fragments that a device has parsed, and no blocks (kh_feed_parsed) */
	const kh_parsed_there *there;
} kh_job;

/* Records of fragment i and the blocks they lie in; [1] is NULL without a mate. */
static inline void kh_job_records(const kh_job *j, size_t i, const kh_block *b[2],
				  const kh_record *r[2])
{
	b[0] = j->block[0];
	b[1] = j->interleaved ? j->block[0] : j->block[1];
	r[0] = &b[0]->rec[j->from[0] + (j->interleaved ? 2 * i : i)];
	r[1] = j->interleaved ? r[0] + 1 : b[1] ? &b[1]->rec[j->from[1] + i] : NULL;
}

/* Bases of fragment i, and of all. */
static inline uint64_t kh_job_fragment(const kh_job *j, size_t i)
{
	const kh_block *b[2];
	const kh_record *r[2];

	if (j->there)
		return j->there->len[i];
	kh_job_records(j, i, b, r);
	return r[0]->len + (r[1] ? r[1]->len : 0);
}

static inline uint64_t kh_job_bases(const kh_job *j)
{
	uint64_t bases = 0;

	for (size_t i = 0; j->there && i < j->n; i++)
		bases += j->there->len[i];
	for (int mate = 0; mate < 2 && j->block[mate]; mate++) {
		const kh_record *r = j->block[mate]->rec + j->from[mate];
		const size_t n = j->interleaved ? 2 * j->n : j->n;

		for (size_t i = 0; i < n; i++)
			bases += r[i].len;
	}
	return bases;
}

/* What a job reads of one of its blocks: n records, and the words they are packed in. */
typedef struct kh_job_part {
	const kh_block *block;          /* NULL: none */
	const kh_record *rec;
	size_t n;
	uint64_t from, to;              /* 32-base words */
} kh_job_part;

/* `mate`: 0, or 1: the second mates of two files. */
kh_job_part kh_job_part_of(const kh_job *j, int mate);

#define KH_BLOCK_SIZE ((size_t)1 << 20)
/* Bytes of text that each thread may hold, and a step more, of small gzip files to come. */
#define KH_FEED_AHEAD ((size_t)16 << 20)
/* Compressed bytes of a small one; larger ones are for a device, or all threads. */
#define KH_FEED_SMALL ((size_t)4 << 20)

/* What the caller will look at of a record's text; the less, the faster.  Plain files of FASTQ are
 * read in slices that stay in the caches if it is not all. */
enum kh_feed_text {
	KH_FEED_ALL,
	/* header lines: `text` of records is undefined, and of a record of FASTA that spans blocks
	 * its header line is kept, and text_len says so */
	KH_FEED_NAMES,
	/* nothing: `text` of blocks is undefined.  Where it was, the next block is read, while that
	 * place is in the caches */
	KH_FEED_BASES
};

/* Which bases are ambiguous besides those that scan.h says. */
typedef struct kh_mask {
	bool u;                         /* U, which otherwise is T */
	unsigned char quality;          /* of FASTQ: those of a lesser quality ('!' is 0) */
} kh_mask;

typedef struct kh_feed_options {
	const char *const *path[2];     /* "-": standard input.  Borrowed */
	size_t n_path[2];               /* [1] 0, or as many as [0] */
	bool interleaved;
	kh_mask mask;
	bool no_mate_check;
	bool allow_no_eof;              /* BGZF without its EOF block */
	/* seconds that one of two files may keep the other waiting before the run fails; 0: for
	 * ever */
	double patience;
	bool pieces;                    /* FASTA only; a record may span blocks */
	size_t block_size;              /* bytes of text a block; 0: KH_BLOCK_SIZE */
	enum kh_feed_text text;
	unsigned workers;               /* threads that take blocks; 0: as many as there are CPUs */
	unsigned held;                  /* blocks that one of them may hold when it takes another */
	/* workers that may inflate a gzip stream together; 0: one at a time */
	unsigned threads;
	kh_inflate_by inflate;          /* a device that inflates large gzip files */
	bool parse;                     /* it may parse them, too: kh_feed_parsed */
	bool digests;                   /* kh_feed_digest will be asked */
	/* pieces: read the first file from this byte on, where a record must begin, and the last
	 * one up to the other (0: all); only of plain files */
	uint64_t from, to;
	/* pieces: room before the first piece, in bases, a multiple of 32; for the caller, the
	 * feed does not write there */
	size_t front;
	/* NULL, or called when the records of a block are final, in the order of blocks, by one
	 * thread at a time; its failure ends the run */
	int (*committed)(void *arg, kh_block *b, kh_err *err);
	void *arg;
} kh_feed_options;

/* The most blocks of each stream that there will be. */
size_t kh_feed_blocks(const kh_feed_options *o);

typedef struct kh_feed kh_feed;

/* Opens the inputs, and looks at each that can be looked at without consuming it: a file that is
 * missing, unreadable or of a foreign format fails here. */
int kh_feed_open(kh_feed **f, const kh_feed_options *o, kh_monitor *m, kh_err *err);
void kh_feed_close(kh_feed *f);

/* To be called by each worker before kh_feed_next, until it returns 0; or by none.  Where a device
 * inflates the files, and their records are plain, it gives jobs whose records lie on that device:
 * 1: *job, which is to be released; KH_FEED_LATER: there is none at present, if `wait` is not set,
 * which may only be if the worker holds no such job; 0: the rest is given as blocks; < 0. */
#define KH_FEED_LATER 2
int kh_feed_parsed(kh_feed *f, bool wait, kh_job *job, kh_err *err);
int kh_feed_next(kh_feed *f, kh_block **b, kh_err *err);        /* 1, 0: end, < 0 */
/* The same, but 0 also if all blocks are in use. A caller that holds a block from kh_feed_put must
 * not wait for another one, for which that one may be what is missing. */
int kh_feed_try(kh_feed *f, kh_block **b, kh_err *err);
/* The jobs that a block has completed: lent until the block is released. */
typedef struct kh_jobs {
	const kh_job *job;
	size_t n;
} kh_jobs;
/* Waits until b and all blocks before it are committed. Then its records are final, its mates are
 * checked, and *jobs has the jobs that b has completed (none in pieces mode). Each job holds its
 * blocks; the caller holds b besides. If the input or another worker fails, it returns the first
 * error of the run. */
int kh_feed_commit(kh_feed *f, kh_block *b, kh_jobs *jobs, kh_err *err);
/* The same in two steps, so that a caller can read one more block rather than wait: hands b in, to
 * be committed by whoever brings what is missing before it (1: it is committed; 0: not yet; < 0);
 * and waits until that is done. */
int kh_feed_put(kh_feed *f, kh_block *b, kh_err *err);
int kh_feed_jobs(kh_feed *f, kh_block *b, kh_jobs *jobs, kh_err *err);
void kh_feed_release(kh_feed *f, kh_block *b);          /* once for each hold */
void kh_feed_release_job(kh_feed *f, const kh_job *j);

/* When all has been read: the digest (XXH3) of the bytes of path[mate][file].  False: it is not
 * known, as the file was not read in order; plain files are not. */
bool kh_feed_digest(const kh_feed *f, unsigned mate, size_t file, uint64_t *digest);

/* When all has been read: pairs of which the first mate says that it is the second one, and the
 * second one that it is the first. */
uint64_t kh_feed_swapped(const kh_feed *f);

/* Bytes read and, where known, to be read: for progress. */
void kh_feed_progress(kh_feed *f, uint64_t *done, uint64_t *total);

#endif
