/*
 * make_kraken.c - makes a database of Kraken 2 of references, for tests and for measurements
 *
 *	make_kraken OUT TAXONOMY [k=35] [l=31] [seed=0] [toggle=e37e28c4271b5a2d] [cells=N]
 *		[values=N] [cell=32] [least=0] [protein=0] [complement=1] [threads=1] FILE.fa...
 *
 * TAXONOMY is a folder with nodes.dmp, names.dmp and accession2taxid.tsv; the files are plain FASTA
 * (seed, toggle and least are hexadecimal).  A protein database has the residues of all six frames.
 * Which of two keys is in a cell first can depend on threads; either way it is such a database.
 */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kraken2/format.h"
#include "kraken2/scan.h"
#include "seqio/scan.h"

typedef struct accession {
	char *id;
	uint32_t taxid;
} accession;

struct maker {
	const char *out, *taxonomy;
	char **file;
	size_t n_files;
	kh_k2_rule rule;
	unsigned threads;
	accession *acc;
	size_t n_acc, cap_acc;
	kh_taxonomy *tax;
	uint32_t *node, *taxon;         /* of a taxon its node in the file, and the reverse */
	_Atomic uint32_t *cell;         /* of 32 bits, and, of cells of 40, */
	_Atomic unsigned char *upper;   /*   the upper bits of keys */
	_Atomic uint64_t keys;
	_Atomic size_t next;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "make_kraken: %s: %s\n", what, why);
	exit(1);
}

static void *room(size_t n, size_t size)
{
	kh_err err = { 0, "" };
	void *p = kh_array(n, size, &err);

	if (!p)
		die("memory", err.msg);
	return p;
}

/* --- the taxonomy ----------------------------------------------------------------- */
static int by_id(const void *a, const void *b)
{
	return strcmp(((const accession *)a)->id, ((const accession *)b)->id);
}

static void read_accessions(struct maker *m)
{
	char path[4096], line[4096], id[1024];
	uint32_t taxid;
	FILE *f;

	snprintf(path, sizeof path, "%s/accession2taxid.tsv", m->taxonomy);
	if (!(f = fopen(path, "r")))
		die(path, strerror(errno));
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%*s %1023s %" SCNu32, id, &taxid) == 2) {
			if (kh_grow((void **)&m->acc, &m->cap_acc, m->n_acc + 1, sizeof *m->acc,
				    NULL))
				die(path, "too long");
			m->acc[m->n_acc++] = (accession) { strdup(id), taxid };
		}
	fclose(f);
	qsort(m->acc, m->n_acc, sizeof *m->acc, by_id);
}

/* Numbers the taxa as the file has them: children of a node stand together. */
static void number_taxa(struct maker *m)
{
	uint32_t *taxid = room(m->n_acc, sizeof *taxid), n = 1;
	kh_taxdump *d = NULL;
	kh_err err = { 0, "" };

	for (size_t i = 0; i < m->n_acc; i++)
		taxid[i] = m->acc[i].taxid;
	if (kh_taxdump_open(&d, m->taxonomy, &err) ||
	    kh_taxonomy_prune(&m->tax, d, taxid, m->n_acc, &err))
		die(m->taxonomy, err.msg);
	kh_taxdump_close(d);
	free(taxid);
	m->node = room(m->tax->n, sizeof *m->node);
	m->taxon = room((size_t)m->tax->n + 1, sizeof *m->taxon);
	m->node[0] = 1;
	for (uint32_t i = 1; i <= m->tax->n; i++)
		for (uint32_t x = m->taxon[i], c = x + 1; c < m->tax->end[x]; c = m->tax->end[c]) {
			m->node[c] = ++n;
			m->taxon[n] = c;
		}
	m->rule.n_nodes = m->tax->n + 1;
}

static FILE *create(const struct maker *m, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", m->out, name);
	if (!(f = fopen(path, "w")))
		die(path, strerror(errno));
	return f;
}

static void write_all(const void *p, size_t size, size_t n, FILE *f)
{
	if (fwrite(p, size, n, f) != n)
		die("write", strerror(errno));
}

static void write_taxonomy(const struct maker *m)
{
	const kh_taxonomy *t = m->tax;
	FILE *f = create(m, KH_K2_TAXO);
	uint64_t head[4] = { 0, t->n + UINT64_C(1), t->names_len, 0 }, node[7] = { 0 };
	uint64_t at[KH_RANKS];

	memcpy(head, "K2TAXDAT", 8);
	for (kh_rank r = 0; r < KH_RANKS; r++) {
		at[r] = head[3];
		head[3] += strlen(kh_rank_name(r)) + 1;
	}
	write_all(head, 8, 4, f);
	write_all(node, 8, 7, f);
	for (uint32_t i = 1; i <= t->n; i++) {
		const uint32_t x = m->taxon[i];
		uint64_t children = 0;

		for (uint32_t c = x + 1; c < t->end[x]; c = t->end[c])
			children++;
		const uint64_t y[7] = { x ? m->node[t->parent[x]] : 0,
					children ? m->node[x + 1] : 0, children, t->name[x],
					at[t->rank[x]], t->taxid[x], 0 };
		write_all(y, 8, 7, f);
	}
	write_all(t->names, 1, t->names_len, f);
	for (kh_rank r = 0; r < KH_RANKS; r++)
		write_all(kh_rank_name(r), 1, strlen(kh_rank_name(r)) + 1, f);
	if (fclose(f))
		die("write", strerror(errno));
}

