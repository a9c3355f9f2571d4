/* msg.h - status codes, the error record, and the log */
#ifndef KH_BASE_MSG_H
#define KH_BASE_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	KH_OK = 0,
	KH_ENOMEM = -1,
	KH_EIO = -2,        /* the operating system said no */
	KH_EFORMAT = -3,    /* the input is malformed */
	KH_EUSAGE = -4,     /* the caller's parameters are impossible */
	KH_EDEVICE = -5,    /* CUDA failed */
	KH_ENODEV = -6,     /* no such backend or device here */
	KH_ECANCEL = -7     /* stopped: another thread failed first, or a signal came */
};

/* Filled by the function that first knows which error it is; its callers pass the code on. */
typedef struct kh_err {
	int code;
	char msg[512];
} kh_err;

#ifdef __GNUC__
#define KH_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define KH_PRINTF(f, a)
#endif

/* Records the message and returns `code`; `e` may be NULL.  Example, in a parser of tables:
 *	return kh_fail(err, KH_EFORMAT, "%s:%zu: no taxid", path, line);
 * and a caller: if (rc < 0) return rc;  The command prints "kmerhash build: t.tsv:7: no taxid". */
int kh_fail(kh_err *e, int code, const char *fmt, ...) KH_PRINTF(3, 4);

/* "what: strerror(errno)" as KH_EIO, or KH_ENOMEM if errno says so. */
int kh_fail_errno(kh_err *e, const char *what);

int kh_fail_nomem(kh_err *e);

/* The ending of a regular noun behind n: "", or "s". */
static inline const char *kh_plural(uint64_t n) { return n == 1 ? "" : "s"; }

enum kh_level { KH_SILENT = -1, KH_ERROR, KH_WARN, KH_INFO, KH_DEBUG };

/* Commands log, and the rooms that they use; libkmerhash is silent. */
void kh_log_level(enum kh_level level);
void kh_log(enum kh_level level, const char *fmt, ...) KH_PRINTF(2, 3);

/* What ends a command, whatever the level: "kmerhash COMMAND: text". */
void kh_log_failure(const char *command, const char *text);
/* From now on each message is a line of JSON, with the time, the level and the name of the
 * command, which is borrowed; and no progress is shown. */
void kh_log_json(const char *command);

/* From now on messages call these paths by these names: copies of inputs, by the inputs'.
 * Borrowed; n 0: none any more.  No other thread may log meanwhile. */
typedef struct kh_called {
	const char *path, *name;
} kh_called;
void kh_log_called(const kh_called *v, size_t n);

/* What makes text on stderr red (KH_ERROR), yellow (KH_WARN), or plain again (KH_INFO): "" unless
 * it is a terminal with colours.  NO_COLOR in the environment, if not empty, wants none. */
const char *kh_colour(enum kh_level level);

/* Seconds of a clock that only goes forward. */
double kh_seconds(void);

/* A line that replaces itself, for progress.h.  It is due at most once a second, for one of the
 * threads that ask, if stderr is a terminal and the level is info or above.  kh_progress_end()
 * wipes it; so does any message. */
bool kh_progress_due(void);
void kh_progress_show(const char *text);
void kh_progress_end(void);

#ifdef __cplusplus
}
#endif
#endif
