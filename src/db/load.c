/*
 * load.c - checks the bytes of a database and makes of them what a run uses
 *
 * Nothing in them is trusted: the header and the table of checksums come first, then the
 * sections that are small, and the index last (check.c).
 */
#include <config.h>
#include "db/load_in.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/mem.h"

static const char *const section_name[KH_ALL_SECTIONS] = {
	"index", "directory", "taxa", "names", "targets", "ids", "unmapped ids", "checksums",
	"keys", "told", "text", "kept", "translated", "excerpts", "strains"
};

int kh_db_bad(const kh_db *db, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: %s", db->path, what);
}

/* --- header ----------------------------------------------------------------------- */
static int check_magic(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;

	if (db->bytes < sizeof *h || memcmp(h->magic, KH_DB_MAGIC, sizeof h->magic) != 0) {
		static const char zero[8];

		if (db->bytes >= sizeof *h && memcmp(h->magic, zero, sizeof zero) == 0)
			return kh_db_bad(db, "it was never completed (its header is empty)", err);
		return kh_db_bad(db, "it does not begin as a kmerhash database does", err);
	}
	if (h->version != KH_DB_VERSION && h->version != KH_DB_VERSION_TEXT)
		return kh_fail(err, KH_EFORMAT,
			       "%s: database version %" PRIu32 ", this program reads versions %d "
			       "and %d: build it anew from its references (kmerhash build)",
			       db->path, h->version, KH_DB_VERSION, KH_DB_VERSION_TEXT);
	if (h->self != XXH3_64bits(h, offsetof(kh_db_header, self)))
		return kh_db_bad(db, "the checksum of its header is wrong (offset 0)", err);
	if (h->byte_order != UINT64_C(0x0102030405060708) || h->header_bytes != KH_DB_PAGE)
		return kh_db_bad(db, "its header is of another kind", err);
	if (h->file_bytes != db->bytes)
		return kh_fail(err, KH_EFORMAT, "%s: truncated or extended: %" PRIu64
			       " bytes, %" PRIu64 " expected", db->path, db->bytes, h->file_bytes);
	return KH_OK;
}

/* Do two sections that are not empty share a byte? */
static bool overlapping(const kh_db_header *h)
{
	for (int i = 0; i < KH_ALL_SECTIONS; i++)
		for (int j = 0; j < i; j++) {
			const kh_db_extent *a = kh_db_extent_of(h, (enum kh_section)i);
			const kh_db_extent *b = kh_db_extent_of(h, (enum kh_section)j);

			if (a->bytes > 0 && b->bytes > 0 && a->at < b->at + b->bytes &&
			    b->at < a->at + a->bytes)
				return true;
		}
	return false;
}

static int check_extents(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;

	for (int i = 0; i < KH_ALL_SECTIONS; i++) {
		const kh_db_extent *e = kh_db_extent_of(h, (enum kh_section)i);

		if (i >= KH_N_SECTIONS && e->bytes == 0 && e->at == 0)
			continue;       /* it need not be there */
		if (e->at < KH_DB_PAGE || e->at % KH_DB_PAGE != 0 || e->at > db->bytes ||
		    e->bytes > db->bytes - e->at)
			return kh_fail(err, KH_EFORMAT,
				       "%s: not a usable database: section %s lies outside "
				       "the file",
				       db->path, section_name[i]);
	}
	if (overlapping(h))
		return kh_db_bad(db, "its sections overlap", err);
	if (h->keys.bytes == 0 && h->keys.at != 0)
		return kh_db_bad(db, "its section of keys is empty", err);
	if (h->excerpts.at != 0 && (h->keys.at == 0 || h->told.at == 0))
		return kh_db_bad(db, "its excerpts are without keys, or nothing is told of them",
				 err);
	if ((h->version == KH_DB_VERSION_TEXT) != (h->text.at != 0) ||
	    (h->text.at != 0) != (h->kept.at != 0) || (h->strains.at != 0 && h->text.at == 0))
		return kh_db_bad(db, "its version does not say whether it has text", err);
	const kh_db_extent *sums = &h->section[KH_SEC_SUMS];
	uint64_t blocks = (sums->at - KH_DB_PAGE + KH_DB_BLOCK - 1) / KH_DB_BLOCK;

	if (sums->bytes != blocks * 8 || sums->at + sums->bytes != db->bytes ||
	    h->sums != XXH3_64bits(kh_db_section(db, KH_SEC_SUMS), (size_t)sums->bytes))
		return kh_db_bad(db, "its table of checksums is damaged", err);
	if (h->section[KH_SEC_DIR].bytes !=
		    KH_RANGES * (h->text.at ? sizeof(kh_seed_range) : sizeof(kh_range)) ||
	    h->section[KH_SEC_TAXA].bytes != (uint64_t)h->n_taxa * sizeof(kh_db_taxon) ||
	    h->section[KH_SEC_TARGETS].bytes != (uint64_t)h->n_targets * sizeof(kh_db_target) ||
	    h->told.bytes != (h->told.at ? h->n_taxa * sizeof *db->told : 0) ||
	    h->excerpts.bytes % sizeof *db->excerpt != 0)
		return kh_db_bad(db, "the sizes of its sections do not fit its counts", err);
	return KH_OK;
}

