/*
 * options.h - commands and their options: two tables each
 *
 * One table has the options, the other the settings for experts, which `--set KEY=VALUE` changes.
 * The parser, the texts of -h and of `--set help`, and the tests that man pages are complete use
 * these tables.  A command parses into its own struct, checks it, then runs.
 *
 * Example: the row KH_UINT("threads", 'p', ...) makes `--threads 8`, `-p8` and a line of -h;
 * `--threads x` is an error of the parser.
 */
#ifndef KH_CMD_OPTIONS_H
#define KH_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "base/errs.h"
#include "base/msg.h"

enum kh_opt_kind {
	KH_OPT_FLAG,            /* bool */
	KH_OPT_TEXT,            /* const char *; the last one counts */
	KH_OPT_LIST,            /* kh_words, one more each time */
	KH_OPT_UINT,            /* uint64_t in min..max */
	KH_OPT_SIZE,            /* uint64_t bytes; K, M, G, T are powers of 1024 */
	KH_OPT_REAL,            /* double in min..max */
	KH_OPT_LOUDER, KH_OPT_QUIETER,  /* level of the log */
	KH_OPT_LOG_JSON,                /* its form */
	KH_OPT_SET,                     /* --set: one of the settings */
	KH_OPT_GONE             /* of an earlier version: an error with advice (`help`) */
};

typedef struct kh_words {
	const char **v;         /* owned; the words are borrowed */
	size_t n, cap;
} kh_words;

/* Appends the words of `more`. */
int kh_words_add(kh_words *w, const kh_words *more, kh_err *err);

typedef struct kh_opt {
	const char *name;       /* the long one */
	char letter;            /* 0: none */
	enum kh_opt_kind kind;
	const char *arg;        /* name of the argument; NULL: none */
	const char *help;
	size_t at;              /* offset in the command's struct */
	double min, max;        /* of a number; max 0: no upper limit (UINT, SIZE) */
	bool hidden;            /* -h does not list it */
} kh_opt;

/* Rows of a table: the long name, the letter or 0, the offset in the command's struct, the least
 * and the greatest value of a number, the name of the argument, the help. */
#define KH_FLAG(name_, letter_, at_, help_) \
	{ .name = name_, .letter = letter_, .kind = KH_OPT_FLAG, .at = at_, .help = help_ }
#define KH_TEXT(name_, letter_, at_, arg_, help_) \
	{ .name = name_, .letter = letter_, .kind = KH_OPT_TEXT, .at = at_, .arg = arg_, \
	  .help = help_ }
#define KH_LIST(name_, letter_, at_, arg_, help_) \
	{ .name = name_, .letter = letter_, .kind = KH_OPT_LIST, .at = at_, .arg = arg_, \
	  .help = help_ }
#define KH_NUMBER(kind_, name_, letter_, at_, min_, max_, arg_, help_) \
	{ .name = name_, .letter = letter_, .kind = kind_, .at = at_, .min = min_, .max = max_, \
	  .arg = arg_, .help = help_ }
#define KH_UINT(...) KH_NUMBER(KH_OPT_UINT, __VA_ARGS__)
#define KH_SIZE(...) KH_NUMBER(KH_OPT_SIZE, __VA_ARGS__)
#define KH_REAL(...) KH_NUMBER(KH_OPT_REAL, __VA_ARGS__)
/* An option of an earlier version; the help is the advice to its users. */
#define KH_GONE(name_, help_) \
	{ .name = name_, .kind = KH_OPT_GONE, .help = help_, .hidden = true }
/* The last options and settings of every command. */
#define KH_OPT_SET_ROW \
	{ .name = "set", .kind = KH_OPT_SET, .arg = "KEY=VALUE", \
	  .help = "a setting for experts ('help': a list of them)" }
#define KH_OPTS_COMMON \
	KH_OPT_SET_ROW, \
	{ .name = "quiet", .letter = 'q', .kind = KH_OPT_QUIETER, .help = "errors only" }, \
	{ .name = "verbose", .letter = 'v', .kind = KH_OPT_LOUDER, .help = "say more" }
