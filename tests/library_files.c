/*
 * library_files.c - files by libkmerhash, as the command takes them; run_doors.sh asks it
 *
 *	library_files DATABASE READS MATES LINES REPORT      ('none': not wanted)
 *	library_files -r READS MATES                         only reads
 */
#include <kmerhash.h>
#include <stdio.h>
#include <string.h>

static const char *path(const char *word) { return strcmp(word, "none") ? word : NULL; }

static int fail(const kmerhash_error *e)
{
	fprintf(stderr, "%s\n", e->message);
	return 1;
}

static int read_only(char **argv)
{
	const kmerhash_record *record;
	kmerhash_error e = { 0, "" };
	kmerhash_reads *r = NULL;
	size_t n = 1;
	int rc = kmerhash_reads_open(&r, path(argv[2]), path(argv[3]), &e);

	while (!rc && n > 0)
		rc = kmerhash_reads_next(r, &record, &n, &e);
	kmerhash_reads_close(r);
	return rc ? fail(&e) : 0;
}

int main(int argc, char **argv)
{
	const kmerhash_options o = { .device = "cpu", .threads = 2 };
	kmerhash_error e = { 0, "" };
	kmerhash *k = NULL;

	if (argc == 4 && strcmp(argv[1], "-r") == 0)
		return read_only(argv);
	if (argc != 6)
		return 2;
	const kmerhash_files f = { .reads = path(argv[2]), .mates = path(argv[3]),
				   .lines = path(argv[4]), .report = path(argv[5]) };
	int rc = kmerhash_open(&k, argv[1], &o, &e);
	if (!rc)
		rc = kmerhash_classify_files(k, &f, NULL, &e);
	kmerhash_close(k);
	return rc ? fail(&e) : 0;
}
