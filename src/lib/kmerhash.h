/*
 * kmerhash.h - libkmerhash: taxa of sequences that are in memory
 *
 *	cc example.c $(pkg-config --cflags --libs kmerhash)
 *
 * Calls are those of `kmerhash classify`, bit for bit, on any device and with any number of
 * threads.  kmerhash-method(7) has the rule.
 *
 * Example: a read has 60 bases of lambda, one of them changed.  With the database of data/genomes
 * its call has the taxid 10710, 10 features, and 8 hits.
 *
 * Errors are values: 0, or a negative code and a message in *error (which may be NULL).  Nothing
 * is printed, and no signal handler is set.  On failure, outputs have no meaning.  Threads: an
 * open kmerhash may be used by any number of threads at once, but it is closed by one, when the
 * others are done.  Ownership: what a function fills belongs to the caller; strings that it
 * points to live until kmerhash_close.  While a database is open, its file must not be changed in
 * place.  If a new file is put in its place, as `kmerhash build` does, the next kmerhash_classify
 * notices that and fails.  Structs and functions may change while the version is 0.x; then the
 * library's soname changes, too.
 */
#ifndef KMERHASH_H
#define KMERHASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define KMERHASH_API __attribute__((visibility("default")))
#else
#define KMERHASH_API
#endif

enum {
	KMERHASH_OK = 0,
	KMERHASH_ENOMEM = -1,           /* there is not enough memory */
	KMERHASH_EIO = -2,              /* the operating system reported an error */
	KMERHASH_EFORMAT = -3,          /* a database, or a sequence, is malformed */
	KMERHASH_EUSAGE = -4,           /* an argument is not allowed */
	KMERHASH_EDEVICE = -5,          /* a GPU failed */
	KMERHASH_ENODEV = -6            /* there is no such device */
};

typedef struct kmerhash_error {
	int code;
	char message[512];
} kmerhash_error;

KMERHASH_API const char *kmerhash_version(void);        /* "0.3.0" */

/* --- a database ------------------------------------------------------------------ */
typedef struct kmerhash kmerhash;

/* What is wanted beside the calls. */
enum {
	KMERHASH_CALLS = 0,
	KMERHASH_SECOND = 2,            /* the second-best taxon, as --set second-best */
	KMERHASH_SAMPLE = 3             /* kmerhash_classify_files may use the whole sample */
};

typedef struct kmerhash_options {       /* all zero: the defaults */
	const char *device;             /* "auto" (or NULL), "cpu", "cuda", "cuda:0,2" */
	unsigned threads;               /* that classify at once; 0: as many as there are CPUs */
	double confidence;              /* 0 to 1, as --confidence */
	int want;                       /* KMERHASH_CALLS, _SECOND or _SAMPLE */
	int no_verify;                  /* do not check the index; otherwise it is checked once, as
	                                 * by the command, until the file changes */
} kmerhash_options;

/* `path` is a .khdb file, or a folder with exactly one; `options` may be NULL.  On success *k is
 * to be closed. */
KMERHASH_API int kmerhash_open(kmerhash **k, const char *path, const kmerhash_options *options,
			       kmerhash_error *error);
/* The same of n databases, which are used as one, as by several --db. */
KMERHASH_API int kmerhash_open_several(kmerhash **k, const char *const *path, size_t n,
				       const kmerhash_options *options, kmerhash_error *error);
KMERHASH_API void kmerhash_close(kmerhash *k);          /* NULL is fine */

/* --- classifying ------------------------------------------------------------------ */
typedef struct kmerhash_read {
	const char *sequence;           /* letters of nucleotides in either case, no newline */
	size_t length;                  /* of sequence, which needs no NUL at its end */
	const char *mate;               /* the second one of a pair; NULL: there is none */
	size_t mate_length;
} kmerhash_read;

