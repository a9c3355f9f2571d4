#include <config.h>
#include "cmd/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/escape.h"
#include "base/system.h"
#include "db/join.h"
#include "io/paths.h"
#include "merge/recorded.h"

json_t *kh_record_path(const char *path)
{
	char *text = path ? kh_escaped(path) : NULL;
	json_t *s = !path ? json_null() : text ? json_string(text) : NULL;

	free(text);
	return s;
}

int kh_record_text(kh_buf *b, json_t *root, kh_err *err)
{
	const size_t form = JSON_INDENT(2) | JSON_REAL_PRECISION(6);
	char *text = root ? json_dumps(root, form) : NULL;
	const int rc = text ? KH_OK : kh_fail_nomem(err);

	kh_buf_string(b, text ? text : "");
	kh_buf_string(b, "\n");
	free(text);
	json_decref(root);
	return rc;
}

/* --- inputs ----------------------------------------------------------------------- */
/* File i of the sheet.  One that cannot be looked at here is reported when it is opened. */
static json_t *input(const kh_sheet *s, size_t i)
{
	const kh_sheet_file *f = &s->file[i];
	const bool first = i + 1 < s->n_files && f[1].second;
	json_t *o = json_pack("{s:o}", "path", kh_record_path(f->path));
	struct stat st;

	if (o && (first || f->second))
		json_object_set_new(o, "mate", json_integer(first ? 1 : 2));
	if (!o || !kh_path_is_file(f->path, &st))
		return o;
	const json_int_t time = (json_int_t)kh_nanoseconds(st.st_mtim);
	json_object_set_new(o, "size", json_integer((json_int_t)st.st_size));
	json_object_set_new(o, "mtime_ns", json_integer(time));
	return o;
}

json_t *kh_record_inputs(const kh_sheet *s, size_t sample, kh_err *err)
{
	json_t *a = json_array();
	bool lost = !a;

	for (size_t i = 0; i < s->n_files && !lost; i++)
		lost = s->file[i].sample == sample && json_array_append_new(a, input(s, i));
	if (!lost)
		return a;
	kh_fail_nomem(err);
	json_decref(a);
	return NULL;
}

/* known: the digest, if it is. */
static int add_digest(json_t *was, const kh_sheet *s, size_t i, const kh_file_digest *known,
		      kh_err *err)
{
	json_t *now = input(s, i);
	uint64_t digest = known ? known->xxh3 : 0;
	int rc = now ? KH_OK : kh_fail_nomem(err);

	if (!rc && !json_equal(was, now))
		rc = kh_fail(err, KH_EIO, "%s: was changed while it was read", s->file[i].path);
	json_decref(now);
	if (rc || !json_object_get(was, "size"))
		return rc;
	if (!known || !known->known)
		rc = kh_recorded_digest(s->file[i].path, &digest, err);
	if (!rc && json_object_set_new(was, "xxh3", kh_recorded_hex(digest)))
		rc = kh_fail_nomem(err);
	return rc;
}

int kh_record_digests(json_t *inputs, const kh_sheet *s, size_t sample, const kh_results *r,
		      kh_err *err)
{
	size_t n = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < s->n_files && !rc; i++) {
		const kh_file_digest *known = r && n < r->n_files ? &r->digest[n] : NULL;

		if (s->file[i].sample == sample)
			rc = add_digest(json_array_get(inputs, n++), s, i, known, err);
	}
	return rc;
}

json_t *kh_record_outputs(const kh_sheet_sample *s, const kh_results *r)
{
	json_t *a = json_array();

	for (int k = 0; k < KH_RESULT_SUMMARY && a; k++) {
		uint64_t bytes, xxh3;
		json_t *o = s->path[k] ? json_pack("{s:o}", "path", kh_record_path(s->path[k]))
				       : NULL;

		if (o && kh_writer_digest(r->out[k], &bytes, &xxh3)) {
			json_object_set_new(o, "size", json_integer((json_int_t)bytes));
			json_object_set_new(o, "xxh3", kh_recorded_hex(xxh3));
		}
		if (o)
			json_array_append_new(a, o);
	}
	return a;
}

/* --- the rest --------------------------------------------------------------------- */
/* The digest of the three files of a database of Kraken 2, in which nothing tells of the whole. */
static int digest_kraken(const char *table, uint64_t *digest, kh_err *err)
{
	static const char *const name[] = { "hash.k2d", "taxo.k2d", "opts.k2d" };
	uint64_t each[3];
	int rc = KH_OK;

	for (int i = 0; i < 3 && !rc; i++) {
		char *path;

		if (!(rc = kh_path_beside(&path, table, err, "%s", name[i])))
			rc = kh_recorded_digest(path, &each[i], err);
		free(path);
	}
	*digest = rc ? 0 : XXH3_64bits(each, sizeof each);
	return rc;
}

/* The path of a database, or those of several. */
static json_t *paths_of(const kh_db *db)
{
	json_t *a = db->joined ? json_array() : NULL;

	for (unsigned i = 0; a && i < kh_db_volumes(db); i++)
		json_array_append_new(a, kh_record_path(kh_db_volume(db, i)->path));
	return db->joined ? a : kh_record_path(db->path);
}

int kh_record_database(json_t **record, const kh_db *db, bool content, kh_err *err)
{
	uint64_t digest = 0;
	int rc = db->k2 && content ? digest_kraken(db->path, &digest, err) : KH_OK;

	if (rc)
		return rc;
	*record = json_pack("{s:o, s:o}", "path", paths_of(db), "checksum",
			    kh_recorded_hex(db->h->self));
	if (*record && db->k2 && content)
		json_object_set_new(*record, "xxh3", kh_recorded_hex(digest));
	return *record ? KH_OK : kh_fail_nomem(err);
}

/* --- would this run give the same? -------------------------------------------------- */
static bool outputs_there(const json_t *outputs, const kh_sheet_sample *s)
{
	size_t n = 0;

	for (int k = 0; k < KH_RESULT_SUMMARY; k++)
		if (s->path[k] && !kh_recorded_is(s->path[k], json_array_get(outputs, n++)))
			return false;
	return json_is_array(outputs) && json_array_size(outputs) == n;
}

/* Inputs are known by their digests, which a stream does not have. */
static bool same_inputs(const json_t *was, const json_t *now)
{
	size_t i;
	json_t *x;

	json_array_foreach(now, i, x)
		if (!json_object_get(x, "xxh3"))
			return false;
	return json_equal(was, now);
}

/* The path does not count, as a database may be moved. */
static bool same_database(const json_t *a, const json_t *b)
{
	const json_t *x = json_object_get(a, "xxh3"), *y = json_object_get(b, "xxh3");

	return json_equal(json_object_get(a, "checksum"), json_object_get(b, "checksum")) &&
	       (x || y ? json_equal(x, y) : true);
}

bool kh_record_same(const kh_sheet_sample *s, const json_t *record)
{
	json_t *root = kh_recorded_load(s->path[KH_RESULT_SUMMARY]);
	const json_t *run = json_object_get(root, "run");
	const char *version = json_string_value(json_object_get(root, "version"));
	const bool same = version && strcmp(version, PACKAGE_VERSION) == 0 &&
			  same_inputs(json_object_get(run, "inputs"),
				      json_object_get(record, "inputs")) &&
			  json_equal(json_object_get(run, "parameters"),
				     json_object_get(record, "parameters")) &&
			  same_database(json_object_get(run, "database"),
					json_object_get(record, "database")) &&
			  outputs_there(json_object_get(run, "outputs"), s);

	json_decref(root);
	return same;
}
