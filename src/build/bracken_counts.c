#include <config.h>
#include "build/bracken_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "kmer/kmer.h"

/* --- counting --------------------------------------------------------------------- */
static uint64_t hash_of(uint32_t genome, uint32_t called)
{
	return kh_fmix64((uint64_t)genome << 32 | called);
}

/* NULL: there is none. */
static kh_pair_count *find(const kh_pair_counts *c, uint32_t genome, uint32_t called)
{
	size_t at = 0;

	for (uint32_t i;
	     (i = kh_numbers_next(&c->numbers, hash_of(genome, called), &at)) != KH_NO_NUMBER;)
		if (c->v[i].genome == genome && c->v[i].called == called)
			return &c->v[i];
	return NULL;
}

int kh_pair_counts_add(kh_pair_counts *c, const kh_pair_count *x, kh_err *err)
{
	kh_pair_count *p = find(c, x->genome, x->called);
	int rc;

	if (p) {
		p->n += x->n;
		p->first = x->first < p->first ? x->first : p->first;
		return KH_OK;
	}
	rc = KH_GROW(c->v, c->cap, c->n + 1, err);
	if (rc)
		return rc;
	c->v[c->n] = *x;
	return kh_numbers_add(&c->numbers, hash_of(x->genome, x->called), (uint32_t)c->n++, err);
}

void kh_pair_counts_clear(kh_pair_counts *c)
{
	free(c->v);
	kh_numbers_clear(&c->numbers);
	*c = (kh_pair_counts) { .v = NULL };
}

/* --- the table -------------------------------------------------------------------- */
/* What the order of lines depends on. */
struct row {
	uint64_t genome_first;  /* the first sequence of the genome that has an N-mer */
	uint64_t first;
	uint64_t line;
	uint64_t n, of;         /* N-mers with that call, of all N-mers of the genome */
	uint32_t genome, called;        /* taxids; called 0: none */
};

/* By the first sequence of the genome; then by the first sequence that has the call, and for one
 * sequence by taxid. */
static int by_appearance(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->genome_first != y->genome_first)
		return x->genome_first < y->genome_first ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->called < y->called ? -1 : x->called > y->called;
}

static int by_line(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->genome_first < y->genome_first ? -1 : x->genome_first > y->genome_first;
}

/* By genome: its first sequence, and the number of all its N-mers. */
struct genomes {
	uint64_t *first, *all;
};

static struct row *rows_of(const kh_pair_counts *c, const kh_taxonomy *tax, struct genomes g,
			   kh_err *err)
{
	struct row *row = kh_array(c->n, sizeof *row, err);

	for (size_t i = 0; row && i < c->n; i++) {
		const kh_pair_count *p = &c->v[i];

		if (g.all[p->genome] == 0 || p->first < g.first[p->genome])
			g.first[p->genome] = p->first;
		g.all[p->genome] += p->n;
	}
	for (size_t i = 0; row && i < c->n; i++) {
		const kh_pair_count *p = &c->v[i];

		row[i] = (struct row) {
			.genome_first = g.first[p->genome],
			.first = p->first,
			.n = p->n,
			.of = g.all[p->genome],
			.genome = tax->taxid[p->genome],
			.called = p->called == KH_NO_TAXON ? 0 : tax->taxid[p->called]
		};
	}
	return row;
}

/* Gives rows, sorted by appearance, the numbers of their lines: a line for each taxid called. */
static int number_lines(struct row *row, size_t n, kh_err *err)
{
	kh_pair_counts seen = { .v = NULL };
	int rc = KH_OK;

	for (size_t i = 0; i < n && !rc; i++) {
		const kh_pair_count x = { .called = row[i].called, .n = 1, .first = seen.n };

		rc = kh_pair_counts_add(&seen, &x, err);
		if (!rc)
			row[i].line = find(&seen, 0, row[i].called)->first;
	}
	kh_pair_counts_clear(&seen);
	return rc;
}

static void put_rows(kh_buf *b, const struct row *row, size_t n)
{
	kh_buf_string(b, "mapped_taxid\tgenome_taxids:kmers_mapped:total_genome_kmers\n");
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || row[i].line != row[i - 1].line)
			kh_buf_print(b, "%" PRIu32 "\t", row[i].called);
		kh_buf_print(b, "%" PRIu32 ":%" PRIu64 ":%" PRIu64 " ", row[i].genome, row[i].n,
			     row[i].of);
		if (i + 1 == n || row[i].line != row[i + 1].line)
			kh_buf_string(b, "\n");
	}
}

int kh_kmer_distrib(kh_buf *b, const kh_pair_counts *c, const kh_taxonomy *tax, kh_err *err)
{
	const struct genomes g = { kh_array(tax->n, sizeof *g.first, err),
				   kh_array(tax->n, sizeof *g.all, err) };
	struct row *row = g.first && g.all ? rows_of(c, tax, g, err) : NULL;
	int rc = row ? KH_OK : KH_ENOMEM;

	if (!rc) {
		qsort(row, c->n, sizeof *row, by_appearance);
		rc = number_lines(row, c->n, err);
	}
	if (!rc) {
		qsort(row, c->n, sizeof *row, by_line);
		put_rows(b, row, c->n);
		rc = kh_buf_check(b, err);
	}
	free(row);
	free(g.first);
	free(g.all);
	return rc;
}
