/*
 * bench_in.h - inside `kmerhash-bench pipeline`: the table, and the stages of the host
 *
 *	pipeline.c    the table; runs of a stage; which device
 *	host.c        limits of the host, files in and out: of every device
 *	data.c        references in memory, reads cut from them
 *	lines.c       calls to text, text to a file: of every device
 *	stages_build.c, stages_classify.c     what the CPU does between those
 * gpu/ has the stages of a GPU.
 */
#ifndef KH_BENCH_BENCH_IN_H
#define KH_BENCH_BENCH_IN_H

#include <stdatomic.h>
#include <stdbool.h>
#include "backend/backend.h"
#include "tests/bench/program/measure.h"
#include "base/threads.h"

#define KH_BENCH_STEP ((size_t)1 << 20)
#define KH_BENCH_ROOM ((size_t)1 << 28)         /* more than caches hold */
#define KH_BENCH_BASES (UINT64_C(1) << 28)      /* of the references that stages in memory use */
#define KH_BENCH_READS (UINT32_C(1) << 17)      /* at most */
#define KH_BENCH_FILE (UINT64_C(1) << 25)       /* bytes that are written to one file, at least */

/* What a rate is compared with; 0: nothing. */
typedef struct kh_bench_limit {
	double rate;            /* units a second */
	const char *of;
} kh_bench_limit;

typedef struct kh_bench_unit {
	const char *name;
	double scale;
} kh_bench_unit;
extern const kh_bench_unit kh_unit_gb, kh_unit_bases, kh_unit_pairs, kh_unit_keys,
	kh_unit_reads, kh_unit_lines;

typedef struct kh_bench {
	const kh_bench_pipeline_options *o;
	const kh_choice *choice;
	FILE *out;
	char *folder;           /* for files: of this run, its name cannot be guessed */
	/* KH_BENCH_ROOM bytes, not all zero, allocated as the device needs it */
	char *room;
	/* the line being measured */
	double rate[KH_BENCH_RUNS], one;
	int n;
	kh_bench_limit memory, write, random;
	struct kh_bench_files *refs;
	/* threads at work */
	kh_monitor *m;
	_Atomic uint64_t next;
	uint64_t end;
} kh_bench;

/* --- the table -------------------------------------------------------------------- */
/* Adds a run to the current line: so much in so many seconds. */
void kh_bench_note(kh_bench *b, double amount, double seconds);
/* Prints the line of these runs, and returns their median in units a second. */
double kh_bench_print(kh_bench *b, const char *stage, const kh_bench_unit *unit,
		     kh_bench_limit limit);

/* --- a stage ---------------------------------------------------------------------- */
/* A run of a stage: everything `loops` times by so many threads. fn reports how much that was and
 * what seconds of it count. */
typedef struct kh_bench_pass {
	unsigned threads;
	uint64_t loops;
	double seconds;
} kh_bench_pass;
typedef int kh_bench_fn(void *arg, kh_bench_pass *p, kh_err *err);

typedef struct kh_bench_stage {
	const char *name;
	const kh_bench_unit *unit;
	double amount;          /* of one loop */
	kh_bench_limit limit;
	kh_bench_fn *fn;
	void *arg;
	/* threads do not matter here: there is no run by one thread, and no run is repeated for
	 * the clock */
	bool alone;
} kh_bench_stage;

/* Makes runs that are long enough for the clock, by all threads and then by one, and prints their
 * line. There are fewer runs if they take long. median may be NULL. */
int kh_bench_measure(kh_bench *b, const kh_bench_stage *s, double *median, kh_err *err);

/* Runs fn on p->threads, which share the numbers from 0 to p->loops times `items` - 1. */
int kh_bench_threads(kh_bench *b, kh_bench_pass *p, uint64_t items, kh_worker_fn *fn, void *arg,
		  kh_err *err);
/* Takes the next number; false: none is left. */
bool kh_bench_take(kh_bench *b, uint64_t *i);

