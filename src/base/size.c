#include <config.h>
#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>

kh_size_unit kh_size_unit_of(uint64_t bytes)
{
	static const char *const name[] = { "bytes", "kB", "MB", "GB", "TB" };
	double unit = 1;
	int i = 0;

	/* what would be shown as 1000 is 1.0 of the next one */
	for (; i < 4 && (double)bytes >= unit * (i ? 999.5 : 1000); i++)
		unit *= 1000;
	return (kh_size_unit) { unit, name[i] };
}

kh_size kh_size_show(uint64_t bytes)
{
	const kh_size_unit u = kh_size_unit_of(bytes);
	const double x = (double)bytes / u.bytes;
	kh_size text;

	snprintf(text.s, sizeof text.s, "%.*f %s", u.bytes > 1 && x < 99.95, x, u.name);
	return text;
}

/* --- as options take them ----------------------------------------------------------- */
enum { UNITS = 4 };     /* 1024 of each are the next one */

/* The largest unit of which the bytes are a whole number. */
static int option_unit(uint64_t bytes)
{
	int u = 0;

	while (u < UNITS && bytes > 0 && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	return u;
}

static kh_size in_option_unit(uint64_t n, int u)
{
	kh_size text;

	snprintf(text.s, sizeof text.s, "%" PRIu64 "%.*s", n, u > 0, &"KMGT"[u > 0 ? u - 1 : 0]);
	return text;
}

kh_size kh_size_as_option(uint64_t bytes)
{
	const int u = option_unit(bytes);

	return in_option_unit(bytes >> 10 * u, u);
}

kh_size kh_size_beside_option(uint64_t bytes, uint64_t value)
{
	int u = option_unit(value);
	uint64_t n, step = 1;

	while (u > 0 && bytes >> 10 * u < 10)
		u--;
	n = (bytes >> 10 * u) + (bytes % (UINT64_C(1) << 10 * u) != 0);
	while (n / step >= 1000)
		step *= 10;
	return in_option_unit((n + step - 1) / step * step, u);
}
