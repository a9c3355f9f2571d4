/* make.c - keys and text of each genus: make.h */
#include <config.h>
#include "translated/make_in.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kmer/kmer.h"
#include "text/fit.h"
#include "translated/score.h"

/* --- one genus -------------------------------------------------------------------------- */
/* What a genus is made with. */
struct work {
	const kh_translated_input *in;
	uint32_t k;                     /* of keys */
	const kh_letters_by *by;
	kh_letter_keys keys;
	kh_genus_made *to;
	kh_codings codings;
	uint64_t *bases;                /* of a stretch, in the direction in which it is read */
	size_t cap_bases;
	uint32_t *known;                /* keys of the genus: open addressing, 0: free */
	size_t n_known, mask;
	bool knows_0;
};

static size_t slot_of(const struct work *w, uint32_t key)
{
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & w->mask;

	while (w->known[i] != 0 && w->known[i] != key)
		i = (i + 1) & w->mask;
	return i;
}

static bool knows(const struct work *w, uint32_t key)
{
	return key == 0 ? w->knows_0 : w->known[slot_of(w, key)] == key;
}

static int grow_known(struct work *w, kh_err *err)
{
	uint32_t *old = w->known;
	const size_t n = old ? w->mask + 1 : 0;

	w->known = kh_array(n ? 2 * n : 1 << 12, sizeof *w->known, err);
	if (!w->known) {
		w->known = old;
		return KH_ENOMEM;
	}
	w->mask = (n ? 2 * n : 1 << 12) - 1;
	for (size_t i = 0; i < n; i++)
		if (old[i])
			w->known[slot_of(w, old[i])] = old[i];
	free(old);
	return KH_OK;
}

static int learn(struct work *w, uint32_t key, kh_err *err)
{
	const int rc = 2 * w->n_known >= w->mask ? grow_known(w, err) : KH_OK;
	size_t i;

	if (rc || key == 0) {
		w->knows_0 |= key == 0;
		return rc;
	}
	i = slot_of(w, key);
	w->n_known += w->known[i] == 0;
	w->known[i] = key;
	return KH_OK;
}

/* The bases of a stretch as they are read; behind the last one and in the word behind it, zeros. */
static int take_bases(struct work *w, const kh_translated_target *t, const kh_coding *c,
		      kh_err *err)
{
	const uint64_t n = 3 * (uint64_t)c->codons, from = t->at + c->at;
	int rc = kh_grow((void **)&w->bases, &w->cap_bases, (size_t)n / 32 + 3, sizeof *w->bases,
			 err);

	for (uint64_t i = 0; i < n && !rc; i += 32) {
		const uint32_t m = n - i < 32 ? (uint32_t)(n - i) : 32;
		const uint64_t first = c->strand ? from + n - i - m : from + i;
		const uint64_t x = kh_text_bases(w->in->text, first) & kh_text_first(m);

		w->bases[i / 32] = c->strand ? kh_kmer_rc(x, m) : x;
	}
	if (!rc)
		w->bases[(n + 31) / 32] = 0;
	return rc;
}

/* Has a key enough different letters? */
static bool has_letters(const uint8_t *letter, uint32_t k)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < k; i++)
		seen |= UINT64_C(1) << 2 * letter[i];
	return kh_text_count(seen) >= KH_KEY_LETTERS;
}

/* Adds the keys of the stretch, as if it were behind all that are kept. */
static int add_keys(struct work *w, uint32_t codons, kh_err *err)
{
	kh_genus_made *g = w->to;
	uint8_t letter[KH_LETTERS_ROOM] = { 0 };
	int rc = KH_OK;

	for (uint32_t at = 0; at + w->k <= codons && !rc; at += KH_LETTERS_MOST - w->k + 1) {
		const uint32_t left = codons - at;
		const uint32_t n = left < KH_LETTERS_MOST ? left : KH_LETTERS_MOST;

		kh_letters(w->bases, 3 * (uint64_t)at, n, letter);
		w->by->sample(&w->keys, w->k, 1, letter, n - w->k + 1);
		rc = kh_grow((void **)&g->key, &g->cap_keys, g->n_keys + n, sizeof *g->key, err);
		for (uint32_t i = 0; i + w->k <= n && !rc; i++)
			if (w->keys.kept[i / 64] >> i % 64 & 1 && has_letters(letter + i, w->k))
				g->key[g->n_keys++] =
					(uint64_t)kh_letters_key(&w->keys, w->k, 1, i) << 32 |
					(uint32_t)(g->codons + at + i);
	}
	return rc;
}

/* Are half of the keys from number `first` on known, or are there none? */
static bool is_known(const struct work *w, size_t first)
{
	const kh_genus_made *g = w->to;
	size_t n = 0;

	for (size_t i = first; i < g->n_keys && w->known; i++)
		n += knows(w, (uint32_t)(g->key[i] >> 32));
	return 2 * n >= g->n_keys - first;
}