static int check_parameters(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const kh_sampling sampling = kh_db_sampling(h);
	kh_err why = { 0, "" };

	if (kh_sampling_check(&sampling, &why))
		return kh_db_bad(db, why.msg, err);
	if (h->max_span < h->sampling.stride || h->max_span > 1 << 20 ||
	    h->gap != (h->text.at ? 1 : 1 + (h->max_span + h->sampling.stride - 1) /
						    h->sampling.stride) ||
	    h->bins > UINT32_MAX || h->n_taxa == 0 || h->tool[31] != 0 ||
	    h->max_locations == 0 || h->max_locations > KH_LIST_MAX ||
	    h->runs > 1 ||
	    (h->max_bytes ? h->file_bytes > h->max_bytes : h->least > 0 && h->text.at == 0) ||
	    h->word_bits != (h->text.at ? kh_seed_bits(h->bins)
					: kh_word_bits(h->bins, h->n_taxa)))
		return kh_db_bad(db, "a parameter in its header is out of range", err);
	for (int i = 0; i < 32; i++)
		if (h->minima[i] == 0)
			return kh_db_bad(db, "a parameter in its header is out of range", err);
	if (!kh_all_zero(h->zero, sizeof h->zero) || !kh_all_zero(h->zero2, sizeof h->zero2))
		return kh_db_bad(db, "a byte in its header that must be zero is not", err);
	return KH_OK;
}

/* --- sections --------------------------------------------------------------------- */
/* Fails unless the ranges lie in order, without holes, inside the index. */
static int check_directory(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	uint64_t at = 0, end = h->section[KH_SEC_INDEX].bytes;
	uint64_t keys = 0, entries = 0, over = 0;

	for (int p = 0; p < KH_RANGES; p++) {
		const kh_range *r = &db->dir[p];

		if (r->buckets == 0 || r->buckets >= KH_BUCKETS_MAX || r->n_locs > end * 8 ||
		    r->first_bucket != at / 64 ||
		    r->first_loc != (at + (uint64_t)(r->buckets + 1) * 64) / 4 ||
		    kh_range_bytes(r, h->word_bits) > end - at)
			return kh_db_bad(db, "its directory is damaged", err);
		at += kh_range_bytes(r, h->word_bits);
		keys += r->keys;
		entries += r->entries;
		over += r->over;
	}
	if (at != end || keys != h->features || entries != h->entries || over != h->over)
		return kh_db_bad(db, "its directory does not fit its header", err);
	return KH_OK;
}

/* Is the last string complete? */
static bool strings_ok(const char *p, uint64_t bytes)
{
	return bytes == 0 || p[bytes - 1] == 0;
}

static int load_taxa(kh_db *db, kh_err *err)
{
	const kh_db_taxon *in = kh_db_section(db, KH_SEC_TAXA);
	const size_t names_len = (size_t)db->h->section[KH_SEC_NAMES].bytes;
	kh_taxonomy *t = db->tax = kh_taxonomy_new(db->h->n_taxa, names_len, err);
	kh_err why = { 0, "" };

	if (!t)
		return KH_ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		t->taxid[i] = in[i].taxid;
		t->parent[i] = in[i].parent;
		t->end[i] = in[i].end;
		t->name[i] = in[i].name > UINT32_MAX ? UINT32_MAX : (uint32_t)in[i].name;
		t->rank[i] = in[i].rank > UINT8_MAX ? UINT8_MAX : (uint8_t)in[i].rank;
	}
	memcpy(t->names, kh_db_section(db, KH_SEC_NAMES), names_len);
	if (!kh_taxonomy_check(t, &why) && !kh_taxonomy_derive(t, &why))
		return KH_OK;
	return why.code == KH_ENOMEM ? kh_fail_nomem(err) : kh_db_bad(db, why.msg, err);
}

/* Reads the targets, and finds where their bins end; fails if their records do not fit one
 * another and the header. */
static int read_targets(const kh_db *db, uint32_t *first, uint32_t *taxon, uint64_t *end,
			kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint64_t ids = h->section[KH_SEC_IDS].bytes;
	uint64_t bin = 0;

	for (uint32_t i = 0; i < h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];
		uint64_t bins =
			t->bases / h->sampling.stride + (t->bases % h->sampling.stride != 0);

		if ((db->dir && t->first_bin != bin) || t->taxon >= h->n_taxa || t->id >= ids ||
		    (t->id > 0 && db->ids[t->id - 1] != 0) || bins > h->bins)
			return kh_db_bad(db, "its targets are damaged", err);
		bin += (bins > 0 ? bins : 1) + h->gap;
		first[i] = t->first_bin;
		taxon[i] = t->taxon;
	}
	*end = bin;
	if (db->dir && bin > h->bins)
		return kh_db_bad(db, "its targets do not fit its number of bins", err);
	return KH_OK;
}

