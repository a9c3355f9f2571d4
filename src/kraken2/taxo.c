/*
 * taxo.c - taxo.k2d: the tree of a database, numbered anew in preorder
 */
#include <config.h>
#include "kraken2/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

enum { HEAD = 32, NODE = 56, ROOT = 1 };
enum field { PARENT, FIRST_CHILD, CHILDREN, NAME, RANK, TAXID };

/* The file while it is read; numbers of nodes are those of the file. */
typedef struct taxo {
	const kh_k2_file *f;
	uint64_t n;
	const char *names, *ranks;
	uint64_t names_len, ranks_len;
	uint64_t *key;                  /* taxid << 32 | node; children by ascending taxid */
	uint32_t *size;                 /* nodes of the clade */
	uint32_t *taxon;                /* preorder number */
} taxo;

static uint64_t word(const unsigned char *p)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < 8; i++)
		x |= (uint64_t)p[i] << 8 * i;
	return x;
}

static uint64_t get(const taxo *t, uint64_t node, enum field field)
{
	return word(t->f->p + HEAD + node * NODE + 8 * field);
}

static int bad(const taxo *t, const char *what, uint64_t node, uint64_t value, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: node %" PRIu64 " of %" PRIu64 ": %s %" PRIu64
		       " cannot be", t->f->name, node, t->n, what, value);
}

/* --- checks ----------------------------------------------------------------------- */
static int check_head(taxo *t, kh_err *err)
{
	const kh_k2_file *f = t->f;

	if (f->n < HEAD || memcmp(f->p, "K2TAXDAT", 8) != 0)
		return kh_fail(err, KH_EFORMAT, "%s: this is no taxonomy of Kraken 2", f->name);
	const uint64_t left = f->n - HEAD;

	t->n = word(f->p + 8);
	t->names_len = word(f->p + 16);
	t->ranks_len = word(f->p + 24);
	if (t->n < 2 || t->n > left / NODE || t->n > INT32_MAX ||
	    t->names_len > left - t->n * NODE || t->names_len > UINT32_MAX ||
	    t->ranks_len != left - t->n * NODE - t->names_len)
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " bytes, and %" PRIu64 " nodes, %"
			       PRIu64 " bytes of names and %" PRIu64 " of ranks are said to be "
			       "there", f->name, f->n, t->n, t->names_len, t->ranks_len);
	t->names = (const char *)f->p + HEAD + t->n * NODE;
	t->ranks = t->names + t->names_len;
	if (t->names_len == 0 || t->names[t->names_len - 1] || t->ranks_len == 0 ||
	    t->ranks[t->ranks_len - 1])
		return kh_fail(err, KH_EFORMAT, "%s: names or ranks do not end with a NUL",
			       f->name);
	for (uint64_t i = 0; i < t->names_len; i++)
		if (t->names[i] && ((unsigned char)t->names[i] < ' ' || t->names[i] == 0x7f))
			return kh_fail(err, KH_EFORMAT, "%s: control character at byte %" PRIu64
				       " of the names", f->name, i);
	return KH_OK;
}

static int check_node(const taxo *t, uint64_t i, kh_err *err)
{
	const uint64_t parent = get(t, i, PARENT), taxid = get(t, i, TAXID);

	if (i == ROOT ? parent != 0 : parent < ROOT || parent >= i)
		return bad(t, "parent", i, parent, err);
	if (i == ROOT ? taxid != 1 : taxid < 2 || taxid > UINT32_MAX)
		return bad(t, "taxid", i, taxid, err);
	if (get(t, i, NAME) >= t->names_len)
		return bad(t, "name at", i, get(t, i, NAME), err);
	if (get(t, i, RANK) >= t->ranks_len)
		return bad(t, "rank at", i, get(t, i, RANK), err);
	if (i == ROOT)
		return KH_OK;
	const uint64_t first = get(t, parent, FIRST_CHILD), n = get(t, parent, CHILDREN);
	return i >= first && i - first < n ? KH_OK
	       : bad(t, "it is no child of its parent,", i, parent, err);
}

/* Each node is among the children of its parent, and there are no other children. */
static int check_nodes(const taxo *t, kh_err *err)
{
	uint64_t children = 0;
	int rc = KH_OK;

	for (uint64_t i = ROOT; i < t->n && !rc; i++) {
		const uint64_t n = get(t, i, CHILDREN);

		rc = n < t->n ? check_node(t, i, err) : bad(t, "number of children", i, n, err);
		children += n;
	}
	return rc || children == t->n - 2 ? rc
	       : bad(t, "number of all children", ROOT, children, err);
}

/* --- preorder --------------------------------------------------------------------- */
/* Parents come before their children, and children of a node stand together. */
static void number_nodes(taxo *t)
{
	for (uint64_t i = ROOT; i < t->n; i++) {
		t->key[i] = get(t, i, TAXID) << 32 | i;
		t->size[i] = 1;
	}
	for (uint64_t i = t->n - 1; i > ROOT; i--)
		t->size[get(t, i, PARENT)] += t->size[i];
	t->taxon[0] = KH_NO_TAXON;
	t->taxon[ROOT] = 0;
	for (uint64_t i = ROOT; i < t->n; i++) {
		const uint64_t n = get(t, i, CHILDREN);
		uint32_t next = t->taxon[i] + 1;

		if (n == 0)             /* then the first one can be any number */
			continue;
		uint64_t *child = t->key + get(t, i, FIRST_CHILD);
		qsort(child, n, sizeof *child, kh_by_u64);
		for (uint64_t c = 0; c < n; c++) {
			t->taxon[(uint32_t)child[c]] = next;
			next += t->size[(uint32_t)child[c]];
		}
	}
}

static int make_tree(const taxo *t, kh_taxonomy **out, kh_err *err)
{
	kh_taxonomy *tax = *out = kh_taxonomy_new((uint32_t)t->n - 1, (size_t)t->names_len, err);

	if (!tax)
		return KH_ENOMEM;
	tax->kraken = true;
	for (uint64_t i = ROOT; i < t->n; i++) {
		const uint32_t x = t->taxon[i];
		const char *rank = t->ranks + get(t, i, RANK);

		tax->taxid[x] = (uint32_t)get(t, i, TAXID);
		tax->parent[x] = i == ROOT ? 0 : t->taxon[get(t, i, PARENT)];
		tax->end[x] = x + t->size[i];
		tax->name[x] = (uint32_t)get(t, i, NAME);
		tax->rank[x] = kh_rank_find(rank, strlen(rank));
	}
	memcpy(tax->names, t->names, (size_t)t->names_len);
	return kh_taxonomy_derive(tax, err);
}

int kh_k2_parse_taxo(kh_k2 *k, const kh_k2_file *f, kh_err *err)
{
	taxo t = { .f = f };
	int rc = check_head(&t, err);

	if (!rc)
		rc = check_nodes(&t, err);
	if (rc)
		return rc;
	t.key = kh_array((size_t)t.n, sizeof *t.key, err);
	t.size = kh_array((size_t)t.n, sizeof *t.size, err);
	t.taxon = kh_array((size_t)t.n, sizeof *t.taxon, err);
	rc = t.key && t.size && t.taxon ? KH_OK : KH_ENOMEM;
	if (!rc) {
		number_nodes(&t);
		rc = make_tree(&t, &k->tax, err);
	}
	free(t.key);
	free(t.size);
	k->taxon = t.taxon;
	k->rule.n_nodes = (uint32_t)t.n;
	return rc;
}
