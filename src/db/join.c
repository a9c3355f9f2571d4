#include <config.h>
#include "db/join.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/buf.h"
#include "base/mem.h"
#include "base/size.h"
#include "db/load_in.h"
#include "taxonomy/join.h"

/* --- what can be joined ------------------------------------------------------------------ */
/* Reads are asked for seeds once, so these must be of one kind.  A database of limited size, and
 * one without repeats, lacks some of them: those are not asked for. */
static bool same_seeds(const kh_db_header *a, const kh_db_header *b)
{
	return a->sampling.scheme == b->sampling.scheme && a->sampling.k == b->sampling.k &&
	       a->sampling.s == b->sampling.s && a->sampling.stride == b->sampling.stride;
}

static int differ(const kh_db *a, const kh_db *b, kh_err *err)
{
	const kh_db_header *g = a->h, *h = b->h;

	return kh_fail(err, KH_EUSAGE, "%.100s and %.100s cannot be used together, as their seeds "
		       "differ: %s, k = %u, s = %u, stride %u; %s, k = %u, s = %u, stride %u: "
		       "build the smaller one with --set total-bases of the other, and parts of "
		       "one collection each with that of all of it", a->path, b->path,
		       kh_scheme_name(g->sampling.scheme), g->sampling.k, g->sampling.s,
		       g->sampling.stride, kh_scheme_name(h->sampling.scheme), h->sampling.k,
		       h->sampling.s, h->sampling.stride);
}

static int check_pair(const kh_db *a, const kh_db *b, kh_err *err)
{
	/* the checksum of the header covers all other bytes */
	if (a->h->self == b->h->self)
		return kh_fail(err, KH_EUSAGE, "%.200s and %.200s are the same database", a->path,
			       b->path);
	if (!same_seeds(a->h, b->h))
		return differ(a, b, err);
	if (kh_db_is_thin(a->h) != kh_db_is_thin(b->h))
		return kh_fail(err, KH_EUSAGE, "%.150s lacks the bases of its references, as it "
			       "was built with a small --max-db-size, and %.150s has them: they "
			       "cannot be used together",
			       kh_db_is_thin(a->h) ? a->path : b->path,
			       kh_db_is_thin(a->h) ? b->path : a->path);
	return KH_OK;
}

static int check_all(kh_db *const *volume, unsigned n, kh_err *err)
{
	uint64_t bins = 0, targets = 0;
	int rc = KH_OK;

	for (unsigned i = 0; i < n && !rc; i++) {
		if (volume[i]->k2)
			return kh_fail(err, KH_EUSAGE, "%s: a database of Kraken 2 is not used "
				       "together with others", volume[i]->path);
		for (unsigned k = 0; k < i && !rc; k++)
			rc = check_pair(volume[k], volume[i], err);
		bins += volume[i]->h->bins;
		targets += volume[i]->h->n_targets;
	}
	if (!rc && (bins >= KH_SEED_MANY || targets > UINT32_MAX))
		rc = kh_fail(err, KH_EUSAGE, "the databases have more text than can be used "
			     "together: %" PRIu64 " bins", bins);
	return rc;
}

/* --- bins and text ------------------------------------------------------------------------ */
static uint64_t bin_bytes(const kh_db *db)
{
	return db->h->sampling.stride / KH_TEXT_WORD * sizeof *db->text;
}

/* Numbers the bins.  A text lies at a multiple of a large page, or as far behind one as it does in
 * its file, so both can be mapped; *bytes: from the first one to the end of the last. */
static int number_bins(kh_joined *j, size_t *bytes, kh_err *err)
{
	const uint64_t first = j->volume[0]->h->section[KH_SEC_TEXT].at % KH_LARGE_PAGE;
	uint64_t at = 0, bin = 0;

	for (unsigned i = 0; i < j->n; i++) {
		const kh_db *db = j->volume[i];
		const kh_db_extent *text = &db->h->section[KH_SEC_TEXT];

		if (text->at > 0) {
			at = (at + KH_LARGE_PAGE - 1) / KH_LARGE_PAGE * KH_LARGE_PAGE +
			     text->at % KH_LARGE_PAGE;
			bin = (at - first) / bin_bytes(db);
			/* a read lies in one database alone */
			at += text->bytes + KH_DB_PAGE;
		}
		if (bin + db->h->bins >= KH_SEED_MANY)
			return kh_fail(err, KH_EUSAGE, "the databases have more text than can be "
				       "used together");
		j->first_bin[i] = (uint32_t)bin;
		j->hole[i] = bin - j->bins;
		j->bins += db->h->bins;
		bin += db->h->bins;
	}
	j->h.bins = bin;
	*bytes = (size_t)at;
	return KH_OK;
}

