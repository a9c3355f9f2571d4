/* make.c - keys and text of each genus: make.h */
#include <config.h>
#include "translated/make_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kmer/text.h"
#include "translated/score.h"

/* --- one genus -------------------------------------------------------------------------- */
/* What a worker makes one genus after the other with. */
struct work {
	const kh_translated_input *in;
	uint32_t k;                     /* of keys */
	const kh_letters_by *by;
	kh_letter_keys keys;
	kh_orfs found;
	uint64_t *bases;                /* of an ORF, in the direction in which it is read */
	size_t cap_bases;
	uint64_t codons;                /* of the genus, */
	kh_key_at *key;                 /* its keys */
	size_t n_keys, cap_keys;
	kh_laid_orf *orf;               /* and its ORFs */
	size_t n_orfs, cap_orfs;
	uint32_t *known;                /* the keys once more: open addressing, 0: free */
	size_t cap_known, mask;
	bool knows_0;
};

enum { AHEAD = 16 };                    /* keys, whose slots the memory is asked for */

static size_t first_slot(const struct work *w, uint64_t key)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & w->mask;
}

static size_t slot_of(const struct work *w, uint32_t key)
{
	size_t i = first_slot(w, key);

	while (w->known[i] != 0 && w->known[i] != key)
		i = (i + 1) & w->mask;
	return i;
}

static bool knows(const struct work *w, uint32_t key)
{
	return key == 0 ? w->knows_0 : w->known[slot_of(w, key)] == key;
}

/* Learns the keys from number i to end - 1. */
static void learn(struct work *w, size_t i, size_t end)
{
	for (; i < end; i++) {
		const uint32_t key = (uint32_t)(w->key[i] >> 32);

		if (i + AHEAD < end)
			__builtin_prefetch(&w->known[first_slot(w, w->key[i + AHEAD] >> 32)]);
		w->known[slot_of(w, key)] = key;
		w->knows_0 |= key == 0;
	}
}

/* Makes room for so many keys; the first n of the genus are known. */
static int make_known(struct work *w, uint64_t keys, size_t n, kh_err *err)
{
	size_t size = 1 << 12;

	while (size <= 2 * keys)
		size *= 2;
	if (size > w->cap_known) {
		free(w->known);
		w->known = kh_array_large(size, sizeof *w->known, err);
		w->cap_known = w->known ? size : 0;
		if (!w->known)
			return KH_ENOMEM;
	}
	memset(w->known, 0, size * sizeof *w->known);
	w->mask = size - 1;
	w->knows_0 = false;
	learn(w, 0, n);
	return KH_OK;
}

/* The bases of an ORF as they are read; behind the last one and in the word behind it, zeros. */
static int take_bases(struct work *w, const kh_laid_orf *s, uint32_t codons, kh_err *err)
{
	const uint64_t n = 3 * (uint64_t)codons;
	const size_t words = (size_t)n / 32 + 2;
	int rc = KH_GROW(w->bases, w->cap_bases, words, err);

	if (rc)
		return rc;
	memset(w->bases, 0, words * sizeof *w->bases);
	kh_read_bases(w->in->text, s->place, n, w->bases, 0);
	return KH_OK;
}

/* Has a key enough different letters? */
static bool has_letters(const uint8_t *letter, uint32_t k)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < k; i++)
		seen |= UINT64_C(1) << 2 * letter[i];
	return kh_text_count(seen) >= KH_KEY_LETTERS;
}

/* Adds the key at one of the letters of an ORF, of which the first is number `at`. */
static void add_key(struct work *w, const uint8_t *letter, uint32_t i, uint32_t at)
{
	if (has_letters(letter + i, w->k))
		w->key[w->n_keys++] = (uint64_t)kh_letters_key(&w->keys, w->k, 1, i) << 32 |
				      (uint32_t)(w->codons + at + i);
}

/* Adds the keys of the ORF, as if it were behind all that are kept. */
static int add_keys(struct work *w, uint32_t codons, kh_err *err)
{
	uint8_t letter[KH_LETTERS_ROOM] = { 0 };
	int rc = KH_OK;

	for (uint32_t at = 0; at + w->k <= codons && !rc; at += KH_LETTERS_MOST - w->k + 1) {
		const uint32_t left = codons - at;
		const uint32_t n = left < KH_LETTERS_MOST ? left : KH_LETTERS_MOST;

		kh_letters(w->bases, 3 * (uint64_t)at, n, letter);
		w->by->sample(&w->keys, w->k, 1, letter, n - w->k + 1);
		rc = KH_GROW(w->key, w->cap_keys, w->n_keys + n, err);
		for (uint32_t j = 0; 64 * j < n - w->k + 1 && !rc; j++)
			for (uint64_t x = w->keys.kept[j]; x; x &= x - 1)
				add_key(w, letter, 64 * j + (uint32_t)__builtin_ctzll(x), at);
	}
	return rc;
}

