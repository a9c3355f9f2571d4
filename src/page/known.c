#include <config.h>
#include "page/known.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "base/mem.h"
#include "run/format.h"
#include "sample/lengths.h"

/* --- what is known ------------------------------------------------------------------ */
/* Genomes and their lengths, for the taxa of targets. */
static void add_targets(kh_page_known *k)
{
	const kh_db *db = k->db;
	uint64_t bases = 0;

	for (uint32_t i = 0; i < db->h->n_targets; i++) {
		const kh_db_target *t = &db->target[i], *before = t - 1;
		const bool on = i > 0 && before->taxon == t->taxon &&
				kh_numbered_on(db->ids + before->id, db->ids + t->id);

		bases = on ? bases + t->bases : t->bases;
		k->genomes[t->taxon] += !on;
		if (bases > k->longest[t->taxon])
			k->longest[t->taxon] = bases;
	}
}

static void add_up(kh_page_known *k)
{
	const kh_taxonomy *tax = k->db->tax;

	for (uint32_t t = tax->n; t-- > 1;) {
		const uint32_t up = tax->parent[t];

		k->genomes[up] += k->genomes[t];
		if (k->longest[t] > k->longest[up])
			k->longest[up] = k->longest[t];
		k->part[t] &= tax->species[t] == t && k->genomes[t] > 0;
		k->species += tax->species[t] == t && k->genomes[t] > 0;
		k->parts += k->part[t];
	}
}

int kh_page_known_make(kh_page_known *k, const kh_db *db, kh_err *err)
{
	const uint32_t n = db->tax->n;
	uint64_t *intervals = kh_array(n, sizeof *intervals, err);
	int rc = KH_ENOMEM;

	k->db = db;
	k->genomes = kh_array(n, sizeof *k->genomes, err);
	k->longest = kh_array(n, sizeof *k->longest, err);
	k->part = kh_array(n, sizeof *k->part, err);
	if (intervals && k->genomes && k->longest && k->part)
		rc = KH_OK;
	if (!rc && !db->k2) {
		kh_species_intervals(db, intervals);
		rc = kh_species_parts(db, intervals, k->part, err);
		add_targets(k);
		add_up(k);
	}
	free(intervals);
	return rc;
}

void kh_page_known_clear(kh_page_known *k)
{
	free(k->genomes);
	free(k->longest);
	free(k->part);
	*k = (kh_page_known) { .db = NULL };
}

/* --- as text ------------------------------------------------------------------------ */
/* Is the taxon listed? */
typedef bool chosen_fn(const kh_taxonomy *tax, uint32_t t);

static bool is_any(const kh_taxonomy *tax, uint32_t t)
{
	(void)tax;
	(void)t;
	return true;
}

static bool is_high(const kh_taxonomy *tax, uint32_t t)
{
	return tax->species[t] == KH_NO_TAXON && tax->rank[t] > 1 && tax->rank[t] <= KH_RANK_GENUS;
}

static uint32_t count(const kh_taxonomy *tax, chosen_fn *chosen)
{
	uint32_t n = 0;

	for (uint32_t t = 1; t < tax->n; t++)
		n += chosen(tax, t);
	return n;
}

/* Other names of a taxon, a tab in front of each but the first. */
static void add_others(const kh_page_known *k, uint32_t t, kh_buf *b)
{
	const kh_taxonomy *tax = k->db->tax;
	const char *name = k->db->k2 ? NULL : tax->names + tax->name[t];
	bool more = false;

	while (name && (name = kh_taxonomy_next_name(tax, t, name))) {
		char *shown = kh_escaped(name);

		kh_buf_string(b, more ? "\t" : "");
		if (shown)
			kh_buf_string(b, shown);
		b->lost |= !shown;
		more = true;
		free(shown);
	}
}

/* Columns one behind another, which compress better than rows; a line a taxon in each. */
static void add_columns(const kh_page_known *k, chosen_fn *chosen, kh_buf *b)
{
	const kh_taxonomy *tax = k->db->tax;

	for (int column = 0; column < 5; column++)
		for (uint32_t t = 1; t < tax->n; t++) {
			char *name = NULL;

			if (!chosen(tax, t))
				continue;
			if (column == 0 && (name = kh_escaped(tax->names + tax->name[t])))
				kh_buf_string(b, name);
			if (column == 0 && !name)
				b->lost = true;
			if (column == 1)
				kh_buf_print(b, "%lu", (unsigned long)tax->taxid[t]);
			if (column == 2)
				kh_buf_string(b, kh_rank_name(tax->rank[t]));
			if (column == 3 && k->genomes[t])
				kh_buf_print(b, "%lu %llu%s", (unsigned long)k->genomes[t],
					     (unsigned long long)k->longest[t],
					     k->part[t] ? " part" : "");
			if (column == 4)
				add_others(k, t, b);
			kh_buf_string(b, "\n");
			free(name);
		}
}

static void add_base64(kh_buf *b, const unsigned char *p, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		const size_t left = n - i;
		const uint32_t x = (uint32_t)p[i] << 16 |
				   (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
				   (left > 2 ? (uint32_t)p[i + 2] : 0);
		const char four[4] = { digit[x >> 18], digit[x >> 12 & 63],
				       left > 1 ? digit[x >> 6 & 63] : '=',
				       left > 2 ? digit[x & 63] : '=' };

		kh_buf_add(b, four, 4);
	}
}

/* The text as zlib's format, in base64. */
static int pack(const kh_buf *text, kh_buf *b, kh_err *err)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(9);
	const size_t room = libdeflate_zlib_compress_bound(z, text->n);
	unsigned char *to = kh_array(room, 1, err);

	if (z && to)
		add_base64(b, to, libdeflate_zlib_compress(z, text->p, text->n, to, room));
	else
		b->lost = true;
	libdeflate_free_compressor(z);
	free(to);
	kh_buf_add(b, "", 1);
	return kh_buf_check(b, err);
}

json_t *kh_page_known_json(const kh_page_known *k, kh_err *err)
{
	const kh_taxonomy *tax = k->db->tax;
	const bool all = tax->n <= KH_PAGE_KNOWN;
	chosen_fn *const chosen = all ? is_any : is_high;
	uint32_t n = count(tax, chosen);
	kh_buf text = { .n = 0 }, packed = { .n = 0 };
	json_t *o = NULL;

	if (n > KH_PAGE_KNOWN)
		n = 0;
	if (n > 0)
		add_columns(k, chosen, &text);
	if (kh_buf_check(&text, err) == KH_OK && pack(&text, &packed, err) == KH_OK &&
	    !(o = json_pack("{s:I, s:I, s:b, s:s}", "all", (json_int_t)(tax->n - 1), "listed",
			    (json_int_t)n, "genomes", (int)!k->db->k2, "list", packed.p)))
		kh_fail_nomem(err);
	free(text.p);
	free(packed.p);
	return o;
}
