/*
 * fuzz_taxonomy.c - any bytes as dump files, and any bytes as the tree of a database
 *
 * The input is nodes, names and merged with a form feed between, as text.  What parses
 * must give a sound tree; then that tree is damaged as the input says and loaded, and
 * must be refused or still be sound.
 */
#include <config.h>
#include "fuzz.h"
#include "load_tree.h"

static void check_taxon(const kh_taxonomy *t, uint32_t i)
{
	const kh_tree tree = kh_taxonomy_tree(t);
	uint32_t p = t->parent[i];
	char code[KH_CODE_SIZE];

	REQUIRE(i ? p < i : p == 0);
	REQUIRE(t->end[i] > i && t->end[i] <= t->end[p]);
	REQUIRE(t->name[i] < t->names_len && t->names[t->name[i]]);
	REQUIRE(t->name[i] + strlen(t->names + t->name[i]) < t->names_len);
	REQUIRE(t->taxid[i] && t->rank[i] < KH_RANKS && t->level[i] < 9);
	REQUIRE(kh_taxonomy_find(t, t->taxid[i]) == i);
	REQUIRE(kh_tree_lca(&tree, p, i) == p && kh_tree_lca(&tree, i, i) == i);
	for (uint32_t j = i + 1; j < t->n && j < i + 40; j++) {
		uint32_t a = kh_tree_lca(&tree, i, j);
		REQUIRE(a <= i && t->end[a] > j);
		REQUIRE((a == i) == (j < t->end[i]));
	}
	uint32_t g = t->genus[i];
	if (g != KH_NO_TAXON)
		REQUIRE(g <= i && t->end[g] > i &&
			(t->genus[g] == KH_NO_TAXON || t->genus[g] == g));
	uint32_t s = t->species[i];
	if (s != KH_NO_TAXON)
		REQUIRE(s <= i && t->end[s] > i && t->rank[s] == KH_RANK_SPECIES);
	kh_taxonomy_code(t, i, code);
	REQUIRE(strchr("RDKPCOFGS", code[0]) && strlen(code) < KH_CODE_SIZE);
	REQUIRE(i == 0 || t->steps[i] == 0 || t->steps[i] == t->steps[p] + 1);
}

static void check(const kh_taxonomy *t)
{
	REQUIRE(t->n && t->taxid[0] == 1 && t->end[0] == t->n);
	REQUIRE(!strcmp(t->names + t->name[0], "root"));
	for (uint32_t i = 0; i < t->n; i++)
		check_taxon(t, i);
}

/* Writes over one element of one array. */
static void damage(kh_taxonomy *t, const uint8_t *d, size_t n)
{
	for (; n >= 4; d += 4, n -= 4) {
		uint32_t *array[] = { t->taxid, t->parent, t->end, t->name };
		uint32_t i = d[1] % t->n, x = d[2] & 0x80 ? UINT32_MAX - d[3] : d[3];
		if (d[0] % 8 < 4)
			array[d[0] % 8][i] = x;
		else if (d[0] % 8 == 4)
			t->rank[i] = d[3];
		else if (d[0] % 8 == 5)
			t->names[x % t->names_len] = (char)d[2];
		else if (d[0] % 8 == 6 && t->n > 1)
			t->end[0] = --t->n;
	}
}

static void load(const kh_taxonomy *t, const uint8_t *d, size_t n)
{
	kh_taxonomy *copy, *again;
	kh_err err;

	REQUIRE(!load_tree(&copy, t, &err));
	check(copy);
	damage(copy, d, n);
	if (!load_tree(&again, copy, &err)) {
		check(again);
		kh_taxonomy_free(again);
	}
	kh_taxonomy_free(copy);
}

/* All taxids that the dump knows, by trying them, or what the last bytes say. */
static void prune(const kh_taxdump *d, const uint8_t *data, size_t size)
{
	uint32_t taxid[256 + 4];
	size_t n = 0;
	kh_taxonomy *t;
	kh_err err;

	for (uint32_t x = 0; x < 256; x++)
		if (kh_taxdump_find(d, x) && (size < 2 || data[size - 2] & 1 << x % 8))
			taxid[n++] = x;
	REQUIRE(!kh_taxonomy_prune(&t, d, taxid, n, &err));
	check(t);
	for (size_t i = 0; i < n; i++)
		REQUIRE(kh_taxonomy_find(t, kh_taxdump_find(d, taxid[i])) != KH_NO_TAXON);
	size_t tail = size < 16 ? size : 16;
	load(t, data + size - tail, tail);
	kh_taxonomy_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const name[3] = { "nodes.dmp", "names.dmp", "merged.dmp" };
	kh_bytes in[3] = { { 0 } };
	const char *p = (const char *)data, *end = p + size;
	kh_taxdump *d;
	kh_err err = { 0 };

	for (int i = 0; i < 3; i++) {
		const char *stop = i < 2 && p < end ? memchr(p, '\f', (size_t)(end - p)) : NULL;
		in[i] = (kh_bytes) { p, (size_t)((stop ? stop : end) - p), name[i] };
		p = stop ? stop + 1 : end;
	}
	if (kh_taxdump_parse(&d, &in[0], &in[1], &in[2], &err)) {
		REQUIRE(err.code == KH_EFORMAT && err.msg[0]);
		return 0;
	}
	prune(d, data, size);
	kh_taxdump_close(d);
	return 0;
}
