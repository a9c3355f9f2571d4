/*
 * backend.h - the functions of a device that classifies: the CPU, or GPUs
 *
 * The CPU backend is the specification; every other one gives the same bytes. Each backend is one
 * table of functions, chosen once; what it opens is opaque.  The table has three parts: classifying
 * (here), what is counted of a sample meanwhile (census.h), and inflating and parsing files of
 * reads (io/inflater.h).
 *
 * Example, a worker with tasks a, b, c and a depth of 2: submit a, submit b, collect a, submit c,
 * collect b, collect c.  A GPU does b while the worker makes lines of a.  The CPU has a depth of 1
 * and does a task in submit.
 */
#ifndef KH_CLASSIFY_BACKEND_H
#define KH_CLASSIFY_BACKEND_H

#include "classify/census.h"
#include "classify/devices.h"
#include "classify/align.h"
#include "classify/answer.h"
#include "classify/distinct.h"
#include "classify/kraken.h"
#include "io/inflater.h"
#include "translated/rule.h"

/* A database on the devices: shared, immutable. */
typedef struct kh_engine kh_engine;

typedef struct kh_engine_options {
	const kh_rule *rule;
	kh_devices on;
	uint64_t input;                 /* bytes of files with reads to come, as far as known */
	/* fragments that the rule leaves uncalled are to be looked at by translated seeds, as far
	 * as the engine can do that by itself: kh_task.genus */
	bool translate;
	bool features;                  /* those that are found are wanted: kh_task.distinct */
	/* queues that will be opened, for which memory is needed, and bytes of text in a task of
	 * theirs; 0: as many as suit */
	unsigned queues;
	size_t block_size;
} kh_engine_options;

#define KH_ON_HOST (UINT32_MAX - 1)     /* in place of a taxon */

/* A job as a queue sees it: input, and space for results. */
typedef struct kh_task {
	const kh_job *job;
	kh_call *call;                  /* job->n of them */
	kh_distinct *distinct;          /* or NULL: no feature counts wanted */
	/* of a database of Kraken 2: what k-mers were called, or NULL: not wanted */
	kh_k2_runs *runs;
	/* with `distinct`: NULL, or these count, and `distinct` gets what does not fit there */
	kh_counters *counters;
	/* job->n of one of these, as the rule wants (kh_rule.want), or NULL: not wanted */
	kh_candidates *candidates;
	kh_second *second;
	/* on the CPU: where fragments lie, or NULL: not wanted */
	kh_alignments *aligned;
	kh_answer *answers;             /* alike: what the database says, for others */
	const kh_answer *known;         /* alike: what is known, by volumes of the database */
	/* NULL, or where fragments are counted; then candidates are filled only if some are left to
	 * the host, as those are with a class that translated seeds may call (like) */
	kh_census *census;
	/* with a census, job->n of them: the class of each, as its number in the bank, or
	 * KH_NO_CLASS, or KH_UNCOUNTED; filled if wanted, and if some are left */
	uint32_t *class_of;
	bool classes_wanted;
	bool left;                      /* result: some fragments are left to the host */
	/* result: NULL, or job->n of what translated seeds say of fragments without a call
	 * (translated/graded.h), or KH_ON_HOST: the host is to look at it.  Lent by the queue until
	 * the next task is submitted. */
	const uint32_t *genus;
	/* job->n of these, or NULL: not wanted; of fragments without a call, what translated seeds
	 * say; else KH_NO_TAXON is said.  kh_tasks fills them. */
	kh_likeness *like;
} kh_task;

typedef struct kh_task_queue kh_task_queue;     /* one worker's tasks */

struct kh_backend {
	const char *name;
	/* What it can do. */
	/* it works on the cores of the host, with the index where kh_db has mapped it */
	bool on_host;
	/* the table of functions for databases of Kraken 2, which may be this one; NULL: none */
	const kh_backend *kraken;
	/* it fills candidates and second-best taxa; otherwise no task may ask for them */
	bool candidates;
	bool loads;     /* engine_open reads the index from the file: it checks one that
			 * kh_db_open left unchecked */
	/* bytes of text in a block of long sequences, and of reads, that suit it; 0: any */
	size_t block_size, read_block_size;
	/* of an accelerator; 0: it cannot be used, and *why has the reason, if one is known */
	int (*n_devices)(kh_err *why);

	kh_census_functions census;
	kh_counters_functions counters;

	/* Inflating gzip files; inflate NULL: the host does it. */
	const kh_inflater_functions *inflate;
	int (*inflater_open)(kh_inflater **z, const kh_devices *on, kh_err *err);
	void (*inflater_close)(kh_inflater *z);

	int (*engine_open)(kh_engine **e, const kh_db *db, const kh_engine_options *o,
			   kh_err *err);
	void (*engine_close)(kh_engine *e);
	/* block_size: bytes of text of the blocks to come, as far as known. */
	int (*queue_open)(kh_task_queue **q, kh_engine *e, unsigned worker, size_t block_size,
			  kh_err *err);
	void (*queue_close)(kh_task_queue *q);
	/* submit takes a task and may return before it is done; collect gives tasks back in
	 * the order of submit (NULL: none is left).  At most `depth` tasks may be under way; one
	 * whose submit fails is not.  collect sets *t also if that task failed: so it is given
	 * back. */
	unsigned depth;
	int (*submit)(kh_task_queue *q, kh_task *t, kh_err *err);
	int (*collect)(kh_task_queue *q, kh_task **t, kh_err *err);
	/* NULL, or whether tasks of calls alone may have jobs that the inflater's device has
	 * parsed (kh_job.there). */
	bool (*takes_parsed)(const kh_engine *e);
};

extern const kh_backend kh_backend_cpu;
extern const kh_backend kh_backend_cuda;        /* only if HAVE_CUDA */

#endif
