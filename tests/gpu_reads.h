/* gpu_reads.h - blocks of reads that hit the edges, from a genome with repeats */
#ifndef KH_GPU_READS_H
#define KH_GPU_READS_H

#include "test.h"
#include "seqio/feed.h"
#include "bases.h"
#include "kmer/kmer.h"

static char genome[1 << 17];
static char repeat[400], crowd[1200];

static void random_bases(char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = "ACGT"[test_rand() & 3];
}

static void make_read(char *p, size_t len)
{
	const size_t from = len + 1000 < sizeof genome ? test_rand() % (sizeof genome - len) : 0;

	memcpy(p, genome + from, len);
	memset(p + len, 0, 256);
	switch (test_rand() % 8) {
	case 0: random_bases(p, len); break;
	case 1: memset(p, "ACGTN"[test_rand() % 5], len); break;
	case 2: memcpy(p, repeat, len < sizeof repeat ? len : sizeof repeat); break;
	case 4: if (len < 1100) memcpy(p, crowd + test_rand() % 100, len); break;
	case 3: for (size_t k = 0; k < len; k += 29) p[k] = 'N'; break;
	default:
		for (size_t k = test_rand() % 60 + 1; k < len; k += 60)
			p[k] = "ACGT"[test_rand() & 3];
	}
}

static size_t some_length(int kind)
{
	static const size_t edge[] = { 0,    1,    17,   18,   25,   31,   32,   33,
				       36,   43,   49,   51,   63,   64,   65,   100,
				       150,  151,  250,  500,  504,  1007, 1008, 1009,
				       2016, 2017, 5000 };

	if (kind == 0)
		return edge[test_rand() % (sizeof edge / sizeof *edge)];
	if (kind == 1)
		return 150;
	return test_rand() % 16 == 0 ? test_rand() % 60000 : test_rand() % 2000;
}

/* A block of packed records; the text is not needed. */
struct made_block {
	kh_block b;
	uint64_t *bases;
	uint32_t *amb;
	kh_record *rec;
};

/* One of up to n records of up to `longest` bases, without any yet. */
static void new_block(struct made_block *m, unsigned n, size_t longest)
{
	const size_t words = (size_t)n * (longest / 32 + 2);

	m->bases = calloc(words, 8);
	m->amb = calloc(words, 4);
	m->rec = calloc(n, sizeof *m->rec);
	m->b = (kh_block) { .bases = m->bases, .amb = m->amb, .rec = m->rec };
}

static void add_record(struct made_block *m, const char *text, size_t len)
{
	kh_record *r = &m->rec[m->b.n_rec++];

	r->len = len;
	r->seq = (uint64_t)m->b.n_words * 32;
	for (uint64_t j = 0; j < (len + 31) / 32 * 32; j++) {
		unsigned base = j < len ? base_of((unsigned char)text[j]) : 4;

		m->bases[(r->seq + j) / 32] |= (uint64_t)(base & 3) << 2 * (j % 32);
		m->amb[(r->seq + j) / 32] |= (uint32_t)(base >> 2) << j % 32;
	}
	m->b.n_words += (size_t)(len + 31) / 32;
}

static void make_block(struct made_block *m, unsigned n, int kind)
{
	char *text = malloc(60256);

	new_block(m, n, 60000);
	for (unsigned i = 0; i < n; i++) {
		const size_t len = some_length(kind);

		make_read(text, len);
		add_record(m, text, len);
	}
	free(text);
}

static void free_block(struct made_block *m)
{
	free(m->bases);
	free(m->amb);
	free(m->rec);
}

#endif