/* Are half of the keys from number `first` on known, or are there none? */
static bool is_known(const struct work *w, size_t first)
{
	size_t n = 0;

	for (size_t i = first; i < w->n_keys; i++)
		__builtin_prefetch(&w->known[first_slot(w, w->key[i] >> 32)]);
	for (size_t i = first; i < w->n_keys; i++)
		n += knows(w, (uint32_t)(w->key[i] >> 32));
	return 2 * n >= w->n_keys - first;
}

static int add_orf(struct work *w, uint32_t target, const kh_orf *c, kh_err *err)
{
	const uint64_t at = w->in->target[target].at + c->at;
	const uint64_t last = at + 3 * (uint64_t)c->codons - 1;
	const kh_laid_orf s = { (uint32_t)w->codons, target,
				c->strand ? 2 * last + 1 : 2 * at };
	const size_t first = w->n_keys;
	int rc = take_bases(w, &s, c->codons, err);

	if (!rc)
		rc = add_keys(w, c->codons, err);
	if (!rc && 2 * w->n_keys > w->mask)
		rc = make_known(w, 2 * (uint64_t)w->n_keys, first, err);
	if (!rc && is_known(w, first)) {
		w->n_keys = first;
		return KH_OK;
	}
	if (!rc)
		rc = KH_GROW(w->orf, w->cap_orfs, w->n_orfs + 2, err);
	if (rc)
		return rc;
	learn(w, first, w->n_keys);
	w->orf[w->n_orfs++] = s;
	w->codons += c->codons;
	return KH_OK;
}

/* Gives a genus what was made of it. */
static int end_genus(struct work *w, kh_genus_made *g, kh_err *err)
{
	if (w->n_orfs == 0)
		return KH_OK;
	w->orf[w->n_orfs++] = (kh_laid_orf) { (uint32_t)w->codons, KH_NO_TARGET, 0 };
	g->codons = w->codons;
	g->key = kh_array_large(w->n_keys, sizeof *g->key, err);
	g->orf = kh_array(w->n_orfs, sizeof *g->orf, err);
	if (!g->key || !g->orf)
		return KH_ENOMEM;
	memcpy(g->key, w->key, w->n_keys * sizeof *g->key);
	memcpy(g->orf, w->orf, w->n_orfs * sizeof *g->orf);
	g->n_keys = w->n_keys;
	g->n_orfs = w->n_orfs;
	for (size_t i = 0; i < g->n_keys; i++)
		g->at[kh_translated_range(g->key[i])]++;
	return KH_OK;
}

/* One base in about KEY_BASES begins a key; if more do, or genera are larger, room for keys
 * grows. */
enum { KEY_BASES = 32, KEYS_FIRST = 1 << 21 };

static int make_genus(struct work *w, kh_genus_made *g, kh_err *err)
{
	uint64_t bases = 0;
	int rc;

	for (size_t j = g->first; j < g->first + g->n; j++)
		bases += w->in->target[j].bases;
	w->codons = w->n_keys = w->n_orfs = 0;
	rc = make_known(w, bases / KEY_BASES < KEYS_FIRST ? bases / KEY_BASES : KEYS_FIRST, 0, err);
	for (size_t j = g->first; j < g->first + g->n && !rc; j++) {
		rc = kh_orfs_find(&w->found, w->in, &w->in->target[j], err);
		for (size_t k = 0; k < w->found.n && !rc; k++)
			rc = add_orf(w, (uint32_t)j, &w->found.v[k], err);
	}
	return rc ? rc : end_genus(w, g, err);
}

struct genera {
	kh_translated_made *m;
	_Atomic size_t next;
};

static int make_genera(void *arg, unsigned worker, kh_err *err)
{
	struct genera *all = arg;
	kh_translated_made *m = all->m;
	struct work w = { .in = m->in, .k = m->head.k, .by = kh_letters_best() };
	int rc = KH_OK;

	(void)worker;
	for (size_t i; !rc && (i = all->next++) < m->head.genera;)
		rc = make_genus(&w, &m->made[i], err);
	free(w.found.v);
	free(w.found.covered);
	free(w.bases);
	free(w.key);
	free(w.orf);
	free(w.known);
	return rc;
}

/* --- all of them ------------------------------------------------------------------------ */
static int find_genera(kh_translated_made *m, const kh_translated_input *in, kh_err *err)
{
	uint32_t n = 0;

	m->genus = kh_array(in->n_targets, sizeof *m->genus, err);
	m->made = kh_array(in->n_targets, sizeof *m->made, err);
	if (!m->genus || !m->made)
		return KH_ENOMEM;
	for (size_t i = 0; i < in->n_targets; i++) {
		if (i == 0 || in->target[i].genus != in->target[i - 1].genus) {
			m->genus[n].taxon = in->target[i].genus;
			m->genus[n].called = in->target[i].called;
			m->made[n].family = in->target[i].family;
			m->made[n++].first = i;
		}
		m->made[n - 1].n++;
	}
	m->head.genera = n;
	return KH_OK;
}

static void genus_clear(kh_genus_made *g)
{
	free(g->key);
	free(g->orf);
	g->key = NULL;
	g->orf = NULL;
}

static uint64_t up_to_next_genus(uint64_t codons)
{
	return (codons + KH_GENUS_CODONS - 1) / KH_GENUS_CODONS * KH_GENUS_CODONS;
}