static int add_text(struct work *w, uint32_t codons, kh_err *err)
{
	kh_genus_made *g = w->to;
	const uint64_t words = (3 * (uint64_t)codons + 31) / 32, at = 3 * g->codons;
	const size_t old = g->cap_text, need = (size_t)(at / 32 + words + 2);
	const unsigned sh = 2 * (unsigned)(at % 32);
	int rc = kh_grow((void **)&g->text, &g->cap_text, need, sizeof *g->text, err);

	if (rc)
		return rc;
	memset(g->text + old, 0, (g->cap_text - old) * sizeof *g->text);
	for (uint64_t i = 0; i < words; i++) {
		g->text[at / 32 + i] |= w->bases[i] << sh;
		if (sh)
			g->text[at / 32 + i + 1] |= w->bases[i] >> (64 - sh);
	}
	return KH_OK;
}

/* Notes where a stretch is in the text of the database. */
static int add_place(struct work *w, const kh_translated_target *t, const kh_coding *c, kh_err *err)
{
	kh_genus_made *g = w->to;
	const uint64_t first = t->db_at + c->at, last = first + 3 * (uint64_t)c->codons - 1;
	int rc = kh_grow((void **)&g->stretch, &g->cap_stretches, g->n_stretches + 1,
			 sizeof *g->stretch, err);

	if (!rc)
		g->stretch[g->n_stretches++] = (kh_laid_stretch) {
			g->codons, c->strand ? 2 * last + 1 : 2 * first
		};
	return rc;
}

static int add_stretch(struct work *w, const kh_translated_target *t, const kh_coding *c,
		       kh_err *err)
{
	kh_genus_made *g = w->to;
	const size_t first = g->n_keys;
	int rc = take_bases(w, t, c, err);

	if (!rc)
		rc = add_keys(w, c->codons, err);
	if (rc)
		return rc;
	if (is_known(w, first)) {
		g->n_keys = first;
		return KH_OK;
	}
	for (size_t i = first; i < g->n_keys && !rc; i++)
		rc = learn(w, (uint32_t)(g->key[i] >> 32), err);
	if (!rc && w->in->db_bases > 0)
		rc = add_place(w, t, c, err);
	if (!rc)
		rc = add_text(w, c->codons, err);
	g->codons += c->codons;
	return rc;
}

struct genera {
	const kh_translated_input *in;
	kh_translated_made *m;
};

static int make_genus(void *arg, size_t i, kh_err *err)
{
	struct genera *all = arg;
	kh_genus_made *g = &all->m->made[i];
	struct work w = { .in = all->in, .to = g, .k = all->m->head.k,
			  .by = kh_letters_best() };
	int rc = KH_OK;

	for (size_t j = g->first; j < g->first + g->n && !rc; j++) {
		const kh_translated_target *t = &all->in->target[j];

		rc = kh_codings_find(&w.codings, all->in, t, err);
		for (size_t k = 0; k < w.codings.n && !rc; k++)
			rc = add_stretch(&w, t, &w.codings.v[k], err);
	}
	free(w.codings.v);
	free(w.codings.covered);
	free(w.bases);
	free(w.known);
	return rc;
}

/* --- threads ---------------------------------------------------------------------------- */
struct each {
	kh_each_fn *fn;
	void *arg;
	size_t n;
	_Atomic size_t next;
};

static int each_worker(void *arg, unsigned worker, kh_err *err)
{
	struct each *e = arg;
	int rc = KH_OK;

	(void)worker;
	for (size_t i; !rc && (i = e->next++) < e->n;)
		rc = e->fn(e->arg, i, err);
	return rc;
}

int kh_translated_each(size_t n, unsigned threads, kh_each_fn *fn, void *arg, kh_err *err)
{
	struct each e = { fn, arg, n, 0 };

	return kh_side_by_side(threads, each_worker, &e, err);
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
	free(g->text);
	free(g->stretch);
	*g = (kh_genus_made) { .key = NULL };
}

/* Forgets genera of which nothing is kept, and numbers the codons of the others. */
static int number_codons(kh_translated_made *m, kh_err *err)
{
	uint64_t codons = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->head.genera; i++) {
		kh_genus_made *g = &m->made[i];

		if (g->codons == 0) {
			genus_clear(g);
			continue;
		}
		m->genus[n] = (kh_translated_genus) {
			.taxon = m->genus[i].taxon, .first = (uint32_t)codons,
			.threshold = KH_TRANSLATED_LEAST, .called = m->genus[i].called
		};
		if (n < i) {
			m->made[n] = *g;
			*g = (kh_genus_made) { .key = NULL };
		}
		codons += (m->made[n++].codons + KH_GENUS_CODONS - 1) / KH_GENUS_CODONS *
			  KH_GENUS_CODONS;
		if (codons > UINT32_MAX)
			return kh_fail(err, KH_EUSAGE, "--translated: the references have more "
				       "than 2^32 codons");
	}
	m->head.genera = n;
	m->codons = codons;
	return KH_OK;
}

