/*
 * library_example.c - how libkmerhash is used: a line for each sequence, as `kmerhash classify`
 *
 *	library_example [-t THREADS] [-d DEVICE] DATABASE <SEQUENCES
 *
 * A line of SEQUENCES has a name, a sequence and, of a pair, the second one, with tabs between.
 */
#include <kmerhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10000 };

/* Lines, cut into columns in place, and what they say. */
struct batch {
	char *line[BATCH];
	kmerhash_read read[BATCH];
	kmerhash_call call[BATCH];
	size_t n;
};

/* 1: the line is a read, 0: the input has ended. */
static int read_line(char **line, kmerhash_read *read)
{
	size_t cap = 0;
	char *sequence, *mate;

	*line = NULL;
	if (getline(line, &cap, stdin) <= 0 || !(sequence = strchr(*line, '\t'))) {
		free(*line);
		return 0;
	}
	(*line)[strcspn(*line, "\n")] = '\0';
	*sequence++ = '\0';
	mate = strchr(sequence, '\t');
	if (mate)
		*mate++ = '\0';
	*read = (kmerhash_read) { sequence, strlen(sequence), mate, mate ? strlen(mate) : 0 };
	return 1;
}

static size_t read_batch(struct batch *b)
{
	b->n = 0;
	while (b->n < BATCH && read_line(&b->line[b->n], &b->read[b->n]))
		b->n++;
	return b->n;
}

static void print_batch(const struct batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const kmerhash_call *c = &b->call[i];

		printf("%c\t%s\t%u\t%u\t%u\n", c->taxid ? 'C' : 'U', b->line[i],
		       (unsigned)c->taxid, (unsigned)c->hits, (unsigned)c->features);
		free(b->line[i]);
	}
}

int main(int argc, char **argv)
{
	static struct batch b;
	kmerhash_options options = { 0 };
	kmerhash_error error;
	kmerhash *k = NULL;
	int i = 1, rc;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2)
		if (argv[i][1] == 't')
			options.threads = (unsigned)strtoul(argv[i + 1], NULL, 10);
		else
			options.device = argv[i + 1];
	rc = kmerhash_open(&k, i < argc ? argv[i] : "", &options, &error);
	while (!rc && read_batch(&b) > 0) {
		rc = kmerhash_classify(k, b.read, b.n, b.call, &error);
		if (!rc)
			print_batch(&b);
	}
	kmerhash_close(k);
	if (rc)
		fprintf(stderr, "library_example: %s\n", error.message);
	return rc ? 1 : 0;
}
