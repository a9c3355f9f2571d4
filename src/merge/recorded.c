#include <config.h>
#include "merge/recorded.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/paths.h"
#include "io/source.h"

json_t *kh_recorded_load(const char *path)
{
	struct stat st;

	return kh_path_is_file(path, &st) ? json_load_file(path, 0, NULL) : NULL;
}

static int add_to_digest(void *x, const void *p, size_t n, kh_err *err)
{
	(void)err;
	XXH3_64bits_update(x, p, n);
	return KH_OK;
}

int kh_recorded_digest(const char *path, uint64_t *digest, kh_err *err)
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

json_t *kh_recorded_hex(uint64_t x)
{
	char text[20];

	snprintf(text, sizeof text, "%016" PRIx64, x);
	return json_string(text);
}

static bool has_digest(const json_t *was, uint64_t xxh3)
{
	const char *digest = json_string_value(json_object_get(was, "xxh3"));
	json_t *now = digest ? kh_recorded_hex(xxh3) : NULL;
	const bool same = now && strcmp(json_string_value(now), digest) == 0;

	json_decref(now);
	return same;
}

bool kh_recorded_is(const char *path, const json_t *was)
{
	const json_t *size = json_object_get(was, "size");
	kh_err err = { 0, "" };
	struct stat st;
	uint64_t xxh3;

	return json_object_get(was, "xxh3") && json_is_integer(size) &&
	       kh_path_is_file(path, &st) &&
	       st.st_size == json_integer_value(size) &&
	       !kh_recorded_digest(path, &xxh3, &err) && has_digest(was, xxh3);
}

bool kh_recorded_is_inflated(const char *path, const json_t *was)
{
	enum { N = 1 << 16 };
	XXH3_state_t *x = XXH3_createState();
	char *buf = malloc(N);
	kh_source *s = NULL;
	kh_err err = { 0, "" };
	struct stat st;
	int64_t n = -1;

	if (x && buf && kh_path_is_file(path, &st) && !kh_source_open(&s, path, &err)) {
		XXH3_64bits_reset(x);
		while ((n = kh_source_read(s, buf, N, &err)) > 0)
			XXH3_64bits_update(x, buf, (size_t)n);
	}
	const bool same = n == 0 && has_digest(was, XXH3_64bits_digest(x));
	kh_source_close(s);
	XXH3_freeState(x);
	free(buf);
	return same;
}
