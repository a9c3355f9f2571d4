/*
 * text.c - the text of the references while they are read, and as a section of the database
 *
 * Words of 16 bases, some for each bin.  Bins are numbered when blocks are committed, so nobody
 * knows before how many there will be.  Where the sizes of the files tell about how many, words lie
 * in one array from the start, of large pages that no one has touched yet.  Words behind its end
 * are in chunks, each of which is made when the first worker needs it.
 */
#include <config.h>
#include "build/build_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kmer/text.h"

enum { CHUNK_BITS = 20, CHUNK = 1 << CHUNK_BITS };

typedef _Atomic(uint32_t *) chunk_pointer;

struct text {
	size_t n;                       /* chunks of all bins that have numbers */
	chunk_pointer *chunk;
	_Atomic(uint16_t *) *unknown;   /* where bases are not ACGTU: translated/make.h */
	/* the array: `words` words of 32 bits, a multiple of CHUNK, in units of 64 bits as
	 * kh_packed_bits reads them; when all have been read, all words */
	uint64_t *all, words;
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
	kh_pages_free(t->all, (size_t)t->words * 4);
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
	uint32_t *chunk, *mine;

	if (word < t->words)
		return (uint32_t *)t->all + (word >> CHUNK_BITS << CHUNK_BITS);
	chunk = atomic_load(p);
	if (chunk)
		return chunk;
	mine = kh_array(CHUNK, sizeof *mine, err);
	if (!mine || atomic_compare_exchange_strong(p, &chunk, mine))
		return mine;
	free(mine);
	return chunk;
}

/* Puts the text of a database that is added to where it would lie if nothing had been left out. */
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

/* Makes the array, with room for half as many bins again as the files seem to have: gaps are not
 * counted, and pages that are never touched take no memory.  Without it if the system does not give
 * so much. */
static void open_all(struct build *b)
{
	const kh_db *base = b->o->base;
	const uint64_t old = base ? b->refs.next_bin : 0;
	const uint64_t words = first_word(b, old) + b->input.text / KH_TEXT_WORD;
	struct text *t = b->text;

	if (!b->input.known || words >> CHUNK_BITS >= t->n)
		return;
	t->words = (((words + words / 2) >> CHUNK_BITS) + 1) << CHUNK_BITS;
	t->all = kh_pages((size_t)t->words * 4, NULL);
	if (!t->all)
		t->words = 0;
}

int kh_build_text_start(struct build *b, kh_err *err)
{
	const kh_db *base = b->o->base;

	b->text = kh_array(1, sizeof *b->text, err);
	if (!b->text)
		return KH_ENOMEM;
	b->text->n = (size_t)(first_word(b, UINT32_MAX) >> CHUNK_BITS) + 1;
	b->text->chunk = kh_array(b->text->n, sizeof *b->text->chunk, err);
	b->text->unknown = kh_array(b->text->n, sizeof *b->text->unknown, err);
	if (!b->text->chunk || !b->text->unknown)
		return KH_ENOMEM;
	open_all(b);
	return base && !kh_db_is_thin(base->h) ? add_base(b, base, err) : KH_OK;
}

/* Notes which bases of a word are unknown. */
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

/* Notes which bases of n words, from number i of a piece on, are unknown. */
static int note_words(struct build *b, const kh_block_pieces *s, const kh_piece *p, uint64_t i,
		      uint64_t n, kh_err *err)
{
	int rc = KH_OK;

	for (uint64_t end = i + n; i < end && !rc; i++) {
		const uint64_t left = p->bases - i * KH_TEXT_WORD;
		const unsigned m = left < KH_TEXT_WORD ? (unsigned)left : KH_TEXT_WORD;
		const uint16_t mask = mask_bits(s->amb, p->at + i * KH_TEXT_WORD, m);

		if (mask)
			rc = note_unknown(b->text, first_word(b, p->bin) + i, mask, err);
	}
	return rc;
}

/* Adds the words of a piece that lie in one chunk, n of them from number i of the piece on. */
static int add_words(struct build *b, const kh_block_pieces *s, const kh_piece *p, uint64_t i,
		     uint64_t n, kh_err *err)
{
	const uint64_t word = first_word(b, p->bin) + i, at = p->at + i * KH_TEXT_WORD;
	const uint64_t bases = p->bases - i * KH_TEXT_WORD;
	const uint64_t whole = bases / KH_TEXT_WORD < n ? bases / KH_TEXT_WORD : n;
	uint32_t *chunk = chunk_of(b->text, word, err), *to;

	if (!chunk)
		return KH_ENOMEM;
	to = chunk + word % CHUNK;
	for (uint64_t j = 0; j < whole; j++)
		to[j] = (uint32_t)kh_packed_bits(s->bases, at + j * KH_TEXT_WORD, KH_TEXT_WORD);
	if (whole < n)
		to[whole] = (uint32_t)kh_packed_bits(s->bases, at + whole * KH_TEXT_WORD,
						     (unsigned)(bases % KH_TEXT_WORD));
	return b->o->translated ? note_words(b, s, p, i, n, err) : KH_OK;
}

int kh_build_text_add(struct build *b, const kh_block_pieces *s, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; b->text && i < s->n && !rc; i++) {
		const kh_piece *p = &s->piece[i];
		const uint64_t first = first_word(b, p->bin);
		const uint64_t words = (p->bases + KH_TEXT_WORD - 1) / KH_TEXT_WORD;

		for (uint64_t at = 0, n; at < words && !rc; at += n) {
			n = CHUNK - (first + at) % CHUNK;
			n = n < words - at ? n : words - at;
			rc = add_words(b, s, p, at, n, err);
		}
	}
	return rc;
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

