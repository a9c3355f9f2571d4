/*
 * test_taxonomy.c - ranks, dump files, merged taxa, a tree of a million levels, trees that do not
 * agree; test_taxtree.c, run_taxonomy.sh and run_ranks.sh have what a tree says of its taxa
 */
#include "test.h"

#include <glob.h>

#include "load_tree.h"
#include "taxonomy/join.h"

/* --- ranks: the numbers are in database files ------------------------------- */
static const char *const ranks[] = {
	"no rank", "clade", "acellular root", "cellular root", "superkingdom", "domain", "realm",
	"subrealm", "kingdom", "subkingdom", "superphylum", "phylum", "subphylum", "infraphylum",
	"superclass", "class", "subclass", "infraclass", "cohort", "subcohort", "superorder",
	"order", "suborder", "infraorder", "parvorder", "superfamily", "family", "subfamily",
	"tribe", "subtribe", "genus", "subgenus", "section", "subsection", "series", "subseries",
	"species group", "species subgroup", "species", "forma specialis", "subspecies", "varietas",
	"subvariety", "forma", "serogroup", "serotype", "strain", "isolate", "biotype", "genotype",
	"morph", "pathogroup",
};

TEST(test_ranks)
{
	static const struct { const char *name; char letter; } lettered[] = {
		{ "superkingdom", 'D' }, { "domain", 'D' }, { "kingdom", 'K' },
		{ "phylum", 'P' }, { "class", 'C' }, { "order", 'O' }, { "family", 'F' },
		{ "genus", 'G' }, { "species", 'S' }
	};

	assert_int_equal(sizeof ranks / sizeof *ranks, KH_RANKS);
	for (unsigned r = 0; r < KH_RANKS; r++) {
		char want = 0;
		for (size_t i = 0; i < sizeof lettered / sizeof *lettered; i++)
			if (!strcmp(ranks[r], lettered[i].name))
				want = lettered[i].letter;
		assert_string_equal(kh_rank_name((kh_rank)r), ranks[r]);
		assert_int_equal(kh_rank_find(ranks[r], strlen(ranks[r])), r);
		assert_int_equal(kh_rank_letter((kh_rank)r), want);
	}
	assert_string_equal(ranks[KH_RANK_GENUS], "genus");
	assert_string_equal(ranks[KH_RANK_SPECIES], "species");
	assert_int_equal(kh_rank_find("specie", 6), 0);
	assert_int_equal(kh_rank_find("speciess", 8), 0);
	assert_int_equal(kh_rank_find("Species", 7), 0);
	assert_int_equal(kh_rank_find("", 0), 0);
	assert_string_equal(kh_rank_name(KH_RANKS), "no rank");
	assert_int_equal(kh_rank_letter(255), 0);
}

/* --- the corpus: each folder is a dump ------------------------------------------ */
static const char *corpus_path(const char *dir)
{
	static char path[4096];

	snprintf(path, sizeof path, "%s/tests/corpus/taxonomy/%s", test_srcdir(), dir);
	return path;
}

/* Every taxon of the corpus: what the dump knows of these. */
static kh_taxonomy *whole(const kh_taxdump *d)
{
	static const uint32_t known[] = { 4294967295, 38019,  38018, 196894, 10699, 28883,
					  10239,      131567, 83333, 562,    561,   543,
					  2,          1,      2,     562 };
	uint32_t taxid[16];
	kh_taxonomy *t;
	size_t n = 0;

	for (size_t i = 0; i < 16; i++)
		if (kh_taxdump_find(d, known[i]))
			taxid[n++] = known[i];
	OK(kh_taxonomy_prune(&t, d, taxid, n, err));
	return t;
}