static int make_bins(kh_db *db, uint32_t *first, uint32_t *taxon, kh_err *err)
{
	const kh_db_header *h = db->h;
	kh_bins targets = { .n = h->n_targets, .first = first, .taxon = taxon };
	const kh_tree tree = kh_taxonomy_tree(db->tax);
	uint64_t end = 0;
	int rc = read_targets(db, first, taxon, &end, err);

	if (!rc && !db->dir) {
		rc = kh_db_read_kept(db, first, taxon, &end, err);
		targets.n = db->n_kept;
	}
	if (!rc)
		rc = kh_bin_map_init(&db->bin_map, &targets, end, h->gap, &tree, err);
	if (rc)
		return rc;
	db->bins = db->bin_map.bins;
	db->bins.most = h->max_locations;
	if (db->bin_map.end != h->bins || db->bins.n - db->bins.n_targets != h->n_species)
		return kh_db_bad(db, "its targets and species do not fit its number of bins", err);
	return KH_OK;
}

static int load_targets(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint64_t kept = h->kept.bytes / sizeof(kh_db_kept);
	const size_t n = (size_t)(kept > h->n_targets ? kept : h->n_targets);
	uint32_t *first = kh_array(n, sizeof *first, err);
	uint32_t *taxon = kh_array(n, sizeof *taxon, err);
	int rc = KH_ENOMEM;

	db->target = kh_db_section(db, KH_SEC_TARGETS);
	db->ids = kh_db_section(db, KH_SEC_IDS);
	db->unmapped = kh_db_section(db, KH_SEC_UNMAPPED);
	if (!strings_ok(db->ids, h->section[KH_SEC_IDS].bytes) ||
	    !strings_ok(db->unmapped, h->section[KH_SEC_UNMAPPED].bytes))
		rc = kh_db_bad(db, "its ids are damaged", err);
	else if (first && taxon)
		rc = make_bins(db, first, taxon, err);
	free(first);
	free(taxon);
	return rc;
}

/* The text of a database as the parts that its stretches are. */
static int find_parts(const kh_db *db, kh_translated_text *to, kh_err *err)
{
	to->text = db->text;
	to->bases = db->h->bins * db->h->sampling.stride;
	to->n = db->n_kept;
	to->part = kh_array(to->n, sizeof *to->part, err);
	for (size_t i = 0; to->part && i < to->n; i++)
		to->part[i] = (kh_translated_part) {
			db->kept[i].first_bin * (uint64_t)db->h->sampling.stride,
			db->stretch[i].end,
			kh_translated_taxon(db->tax, db->bins.taxon[i])
		};
	return to->part ? KH_OK : KH_ENOMEM;
}

static int find_translated(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	kh_translated_text text = { .text = NULL };
	kh_err why = { 0, "" };
	int rc = KH_OK;

	if (h->translated.at == 0)
		return KH_OK;
	if (db->text)
		rc = find_parts(db, &text, err);
	if (!rc)
		rc = kh_translated_find(&db->translated, kh_db_section(db, KH_SEC_TRANSLATED),
					h->translated.bytes, h->n_taxa, db->text ? &text : NULL,
					&why);
	if (rc)
		free(text.part);
	return !rc                       ? KH_OK
	       : why.code == KH_EFORMAT ? kh_db_bad(db, why.msg, err)
					: kh_fail_nomem(err);
}

int kh_db_load(kh_db *db, const kh_db_options *o, kh_err *err)
{
	int rc;

	db->h = db->map;
	if ((rc = check_magic(db, err)) || (rc = check_extents(db, err)))
		return rc;
	db->sums = kh_db_section(db, KH_SEC_SUMS);
	db->unchecked = o->later && !o->no_verify;
	if ((rc = kh_db_check_rest(db, o->keys, o->threads, err)) ||
	    (rc = o->no_verify ? KH_OK : kh_db_check_text(db, o->threads, err)))
		return rc;
	db->image = kh_db_section(db, KH_SEC_INDEX);
	if (db->h->text.at)
		db->seeds = (kh_seed_index) { .image = db->image,
					      .dir = kh_db_section(db, KH_SEC_DIR),
					      .bits = db->h->word_bits };
	else
		db->dir = kh_db_section(db, KH_SEC_DIR);
	db->told = db->h->told.at ? kh_db_section(db, KH_SEC_TOLD) : NULL;
	if ((rc = check_parameters(db, err)) ||
	    (rc = db->dir ? check_directory(db, err) : kh_db_check_seed_ranges(db, err)) ||
	    (rc = load_taxa(db, err)) || (rc = load_targets(db, err)) ||
	    (rc = kh_db_find_text(db, err)) || (rc = kh_db_find_strains(db, err)) ||
	    (rc = find_translated(db, err)) ||
	    (rc = kh_db_check_facts(db, err)) ||
	    (rc = o->keys ? kh_db_find_keys(db, err) : KH_OK) ||
	    (rc = o->keys ? kh_db_find_excerpts(db, err) : KH_OK))
		return rc;
	return o->no_verify || o->later ? KH_OK : kh_db_check(db, 0, KH_RANGES, o->threads, err);
}
