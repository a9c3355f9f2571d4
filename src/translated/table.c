/* table.c - of keys that are sorted, the section: make.h */
#include <config.h>
#include "translated/make_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "kmer/text.h"

enum { LOAD = 24 };                     /* places a line, so that few lines overflow */

/* --- ranges ----------------------------------------------------------------------------- */
static int sort_range(kh_translated_made *m, const kh_range_made *r, kh_err *err)
{
	const size_t n = r->end - r->begin;
	kh_key_at *from = m->key + r->begin, *room = kh_array_large(n, sizeof *room, err);
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
	memcpy(m->key + r->begin, room, n * sizeof *room);
	free(room);
	return KH_OK;
}

/* Are two genera of one family? */
static bool same_family(const kh_translated_made *m, uint32_t a, uint32_t b)
{
	return m->made[a].family > 0 && m->made[a].family == m->made[b].family;
}

/* Of places of one key, from number i to end - 1, keeps those that `to` is given; returns their
 * number. */
static uint32_t keep_key(const kh_translated_made *m, size_t i, size_t end, kh_key_at *to)
{
	uint32_t genera = 0, before = 0;
	bool one_family = true;

	for (; i < end; i++) {
		const kh_key_at key = m->key[i];
		const uint32_t genus = kh_genus_at(m, (uint32_t)key);

		if (genera > 0 && genus == before)
			continue;       /* places ascend, and genera with them */
		one_family = one_family && (genera == 0 || same_family(m, genus, before));
		before = genus;
		to[genera++] = key;
	}
	return one_family && genera <= KH_KEY_GENERA ? genera : 0;
}

static void keep_own(kh_translated_made *m, kh_range_made *r)
{
	size_t kept = r->begin;

	for (size_t i = r->begin, end; i < r->end; i = end) {
		for (end = i + 1; end < r->end && m->key[end] >> 32 == m->key[i] >> 32;)
			end++;
		if (end == i + 1)
			m->key[kept++] = m->key[i];
		else
			kept += keep_key(m, i, end, m->key + kept);
	}
	r->end = kept;
}

int kh_table_range(void *made, size_t range, kh_err *err)
{
	kh_translated_made *m = made;
	kh_range_made *r = &m->range[range];
	int rc = sort_range(m, r, err);

	if (!rc)
		rc = kh_shared_find(m, r, err);
	if (!rc)
		keep_own(m, r);
	return rc;
}

/* --- lines ------------------------------------------------------------------------------ */
static size_t number_keys(kh_translated_made *m)
{
	size_t n = 0;

	for (size_t i = 0; i < KH_TRANSLATED_RANGES; i++) {
		m->range[i].first = n;
		n += m->range[i].end - m->range[i].begin;
	}
	return n;
}

/* The lines that are made, up to `last`, to which keys from .. next - 1 belong; and how many keys
 * they have. */
struct lines {
	kh_translated_line *line;
	uint64_t n, last, from, next;
	uint32_t keys;
};

static void next_line(struct lines *x)
{
	x->line[++x->last] = (kh_translated_line) { .base = x->keys };
	x->from = x->next;
	x->next = (((x->last + 1) << 32) + x->n - 1) / x->n;
}

/* Keys ascend, and so do their lines: those for which theirs is full are in the next ones. */
static void put_key(struct lines *x, uint32_t key)
{
	while (key >= x->next || x->line[x->last].n == KH_TAGS)
		next_line(x);
	if (key < x->from)
		for (uint64_t i = key * x->n >> 32; i < x->last; i++)
			x->line[i].later |= (uint16_t)(1 << key % 16);
	kh_translated_line *l = &x->line[x->last];

	l->tag[l->n++] = (uint16_t)key;
	x->keys++;
}

static void make_lines(kh_translated_made *m)
{
	struct lines x = { .line = m->line, .n = m->head.lines, .last = UINT64_MAX };

	next_line(&x);
	for (const kh_range_made *r = m->range; r < m->range + KH_TRANSLATED_RANGES; r++) {
		const kh_key_at *end = m->key + r->end;

		for (const kh_key_at *key = m->key + r->begin; key < end; key++)
			put_key(&x, (uint32_t)(*key >> 32));
	}
	while (x.last + 1 < x.n)
		next_line(&x);
	m->head.behind = (uint32_t)(x.last + 1 - x.n);
}

/* --- places ----------------------------------------------------------------------------- */
/* A task puts so many places, which end with a word; some at a time, as each waits for the
 * memory. */
