/* input.c - the sizes of the references and of tables, before they are read */
#include <config.h>
#include "build/build_in.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "io/paths.h"
#include "io/source.h"

static bool is_gzip(int fd)
{
	unsigned char magic[2] = { 0, 0 };

	return pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

uint64_t kh_build_gzipped(const kh_build_options *o, uint64_t least, uint64_t most)
{
	uint64_t sum = 0;
	struct stat st;

	for (size_t i = 0; i < o->n_refs; i++) {
		if (!kh_path_is_file(o->refs[i], &st) ||
		    (uint64_t)st.st_size < least || (uint64_t)st.st_size > most)
			continue;
		const int fd = open(o->refs[i], O_RDONLY | O_CLOEXEC);

		sum += fd >= 0 && is_gzip(fd) ? (uint64_t)st.st_size : 0;
		if (fd >= 0)
			close(fd);
	}
	return sum;
}

/* Bytes of text in a regular file: for gzip a guess from the length that its last member states. */
static uint64_t guess_text(int fd, uint64_t size)
{
	unsigned char tail[4] = { 0, 0, 0, 0 };

	if (!is_gzip(fd) || size < 4)
		return size;
	bool ok = pread(fd, tail, 4, (off_t)size - 4) == 4;
	uint64_t isize = tail[0] | tail[1] << 8 | tail[2] << 16 | (uint64_t)tail[3] << 24;

	return ok && isize > size ? isize : size * 7 / 2;
}

/* The same for a file by its name; 0 if it is not a regular file, so an empty one has a byte. */
static int guess_file(const char *path, uint64_t *text, kh_err *err)
{
	struct stat st;
	int fd;

	*text = 0;
	if (!kh_path_is_file(path, &st))
		return KH_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kh_fail_errno(err, path);
	*text = guess_text(fd, (uint64_t)st.st_size);
	*text = *text ? *text : 1;
	close(fd);
	return KH_OK;
}

/* Bytes of text in each input, as far as sizes tell. Fails if one cannot be read, or, where k is
 * still to be found, cannot be read twice. */
static int guess_sizes(const kh_build_options *o, bool twice, uint64_t *text, kh_err *err)
{
	uint64_t size;
	int rc = KH_OK;

	for (size_t i = 0; i < o->n_refs && !rc; i++) {
		const char *path = o->refs[i];
		struct stat st;

		rc = kh_source_check(path, &size, err);
		if (rc)
			break;
		if (strcmp(path, "-") != 0 && kh_path_is_file(path, &st))
			rc = guess_file(path, &text[i], err);
		else if (twice)
			rc = kh_fail(err, KH_EUSAGE,
				     "%s: an input that cannot be read twice needs build -k, "
				     "and no --max-db-size: these follow what was read",
				     path);
	}
	return rc;
}

/* Fails early if a table cannot be read: reading the references may take hours. */
static int check_tables(const kh_build_options *o, kh_err *err)
{
	uint64_t size;
	int rc = KH_OK;

	for (size_t i = 0; i < o->n_maps && !rc; i++)
		rc = kh_source_check(o->maps[i], &size, err);
	return rc;
}

int kh_build_look(struct build *b, uint64_t *bases, kh_err *err)
{
	const kh_build_options *o = b->o;
	uint64_t *text = kh_array(o->n_refs, sizeof *text, err), sum = 0;
	int rc = text ? kh_build_same_files(b, err) : KH_ENOMEM;

	if (!rc)
		rc = check_tables(o, err);
	b->input.known = true;
	if (!rc)
		rc = guess_sizes(o, !kh_build_settled(o) || o->max_db_size > 0, text, err);
	for (size_t i = 0; i < o->n_refs && text; i++) {
		sum += text[i];
		b->input.known &= text[i] > 0;
	}
	b->input.text = sum;
	b->input.small_gz = o->n_refs > 1 ? kh_build_gzipped(o, 0, KH_FEED_SMALL) * 4 : 0;
	*bases = sum - sum / 64;        /* line ends, headers */
	free(text);
	return rc;
}
