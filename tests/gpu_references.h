/*
 * gpu_references.h - made-up references that hit the edges, in a folder of their own: empty
 * sequences, lengths around k, word and bin, ambiguous stretches, repeats in hundreds of places,
 * sequences without a taxon
 */
#ifndef KH_GPU_REFERENCES_H
#define KH_GPU_REFERENCES_H

#include <unistd.h>
#include "gpu_reads.h"
#include "build/build.h"
#include "classify/match.h"

static char dir[] = "/tmp/kh-backend-XXXXXX";
enum { NODES, NAMES, REFS, DB, SECOND, FILES };
static char path[FILES][64];
static char refs[1 << 22];              /* their text */

static inline bool open_folder(void)
{
	static const char *const name[FILES] = { "nodes.dmp", "names.dmp", "refs.fa", "refs.khdb",
						 "second.khdb" };

	if (!mkdtemp(dir))
		return false;
	for (int i = 0; i < FILES; i++)
		snprintf(path[i], sizeof path[i], "%s/%s", dir, name[i]);
	return true;
}

static inline void remove_folder(void)
{
	for (int i = 0; i < FILES; i++)
		unlink(path[i]);
	rmdir(dir);
}

static inline void build_as(int which, const kh_build_options *like)
{
	kh_build_options o = *like;
	const char *files[] = { path[REFS] };
	kh_build_summary sum;

	o.refs = files;
	o.n_refs = 1;
	o.db = path[which];
	o.taxonomy = dir;
	o.max_unmapped = 1;
	OK(kh_build(&o, &sum, err));
}

static inline void build(const kh_build_options *like) { build_as(DB, like); }

#define SYNCMERS(k, s, stride) ((kh_sampling) { KH_SYNCMER, k, s, stride, 0, 1 })

static inline kh_build_options options_of(kh_sampling sampling, bool keep_all)
{
	return (kh_build_options) { .sampling = sampling, .keep_all = keep_all, .threads = 2,
				    .block_size = 1 << 16 };
}

/* Builds a database of the references that were made, and opens it. */
static inline kh_db *open_built(const kh_build_options *o, bool later, kh_rule *rule)
{
	const kh_db_options how = { .threads = 2, .later = later };
	kh_db *db = NULL;

	build(o);
	OK(kh_db_open(&db, path[DB], &how, err));
	kh_rule_init(rule, db->h);
	return db;
}

static void put_file(int which, const char *p, size_t n)
{
	FILE *f = fopen(path[which], "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void make_taxonomy(void)
{
	static const struct { unsigned id, parent; const char *rank;
	} t[] = { { 1, 1, "no rank" },   { 10, 1, "genus" },    { 11, 10, "species" },
		  { 12, 10, "species" }, { 13, 11, "strain" },  { 14, 11, "strain" },
		  { 20, 1, "genus" },    { 21, 20, "species" }, { 22, 21, "strain" },
		  { 23, 21, "strain" },  { 24, 12, "strain" },  { 30, 1, "family" },
		  { 31, 30, "species" } };
	char nodes[4096] = "", names[4096] = "";
	size_t a = 0, b = 0;

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		a += (size_t)snprintf(nodes + a, sizeof nodes - a,
				      "%u\t|\t%u\t|\t%s\t|\n", t[i].id, t[i].parent,
				      t[i].rank);
		b += (size_t)snprintf(names + b, sizeof names - b,
				      "%u\t|\ttaxon %u\t|\t\t|\tscientific name\t|\n",
				      t[i].id, t[i].id);
	}
	put_file(NODES, nodes, a);
	put_file(NAMES, names, b);
}

/* The tests, in that folder. */
static inline int run_in_folder(void)
{
	if (!open_folder())
		return 1;
	kh_log_level(KH_ERROR);
	make_taxonomy();
	const int status = test_run(NULL, NULL);
	remove_folder();
	return status;
}

/* A strain: the genome with some sites changed, a repeat pasted in, a stretch of N. */
static size_t put_strain(char *out, unsigned i, size_t len, unsigned changes)
{
	static const unsigned taxon[] = { 13, 14, 12, 22, 23, 24, 31, 11, 99 };
	size_t n = (size_t)sprintf(out, ">s%u kraken:taxid|%u\n", i, taxon[i % 9]);
	char *p = out + n;

	memcpy(p, genome + (i % 3) * 7, len);
	for (unsigned c = 0; c < changes && len; c++)
		p[test_rand() % len] = "ACGT"[test_rand() & 3];
	for (size_t at = 500; at + sizeof repeat < len; at += 1500)
		memcpy(p + at, repeat, sizeof repeat);
	if (len > 3000)
		memset(p + 2000 + test_rand() % 500, 'N', test_rand() % 100);
	if (len > 5000)
		memset(p + 4000, 'A', 300);
	n += len;
	out[n++] = '\n';
	return n;
}

/* Adds a sequence to the n bytes of text. */
static size_t put_sequence(size_t n, unsigned taxon, const char *bases, size_t len)
{
	n += (size_t)sprintf(refs + n, ">t%zu kraken:taxid|%u\n", n, taxon);
	memcpy(refs + n, bases, len);
	refs[n + len] = '\n';
	return n + len + 1;
}

/* Writes them; returns how long their text is. */
static size_t make_references(void)
{
	static const size_t edge[] = { 0,   1,   17,  18,  19,  31,  32,  33,  64,  111,
				       112, 113, 127, 128, 129, 130, 224, 225, 1008 };
	size_t n = 0;
	unsigned i = 0;

	random_bases(genome, sizeof genome);
	random_bases(repeat, sizeof repeat);
	random_bases(crowd, sizeof crowd);
	for (size_t e = 0; e < sizeof edge / sizeof *edge; e++)
		n += put_strain(refs + n, i++, edge[e], 0);
	for (int k = 0; k < 24; k++) {
		size_t len = test_rand() % 60000;

		n += put_strain(refs + n, i++, len, (unsigned)(len / 200));
	}
	n += put_strain(refs + n, i++, 100000, 100);
	/* hundreds of bins for a read: more, and fewer, than the tables of a warp hold */
	for (int k = 0; k < 300; k++) {
		char bases[100 + sizeof crowd];
		const size_t len = test_rand() % 100;

		random_bases(bases, len);
		memcpy(bases + len, crowd, sizeof crowd);
		n = put_sequence(n, k % 2 ? 22 : 31, bases,
				 len + (k < 250 ? sizeof crowd : sizeof crowd / 2));
	}
	put_file(REFS, refs, n);
	return n;
}

#endif