/* --- the table -------------------------------------------------------------------- */
static uint32_t lca(const kh_taxonomy *t, uint32_t a, uint32_t b)
{
	while (a < b ? b >= t->end[a] : a >= t->end[b])
		if (a < b)
			a = t->parent[a];
		else
			b = t->parent[b];
	return a < b ? a : b;
}

/* Returns whether the key is a new one. */
static bool insert(struct maker *m, uint64_t key, uint32_t taxon)
{
	const kh_k2_rule *r = &m->rule;
	const uint64_t hash = kh_fmix64(key), part = hash >> (64 - r->key_bits);
	const uint32_t mask = (UINT32_C(1) << r->value_bits) - 1;
	const uint32_t low = (uint32_t)(part << r->value_bits);
	const unsigned char high = (unsigned char)(part >> (32 - r->value_bits));

	if (hash < r->least_hash)
		return false;
	for (uint64_t i = kh_k2_cell(r, hash), left = r->capacity; left > 0; left--) {
		uint32_t now = atomic_load(&m->cell[i]);

		if ((now & mask) == 0 &&
		    atomic_compare_exchange_strong(&m->cell[i], &now, low | m->node[taxon])) {
			if (m->upper)
				atomic_store(&m->upper[i], high);
			return true;
		}
		while ((now & ~mask) == low && (!m->upper || m->upper[i] == high)) {
			const uint32_t both = lca(m->tax, taxon, m->taxon[now & mask]);

			if (both == m->taxon[now & mask] ||
			    atomic_compare_exchange_strong(&m->cell[i], &now, low | m->node[both]))
				return false;
		}
		i = i + 1 == r->capacity ? 0 : i + 1;
	}
	die(KH_K2_HASH, "the table is full");
	return false;
}

static void write_table(const struct maker *m)
{
	const kh_k2_rule *r = &m->rule;
	const uint64_t head[4] = { r->capacity, m->keys, r->key_bits, r->value_bits };
	FILE *f = create(m, KH_K2_HASH);

	write_all(head, 8, 4, f);
	if (!m->upper)
		write_all((const void *)m->cell, 4, r->capacity, f);
	for (uint64_t i = 0; m->upper && i < r->capacity; i++) {
		const uint32_t a = m->cell[i];
		const unsigned char b = m->upper[i];

		write_all(&a, 4, 1, f);
		write_all(&b, 1, 1, f);
	}
	if (fclose(f))
		die("write", strerror(errno));
}

static void write_options(const struct maker *m)
{
	const kh_k2_rule *r = &m->rule;
	const uint64_t seed = r->seed == r->mask ? 0 : r->seed;
	const uint64_t x[8] = { r->k, r->l, seed, r->toggle, !r->protein, r->least_hash,
				!r->old_complement, 0 };
	FILE *f = create(m, KH_K2_OPTS);

	write_all(x, 8, 8, f);
	if (fclose(f))
		die("write", strerror(errno));
}

/* --- references ------------------------------------------------------------------- */
typedef struct work {
	kh_k2_scanner scanner;
	kh_k2_queries queries;
	kh_packed packed;
	size_t cap;
} work;

/* Adds a record, whose header ends at `end`, and which ends at `to`. */
static void add_record(struct maker *m, work *w, char *at, char *end, char *to)
{
	accession key = { at + 1, 0 };
	const accession *a;
	kh_seq_lines lines = { 0, 0, 0 };
	kh_err err = { 0, "" };
	const size_t n = (size_t)(to - end);

	at[1 + strcspn(at + 1, " \t\n")] = 0;
	if (!(a = bsearch(&key, m->acc, m->n_acc, sizeof *a, by_id)))
		die(at + 1, "has no taxon");
	if (w->cap < n / 32 + 4) {
		w->cap = n / 32 + 4;
		free(w->packed.bases);
		free(w->packed.amb);
		w->packed = (kh_packed) { room(w->cap, 8), room(w->cap, 4) };
	}
	kh_scan_get()->lines(&w->packed, &lines, end, n);
	kh_pack_end(&w->packed, 0, lines.at);
	const kh_k2_bases b = { w->packed.bases, w->packed.amb, 0, lines.at };
	w->queries.n = w->queries.n_runs = 0;
	if (kh_k2_scan(&w->scanner, &m->rule, &b, &w->queries, &err))
		die(at + 1, err.msg);
	const kh_k2_queries *q = &w->queries;
	const uint32_t taxon = kh_taxonomy_find(m->tax, a->taxid);
	uint64_t keys = 0;
	for (size_t i = 0; i < q->n; i++) {
		if (i + 16 < q->n)
			__builtin_prefetch((const void *)&m->cell[kh_k2_cell(
						   &m->rule, kh_fmix64(q->key[i + 16]))], 1);
		keys += insert(m, q->key[i], taxon);
	}
	atomic_fetch_add(&m->keys, keys);
}

