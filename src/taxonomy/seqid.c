/*
 * seqid.c - which taxon a reference sequence belongs to
 *
 * A wanted id has up to five keys, best first: itself; the accession field in it, if it has bars;
 * that accession (or the id) without its version; and, as RefSeq puts NZ_ in front of accessions of
 * GenBank, the accession without NZ_, with its version and without. All keys are in one hash table,
 * and taxids are noted at keys, not at ids: a row costs two look-ups, however many ids share a key
 * ("contig.1", "contig.2", ... do). The keys of an id are looked up only when its taxon is wanted.
 *
 * Most rows name no wanted id, and two things make these cheap. A Bloom filter of an eighth of the
 * table's size rejects nearly all of them. And if each key with a version has its accession among
 * the keys, too, a row whose accession is not a key needs no look-up of its accession.version.
 */
#include <config.h>
#include "taxonomy/seqid.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/progress.h"
#include "io/source.h"
#include "taxonomy/idtable.h"

enum { KEYS = 5, FIRST_SLOTS = 64 };
#define NO_KEY UINT32_MAX

typedef struct key {
	uint64_t text;          /* offset in text */
	uint32_t len;
	uint32_t taxid;         /* 0: nothing found */
	uint32_t file;          /* the file that gave the taxid */
	uint32_t clash;         /* 1 + index in clash[]: that file gives another taxid, too */
	uint32_t whole;         /* 1 + number of the sequence id that it is, or 0 */
} key;

typedef struct clash {
	uint64_t line;
	uint32_t taxid;
} clash;

struct kh_idmap {
	char *text;             /* the ids; keys are parts of them */
	size_t text_len, text_cap;
	key *key;
	size_t n_keys, keys_cap;
	uint32_t (*id)[KEYS];   /* the keys of an id, NO_KEY for none */
	size_t n_ids, ids_cap;
	uint64_t *slot;         /* upper half of the hash | 1 + key; 0: free */
	size_t mask;            /* slots - 1; at most half of them are used */
	uint64_t *filter;       /* 8 bits a slot */
	bool bases;             /* each key with a version has its base among the keys */
	clash *clash;
	size_t n_clashes, clashes_cap;
	uint32_t file;          /* the file that is being read, from 1 */
};

/* --- keys ------------------------------------------------------------------ */
static uint64_t hash(kh_span s) { return XXH3_64bits(s.p, s.n); }

static bool slot_is(const kh_idmap *m, uint64_t slot, uint64_t h, kh_span s)
{
	const key *k = &m->key[(uint32_t)slot - 1];

	return slot >> 32 == h >> 32 && k->len == s.n &&
	       !memcmp(m->text + k->text, s.p, s.n);
}

/* A key's hash sets two bits of one word of the filter. */
static uint64_t filter_bits(uint64_t h)
{
	return UINT64_C(1) << (h >> 58) | UINT64_C(1) << (h >> 52 & 63);
}

static uint64_t *filter_word(const kh_idmap *m, uint64_t h)
{
	return &m->filter[h >> 20 & m->mask / 8];
}

/* The slot that holds the key, or the free one where it would go. */
static uint64_t *probe(const kh_idmap *m, uint64_t h, kh_span s)
{
	size_t i = h & m->mask;

	while (m->slot[i] && !slot_is(m, m->slot[i], h, s))
		i = (i + 1) & m->mask;
	return &m->slot[i];
}

static key *find(const kh_idmap *m, kh_span s)
{
	uint64_t h = hash(s), slot;

	if (filter_bits(h) & ~*filter_word(m, h))
		return NULL;
	slot = *probe(m, h, s);
	return slot ? &m->key[(uint32_t)slot - 1] : NULL;
}

static void put(kh_idmap *m, uint64_t h, kh_span s, uint32_t k)
{
	*probe(m, h, s) = h >> 32 << 32 | (k + 1);
	*filter_word(m, h) |= filter_bits(h);
}

/* Makes the table one of n slots, n a power of two. */
static int resize(kh_idmap *m, size_t n, kh_err *err)
{
	uint64_t *slot = kh_array(n, sizeof *slot, err);
	uint64_t *filter = slot ? kh_array(n / 8, sizeof *filter, err) : NULL;

	if (!filter) {
		free(slot);
		return KH_ENOMEM;
	}
	free(m->slot);
	free(m->filter);
	m->slot = slot;
	m->filter = filter;
	m->mask = n - 1;
	for (uint32_t k = 0; k < m->n_keys; k++) {
		kh_span s = { m->text + m->key[k].text, m->key[k].len };
		put(m, hash(s), s, k);
	}
	return KH_OK;
}

/* Makes room for one more id, so that adding it cannot fail. Then m->text is not NULL. */
static int make_room(kh_idmap *m, size_t len, kh_err *err)
{
	int rc;

	if (len > UINT32_MAX || m->n_keys + KEYS >= NO_KEY)
		return kh_fail(err, KH_EFORMAT, "too many sequence ids, or one too long");
	if ((rc = KH_GROW(m->text, m->text_cap, m->text_len + len + 1, err)) ||
	    (rc = KH_GROW(m->key, m->keys_cap, m->n_keys + KEYS, err)) ||
	    (rc = KH_GROW(m->id, m->ids_cap, m->n_ids + 1, err)))
		return rc;
	if (2 * (m->n_keys + KEYS) <= m->mask)
		return KH_OK;
	return resize(m, 2 * (m->mask + 1), err);
}

