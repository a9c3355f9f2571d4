/*
 * split_input.c - which of the references a process reads
 *
 * Each process gets a stretch of the input, so that the processes' sequences are in the order of
 * processes. The input is cut where the sum of sizes reaches an equal share: between two files,
 * or, in a large plain file, at the beginning of a record.  Only process 0 looks at all files.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "io/paths.h"
#include "io/source.h"

/* --- sizes ------------------------------------------------------------------------ */
/* Bytes of text in a regular file: for gzip a guess from the length that its last member states. */
static uint64_t guess_text(FILE *f, uint64_t size)
{
	unsigned char magic[2] = { 0, 0 }, tail[4] = { 0, 0, 0, 0 };

	if (fread(magic, 1, 2, f) != 2 || magic[0] != 0x1f || magic[1] != 0x8b)
		return size;
	bool ok = fseek(f, -4, SEEK_END) == 0 && fread(tail, 1, 4, f) == 4;
	uint64_t isize = tail[0] | tail[1] << 8 | tail[2] << 16 | (uint64_t)tail[3] << 24;

	return ok && isize > size ? isize : size * 7 / 2;
}

/* The same for a file by its name; 0 if it is not a regular file, so an empty one has a byte. */
static int guess_file(const char *path, uint64_t *text, kh_err *err)
{
	struct stat st;
	FILE *f;

	*text = 0;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return KH_OK;
	f = fopen(path, "rb");
	if (!f)
		return kh_fail_errno(err, path);
	*text = guess_text(f, (uint64_t)st.st_size);
	*text = *text ? *text : 1;
	fclose(f);
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
		if (!rc)
			rc = kh_comm_check_input(o->comm, kh_is_standard_input(path), err);
		if (rc)
			break;
		if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode))
			rc = guess_file(path, &text[i], err);
		else if (twice)
			rc = kh_fail(err, KH_EUSAGE,
				     "%s: an input that cannot be read twice needs build -k, "
				     "and no --max-db-size: these follow what was read",
				     path);
	}
	return rc;
}

/* Does this process see the same files as process 0? */
static int check_own(const struct build *b, const uint64_t *text, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = b->mine.first_file; i < b->mine.first_file + b->mine.n_files && !rc; i++) {
		uint64_t own;

		rc = guess_file(b->o->refs[i], &own, err);
		if (!rc && own != text[i])
			rc = kh_fail(err, KH_EIO,
				     "%s: is another file for process 0 (about %llu bytes of text, "
				     "here %llu)",
				     b->o->refs[i], (unsigned long long)text[i],
				     (unsigned long long)own);
	}
	return rc;
}

/* --- cuts ------------------------------------------------------------------------- */
struct cut {
	uint64_t file, byte;
};

/* The first record that begins at byte *at or behind it; the size of the file if there is none. */
static int find_record(const kh_source *s, uint64_t *at, kh_err *err)
{
	enum { N = 1 << 20 };
	const uint64_t size = kh_source_size(s);
	char *buf = malloc(N), before = 0;
	int rc = buf ? KH_OK : kh_fail_nomem(err);

	for (uint64_t from = *at - 1; !rc && from < size; from += N) {
		size_t n = size - from < N ? (size_t)(size - from) : N;

		rc = kh_source_pread(s, buf, n, from, err);
		for (char *p = buf; !rc && (p = memchr(p, '>', n - (size_t)(p - buf))) != NULL; p++)
			if ((p > buf ? p[-1] : before) == '\n') {
				*at = from + (uint64_t)(p - buf);
				free(buf);
				return KH_OK;
			}
		before = buf[n - 1];
	}
	*at = size;
	free(buf);
	return rc;
}

/* Moves the cut into a file, if that is plain; otherwise `cut` stays as it is. */
static int cut_file(const char *path, struct cut *cut, uint64_t at, kh_err *err)
{
	kh_source *s;
	int rc = kh_source_open(&s, path, err);

	if (rc)
		return rc;
	if (kh_source_kind(s) == KH_SOURCE_RANGES && at < kh_source_size(s)) {
		rc = find_record(s, &at, err);
		cut->byte = at < kh_source_size(s) ? at : 0;
		cut->file += cut->byte == 0;
	} else {
		cut->file += at > kh_source_size(s) / 2;
	}
	kh_source_close(s);
	return rc;
}

/* Where this process's stretch begins. */
static int find_cut(const struct build *b, const uint64_t *text, struct cut *cut, kh_err *err)
{
	const unsigned processes = kh_comm_size(b->o->comm), self = kh_comm_self(b->o->comm);
	uint64_t all = 0, goal;
	size_t i = 0;

	for (size_t k = 0; k < b->o->n_refs; k++)
		all += text[k];
	goal = all / processes * self + all % processes * self / processes;
	while (i < b->o->n_refs && goal > 0 && text[i] <= goal)
		goal -= text[i++];
	*cut = (struct cut) { i, 0 };
	if (goal == 0)
		return KH_OK;
	if (text[i] > all / processes / 4)
		return cut_file(b->o->refs[i], cut, goal, err);
	cut->file += goal > text[i] / 2;
	return KH_OK;
}

/* This process reads from its own cut to that of the next process. */
static int find_own_part(struct build *b, const uint64_t *text, kh_err *err)
{
	const unsigned processes = kh_comm_size(b->o->comm), self = kh_comm_self(b->o->comm);
	struct cut cut[KH_MEMBERS_MAX + 1] = { { 0, 0 } };
	int rc = find_cut(b, text, &cut[self], err);

	/* those of the others are 0 here */
	if (rc || (rc = kh_comm_sum(b->o->comm, &cut->file, 2 * (size_t)processes, err)))
		return rc;
	cut[processes] = (struct cut) { b->o->n_refs, 0 };
	b->mine.first_file = (size_t)cut[self].file;
	b->mine.n_files = (size_t)(cut[self + 1].file - cut[self].file + (cut[self + 1].byte > 0));
	b->mine.from_byte = cut[self].byte;
	b->mine.to_byte = cut[self + 1].byte;
	if (cut[self].file == cut[self + 1].file && b->mine.from_byte == b->mine.to_byte)
		b->mine.n_files = 0;
	return KH_OK;
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

int kh_build_split(struct build *b, uint64_t *bases, kh_err *err)
{
	const kh_build_options *o = b->o;
	uint64_t *text = kh_array(o->n_refs, sizeof *text, err), sum = 0;
	int rc = text ? KH_OK : KH_ENOMEM;

	b->mine.n_files = o->n_refs;
	b->mine.text_known = true;
	if (!rc && kh_comm_self(o->comm) == 0 && !(rc = check_tables(o, err)))
		rc = guess_sizes(o, !kh_build_settled(o) || o->max_db_size > 0, text, err);
	if (!rc)
		rc = kh_build_broadcast(b, text, o->n_refs * sizeof *text, err);
	if (!rc && o->comm && !(rc = find_own_part(b, text, err)))
		rc = check_own(b, text, err);
	for (size_t i = 0; i < o->n_refs && text; i++) {
		sum += text[i];
		b->mine.text_known &= text[i] > 0;
	}
	b->mine.text = sum;
	*bases = sum - sum / 64;        /* line ends, headers */
	free(text);
	return rc;
}
