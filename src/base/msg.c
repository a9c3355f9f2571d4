#include <config.h>
#include "base/msg.h"
#include "base/escape.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum kh_level log_level = KH_INFO;
static const char *json_command;        /* NULL: messages are plain lines */
static const kh_called *called;         /* n_called paths that have other names */
static size_t n_called;
static pthread_mutex_t terminal = PTHREAD_MUTEX_INITIALIZER;
static bool progress_shown;              /* guarded by that lock */

int kh_fail(kh_err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	return code;
}

int kh_fail_errno(kh_err *e, const char *what)
{
	if (errno == ENOMEM)
		return kh_fail(e, KH_ENOMEM, "out of memory, for %s", what);
	return kh_fail(e, KH_EIO, "%s: %s", what, strerror(errno));
}

int kh_fail_nomem(kh_err *e)
{
	return kh_fail(e, KH_ENOMEM, "out of memory");
}

void kh_log_level(enum kh_level level)
{
	log_level = level;
}

const char *kh_colour(enum kh_level level)
{
	static const char *const code[] = { "\033[1;31m", "\033[1;33m", "\033[0m", "" };
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	const bool shown = !(no && no[0]) && term && strcmp(term, "dumb") != 0 &&
			   isatty(STDERR_FILENO);

	return shown ? code[level] : "";
}

/* The caller holds the lock of the terminal. */
static void wipe_progress(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

/* --- messages --------------------------------------------------------------------- */
enum { LINE = 1024, SHOWN = KH_ESCAPED * LINE + 1 };

void kh_log_json(const char *command)
{
	json_command = command;
}

void kh_log_called(const kh_called *v, size_t n)
{
	called = v;
	n_called = n;
}

/* The text with a path replaced by its name.  What has no room is cut off. */
static void call_by_name(char to[LINE], const char *text)
{
	for (size_t i = 0; i < n_called; i++) {
		const char *at = strstr(text, called[i].path);

		if (at) {
			snprintf(to, LINE, "%.*s%s%s", (int)(at - text), text, called[i].name,
				 at + strlen(called[i].path));
			return;
		}
	}
	snprintf(to, LINE, "%s", text);
}

/* Of text that is UTF-8 without control characters.  What has no room is cut off. */
static void quote(char to[2 * SHOWN], const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = 0;
}

static void put_json(enum kh_level level, const char *shown)
{
	static const char *const name[] = { "error", "warning", "info", "debug" };
	char quoted[2 * SHOWN];
	struct timespec now;
	struct tm utc;

	quote(quoted, shown);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	fprintf(stderr, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ\",\"level\":\"%s\","
		"\"command\":\"%s\",\"message\":\"%s\"}\n", utc.tm_year + 1900, utc.tm_mon + 1,
		utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1000000,
		name[level], json_command, quoted);
}

/* A message of a level; `command`: it is what ends that command. */
static void put(enum kh_level level, const char *command, const char *text)
{
	static const char *const name[] = { "error: ", "warning: ", "", "" };
	const char *colour = level <= KH_WARN ? kh_colour(level) : "";
	const char *plain = level <= KH_WARN ? kh_colour(KH_INFO) : "";
	char named[LINE], shown[SHOWN];

	call_by_name(named, text);
	shown[kh_escape(shown, named, strlen(named), "")] = 0;
	pthread_mutex_lock(&terminal);
	wipe_progress();
	if (json_command)
		put_json(level, shown);
	else if (command)
		fprintf(stderr, "%skmerhash %s:%s %s\n", colour, command, plain, shown);
	else
		fprintf(stderr, "kmerhash: %s%s%s%s\n", colour, name[level], plain, shown);
	pthread_mutex_unlock(&terminal);
}

void kh_log(enum kh_level level, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	if (level > log_level)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	put(level, NULL, line);
}

void kh_log_failure(const char *command, const char *text)
{
	put(KH_ERROR, command, text);
}

double kh_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool kh_progress_due(void)
{
	static _Atomic time_t last;
	const time_t now = time(NULL);

	/* of all threads that come here within a second, only one prints */
	return now != atomic_exchange(&last, now) && log_level >= KH_INFO && !json_command &&
	       isatty(STDERR_FILENO);
}

void kh_progress_show(const char *text)
{
	pthread_mutex_lock(&terminal);
	progress_shown = true;
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	pthread_mutex_unlock(&terminal);
}

void kh_progress_end(void)
{
	pthread_mutex_lock(&terminal);
	wipe_progress();
	pthread_mutex_unlock(&terminal);
}