/* --- of every device -------------------------------------------------------------- */
/* The input files, opened; they are read in steps of KH_BENCH_STEP. */
typedef struct kh_bench_files {
	const char *const *path;
	size_t n;
	bool reads;             /* not references */
	int *fd;
	uint64_t *size, steps;
	double bytes;
	kh_bench_limit read;    /* set by kh_bench_read */
} kh_bench_files;

int kh_bench_files_open(kh_bench_files *f, kh_err *err);
void kh_bench_files_close(kh_bench_files *f);
/* Opens a new file without a name, so that nothing is left of it. < 0: an error. */
int kh_bench_file(const kh_bench *b, kh_err *err);

/* Prints the lines of copying in memory, of writing one file and of random reads of 64 bytes, and
 * sets b->memory, b->write and b->random. */
int kh_bench_memory(kh_bench *b, kh_err *err);
int kh_bench_one_file(kh_bench *b, kh_err *err);
int kh_bench_random(kh_bench *b, const void *p, uint64_t bytes, kh_err *err);
/* Prints the lines of reading, and of reading, parsing and packing. */
int kh_bench_read(kh_bench *b, kh_bench_files *f, kh_err *err);
int kh_bench_parse(kh_bench *b, const kh_bench_files *f, size_t block_size, kh_err *err);
/* Writes these bytes of an index to a database file, as often as the file needs. */
int kh_bench_write_index(kh_bench *b, const void *p, size_t bytes, kh_err *err);

/* The first KH_BENCH_BASES of the references in memory, block by block. */
typedef struct kh_bench_item {
	uint64_t *bases;
	uint32_t *amb;
	kh_piece *piece;
	size_t n_words, n;
	kh_pairs pairs;         /* their pairs, in the order found; none at first */
} kh_bench_item;

typedef struct kh_bench_refs {
	kh_bench *b;
	kh_sampling sampling;
	kh_bench_item *item;
	size_t n, cap;
	uint64_t starts, bases;
	uint32_t *first;        /* bins of the sequences, and the one behind them */
	uint32_t *taxon, *species;      /* all are the root, which is one species */
	uint32_t n_seq;
} kh_bench_refs;

int kh_bench_refs_load(kh_bench_refs *r, kh_bench *b, kh_err *err);
void kh_bench_refs_clear(kh_bench_refs *r);

/* Reads of 150 bases from all over the references, as FASTQ in a file without a name and as jobs,
 * with room for their calls. */
typedef struct kh_bench_reads {
	kh_bench *b;
	int fd;
	char name[32];
	const char *path;
	kh_bench_files file;
	uint32_t reads;
	kh_monitor *m;
	kh_feed *feed;
	size_t block_size;
	kh_block **block;
	kh_job *job;
	kh_call **call;         /* by job; zeros at first */
	size_t n, cap_block, cap_job;
	size_t n_block;
} kh_bench_reads;

int kh_bench_reads_open(kh_bench_reads *r, const kh_bench_refs *refs, size_t block_size,
			kh_err *err);
void kh_bench_reads_close(kh_bench_reads *r);
/* The least that the reads need from the index: features, and the lines of 64 bytes that these are
 * looked up in. */
typedef struct kh_bench_work {
	double bases, features, lines;
} kh_bench_work;
int kh_bench_work_of(kh_bench_reads *r, const kh_db *db, kh_bench_work *w, kh_err *err);

/* Prints the lines of formatting all calls, of writing them, and of both. */
int kh_bench_lines_run(kh_bench_reads *r, const kh_db *db, kh_err *err);

/* --- devices ---------------------------------------------------------------------- */
int kh_bench_cpu(kh_bench *b, kh_err *err);
int kh_bench_build_cpu(kh_bench *b, kh_bench_refs *r, kh_err *err);
int kh_bench_classify_cpu(kh_bench *b, const kh_bench_refs *r, kh_err *err);
int kh_bench_cuda(kh_bench *b, kh_err *err);

#endif
