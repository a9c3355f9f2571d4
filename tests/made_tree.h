/* made_tree.h - the tree of made_index.h, there while the tests of a program run */
#ifndef KH_TEST_MADE_TREE_H
#define KH_TEST_MADE_TREE_H

#include "made_index.h"

static kh_taxonomy *tree;

static inline int make_tree(void **state)
{
	(void)state;
	tree = small_tree();
	return 0;
}

static inline int free_tree(void **state)
{
	(void)state;
	kh_taxonomy_free(tree);
	return 0;
}

#endif
