#include <config.h>
#include "laps.h"

#include <stdio.h>
#include "msg.h"

void kh_laps_begin(kh_laps *l)
{
	*l = (kh_laps) { .at = kh_seconds() };
}

void kh_lap(kh_laps *l, int kind)
{
	const double now = kh_seconds();

	l->spent[kind] += now - l->at;
	l->at = now;
}

void kh_laps_add(kh_laps *sum, const kh_laps *l)
{
	for (int k = 0; k < KH_LAPS_MAX; k++)
		sum->spent[k] += l->spent[k];
}

void kh_laps_show(const kh_laps *sum, unsigned workers, const char *const *name)
{
	double all = 1e-9;
	char line[256] = "";
	size_t n = 0;

	for (int k = 0; k < KH_LAPS_MAX; k++)
		all += sum->spent[k];
	for (int k = 0; name[k] && n < sizeof line; k++)
		n += (size_t)snprintf(line + n, sizeof line - n, "%s%.0f %% %s", k ? ", " : "",
				      100 * sum->spent[k] / all, name[k]);
	kh_log(KH_DEBUG, "%u workers: %s", workers, line);
}
