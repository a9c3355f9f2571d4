#include <config.h>
#include "merge/summaries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "io/paths.h"
#include "io/writer.h"
#include "merge/recorded.h"

/* NULL: there is none, or it is something else. */
static json_t *load(const char *path)
{
	json_t *root = kh_recorded_load(path);
	const char *tool = json_string_value(json_object_get(root, "tool"));

	if (tool && strcmp(tool, "kmerhash") == 0)
		return root;
	json_decref(root);
	return NULL;
}

bool kh_merge_is_summary(const char *path)
{
	json_t *root = load(path);

	json_decref(root);
	return root != NULL;
}

/* Does a summary list the file, or one of that name that it cannot be compared with? */
static bool lists(const json_t *outputs, const char *path, const char *name)
{
	const size_t n = strlen(name);
	bool listed = false;
	size_t i;
	json_t *x;

	json_array_foreach(outputs, i, x) {
		const char *was = json_string_value(json_object_get(x, "path"));

		was = was ? kh_base_name(was) : "";
		const bool packed = kh_writer_wants_bgzf(was);

		listed |= kh_recorded_is(path, x) ||
			  (!packed && kh_writer_wants_bgzf(name) &&
			   kh_recorded_is_inflated(path, x));
		/* version 0.2.0 has no digests, and a file may have been inflated since */
		listed |= (!json_object_get(x, "xxh3") && strcmp(was, name) == 0) ||
			  (packed && strncmp(was, name, n) == 0 && was[n] == '.');
	}
	return listed || !json_is_array(outputs);
}

int kh_merge_check_run(const char *path, const char *sample, kh_errs *errs, kh_err *err)
{
	char *summary = NULL, *name = kh_escaped(kh_base_name(path));
	int rc = name ? kh_path_beside(&summary, path, err, "%s.json", sample) : kh_fail_nomem(err);

	if (rc) {
		free(name);
		return rc;
	}
	json_t *root = load(summary);
	const json_t *outputs = json_object_get(json_object_get(root, "run"), "outputs");

	if (root && !lists(outputs, path, name))
		rc = kh_errs_note(errs, err, KH_EFORMAT,
				  "%s: not among the outputs in %s, the summary of this sample's "
				  "run: it is of another run, or was changed since", path, summary);
	json_decref(root);
	free(summary);
	free(name);
	return rc;
}