/* Forgets genera of which nothing is kept, and numbers the codons and ORFs of the others. */
static int number_codons(kh_translated_made *m, kh_err *err)
{
	uint64_t codons = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->head.genera; i++) {
		kh_genus_made *g = &m->made[i];

		if (g->codons == 0)
			continue;
		m->genus[n] = (kh_translated_genus) {
			.taxon = m->genus[i].taxon, .first = (uint32_t)codons,
			.threshold = KH_TRANSLATED_LEAST, .called = m->genus[i].called
		};
		g->first_orf = m->n_orfs;
		m->n_orfs += g->n_orfs;
		codons += up_to_next_genus(g->codons);
		if (n < i) {
			m->made[n] = *g;
			*g = (kh_genus_made) { .key = NULL };
		}
		n++;
		if (codons > UINT32_MAX)
			return kh_fail(err, KH_EUSAGE, "--translated: the references have more "
				       "than 2^32 codons");
	}
	m->head.genera = n;
	m->codons = codons;
	return KH_OK;
}

/* A range has the keys of all genera, one after the other. */
static size_t find_ranges(kh_translated_made *m)
{
	size_t at = 0;

	for (uint32_t r = 0; r < KH_TRANSLATED_RANGES; r++) {
		m->range[r].begin = at;
		for (uint32_t i = 0; i < m->head.genera; i++) {
			const size_t n = m->made[i].at[r];

			m->made[i].at[r] = at;
			at += n;
		}
		m->range[r].end = at;
	}
	return at;
}

/* Fills the steps of codons that begin in a genus. */
static void find_steps(kh_translated_made *m, uint32_t genus)
{
	const kh_genus_made *g = &m->made[genus];
	const kh_laid_orf *s = m->orf + g->first_orf, *last = s + g->n_orfs - 1;
	const uint64_t first = m->genus[genus].first;
	const uint64_t end = first + up_to_next_genus(g->codons);

	for (uint64_t i = (first + KH_CODON_STEP - 1) / KH_CODON_STEP; i * KH_CODON_STEP < end;
	     i++) {
		while (s < last && s[1].codon <= i * KH_CODON_STEP)
			s++;
		m->step[i].genus = genus;
		m->step[i].orf = (uint32_t)(s - m->orf);
	}
}

static int join_genus(void *arg, size_t i, kh_err *err)
{
	kh_translated_made *m = arg;
	kh_genus_made *g = &m->made[i];
	const uint32_t first = m->genus[i].first;

	(void)err;
	for (size_t j = 0; j < g->n_keys; j++)
		m->key[g->at[kh_translated_range(g->key[j])]++] = g->key[j] + first;
	for (size_t j = 0; j < g->n_orfs; j++) {
		m->orf[g->first_orf + j] = g->orf[j];
		m->orf[g->first_orf + j].codon += first;
	}
	find_steps(m, (uint32_t)i);
	genus_clear(g);
	return KH_OK;
}

/* Puts keys, by range, and ORFs of all genera together. */
static int join(kh_translated_made *m, kh_err *err)
{
	m->key = kh_array_large(find_ranges(m), sizeof *m->key, err);
	m->orf = kh_array_large(m->n_orfs, sizeof *m->orf, err);
	m->step = kh_array_large((size_t)(m->codons / KH_CODON_STEP) + 1, sizeof *m->step, err);
	if (!m->key || !m->orf || !m->step)
		return KH_ENOMEM;
	return kh_each(m->in->threads, m->head.genera, join_genus, m, err);
}

static int make(kh_translated_made *m, kh_err *err)
{
	struct genera all = { m, 0 };
	const unsigned threads = m->in->threads;
	int rc;

	if ((rc = find_genera(m, m->in, err)) ||
	    (rc = kh_side_by_side(threads, make_genera, &all, err)) ||
	    (rc = number_codons(m, err)) || (rc = join(m, err)) ||
	    (rc = kh_each(threads, KH_TRANSLATED_RANGES, kh_table_range, m, err)) ||
	    (rc = kh_thresholds_make(m, err)))
		return rc;
	return kh_table_make(m, err);
}

int kh_translated_make(kh_translated_made **out, const kh_translated_input *in, kh_err *err)
{
	kh_translated_made *m = kh_array(1, sizeof *m, err);
	uint64_t bases = 0;
	int rc;

	if (!m)
		return KH_ENOMEM;
	for (size_t i = 0; i < in->n_targets; i++)
		bases += in->target[i].bases;
	m->in = in;
	m->head.k = kh_key_len(bases);
	rc = make(m, err);
	if (rc)
		kh_translated_made_free(m);
	else
		*out = m;
	return rc;
}

void kh_translated_made_free(kh_translated_made *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->made && i < m->head.genera; i++)
		genus_clear(&m->made[i]);
	for (uint32_t r = 0; r < KH_TRANSLATED_RANGES; r++)
		free(m->range[r].shared);
	free(m->made);
	free(m->genus);
	free(m->line);
	free(m->place);
	free(m->key);
	free(m->orf);
	free(m->step);
	free(m);
}