static int join_rooms(kh_translated_made *m, kh_err *err)
{
	const size_t words = (size_t)kh_translated_text_bytes(m->codons) / 8 + 1;
	size_t stretches = 0;

	for (uint32_t i = 0; i < m->head.genera; i++) {
		m->n_keys += m->made[i].n_keys;
		stretches += m->made[i].n_stretches;
	}
	m->key = kh_array_large(m->n_keys, sizeof *m->key, err);
	m->text = kh_array(words, sizeof *m->text, err);
	m->stretch = kh_array(stretches, sizeof *m->stretch, err);
	return m->key && m->text && m->stretch ? KH_OK : KH_ENOMEM;
}

/* Keys, text and stretches of all genera while they are put together. */
struct joining {
	kh_translated_made *m;
	/* of each genus and range: its keys, then where the next one of them goes */
	size_t (*at)[KH_TRANSLATED_RANGES];
};

static int count_keys(void *arg, size_t i, kh_err *err)
{
	const struct joining *w = arg;
	const kh_genus_made *g = &w->m->made[i];

	(void)err;
	for (size_t j = 0; j < g->n_keys; j++)
		w->at[i][kh_translated_range(g->key[j])]++;
	return KH_OK;
}

/* A range has the keys of all genera, one after the other. */
static void find_ranges(const struct joining *w)
{
	kh_translated_made *m = w->m;
	size_t at = 0;

	for (uint32_t r = 0; r < KH_TRANSLATED_RANGES; r++) {
		m->range[r] = at;
		for (uint32_t i = 0; i < m->head.genera; i++) {
			const size_t n = w->at[i][r];

			w->at[i][r] = at;
			at += n;
		}
	}
	m->range[KH_TRANSLATED_RANGES] = at;
}

static int join_genus(void *arg, size_t i, kh_err *err)
{
	const struct joining *w = arg;
	kh_translated_made *m = w->m;
	kh_genus_made *g = &m->made[i];
	const uint64_t first = m->genus[i].first;

	(void)err;
	for (size_t j = 0; j < g->n_keys; j++)
		m->key[w->at[i][kh_translated_range(g->key[j])]++] = g->key[j] + first;
	memcpy(m->text + 3 * first / 32, g->text,
	       (size_t)((3 * g->codons + 31) / 32) * sizeof *g->text);
	return KH_OK;
}

/* Puts keys, by range, text and stretches of all genera together. */
static int join(kh_translated_made *m, unsigned threads, kh_err *err)
{
	struct joining w = { .m = m };
	int rc = join_rooms(m, err);

	w.at = kh_array(m->head.genera, sizeof *w.at, err);
	if (!rc && !w.at)
		rc = KH_ENOMEM;
	if (!rc)
		rc = kh_translated_each(m->head.genera, threads, count_keys, &w, err);
	if (!rc) {
		find_ranges(&w);
		rc = kh_translated_each(m->head.genera, threads, join_genus, &w, err);
	}
	for (uint32_t i = 0; i < m->head.genera && !rc; i++) {
		kh_genus_made *g = &m->made[i];
		const uint64_t codons = g->codons;
		const uint32_t family = g->family;

		for (size_t j = 0; j < g->n_stretches; j++)
			m->stretch[m->n_stretches++] = (kh_laid_stretch) {
				g->stretch[j].codon + m->genus[i].first, g->stretch[j].place
			};
		genus_clear(g);
		g->codons = codons;
		g->family = family;
	}
	free(w.at);
	return rc;
}

uint32_t *kh_genus_of_codons(const kh_translated_made *m, kh_err *err)
{
	const size_t n = (size_t)(m->codons / KH_GENUS_CODONS);
	uint32_t *of = kh_array(n, sizeof *of, err), genus = 0;

	for (size_t i = 0; of && i < n; i++) {
		while (genus + 1 < m->head.genera &&
		       m->genus[genus + 1].first <= i * KH_GENUS_CODONS)
			genus++;
		of[i] = genus;
	}
	return of;
}

int kh_translated_make(kh_translated_made **out, const kh_translated_input *in, kh_err *err)
{
	kh_translated_made *m = kh_array(1, sizeof *m, err);
	struct genera all = { in, m };
	uint64_t bases = 0;
	int rc = m ? find_genera(m, in, err) : KH_ENOMEM;

	for (size_t i = 0; i < in->n_targets; i++)
		bases += in->target[i].bases;
	if (!rc) {
		m->head.k = kh_key_len(bases);
		m->db_bases = in->db_bases;
		rc = kh_translated_each(m->head.genera, in->threads, make_genus, &all, err);
	}
	if (rc || (rc = number_codons(m, err)) || (rc = join(m, in->threads, err)) ||
	    (rc = kh_table_sort(m, in->threads, err)) ||
	    (rc = kh_thresholds_make(m, in->threads, err)) ||
	    (rc = kh_table_make(m, in->threads, err))) {
		kh_translated_made_free(m);
		return rc;
	}
	*out = m;
	return KH_OK;
}

void kh_translated_made_free(kh_translated_made *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; m->made && i < m->head.genera; i++)
		genus_clear(&m->made[i]);
	free(m->made);
	free(m->genus);
	free(m->line);
	free(m->place);
	free(m->text);
	free(m->key);
	free(m->stretch);
	free(m);
}
