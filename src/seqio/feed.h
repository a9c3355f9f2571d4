/*
 * feed.h - from input files to jobs: blocks of parsed records, paired up, in order
 *
 * Every input is cut into blocks of bytes at arbitrary places.  Each worker takes a block, guesses
 * the first record boundary in it, and parses the whole records from there on (speculation).  Then
 * blocks are committed in order: the rest of the block before is put in front of this one.  If the
 * text up to the boundary is not exactly whole records, the guess was wrong, and the block is
 * parsed again from the last proven boundary.  So the records are always those of a sequential
 * parse (induction over blocks), and speculation decides only the speed.
 *
 * Example: "@a\nACGT\n+\nIIII\n@b\nGG\n+\nII\n" is cut behind "AC".  In the second block a worker
 * finds an '@' line with a '+' line two below, at byte 10, and parses b: 2 bases, in word 0.  When
 * the block is committed, the first block's 5 bytes and these 10 are exactly one record: a, 4
 * bases, in word 1.  The second block then has two records, a and b.
 *
 * FASTA is parsed in pieces, unless mates are interleaved: "\n>" begins a record anywhere, and the
 * text in front of it continues a sequence.  So a record that spans blocks, such as a chromosome,
 * is parsed by several workers.  Pieces are put together when blocks are committed, unless the
 * caller wants pieces.
 *
 *	kh_feed_next     -> block        (any thread; 0: no more)
 *	kh_feed_commit   -> jobs         (the block's records are final; the jobs that it completes)
 *	kh_feed_release, kh_feed_release_job    (the block, or those of the job, may be used again)
 */
#ifndef KH_SEQIO_FEED_H
#define KH_SEQIO_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/msg.h"
#include "base/threads.h"
#include "io/inflater.h"

/* A FASTQ record of so many bases or more gets an error rate by its qualities: `errors`. */
#define KH_LONG_READ 1000

enum {
	KH_REC_CONTINUES = 1    /* pieces: continues the record of the block before */
};

/* One record, or in pieces mode a part of one.  Offsets are into its block.  Example:
 * "@r1 1:N\nACGN\n+\nIIII\n" from byte 100 on has text 100, text_len 20, name 101, name_len 6,
 * id_len 2 and len 4; the bit of its fourth base in `amb` is set. */
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
	/* of KH_LONG_READ bases or more, with its qualities in one line: 1 + 2^24 times the mean
	 * error probability of every 16th base; else 0 */
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
	size_t n_words;         /* 32-base words in use, those of `front` included */
	kh_record *rec;
	size_t n_rec;
	bool errors;            /* some record has `errors` */
	uint64_t first;         /* number of rec[0] in its stream */
	void *user;             /* the caller's; set before the block is committed */
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
	/* NULL, or the fragments that a device has parsed; then there are no blocks */
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

/* One side of a job, its part of one of its blocks: n records, and the words that they are packed
 * in. */
typedef struct kh_job_side {
	const kh_block *block;          /* NULL: none */
	const kh_record *rec;
	size_t n;
	uint64_t from, to;              /* 32-base words */
} kh_job_side;

/* `mate`: 0, or 1: the second mates of two files. */
kh_job_side kh_job_side_of(const kh_job *j, int mate);

#define KH_BLOCK_SIZE ((size_t)1 << 20)
/* Bytes of text that are inflated ahead of one small gzip file, at most (and up to 1 MiB more), for
 * as many files as there are threads (feed_ahead.c). */
#define KH_FEED_AHEAD ((size_t)16 << 20)
/* Compressed bytes of a small file, at most.  A device, or all threads, inflate a larger one. */
#define KH_FEED_SMALL ((size_t)4 << 20)

/* The part of a record's text that the caller reads; the less, the faster.  Without KH_FEED_ALL,
 * plain FASTQ files are read in slices that stay in the caches (feed_slices.c). */
enum kh_feed_text {
	KH_FEED_ALL,
	/* header lines: `text` of records is undefined.  Of a FASTA record that spans blocks only
	 * the header line is kept, and text_len is its length */
	KH_FEED_NAMES,
	/* nothing: `text` of blocks is undefined.  The next block is read into the same buffer
	 * while that is in the caches */
	KH_FEED_BASES
};

/* Bases that count as ambiguous besides the letters in scan.h. */
typedef struct kh_mask {
	bool u;                         /* U, which otherwise is T */
	unsigned char quality;          /* of FASTQ: bases of a lower quality ('!' is 0) */
} kh_mask;

