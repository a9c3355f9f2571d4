/*
 * text.c - the text of the references while they are read, and as a section of the database
 *
 * Words of 16 bases, some for each bin, in chunks that are made when the first worker needs them:
 * bins are numbered when blocks are committed, so nobody knows before how many there will be.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "text/text.h"

enum { CHUNK_BITS = 20, CHUNK = 1 << CHUNK_BITS, CHUNKS = 1 << (36 - CHUNK_BITS) };

typedef _Atomic(uint32_t *) chunk_pointer;

struct text {
	chunk_pointer chunk[CHUNKS];
	_Atomic(uint16_t *) unknown[CHUNKS];    /* where bases are not ACGTU: translated/make.h */
	uint64_t *all;                  /* then, all of it in one piece */
};

int kh_build_text_start(struct build *b, kh_err *err)
{
	if (!b->o->text && !b->o->translated)
		return KH_OK;
	b->text = kh_array(1, sizeof *b->text, err);
	return b->text ? KH_OK : KH_ENOMEM;
}

void kh_build_text_free(struct build *b)
{
	for (unsigned i = 0; b->text && i < CHUNKS; i++) {
		free(atomic_load(&b->text->chunk[i]));
		free(atomic_load(&b->text->unknown[i]));
	}
	if (b->text)
		free(b->text->all);
	free(b->text);
	b->text = NULL;
}

/* The words of a bin begin with this one. */
static uint64_t first_word(const struct build *b, uint64_t bin)
{
	return bin * (b->sampling.stride / KH_TEXT_WORD);
}

/* The chunk of a word.  Of several workers that make it at the same time one is first. */
static uint32_t *chunk_of(struct text *t, uint64_t word, kh_err *err)
{
	chunk_pointer *p = &t->chunk[word >> CHUNK_BITS];
	uint32_t *chunk = atomic_load(p), *mine;

	if (chunk)
		return chunk;
	mine = kh_array(CHUNK, sizeof *mine, err);
	if (!mine || atomic_compare_exchange_strong(p, &chunk, mine))
		return mine;
	free(mine);
	return chunk;
}

/* Notes the unknown ones of the bases of a word. */
static int note_unknown(struct text *t, uint64_t word, uint16_t mask, kh_err *err)
{
	_Atomic(uint16_t *) *p = &t->unknown[word >> CHUNK_BITS];
	uint16_t *chunk = atomic_load(p), *mine;

	if (!chunk) {
		mine = kh_array(CHUNK, sizeof *mine, err);
		if (!mine)
			return KH_ENOMEM;
		if (atomic_compare_exchange_strong(p, &chunk, mine))
			chunk = mine;
		else
			free(mine);
	}
	chunk[word % CHUNK] = mask;
	return KH_OK;
}

/* n bits from bit `at` on. */
static uint16_t mask_bits(const uint32_t *amb, uint64_t at, unsigned n)
{
	const unsigned sh = (unsigned)(at % 32);
	const uint64_t two = amb[at / 32] |
			     (sh + n > 32 ? (uint64_t)amb[at / 32 + 1] << 32 : 0);

	return (uint16_t)(two >> sh & ((UINT32_C(1) << n) - 1));
}

int kh_build_text_add(struct build *b, const kh_block_pieces *s, kh_err *err)
{
	for (size_t i = 0; b->text && i < s->n; i++) {
		const kh_piece *p = &s->piece[i];

		for (uint64_t at = 0; at < p->bases; at += KH_TEXT_WORD) {
			const uint64_t word = first_word(b, p->bin) + at / KH_TEXT_WORD;
			const uint64_t left = p->bases - at;
			const unsigned n = left < KH_TEXT_WORD ? (unsigned)left : KH_TEXT_WORD;
			const uint16_t mask = mask_bits(s->amb, p->at + at, n);
			uint32_t *chunk = chunk_of(b->text, word, err);

			if (!chunk || (mask && b->o->translated &&
				       note_unknown(b->text, word, mask, err)))
				return KH_ENOMEM;
			chunk[word % CHUNK] = (uint32_t)kh_packed_bits(s->bases, p->at + at, n);
		}
	}
	return KH_OK;
}

static int write_zeros(struct build *b, uint64_t n, kh_err *err)
{
	static const uint32_t zero[1024];
	int rc = KH_OK;

	for (uint64_t m; n > 0 && !rc; n -= m) {
		m = n < 1024 ? n : 1024;
		rc = kh_db_append(b->out.w, zero, m * sizeof *zero, err);
	}
	return rc;
}

int kh_build_text_join(struct build *b, const uint32_t **text, kh_err *err)
{
	struct text *t = b->text;
	const uint64_t words = first_word(b, b->all.bins) + KH_TEXT_BEHIND;

	*text = (const void *)t->all;
	if (t->all)
		return KH_OK;
	t->all = kh_array((size_t)words / 2 + 1, sizeof *t->all, err);
	if (!t->all)
		return KH_ENOMEM;
	for (uint64_t at = 0; at < words; at += CHUNK) {
		uint32_t *chunk = atomic_load(&t->chunk[at >> CHUNK_BITS]);
		const uint64_t n = words - at < CHUNK ? words - at : CHUNK;

		if (!chunk)
			continue;
		memcpy(t->all + at / 2, chunk, (size_t)n * sizeof *chunk);
		atomic_store(&t->chunk[at >> CHUNK_BITS], NULL);
		free(chunk);
	}
	*text = (const void *)t->all;
	return KH_OK;
}

const uint16_t *const *kh_build_text_unknown(const struct build *b)
{
	return (const void *)b->text->unknown;
}

static int write_kept(struct build *b, kh_err *err)
{
	const struct taxa *t = &b->taxa;
	const int rc = kh_db_begin(b->out.w, KH_SEC_KEPT, err);

	return rc || t->n_kept == 0
		       ? rc
		       : kh_db_append(b->out.w, t->kept, t->n_kept * sizeof *t->kept, err);
}

int kh_build_text_write(struct build *b, kh_err *err)
{
	const uint32_t *text = b->text ? (const void *)b->text->all : NULL;
	const struct taxa *t = &b->taxa;
	const uint64_t end = first_word(b, b->sum->header.bins) + KH_TEXT_BEHIND;
	uint64_t at = 0;
	int rc;

	if (!b->o->text)
		return KH_OK;
	rc = kh_db_begin(b->out.w, KH_SEC_TEXT, err);
	for (uint32_t i = 0; i < t->n_kept && !rc; i++) {
		const kh_db_kept *k = &t->kept[i];
		const kh_ref *r = &b->refs.ref[t->target[k->target]];
		const uint64_t left = r->bases - k->at * (uint64_t)b->sampling.stride;
		const uint64_t bases = k->bins * (uint64_t)b->sampling.stride;
		const uint64_t n = (left < bases ? left : bases) + KH_TEXT_WORD - 1;

		rc = write_zeros(b, first_word(b, k->first_bin) - at, err);
		at = first_word(b, k->first_bin) + n / KH_TEXT_WORD;
		if (!rc)
			rc = kh_db_append(b->out.w,
					  text + first_word(b, r->first_bin + (uint64_t)k->at),
					  (size_t)(n / KH_TEXT_WORD) * sizeof *text, err);
	}
	if (!rc)
		rc = write_zeros(b, end - at, err);
	return rc ? rc : write_kept(b, err);
}
