#include <config.h>
#include "cmd/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/escape.h"
#include "base/threads.h"
#include "io/source.h"

json_t *kh_record_path(const char *path)
{
	char *text = kh_escaped(path);
	json_t *s = text ? json_string(text) : NULL;

	free(text);
	return s;
}

/* --- inputs ----------------------------------------------------------------------- */
static json_t *hex(uint64_t x)
{
	char text[20];

	snprintf(text, sizeof text, "%016" PRIx64, x);
	return json_string(text);
}

static int add_to_digest(void *x, const void *p, size_t n, kh_err *err)
{
	(void)err;
	XXH3_64bits_update(x, p, n);
	return KH_OK;
}

static int digest_file(const char *path, uint64_t *digest, kh_err *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	XXH3_state_t *x = XXH3_createState();
	int rc = fd < 0 ? kh_fail_errno(err, path) : x ? KH_OK : kh_fail_nomem(err);

	if (!rc) {
		XXH3_64bits_reset(x);
		rc = kh_source_each(fd, path, add_to_digest, x, err);
	}
	if (!rc)
		*digest = XXH3_64bits_digest(x);
	XXH3_freeState(x);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* An input that cannot be looked at here is reported when it is opened. */
static json_t *input(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return json_pack("{s:o}", "path", kh_record_path(path));
	const json_int_t time = (json_int_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return json_pack("{s:o, s:I, s:I}", "path", kh_record_path(path), "size",
			 (json_int_t)st.st_size, "mtime_ns", time);
}

/* Calls fn for each file of a sample, in order. */
static int each_file(const kh_sheet_sample *s, int (*fn)(void *arg, const char *path, kh_err *err),
		     void *arg, kh_err *err)
{
	int rc = KH_OK;

	for (size_t k = 0; k < s->n_reads; k++)
		for (size_t i = 0; i < s->reads[k].n; i++)
			for (int mate = 0; mate <= s->reads[k].paired && !rc; mate++)
				rc = fn(arg, s->reads[k].path[mate][i], err);
	return rc;
}

static int add_input(void *arg, const char *path, kh_err *err)
{
	return json_array_append_new(arg, input(path)) ? kh_fail_nomem(err) : KH_OK;
}

struct digests {
	json_t *inputs;
	const kh_results *r;
	size_t i;
};

static int add_digest(void *arg, const char *path, kh_err *err)
{
	struct digests *d = arg;
	const size_t i = d->i++;
	json_t *was = json_array_get(d->inputs, i), *now = input(path);
	uint64_t digest = 0;
	int rc = now ? KH_OK : kh_fail_nomem(err);

	if (!rc && !json_equal(was, now))
		rc = kh_fail(err, KH_EIO, "%s: was changed while it was read", path);
	json_decref(now);
	if (rc || !json_object_get(was, "size"))
		return rc;
	if (d->r && i < d->r->n_files && d->r->digest[i].known)
		digest = d->r->digest[i].xxh3;
	else
		rc = digest_file(path, &digest, err);
	if (!rc && json_object_set_new(was, "xxh3", hex(digest)))
		rc = kh_fail_nomem(err);
	return rc;
}

int kh_record_digests(json_t *inputs, const kh_sheet_sample *s, const kh_results *r, kh_err *err)
{
	struct digests d = { inputs, r, 0 };

	return each_file(s, add_digest, &d, err);
}

json_t *kh_record_inputs(const kh_sheet_sample *s, kh_err *err)
{
	json_t *a = json_array();

	if (a ? each_file(s, add_input, a, err) : kh_fail_nomem(err)) {
		json_decref(a);
		return NULL;
	}
	return a;
}

json_t *kh_record_paths(char *const *path, size_t n)
{
	json_t *a = json_array();

	for (size_t k = 0; k < n; k++)
		if (path[k])
			json_array_append_new(a, kh_record_path(path[k]));
	return a;
}

/* --- the rest --------------------------------------------------------------------- */
json_t *kh_record_database(const kh_db *db)
{
	return json_pack("{s:o, s:o}", "path", kh_record_path(db->path), "checksum",
			 hex(db->h->self));
}

json_t *kh_record_host(void)
{
	struct utsname u;

	if (uname(&u) != 0)
		return json_object();
	return json_pack("{s:o, s:s, s:s, s:s, s:i}", "name", kh_record_path(u.nodename),
			 "system", u.sysname, "release", u.release, "machine", u.machine,
			 "cpus", (int)kh_cpus());
}

/* --- would this run give the same?
 * -------------------------------------------------------------- */
static bool outputs_there(const json_t *outputs)
{
	size_t i;
	json_t *path;

	json_array_foreach(outputs, i, path)
		if (access(json_string_value(path) ? json_string_value(path) : "", F_OK) != 0)
			return false;
	return json_is_array(outputs);
}

/* The path does not count, as a database may be moved. */
static bool same_database(const json_t *a, const json_t *b)
{
	return json_equal(json_object_get(a, "checksum"), json_object_get(b, "checksum"));
}

bool kh_record_same(const char *summary, const json_t *record)
{
	json_t *root = json_load_file(summary, 0, NULL);
	const json_t *run = json_object_get(root, "run");
	const char *version = json_string_value(json_object_get(root, "version"));
	const bool same = version && strcmp(version, PACKAGE_VERSION) == 0 &&
			  json_equal(json_object_get(run, "inputs"),
				     json_object_get(record, "inputs")) &&
			  json_equal(json_object_get(run, "parameters"),
				     json_object_get(record, "parameters")) &&
			  same_database(json_object_get(run, "database"),
					json_object_get(record, "database")) &&
			  outputs_there(json_object_get(run, "outputs"));

	json_decref(root);
	return same;
}
