/* answers_write.c - a file of candidates is written: answers.h */
#include <config.h>
#include "run/answers.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"
#include "io/writer.h"

/* --- fragments ---------------------------------------------------------------------------- */
static uint64_t add_record(uint64_t hash, const kh_block *b, const kh_record *r)
{
	const uint64_t words = r->len / 32, rest = r->len % 32, at = r->seq / 32;
	const uint64_t low = (UINT64_C(1) << 2 * rest) - 1;

	hash = XXH3_64bits_withSeed(b->text + r->name, r->id_len, hash + r->len);
	hash = XXH3_64bits_withSeed(b->bases + at, words * sizeof *b->bases, hash);
	hash = XXH3_64bits_withSeed(b->amb + at, words * sizeof *b->amb, hash);
	if (rest == 0)
		return hash;
	hash = kh_fmix64(hash ^ (b->bases[at + words] & low));
	return kh_fmix64(hash + (b->amb[at + words] & ((UINT32_C(1) << rest) - 1)));
}

uint64_t kh_answers_hash(const kh_job *job, size_t i)
{
	const kh_block *b[2];
	const kh_record *r[2];
	uint64_t hash;

	kh_job_records(job, i, b, r);
	hash = add_record(0, b[0], r[0]);
	if (r[1])
		hash = add_record(hash + 1, b[1], r[1]);
	return kh_fmix64(hash ^ kh_fmix64(job->first + i + 1));
}

/* --- records ------------------------------------------------------------------------------- */
struct kh_answers_out {
	uint32_t want;
	/* of the block: its fragments, and what they are recognized by */
	kh_answer v[KH_ANSWERS_BLOCK];
	kh_candidates candidates[KH_ANSWERS_BLOCK];
	kh_second second[KH_ANSWERS_BLOCK];
	uint8_t check[KH_ANSWERS_BLOCK / KH_ANSWERS_GROUP];
	size_t n;
	uint64_t fragments;
	uint32_t *size;                 /* of each block */
	size_t n_blocks, cap;
	kh_bgzf *z;
	XXH3_state_t *sum;
	kh_buf out;
};

static unsigned char *put(unsigned char *at, uint32_t x)
{
	for (; x > 0x7f; x >>= 7)
		*at++ = (unsigned char)(x | 0x80);
	*at++ = (unsigned char)x;
	return at;
}

static unsigned char *put_second(unsigned char *at, const kh_second *x)
{
	at = put(at, x->taxon + 1);
	return x->taxon != KH_NO_TAXON ? put(at, x->hits) : at;
}

static unsigned char *put_candidates(unsigned char *at, const kh_candidates *c)
{
	uint32_t before = 0, n = 0, mates;

	while (n < KH_CANDIDATES && c->species[n] != KH_NO_TAXON)
		n++;
	mates = kh_mates_fit(c->species, c->drop);
	*at++ = (unsigned char)(mates > 0 ? KH_ANSWERS_MATES + mates : n);
	if (n > 0)
		at = put(at, c->bin + 1);
	for (uint32_t i = 0; i < n; i++) {
		at = put(at, c->species[i] - before);
		*at++ = c->drop[i];
		before = c->species[i];
	}
	return at;
}

static uint32_t column_of(const kh_answer *a, int column)
{
	const uint32_t x[KH_ANSWERS_COLUMNS] = { a->score, a->call.taxon + 1, a->call.hits,
						 a->level, a->bound[0], a->bound[1],
						 a->need[0], a->need[1] };

	return x[column];
}

/* The columns of n fragments, and what is wanted beside their calls. */
static unsigned char *put_columns(unsigned char *at, const kh_answers_out *w)
{
	const kh_answer *v = w->v;
	const size_t n = w->n;
	uint16_t placed[KH_ANSWERS_BLOCK];
	size_t n_placed = 0;

	for (size_t i = 0; i < n; i++) {
		*at++ = v[i].bits;
		placed[n_placed] = (uint16_t)i;
		n_placed += (v[i].bits & KH_ANSWER_PLACED) != 0;
	}
	for (size_t i = 0; i < n; i++)
		at = put(at, v[i].call.kmers);
	for (int mate = 0; mate < 2; mate++)
		for (size_t i = 0; i < n; i++)
			if (v[i].bits & KH_ANSWER_ANY)
				*at++ = v[i].load[mate];
	for (int c = 0; c < KH_ANSWERS_COLUMNS; c++)
		for (size_t i = 0; i < n_placed; i++)
			at = put(at, column_of(&v[placed[i]], c));
	for (size_t i = 0; i < n_placed && w->want == KH_WANT_CANDIDATES; i++)
		at = put_candidates(at, &w->candidates[placed[i]]);
	for (size_t i = 0; i < n_placed && w->want == KH_WANT_SECOND; i++)
		at = put_second(at, &w->second[placed[i]]);
	return at;
}

