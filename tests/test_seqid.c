/* test_seqid.c - header tags, sequence ids and their taxids */
#include "test.h"

#include <glob.h>

#include "given.h"
#include "taxonomy/seqid.h"

/* --- headers -------------------------------------------------------------------- */
TEST(test_header_taxid)
{
	static const struct { const char *header; uint32_t taxid; } want[] = {
		{ "", 0 }, { "seq1", 0 }, { "|", 0 }, { "taxid|", 0 }, { "taxid|1", 1 },
		{ "kraken:taxid|562", 562 }, { "kraken:taxid|562|NC_1.1 x", 562 },
		{ "seq1|kraken:taxid|562", 562 }, { "seq1|kraken:taxid|562 text", 562 },
		{ "seq1 kraken:taxid|562", 562 }, { "seq1\ttaxid|562\tx", 562 },
		{ "seq1|taxid|562|", 562 }, { "seq1 x taxid|562 taxid|7", 562 },
		{ "seq1 taxid|x taxid|7", 7 }, { "taxid|taxid|7", 7 },
		{ "seq1kraken:taxid|562", 0 }, { "seq1taxid|562", 0 },
		{ "seq1:taxid|562", 0 }, { "xkraken:taxid|5", 0 }, { "taxid|5x", 0 },
		{ "taxid|-5", 0 }, { "taxid|0", 0 }, { "taxid|4294967295", UINT32_MAX },
		{ "taxid|4294967296", 0 }, { "Taxid|5", 0 }, { "taxid:5", 0 },
		{ "gi|1|ref|NC_1.1| a|b|c", 0 }, { "kraken:taxid|", 0 }, { "axid|5", 0 },
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		size_t n = strlen(want[i].header);
		char *exact = malloc(n + 1);
		memcpy(exact, want[i].header, n);
		if (kh_header_taxid(exact, n) != want[i].taxid)
			fail_msg("%s", want[i].header);
		free(exact);
	}
	assert_int_equal(kh_header_taxid("taxid|56", 7), 5);
	assert_int_equal(kh_header_taxid(NULL, 0), 0);
}

/* --- ids ------------------------------------------------------------------------ */
static kh_idmap *wanting(const char *const *id)
{
	kh_idmap *m;
	kh_err err;

	assert_int_equal(kh_idmap_new(&m, &err), 0);
	for (; *id; id++)
		assert_int_equal(kh_idmap_want(m, *id, strlen(*id), &err), 1);
	return m;
}

static int parse(kh_idmap *m, const char *text, kh_err *err)
{
	given r = { text, strlen(text), 1 + test_rand() % 100, 1, 0 };
	kh_tsv tsv;

	kh_tsv_init(&tsv, "table", give, &r);
	const int rc = kh_idmap_parse(m, &tsv, err);
	kh_tsv_clear(&tsv);
	return rc;
}