enum { PLACES = 1 << 16, TOGETHER = 32 };

/* Where bits are put. */
struct bits {
	uint8_t *to;
	unsigned __int128 last;         /* n of them, less than 64 */
	unsigned n;
};

static void put_bits(struct bits *x, uint64_t bits, unsigned n)
{
	x->last |= (unsigned __int128)bits << x->n;
	x->n += n;
	if (x->n >= 64) {
		const uint64_t word = (uint64_t)x->last;

		memcpy(x->to, &word, sizeof word);
		x->to += sizeof word;
		x->last >>= 64;
		x->n -= 64;
	}
}

/* The place of a codon in the text of the database, or in that of the section. */
static uint64_t place_of(const kh_translated_made *m, uint32_t codon)
{
	const kh_laid_orf *s = kh_orf_at(m, codon);
	const kh_translated_target *t = &m->in->target[s->target];

	return kh_orf_place(s, codon) + 2 * (t->db_at - t->at);
}

static void put_some(const kh_translated_made *m, const kh_key_at *key, size_t n, struct bits *to)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&m->step[(uint32_t)key[i] / KH_CODON_STEP]);
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(
			&m->orf[m->step[(uint32_t)key[i] / KH_CODON_STEP].orf]);
	for (size_t i = 0; i < n; i++)
		put_bits(to, place_of(m, (uint32_t)key[i]), m->head.bits);
}

static void put_places(const kh_translated_made *m, size_t from, size_t to)
{
	struct bits x = { m->place + from / 8 * m->head.bits, 0, 0 };

	for (const kh_range_made *r = m->range; from < to; r++)
		for (size_t at, n; from < to && (at = from - r->first) < r->end - r->begin;
		     from += n) {
			n = r->end - r->begin - at;
			n = n < to - from ? n : to - from;
			n = n < TOGETHER ? n : TOGETHER;
			put_some(m, m->key + r->begin + at, n, &x);
		}
	for (; x.n > 0; x.n -= x.n < 8 ? x.n : 8, x.last >>= 8)
		*x.to++ = (uint8_t)x.last;
}

/* Task 0 makes the lines, the others make places. */
static int make_part(void *arg, size_t task, kh_err *err)
{
	kh_translated_made *m = arg;
	const size_t n = (size_t)m->head.places;

	(void)err;
	if (task == 0)
		make_lines(m);
	else
		put_places(m, (task - 1) * PLACES, task * PLACES < n ? task * PLACES : n);
	return KH_OK;
}

int kh_table_make(kh_translated_made *m, kh_err *err)
{
	const size_t n = number_keys(m);
	const uint64_t lines = n / LOAD + 1;
	int rc;

	m->head.places = n;
	m->head.bits = kh_translated_bits(2 * m->in->db_bases);
	m->head.lines = (uint32_t)lines;
	if (m->head.bits > KH_PLACE_BITS)
		return kh_fail(err, KH_EUSAGE, "--translated: the text has too many bases");
	m->line = kh_array_large((size_t)lines + n / KH_TAGS + 1, sizeof *m->line, err);
	m->place = kh_array_large((size_t)kh_translated_place_bytes(n, m->head.bits), 1, err);
	if (!m->line || !m->place)
		return KH_ENOMEM;
	rc = kh_each(m->in->threads, n / PLACES + 2, make_part, m, err);
	for (uint32_t i = 0; i < m->head.genera; i++)
		m->genus[i].family = m->made[i].family;
	return rc;
}

int kh_translated_put(const kh_translated_made *m,
		      int (*put)(void *arg, const void *p, size_t n, kh_err *err), void *arg,
		      kh_err *err)
{
	static const uint32_t zero[KH_TEXT_BEHIND];
	const size_t lines = (size_t)m->head.lines + m->head.behind;
	const struct {
		const void *p;
		size_t n;
	} part[] = {
		{ &m->head, sizeof m->head },
		{ m->genus, m->head.genera * sizeof *m->genus },
		{ m->line, lines * sizeof *m->line },
		{ m->place, (size_t)kh_translated_place_bytes(m->head.places, m->head.bits) },
		{ zero, sizeof zero },
	};
	int rc = KH_OK;

	for (size_t i = 0; i < sizeof part / sizeof part[0] && !rc; i++) {
		rc = put(arg, part[i].p, part[i].n, err);
		if (!rc && i < 4)
			rc = put(arg, zero, (64 - part[i].n % 64) % 64, err);
	}
	return rc;
}
