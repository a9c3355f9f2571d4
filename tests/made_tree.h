/* made_tree.h - the tree of made_index.h, there while the tests of a program run */
#ifndef KH_TEST_MADE_TREE_H
#define KH_TEST_MADE_TREE_H

#include "made_index.h"

static kh_taxonomy *tree;

FIXTURE(make_tree)
{
	tree = small_tree();
	return 0;
}

FIXTURE(free_tree)
{
	kh_taxonomy_free(tree);
	return 0;
}

#endif