static int map_text(const kh_joined *j, unsigned i, char *to, kh_err *err)
{
	kh_db *db = j->volume[i];
	const uint64_t at = db->h->section[KH_SEC_TEXT].at;
	const uint64_t before = at % (uint64_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (size_t)(db->h->section[KH_SEC_TEXT].bytes + before);
	void *map = mmap(to - before, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, db->fd,
			 (off_t)(at - before));

	if (map == MAP_FAILED)
		return kh_fail_errno(err, db->path);
#ifdef MADV_HUGEPAGE
	madvise(map, bytes, MADV_HUGEPAGE);
#endif
	db->beside.text = map;
	db->beside.bytes = bytes;
	return KH_OK;
}

/* Takes addresses for all texts, where zeros are read, and maps each to its place. */
static int map_texts(kh_joined *j, size_t bytes, const uint32_t **text, kh_err *err)
{
	const size_t size = bytes + KH_LARGE_PAGE;
	const uint64_t first = j->volume[0]->h->section[KH_SEC_TEXT].at % KH_LARGE_PAGE;
	void *taken = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			   0);
	int rc = KH_OK;

	if (taken == MAP_FAILED)
		return kh_fail(err, KH_ENOMEM, "%s of addresses are needed to use databases "
			       "together, and there are none left (ulimit -v)",
			       kh_size_show(size).s);
	j->texts = taken;
	j->text_bytes = size;
	char *base = (char *)taken + -(uintptr_t)taken % KH_LARGE_PAGE + first;

	for (unsigned i = 0; i < j->n && !rc; i++)
		rc = map_text(j, i, base + j->first_bin[i] * bin_bytes(j->volume[i]), err);
	*text = (const void *)base;
	return rc;
}

uint64_t kh_db_base_number(const kh_db *db, uint64_t base)
{
	const kh_joined *j = db->joined;
	const uint32_t stride = db->h->sampling.stride;
	unsigned i = j ? j->n - 1 : 0;

	while (i > 0 && base / stride < j->first_bin[i])
		i--;
	return j ? base - j->hole[i] * stride : base;
}

/* --- taxa ---------------------------------------------------------------------------------- */
static int join_taxa(kh_db *db, kh_joined *j, bool by_name, kh_err *err)
{
	kh_taxonomy_volume *volume = kh_array(j->n, sizeof *volume, err);
	int rc = volume ? KH_OK : KH_ENOMEM;

	for (unsigned i = 0; i < j->n && !rc; i++) {
		j->number[i] = kh_array(j->volume[i]->tax->n, sizeof *j->number[i], err);
		volume[i] = (kh_taxonomy_volume) { j->volume[i]->tax, j->volume[i]->path,
						   j->number[i] };
		rc = j->number[i] ? KH_OK : KH_ENOMEM;
	}
	if (!rc)
		rc = kh_taxonomy_join(&db->tax, volume, j->n, by_name, err);
	free(volume);
	return rc;
}

/* --- copies with new numbers ----------------------------------------------------------------- */
static void copy_targets(kh_joined *j, unsigned i, uint32_t *n, uint64_t *ids)
{
	const kh_db *db = j->volume[i];
	const size_t bytes = (size_t)db->h->section[KH_SEC_IDS].bytes;

	for (uint32_t t = 0; t < db->h->n_targets; t++) {
		kh_db_target *to = &j->target[*n + t];

		*to = db->target[t];
		to->first_bin += j->first_bin[i];
		to->taxon = j->number[i][to->taxon];
		to->id += *ids;
	}
	memcpy(j->ids + *ids, db->ids, bytes);
	*n += db->h->n_targets;
	*ids += bytes;
}

