#include <config.h>
#include "clash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "output.h"

static bool look(const char *path, struct stat *st)
{
	return strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, st) == 0 : stat(path, st) == 0;
}

/* Of files that are not there yet. */
static bool same_place(const char *a, const char *b)
{
	const char *end[2] = { strrchr(a, '/'), strrchr(b, '/') };
	const char *base[2] = { end[0] ? end[0] + 1 : a, end[1] ? end[1] + 1 : b };
	char *folder[2] = { end[0] ? strndup(a, (size_t)(base[0] - a)) : strdup("."),
			    end[1] ? strndup(b, (size_t)(base[1] - b)) : strdup(".") };
	bool same = strcmp(base[0], base[1]) == 0 && folder[0] && folder[1] &&
		    kh_same_file(folder[0], folder[1]);

	free(folder[0]);
	free(folder[1]);
	return same;
}

static bool same_output(const char *a, const char *b)
{
	struct stat x, y;
	bool is_a = look(a, &x), is_b = look(b, &y);

	if (strcmp(a, b) == 0)
		return strcmp(a, "/dev/null") != 0;
	if (is_a && is_b)
		return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	return !is_a && !is_b && same_place(a, b);
}

int kh_clash_outputs(kh_paths out, kh_err *err)
{
	for (size_t i = 0; i < out.n; i++)
		for (size_t k = 0; out.v[i] && k < i; k++)
			if (out.v[k] && same_output(out.v[i], out.v[k]))
				return kh_fail(err, KH_EUSAGE, "%s is named for two outputs", out.v[i]);
	return KH_OK;
}

int kh_clash_inputs(kh_paths out, kh_paths in, const char *what, kh_err *err)
{
	for (size_t i = 0; i < out.n; i++)
		for (size_t k = 0; out.v[i] && k < in.n; k++)
			if (kh_same_file(out.v[i], in.v[k]))
				return kh_fail(err, KH_EUSAGE, "%s is both %s and an output", out.v[i], what);
	return KH_OK;
}
