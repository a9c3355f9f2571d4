/*
 * test_report.c - a table of very many levels, text of lines and reads, counters of features;
 * run_golden.sh has the tables
 */
#define TEST_MAIN
#include "test.h"

#include <time.h>
#include "made_tree.h"
#include "run/report.h"

/* A chain of taxa, each below the one before: linear in its length, and no row is cut. */
TEST(test_deep)
{
	enum { DEPTH = 70000, SHOWN = KH_REPORT_LEVELS };
	const kh_report_options o = { .plain = false };
	uint32_t *x = calloc(4 * DEPTH, sizeof *x);
	uint8_t *rank = calloc(DEPTH, 1);
	char *names = calloc(DEPTH, 8);
	kh_taxonomy raw = { .n = DEPTH, .taxid = x, .parent = x + DEPTH, .end = x + 2 * DEPTH,
			    .name = x + 3 * DEPTH, .rank = rank, .names = names }, *tax = NULL;
	kh_buf b = { .n = 0 };
	kh_tally t;
	size_t level = 0;

	for (uint32_t i = 0; i < DEPTH; i++) {
		raw.taxid[i] = i + 1;
		raw.parent[i] = i ? i - 1 : 0;
		raw.end[i] = DEPTH;
		raw.name[i] = (uint32_t)raw.names_len;
		raw.names_len += (size_t)sprintf(names + raw.names_len, i ? "t%u" : "root", i) + 1;
	}
	OK(load_tree(&tax, &raw, err));
	OK(kh_tally_init(&t, DEPTH, false, err));
	t.direct[DEPTH - 1] = 1;
	kh_log_level(KH_ERROR);
	const clock_t from = clock();
	OK(kh_report(&b, tax, &t, &o, err));
	assert_true(clock() - from < 5 * CLOCKS_PER_SEC);
	kh_log_level(KH_INFO);
	for (const char *p = b.p, *end = b.p + b.n; p < end; level++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *name = nl;
		char want[16];

		while (name[-1] != '\t' && name[-1] != ' ')
			name--;
		sprintf(want, level ? "t%zu\n" : "root\n", level);
		assert_memory_equal(name, want, strlen(want));
		for (p = name; p[-1] == ' '; p--)
			;
		assert_int_equal(name - p, 2 * (level < SHOWN ? level : SHOWN));
		p = nl + 1;
	}
	assert_int_equal(level, DEPTH);
	kh_tally_clear(&t);
	kh_taxonomy_free(tax);
	free(b.p);
	free(x);
	free(rank);
	free(names);
}

/* The estimate is within 5 % (3 standard errors) at any size. */
TEST(test_distinct)
{
	kh_distinct s;
	uint64_t n = 0;

	OK(kh_distinct_init(&s, 1, err));
	assert_int_equal(kh_distinct_count(&s, 0), 0);
	for (uint64_t next = 1; next < 2000000; next *= 3) {
		for (; n < next; n++) {
			uint64_t key = n * 12345;

			OK(kh_distinct_add(&s, 0, &key, 1, err));
		}
		double got = (double)kh_distinct_count(&s, 0), want = (double)n;
		assert_true(got > 0.95 * want - 1 && got < 1.05 * want + 1);
	}
	kh_distinct_clear(&s);
}

/* --- lines and reads -------------------------------------------------------------- */
typedef struct line_case {
	const char *name[2], *seq[2];
	kh_call call;
	bool names;
	const char *want;
} line_case;

