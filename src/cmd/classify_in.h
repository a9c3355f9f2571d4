/*
 * classify_in.h - inside the command classify: classify_options.c checks options and applies
 * them, classify_outputs.c names and writes reports and summaries, classify_page.c writes the
 * page, with classify_coverage.c for a part of it, classify.c has one run,
 * classify_samples.c the runs of a sheet of samples
 */
#ifndef KH_CMD_CLASSIFY_IN_H
#define KH_CMD_CLASSIFY_IN_H

#include "build/build.h"
#include "cmd/options.h"
#include "io/text.h"
#include "remote/remote.h"
#include "run/run.h"
#include "run/select.h"

/* The options as they were given. */
struct classify_values {
	kh_words references, maps, seqids, extract, exclude;
	const char *taxonomy;
	const char *db, *device, *placement;
	const char *output, *report, *json, *html, *classified, *unclassified, *col5;
	const char *samples, *outdir, *output_format;
	uint64_t threads, block_size, gpu_memory;
	double confidence;
	bool paired, interleaved, names, zero_counts, minimizer_data, mpa;
	bool no_mate_check, allow_no_eof, no_verify, verify, dry_run, keep_going, resume;
	const char *profile, *registers;
	bool sample_pass;
};

extern const kh_opt kh_classify_opts[];

/* The files of a run other than its lines and reads. */
struct classify_outputs {
	char *name[2][2];               /* classified, unclassified; mates in files of their own */
	kh_text *report, *json, *html, *profile, *registers;    /* NULL: not wanted */
};

/* Everything a run holds. */
struct classify {
	struct classify_values v;
	kh_run_options o;
	kh_words file[2];               /* inputs; with --paired [1] has the second mates */
	struct classify_outputs out;
	kh_choice choice;
	kh_monitor *m;
	kh_feed *feed;
	kh_db *db;
	kh_memory_db memory;            /* of --references */
	char **argv;                    /* the command line, ended by NULL */
	kh_select select;
	double loaded;                  /* seconds until the database was there */
	kh_results results;
	/* of a run with several processes */
	kh_comm *comm;                  /* NULL: one process */
	kh_remote *processes;
	kh_backend to_all;              /* of process 0: it sends tasks to all processes */
	kh_choice all_processes;        /* of process 0: that backend */
};

/* Checks the options and the n inputs, and fills j->o, j->file and the names of outputs. */
int kh_classify_options(struct classify *j, int n, char **input, kh_err *err);
/* Sets how the input is read; the backend has to be chosen by then. */
void kh_classify_feed_options(struct classify *j);

/* Checks the options that --samples needs and excludes. */
int kh_classify_check_samples(const struct classify *j, int n_operands, kh_err *err);
/* Runs all samples of a sheet; `load` is called once the sheet has been found right. */
int kh_classify_samples(struct classify *j, int (*load)(struct classify *j, kh_err *err),
			kh_err *err);
/* The object "run" of the summary; takes over the references to its arguments. */
struct json_t *kh_classify_record(const struct classify *j, struct json_t *inputs,
				  struct json_t *outputs);

int kh_classify_names(struct classify *j, kh_err *err);
/* Fails if an output is an input, the database, or another output. */
int kh_classify_check_files(const struct classify *j, int n, char **input, kh_err *err);
/* Called before the database is loaded, so that a folder that cannot be written to is reported at
 * once. */
int kh_classify_open_tables(struct classify *j, kh_err *err);
/* Fails unless all outputs can be made: opens them and gives them up. */
int kh_classify_try_outputs(struct classify *j, kh_err *err);
/* Writes the profile of a sample, in the format that the name of its file asks for. */
int kh_classify_profile(const struct classify *j, const char *name, const kh_results *r, kh_buf *b,
			kh_err *err);
/* Writes the contents of those files; `arg` is the struct classify. */
int kh_classify_write_tables(void *arg, kh_err *err);
void kh_classify_close_outputs(struct classify *j);

/* classify_coverage.c: what the page says of where reads lie.  To be cleared even if it fails. */
typedef struct kh_page_covered {
	struct kh_page_coverage *species;
	size_t n;
	double *identity;               /* borders of ranges */
	size_t n_identities;
	/* what these point to */
	struct kh_covered *list;
	struct kh_page_reference *reference;
} kh_page_covered;
int kh_classify_coverage(const struct classify *j, kh_page_covered *c, kh_err *err);
void kh_classify_coverage_clear(kh_page_covered *c);

/* classify_page.c: appends what --html asks for. */
int kh_classify_page(const struct classify *j, kh_buf *b, kh_err *err);
/* The same of n samples, at least 1, by their reports. */
typedef struct kh_classify_report {
	const char *sample, *path;
} kh_classify_report;
int kh_classify_samples_page(const struct classify *j, const kh_classify_report *r, size_t n,
			     kh_text *out, kh_err *err);

#endif