/* The key, added if new; s lies in m->text. */
static uint32_t intern(kh_idmap *m, kh_span s)
{
	key *k = find(m, s);

	if (k)
		return (uint32_t)(k - m->key);
	m->key[m->n_keys] = (key) { .text = (uint64_t)(s.p - m->text),
				    .len = (uint32_t)s.n };
	put(m, hash(s), s, (uint32_t)m->n_keys);
	return (uint32_t)m->n_keys++;
}

/* An id without ".digits" at its end. */
static kh_span strip(kh_span s)
{
	size_t n = s.n;

	while (n && s.p[n - 1] >= '0' && s.p[n - 1] <= '9')
		n--;
	if (n < s.n && n > 1 && s.p[n - 1] == '.')
		s.n = n - 1;
	return s;
}

/* The key of an accession without its version. */
static uint32_t intern_base(kh_idmap *m, kh_span s)
{
	s = strip(s);
	if (strip(s).n < s.n)
		m->bases = false;
	return intern(m, s);
}

/* The field behind the first tag of a sequence database, as in gi|N|ref|NC_000913.3| */
static kh_span field(kh_span id)
{
	static const char *const tags[] = { "ref", "gb",  "emb", "dbj", "tpg",
					    "tpe", "tpd", "gpp", "nat", "sp",
					    "tr",  "pir", "prf" };
	const char *p = id.p, *end = id.p + id.n, *bar;
	bool tagged = false;

	for (; p < end; p = bar + 1) {
		bar = memchr(p, '|', (size_t)(end - p));
		kh_span s = { p, (size_t)((bar ? bar : end) - p) };
		if (tagged && s.n)
			return s;
		tagged = false;
		for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
			tagged |= kh_span_is(s, tags[i]);
		if (!bar)
			break;
	}
	return (kh_span) { NULL, 0 };
}

/* --- wanted ids ------------------------------------------------------------ */
int kh_idmap_new(kh_idmap **m, kh_err *err)
{
	kh_idmap *x = kh_array(1, sizeof *x, err);
	int rc;

	if (!x)
		return KH_ENOMEM;
	if ((rc = resize(x, FIRST_SLOTS, err))) {
		kh_idmap_free(x);
		return rc;
	}
	x->bases = true;
	*m = x;
	return KH_OK;
}

void kh_idmap_free(kh_idmap *m)
{
	if (!m)
		return;
	free(m->text);
	free(m->key);
	free(m->id);
	free(m->slot);
	free(m->filter);
	free(m->clash);
	free(m);
}

int kh_idmap_want(kh_idmap *m, const char *id, size_t len, kh_err *err)
{
	kh_span s = { id, len }, base;
	const key *known = find(m, s);
	int rc;

	if (known && known->whole)
		return 0;
	if ((rc = make_room(m, len, err)))
		return rc;
	s.p = m->text + m->text_len;
	if (len)
		memcpy(m->text + m->text_len, id, len);
	m->text_len += len;

	uint32_t *k = m->id[m->n_ids++];
	k[0] = intern(m, s);
	m->key[k[0]].whole = (uint32_t)m->n_ids;
	base = field(s);
	k[1] = base.n ? intern(m, base) : NO_KEY;
	if (base.n && strip(s).n < s.n)
		m->bases = false;
	base = base.n ? base : s;
	k[2] = intern_base(m, base);
	k[3] = k[4] = NO_KEY;
	if (base.n > 3 && memcmp(base.p, "NZ_", 3) == 0) {
		base = (kh_span) { base.p + 3, base.n - 3 };
		k[3] = intern(m, base);
		k[4] = intern_base(m, base);
	}
	return 1;
}

size_t kh_idmap_number(const kh_idmap *m, const char *id, size_t len)
{
	const key *k = find(m, (kh_span) { id, len });

	return k && k->whole ? k->whole - 1 : SIZE_MAX;
}

/* The key that decides on id i: of those that the earliest file has, the best; or NULL. */
static const key *decide(const kh_idmap *m, size_t i)
{
	const key *best = NULL;

	for (int j = 0; j < KEYS; j++) {
		uint32_t k = m->id[i][j];
		if (k != NO_KEY && m->key[k].taxid &&
		    (!best || m->key[k].file < best->file))
			best = &m->key[k];
	}
	return best;
}

uint32_t kh_idmap_taxid(const kh_idmap *m, size_t i)
{
	const key *k = i < m->n_ids ? decide(m, i) : NULL;

	return k ? k->taxid : 0;
}

