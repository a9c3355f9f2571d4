/*
 * test_mates.c - two files and interleaved ones: pairs, names, counts, and which error is
 * reported, whatever the blocks and threads
 */
#include "test.h"
#include "feed_inputs.h"

/* The same of FASTA, in two lines. */
#define F(name) ">" name "\nACGT\nAC\n"

#define BOTH(pair, what, a, b) ": pair " pair ": the mates have " what ", '" a "' and '" b \
	"' (--set no-mate-check takes them as they are)"
#define NAMES(pair, a, b) BOTH(pair, "different names", a, b)
#define NUMBER(pair, a, b) BOTH(pair, "the same number", a, b)

struct pair_case {
	const char *file[2][2];         /* mates 1; mates 2, or none: interleaved; two files */
	size_t n;                               /* records, both mates */
	const char *message;                    /* with 1a, 1b, 2a, 2b for the paths */
};

static const struct pair_case pair_cases[] = {
	{ { { R("a") R("b") }, { R("a") R("b") } }, 4, NULL },
	{ { { "" }, { "" } }, 0, NULL },
	{ { { R("a/1") R("b/1 x") R("c.1") R("d_1") R("e 1:N:0") R("/1") },
	    { R("a/2") R("b/2\ty") R("c.2") R("d_2") R("e 2:N:0") R("/2") } }, 12, NULL },
	{ { { R("a/1") R("b"), R("c") }, { R("a/2") R("b"), R("c") } }, 6, NULL },
	{ { { R("a"), "" }, { R("a"), "" } }, 2, NULL },
	{ { { R("a") R("b") R("c") }, { R("a") } }, 2,
	  "1a has 3 records, 2a has 1: 'b', record 2, is the first without a mate" },
	{ { { R("a") }, { R("a") R("b") R("c") R("d") } }, 2,
	  "2a has 4 records, 1a has 1: 'b', record 2, is the first without a mate" },
	{ { { "" }, { R("a") } }, 0,
	  "2a has 1 record, 1a has 0: 'a', record 1, is the first without a mate" },
	{ { { R("a") R("b"), R("c") }, { R("a"), R("b") R("c") } }, 2,
	  "1a has 2 records, 2a has 1: 'b', record 2, is the first without a mate" },
	{ { { R("a") R("b"), R("c") }, { R("a") R("b"), R("c") R("d") } }, 6,
	  "2b has 2 records, 1b has 1: 'd', record 2, is the first without a mate" },
	{ { { R("a") R("b") R("c") }, { R("a") R("x") R("c") } }, 2,
	  "1a, 2a" NAMES("2", "b", "x") },
	{ { { R("a/1") R("b/1") }, { R("a/3") R("b/2") } }, 0, "1a, 2a" NAMES("1", "a/1", "a/3") },
	{ { { R("a") "@b\nAC\n+\nI\n" R("c") }, { R("a") R("b") "@c\n!\n+\nI\n" } }, 2,
	  "1a:8: record 2: quality has 1 characters, sequence 2" },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") "@b\nAC\n+\nI\n" R("c") } }, 2,
	  "2a:8: record 2: quality has 1 characters, sequence 2" },
	{ { { R("a") "@b\n!\n+\nI\n" }, { R("a") "@b\n?\n+\nI\n" } }, 2,
	  "1a:6: record 2: expected a nucleotide, found '!', column 1" },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") R("x") } }, 2,
	  "1a, 2a" NAMES("2", "b", "x") },
	{ { { R("a") R("b") "@c\n!\n+\nI\n" }, { R("a") } }, 2,
	  "1a:10: record 3: expected a nucleotide, found '!', column 1" },
	{ { { R("a") }, { R("a") "@c\n!\n+\nI\n" } }, 2,
	  "2a:6: record 2: expected a nucleotide, found '!', column 1" },
	{ { { R("a"), R("b") }, { R("a") "@c\n!\n+\nI\n", R("b") } }, 2,
	  "2a:6: record 2: expected a nucleotide, found '!', column 1" },
	{ { { F("a/1") F("b/1"), F("c") }, { R("a/2") R("b/2"), F("c") } }, 6, NULL },
	{ { { F("a") F("b") F("c") }, { F("a") } }, 2,
	  "1a has 3 records, 2a has 1: 'b', record 2, is the first without a mate" },
	{ { { F("a") F("b") F("c") }, { F("a") F("x") F("c") } }, 2,
	  "1a, 2a" NAMES("2", "b", "x") },
	{ { { F("a") ">b\nA!\n" F("c") }, { F("a") F("b") ">c\n!\n" } }, 2,
	  "1a:5: record 2: expected a nucleotide, found '!', column 2" },
	/* which mate it is, by its name or by CASAVA's words */
	{ { { R("a/1") }, { R("a/1") } }, 0, "1a, 2a" NUMBER("1", "a/1", "a/1") },
	{ { { R("a/1") R("b/1") R("c/2") }, { R("a/2") R("b/2") R("c/2") } }, 4,
	  "1a, 2a" NUMBER("3", "c/2", "c/2") },
	{ { { R("a 1:N:0:ACGT") }, { R("a 1:N:0:ACGT") } }, 0,
	  "1a, 2a" NUMBER("1", "a 1:N:0:ACGT", "a 1:N:0:ACGT") },
	{ { { R("a 2:Y:18:") }, { R("a 2:N:0:") } }, 0,
	  "1a, 2a" NUMBER("1", "a 2:Y:18:", "a 2:N:0:") },
	{ { { R("a/1 x") }, { R("a/1 y") } }, 0, "1a, 2a" NUMBER("1", "a/1 x", "a/1 y") },
	{ { { R("a/1") R("a/2") R("a 1:N:0:AC") R("SRR1.1 1 length=40") R("SRR1.2 x") R("a 1:2:3")
	      R("a") },
	    { R("a/2") R("a/1") R("a 2:N:0:AC") R("SRR1.1 1 length=40") R("SRR1.2 x") R("a 1:2:3")
	      R("a/1") } }, 14, NULL },
	/* the records before one that is bad are compared first: it is bad in a line of bases, in
	 * its header line, or in the start of a line */
	{ { { F("a") F("b") ">c\nACGT\nA!\n" }, { F("a") F("x") } }, 2,
	  "1a, 2a" NAMES("2", "b", "x") },
	{ { { F("a") F("b") ">c\rd\nA\n" }, { F("a") F("x") } }, 2, "1a, 2a" NAMES("2", "b", "x") },
	{ { { F("a") F("x") ">c\nA\n@d\n" }, { F("a") F("b") } }, 2,
	  "1a, 2a" NAMES("2", "x", "b") },
	{ { { F("a") F("b") ">c\nACGT\nA!\n" }, { F("a") F("b") F("x") } }, 4,
	  "1a:9: record 3: expected a nucleotide, found '!', column 2" },
	{ { { F("a") F("b") ">c\rd\nA\n" }, { F("a") F("b") } }, 4,
	  "1a:7: record 3: a carriage return inside the header line (lines end in LF or CR LF)" },
	{ { { F("a") F("b") }, { F("a") F("b") ">c\nA\n@d\n" } }, 4,
	  "2a:9: record 3: expected '>' or a sequence, found '@': FASTA and FASTQ mixed in one "
	  "file, or a FASTQ file where FASTA is wanted" },
	/* interleaved */
	{ { { R("a/1") R("a/2") R("b") R("b") } }, 4, NULL },
	{ { { "" } }, 0, NULL },
	{ { { "\n\n" R("a/1") "\n" R("a/2") "\n\n" R("b") "\n" R("b") "\n" } }, 4, NULL },
	{ { { R("a/1") R("a/2") R("b") } }, 2,
	  "1a: 3 records: interleaved mates, but the number is odd" },
	{ { { R("a/1") R("c/2") R("b") R("b") } }, 0, "1a" NAMES("1", "a/1", "c/2") },
	{ { { R("a/1") R("a/2") R("b") "@b\nA\n+\n!!\n" } }, 2,
	  "1a:16: record 4: quality has 2 characters, sequence 1" },
	{ { { R("a/1") R("a/2") R("b/1") R("b/1") } }, 2, "1a" NUMBER("2", "b/1", "b/1") },
	/* a mate that is missing makes the names disagree first, whatever comes behind */
	{ { { R("a") R("a") R("b") R("c") R("c") } }, 2, "1a" NAMES("2", "b", "c") },
	{ { { R("a") R("b") "@b\nA\n+\n!!\n" } }, 0, "1a" NAMES("1", "a", "b") },
};

