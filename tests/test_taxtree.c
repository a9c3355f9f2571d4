/* test_taxtree.c - properties of the pruned tree over random trees
 */
#include "test.h"

#include "load_tree.h"

enum { MAX = 300 };

/* A random tree as a dump would have it: node 0 is the root. */
typedef struct tree {
	size_t n;
	uint32_t taxid[MAX];
	size_t parent[MAX];
	kh_rank rank[MAX];
	size_t order[MAX];      /* of its rows */
} tree;

static void shuffle(size_t *a, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = test_rand() % i, x = a[i - 1];
		a[i - 1] = a[j];
		a[j] = x;
	}
}

static bool has_taxid(const tree *x, size_t n, uint32_t taxid)
{
	for (size_t i = 0; i < n; i++)
		if (x->taxid[i] == taxid)
			return true;
	return false;
}

/* Taxids dense or from the whole range; shapes from stars to chains. */
static void make_tree(tree *x)
{
	uint64_t range = test_rand() % 2 ? 2 * MAX : UINT32_MAX;
	size_t reach = 1 + test_rand() % MAX;

	*x = (tree) { .n = 1 + test_rand() % MAX, .taxid = { 1 } };
	for (size_t i = 1; i < x->n; i++) {
		do
			x->taxid[i] = (uint32_t)(1 + test_rand() % range);
		while (has_taxid(x, i, x->taxid[i]));
		x->parent[i] = i > reach ? i - 1 - test_rand() % reach : test_rand() % i;
		x->rank[i] = (kh_rank)(test_rand() % KH_RANKS);
		x->order[i] = i;
	}
}

static kh_taxdump *dump(tree *x)
{
	static char nodes[MAX * 80], names[MAX * 80];
	char *p = nodes, *q = names;
	kh_taxdump *d = NULL;

	shuffle(x->order, x->n);
	for (size_t k = 0; k < x->n; k++) {
		size_t i = x->order[k];
		p += sprintf(p, "%u\t|\t%u\t|\t%s\t|\n", (unsigned)x->taxid[i],
			     (unsigned)x->taxid[x->parent[i]], kh_rank_name(x->rank[i]));
		q += sprintf(q, "%u\t|\tname %zu\t|\t\t|\tscientific name\t|\n",
			     (unsigned)x->taxid[i], i);
	}
	kh_bytes a = { nodes, (size_t)(p - nodes), "nodes.dmp" };
	kh_bytes b = { names, (size_t)(q - names), "names.dmp" };
	OK(kh_taxdump_parse(&d, &a, &b, NULL, err));
	return d;
}

static bool is_above(const tree *x, size_t above, size_t i)
{
	while (i > above && i)
		i = x->parent[i];
	return i == above;
}

/* The definition: the kept children in ascending order of taxid, recursively. */
static uint32_t walk(const tree *x, const bool *keep, size_t i, size_t *order, uint32_t n)
{
	uint64_t last = 0;

	order[n++] = i;
	for (;;) {
		size_t next = 0;
		for (size_t c = 1; c < x->n; c++)
			if (keep[c] && x->parent[c] == i && x->taxid[c] > last &&
			    (!next || x->taxid[c] < x->taxid[next]))
				next = c;
		if (!next)
			return n;
		last = x->taxid[next];
		n = walk(x, keep, next, order, n);
	}
}

static uint32_t choose(const tree *x, bool *keep, uint32_t *taxid)
{
	uint32_t n = (uint32_t)(test_rand() % (2 * x->n));

	memset(keep, 0, MAX * sizeof *keep);
	keep[0] = true;
	for (uint32_t k = 0; k < n; k++) {
		size_t i = test_rand() % x->n;
		taxid[k] = x->taxid[i];
		for (; !keep[i]; i = x->parent[i])
			keep[i] = true;
	}
	return n;
}

/* That of its rank, if none above it has the same. */
static char naive_letter(const tree *x, size_t i)
{
	const char letter = i ? kh_rank_place(x->rank[i]) : 0;

	for (size_t up = i; up; up = x->parent[up])
		if (up != i && kh_rank_place(x->rank[up]) == letter)
			return 0;
	return letter;
}

static void naive_code(const tree *x, size_t i, char *code)
{
	size_t up = i;
	unsigned steps = 0;

	while (up && !naive_letter(x, up)) {
		up = x->parent[up];
		steps++;
	}
	code[0] = up ? naive_letter(x, up) : 'R';
	code[1] = 0;
	if (steps)
		sprintf(code + 1, "%u", steps);
}

static uint32_t naive_lca(const kh_taxonomy *t, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (a > b)
			a = t->parent[a];
		else
			b = t->parent[b];
	}
	return a;
}

