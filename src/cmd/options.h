/*
 * cmd.h - commands and their options: one table each
 *
 * From a table come the parser, the text of -h and the tests that man pages are complete.
 * A command parses into its own struct, checks it, then runs.
 */
#ifndef KH_CMD_H
#define KH_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "msg.h"

enum kh_opt_kind {
	KH_OPT_FLAG,            /* bool */
	KH_OPT_TEXT,            /* const char *; the last one counts */
	KH_OPT_LIST,            /* kh_words, one more each time */
	KH_OPT_UINT,            /* uint64_t in min..max */
	KH_OPT_SIZE,            /* uint64_t bytes; K, M, G, T are powers of 1024 */
	KH_OPT_REAL,            /* double in min..max */
	KH_OPT_LOUDER, KH_OPT_QUIETER,  /* int, level of the log */
	KH_OPT_NOTE,            /* of kraken2, without a meaning here: one note */
	KH_OPT_NOTE_ARG,        /* the same, with an argument */
	KH_OPT_SILENT           /* of kraken2, always true here: nothing is said */
};

typedef struct kh_words {
	const char **v;         /* owned; the words are borrowed */
	size_t n, cap;
} kh_words;

typedef struct kh_opt {
	const char *name;       /* long */
	char letter;            /* 0: none */
	enum kh_opt_kind kind;
	const char *arg;        /* what the argument is called, NULL: none */
	const char *help;
	size_t at;              /* offset in the command's struct */
	double min, max;
} kh_opt;

typedef struct kh_command {
	const char *name, *summary;
	const char *operands;   /* "REFERENCE..." */
	const kh_opt *opts;     /* ends with .name == NULL */
	int (*run)(const struct kh_command *c, int argc, char **argv);
} kh_command;

extern const kh_command kh_cmd_bench, kh_cmd_build, kh_cmd_classify, kh_cmd_inspect,
			kh_cmd_verify;

/*
 * Parses argv[1..] into *values.  Returns the index of the first operand; 0: -h or
 * --version was printed, the command is done; -1: wrong usage, -2: no memory, the message is out.
 */
int kh_opt_parse(const kh_command *c, int argc, char **argv, void *values);

void kh_usage(const kh_command *c);

/* "kmerhash NAME: message", and the exit status: 2 for KH_EUSAGE, else 1. */
int kh_cmd_fail(const kh_command *c, const kh_err *err);

/* Threads to use: what was asked for (0: KMERHASH_THREADS, else all CPUs of this
 * process), with a note if that is more than there are CPUs. */
unsigned kh_cmd_threads(uint64_t asked);

/* Seconds since the program began; most memory so far in bytes, without mapped files. */
double kh_cmd_seconds(void);
uint64_t kh_cmd_peak(void);

#endif
