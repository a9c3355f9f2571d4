/*
 * answers.h - a file of candidates: what one volume of a collection says of all fragments of a run
 *
 *	classify --candidates	fragments -> kh_answer, in order -> blocks -> file
 *	classify --join		files -> blocks -> kh_answer of each volume -> calls (volumes.h)
 *
 * kmerhash-db(5) describes the file: a head, blocks of KH_ANSWERS_BLOCK fragments, each a block of
 * BGZF, their sizes, and a tail.  A block has its columns behind each other, as that takes four
 * fifths of the bytes of records.  Numbers are little-endian.  A fragment is recognized by its
 * name's first word and its bases.
 */
#ifndef KH_RUN_ANSWERS_H
#define KH_RUN_ANSWERS_H

#include "base/buf.h"
#include "classify/answer.h"
#include "db/db.h"
#include "io/bgzf.h"
#include "seqio/feed.h"

enum {
	KH_ANSWERS_BLOCK = 512,         /* fragments; a whole number of them in less than 65280 */
	KH_ANSWERS_GROUP = 8,           /* fragments that are recognized together */
	KH_ANSWERS_RECORD = 120,        /* bytes that one takes at most */
	KH_ANSWERS_MATES = 128          /* for one candidate: plus kh_mates_fit */
};

/* What a fragment with places has, each a column of a block. */
enum {
	KH_ANSWERS_SCORE, KH_ANSWERS_TAXON, KH_ANSWERS_HITS, KH_ANSWERS_LEVEL, KH_ANSWERS_BOUND,
	KH_ANSWERS_NEED = KH_ANSWERS_BOUND + 2, KH_ANSWERS_COLUMNS = KH_ANSWERS_NEED + 2
};

static_assert(KH_ANSWERS_BLOCK * KH_ANSWERS_RECORD <= KH_BGZF_UNIT, "they are one block of BGZF");

typedef struct kh_answers_head {
	char magic[8];
	char tool[32];                  /* the rule changes with it */
	uint64_t db;                    /* the volume: kh_db_header.self */
	uint32_t want;                  /* KH_WANT_... */
	uint32_t n_taxa;
	uint64_t sum;                   /* XXH3 of all before */
} kh_answers_head;

typedef struct kh_answers_tail {
	uint64_t fragments;
	uint64_t reads;                 /* the sum of kh_answers_hash */
	uint64_t sum;                   /* XXH3 of all bytes before */
	char magic[8];
} kh_answers_tail;

static_assert(sizeof(kh_answers_head) == 64 && sizeof(kh_answers_tail) == 32,
	      "as they are on disk");

/* What is counted of fragments. */
typedef struct kh_answers_sum {
	uint64_t reads;                 /* the sum of kh_answers_hash */
	uint64_t compared;              /* by a join, as the answers do not suffice */
} kh_answers_sum;

/* What a fragment is recognized by: its number, names and bases. */
uint64_t kh_answers_hash(const kh_job *job, size_t i);

/* --- writing ----------------------------------------------------------------------------- */
/* One thread at a time. */
typedef struct kh_answers_out kh_answers_out;

int kh_answers_out_new(kh_answers_out **w, const kh_db *db, uint32_t want, kh_err *err);
void kh_answers_out_free(kh_answers_out *w);
uint32_t kh_answers_out_want(const kh_answers_out *w);
/* Takes the next n fragments, with what is wanted beside their calls; *b gets what is to be
 * written, until the next call. */
int kh_answers_out_add(kh_answers_out *w, const kh_answer *a, const kh_beside *beside,
		       const uint64_t *hash, size_t n, const kh_buf **b, kh_err *err);
/* The end of the file; reads: the digest of all. */
int kh_answers_out_end(kh_answers_out *w, uint64_t reads, const kh_buf **b, kh_err *err);

/* --- reading ------------------------------------------------------------------------------ */
/* Any number of threads. */
typedef struct kh_answers_in kh_answers_in;

/* Opens a file and checks all of its bytes. */
int kh_answers_in_open(kh_answers_in **f, const char *path, kh_err *err);
void kh_answers_in_close(kh_answers_in *f);
const char *kh_answers_in_path(const kh_answers_in *f);
const kh_answers_head *kh_answers_in_head(const kh_answers_in *f);
const kh_answers_tail *kh_answers_in_tail(const kh_answers_in *f);

/* A block, and where it is read; zeroed, of the heap. */
typedef struct kh_answers {
	kh_answer v[KH_ANSWERS_BLOCK];
	/* of those with KH_ANSWER_ANY, as kh_answers_head.want says */
	kh_candidates candidates[KH_ANSWERS_BLOCK];
	kh_second second[KH_ANSWERS_BLOCK];
	/* of each group, the last one may be smaller: the highest bytes of the hashes, XORed */
	uint8_t check[KH_ANSWERS_BLOCK / KH_ANSWERS_GROUP];
	size_t n;
	struct kh_inflate *inflate;
	unsigned char *packed, *text;
} kh_answers;

int kh_answers_read(const kh_answers_in *f, uint64_t block, kh_answers *to, kh_err *err);
void kh_answers_free(kh_answers *a);
/* The records of a block, which is n bytes of text and has to->n fragments; false: it is none. */
bool kh_answers_decode(const kh_answers_head *head, const unsigned char *p, size_t n,
		       kh_answers *to);

#endif
