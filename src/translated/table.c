/* table.c - of keys that are sorted, the section: make.h */
#include <config.h>
#include "translated/make_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "text/text.h"

enum { LOAD = 24 };                     /* places a line, so that few lines overflow */

static int sort_range(void *arg, size_t r, kh_err *err)
{
	kh_translated_made *m = arg;
	const size_t n = m->range[r + 1] - m->range[r];
	kh_key_at *from = m->key + m->range[r], *room = kh_array_large(n, sizeof *room, err);
	kh_key_at *to = room;

	if (!room)
		return KH_ENOMEM;
	for (unsigned shift = 32; shift < 56; shift += 8) {
		size_t at[257] = { 0 };
		kh_key_at *swap = from;

		for (size_t i = 0; i < n; i++)
			at[(from[i] >> shift & 255) + 1]++;
		for (int i = 0; i < 256; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < n; i++)
			to[at[from[i] >> shift & 255]++] = from[i];
		from = to;
		to = swap;
	}
	memcpy(m->key + m->range[r], room, n * sizeof *room);
	free(room);
	return KH_OK;
}

int kh_table_sort(kh_translated_made *m, unsigned threads, kh_err *err)
{
	return kh_translated_each(KH_TRANSLATED_RANGES, threads, sort_range, m, err);
}

struct keeping {
	kh_translated_made *m;
	const uint32_t *of;             /* genus of each KH_GENUS_CODONS codons */
	size_t kept[KH_TRANSLATED_RANGES];
};

/* Are two genera of one family? */
static bool are_kin(const kh_translated_made *m, uint32_t a, uint32_t b)
{
	return m->made[a].family > 0 && m->made[a].family == m->made[b].family;
}

static int keep_own_of(void *arg, size_t r, kh_err *err)
{
	struct keeping *w = arg;
	kh_key_at *key = w->m->key + w->m->range[r];
	const size_t n = w->m->range[r + 1] - w->m->range[r];

	(void)err;
	for (size_t i = 0, end; i < n; i = end) {
		const size_t kept = w->kept[r];
		uint32_t genera = 0, before = 0;
		bool kin = true;

		for (end = i; end < n && key[end] >> 32 == key[i] >> 32; end++) {
			const uint32_t genus = w->of[(uint32_t)key[end] / KH_GENUS_CODONS];

			if (end > i && genus == before)
				continue;       /* places ascend, and genera with them */
			kin = kin && (end == i || are_kin(w->m, genus, before));
			before = genus;
			key[w->kept[r]++] = key[end];
			genera++;
		}
		if (!kin || genera > KH_KEY_GENERA)
			w->kept[r] = kept;
	}
	return KH_OK;
}

/* Keeps the keys that one genus has, or a few of one family, each with its lowest place in each. */
static int keep_own(kh_translated_made *m, unsigned threads, kh_err *err)
{
	uint32_t *of = kh_genus_of_codons(m, err);
	struct keeping w = { .m = m, .of = of };
	int rc = of ? kh_translated_each(KH_TRANSLATED_RANGES, threads, keep_own_of, &w, err)
		    : KH_ENOMEM;

	m->n_keys = 0;
	for (size_t r = 0; r < KH_TRANSLATED_RANGES && !rc; r++) {
		memmove(m->key + m->n_keys, m->key + m->range[r], w.kept[r] * sizeof *m->key);
		m->n_keys += w.kept[r];
	}
	free(of);
	return rc;
}

/* --- places --------------------------------------------------------------------------- */
/* By KH_GENUS_CODONS codons: the last stretch that begins at the first of these, or before. */
static uint32_t *stretch_of_codons(const kh_translated_made *m, kh_err *err)
{
	const size_t n = (size_t)(m->codons / KH_GENUS_CODONS);
	uint32_t *of = kh_array(n, sizeof *of, err), stretch = 0;

	for (size_t i = 0; of && i < n; i++) {
		while (stretch + (size_t)1 < m->n_stretches &&
		       m->stretch[stretch + 1].codon <= i * KH_GENUS_CODONS)
			stretch++;
		of[i] = stretch;
	}
	return of;
}

/* The place of a codon in the database's text. */
static uint64_t place_in_db(const kh_translated_made *m, const uint32_t *of, uint32_t codon)
{
	const kh_laid_stretch *s = &m->stretch[of[codon / KH_GENUS_CODONS]];
	const kh_laid_stretch *end = m->stretch + m->n_stretches;
	uint64_t bases;

	while (s + 1 < end && s[1].codon <= codon)
		s++;
	bases = 3 * (codon - s->codon);
	return s->place & 1 ? s->place - 2 * bases : s->place + 2 * bases;
}