static void check_tree(const tree *x, const kh_taxonomy *t, const size_t *order)
{
	for (uint32_t k = 0; k < t->n; k++) {
		size_t i = order[k];
		char name[32] = "root", want[16], got[KH_CODE_SIZE];
		uint32_t end = k;
		assert_int_equal(t->taxid[k], x->taxid[i]);
		assert_int_equal(order[t->parent[k]], x->parent[i]);
		assert_int_equal(t->rank[k], x->rank[i]);
		while (end < t->n && is_above(x, i, order[end]))
			end++;
		assert_int_equal(t->end[k], end);
		if (k)
			sprintf(name, "name %zu", i);
		assert_string_equal(t->names + t->name[k], name);
		assert_int_equal(t->letter[k], naive_letter(x, i));
		naive_code(x, i, want);
		kh_taxonomy_code(t, k, got);
		assert_string_equal(got, want);
		assert_int_equal(kh_taxonomy_find(t, x->taxid[i]), k);
	}
}

static bool same(const kh_taxonomy *a, const kh_taxonomy *b)
{
	size_t n = a->n;

	return a->n == b->n && a->names_len == b->names_len &&
	       !memcmp(a->taxid, b->taxid, n * 4) &&
	       !memcmp(a->parent, b->parent, n * 4) && !memcmp(a->end, b->end, n * 4) &&
	       !memcmp(a->rank, b->rank, n) && !memcmp(a->name, b->name, n * 4) &&
	       !memcmp(a->species, b->species, n * 4) &&
	       !memcmp(a->genus, b->genus, n * 4) && !memcmp(a->steps, b->steps, n * 4) &&
	       !memcmp(a->level, b->level, n) &&
	       !memcmp(a->by_taxid, b->by_taxid, n * 4) &&
	       !memcmp(a->names, b->names, a->names_len);
}

/* Any order of rows and of taxids, any subset: what the definition says. */
TEST(test_prune)
{
	for (int round = 0; round < 300; round++) {
		static tree x;
		uint32_t taxid[2 * MAX];
		size_t order[MAX];
		bool keep[MAX];
		kh_taxonomy *t, *u, *v;
		kh_err err = { 0 };
		make_tree(&x);
		kh_taxdump *d = dump(&x), *e = dump(&x);
		uint32_t n = choose(&x, keep, taxid);

		assert_int_equal(kh_taxonomy_prune(&t, d, taxid, n, &err), 0);
		assert_int_equal(t->n, walk(&x, keep, 0, order, 0));
		check_tree(&x, t, order);
		for (uint32_t i = 0; i < n / 2; i++) {
			uint32_t y = taxid[i];
			taxid[i] = taxid[n - 1 - i];
			taxid[n - 1 - i] = y;
		}
		assert_int_equal(kh_taxonomy_prune(&u, e, taxid, n, &err), 0);
		assert_true(same(t, u));
		assert_int_equal(load_tree(&v, t, &err), 0);
		assert_true(same(t, v));
		kh_taxonomy_free(t);
		kh_taxonomy_free(u);
		kh_taxonomy_free(v);
		kh_taxdump_close(d);
		kh_taxdump_close(e);
	}
}

static kh_taxonomy *random_taxonomy(void)
{
	static tree x;
	kh_taxonomy *t;

	make_tree(&x);
	kh_taxdump *d = dump(&x);
	OK(kh_taxonomy_prune(&t, d, x.taxid, x.n, err));
	assert_int_equal(t->n, x.n);
	kh_taxdump_close(d);
	return t;
}

/* Of sets of taxa: the naive LCA, member by member, is that of the least and greatest. */
TEST(test_lca)
{
	for (int round = 0; round < 200; round++) {
		kh_taxonomy *t = random_taxonomy();
		const kh_tree made = kh_taxonomy_tree(t);
		for (int k = 0; k < 300; k++) {
			uint32_t a = (uint32_t)(test_rand() % t->n), lo = a, hi = a,
				 lca = a;
			assert_int_equal(kh_tree_lca(&made, a, a), a);
			for (unsigned more = test_rand() % 5; more; more--) {
				uint32_t b = (uint32_t)(test_rand() % t->n);
				assert_int_equal(naive_lca(t, lca, b), naive_lca(t, b, lca));
				lca = naive_lca(t, lca, b);
				lo = b < lo ? b : lo;
				hi = b > hi ? b : hi;
			}
			assert_int_equal(kh_tree_lca(&made, lo, hi), lca);
			assert_int_equal(kh_tree_lca(&made, lca, hi), lca);
		}
		kh_taxonomy_free(t);
	}
}
