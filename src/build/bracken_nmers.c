#include <config.h>
#include "build/bracken_nmers.h"

#include <stdlib.h>
#include "base/mem.h"

int kh_nmers_open(kh_nmers *x, size_t bases, uint32_t shortest, kh_err *err)
{
	const size_t each = (shortest + 31) / 32;

	x->words = bases / 32;
	x->n = x->words / each;
	x->block.bases = kh_array(x->words, sizeof *x->block.bases, err);
	x->block.amb = kh_array(x->words, sizeof *x->block.amb, err);
	x->block.rec = kh_array(x->n, sizeof *x->block.rec, err);
	x->call = kh_array(x->n, sizeof *x->call, err);
	x->of = kh_array(x->n, sizeof *x->of, err);
	x->task = (kh_task) { .job = &x->job, .call = x->call };
	x->job.block[0] = &x->block;
	return x->block.bases && x->block.amb && x->block.rec && x->call && x->of ? KH_OK
										  : KH_ENOMEM;
}

void kh_nmers_close(kh_nmers *x)
{
	free(x->block.bases);
	free(x->block.amb);
	free(x->block.rec);
	free(x->call);
	free(x->of);
}

void kh_nmers_start(kh_nmers *x, unsigned number, uint32_t length)
{
	const size_t most = x->words / ((length + 31) / 32);

	x->number = number;
	x->length = length;
	x->most = most < x->n ? most : x->n;
	x->job.n = x->block.n_rec = x->block.n_words = 0;
}

kh_nmer *kh_nmers_add(kh_nmers *x, const kh_block *b, uint64_t at, uint64_t seq)
{
	const size_t to = x->block.n_words, n = x->job.n, words = (x->length + 31) / 32;
	const unsigned last = x->length & 31;   /* bases in the last word; 0: all */

	assert(n < x->most);
	for (size_t i = 0; i < words; i++) {
		const uint64_t from = at + 32 * i;
		const unsigned of = i + 1 == words && last ? last : 32;
		uint64_t w = b->bases[from >> 5] >> 2 * (from & 31);
		uint32_t a = b->amb[from >> 5] >> (from & 31);

		if ((from & 31) + of > 32) {    /* else the next word may lie behind the last one */
			w |= b->bases[(from >> 5) + 1] << (64 - 2 * (from & 31));
			a |= b->amb[(from >> 5) + 1] << (32 - (from & 31));
		}
		if (of < 32) {
			w &= (UINT64_C(1) << 2 * of) - 1;
			a |= UINT32_MAX << of;
		}
		x->block.bases[to + i] = w;
		x->block.amb[to + i] = a;
	}
	x->block.rec[n] = (kh_record) { .seq = 32 * (uint64_t)to, .len = x->length };
	x->of[n] = (kh_nmer) { seq, 1 };
	x->job.n = x->block.n_rec = n + 1;
	x->block.n_words = to + words;
	return &x->of[n];
}
