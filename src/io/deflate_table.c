/*
 * deflate_table.c - makes tables of the Huffman codes in the header of a block
 */
#include <config.h>
#include "io/deflate_in.h"

#include <string.h>

enum {
	MAX_BITS = 15,
	N_LITLEN = 288, N_DIST = 32, N_PRE = 19,
	LITLEN_BITS = KH_DEFLATE_LITLEN_BITS, DIST_BITS = KH_DEFLATE_DIST_BITS, PRE_BITS = 7,
	MATCH_MAX = 258
};

/* --- tables ----------------------------------------------------------------------- */
struct code {
	const uint8_t *len;             /* of each symbol's code, 0: none */
	unsigned n;
	uint32_t (*entry)(unsigned symbol, unsigned len);
	uint32_t bad, sub;              /* entries for what is no code, and for a subtable */
	unsigned sub_shift;
	unsigned bits;                  /* of the primary table */
	bool may_be_empty, strict;
};

static uint32_t litlen_entry(unsigned s, unsigned len)
{
	/* RFC 1951, 3.2.5: from 265 on, four lengths for each number of extra bits */
	if (s < 256)
		return len | s << 8 | DEFLATE_LITERAL;
	if (s == 256)
		return len | DEFLATE_END;
	if (s > 285)
		return len | DEFLATE_BAD;
	if (s == 285)
		return len | len << 8 | (uint32_t)MATCH_MAX << 20;
	unsigned extra = s < 265 ? 0 : (s - 261) / 4;
	uint32_t base = s < 265 ? s - 254 : ((4 + (s - 261) % 4) << extra) + 3;
	return (len + extra) | len << 8 | base << 20;
}

static uint32_t dist_entry(unsigned s, unsigned len)
{
	if (s > 29)
		return DEFLATE_DIST_SPECIAL;
	unsigned extra = s < 4 ? 0 : s / 2 - 1;
	uint32_t base = s < 4 ? s + 1 : ((2 + s % 2) << extra) + 1;
	return (len + extra) | len << 8 | base << 16;
}

static uint32_t pre_entry(unsigned s, unsigned len)
{
	return len | s << 8;
}

static unsigned reversed(unsigned code, unsigned len)
{
	unsigned r = 0;

	for (; len > 0; len--, code >>= 1)
		r = r << 1 | (code & 1);
	return r;
}

/* Does a code of these numbers of lengths fill the code space?  As in zlib, one code of one bit may
 * stand alone, and there may be no distances, but the code for code lengths must be complete. */
static bool is_complete(const unsigned count[MAX_BITS + 1], const struct code *c)
{
	int left = 1;
	unsigned n = 0;

	for (unsigned len = 1; len <= MAX_BITS; len++) {
		left = 2 * left - (int)count[len];
		n += count[len];
		if (left < 0)
			return false;
	}
	return left == 0 || (n == 1 && count[1] == 1 && !c->strict) || (n == 0 && c->may_be_empty);
}

/* Codes longer than the primary table's bits: the entry for their first bits leads on. */
static uint32_t *subtable(const struct code *c, uint32_t *table, unsigned rev, size_t *used,
			  unsigned sub_bits)
{
	uint32_t *first = &table[rev & ((1u << c->bits) - 1)];
	const size_t size = (size_t)1 << c->bits;

	if (*first == c->bad) {
		*first = c->bits | c->sub | sub_bits << 12
			 | (uint32_t)(*used - size) << c->sub_shift;
		for (size_t i = 0; i < (size_t)1 << sub_bits; i++)
			table[*used + i] = c->bad;
		*used += (size_t)1 << sub_bits;
	}
	return table + size + (*first >> c->sub_shift & 0x7fff);
}

static bool make_table(const struct code *c, uint32_t *table)
{
	unsigned count[MAX_BITS + 1] = { 0 }, next[MAX_BITS + 2] = { 0 }, max = 1;
	const size_t size = (size_t)1 << c->bits;
	size_t used = size;

	for (unsigned s = 0; s < c->n; s++)
		count[c->len[s]]++;
	count[0] = 0;
	if (!is_complete(count, c))
		return false;
	for (unsigned len = 1; len <= MAX_BITS; len++) {
		next[len + 1] = (next[len] + count[len]) << 1;
		if (count[len])
			max = len;
	}
	for (size_t i = 0; i < size; i++)
		table[i] = c->bad;
	for (unsigned s = 0; s < c->n; s++) {
		const unsigned len = c->len[s];

		if (len == 0)
			continue;
		const unsigned rev = reversed(next[len]++, len);
		const bool is_long = len > c->bits;
		const unsigned skip = is_long ? c->bits : 0;
		uint32_t *to = is_long ? subtable(c, table, rev, &used, max - skip) : table;
		const size_t end = is_long ? (size_t)1 << (max - skip) : size;
		const uint32_t entry = c->entry(s, len - skip);

		for (size_t i = rev >> skip; i < end; i += (size_t)1 << (len - skip))
			to[i] = entry;
	}
	return true;
}

