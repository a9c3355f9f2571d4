/*
 * test_feed_dropped.c - blocks that are held after their text was dropped: their records and bases
 * stay, and few places for text serve all
 */
#include "test.h"
#include "feed_inputs.h"
#include "seqio/feed_in.h"

static void check_names(const kh_block *b, size_t *n)
{
	for (size_t i = 0; i < b->n_rec; i++, ++*n) {
		char want[20];

		snprintf(want, sizeof want, "r%04zu", *n);
		assert_memory_equal(b->text + b->rec[i].name, want, 5);
	}
}

struct seen {
	size_t names, blocks;
	const char *place;
};

static int look_at_text(void *arg, kh_block *b, kh_err *err)
{
	struct seen *seen = arg;

	(void)err;
	check_names(b, &seen->names);
	if (seen->blocks++ > 0)
		assert_ptr_equal(b->text, seen->place);
	seen->place = b->text;
	return KH_OK;
}

/* Blocks that are held have records and bases as ever, and one place for text serves all. */
TEST(test_dropped_text)
{
	static const char seq[] = "ACGTTGCAACGTTGCAACGTTGCAACGTTGCAACG";
	enum { N = 300, BLOCKS = 100, LEN = 10 + 2 * sizeof seq };
	static char s[N * LEN];
	char *end = s;
	struct seen seen = { 0 };
	kh_block *held[BLOCKS];
	size_t len = 0, n_blocks = 0;
	kh_monitor *m = NULL;
	kh_err err;

	for (int i = 0; i < N; i++)
		end += sprintf(end, "@r%04d\n%s\n+\n%s\n", i, seq, seq);
	struct input in = make_input(GZ, s, (size_t)(end - s));
	const char *p = in.path;
	const kh_feed_options o = { .path = { &p, NULL }, .n_path = { 1, 0 }, .block_size = 1000,
				    .workers = 1, .held = BLOCKS, .text = KH_FEED_BASES,
				    .committed = look_at_text, .arg = &seen };
	kh_feed *f = open_feed(&o, &m);
	for (kh_block *b; kh_feed_next(f, &b, &err) == 1; held[n_blocks++] = b) {
		kh_jobs jobs;

		assert_int_equal(kh_feed_commit(f, b, &jobs, &err), 0);
		for (size_t i = 0; i < jobs.n; i++)
			kh_feed_release_job(f, &jobs.job[i]);
		assert_null(b->text);
	}
	for (size_t k = 0; k < n_blocks; k++)
		for (size_t i = 0; i < held[k]->n_rec; i++)
			len += held[k]->rec[i].len;
	assert_true(n_blocks > 20);
	assert_int_equal(seen.names, N);
	assert_int_equal(len, N * (sizeof seq - 1));
	close_feed(f, m);
	close(in.fd);
}

/* Two files of mates whose blocks end at different records.  The text of a block is there until
 * all its records have mates, and a mate with another name is still told by both names. */
static void dropped_pairs(int n_pairs, int wrong)
{
	enum { LEN = 80 };
	char *s[2] = { malloc((size_t)n_pairs * LEN), malloc((size_t)n_pairs * LEN) };
	struct input in[2];
	const char *path[2];
	kh_monitor *m = NULL;
	kh_err err = { 0, "" };
	size_t pairs = 0, dropped = 0;
	kh_block *b;
	int rc = 0;

	for (int k = 0; k < 2; k++) {
		char *end = s[k];

		for (int i = 0; i < n_pairs; i++)
			end += sprintf(end, "@r%04d\n%s\n+\n%s\n", k == 1 && i == wrong ? 9999 : i,
				       k ? "ACGTTGCA" : "ACGTTGCAACGTTGCAACGT",
				       k ? "FFFFFFFF" : "FFFFFFFFFFFFFFFFFFFF");
		in[k] = make_input(RANGES, s[k], (size_t)(end - s[k]));
		path[k] = in[k].path;
	}
	const kh_feed_options o = { .path = { &path[0], &path[1] }, .n_path = { 1, 1 },
				    .block_size = 1000, .workers = 6, .text = KH_FEED_BASES };
	kh_feed *f = open_feed(&o, &m);
	while (!rc && kh_feed_next(f, &b, &err) == 1) {
		kh_jobs jobs;

		rc = kh_feed_commit(f, b, &jobs, &err);
		for (size_t i = 0; !rc && i < jobs.n; i++) {
			const kh_job *j = &jobs.job[i];

			for (int k = 0; k < 2; k++) {
				const bool over = j->from[k] + j->n == j->block[k]->n_rec;

				assert_int_equal(over, j->block[k]->text == NULL);
				dropped += over;
				assert_int_equal(j->block[k]->rec[j->from[k]].len, k ? 8 : 20);
			}
			pairs += j->n;
			kh_feed_release_job(f, j);
		}
		kh_feed_release(f, b);
	}
	assert_int_equal(rc, wrong < n_pairs ? KH_EFORMAT : 0);
	if (rc)
		assert_non_null(strstr(err.msg, "'r0150' and 'r9999'"));
	else
		assert_int_equal(pairs, n_pairs);
	assert_true(dropped > 10);
	close_feed(f, m);
	for (int k = 0; k < 2; k++) {
		close(in[k].fd);
		free(s[k]);
	}
}

TEST(test_dropped_pairs)
{
	dropped_pairs(300, 300);
	dropped_pairs(300, 150);
}
