/*
 * same.c - references that are read more than once are the same each time
 *
 * A file that is replaced or written meanwhile gets another number, size or time.  Where a file
 * system does not tell times as it should, the digests of the sequences differ.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/mem.h"
#include "base/system.h"
#include "io/paths.h"

struct found {
	uint64_t device, inode, size, mtime, ctime;
};

static int fail_changed(const struct build *b, size_t file, kh_err *err)
{
	return kh_fail(err, KH_EIO, "%s: was changed while the database was made of it",
		       b->o->refs[file]);
}

static struct found find(const char *path)
{
	struct stat st;

	if (!kh_path_is_file(path, &st))
		return (struct found) { .device = 0 };
	return (struct found) { (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size,
				kh_nanoseconds(st.st_mtim), kh_nanoseconds(st.st_ctim) };
}

int kh_build_same_files(struct build *b, kh_err *err)
{
	const bool first = !b->same.found;
	int rc = KH_OK;

	if (first)
		b->same.found = kh_array(b->o->n_refs, sizeof *b->same.found, err);
	if (!b->same.found)
		return KH_ENOMEM;
	for (size_t i = 0; i < b->o->n_refs && !rc; i++) {
		const struct found now = find(b->o->refs[i]);

		if (first)
			b->same.found[i] = now;
		else if (memcmp(&now, &b->same.found[i], sizeof now) != 0)
			rc = fail_changed(b, i, err);
	}
	return rc;
}

int kh_build_same_sequences(struct build *b, kh_err *err)
{
	uint64_t *digest = kh_array(b->o->n_refs, sizeof *digest, err);
	int rc = digest ? KH_OK : KH_ENOMEM;

	for (size_t i = b->base.n; i < b->refs.n && !rc; i++) {
		const kh_ref *r = &b->refs.ref[i];
		const char *id = kh_refs_id(&b->refs, i);
		const uint64_t all[] = { digest[r->file], r->digest, r->bases,
					 XXH3_64bits(id, strlen(id)) };

		digest[r->file] = XXH3_64bits(all, sizeof all);
	}
	for (size_t i = 0; i < b->o->n_refs && b->same.digest && !rc; i++)
		if (digest[i] != b->same.digest[i])
			rc = fail_changed(b, i, err);
	free(b->same.digest);
	b->same.digest = digest;
	return rc;
}

void kh_build_same_clear(struct build *b)
{
	free(b->same.found);
	free(b->same.digest);
	b->same = (struct same) { .found = NULL };
}
