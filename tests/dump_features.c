/*
 * dump_features.c - prints what the program samples: for oracle_sampling.py
 *
 *	dump_features syncmer|minhash|asked K S STRIDE LEAST NO_REPEATS < sequences, one a line
 *
 * A line a feature: number of the sequence, position, key.  asked: what of a read is looked up that
 * minhash may have kept.
 */
#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include "packed.h"
#include "kmer/sampling.h"

static int dump(const kh_sampling *rule, int asked, const char *s, size_t n, unsigned number)
{
	packed p = pack(s, n);
	uint64_t starts = kh_sampling_starts(rule, n);
	uint64_t bound = (asked ? kh_sampling_asked_bound : kh_sampling_bound)(rule, starts);
	uint64_t *key = malloc((bound + 1) * sizeof *key);
	uint32_t *pos = malloc((bound + 1) * sizeof *pos);
	kh_sampling_span st = { p.bases, p.amb, 0, starts };
	int ok = p.bases && p.amb && key && pos;

	for (size_t i = 0, m = ok ? (asked ? kh_sampling_asked : kh_sampling_run)(rule, &st, key,
										  pos)
				: 0; i < m; i++)
		printf("%u\t%" PRIu32 "\t%" PRIu64 "\n", number, pos[i], key[i]);
	free(key);
	free(pos);
	unpack(&p);
	return ok;
}

int main(int argc, char **argv)
{
	kh_sampling rule;
	kh_err err = { 0, "" };
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	unsigned number = 0;
	const int asked = argc > 1 && strcmp(argv[1], "asked") == 0;
	int ok = 1;

	if (argc != 7)
		return 2;
	rule = (kh_sampling) { strcmp(argv[1], "syncmer") == 0 ? KH_SYNCMER : KH_MINHASH,
			     (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]),
			     (uint32_t)atoi(argv[4]), (uint32_t)strtoul(argv[5], NULL, 10),
			     (uint32_t)atoi(argv[6]) };
	if (kh_sampling_check(&rule, &err)) {
		fprintf(stderr, "dump_features: %s\n", err.msg);
		return 2;
	}
	while (ok && (n = getline(&line, &cap, stdin)) > 0)
		ok = dump(&rule, asked, line, (size_t)n - (line[n - 1] == '\n'), number++);
	free(line);
	return ok && fflush(stdout) == 0 ? 0 : 1;
}