#define KH_SETTINGS_COMMON \
	{ .name = "log-json", .kind = KH_OPT_LOG_JSON, .help = "messages as lines of JSON" }
#define KH_OPTS_END \
	{ .name = NULL }

/* A heading of -h in front of the option named `before`, and an example. */
typedef struct kh_group {
	const char *before, *heading, *example;
} kh_group;

typedef struct kh_command {
	const char *name, *summary;
	const char *operands;   /* "REFERENCE..." */
	const kh_opt *opts, *settings;  /* both end with .name == NULL */
	int (*run)(const struct kh_command *c, int argc, char **argv);
	const kh_group *groups;         /* of the options; ends with .before == NULL; or NULL */
} kh_command;

/* The settings of a command without its own. */
extern const kh_opt kh_settings_common[];

extern const kh_command kh_cmd_bracken_distrib, kh_cmd_build, kh_cmd_classify,
			kh_cmd_inspect, kh_cmd_merge, kh_cmd_verify;

/*
 * Parses argv[1..] into *values.  Returns the index of the first operand, or, if the command is
 * done, minus its exit status: 0: printed -h, --version or --set help; -1: no memory, -2: wrong
 * usage, both with a message.
 */
int kh_opt_parse(const kh_command *c, int argc, char **argv, void *values);

void kh_usage(const kh_command *c);
/* The word with the least edit distance to the n characters at `word`, if that is 1 + n / 3 or
 * less; else NULL. */
const char *kh_nearest(const char *word, size_t n, const char *const *words, size_t n_words);

/* Parse a whole number; one that K, M, G or T may multiply by powers of 1024; a decimal number.
 * False: the string is none. */
bool kh_parse_uint(const char *s, uint64_t *x);
bool kh_parse_size(const char *s, uint64_t *x);
bool kh_parse_real(const char *s, double *x);

/* Prints "kmerhash NAME: message"; returns the exit status: 2 for KH_EUSAGE, else 1. */
int kh_cmd_fail(const kh_command *c, const kh_err *err);
/* The same for several errors, one a line; 2 if all of them are wrong usage. */
int kh_cmd_fail_all(const kh_command *c, const kh_errs *errs);

struct kh_paths;
struct kh_references;
/* Fails if an output is a reference, a report of their tree, the list of references, or a file of
 * the taxonomy folder (NULL: there is none). */
int kh_cmd_check_references(const struct kh_paths *p, const struct kh_references *r,
			    const char *list, const char *taxonomy, kh_err *err);
/* Prints text from outside; on a terminal, control characters are escaped: escape.h. */
void kh_cmd_print(const char *text, size_t n);
/* For a command that only prints: fails if standard output is one of its n input files. */
int kh_cmd_check_printing(const char *const *path, size_t n, const char *what, kh_err *err);

/* Makes a folder for outputs unless it exists; fails if no file can be made in it. */
int kh_cmd_make_folder(const char *folder, kh_err *err);

/* The number of threads: `asked`, or, if that is 0, KMERHASH_THREADS, SLURM_CPUS_PER_TASK,
 * OMP_NUM_THREADS or all CPUs of this process. If there are fewer CPUs, warns and uses these. */
unsigned kh_cmd_threads(uint64_t asked);

/* The present time, or SOURCE_DATE_EPOCH.  A time, and that of a file's last change, as
 * 2026-11-23 09:00 UTC; "" if there is no such file. */
time_t kh_cmd_now(void);
enum { KH_DATE = 32 };
void kh_cmd_date(time_t when, char text[KH_DATE]);
void kh_cmd_file_date(const char *path, char text[KH_DATE]);
/* The name of a database: that of its file or folder, without the ending .khdb; of joined
 * databases, their names with " + " between them. */
struct kh_db;
void kh_cmd_db_name(const struct kh_db *db, char *name, size_t size);

/* Seconds since the first such call, early in main(); the peak of memory in bytes, without mapped
 * files. */
double kh_cmd_seconds(void);
uint64_t kh_cmd_peak(void);

#endif