typedef struct kh_feed_options {
	const char *const *path[2];     /* "-": standard input.  Borrowed */
	size_t n_path[2];               /* [1] 0, or as many as [0] */
	bool interleaved;
	kh_mask mask;
	bool no_mate_check;
	bool allow_no_eof;              /* BGZF without its EOF block */
	/* seconds without input from one file of mates, while the other has some, before the run
	 * fails; 0: no limit */
	double patience;
	bool pieces;                    /* FASTA only; a record may span blocks */
	size_t block_size;              /* bytes of text a block; 0: KH_BLOCK_SIZE */
	enum kh_feed_text text;
	unsigned workers;               /* threads that take blocks; 0: as many as there are CPUs */
	unsigned held;                  /* blocks that a worker may hold when it takes another */
	/* threads that may inflate gzip streams together; fewer than 3 a stream: one at a time */
	unsigned threads;
	kh_inflate_by inflate;          /* a device that inflates large gzip files */
	bool parse;                     /* the device may parse them, too: kh_feed_parsed; */
	bool parse_plain;               /*   and large plain files */
	bool digests;                   /* kh_feed_digest will be called */
	/* pieces, plain files: the first file is read from byte `from` on, where a record must
	 * begin, the last one up to byte `to` (0: its end) */
	uint64_t from, to;
	/* pieces: bases of room in front of the first piece, a multiple of 32, that the feed leaves
	 * to the caller */
	size_t front;
	/* NULL, or called when the records of a block are final, in the order of blocks, by one
	 * thread at a time; its failure ends the run */
	int (*committed)(void *arg, kh_block *b, kh_err *err);
	void *arg;
} kh_feed_options;

/* How many blocks each stream has. */
size_t kh_feed_blocks(const kh_feed_options *o);

typedef struct kh_feed kh_feed;

/* Checks all inputs that can be read without consuming them: a file that is missing, unreadable or
 * of a foreign format fails here.  Each is opened when it is to be read. */
int kh_feed_open(kh_feed **f, const kh_feed_options *o, kh_monitor *m, kh_err *err);
void kh_feed_close(kh_feed *f);

/* Jobs that a device has parsed from files that it inflates; their records stay there.  Each worker
 * calls this before kh_feed_next, until it returns 0; or none does.  1: *job, to be released;
 * KH_FEED_LATER: none at present, and `wait` is false; 0: the rest comes as blocks; < 0.  A worker
 * may wait only if it holds no such job.  If names are wanted, k is that of the k-mers counted in
 * kh_parsed_fragment. */
#define KH_FEED_LATER 2
int kh_feed_parsed(kh_feed *f, uint32_t k, bool wait, kh_job *job, kh_err *err);
int kh_feed_next(kh_feed *f, kh_block **b, kh_err *err);        /* 1, 0: end, < 0 */
/* The same, but 0 also if all blocks are in use.  A caller that holds a block that is put, but not
 * committed, must not wait in kh_feed_next: that may wait for this very block. */
int kh_feed_try(kh_feed *f, kh_block **b, kh_err *err);
/* The jobs that a block has completed: lent until the block is released. */
typedef struct kh_jobs {
	const kh_job *job;
	size_t n;
} kh_jobs;
/* Waits until b and all blocks before it are committed. Then the records of b are final, mates are
 * checked, and *jobs has the jobs that b has completed (none in pieces mode). Each job holds its
 * blocks; the caller holds b besides. If the input or another worker fails, returns the first error
 * of the run. */
int kh_feed_commit(kh_feed *f, kh_block *b, kh_jobs *jobs, kh_err *err);
/* The same in two steps, so that a caller can read one more block rather than wait.  kh_feed_put
 * hands b in; the thread that hands in the last missing block before it commits both (1: b is
 * committed; 0: not yet; < 0).  kh_feed_jobs waits for that. */
int kh_feed_put(kh_feed *f, kh_block *b, kh_err *err);
int kh_feed_jobs(kh_feed *f, kh_block *b, kh_jobs *jobs, kh_err *err);
void kh_feed_release(kh_feed *f, kh_block *b);          /* once for each hold */
void kh_feed_release_job(kh_feed *f, const kh_job *j);

/* When all has been read: the digest (XXH3) of the bytes of path[mate][file].  False: unknown, as
 * the file was not read in order, such as a plain file, or one that a device inflated. */
bool kh_feed_digest(const kh_feed *f, unsigned mate, size_t file, uint64_t *digest);

/* When all has been read: pairs in which the name of the first mate says 2 and that of the second
 * one says 1. */
uint64_t kh_feed_swapped(const kh_feed *f);

/* Bytes read and, where known, to be read: for progress. */
void kh_feed_progress(kh_feed *f, uint64_t *done, uint64_t *total);

#endif