typedef struct kmerhash_call {
	uint32_t taxid;                 /* 0: unclassified */
	uint32_t features;              /* 12-mers of the read, one at every fifth base, */
	uint32_t hits;                  /*   of which the text has so many where the best species
					 *   lies (0 if that is too little for a call) */
	uint32_t found;                 /* 0; of a database of Kraken 2, whose k-mers are the
					 *   features, hit groups */
	/* with KMERHASH_SECOND: the best taxon of another species, and its hits; 0: none */
	uint32_t second, second_hits;
} kmerhash_call;

/* Classifies n reads or pairs: call[i] is that of read[i].  A batch is shared out to the threads
 * that are free, so large batches (10^5 reads) from one thread, and small ones from many, are both
 * fast; a call waits while none is free.  If reads are malformed, the message names the first of
 * them. */
KMERHASH_API int kmerhash_classify(kmerhash *k, const kmerhash_read *read, size_t n,
				   kmerhash_call *call, kmerhash_error *error);

/* --- files ------------------------------------------------------------------------ */
/* Reads of a file of FASTA or FASTQ, plain or gzip, or of two files of mates. */
typedef struct kmerhash_reads kmerhash_reads;

/* mates: the file of second mates, or NULL.  On success *r is to be closed. */
KMERHASH_API int kmerhash_reads_open(kmerhash_reads **r, const char *path, const char *mates,
				     kmerhash_error *error);
KMERHASH_API void kmerhash_reads_close(kmerhash_reads *r);      /* NULL is fine */

typedef struct kmerhash_record {
	const char *name;               /* the first word of its header; of a pair the first's */
	/* its bases in upper case, with N for all that is not ACGTU; they end with NUL */
	kmerhash_read read;
} kmerhash_record;

/* The next reads, as many as are at hand; *n is 0 at the end.  They are lent until the next call.
 * An error comes behind the good reads in front of it. */
KMERHASH_API int kmerhash_reads_next(kmerhash_reads *r, const kmerhash_record **record, size_t *n,
				     kmerhash_error *error);

/* All reads of a sample, and the files that are made of them, as by the options of the command;
 * NULL: not wanted. */
typedef struct kmerhash_files {
	const char *reads, *mates;      /* FASTA or FASTQ; mates may be NULL */
	const char *lines, *report, *profile;
	int sample_pass;                /* calls are changed by what the whole sample says */
} kmerhash_files;

typedef struct kmerhash_counts {
	uint64_t fragments, classified; /* reads or pairs */
} kmerhash_counts;

/* Classifies them by all threads, when no others classify.  All files are complete and on disk, or
 * none is made.  sample_pass and profile need KMERHASH_SAMPLE.  counts may be NULL. */
KMERHASH_API int kmerhash_classify_files(kmerhash *k, const kmerhash_files *files,
					 kmerhash_counts *counts, kmerhash_error *error);

/* --- taxonomy --------------------------------------------------------------------- */
typedef struct kmerhash_taxon {
	uint32_t taxid;
	uint32_t parent;                /* its taxid; 0: this is the root */
	const char *name, *rank;        /* "Escherichia coli", "species" */
} kmerhash_taxon;

/* How many taxa the database has: those of its targets, and all their ancestors. */
KMERHASH_API uint32_t kmerhash_taxa(const kmerhash *k);
/* Fill in taxon number i, parents before their children, or the taxon with that taxid.  They return
 * 1, or 0 if there is none. */
KMERHASH_API int kmerhash_taxon_at(const kmerhash *k, uint32_t i, kmerhash_taxon *taxon);
KMERHASH_API int kmerhash_taxon_find(const kmerhash *k, uint32_t taxid, kmerhash_taxon *taxon);
/* The taxid of the nearest of `taxid` and its ancestors that has that rank, or 0.  "domain" and
 * "superkingdom" are one rank; for viruses they mean the rank that is in their place. */
KMERHASH_API uint32_t kmerhash_taxon_above(const kmerhash *k, uint32_t taxid, const char *rank);
/* The lowest common ancestor, or 0 if the database has not both. */
KMERHASH_API uint32_t kmerhash_taxon_common(const kmerhash *k, uint32_t a, uint32_t b);

#ifdef __cplusplus
}
#endif
#endif