/* Where a stretch and its alleles are in the text, counted in bases and words. */
static void copy_kept(kh_db *all, kh_joined *j, unsigned i, uint32_t target, uint32_t *n)
{
	const kh_db *db = j->volume[i];
	const uint64_t base = (uint64_t)j->first_bin[i] * db->h->sampling.stride;

	for (uint32_t k = 0; k < db->n_kept; k++) {
		kh_db_kept *to = &j->kept[*n + k];
		kh_text_stretch *s = &all->stretch[*n + k];

		*to = db->kept[k];
		to->target += target;
		to->first_bin += j->first_bin[i];
		*s = db->stretch[k];
		s->end += base;
		s->alleles += s->alleles > 0 ? base / KH_TEXT_WORD : 0;
	}
	*n += db->n_kept;
}

static void copy_strains(kh_joined *j, unsigned i, uint32_t *n)
{
	const kh_db *db = j->volume[i];

	for (uint32_t k = 0; k < db->n_strains; k++) {
		kh_text_strains *to = &j->strains[*n + k];

		*to = db->strains[k];
		to->bin += j->first_bin[i];
		to->same = j->number[i][to->same];
		to->other = j->number[i][to->other];
	}
	*n += db->n_strains;
}

static int make_copies(kh_db *db, kh_joined *j, kh_err *err)
{
	uint32_t target = 0, kept = 0, strains = 0;
	uint64_t ids = 0;

	for (unsigned i = 0; i < j->n; i++) {
		db->n_kept += j->volume[i]->n_kept;
		db->n_strains += j->volume[i]->n_strains;
		ids += j->volume[i]->h->section[KH_SEC_IDS].bytes;
	}
	j->target = kh_array(j->h.n_targets, sizeof *j->target, err);
	j->kept = kh_array(db->n_kept, sizeof *j->kept, err);
	j->strains = kh_array(db->n_strains, sizeof *j->strains, err);
	j->ids = kh_array((size_t)ids, 1, err);
	db->stretch = kh_array(db->n_kept, sizeof *db->stretch, err);
	if (!j->target || !j->kept || !j->strains || !j->ids || !db->stretch)
		return KH_ENOMEM;
	ids = 0;
	for (unsigned i = 0; i < j->n; i++) {
		copy_kept(db, j, i, target, &kept);
		copy_targets(j, i, &target, &ids);
		copy_strains(j, i, &strains);
	}
	db->target = j->target;
	db->ids = j->ids;
	db->kept = j->kept;
	db->strains = db->n_strains > 0 ? j->strains : NULL;
	return KH_OK;
}

static int make_bins(kh_db *db, kh_err *err)
{
	uint32_t *first = kh_array(db->n_kept, sizeof *first, err);
	uint32_t *taxon = kh_array(db->n_kept, sizeof *taxon, err);
	const kh_bins targets = { .first = first, .taxon = taxon, .n_targets = db->n_kept };
	const kh_tree tree = kh_taxonomy_tree(db->tax);
	int rc = first && taxon ? KH_OK : KH_ENOMEM;

	for (uint32_t i = 0; i < db->n_kept && !rc; i++) {
		first[i] = db->kept[i].first_bin;
		taxon[i] = db->target[db->kept[i].target].taxon;
	}
	if (!rc)
		rc = kh_bin_map_init(&db->bin_map, &targets, db->h->bins, &tree, err);
	db->bins = db->bin_map.bins;
	db->bins.bits = db->h->word_bits;
	free(first);
	free(taxon);
	return rc ? rc : kh_db_name_species(db, &tree, err);
}

/* --- the whole ------------------------------------------------------------------------------- */
/* The header of a database that has all of it. */
static void add_headers(kh_joined *j)
{
	kh_db_header *h = &j->h;

	*h = *j->volume[0]->h;
	for (unsigned i = 1; i < j->n; i++) {
		const kh_db_header *x = j->volume[i]->h;
		const uint64_t both[2] = { h->self, x->self };

		h->least = x->least > h->least ? x->least : h->least;
		h->no_repeats |= x->no_repeats;
		h->locations += x->locations;
		h->features += x->features;
		h->over += x->over;
		h->bases += x->bases;
		h->sequences += x->sequences;
		h->n_targets += x->n_targets;
		h->self = XXH3_64bits(both, sizeof both);
	}
	h->unmapped = h->unmapped_bases = 0;
	h->section[KH_SEC_TRANSLATED] = (kh_db_extent) { 0, 0 };
}

