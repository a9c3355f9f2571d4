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

static const char *const section_name[KH_N_SECTIONS] = {
	"index", "directory", "text", "kept", "strains", "taxa", "names", "targets", "ids",
	"unmapped ids", "translated", "checksums"
};

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
	if (h->version != KH_DB_VERSION)
		return kh_fail(err, KH_EFORMAT,
			       "%s: a database of format %" PRIu32 ", and this program reads "
			       "format %d: build it again from its references (kmerhash build)",
			       db->path, h->version, KH_DB_VERSION);
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
	for (int i = 0; i < KH_N_SECTIONS; i++)
		for (int j = 0; j < i; j++) {
			const kh_db_extent *a = &h->section[i], *b = &h->section[j];

			if (a->bytes > 0 && b->bytes > 0 && a->at < b->at + b->bytes &&
			    b->at < a->at + a->bytes)
				return true;
		}
	return false;
}

static int check_extents(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;

	for (int i = 0; i < KH_N_SECTIONS; i++) {
		const kh_db_extent *e = &h->section[i];

		if ((i == KH_SEC_TRANSLATED || i == KH_SEC_STRAINS || i == KH_SEC_TEXT) &&
		    e->bytes == 0 && e->at == 0)
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
	if (!kh_all_zero(h->section + KH_N_SECTIONS,
			 sizeof h->section - KH_N_SECTIONS * sizeof *h->section))
		return kh_db_bad(db, "it has sections that this program does not know", err);
	const kh_db_extent *sums = &h->section[KH_SEC_SUMS];
	uint64_t chunks = (sums->at - KH_DB_PAGE + KH_DB_CHUNK - 1) / KH_DB_CHUNK;

	if (sums->bytes != chunks * 8 || sums->at + sums->bytes != db->bytes ||
	    h->sums != XXH3_64bits(kh_db_section(db, KH_SEC_SUMS), (size_t)sums->bytes))
		return kh_db_bad(db, "its table of checksums is damaged", err);
	if (h->section[KH_SEC_DIR].bytes != KH_RANGES * sizeof(kh_seed_range) ||
	    h->section[KH_SEC_TAXA].bytes != (uint64_t)h->n_taxa * sizeof(kh_db_taxon) ||
	    h->section[KH_SEC_TARGETS].bytes != (uint64_t)h->n_targets * sizeof(kh_db_target))
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
	if (h->bins > UINT32_MAX || h->n_taxa == 0 || h->tool[31] != 0 ||
	    (h->max_bytes > 0 && h->file_bytes > h->max_bytes) ||
	    h->word_bits != kh_seed_bits(h->bins))
		return kh_db_bad(db, "a parameter in its header is out of range", err);
	if (h->zero != 0 || !kh_all_zero(h->zero2, sizeof h->zero2))
		return kh_db_bad(db, "a byte in its header that must be zero is not", err);
	return KH_OK;
}

/* --- sections --------------------------------------------------------------------- */
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

/* Fails if the records of the targets do not fit one another and the header. */
static int check_targets(const kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const uint64_t ids = h->section[KH_SEC_IDS].bytes;

	for (uint32_t i = 0; i < h->n_targets; i++) {
		const kh_db_target *t = &db->target[i];

		if (t->taxon >= h->n_taxa || t->id >= ids ||
		    (t->id > 0 && db->ids[t->id - 1] != 0) ||
		    t->bases / h->sampling.stride > UINT32_MAX)
			return kh_db_bad(db, "its targets are damaged", err);
	}
	return KH_OK;
}

static int make_bins(kh_db *db, uint32_t *first, uint32_t *taxon, kh_err *err)
{
	const kh_db_header *h = db->h;
	kh_bins targets = { .first = first, .taxon = taxon };
	const kh_tree tree = kh_taxonomy_tree(db->tax);
	uint64_t end = 0;
	int rc = check_targets(db, err);

	if (!rc)
		rc = kh_db_read_kept(db, first, taxon, &end, err);
	targets.n_targets = db->n_kept;
	if (!rc)
		rc = kh_bin_map_init(&db->bin_map, &targets, end, &tree, err);
	if (rc)
		return rc;
	db->bins = db->bin_map.bins;
	if (db->bin_map.end != h->bins)
		return kh_db_bad(db, "its targets and species do not fit its number of bins", err);
	return KH_OK;
}

static int load_targets(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	const size_t n = (size_t)(h->section[KH_SEC_KEPT].bytes / sizeof(kh_db_kept));
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

/* The text of a database by its stretches. */
static int find_stretches(const kh_db *db, kh_translated_text *to, kh_err *err)
{
	const kh_tree tree = kh_taxonomy_tree(db->tax);

	to->text = db->text;
	to->bases = db->h->bins * db->h->sampling.stride;
	to->n = db->n_kept;
	to->stretch = kh_array(to->n, sizeof *to->stretch, err);
	for (size_t i = 0; to->stretch && i < to->n; i++)
		to->stretch[i] = (kh_translated_stretch) {
			db->kept[i].first_bin * (uint64_t)db->h->sampling.stride,
			db->stretch[i].end,
			kh_translated_taxon(db->tax, db->bins.taxon[i]),
			kh_tree_own_species(&tree, db->bins.taxon[i])
		};
	return to->stretch ? KH_OK : KH_ENOMEM;
}

static int find_translated(kh_db *db, kh_err *err)
{
	const kh_db_header *h = db->h;
	kh_translated_text text = { .text = NULL };
	kh_err why = { 0, "" };
	int rc;

	if (h->section[KH_SEC_TRANSLATED].at == 0)
		return KH_OK;
	rc = find_stretches(db, &text, err);
	if (!rc)
		rc = kh_translated_find(&db->translated, kh_db_section(db, KH_SEC_TRANSLATED),
					h->section[KH_SEC_TRANSLATED].bytes, h->n_taxa, &text,
					&why);
	if (rc)
		free(text.stretch);
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
	if ((rc = kh_db_check_rest(db, o->threads, err)) ||
	    (rc = o->no_verify ? KH_OK : kh_db_check_text(db, o->threads, err)))
		return rc;
	db->image = kh_db_section(db, KH_SEC_INDEX);
	db->seeds = (kh_seed_index) { .image = db->image,
				      .dir = kh_db_section(db, KH_SEC_DIR),
				      .bits = db->h->word_bits };
	if ((rc = check_parameters(db, err)) || (rc = kh_db_check_seed_ranges(db, err)) ||
	    (rc = load_taxa(db, err)) || (rc = load_targets(db, err)) ||
	    (rc = kh_db_find_text(db, err)) || (rc = kh_db_find_strains(db, err)) ||
	    (rc = find_translated(db, err)) ||
	    (rc = kh_db_check_facts(db, err)))
		return rc;
	return o->no_verify || o->later ? KH_OK : kh_db_check(db, o->threads, err);
}
