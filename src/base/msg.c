#include <config.h>
#include "msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum kh_level log_level = KH_INFO;
static char rank_prefix[24];
static bool progress_shown;

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
	return kh_fail(e, errno == ENOMEM ? KH_ENOMEM : KH_EIO, "%s: %s", what, strerror(errno));
}

int kh_fail_nomem(kh_err *e)
{
	return kh_fail(e, KH_ENOMEM, "out of memory");
}

void kh_log_level(enum kh_level level)
{
	log_level = level;
}

void kh_log_rank(unsigned rank)
{
	rank_prefix[0] = 0;
	if (rank > 0)
		snprintf(rank_prefix, sizeof rank_prefix, "rank %u: ", rank);
}

const char *kh_log_prefix(void)
{
	return rank_prefix;
}

void kh_log(enum kh_level level, const char *fmt, ...)
{
	static const char *const name[] = { "error: ", "warning: ", "", "" };
	char line[1024];
	va_list ap;

	if (level > log_level || (level == KH_INFO && rank_prefix[0]))
		return;
	kh_progress_end();
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "kmerhash: %s%s%s\n", rank_prefix, name[level], line);
}

double kh_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void kh_progress(const char *fmt, ...)
{
	static time_t last;
	time_t now = time(NULL);
	va_list ap;

	if (now == last || log_level < KH_INFO || rank_prefix[0] || !isatty(STDERR_FILENO))
		return;
	last = now;
	progress_shown = true;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}

void kh_progress_end(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}