/* Names are not looked at. */
static const struct pair_case unchecked_cases[] = {
	{ { { R("a/1") R("c/2") R("b") R("b") } }, 4, NULL },
	{ { { R("a/1") R("a/2") R("b/1") R("b/1") } }, 4, NULL },
	{ { { R("a") R("b") "@b\nA\n+\n!!\n" } }, 2,
	  "1a:12: record 3: quality has 2 characters, sequence 1" },
};

/* The message with the paths put in. */
static void expand(char *out, const char *message, struct input in[2][2])
{
	for (; *message; message++) {
		bool path = (message[0] == '1' || message[0] == '2')
			    && (message[1] == 'a' || message[1] == 'b');

		if (path) {
			out += sprintf(out, "%s", in[message[0] - '1'][message[1] - 'a'].path);
			message++;
		} else {
			*out++ = *message;
		}
	}
	*out = 0;
}

static void one_pair(const struct pair_case *c, bool check, size_t block_size, unsigned threads)
{
	struct input in[2][2];
	const char *path[2][2];
	const int streams = c->file[1][0] ? 2 : 1;
	size_t n = c->file[0][1] ? 2 : 1;
	char want[600];
	struct got g;

	for (int s = 0; s < streams; s++)
		for (size_t i = 0; i < n; i++) {
			const char *t = c->file[s][i];

			in[s][i] = make_input(test_rand() % N_KINDS, t, strlen(t));
			path[s][i] = in[s][i].path;
		}
	kh_feed_options o = {
		.path = { path[0], path[1] },
		.n_path = { n, streams > 1 ? n : 0 },
		.interleaved = streams == 1,
		.no_mate_check = !check,
		.block_size = block_size,
		.held = test_rand() % 2,
	};
	got_run(&g, &o, threads);
	if (c->message)
		expand(want, c->message, in);
	assert_string_equal(g.rc ? g.err.msg : "", c->message ? want : "");
	if (!c->message) {
		assert_int_equal(g.n, c->n);
		assert_int_equal(g.n_frag, c->n / 2);
	}
	assert_int_equal(g.n_bad, 0);
	got_free(&g);
	for (int s = 0; s < streams; s++)
		for (size_t i = 0; i < n; i++)
			close(in[s][i].fd);
}