/* One id, up to two files, the taxid it gets. */
TEST(test_matches)
{
	static const struct { const char *id, *file[2]; uint32_t taxid; } want[] = {
		{ "A.1", { "A\tA.1\t5\t0\n" }, 5 },
		{ "A.2", { "A\tA.1\t5\t0\n" }, 5 },
		{ "A", { "A\tA.1\t5\t0\n" }, 5 },
		{ "A.1", { "AA\tAA.1\t5\t0\n" }, 0 },
		{ "a.1", { "A\tA.1\t5\t0\n" }, 0 },
		{ "A.1", { "A\tA.2\t6\t0\nA\tA.1\t5\t0\nA\tA.3\t7\t0\n" }, 5 },
		{ "A.1", { "A.1\t5\n" }, 5 },
		{ "A.1", { "A\t5\n" }, 5 },
		{ "A.1", { "A\t6\nA.1\t5\n" }, 5 },
		{ "A", { "A.1\t5\n" }, 0 },
		{ "A.1", { "A.2\t5\n" }, 0 },
		{ "A.1", { "A\t6\n", "A.1\t5\n" }, 6 },
		{ "A.1", { "A.1\t6\n", "A.1\t5\n" }, 6 },
		{ "A.1", { "B\t6\n", "A.1\t5\n" }, 5 },
		{ "gi|9|ref|A.1|", { "A\tA.1\t5\t9\n" }, 5 },
		{ "gi|9|ref|A.1|", { "A\tA.2\t5\t9\n" }, 5 },
		{ "ref|A.1|", { "A.1\t5\n" }, 5 },
		{ "gb|A.1", { "A.1\t5\n" }, 5 },
		{ "x|emb|A.1|LOCUS", { "A.1\t5\n" }, 5 },
		{ "gi|9|ref|A.1|", { "gi|9|ref|A.1|\t6\nA.1\t5\n" }, 6 },
		{ "gi|9|ref|A.1|", { "A.1\t5\n", "gi|9|ref|A.1|\t6\n" }, 5 },
		{ "gi|9|xyz|A.1|", { "A\tA.1\t5\t9\n" }, 0 },
		{ "ref||A.1", { "A.1\t5\n" }, 0 },
		{ "ref|", { "ref\t5\n" }, 0 },
		{ "A.1.2", { "A.1\tA.1.2\t5\t0\n" }, 5 },
		{ "A.1.2", { "A\tA.1\t5\t0\n" }, 5 },
		{ "A.1.2", { "A.1\tA.1.3\t5\t0\n" }, 5 },
		{ "gb|A.7", { "gb|A.7\tgb|A.7.7\t5\t0\n" }, 5 },
		{ "gb|A.7", { "gb|A\tgb|A.7\t5\t0\n" }, 5 },
		{ "NZ_A.1", { "A\tA.1\t5\t0\n" }, 5 },
		{ "NZ_A.1", { "A\tA.2\t5\t0\n" }, 5 },
		{ "NZ_A.1", { "A.1\t5\n" }, 5 },
		{ "ref|NZ_A.1|", { "A.1\t5\n" }, 5 },
		{ "NZ_A.1", { "A.1\t6\nNZ_A\t5\n" }, 5 },
		{ "A.", { "A\t5\n" }, 0 },
		{ ".1", { ".1\t5\n" }, 5 },
		{ "A.1x", { "A\t5\n" }, 0 },
		{ "A.20200101", { "A\t5\n" }, 5 },
		{ "A.1", { "X\tA.1\t5\t0\n" }, 5 },
		{ "A.1", { "A.1\tX\t5\t0\n" }, 5 },
		{ "A.1", { "A\tA.1\t0\t0\n", "A\tA.1\t5\t0\n" }, 5 },
		{ "taxid", { "accession.version\ttaxid\nA\t5\n" }, 0 },
	};

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		kh_idmap *m = wanting((const char *[]) { want[i].id, NULL });
		kh_err err = { 0 };
		for (int f = 0; f < 2 && want[i].file[f]; f++)
			if (parse(m, want[i].file[f], &err))
				fail_msg("%s: %s", want[i].id, err.msg);
		if (kh_idmap_taxid(m, 0) != want[i].taxid)
			fail_msg("case %zu: %s has %u", i, want[i].id,
				 kh_idmap_taxid(m, 0));
		kh_idmap_free(m);
	}
}

/* --- the corpus ------------------------------------------------------------------ */
static const char *const ids[] = { "NC_000913.3", "NC_045512.2",
				   "U00096",      "gi|9626243|ref|NC_001416.1|",
				   "plasmid1",    "chr1",
				   NULL };

/* Each table with the taxids of the ids, or the message. */
TEST(test_corpus)
{
	char dir[2048], path[4096], name[80], want[200];
	glob_t all;
	int n = 0;

	snprintf(dir, sizeof dir, "%s/tests/corpus/targets", test_srcdir());
	snprintf(path, sizeof path, "%s/EXPECT", dir);
	FILE *list = fopen(path, "r");
	assert_non_null(list);
	for (; fscanf(list, "%79[^\t]\t%199[^\n]\n", name, want) == 2; n++) {
		kh_idmap *m = wanting(ids);
		kh_err err = { 0 };
		snprintf(path, sizeof path, "%s/%s.tsv", dir, name);
		int rc = kh_idmap_load(m, path, &err);
		if (name[0] == 'g') {
			if (rc)
				fail_msg("%s", err.msg);
			char got[256] = "", *p = got;

			for (size_t i = 0; ids[i]; i++)
				p += sprintf(p, "%s%u", i ? " " : "",
					     (unsigned)kh_idmap_taxid(m, i));
			assert_string_equal(got, want);
		} else if (!rc || rc != err.code || !strstr(err.msg, want)) {
			fail_msg("%s: %s", name, err.msg);
		}
		kh_idmap_free(m);
	}
	fclose(list);
	snprintf(path, sizeof path, "%s/*.tsv", dir);
	assert_int_equal(glob(path, 0, NULL, &all), 0);
	assert_int_equal(n, all.gl_pathc + 1);          /* "missing" */
	globfree(&all);
}

/* --- against the definition -------------------------------------------------------- */
enum { IDS = 60, ROWS = 80 };
typedef struct table {
	size_t n;
	char row[ROWS][2][24];          /* accession, accession.version */
	uint32_t taxid[ROWS];
} table;