static const line_case cases[] = {
	{ { "r1 x", 0 }, { "ACGTACGTACGT", 0 }, { 5, 9, 7, 7 }, 0, "C\tr1\t101\t12\t101:7 0:2\n" },
	{ { "r1", 0 }, { "ACGTACGTACGT", 0 }, { 5, 9, 9, 9 }, 0, "C\tr1\t101\t12\t101:9\n" },
	{ { "r1", 0 }, { "ACGTACGTACGT", 0 }, { 5, 9, 7, 7 }, 1,
	  "C\tr1\tt5 (taxid 101)\t12\t101:7 0:2\n" },
	{ { "r1", 0 }, { "ACGTACGTACGT", 0 }, { KH_NO_TAXON, 9, 1, 1 }, 1,
	  "U\tr1\tunclassified (taxid 0)\t12\t0:9\n" },
	{ { "r1", 0 }, { "ACG", 0 }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\tr1\t0\t3\t0:0\n" },
	{ { "", 0 }, { "", 0 }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\t\t0\t0\t0:0\n" },
	{ { "r1", 0 }, { "ACGTNACGTACGTACGT", 0 }, { KH_NO_TAXON, 1, 0, 0 }, 0,
	  "U\tr1\t0\t17\t0:1 A:5\n" },
	{ { "r1", 0 }, { "NNNNNNNNNNNN", 0 }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\tr1\t0\t12\tA:5\n" },
	{ { "r1", 0 }, { "NNNNNNNACGTACGTN", 0 }, { 5, 1, 1, 1 }, 0,
	  "C\tr1\t101\t16\t101:1 A:8\n" },
	{ { "p/1 a", "p/2" }, { "ACGTACGTN", "NACG" }, { 5, 3, 2, 2 }, 0,
	  "C\tp\t101\t9|4\t101:2 0:1 A:1\n" },
	{ { "p.1", "p.2" }, { "A", "" }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\tp.1\t0\t1|0\t0:0\n" },
	{ { "/1", "/2" }, { "A", "" }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\t/1\t0\t1|0\t0:0\n" },
	{ { "p/1", 0 }, { "A", 0 }, { KH_NO_TAXON, 0, 0, 0 }, 0, "U\tp/1\t0\t1\t0:0\n" },
};

TEST(test_tsv)
{
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const line_case *c = &cases[i];
		const kh_style style = { .tax = tree, .k = 8, .names = c->names,
					 .column5 = KH_COLUMN5_FEATURES };
		kh_record r[2] = { { 0 } };
		kh_block b[2] = { { .rec = &r[0] }, { .rec = &r[1] } };
		kh_job job = { .n = 1, .block = { &b[0], c->name[1] ? &b[1] : NULL } };
		kh_buf out = { .n = 0 };

		for (int m = 0; m < 2 && c->name[m]; m++) {
			b[m].text = (char *)(uintptr_t)c->name[m];
			r[m].name_len = (uint32_t)strlen(c->name[m]);
			r[m].id_len = (uint32_t)strcspn(c->name[m], " ");
			r[m].len = strlen(c->seq[m]);
			b[m].bases = calloc(r[m].len / 32 + 2, sizeof *b->bases);
			b[m].amb = calloc(r[m].len / 32 + 2, sizeof *b->amb);
			for (size_t x = 0; x < r[m].len; x++)
				b[m].amb[x / 32] |= (uint32_t)(c->seq[m][x] == 'N') << x % 32;
		}
		kh_call call = c->call;
		const kh_task task = { .job = &job, .call = &call };
		kh_format_line(&out, &style, &task, 0);
		kh_buf_add(&out, "", 1);
		assert_string_equal(out.p, c->want);
		for (int m = 0; m < 2; m++) {
			free(b[m].bases);
			free(b[m].amb);
		}
		free(out.p);
	}
}

TEST(test_reads)
{
	static const struct { const char *text; uint32_t name_len, taxid; const char *want;
	} read[] = {
		{ "@r1 x\nAC\n+\nII\n", 4, 562, "@r1 kraken:taxid|562 x\nAC\n+\nII\n" },
		{ "@r1\tqs:f:2\tRG:Z:a\nAC\n+\nII\n", 16, 5,
		  "@r1 kraken:taxid|5\tqs:f:2\tRG:Z:a\nAC\n+\nII\n" },
		/* what an earlier run has put there goes, and what only looks like it stays */
		{ ">r1 kraken:taxid|77 x kraken:taxid|78\nAC\n", 36, 5,
		  ">r1 kraken:taxid|5 x\nAC\n" },
		{ ">kraken:taxid|1|x kraken:taxid| kraken:taxid|2x\nAC\n", 46, 5,
		  ">kraken:taxid|1|x kraken:taxid|5 kraken:taxid| kraken:taxid|2x\nAC\n" },
		{ ">r1 kraken:taxid|77\nAC\n", 18, 0, ">r1 kraken:taxid|77\nAC\n" },
		{ "@r1 x\nAC\n+\nII", 4, 0, "@r1 x\nAC\n+\nII\n" },
		{ ">r1\r\nAC\r\nGT\r\n", 2, 4294967295u,
		  ">r1 kraken:taxid|4294967295\r\nAC\r\nGT\r\n" },
		{ ">r1", 2, 7, ">r1 kraken:taxid|7\n" },
	};
	const kh_style style = { .tax = NULL };

	for (size_t i = 0; i < sizeof read / sizeof read[0]; i++) {
		kh_block b = { .text = (char *)(uintptr_t)read[i].text };
		kh_record r = { .name = 1,
				.name_len = read[i].name_len,
				.text_len = strlen(read[i].text) };
		kh_buf out = { .n = 0 };

		kh_format_read(&out, &style, &b, &r, read[i].taxid);
		kh_buf_add(&out, "", 1);
		assert_string_equal(out.p, read[i].want);
		free(out.p);
	}
}

int main(void) { return test_run(make_tree, free_tree); }