static void all_cuts(const struct pair_case *c, size_t n, bool check)
{
	for (size_t i = 0; i < n; i++)
		for (size_t b = 1; b < 70; b += 1 + b / 5)
			for (unsigned threads = 1; threads <= 4; threads++)
				one_pair(&c[i], check, b, threads);
}

TEST(test_pairs)
{
	all_cuts(pair_cases, sizeof pair_cases / sizeof *pair_cases, true);
	all_cuts(unchecked_cases, sizeof unchecked_cases / sizeof *unchecked_cases, false);
}

/* Mates of different lengths, many blocks, few of them in circulation. */
TEST(test_many_pairs)
{
	enum { PAIRS = 3000 };
	static char s[2][PAIRS * 400];
	size_t n[2] = { 0, 0 };

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < PAIRS; i++) {
			size_t len = k ? 150 : test_rand() % 30 + 1;

			n[k] += (size_t)sprintf(s[k] + n[k], "@p%d/%d\n", i, k + 1);
			n[k] += put_lines(s[k] + n[k], len, 1000, "ACGT");
			n[k] += (size_t)sprintf(s[k] + n[k], "+\n");
			n[k] += put_lines(s[k] + n[k], len, 1000, "FI#");
		}
	for (int i = 0; i < 60; i++) {
		int kind = i % 2 ? RANGES : BGZF;
		struct input in[2] = { make_input(kind, s[0], n[0]),
				       make_input(GZ, s[1], n[1]) };
		const char *p = in[0].path, *q = in[1].path;
		kh_feed_options o = {
			.path = { &p, &q }, .n_path = { 1, 1 }, .workers = 1 + i % 5,
			.block_size = 200 + test_rand() % 20000,
		};
		struct got g;

		got_run(&g, &o, 1 + i % 4);
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.n_frag, PAIRS);
		assert_int_equal(g.n_bad, 0);
		got_free(&g);
		close(in[0].fd);
		close(in[1].fd);
	}
}
