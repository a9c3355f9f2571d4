/*
 * library_faults.c - a program that goes on after a failure of libkmerhash; run_faults.sh lets an
 * allocation fail in it
 *
 *	library_faults DATABASE READS REPORT <SEQUENCES
 *
 * Each call of the library is made again if it fails, and must then succeed, as only one allocation
 * fails.  Prints the calls of the sequences, a line each.  Everything of its own is static.
 */
#include <kmerhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4000 };

static char text[8 << 20];
static kmerhash_read reads[MOST];
static kmerhash_call calls[MOST], again[MOST];

static size_t read_all(void)
{
	size_t n = 0;

	text[fread(text, 1, sizeof text - 1, stdin)] = '\0';
	for (char *p = strtok(text, "\n"); p && n < MOST; p = strtok(NULL, "\n")) {
		char *mate = strchr(p, '\t');

		reads[n].sequence = p;
		reads[n].length = mate ? (size_t)(mate - p) : strlen(p);
		reads[n].mate = mate ? mate + 1 : NULL;
		reads[n++].mate_length = mate ? strlen(mate + 1) : 0;
	}
	return n;
}

/* A call, once more if it has failed: one failure in all, with a message, or the program ends. */
static int failures;
static int judge(const char *what, int rc, const kmerhash_error *e)
{
	if (rc)
		fprintf(stderr, "%s: %d: %s\n", what, rc, e->message);
	if (rc && (++failures > 1 || !e->message[0]))
		exit(4);
	return rc;
}
#define TWICE(what, call) ((void)(judge(what, call, &e) && judge(what, call, &e)))

int main(int argc, char **argv)
{
	const kmerhash_options o = { .device = "cpu", .threads = 2 };
	kmerhash_error e = { 0, "" };
	kmerhash *k = NULL;

	if (argc != 4)
		return 2;
	const size_t n = read_all();
	const kmerhash_files f = { .reads = argv[2], .report = argv[3] };
	TWICE("open", kmerhash_open(&k, argv[1], &o, &e));
	TWICE("classify", kmerhash_classify(k, reads, n, calls, &e));
	if (judge("files", kmerhash_classify_files(k, &f, NULL, &e), &e)) {
		if (access(argv[3], F_OK) == 0)
			return 5;
		judge("files", kmerhash_classify_files(k, &f, NULL, &e), &e);
	}
	TWICE("classify again", kmerhash_classify(k, reads, n, again, &e));
	if (memcmp(calls, again, n * sizeof *calls) != 0)
		return 6;
	for (size_t i = 0; i < n; i++)
		printf("%u %u %u %u\n", calls[i].taxid, calls[i].hits, calls[i].features,
		       calls[i].found);
	kmerhash_close(k);
	return 0;
}
