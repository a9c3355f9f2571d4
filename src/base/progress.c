#include <config.h>
#include "base/progress.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/msg.h"
#include "base/size.h"

enum { LINE = 160 };

/* A text that grows; what does not fit is cut off. */
struct line {
	char *text;
	size_t n, size;
};

static void add(struct line *l, const char *fmt, ...) KH_PRINTF(2, 3);
static void add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, l->size - l->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->n = (size_t)n < l->size - l->n ? l->n + (size_t)n : l->size - 1;
}

static void add_bytes(struct line *l, const kh_step *s)
{
	const uint64_t most = s->total > s->done ? s->total : s->done;
	const kh_size_unit u = kh_size_unit_of(most);
	/* it is seen to grow each second */
	const int digits = u.bytes == 1 ? 0 : (double)most < 10 * u.bytes ? 2 : 1;

	if (s->total > 0)
		add(l, "%.*f of %.*f %s", digits, (double)s->done / u.bytes, digits,
		    (double)s->total / u.bytes, u.name);
	else
		add(l, "%.*f %s", digits, (double)s->done / u.bytes, u.name);
}

static void add_count(struct line *l, const kh_step *s)
{
	if (s->total > 0)
		add(l, "%" PRIu64 " of %" PRIu64 " %s", s->done, s->total, s->things);
	else
		add(l, "%" PRIu64 " %s", s->done, s->things);
}

static void add_rate(struct line *l, const kh_step *s, double rate)
{
	if (!s->things)
		add(l, ", %s/s", kh_size_show((uint64_t)rate).s);
	else
		add(l, rate < 10 ? ", %.1f a second" : ", %.0f a second", rate);
}

static void add_left(struct line *l, double seconds)
{
	if (seconds < 100)
		add(l, ", %.0f s left", seconds);
	else if (seconds < 6000)
		add(l, ", %.0f min left", seconds / 60);
	else
		add(l, ", %.1f h left", seconds / 3600);
}

void kh_step_text(const kh_step *s, double seconds, char *text, size_t size)
{
	struct line l = { text, 0, size };
	const double rate = (double)s->done / (seconds > 0 ? seconds : 1);

	add(&l, "%s ", s->doing);
	if (s->things)
		add_count(&l, s);
	else
		add_bytes(&l, s);
	if (seconds < 0.5 || s->done == 0)
		return;
	add_rate(&l, s, rate);
	if (s->total > s->done)
		add_left(&l, (double)(s->total - s->done) / rate);
}

void kh_progress(const kh_step *s)
{
	char text[LINE];

	if (!kh_progress_due())
		return;
	kh_step_text(s, kh_seconds() - s->started, text, sizeof text);
	kh_progress_show(text);
}
