/* feed_in.h - what the parts of the feed share */
#ifndef KH_SEQIO_FEED_IN_H
#define KH_SEQIO_FEED_IN_H

#include <pthread.h>
#include "seqio/feed.h"
#include "seqio/reader.h"
#include "base/order.h"
#include "io/source.h"
#include "io/together.h"

/* Array elements left free in front of a block's records: the record that straddles the start of
 * the block is known only when this is committed, and gets one without moving the others. */
enum { FEED_FREE = 4 };
/* A longer rest of a block is not copied in front of the next one, which is appended to it. */
enum { FEED_SLACK = 1 << 18 };
/* Blocks are so many times as large where FASTQ records are longer than a block. */
enum { FEED_LARGER = 4 };

/* An open file; blocks whose bytes are still to be read from it hold it, too. */
struct feed_input {
	kh_source *src;
	unsigned refs;
	/* The text of a small gzip file, which one thread inflates (feed_ahead.c).  Guarded by the
	 * lock of the stream, but for that thread. */
	struct feed_whole {
		enum { FEED_NOT_WHOLE, FEED_WANTED, FEED_INFLATING, FEED_THERE } state;
		char *p;
		size_t n, cap;
		size_t at;      /* the text in front has been given to blocks */
		bool end;       /* the file has no more */
		kh_err bad;     /* the error behind the text, if code is not 0 */
	} whole;
};

struct feed_block;

/* Brings the bytes that a block has taken from its stream, without the lock of that.  A failure of
 * the file goes to b->bad. */
typedef int feed_fetch_fn(kh_feed *f, struct feed_block *b, kh_err *err);

struct feed_block {
	kh_block pub;
	kh_parsed parsed;           /* what was parsed ahead, from rec[FEED_FREE] on */
	size_t first;           /* of parsed.rec; when it is committed, FEED_FREE or less */
	char *buf;              /* the text; raw bytes are buf[raw..end) */
	size_t cap, raw, end;
	size_t want;            /* number of raw bytes, */
	uint64_t at;            /* and their offset in `in`, if ranges of it are read */
	feed_fetch_fn *fetch;
	struct feed_input *in;
	size_t from, n_from;    /* bytes of in->whole that are the text */
	kh_bgzf_run run;
	kh_gz_part part;
	unsigned refs;          /* under the lock */
	bool file_start;
	bool past;              /* the stream had ended */
	char format;            /* of the stream, as far as it was known, or 0 */
	kh_err bad;             /* the error that ends the bytes; code 0: none */
	bool sliced;            /* the text of parsed records is not there (feed_slices.c) */
	/* set when it is committed: */
	struct {
		kh_job *v;      /* the jobs that this block completes */
		size_t n, cap;
	} jobs;

	bool ahead;             /* parsed from `boundary` to `stop` */
	bool odd; /* only the sequential parse can judge what is at `stop` */
	size_t boundary, stop;
	kh_position position;   /* of `stop`, counted from `boundary` */
	struct {
		uint64_t *v;    /* by feed_mate, beside parsed.rec */
		size_t cap, n;  /* n of them are valid, from FEED_FREE on */
	} mate;
	/* parsed ahead in pieces, and also [raw, boundary), as if inside a record: `head` */
	bool pieces;
	struct {
		bool good;
		kh_position position;
		size_t stop, n; /* and the number of its records */
	} head;
};

struct feed_text {              /* a buffer for text */
	char *buf;
	size_t cap;
};

/* A FASTA record that spans blocks: the part of it in the blocks that are committed. */
struct feed_long {
	bool is;
	kh_record rec;          /* offsets into `text`; len: bases so far */
	char *text;             /* or its header line alone, if the caller looks at names only */
	size_t n, cap;
	kh_parsed seq;          /* bases, from word 0 on */
};

/* A hash of the name that mates share, with the number of the mate, 1 or 2, or 0 if unknown, in its
 * two lowest bits.  So one comparison of numbers judges the names and the mates. */
enum { FEED_MATE = 3 };
static inline uint64_t feed_mate(uint64_t hash, unsigned number)
{
	return (hash & ~(uint64_t)FEED_MATE) | number;
}
static inline bool feed_same_names(uint64_t a, uint64_t b) { return (a ^ b) <= FEED_MATE; }
/* Do both say that they are first mates, or second ones? */
static inline bool feed_same_mate(uint64_t a, uint64_t b)
{
	return (a & FEED_MATE) != 0 && ((a ^ b) & FEED_MATE) == 0;
}

