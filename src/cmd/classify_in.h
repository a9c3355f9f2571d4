/*
 * classify_in.h - the state of a run of classify, for the files of this command
 *
 * A run has a sheet of samples; reads given as operands are a sheet of one. classify_options.c
 * checks the options and applies them, bzip2.c decompresses operands, classify_sheet.c fills the
 * sheet and names the results, classify.c runs it, classify_results.c writes the results made of
 * counts, classify_page.c the page. For a table of samples, classify_samples.c skips samples that
 * are done, and logs; classify_all.c writes the results made of all samples.
 *
 * Example: `--samples t.tsv --outdir d` with the samples a and b makes d/a.tsv, d/a.report and
 * d/a.json, and the same three of b.
 */
#ifndef KH_CMD_CLASSIFY_IN_H
#define KH_CMD_CLASSIFY_IN_H

#include <sys/types.h>

#include "cmd/options.h"
#include "io/writer.h"
#include "run/profile.h"
#include "run/run.h"
#include "run/select.h"

struct kh_merge;

/* The options as they were given. */
struct classify_values {
	kh_words db, extract, exclude, join;
	const char *device, *placement, *inflate, *parse, *join_taxa, *unknown;
	struct {                        /* results */
		const char *output, *report, *json, *html, *classified, *unclassified;
		const char *profile, *paf, *sam, *candidates;
		const char *prefix, *write, *outdir;
	} out;
	struct {                        /* of samples */
		const char *samples, *check_sheet, *sample;
		bool keep_going, resume;
	} many;
	struct {
		uint64_t min_groups, min_quality;
		bool quick;
		bool kraken2;           /* end with the messages of that program */
		bool bzip2;             /* reads are decompressed by bzip2(1) */
	} kraken;
	struct {                        /* how reads are read */
		uint64_t block_size;
		bool paired, interleaved, no_mate_check, allow_no_eof;
	} reads;
	struct {                        /* columns of lines */
		bool names, lineage, second, identity;
	} line;
	uint64_t threads, gpu_memory;
	double confidence;
	bool zero_counts, distinct, mpa, no_verify, verify, sample_pass;
};

/* Do the options need alignments? */
static inline bool kh_classify_aligns(const struct classify_values *v)
{
	return v->line.identity || v->out.paf || v->out.sam;
}

extern const kh_opt kh_classify_opts[], kh_classify_settings[];
extern const kh_group kh_classify_groups[];

/* The state of a sample of the sheet. */
struct classify_sample {
	struct json_t *inputs;          /* its files, for the summary, while it runs */
	bool there;                     /* it is done, by this run or an earlier one */
};

/* A file that a program decompresses. */
struct kh_decompressed {
	char *path;                     /* owned */
	int end;                        /* of the pipe, to read from */
	pid_t pid;
};

/* Everything a run holds. */
struct classify {
	const kh_command *command;
	struct classify_values v;
	bool kraken;                    /* the database is one of Kraken 2 */
	char **argv;                    /* the command line, ended by NULL */
	kh_devices on;
	kh_inflater *inflater;          /* of on's devices, or NULL */
	kh_style style;
	kh_rule rule;
	kh_feed_options feed;
	bool paired;                    /* two files, or interleaved */
	bool said_swapped;              /* warned: by their names, the files of mates are swapped */
	kh_words made;                  /* names of results that were made here; owned */
	bool pages;                     /* table of samples: each sample has a page, too */
	kh_sheet sheet;
	struct classify_sample *sample; /* of the sheet */
	kh_errs errs;                   /* of the sheet, or of --extract and --exclude */
	kh_select select;
	kh_db *db;
	struct json_t *database;        /* its record in the summaries */
	kh_volumes *volumes;            /* the candidates that --join reads, or NULL */
	kh_compute compute;
	kh_run *run;
	kh_run_totals totals;
	double loaded;                  /* seconds until the database was loaded */
	struct kh_decompressed *decompressed;   /* files of operands */
	size_t n_decompressed;
	kh_writer *page;                /* of all samples of a table, or NULL */
	kh_writer *blanks;              /* table of comparisons with controls, or NULL */
	char *blanks_path;              /* owned */
};

/* Checks the options, and applies them. */
int kh_classify_options(struct classify *j, int n, char **input, kh_err *err);
/* Sets how the input is read, as suits the device. */
void kh_classify_feed_options(struct classify *j);

/* classify_sheet.c */
/* Names the results of --write, or the usual ones, by --prefix or the table of samples, unless an
 * option names them. */
int kh_classify_name_wanted(struct classify *j, kh_err *err);
/* Fills the sheet, from a table or from n operands, and names all results.  Fails if a result is an
 * input, the database, or another result. */
int kh_classify_sheet(struct classify *j, int n, char **input, kh_err *err);

/* bzip2.c */
/* Starts bzip2 on all operands; the sheet has pipes in their places then. */
int kh_classify_decompress(struct classify *j, kh_err *err);
/* When all has been read: fails if a file was damaged (kh_run_options.check). */
int kh_classify_decompressed(void *arg, size_t i, kh_err *err);
void kh_classify_end_decompress(struct classify *j);

/* classify_sheet.c: reads a table of samples as --samples does, and prints it as a table of sample,
 * reads1 and reads2. */
int kh_classify_check_sheet(struct classify *j, kh_err *err);

/* classify_results.c */
extern kh_write_fn *const kh_classify_write[KH_N_RESULTS];
/* The object "run" of the summary; takes over the references to its arguments. */
struct json_t *kh_classify_record(const struct classify *j, struct json_t *inputs,
				  struct json_t *outputs);

/* classify_samples.c */
/* Checks the options that --samples needs and excludes. */
int kh_classify_check_samples(const struct classify *j, int n_operands, kh_err *err);
/* begin and end of kh_run_options. */
int kh_classify_begin(void *arg, size_t i, kh_err *err);
void kh_classify_end(void *arg, size_t i, const kh_results *r, const kh_err *err);
/* The last messages. */
int kh_classify_tell_samples(const struct classify *j, int rc, kh_err *err);

/* classify_all.c: the page of all samples of a table, and their comparisons with controls, both
 * opened before any sample runs. */
int kh_classify_open_all(struct classify *j, kh_err *err);
int kh_classify_write_all(struct classify *j, kh_err *err);

/* The name of sample i, to be freed: by the table or --set sample, or else by --prefix, without
 * folders, or by the first input, without folders and endings such as .fq.gz. */
int kh_classify_sample_name(const struct classify *j, size_t i, char **name, kh_err *err);

/* classify_page.c: the page of one sample. */
int kh_classify_page(void *arg, size_t i, kh_results *r, kh_buf *b, kh_err *err);
/* Puts the page of all samples that are done, by their reports, into j->page. */
int kh_classify_samples_page(const struct classify *j, struct kh_merge *reports, kh_err *err);

#endif
