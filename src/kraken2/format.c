/*
 * format.c - opts.k2d and hash.k2d, and the check of cells
 */
#include <config.h>
#include "kraken2/format.h"

#include <inttypes.h>
#include <stdlib.h>

static uint64_t number(const kh_k2_file *f, uint64_t at)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < 8 && at + i < f->n; i++)
		x |= (uint64_t)f->p[at + i] << 8 * i;
	return x;
}

/* --- opts.k2d --------------------------------------------------------------------- */
/* Where things stand; the first four have always been there. */
enum { OPTS_K = 0, OPTS_L = 8, OPTS_SEED = 16, OPTS_TOGGLE = 24, OPTS_DNA = 32, OPTS_LEAST = 40,
       OPTS_COMPLEMENT = 48, OPTS_VERSION = 52, OPTS_TYPE = 56, OPTS_BYTES = 64 };

/* Numbers of 32 bits that a file may end before. */
static uint32_t half(const kh_k2_file *f, uint64_t at)
{
	return (uint32_t)number(f, at);
}

static int check_lengths(const kh_k2_file *f, uint64_t k, uint64_t l, unsigned bits,
			 kh_err *err)
{
	const unsigned most = 63 / bits;

	if (l < 1 || l > most)
		return kh_fail(err, KH_EFORMAT, "%s: minimizers of %" PRIu64 " characters, and 1 "
			       "to %u are possible", f->name, l, most);
	if (k < l || k > INT32_MAX)
		return kh_fail(err, KH_EFORMAT, "%s: k-mers of %" PRIu64 " characters with "
			       "minimizers of %" PRIu64, f->name, k, l);
	return KH_OK;
}

int kh_k2_parse_opts(kh_k2_rule *r, const kh_k2_file *f, kh_err *err)
{
	if (f->n <= OPTS_DNA || f->n > OPTS_BYTES)
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " bytes, and files of Kraken 2 have "
			       "%d to %d", f->name, f->n, OPTS_DNA + 8, OPTS_BYTES);
	const bool dna = f->p[OPTS_DNA] != 0;
	const uint64_t k = number(f, OPTS_K), l = number(f, OPTS_L), seed = number(f, OPTS_SEED);
	const unsigned bits = dna ? 2 : 4;
	const int rc = check_lengths(f, k, l, bits, err);

	if (rc)
		return rc;
	if (half(f, OPTS_COMPLEMENT) > 1 || half(f, OPTS_VERSION) > 0 || half(f, OPTS_TYPE) > 0)
		return kh_fail(err, KH_EFORMAT, "%s: a database of version %" PRIu32 ", type %"
			       PRIu32 ", reverse complement %" PRIu32 "; known are 0, 0, and 0 "
			       "or 1", f->name, half(f, OPTS_VERSION), half(f, OPTS_TYPE),
			       half(f, OPTS_COMPLEMENT));
	r->k = (uint32_t)k;
	r->l = (uint32_t)l;
	r->protein = !dna;
	r->old_complement = dna && half(f, OPTS_COMPLEMENT) == 0;
	r->mask = (UINT64_C(1) << bits * l) - 1;
	r->seed = seed ? seed : r->mask;
	r->toggle = number(f, OPTS_TOGGLE) & r->mask;
	r->least_hash = number(f, OPTS_LEAST);
	return KH_OK;
}

/* --- hash.k2d --------------------------------------------------------------------- */
static int check_bits(const kh_k2_file *f, uint64_t key_bits, uint64_t value_bits, kh_err *err)
{
	const uint64_t sum = key_bits + value_bits;

	if (key_bits >= 1 && key_bits <= 39 && value_bits >= 1 && value_bits <= 31 &&
	    (sum == 32 || sum == 40))
		return KH_OK;
	return kh_fail(err, KH_EFORMAT, "%s: keys of %" PRIu64 " bits and values of %" PRIu64
		       ", where both together have 32 or 40", f->name, key_bits, value_bits);
}

int kh_k2_parse_hash(kh_k2 *k, const kh_k2_file *f, kh_err *err)
{
	kh_k2_rule *r = &k->rule;
	const uint64_t capacity = number(f, 0), key_bits = number(f, 16);
	const uint64_t value_bits = number(f, 24);

	if (f->n < KH_K2_HASH_HEAD)
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " bytes are too few for a table",
			       f->name, f->n);
	const int rc = check_bits(f, key_bits, value_bits, err);
	if (rc)
		return rc;
	r->key_bits = (uint32_t)key_bits;
	r->value_bits = (uint32_t)value_bits;
	r->cell_bytes = (uint32_t)(key_bits + value_bits) / 8;
	r->capacity = capacity;
	k->keys = number(f, 8);
	const uint64_t cells = (f->n - KH_K2_HASH_HEAD) / r->cell_bytes;
	if (capacity == 0 || cells != capacity || (f->n - KH_K2_HASH_HEAD) % r->cell_bytes)
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " bytes, and a table of %" PRIu64
			       " cells of %" PRIu32 " bytes is said to be there", f->name, f->n,
			       capacity, r->cell_bytes);
	if (k->keys > capacity)
		return kh_fail(err, KH_EFORMAT, "%s: %" PRIu64 " keys in a table of %" PRIu64
			       " cells", f->name, k->keys, capacity);
	r->inverse = UINT64_MAX / capacity;
	return KH_OK;
}

/* So many cells are checked between two branches: of a loop with a number of turns that it knows,
 * the compiler makes vector instructions. */
enum { TOGETHER = 4096 };

/* May one of these cells of four bytes be bad?  Values have 31 bits at most, so that a difference
 * below 0 has the upper bit. */
static bool may_be_bad(const kh_k2_rule *r, const uint32_t *cell)
{
	const uint32_t mask = (UINT32_C(1) << r->value_bits) - 1, most = r->n_nodes - 1;
	uint32_t any = 0;

	for (int i = 0; i < TOGETHER; i++)
		any |= most - (cell[i] & mask);
	return any >> 31;
}

uint64_t kh_k2_bad_cell(const kh_k2_rule *r, const unsigned char *cells, uint64_t from,
			uint64_t to)
{
	while (from < to) {
		const uint64_t end = to - from < TOGETHER ? to : from + TOGETHER;

		if (r->cell_bytes == 4 && end - from == TOGETHER &&
		    !may_be_bad(r, (const uint32_t *)(const void *)cells + from))
			from = end;
		for (; from < end; from++)
			if (kh_k2_read(r, cells, from).value >= r->n_nodes)
				return from;
	}
	return to;
}

void kh_k2_clear(kh_k2 *k)
{
	kh_taxonomy_free(k->tax);
	free(k->taxon);
	k->tax = NULL;
	k->taxon = NULL;
}