/* Is each mate where the other one is expected? */
static inline bool feed_swapped(uint64_t a, uint64_t b)
{
	return (a & FEED_MATE) == 2 && (b & FEED_MATE) == 1;
}

struct feed_wait {              /* records that wait for their mates */
	struct feed_block *b;
	size_t from;
};

struct feed_digest {
	uint64_t value;
	bool known;
};

struct feed_stream {
	const char *const *path;
	size_t n_path;
	kh_queue *pool;
	struct feed_block *block;
	/* under the lock: */
	uint64_t n_drawn;       /* blocks that have been taken to be read */
	bool ended;             /* nothing is left to be read */
	uint64_t n_rec;         /* records of committed blocks */
	uint64_t n_committed;   /* blocks */
	/* FASTQ, and the block committed last had at most one record a block_size */
	bool long_records;
	bool whole;             /* blocks are not read in slices any more */
	size_t slack;           /* bytes to leave free in front of the text */
	char format;            /* of the file whose block was committed last */
	struct {                /* where it is read */
		pthread_mutex_t lock;   /* guards all of this */
		size_t file;
		/* the name of the first file in messages, if it is not read from its start */
		char *part;
		struct feed_input *in;
		struct feed_input **ahead;      /* the next files, which are open already */
		size_t n_ahead;
		pthread_cond_t inflated;        /* one of them, or `in` */
		uint64_t at;
		bool fresh;             /* the next block is the first of its file */
		struct feed_digest *digest;     /* of each file */
	} read;
	/* used in order, while a block is committed: */
	kh_position position;   /* of the carry, the rest of the blocks before */
	struct {
		char *p;
		size_t n, cap;
		size_t tried;   /* its length when it was last found incomplete */
	} carry;
	bool distrust;          /* the last boundary was not the start of a record */
	bool walked;            /* the carry is the rest of a parse of whole records */
	struct feed_long open;  /* FASTA: the last record of the block before, if it goes on */
	struct feed_long closed;/* a record that has ended, while it is put into a block */
	struct {
		uint64_t *v;    /* records a file, */
		size_t files;   /* of so many */
	} counted;
	bool finished, failed;
	kh_err err;
	struct {
		struct feed_wait *v;
		size_t n, head;
	} wait;
};

struct kh_feed {
	kh_feed_options o;
	kh_monitor *m;          /* of the run */
	kh_order *order;        /* the order in which blocks are committed */
	unsigned n_streams;
	size_t n_blocks;        /* of each */
	double patience;        /* as kh_feed_options has it */
	struct feed_stream st[2];
	struct feed_parsed *parsed;     /* feed_parsed.c; NULL: no device may parse */
	pthread_mutex_t lock;   /* held for a few instructions */
	/* under the lock: */
	/* buffers of dropped texts; the last one was used last */
	struct feed_text *spare;
	size_t n_spare;
	struct feed_text *slice_text;   /* for slices, not in use now; the last was used last */
	size_t n_slice_text;
	uint64_t n_ticket;
	int dry;                /* 1 + the stream whose last read gave nothing, or 0 */
	uint64_t done, total;
	uint64_t stood;         /* `done` when await() last looked, */
	double since;           /* and since when it has been that */
	/* used in order, while a block is committed: */
	uint64_t n_job, n_frag, n_swapped;
	int orphan;             /* 1 + the stream that has more records than the other, or 0 */
	size_t orphan_file;
	char orphan_name[80];
};

/* --- feed_block.c ---
 * The name of a file in messages. */
const char *feed_file_name(const struct feed_stream *st, size_t file);
/* Makes the text hold n raw bytes with `front` free in front; keeps what is there. */
int feed_reserve(struct feed_block *b, size_t front, size_t n, kh_err *err);
/* The text has moved up by `by` (modulo 2^64). */
void feed_shift(struct feed_block *b, size_t by);
/* Notes that n bytes were put in front of a block, so that the next blocks have that room from the
 * start. */
void feed_keep_slack(kh_feed *f, struct feed_stream *st, size_t n);
/* Count and end a use of the file, which is closed with the last one. */
void feed_input_hold(kh_feed *f, struct feed_input *in);
void feed_input_drop(kh_feed *f, struct feed_input *in);
/* The block holds the input that its bytes are still to be brought from; and not any more. */
void feed_block_hold(kh_feed *f, struct feed_block *b, struct feed_input *in);
void feed_block_leave(kh_feed *f, struct feed_block *b);
/* Bytes [from, from + n) of the block's range of its file. */
struct feed_range {
	size_t from, n;
};
int feed_read_range(const kh_feed *f, const struct feed_block *b, char *to,
		    const struct feed_range *r, kh_err *err);