/* --- tables ---------------------------------------------------------------- */
/* Notes that a row gives the key this taxid. */
static int note(kh_idmap *m, key *k, uint32_t taxid, uint64_t line, kh_err *err)
{
	int rc;

	if (!k->taxid) {
		k->taxid = taxid;
		k->file = m->file;
		return KH_OK;
	}
	if (k->file != m->file || k->taxid == taxid || k->clash)
		return KH_OK;
	rc = KH_GROW(m->clash, m->clashes_cap, m->n_clashes + 1, err);
	if (rc)
		return rc;
	m->clash[m->n_clashes] = (clash) { line, taxid };
	k->clash = (uint32_t)++m->n_clashes;
	return KH_OK;
}

/* Fails if this file gives an id two taxids; of several ids, the one whose second row came
 * first. */
static int check_clashes(const kh_idmap *m, const char *name, kh_err *err)
{
	const key *worst = NULL;

	for (size_t i = 0; m->n_clashes && i < m->n_ids; i++) {
		const key *k = decide(m, i);
		if (k && k->file == m->file && k->clash &&
		    (!worst ||
		     m->clash[k->clash - 1].line < m->clash[worst->clash - 1].line))
			worst = k;
	}
	if (!worst)
		return KH_OK;
	kh_span s = { m->text + worst->text, worst->len };
	const clash *c = &m->clash[worst->clash - 1];
	return kh_fail(err, KH_EFORMAT,
		       "%s:%llu: taxid %u for \"%s\", which had %u before", name,
		       (unsigned long long)c->line, c->taxid, kh_span_show(s).s,
		       worst->taxid);
}

/* Progress is shown every so many rows: NCBI has tables of 10 GB. */
enum { SHOWN = 4096 };

/* Whether id is base, a dot and digits. */
static bool is_version(kh_span id, kh_span base)
{
	return id.n > base.n && strip(id).n == base.n && !memcmp(id.p, base.p, base.n);
}

static int parse_row(kh_idmap *m, const kh_idrow *row, uint64_t line, kh_err *err)
{
	const bool one = row->base.p == row->id.p;
	key *k = find(m, row->base);
	int rc;

	if (!row->taxid)
		return KH_OK;
	if (k) {
		if ((rc = note(m, k, row->taxid, line, err)))
			return rc;
	} else if (one || (m->bases && is_version(row->id, row->base))) {
		return KH_OK;
	}
	if (one || !(k = find(m, row->id)))
		return KH_OK;
	return note(m, k, row->taxid, line, err);
}

static int parse_rows(kh_idmap *m, kh_tsv *tsv, kh_err *err)
{
	kh_idtable t = { .tsv = tsv };
	const double started = kh_seconds();
	kh_idrow row;
	int got, rc = KH_OK;

	while (!rc && (got = kh_idtable_next(&t, &row, err)) != 0) {
		if (tsv->source && tsv->line % SHOWN == 0)
			kh_progress(&(kh_step) { .doing = "a table of taxids:",
						 .started = started,
						 .done = kh_source_taken(tsv->source),
						 .total = kh_source_size(tsv->source) });
		rc = got < 0 ? got : parse_row(m, &row, tsv->line, err);
	}
	return rc;
}

int kh_idmap_parse(kh_idmap *m, kh_tsv *tsv, kh_err *err)
{
	int rc;

	m->file++;
	rc = parse_rows(m, tsv, err);
	return rc ? rc : check_clashes(m, tsv->name, err);
}

void kh_idmap_next(kh_idmap *m)
{
	m->file++;
}

int kh_idmap_note(kh_idmap *m, kh_span id, uint32_t taxid, kh_err *err)
{
	key *k = find(m, id);

	return k ? note(m, k, taxid, 0, err) : KH_OK;
}

int kh_idmap_load(kh_idmap *m, const char *path, kh_err *err)
{
	kh_tsv tsv;
	int rc;

	if (!strcmp(path, "-"))
		return kh_fail(err, KH_EUSAGE,
			       "-: a table cannot come from standard input");
	rc = kh_tsv_open(&tsv, path, err);
	if (!rc)
		rc = kh_idmap_parse(m, &tsv, err);
	kh_progress_end();
	kh_tsv_clear(&tsv);
	return rc;
}

/* --- header tags ----------------------------------------------------------- */
static bool is_edge(char c) { return c == '|' || c == ' ' || c == '\t'; }

uint32_t kh_header_taxid(const char *header, size_t len)
{
	static const char tag[] = "taxid|", kraken[] = "kraken:";
	const size_t n_tag = sizeof tag - 1, n_kraken = sizeof kraken - 1;
	const char *p = header, *end = header + len, *bar;
	uint32_t taxid;

	/* Goes from bar to bar, as a header has few of them. */
	for (; p < end && (bar = memchr(p, '|', (size_t)(end - p))); p = bar + 1) {
		size_t from = (size_t)(bar + 1 - header);
		kh_span number = { bar + 1, 0 };
		if (from < n_tag || memcmp(header + from - n_tag, tag, n_tag))
			continue;
		from -= n_tag;
		if (from >= n_kraken &&
		    !memcmp(header + from - n_kraken, kraken, n_kraken))
			from -= n_kraken;
		if (from && !is_edge(header[from - 1]))
			continue;
		while (number.p + number.n < end && !is_edge(number.p[number.n]))
			number.n++;
		if (kh_span_u32(number, &taxid) && taxid)
			return taxid;
	}
	return 0;
}