struct joining {
	struct text *t;
	uint64_t *all, words;
};

static int join_chunk(void *arg, size_t i, kh_err *err)
{
	const struct joining *j = arg;
	struct text *t = j->t;
	const uint64_t at = (uint64_t)i << CHUNK_BITS, left = j->words - at;
	uint32_t *chunk = atomic_load(&t->chunk[i]);
	const uint32_t *from = at < t->words ? (uint32_t *)t->all + at : chunk;

	(void)err;
	if (from)
		memcpy(j->all + at / 2, from,
		       (size_t)(left < CHUNK ? left : CHUNK) * sizeof *from);
	atomic_store(&t->chunk[i], NULL);
	free(chunk);
	return KH_OK;
}

int kh_build_text_join(struct build *b, const uint32_t **text, kh_err *err)
{
	struct text *t = b->text;
	struct joining j = { .t = t, .words = first_word(b, b->all.bins) + KH_TEXT_BEHIND };
	int rc = KH_OK;

	if (j.words > t->words) {
		j.all = kh_pages((size_t)j.words * 4, err);
		rc = j.all ? kh_each(b->o->threads, (size_t)((j.words + CHUNK - 1) / CHUNK),
				     join_chunk, &j, err)
			   : KH_ENOMEM;
		if (rc)
			return rc;
		kh_pages_free(t->all, (size_t)t->words * 4);
		t->all = j.all;
		t->words = j.words;
	}
	*text = (const void *)t->all;
	return rc;
}

const uint16_t *const *kh_build_text_unknown(const struct build *b)
{
	return (const void *)b->text->unknown;
}

/* --- features of the stretches that are kept ------------------------------------------- */
struct sampler {
	struct build *b;
	uint64_t block, n_blocks;       /* bases of the text that are sampled at a time */
	uint32_t *amb;                  /* zeros: in the text no base is unknown */
	_Atomic uint64_t next;
};

/* The first stretch that ends behind this base. */
static uint32_t first_kept(const struct build *b, uint64_t at)
{
	uint32_t from = 0, to = b->taxa.n_kept;
	uint64_t bases;

	while (from < to) {
		const uint32_t mid = from + (to - from) / 2;

		if (kh_build_kept_at(b, &b->taxa.kept[mid], &bases) + bases > at)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

/* The part of stretch k that lies in the block from `at` on becomes a piece, whose k-mers lie in
 * the stretch. */
static int add_piece(const struct sampler *s, kh_pieces *p, const kh_db_kept *k, uint64_t at,
		     kh_err *err)
{
	const uint32_t stride = s->b->sampling.stride;
	const uint64_t end = at + s->block;
	uint64_t bases;
	const uint64_t begin = kh_build_kept_at(s->b, k, &bases), from = begin > at ? begin : at;
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
		if (kh_build_kept_at(b, &b->taxa.kept[i], &bases) >= at + s->block)
			break;
		rc = add_piece(s, p, &b->taxa.kept[i], at, err);
	}
	const kh_block_pieces block = { number, b->text->all + at / 32, s->amb, p->v, p->n };

	return rc ? rc : kh_build_index_add(s->b, worker, &block, err);
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

/* Does stretch y stand behind x, where that ends its target, as it was read, too?  Then zeros are
 * between them there as well. */
static bool goes_on(const struct build *b, const kh_db_kept *x, const kh_db_kept *y)
{
	uint64_t bases;
	const uint64_t from = kh_build_kept_at(b, x, &bases), to = kh_build_kept_at(b, y, &bases);

	return x->target != y->target &&
	       to - from == (uint64_t)(y->first_bin - x->first_bin) * b->sampling.stride;
}

static int write_text(void *arg, kh_err *err)
{
	struct build *b = arg;
	const uint32_t *text = (const void *)b->text->all;
	const struct taxa *t = &b->taxa;
	const uint64_t end = first_word(b, b->sum->header.bins) + KH_TEXT_BEHIND;
	uint64_t at = 0;
	int rc = kh_db_begin(b->out.w, KH_SEC_TEXT, err);

	for (uint32_t i = 0, j; i < t->n_kept && !rc; i = j) {
		const kh_db_kept *k = &t->kept[i];
		const uint64_t first = first_word(b, k->first_bin);
		uint64_t bases;
		const uint32_t *from = text + kh_build_kept_at(b, k, &bases) / KH_TEXT_WORD;

		for (j = i + 1; j < t->n_kept && goes_on(b, &t->kept[j - 1], &t->kept[j]);)
			j++;
		kh_build_kept_at(b, &t->kept[j - 1], &bases);
		rc = write_zeros(b, first - at, err);
		at = first_word(b, t->kept[j - 1].first_bin) +
		     (bases + KH_TEXT_WORD - 1) / KH_TEXT_WORD;
		if (!rc)
			rc = kh_db_append(b->out.w, from, (size_t)(at - first) * sizeof *from, err);
	}
	if (!rc)
		rc = write_zeros(b, end - at, err);
	return rc ? rc : kh_build_write_alleles(b, err);
}

/* A second thread makes the checksums of the text. */
int kh_build_text_write(struct build *b, kh_err *err)
{
	int rc;

	for (uint32_t i = 0; i < b->taxa.n_kept && b->thin; i++)
		b->taxa.kept[i].alleles = 0;
	if (b->thin)
		return write_kept(b, err);
	if ((rc = kh_build_number_alleles(b, err)))
		return rc;
	rc = kh_db_with_helper(b->out.w, write_text, b, err);
	if (!rc)
		rc = write_kept(b, err);
	return rc ? rc : kh_build_write_strains(b, err);
}
