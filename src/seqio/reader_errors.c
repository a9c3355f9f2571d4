/* reader_errors.c - error rates of long reads by their qualities */
#include <config.h>
#include "seqio/reader_in.h"

enum { STEP = 16, ZERO = '!', QUALITIES = 94 };

/* 2^24 10^(-quality / 10) */
static uint32_t chance(uint32_t quality)
{
	static const uint32_t of[10] = { 16777216, 13326616, 10585708, 8408526, 6679130,
					 5305422,  4214246,  3347495,  2659010, 2112126 };
	uint32_t x = of[quality % 10];

	for (; quality >= 10; quality -= 10)
		x /= 10;
	return x;
}

static uint32_t errors_of(const uint32_t table[QUALITIES], const uint8_t *c, uint64_t n)
{
	uint64_t sum = 0, many = 0;

	for (uint64_t i = 0; i < n; i += STEP, many++) {
		const uint32_t x = c[i] > ZERO ? (uint32_t)c[i] - ZERO : 0;

		sum += table[x < QUALITIES ? x : QUALITIES - 1];
	}
	return (uint32_t)(sum / many) + 1;
}

void kh_reader_errors(kh_parsed *parsed, size_t first)
{
	uint32_t table[QUALITIES] = { 0 };

	for (size_t i = first; i < parsed->n_rec; i++) {
		kh_record *r = &parsed->rec[i];
		const char *text = parsed->text + r->text;
		uint64_t n = r->text_len;

		if (r->len < KH_LONG_READ)
			continue;
		while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
			n--;
		if (n <= 2 * r->len || text[n - r->len - 1] != '\n')
			continue;
		for (uint32_t q = QUALITIES; table[0] == 0;) {
			q--;
			table[q] = chance(q);
		}
		r->errors = errors_of(table, (const uint8_t *)text + n - r->len, r->len);
		parsed->errors = true;
	}
}