/* Adds a number to bytes that are 0 there; touches none but those that have its bits. */
static void put_place(uint8_t *to, uint64_t i, uint32_t bits, uint64_t place)
{
	const uint64_t bit = i * bits;
	const unsigned sh = bit % 8;

	place <<= sh;
	for (unsigned j = 0; 8 * j < sh + bits; j++)
		to[bit / 8 + j] |= (uint8_t)(place >> 8 * j);
}

struct placing {
	kh_translated_made *m;
	const uint32_t *of;             /* stretches by codons, or NULL */
};

/* A task puts so many places, which end with a byte. */
enum { PLACES = 1 << 16 };

static int put_places(void *arg, size_t task, kh_err *err)
{
	const struct placing *w = arg;
	kh_translated_made *m = w->m;
	const size_t end = (task + 1) * PLACES < m->n_keys ? (task + 1) * PLACES : m->n_keys;

	(void)err;
	for (size_t i = task * PLACES; i < end; i++) {
		const uint32_t codon = (uint32_t)m->key[i];

		put_place(m->place, i, m->head.bits,
			  w->of ? place_in_db(m, w->of, codon) : codon);
	}
	return KH_OK;
}

static int make_places(kh_translated_made *m, unsigned threads, kh_err *err)
{
	uint32_t *of = NULL;
	struct placing w = { .m = m };
	int rc;

	m->head.codons = m->db_bases ? 0 : m->codons;
	m->head.places = m->n_keys;
	m->head.bits = kh_translated_bits(m->db_bases ? 2 * m->db_bases : m->codons);
	if (m->head.bits > KH_PLACE_BITS)
		return kh_fail(err, KH_EUSAGE, "--translated: the text has too many bases");
	m->place = kh_array((size_t)kh_translated_place_bytes(m->n_keys, m->head.bits) + 8, 1, err);
	if (!m->place || (m->db_bases && !(of = stretch_of_codons(m, err))))
		return KH_ENOMEM;
	w.of = of;
	rc = kh_translated_each(m->n_keys / PLACES + 1, threads, put_places, &w, err);
	for (uint32_t i = 0; of && i < m->head.genera; i++)
		m->genus[i].family = m->made[i].family;
	free(of);
	return rc;
}

/* --- the section ---------------------------------------------------------------------- */
/* Keys ascend, and so do their lines: those for which theirs is full are in the next ones. */
static int make_table(kh_translated_made *m, kh_err *err)
{
	const uint64_t lines = m->n_keys / LOAD + 1;
	const size_t room = (size_t)(lines + m->n_keys / KH_TAGS + 1);
	uint64_t at = 0;
	size_t i = 0, later;

	m->head.lines = (uint32_t)lines;
	m->line = kh_array(room, sizeof *m->line, err);
	if (!m->line)
		return KH_ENOMEM;
	for (; i < m->n_keys || at < lines; at++) {
		kh_translated_line *l = &m->line[at];

		l->base = (uint32_t)i;
		for (; i < m->n_keys && l->n < KH_TAGS &&
		       (m->key[i] >> 32) * lines >> 32 <= at; i++)
			l->tag[l->n++] = (uint16_t)(m->key[i] >> 32);
		for (later = i; later < m->n_keys && (m->key[later] >> 32) * lines >> 32 <= at;
		     later++)
			l->later |= (uint16_t)(1 << (m->key[later] >> 32) % 16);
	}
	m->head.behind = (uint32_t)(at - lines);
	return KH_OK;
}

int kh_table_make(kh_translated_made *m, unsigned threads, kh_err *err)
{
	int rc = keep_own(m, threads, err);

	if (!rc)
		rc = make_table(m, err);
	return rc ? rc : make_places(m, threads, err);
}

int kh_translated_put(const kh_translated_made *m,
		      int (*put)(void *arg, const void *p, size_t n, kh_err *err), void *arg,
		      kh_err *err)
{
	static const uint32_t zero[KH_TEXT_BEHIND];
	const uint64_t codons = m->head.codons;
	const size_t lines = (size_t)m->head.lines + m->head.behind;
	const struct {
		const void *p;
		size_t n;
	} part[] = {
		{ &m->head, sizeof m->head },
		{ m->genus, m->head.genera * sizeof *m->genus },
		{ m->line, lines * sizeof *m->line },
		{ m->place, (size_t)kh_translated_place_bytes(m->head.places, m->head.bits) },
		{ codons ? (const void *)m->text : zero, (size_t)kh_translated_text_bytes(codons) },
	};
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof part / sizeof part[0] && !rc; i++) {
		rc = put(arg, part[i].p, part[i].n, err);
		if (!rc && i < 4)
			rc = put(arg, zero, (64 - part[i].n % 64) % 64, err);
	}
	return rc;
}