/* Each folder with its whole tree in preorder, as the database would have it, or the message. */
TEST(test_corpus)
{
	FILE *list = fopen(corpus_path("EXPECT"), "r");
	char dir[80], want[200];
	glob_t all;
	int n = 0;

	assert_non_null(list);
	for (; fscanf(list, "%79[^\t]\t%199[^\n]\n", dir, want) == 2; n++) {
		kh_taxdump *d = NULL;
		kh_err err = { 0 };
		int rc = kh_taxdump_open(&d, corpus_path(dir), &err);
		char got[512] = "", *p = got;
		if (dir[0] == 'b') {
			assert_int_not_equal(rc, 0);
			assert_int_equal(rc, err.code);
			assert_null(d);
			if (!strstr(err.msg, want))
				fail_msg("%s: %s", dir, err.msg);
			continue;
		}
		if (rc)
			fail_msg("%s: %s", dir, err.msg);
		kh_taxonomy *t = whole(d);
		for (uint32_t k = 0; k < t->n; k++)
			p += sprintf(p, "%s%u", k ? " " : "", (unsigned)t->taxid[k]);
		assert_string_equal(got, want);
		kh_taxonomy_free(t);
		kh_taxdump_close(d);
	}
	fclose(list);
	assert_int_equal(glob(corpus_path("*-*"), 0, NULL, &all), 0);
	assert_int_equal(n, all.gl_pathc);
	globfree(&all);
}

static kh_taxdump *open_good(const char *dir)
{
	kh_taxdump *d;

	OK(kh_taxdump_open(&d, corpus_path(dir), err));
	return d;
}

TEST(test_merged)
{
	kh_taxdump *d = open_good("good-merged-into-nothing");
	const uint32_t old[] = { 29, 662104 };
	kh_taxonomy *t;
	kh_err err;

	assert_int_equal(kh_taxdump_find(d, 562), 562);
	assert_int_equal(kh_taxdump_find(d, 29), 562);
	assert_int_equal(kh_taxdump_find(d, 662104), 83333);
	assert_int_equal(kh_taxdump_find(d, 28), 0);
	assert_int_equal(kh_taxdump_find(d, 0), 0);
	assert_int_equal(kh_taxdump_find(d, 777), 0);
	assert_int_equal(kh_taxdump_find(d, UINT32_MAX), 0);
	assert_int_equal(kh_taxonomy_prune(&t, d, old, 2, &err), 0);
	assert_int_equal(t->n, 7);
	assert_int_equal(kh_taxonomy_find(t, 29), KH_NO_TAXON);
	kh_taxonomy_free(t);
	assert_int_equal(kh_taxonomy_prune(&t, d, (uint32_t[]) { 562, 28 }, 2, &err), KH_EUSAGE);
	assert_string_equal(err.msg, "taxid 28 is not in the taxonomy");
	kh_taxdump_close(d);

	d = open_good("good-rank-unknown");
	assert_int_equal(kh_taxdump_find(d, 29), 0);
	t = whole(d);
	assert_int_equal(t->rank[kh_taxonomy_find(t, 83333)], KH_RANK_NONE);
	kh_taxonomy_free(t);
	kh_taxdump_close(d);
	kh_taxonomy_free(NULL);
	kh_taxdump_close(NULL);
}

/* 12 characters hold the code of a taxon a million steps below the root. */
TEST(test_deep)
{
	enum { N = 1000000 };
	char *nodes = malloc((size_t)N * 40), *names = malloc((size_t)N * 40);
	char *p = nodes, *q = names, code[KH_CODE_SIZE];
	kh_taxdump *d;
	kh_taxonomy *t, *again;
	kh_err err = { 0 };
	uint32_t leaf = N;

	for (int i = 1; i <= N; i++) {
		p += sprintf(p, "%d\t|\t%d\t|\tno rank\t|\n", i, i > 1 ? i - 1 : 1);
		q += sprintf(q, "%d\t|\tx\t|\t\t|\tscientific name\t|\n", i);
	}
	kh_bytes a = { nodes, (size_t)(p - nodes), "nodes" };
	kh_bytes b = { names, (size_t)(q - names), "names" };
	assert_int_equal(kh_taxdump_parse(&d, &a, &b, NULL, &err), 0);
	assert_int_equal(kh_taxonomy_prune(&t, d, &leaf, 1, &err), 0);
	assert_int_equal(t->n, N);
	assert_int_equal(load_tree(&again, t, &err), 0);
	kh_taxonomy_code(again, N - 1, code);
	assert_string_equal(code, "R999999");
	kh_tree tree = kh_taxonomy_tree(again);
	assert_int_equal(kh_tree_lca(&tree, 7, N - 1), 7);
	kh_taxonomy_free(again);
	kh_taxonomy_free(t);
	kh_taxdump_close(d);
	free(nodes);
	free(names);
}