static void add_file(struct maker *m, work *w, const char *path)
{
	FILE *f = fopen(path, "r");
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die(path, strerror(errno));
	const size_t n = (size_t)st.st_size;
	char *text = room(n + KH_SCAN_PAD + 2, 1), *at = text + 1;

	text[0] = '\n';
	if (fread(at, 1, n, f) != n)
		die(path, strerror(errno));
	fclose(f);
	while (at && *at == '>') {
		char *end = strchr(at, '\n'), *next = end ? strstr(end, "\n>") : NULL;

		if (end)
			add_record(m, w, at, end + 1, next ? next + 1 : text + 1 + n);
		at = next ? next + 1 : NULL;
	}
	free(text);
}

static int worker(void *arg, unsigned id, kh_err *err)
{
	struct maker *m = arg;
	work w = { .cap = 0 };
	size_t i;

	(void)id, (void)err;
	while ((i = atomic_fetch_add(&m->next, 1)) < m->n_files)
		add_file(m, &w, m->file[i]);
	kh_k2_scanner_clear(&w.scanner);
	kh_k2_queries_clear(&w.queries);
	free(w.packed.bases);
	free(w.packed.amb);
	return KH_OK;
}

/* NAME=VALUE, or a file. */
static bool option(const char *arg, const char *name, int base, uint64_t *value)
{
	const size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0 || arg[n] != '=')
		return false;
	*value = strtoull(arg + n + 1, NULL, base);
	return true;
}

static void read_options(struct maker *m, char **argv)
{
	kh_k2_rule *r = &m->rule;
	uint64_t k = 35, l = 31, seed = 0, toggle = UINT64_C(0xe37e28c4271b5a2d), cells = 100000;
	uint64_t values = 0, cell = 32, least = 0, protein = 0, complement = 1, threads = 1;

	for (; *argv; argv++)
		if (!option(*argv, "k", 10, &k) && !option(*argv, "l", 10, &l) &&
		    !option(*argv, "seed", 16, &seed) && !option(*argv, "toggle", 16, &toggle) &&
		    !option(*argv, "cells", 10, &cells) && !option(*argv, "values", 10, &values) &&
		    !option(*argv, "cell", 10, &cell) && !option(*argv, "least", 16, &least) &&
		    !option(*argv, "protein", 10, &protein) &&
		    !option(*argv, "complement", 10, &complement) &&
		    !option(*argv, "threads", 10, &threads))
			m->file[m->n_files++] = *argv;
	r->mask = (UINT64_C(1) << (protein ? 4 : 2) * l) - 1;
	r->k = (uint32_t)k;
	r->l = (uint32_t)l;
	r->seed = seed ? seed : r->mask;
	r->toggle = toggle & r->mask;
	r->capacity = cells;
	r->inverse = UINT64_MAX / cells;
	r->value_bits = (uint32_t)values;
	r->cell_bytes = (uint32_t)cell / 8;
	r->least_hash = least;
	r->protein = protein != 0;
	r->old_complement = complement == 0;
	m->threads = (unsigned)threads;
}

int main(int argc, char **argv)
{
	struct maker m = { .n_files = 0 };
	kh_monitor *monitor = NULL;
	kh_err err = { 0, "" };

	if (argc < 4)
		die("usage", "make_kraken OUT TAXONOMY [OPTION=VALUE]... FILE.fa...");
	m.out = argv[1];
	m.taxonomy = argv[2];
	m.file = room((size_t)argc, sizeof *m.file);
	read_options(&m, argv + 3);
	mkdir(m.out, 0777);
	read_accessions(&m);
	number_taxa(&m);
	while (m.rule.value_bits < 2 || m.rule.n_nodes >> m.rule.value_bits)
		m.rule.value_bits++;
	m.rule.key_bits = 8 * m.rule.cell_bytes - m.rule.value_bits;
	m.cell = kh_pages(m.rule.capacity * sizeof *m.cell, &err);
	if (m.rule.cell_bytes == 5)
		m.upper = room(m.rule.capacity, 1);
	if (!m.cell || kh_monitor_new(&monitor, &err) ||
	    kh_threads_run(monitor, m.threads, worker, &m, &err))
		die("table", err.msg);
	write_table(&m);
	write_taxonomy(&m);
	write_options(&m);
	printf("%" PRIu64 " keys in %" PRIu64 " cells\n", m.keys, m.rule.capacity);
	kh_pages_free((void *)m.cell, m.rule.capacity * sizeof *m.cell);
	for (size_t i = 0; i < m.n_acc; i++)
		free(m.acc[i].id);
	free(m.acc);
	free(m.file);
	free(m.node);
	free(m.taxon);
	free((void *)m.upper);
	kh_taxonomy_free(m.tax);
	kh_monitor_free(monitor);
	return 0;
}