/* Where a literal's code leaves bits for another literal, one entry gives both.  Entry i >> bits
 * is below i, or i is 0: going down, it still has a single one. */
static void pack_pairs(uint32_t *table)
{
	for (size_t i = (size_t)1 << LITLEN_BITS; i-- > 0;) {
		const uint32_t e = table[i], f = table[e & DEFLATE_LITERAL ? i >> (e & 0xff) : i];
		const unsigned bits = (e & 0xff) + (f & 0xff);

		if ((e & f & DEFLATE_LITERAL) && bits <= LITLEN_BITS)
			table[i] = bits | (e & 0xff00) | (f & 0xff00) << 16
				   | DEFLATE_LITERAL | DEFLATE_TWO;
	}
}

/* Of the lengths of n_litlen codes, then n_dist. */
static bool make_tables(kh_deflate *d, const uint8_t *len, unsigned n_litlen, unsigned n_dist)
{
	const struct code litlen = { .len = len, .n = n_litlen, .entry = litlen_entry,
				     .bad = DEFLATE_BAD, .sub = DEFLATE_SUB, .sub_shift = 20,
				     .bits = LITLEN_BITS };
	const struct code dist = { .len = len + n_litlen, .n = n_dist, .entry = dist_entry,
				   .bad = DEFLATE_DIST_SPECIAL, .sub = DEFLATE_DIST_SPECIAL,
				   .sub_shift = 16, .bits = DIST_BITS, .may_be_empty = true };

	if (len[256] == 0 || !make_table(&litlen, d->litlen) || !make_table(&dist, d->dist))
		return false;
	pack_pairs(d->litlen);
	return true;
}

/* --- headers of blocks -------------------------------------------------------------- */
/* The code lengths of a block: run-length coded, themselves with a code. */
static bool code_lengths(kh_deflate *d, const uint32_t *pre, uint8_t *len, unsigned n)
{
	for (unsigned i = 0; i < n;) {
		const uint32_t e = pre[deflate_peek(d, PRE_BITS)];
		const unsigned s = e >> 8;
		unsigned times;

		d->bit += e & 0xff;
		if (deflate_past_end(d))
			return false;
		if (s < 16) {
			len[i++] = (uint8_t)s;
			continue;
		}
		if (s == 16 && i == 0)
			return false;
		times = s == 16	  ? 3 + deflate_take(d, 2)
			: s == 17 ? 3 + deflate_take(d, 3)
				  : 11 + deflate_take(d, 7);
		if (times > n - i)
			return false;
		memset(len + i, s == 16 ? len[i - 1] : 0, times);
		i += times;
	}
	return true;
}

bool deflate_tables(kh_deflate *d)
{
	static const uint8_t order[N_PRE] = { 16, 17, 18, 0, 8,	 7, 9,	6, 10, 5,
					      11, 4,  12, 3, 13, 2, 14, 1, 15 };
	uint8_t pre_len[N_PRE] = { 0 }, len[N_LITLEN + N_DIST];
	uint32_t pre[1 << PRE_BITS];
	const struct code c = { .len = pre_len, .n = N_PRE, .entry = pre_entry,
				.bits = PRE_BITS, .strict = true };
	const unsigned n_litlen = 257 + deflate_take(d, 5);
	const unsigned n_dist = 1 + deflate_take(d, 5);
	const unsigned n_pre = 4 + deflate_take(d, 4);

	if (n_litlen > 286 || n_dist > 30 || deflate_past_end(d))
		return false;
	for (unsigned i = 0; i < n_pre; i++)
		pre_len[order[i]] = (uint8_t)deflate_take(d, 3);
	return !deflate_past_end(d) && make_table(&c, pre)
	       && code_lengths(d, pre, len, n_litlen + n_dist)
	       && make_tables(d, len, n_litlen, n_dist);
}

bool deflate_fixed_tables(kh_deflate *d)
{
	uint8_t len[N_LITLEN + N_DIST];

	memset(len, 8, 144);
	memset(len + 144, 9, 112);
	memset(len + 256, 7, 24);
	memset(len + 280, 8, 8);
	memset(len + N_LITLEN, 5, N_DIST);
	return make_tables(d, len, N_LITLEN, N_DIST);
}