static int join_paths(kh_db *db, const kh_joined *j, kh_err *err)
{
	kh_buf b = { .n = 0 };

	for (unsigned i = 0; i < j->n; i++) {
		kh_buf_string(&b, i > 0 ? ", " : "");
		kh_buf_string(&b, j->volume[i]->path);
		db->bytes += j->volume[i]->bytes;
	}
	kh_buf_add(&b, "", 1);
	db->path = b.p;
	return kh_buf_check(&b, err);
}

static int make_rooms(kh_joined *j, kh_db *const *volume, unsigned n, kh_err *err)
{
	j->volume = kh_array(n, sizeof(kh_db *), err);
	j->seeds = kh_array(n, sizeof *j->seeds, err);
	j->first_bin = kh_array(n, sizeof *j->first_bin, err);
	j->hole = kh_array(n, sizeof *j->hole, err);
	j->number = kh_array(n, sizeof(uint32_t *), err);
	if (!j->volume || !j->seeds || !j->first_bin || !j->hole || !j->number)
		return KH_ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		j->volume[i] = volume[i];
		j->seeds[i] = volume[i]->seeds;
	}
	j->n = n;
	j->index = (kh_seed_joint) { j->seeds, j->first_bin, n };
	return KH_OK;
}

static int join(kh_db *db, kh_joined *j, bool by_name, kh_err *err)
{
	size_t bytes = 0;
	int rc;

	add_headers(j);
	if ((rc = number_bins(j, &bytes, err)) || (rc = join_paths(db, j, err)))
		return rc;
	if (!kh_db_is_thin(&j->h) && (rc = map_texts(j, bytes, &db->text, err)))
		return rc;
	for (unsigned i = 0; i < j->n; i++)
		db->alleles |= j->volume[i]->alleles;
	if ((rc = join_taxa(db, j, by_name, err)))
		return rc;
	j->h.n_taxa = db->tax->n;
	j->h.word_bits = kh_seed_bits(j->h.bins);
	if ((rc = make_copies(db, j, err)))
		return rc;
	j->h.digest = kh_db_digest(db);
	return make_bins(db, err);
}

/* Gives back what was copied. */
static void end_join(kh_joined *j)
{
	for (unsigned i = 0; i < j->n; i++) {
		kh_db *db = j->volume[i];

		kh_taxonomy_free(db->tax);
		db->tax = NULL;
		kh_bin_map_clear(&db->bin_map);
		free(db->stretch);
		db->stretch = NULL;
	}
}

int kh_db_join(kh_db **out, kh_db *const *volume, unsigned n, bool by_name, kh_err *err)
{
	kh_db *db = kh_array(1, sizeof *db, err);
	kh_joined *j = kh_array(1, sizeof *j, err);
	int rc = db && j ? check_all(volume, n, err) : KH_ENOMEM;

	if (!db || !j) {
		free(db);
		free(j);
		return rc;
	}
	db->fd = -1;
	db->joined = j;
	db->h = &j->h;
	if (!rc)
		rc = make_rooms(j, volume, n, err);
	if (!rc)
		rc = join(db, j, by_name, err);
	if (rc) {
		for (unsigned i = 0; i < j->n; i++) {
			free(j->number[i]);
			volume[i]->beside.text = NULL;
		}
		j->n = 0;               /* they stay with the caller */
		kh_db_close(db);
		return rc;
	}
	end_join(j);
	*out = db;
	return KH_OK;
}

void kh_joined_free(kh_joined *j)
{
	if (!j)
		return;
	for (unsigned i = 0; i < j->n; i++) {
		kh_db_close(j->volume[i]);
		free(j->number[i]);
	}
	if (j->texts)
		munmap(j->texts, j->text_bytes);
	free(j->volume);
	free(j->seeds);
	free(j->first_bin);
	free(j->hole);
	free(j->number);
	free(j->target);
	free(j->ids);
	free(j->kept);
	free(j->strains);
	free(j);
}
