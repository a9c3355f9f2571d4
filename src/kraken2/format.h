/*
 * format.h - the three files of a database of Kraken 2
 *
 * Each parser is a function of bytes that are not trusted: what it accepts can be used without
 * another check.  All numbers are little-endian, and of 64 bits unless said.
 *
 *	opts.k2d  k, l, spaced seed, toggle mask, one byte in eight: are sequences DNA?, least
 *	          hash, version of the reverse complement, of the database, its type (32 bits
 *	          each).  Files of older versions end sooner: what is missing is 0.
 *	taxo.k2d  "K2TAXDAT", number of nodes, bytes of names, bytes of ranks; for each node its
 *	          parent, first child, number of children, offsets of its name and of its rank,
 *	          taxid, and one number that is not used; names, ranks.  Node 0 is none, node 1 the
 *	          root.
 *	hash.k2d  capacity, number of keys, bits of keys, bits of values; the cells
 */
#ifndef KH_KRAKEN2_FORMAT_H
#define KH_KRAKEN2_FORMAT_H

#include <stdbool.h>
#include "base/msg.h"
#include "kraken2/rule.h"
#include "taxonomy/taxonomy.h"

#define KH_K2_OPTS "opts.k2d"
#define KH_K2_TAXO "taxo.k2d"
#define KH_K2_HASH "hash.k2d"

enum { KH_K2_HASH_HEAD = 32 };          /* bytes before the cells */

/* The bytes of a file, and its name for messages. */
typedef struct kh_k2_file {
	const unsigned char *p;
	uint64_t n;
	const char *name;
} kh_k2_file;

/* A database, but for its cells. */
typedef struct kh_k2 {
	kh_k2_rule rule;
	uint64_t keys;                  /* in the table, as the file says */
	kh_taxonomy *tax;
	uint32_t *taxon;                /* of each value, n_nodes of them: its preorder number */
} kh_k2;

/* opts.k2d: fills what is said of minimizers. */
int kh_k2_parse_opts(kh_k2_rule *r, const kh_k2_file *f, kh_err *err);
/* taxo.k2d: fills tax and taxon, to be freed by kh_k2_clear, and rule.n_nodes. */
int kh_k2_parse_taxo(kh_k2 *k, const kh_k2_file *f, kh_err *err);
/* hash.k2d: the first 32 bytes, and how long the file has to be. */
int kh_k2_parse_hash(kh_k2 *k, const kh_k2_file *f, kh_err *err);
void kh_k2_clear(kh_k2 *k);

/* Is the value of each of the cells [from, to) below n_nodes?  Otherwise the first that is not. */
uint64_t kh_k2_bad_cell(const kh_k2_rule *r, const unsigned char *cells, uint64_t from,
			uint64_t to);

#endif