/* Reads the whole text of a block that was read in slices, so that the offsets of its records are
 * right; no other thread may look at its names then. */
int feed_text_again(const kh_feed *f, struct feed_block *b, kh_err *err);
/* Makes the missing hashes of names (feed_mate), by which mates are compared when blocks are
 * committed. */
int feed_hash_names(const kh_feed *f, struct feed_block *b, kh_err *err);
/* Empties a block that nobody uses; the caller then has its one use. */
int feed_block_begin(kh_feed *f, struct feed_block *b, kh_err *err);
void feed_block_free(kh_feed *f, struct feed_block *b);
/* Count and end a use of the block, which goes back to its stream with the last one. */
void feed_ref(kh_feed *f, struct feed_block *b);
void feed_unref(kh_feed *f, struct feed_block *b);
/* Leaves its text buffer, still in the caches, to the block that is read next. */
void feed_drop_text(kh_feed *f, struct feed_block *b);

/* --- the parts, each calling only what is above it; but feed_ahead.c opens files and counts bytes
 * by feed_read.c --- */
/* feed_slices.c: is this block to be read in slices? */
bool feed_in_slices(kh_feed *f, const struct feed_block *b);
/* Reads and parses it in slices. 1; 0: it is to be read and parsed as a whole; < 0. */
int feed_slices(kh_feed *f, struct feed_block *b, kh_err *err);
/* feed_ahead.c; the caller holds the lock of the stream.
 * Finds out whether a file that was opened is to be inflated as a whole. */
void feed_ahead_look(kh_feed *f, const struct feed_stream *st, struct feed_input *in);
/* 1: a file was inflated, or waited for, without the lock; 0: the text of st->read.in is there, or
 * is not inflated as a whole. */
int feed_ahead_do(kh_feed *f, struct feed_stream *st);
/* The next file, if it is open; else NULL. */
struct feed_input *feed_ahead_next(struct feed_stream *st);
/* Gives the block the next bytes of the text of st->read.in, to be copied; behind the last one, the
 * end of the file, or its error. */
int feed_ahead_take(kh_feed *f, struct feed_stream *st, struct feed_block *b, kh_err *err);
/* feed_read.c: opens file number `file` of a stream. */
int feed_open(kh_feed *f, const struct feed_stream *st, size_t file, struct feed_input **in,
	      kh_err *err);
/* Counts bytes that were read, for kh_feed_progress. */
void feed_count_read(kh_feed *f, uint64_t n);
/* Gives the block its ticket, and reads its raw bytes. */
int feed_read(kh_feed *f, struct feed_block *b, kh_err *err);
/* Opens the next file of a stream; and calls kh_source_next_step for that file.  The caller holds
 * the lock of the stream. */
int feed_open_next(kh_feed *f, struct feed_stream *st, kh_err *err);
int feed_ask(kh_feed *f, struct feed_stream *st, kh_gz_step *step, kh_err *err);
/* Does that step, outside the lock that the caller holds. */
void feed_do(kh_feed *f, struct feed_input *in, const kh_gz_step *step, pthread_mutex_t *held);
/* feed_parse.c: parses the block ahead, before the blocks before it are known. */
int feed_parse(kh_feed *f, struct feed_block *b, kh_err *err);
/* feed_long.c: makes whole records of the pieces in [from, to) of a block's text.  `whole`: the
 * last record ends at `to`; otherwise it is kept for the next block. */
typedef struct feed_span {
	size_t from, to;
	bool whole;
} feed_span;
int feed_long_records(kh_feed *f, struct feed_block *b, const feed_span *s, kh_err *err);
void feed_long_free(struct feed_long *l);
/* feed_join.c: called in the order of blocks. Sets the records of the block, also on failure. */
int feed_join(kh_feed *f, struct feed_block *b, kh_err *err);

/* feed_parsed.c */
int feed_parsed_open(kh_feed *f, kh_err *err);
void feed_parsed_close(kh_feed *f);
void feed_parsed_release(kh_feed *f, const kh_parsed_there *t);

/* feed_pairs.c: for an interleaved block that ends in a failure: checks the pairs before that. */
int feed_check_pairs(kh_feed *f, kh_block *p, kh_err *err);
/* Called in the order of blocks: puts the jobs that this block has completed into b->jobs. */
int feed_make_jobs(kh_feed *f, struct feed_block *b, kh_err *err);

#endif
