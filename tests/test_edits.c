/* test_edits.c - alignments with the fewest edits, beside those of all cells */
#include "test.h"
#include "kmer/edits.h"

enum { MOST = 96, TRIALS = 20000, NEVER = 1 << 28, GAP = 1, EDIT = 1 << 12 };

static kh_edits edits;
static int best[MOST + 1][MOST + 1][3];

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* All cells, from the front on: a base beside a base, or in a gap of the one or the other kind. */
static int all_cells(size_t n, size_t m)
{
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			int *x = best[i][j];

			x[0] = i + j > 0 ? NEVER : 0;
			x[1] = x[2] = NEVER;
			if (i > 0 && j > 0) {
				const int *y = best[i - 1][j - 1];

				x[0] = least(y[0], least(y[1], y[2])) +
				       (edits.read[i - 1] & edits.text[j - 1] ? 0 : EDIT);
			}
			if (j > 0) {
				const int *y = best[i][j - 1];

				x[1] = EDIT + least(y[1], GAP + least(y[0], y[2]));
			}
			if (i > 0) {
				const int *y = best[i - 1][j];

				x[2] = EDIT + least(y[2], GAP + least(y[0], y[1]));
			}
		}
	}
	return least(best[n][m][0], least(best[n][m][1], best[n][m][2]));
}

/* A text of few or four kinds of bases, some with an allele, and a read of it with errors. */
static void make(kh_err *err)
{
	const size_t len = test_rand() % (MOST / 2) + 1, kinds = 1 + test_rand() % 4;
	const uint64_t each = 3 + test_rand() % 30;
	uint8_t text[MOST], read[2 * MOST];
	size_t n = 0;

	for (size_t j = 0; j < len; j++) {
		text[j] = (uint8_t)(1u << test_rand() % kinds);
		text[j] |= test_rand() % 32 ? 0 : (uint8_t)(1u << test_rand() % 4);
	}
	for (size_t j = 0; j < len; j++) {
		const uint8_t base = text[j] & -text[j];

		switch (test_rand() % each) {
		case 0: break;
		case 1: read[n++] = (uint8_t)(test_rand() % 8 ? 1u << test_rand() % 4 : 0); break;
		case 2: read[n++] = (uint8_t)(1u << test_rand() % kinds); /* fall through */
		default: read[n++] = base;
		}
	}
	assert_int_equal(kh_edits_begin(&edits, n, len, err), 0);
	if (n > 0)
		memcpy(edits.read, read, n);
	memcpy(edits.text, text, len);
}

/* What the alignment costs; its gaps lie in front, and are apart. */
static int cost_of_steps(void)
{
	size_t i = 0, j = 0, columns;
	int64_t gap, before = 0;
	int cost = 0;

	for (bool first = true; kh_edits_next(&edits, &columns, &gap); first = false) {
		assert_true(columns > 0 || first);
		assert_true(first || before != 0);
		for (size_t k = 0; k < columns; k++, i++, j++)
			cost += edits.read[i] & edits.text[j] ? 0 : EDIT;
		if (columns > 0 && gap != 0) {  /* a column further in front it costs more */
			const size_t x = i - 1 + (gap < 0 ? (size_t)-gap : 0);
			const size_t y = j - 1 + (gap > 0 ? (size_t)gap : 0);
			const bool matches = edits.read[i - 1] & edits.text[j - 1];

			assert_true(matches && !(edits.read[x] & edits.text[y]));
		}
		i += gap < 0 ? (size_t)-gap : 0;
		j += gap > 0 ? (size_t)gap : 0;
		cost += gap ? GAP + EDIT * (int)(gap < 0 ? -gap : gap) : 0;
		before = gap;
	}
	assert_true(i == edits.n && j == edits.m);
	return cost;
}

TEST(test_as_all_cells)
{
	kh_err err = { 0 };

	for (int trial = 0; trial < TRIALS; trial++) {
		uint32_t got;

		make(&err);
		const int want = all_cells(edits.n, edits.m);
		const int64_t drift = (int64_t)edits.m - (int64_t)edits.n;
		const int64_t low = drift < 0 ? drift : 0, high = drift > 0 ? drift : 0;
		const uint32_t most = (uint32_t)(want / EDIT) + (uint32_t)(test_rand() % 12);

		assert_int_equal(kh_edits_align(&edits, low, high, most, &got, &err), 0);
		if (most == (uint32_t)(want / EDIT)) {
			assert_true(got >= most);
			continue;
		}
		assert_int_equal(got, want / EDIT);
		assert_int_equal(cost_of_steps(), want);
	}
}

/* Diagonals too far aside are not looked at: what is found has more edits, and is an alignment. */
TEST(test_band)
{
	enum { N = 600, FAR = KH_EDITS_ASIDE + 8 };
	kh_err err = { 0 };
	uint32_t got;

	assert_int_equal(kh_edits_begin(&edits, N, N, &err), 0);
	for (size_t i = 0; i < N; i++)
		edits.text[i] = (uint8_t)(1u << test_rand() % 4);
	for (size_t i = 0; i < N; i++)
		edits.read[i] = edits.text[i + FAR < N ? i + FAR : i];
	assert_int_equal(kh_edits_align(&edits, 0, 0, N, &got, &err), 0);
	assert_true(got > 2 * FAR && got < N);
	assert_int_equal(cost_of_steps() / EDIT, got);
	assert_int_equal(kh_edits_align(&edits, 0, FAR, N, &got, &err), 0);
	assert_true(got <= 2 * FAR);
	assert_int_equal(cost_of_steps() / EDIT, got);
	kh_edits_clear(&edits);
}