/* Names from few letters, so that they meet. */
static void random_id(char *s, bool bars)
{
	static const char *const tag[] = { "gi|1|ref|", "gb|", "x|", "" };

	s += sprintf(s, "%s", bars ? tag[test_rand() % 4] : "");
	for (unsigned n = 1 + test_rand() % 2; n; n--)
		*s++ = (char)('A' + test_rand() % 3);
	*s = 0;
	for (unsigned n = test_rand() % 3; n; n--)
		s += sprintf(s, ".%d", (int)(test_rand() % 3));
	if (bars && test_rand() % 2)
		strcpy(s, "|");
}

static void base_of(char *base, const char *id)
{
	size_t n = strlen(id);

	strcpy(base, id);
	while (n && base[n - 1] >= '0' && base[n - 1] <= '9')
		n--;
	if (n > 1 && base[n] && base[n - 1] == '.')
		base[n - 1] = 0;
}

static void field_of(char *out, const char *id)
{
	const char *p = strstr(id, "ref|");

	p = p ? p + 4 : strncmp(id, "gb|", 3) ? "" : id + 3;
	sprintf(out, "%.*s", (int)strcspn(p, "|"), p);
}

/* The taxid of a name in a table, 0: none, and *clash if there are two. */
static uint32_t look(const table *t, const char *name, bool *clash)
{
	uint32_t taxid = 0;

	*clash = false;
	for (size_t i = 0; *name && i < t->n; i++)
		for (int j = 0; j < 2; j++)
			if (!strcmp(t->row[i][j], name)) {
				*clash |= taxid && taxid != t->taxid[i];
				taxid = taxid ? taxid : t->taxid[i];
			}
	return taxid;
}

static uint32_t naive(const table *t, const char *id, bool *clash)
{
	char name[3][64];
	uint32_t taxid = 0;

	strcpy(name[0], id);
	field_of(name[1], id);
	base_of(name[2], name[1][0] ? name[1] : id);
	for (int i = 0; i < 3 && !taxid; i++)
		taxid = look(t, name[i], clash);
	return taxid;
}

static void random_table(table *t, unsigned taxids)
{
	t->n = test_rand() % ROWS;
	for (size_t i = 0; i < t->n; i++) {
		random_id(t->row[i][1], false);
		if (test_rand() % 4)
			base_of(t->row[i][0], t->row[i][1]);
		else
			random_id(t->row[i][0], false);
		t->taxid[i] = 1 + (uint32_t)(test_rand() % taxids);
	}
}

/* Two files of random rows: each id gets what the definition says, or the file fails. */
TEST(test_definition)
{
	unsigned failed = 0;

	for (int round = 0; round < 3000; round++) {
		static char id[IDS][40], text[ROWS * 80];
		static table t;
		uint32_t want[IDS] = { 0 };
		size_t n = 0, all = 1 + test_rand() % IDS;
		unsigned taxids = test_rand() % 4 ? 1 + (unsigned)(test_rand() % 2) : 50;
		bool clash, bad = false;
		kh_idmap *m;
		kh_err err;
		assert_int_equal(kh_idmap_new(&m, &err), 0);
		while (all--) {
			random_id(id[n], true);
			n += (size_t)kh_idmap_want(m, id[n], strlen(id[n]), &err);
		}
		for (int file = 0; file < 2 && !bad; file++) {
			random_table(&t, taxids);
			for (size_t i = 0; i < n; i++)
				if (!want[i]) {
					want[i] = naive(&t, id[i], &clash);
					bad |= want[i] && clash;
				}
			char *p = text;

			*p = 0;
			for (size_t i = 0; i < t.n; i++)
				p += sprintf(p, "%s\t%s\t%u\t0\n", t.row[i][0], t.row[i][1],
					     (unsigned)t.taxid[i]);
			assert_int_equal(parse(m, text, &err), bad ? KH_EFORMAT : 0);
		}
		for (size_t i = 0; i < n && !bad; i++)
			assert_int_equal(kh_idmap_taxid(m, i), want[i]);
		failed += bad;
		kh_idmap_free(m);
	}
	assert_in_range(failed, 100, 2900);
}

/* A million ids that share a base cost no more than others. */
TEST(test_many)
{
	enum { N = 1000000 };
	char id[32];
	kh_idmap *m;
	kh_err err;

	assert_int_equal(kh_idmap_new(&m, &err), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(
			kh_idmap_want(m, id, (size_t)sprintf(id, "contig.%d", i), &err),
			1);
	assert_int_equal(parse(m, "contig.77\t5\ncontig\t9\ncontig.999999\t6\n", &err), 0);
	assert_int_equal(kh_idmap_taxid(m, 77), 5);
	assert_int_equal(kh_idmap_taxid(m, 999999), 6);
	assert_int_equal(kh_idmap_taxid(m, 0), 9);
	kh_idmap_free(m);
}
