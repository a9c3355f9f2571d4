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
#include "base/threads.h"
#include "text/text.h"

enum { CHUNK_BITS = 20, CHUNK = 1 << CHUNK_BITS };

typedef _Atomic(uint32_t *) chunk_pointer;

struct text {
	size_t n;                       /* chunks of all bins that have numbers */
	chunk_pointer *chunk;
	_Atomic(uint16_t *) *unknown;   /* where bases are not ACGTU: translated/make.h */
	uint64_t *all;                  /* then, all of it in one piece */
};

void kh_build_text_free(struct build *b)
{
	struct text *t = b->text;

	if (!t)
		return;
	for (size_t i = 0; t->chunk && t->unknown && i < t->n; i++) {
		free(atomic_load(&t->chunk[i]));
		free(atomic_load(&t->unknown[i]));
	}
	free(t->chunk);
	free(t->unknown);
	free(t->all);
	free(t);
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

/* What a database that is added to has kept, where it would lie if nothing had been left out. */
static int add_base(struct build *b, const kh_db *db, kh_err *err)
{
	for (uint32_t i = 0; i < db->n_kept; i++) {
		const kh_db_kept *k = &db->kept[i];
		const uint64_t n = (kh_db_kept_bases(db, k) + KH_TEXT_WORD - 1) / KH_TEXT_WORD;
		const kh_ref *r = &b->refs.ref[k->target];
		const uint64_t to = first_word(b, r->first_bin + (uint64_t)k->at);
		const uint32_t *from = db->text + first_word(b, k->first_bin);

		for (uint64_t j = 0, some; j < n; j += some) {
			uint32_t *chunk = chunk_of(b->text, to + j, err);

			if (!chunk)
				return KH_ENOMEM;
			some = CHUNK - (to + j) % CHUNK;
			some = some < n - j ? some : n - j;
			memcpy(chunk + (to + j) % CHUNK, from + j, (size_t)some * sizeof *from);
		}
	}
	return KH_OK;
}

int kh_build_text_start(struct build *b, kh_err *err)
{
	const kh_db *base = b->o->base;

	if (!b->o->text && !b->o->translated)
		return KH_OK;
	b->text = kh_array(1, sizeof *b->text, err);
	if (!b->text)
		return KH_ENOMEM;
	b->text->n = (size_t)(first_word(b, UINT32_MAX) >> CHUNK_BITS) + 1;
	b->text->chunk = kh_array(b->text->n, sizeof *b->text->chunk, err);
	b->text->unknown = kh_array(b->text->n, sizeof *b->text->unknown, err);
	if (!b->text->chunk || !b->text->unknown)
		return KH_ENOMEM;
	return base && base->text ? add_base(b, base, err) : KH_OK;
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

/* --- the features of what is kept ------------------------------------------------------ */
struct sampler {
	struct build *b;
	uint64_t block, n_blocks;       /* bases of the text that are sampled at a time */
	uint32_t *amb;                  /* zeros: in the text no base is unknown */
	_Atomic uint64_t next;
};

/* Where a stretch that is kept begins in the text as it was read, and how long it is. */
static uint64_t kept_at(const struct build *b, const kh_db_kept *k, uint64_t *bases)
{
	const kh_ref *r = &b->refs.ref[b->taxa.target[k->target]];
	const uint64_t stride = b->sampling.stride, left = r->bases - k->at * stride;

	*bases = left < k->bins * stride ? left : k->bins * stride;
	return (r->first_bin + (uint64_t)k->at) * stride;
}

/* The first stretch that ends behind this base. */
static uint32_t first_kept(const struct build *b, uint64_t at)
{
	uint32_t from = 0, to = b->taxa.n_kept;
	uint64_t bases;

	while (from < to) {
		const uint32_t mid = from + (to - from) / 2;

		if (kept_at(b, &b->taxa.kept[mid], &bases) + bases > at)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

/* What of the stretch k lies in the block from `at` on becomes a piece; its k-mers lie in the
 * stretch. */
static int add_piece(const struct sampler *s, kh_pieces *p, const kh_db_kept *k, uint64_t at,
		     kh_err *err)
{
	const uint32_t stride = s->b->sampling.stride;
	const uint64_t end = at + s->block;
	uint64_t bases;
	const uint64_t begin = kept_at(s->b, k, &bases), from = begin > at ? begin : at;
	const uint64_t starts = begin + kh_sampling_starts(&s->b->sampling, bases);
	const uint32_t bin = (uint32_t)((from - begin) / stride);
	int rc;

	if (starts <= from)
		return KH_OK;
	rc = KH_GROW(p->v, p->cap, p->n + 1, err);
	if (!rc)
		p->v[p->n++] = (kh_piece) { .at = from - at,
					    .starts = (starts < end ? starts : end) - from,
					    .bases = (begin + bases < end ? begin + bases : end) -
						     from,
					    .bin = k->first_bin + bin,
					    .local = k->at + bin,
					    .seq = s->b->taxa.target[k->target] };
	return rc;
}

static int sample_block(const struct sampler *s, unsigned worker, uint64_t number, kh_err *err)
{
	const struct build *b = s->b;
	const uint64_t at = number * s->block;
	kh_pieces *p = &b->in.worker[worker].pieces;
	uint64_t bases;
	int rc = KH_OK;

	p->n = 0;
	for (uint32_t i = first_kept(b, at); i < b->taxa.n_kept && !rc; i++) {
		if (kept_at(b, &b->taxa.kept[i], &bases) >= at + s->block)
			break;
		rc = add_piece(s, p, &b->taxa.kept[i], at, err);
	}
	const kh_block_pieces block = { number, b->text->all + at / 32, s->amb,
					(size_t)(s->block / 32 + 1), p->v, p->n };

	return rc ? rc : b->on.choice.backend->build.add(b->in.builder, worker, &block, err);
}

static int sample_blocks(void *arg, unsigned worker, kh_err *err)
{
	struct sampler *s = arg;
	int rc = KH_OK;

	for (uint64_t i; !rc && (i = s->next++) < s->n_blocks;)
		rc = sample_block(s, worker, i, err);
	return rc;
}

int kh_build_text_sample(struct build *b, kh_err *err)
{
	const uint64_t size = kh_build_block_size(b) / KH_TEXT_SPAN * KH_TEXT_SPAN;
	struct sampler s = { .b = b, .block = size ? size : KH_TEXT_SPAN };
	int rc;

	if (!b->o->text)
		return KH_OK;
	s.n_blocks = (b->all.bins * b->sampling.stride + s.block - 1) / s.block;
	s.amb = kh_array((size_t)(s.block / 32 + 2), sizeof *s.amb, err);
	rc = s.amb ? kh_side_by_side(b->o->threads, sample_blocks, &s, err) : KH_ENOMEM;
	free(s.amb);
	return rc;
}

/* --- the sections ---------------------------------------------------------------------- */
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
		uint64_t bases;
		const uint64_t from = kept_at(b, k, &bases) / KH_TEXT_WORD;
		const uint64_t n = (bases + KH_TEXT_WORD - 1) / KH_TEXT_WORD;

		rc = write_zeros(b, first_word(b, k->first_bin) - at, err);
		at = first_word(b, k->first_bin) + n;
		if (!rc)
			rc = kh_db_append(b->out.w, text + from, (size_t)n * sizeof *text, err);
	}
	if (!rc)
		rc = write_zeros(b, end - at, err);
	return rc ? rc : write_kept(b, err);
}
