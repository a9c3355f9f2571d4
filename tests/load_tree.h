/* load_tree.h - a tree of taxa from the arrays that a database file has */
#ifndef KH_TEST_LOAD_TREE_H
#define KH_TEST_LOAD_TREE_H

#include <string.h>
#include "taxonomy/taxonomy.h"

/* Checks the arrays, and copies them. */
static inline int load_tree(kh_taxonomy **out, const kh_taxonomy *raw, kh_err *err)
{
	kh_taxonomy *t;
	int rc = kh_taxonomy_check(raw, err);

	*out = NULL;
	if (rc)
		return rc;
	if (!(t = kh_taxonomy_new(raw->n, raw->names_len, err)))
		return KH_ENOMEM;
	memcpy(t->taxid, raw->taxid, raw->n * sizeof *t->taxid);
	memcpy(t->parent, raw->parent, raw->n * sizeof *t->parent);
	memcpy(t->end, raw->end, raw->n * sizeof *t->end);
	memcpy(t->rank, raw->rank, raw->n * sizeof *t->rank);
	memcpy(t->name, raw->name, raw->n * sizeof *t->name);
	memcpy(t->names, raw->names, raw->names_len);
	if ((rc = kh_taxonomy_derive(t, err)))
		kh_taxonomy_free(t);
	else
		*out = t;
	return rc;
}

#endif