/* --- the file ------------------------------------------------------------------------------ */
static void give_out(kh_answers_out *w, const void *p, size_t n)
{
	XXH3_64bits_update(w->sum, p, n);
	kh_buf_add(&w->out, p, n);
}

int kh_answers_out_new(kh_answers_out **out, const kh_db *db, uint32_t want, kh_err *err)
{
	kh_answers_out *w = kh_array(1, sizeof *w, err);
	kh_answers_head h = { .magic = "KHcands1", .tool = PACKAGE_STRING, .db = db->h->self,
			      .want = want, .n_taxa = db->h->n_taxa };
	int rc = w ? kh_bgzf_new(&w->z, err) : KH_ENOMEM;

	*out = w;
	if (rc)
		return rc;
	w->want = want;
	if (!(w->sum = XXH3_createState()))
		return kh_fail_nomem(err);
	XXH3_64bits_reset(w->sum);
	h.sum = XXH3_64bits(&h, offsetof(kh_answers_head, sum));
	give_out(w, &h, sizeof h);
	return KH_OK;
}

void kh_answers_out_free(kh_answers_out *w)
{
	if (!w)
		return;
	kh_bgzf_free(w->z);
	XXH3_freeState(w->sum);
	free(w->size);
	free(w->out.p);
	free(w);
}

uint32_t kh_answers_out_want(const kh_answers_out *w)
{
	return w->want;
}

static int end_block(kh_answers_out *w, kh_err *err)
{
	const size_t groups = (w->n + KH_ANSWERS_GROUP - 1) / KH_ANSWERS_GROUP;
	unsigned char text[KH_BGZF_UNIT], block[KH_BGZF_MAX], *end;
	int rc = KH_GROW(w->size, w->cap, w->n_blocks + 1, err);

	if (rc)
		return rc;
	end = put_columns(text, w);
	memcpy(end, w->check, groups);
	memset(w->check, 0, groups);
	w->size[w->n_blocks] =
		(uint32_t)kh_bgzf_pack(w->z, text, (size_t)(end - text) + groups, block);
	give_out(w, block, w->size[w->n_blocks++]);
	w->n = 0;
	return KH_OK;
}

int kh_answers_out_add(kh_answers_out *w, const kh_answer *a, const kh_beside *beside,
		       const uint64_t *hash, size_t n, const kh_buf **b, kh_err *err)
{
	int rc = KH_OK;

	/* the head is still in there */
	w->out.n = w->fragments > 0 ? 0 : w->out.n;
	for (size_t i = 0; i < n && !rc; i++) {
		w->v[w->n] = a[i];
		if (beside->candidates)
			w->candidates[w->n] = beside->candidates[i];
		if (beside->second)
			w->second[w->n] = beside->second[i];
		w->check[w->n / KH_ANSWERS_GROUP] ^= (uint8_t)(hash[i] >> 56);
		w->fragments++;
		if (++w->n == KH_ANSWERS_BLOCK)
			rc = end_block(w, err);
	}
	*b = &w->out;
	return rc ? rc : kh_buf_check(&w->out, err);
}

int kh_answers_out_end(kh_answers_out *w, uint64_t reads, const kh_buf **b, kh_err *err)
{
	kh_answers_tail t = { .fragments = w->fragments, .reads = reads, .magic = "KHcandsE" };
	int rc = KH_OK;

	w->out.n = w->fragments > 0 ? 0 : w->out.n;
	if (w->n > 0)
		rc = end_block(w, err);
	give_out(w, w->size, w->n_blocks * sizeof *w->size);
	XXH3_64bits_update(w->sum, &t, offsetof(kh_answers_tail, sum));
	t.sum = XXH3_64bits_digest(w->sum);
	kh_buf_add(&w->out, &t, sizeof t);
	*b = &w->out;
	return rc ? rc : kh_buf_check(&w->out, err);
}