/* --- trees of several databases --------------------------------------------------- */
/* A chain of three taxa below the root. */
static kh_taxonomy *chain(const uint32_t taxid[3], const char *const name[3], kh_rank last)
{
	uint32_t ids[4] = { 1, taxid[0], taxid[1], taxid[2] }, parent[4] = { 0, 0, 1, 2 };
	uint32_t end[4] = { 4, 4, 4, 4 }, at[4] = { 0 };
	uint8_t rank[4] = { 0, KH_RANK_GENUS - 4, KH_RANK_GENUS, last };
	char names[100] = "root";
	size_t n = 5;
	kh_taxonomy *t = NULL;

	for (int i = 0; i < 3; i++) {
		at[i + 1] = (uint32_t)n;
		n += (size_t)sprintf(names + n, "%s", name[i]) + 1;
	}
	kh_taxonomy raw = { .n = 4, .taxid = ids, .parent = parent, .end = end, .rank = rank,
			    .name = at, .names = names, .names_len = n };
	OK(load_tree(&t, &raw, err));
	return t;
}

TEST(test_join_refuses)
{
	/* 2 + FNV-1a("Bacteria") mod (2^31 - 2), by another program */
	enum { BY_LINEAGE = 1925872162 };
	static const struct {
		uint32_t taxid[3];
		const char *name[3];
		kh_rank rank;
		const char *want;       /* NULL: they agree */
	} row[] = {
		{ { 5, 7, 9 }, { "F", "G", "G s" }, KH_RANK_SPECIES, NULL },
		{ { 5, 7, 11 }, { "F", "G", "G t" }, KH_RANK_SPECIES, NULL },
		{ { 5, 7, 9 }, { "F", "G", "G t" }, KH_RANK_SPECIES,
		  "a and b do not agree on taxid 9: F;G;G s (species) and F;G;G t (species)" },
		{ { 5, 7, 9 }, { "F", "G", "G s" }, KH_RANK_SPECIES + 2,
		  "a and b do not agree on taxid 9: F;G;G s (species) and F;G;G s (subspecies)" },
		{ { 6, 7, 9 }, { "E", "G", "G s" }, KH_RANK_SPECIES,
		  "a and b do not agree on taxid 7: F;G (genus) and E;G (genus)" },
		{ { 5, 7, 10 }, { "F", "G", "G s" }, KH_RANK_SPECIES,
		  "a and b do not agree on F;G;G s (species): its taxid is 9 and 10" },
		{ { BY_LINEAGE, 8, 10 }, { "Bacteria", "H", "H s" }, KH_RANK_SPECIES,
		  "a and b: the taxonomy of the second was made of lineages" },
	};
	static const uint32_t ids[3] = { 5, 7, 9 };
	static const char *const names[3] = { "F", "G", "G s" };
	kh_taxonomy *a = chain(ids, names, KH_RANK_SPECIES);

	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		kh_taxonomy *b = chain(row[i].taxid, row[i].name, row[i].rank), *t = NULL;
		uint32_t number[2][4];
		const kh_taxonomy_volume part[2] = { { a, "a", number[0] }, { b, "b", number[1] } };
		kh_err err = { 0 };
		const int rc = kh_taxonomy_join(&t, part, 2, false, &err);

		assert_int_equal(rc, row[i].want ? KH_EUSAGE : 0);
		if (row[i].want && strncmp(err.msg, row[i].want, strlen(row[i].want)) != 0)
			fail_msg("%s", err.msg);
		kh_taxonomy_free(t);
		kh_taxonomy_free(b);
	}
	kh_taxonomy_free(a);
}
