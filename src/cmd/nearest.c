#include <config.h>
#include "cmd/options.h"

#include <string.h>

enum { LONGEST = 32 };

/* The edit distance (Levenshtein): letters to insert, delete or change. */
static size_t distance(const char *a, size_t n, const char *b)
{
	const size_t m = strlen(b);
	size_t row[LONGEST + 1];

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			const size_t above = row[j];
			size_t least = diagonal + (a[i - 1] != b[j - 1]);

			least = above + 1 < least ? above + 1 : least;
			row[j] = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
			diagonal = above;
		}
	}
	return row[m];
}

const char *kh_nearest(const char *word, size_t n, const char *const *words, size_t n_words)
{
	const char *found = NULL;
	size_t least = 1 + n / 3;

	for (size_t i = 0; i < n_words; i++) {
		const size_t d = distance(word, n, words[i]);

		if (d < least || (d == least && !found)) {
			least = d;
			found = words[i];
		}
	}
	return found;
}
