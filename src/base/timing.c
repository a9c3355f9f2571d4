#include <config.h>
#include "base/timing.h"

#include <stdio.h>
#include "base/msg.h"

void kh_timer_start(kh_timer *t)
{
	t->at = kh_seconds();
}

void kh_timer_mark(kh_timer *t, int kind)
{
	const double now = kh_seconds();

	t->spent[kind] += now - t->at;
	t->at = now;
}

void kh_timer_add(kh_timer *sum, const kh_timer *t)
{
	for (int k = 0; k < KH_TIMER_KINDS; k++)
		sum->spent[k] += t->spent[k];
}

void kh_timer_show(const kh_timer *sum, unsigned workers, const char *const *name)
{
	double all = 1e-9;
	char line[256] = "";
	size_t n = 0;

	for (int k = 0; k < KH_TIMER_KINDS; k++)
		all += sum->spent[k];
	for (int k = 0; name[k] && n < sizeof line; k++)
		n += (size_t)snprintf(line + n, sizeof line - n, "%s%.0f %% %s", k ? ", " : "",
				      100 * sum->spent[k] / all, name[k]);
	kh_log(KH_DEBUG, "%u workers: %s", workers, line);
}
