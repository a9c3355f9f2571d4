/*
 * library_check.c - what libkmerhash promises, as TAP; run_library.sh runs it
 *
 *	library_check DATABASE DEVICE NUMBER <SEQUENCES
 *
 * Sequences as of library_example.c; taps are numbered from NUMBER + 1.
 */
#include <kmerhash.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000, CALLERS = 4, ROUNDS = 40 };

static kmerhash *k;
static kmerhash_read reads[MOST];
static kmerhash_call calls[MOST];
static size_t n;
static int number;

static void verdict(int good, const char *name)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, name);
}

static void read_all(void)
{
	for (char *line = NULL; n < MOST; line = NULL) {
		size_t cap = 0;
		char *seq, *mate;

		if (getline(&line, &cap, stdin) <= 0 || !(seq = strchr(line, '\t'))) {
			free(line);
			return;
		}
		line[strcspn(line, "\n")] = '\0';
		mate = strchr(++seq, '\t');
		if (mate)
			*mate++ = '\0';
		reads[n].length = mate ? (size_t)(mate - 1 - seq) : strlen(seq);
		reads[n].sequence = memcpy(malloc(reads[n].length + 1), seq, reads[n].length);
		reads[n].mate_length = mate ? strlen(mate) : 0;
		reads[n++].mate = mate ? strdup(mate) : NULL;
		free(line);
	}
}

/* Classifies batches at random places and compares them with the calls of all in one batch.
 * Returns NULL if they are equal. */
static void *caller(void *arg)
{
	unsigned seed = *(unsigned *)arg;
	kmerhash_call *mine = malloc(MOST * sizeof *mine);
	void *bad = NULL;

	for (int i = 0; i < ROUNDS && !bad; i++) {
		const size_t from = (size_t)rand_r(&seed) % n;
		const size_t most = i % 2 ? n - from : 1 + (n - from) / 100;
		const size_t many = 1 + (size_t)rand_r(&seed) % most;

		if (kmerhash_classify(k, reads + from, many, mine, NULL) ||
		    memcmp(mine, calls + from, many * sizeof *mine) != 0)
			bad = arg;
	}
	free(mine);
	return bad;
}

static int callers_agree(void)
{
	pthread_t thread[CALLERS];
	unsigned seed[CALLERS];
	int good = 1;

	for (unsigned i = 0; i < CALLERS; i++) {
		seed[i] = i;
		pthread_create(&thread[i], NULL, caller, &seed[i]);
	}
	for (unsigned i = 0; i < CALLERS; i++) {
		void *bad;

		pthread_join(thread[i], &bad);
		good &= bad == NULL;
	}
	return good;
}

/* An error in the second of two reads is reported with its number, and does not affect later
 * calls. */
static void check_errors(void)
{
	kmerhash_error e = { 0, "" };
	kmerhash_call *mine = calloc(n, sizeof *mine);
	const size_t bad = n / 2;
	const kmerhash_read good = reads[bad], last = reads[n - 1];
	char expected[80];
	int rc;

	reads[bad].sequence = "ACGTACGT!CGT";
	reads[bad].length = 12;
	reads[n - 1].sequence = "\n";
	reads[n - 1].length = 1;
	snprintf(expected, sizeof expected,
		 "read %zu: expected a nucleotide, found byte 0x21 at base 9", bad + 1);
	rc = kmerhash_classify(k, reads, n, mine, &e);
	verdict(rc == KMERHASH_EFORMAT && e.code == rc && strcmp(e.message, expected) == 0,
		"the first malformed read is told");
	reads[bad].sequence = NULL;
	verdict(kmerhash_classify(k, reads, n, mine, &e) == KMERHASH_EUSAGE, "bases at NULL");
	reads[bad] = good;
	reads[n - 1] = last;
	verdict(kmerhash_classify(k, reads, n, mine, &e) == 0 &&
			memcmp(mine, calls, n * sizeof *mine) == 0,
		"after an error calls are right again");
	verdict(kmerhash_classify(k, NULL, 0, NULL, &e) == 0, "an empty batch");
	free(mine);
}

static void check_opening(const char *path)
{
	const kmerhash_options odd = { .device = "abacus" }, wide = { .confidence = 1.5 },
			       old = { .want = 1 };
	kmerhash_error e = { 0, "" };
	kmerhash *none = NULL;

	verdict(kmerhash_open(&none, "/nowhere.khdb", NULL, &e) == KMERHASH_EIO && !none &&
			strstr(e.message, "/nowhere.khdb") != NULL,
		"a database that is not there");
	verdict(kmerhash_open(&none, "/nowhere.khdb", NULL, NULL) == KMERHASH_EIO,
		"the message is not wanted");
	verdict(kmerhash_open(&none, path, &odd, &e) == KMERHASH_EUSAGE, "a device that is none");
	verdict(kmerhash_open(&none, path, &wide, &e) == KMERHASH_EUSAGE, "a confidence over 1");
	verdict(kmerhash_open(&none, path, &old, &e) == KMERHASH_EUSAGE, "`want` is 1");
	kmerhash_close(NULL);
}

static void check_taxonomy(void)
{
	kmerhash_taxon t, up;
	int good = kmerhash_taxon_at(k, 0, &t) && t.taxid == 1 && t.parent == 0 &&
		   strcmp(t.name, "root") == 0;

	for (uint32_t i = 1; i < kmerhash_taxa(k) && good; i++)
		good = kmerhash_taxon_at(k, i, &t) && kmerhash_taxon_find(k, t.parent, &up) &&
		       up.taxid == t.parent &&
		       kmerhash_taxon_common(k, t.taxid, t.parent) == t.parent &&
		       kmerhash_taxon_common(k, t.taxid, t.taxid) == t.taxid &&
		       (strcmp(t.rank, "species") != 0 ||
			kmerhash_taxon_above(k, t.taxid, "species") == t.taxid);
	verdict(good, "each taxon has its parent above it");
	verdict(!kmerhash_taxon_at(k, kmerhash_taxa(k), &t) && !kmerhash_taxon_find(k, 0, &t) &&
			!kmerhash_taxon_above(k, 4000000000u, "species") &&
			!kmerhash_taxon_above(k, 1, "species") &&
			!kmerhash_taxon_common(k, 1, 4000000000u),
		"taxa that are not there");
}

int main(int argc, char **argv)
{
	kmerhash_options o = { .threads = 3 };
	kmerhash_error e;

	if (argc != 4)
		return 2;
	o.device = argv[2];
	number = atoi(argv[3]);
	read_all();
	if (kmerhash_open(&k, argv[1], &o, &e) || kmerhash_classify(k, reads, n, calls, &e)) {
		printf("Bail out! %s\n", e.message);
		return 1;
	}
	verdict(callers_agree(), "callers side by side get what one gets");
	check_errors();
	check_opening(argv[1]);
	check_taxonomy();
	kmerhash_close(k);
	for (size_t i = 0; i < n; i++) {
		free((void *)reads[i].sequence);
		free((void *)reads[i].mate);
	}
	return 0;
}
