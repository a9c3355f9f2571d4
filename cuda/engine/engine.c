/*
 * engine.c - the engine: the database on each device, opened, checked, closed
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include "cuda/engine/engine_in.h"
#include "base/mem.h"
#include "classify/match.h"

/* --- what is small lies on every device ------------------------------------------------
 */
static int put(kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes
		       ? rc
		       : KH_GPU(cudaMemcpy(to->p, p, bytes, cudaMemcpyHostToDevice), err);
}

/* The targets where the search for that of a bin begins: some ten thousand places for all bins, in
 * which few targets begin. */
static int put_guess(const kh_db *db, struct kh_cuda_copy *c, kh_err *err)
{
	enum { PLACES = 1 << 16 };
	const uint64_t bins = db->h->bins;
	uint32_t *guess, shift = 0;
	size_t n;
	int rc;

	while (bins >> shift >= PLACES)
		shift++;
	n = (size_t)(bins >> shift) + 2;
	guess = kh_array(n, sizeof *guess, err);
	if (!guess)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t bin = (uint64_t)i << shift;

		guess[i] = kh_bins_target(&db->bins, bin < UINT32_MAX ? (uint32_t)bin : UINT32_MAX);
	}
	rc = put(&c->guess, guess, n * sizeof *guess, err);
	free(guess);
	c->db.guess = c->guess.p;
	c->db.guess_shift = shift;
	return rc;
}

/* Of what is not replicated: where its tiles are. */
static int put_tiles(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const uint64_t n = kh_cuda_tiles(e);
	uint64_t tile[KH_SHARES_TILES];

	for (uint64_t i = 0; i < n; i++)
		tile[i] = kh_cuda_tile(e, c, i);
	return put(&c->tile, tile, n * sizeof *tile, err);
}

/* What begins at byte `at`, in the one image that has all, or in tiles. */
static const void *in_image(const kh_engine *e, const struct kh_cuda_copy *c, uint64_t at)
{
	return e->placement == KH_PLACE_REPLICATE ? (const char *)c->image.p + at : NULL;
}

static kh_shares in_tiles(const kh_engine *e, const struct kh_cuda_copy *c, uint64_t at)
{
	return (kh_shares) { c->tile.p, at, kh_shares_shift(e->bytes) };
}

/* What the kernels have of the indices. */
static int put_indices(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	kh_seed_volume *volume = kh_array(e->n_files, sizeof *volume, err);
	kh_seed_range *dir = kh_array(e->n_files, KH_RANGES * sizeof *dir, err);
	int rc = volume && dir ? KH_OK : KH_ENOMEM;

	for (unsigned i = 0; i < e->n_files && !rc; i++)
		memcpy(dir + i * KH_RANGES, e->file[i].db->seeds.dir, KH_RANGES * sizeof *dir);
	if (!rc)
		rc = put(&c->dir, dir, e->n_files * KH_RANGES * sizeof *dir, err);
	for (unsigned i = 0; i < e->n_files && !rc; i++) {
		const kh_cuda_file *f = &e->file[i];

		volume[i].first_bin = f->first_bin;
		volume[i].index = (kh_seed_index) { .image = in_image(e, c, f->index),
						  .dir = (kh_seed_range *)c->dir.p + i * KH_RANGES,
						  .bits = f->db->seeds.bits,
						  .shares = in_tiles(e, c, f->index) };
	}
	if (!rc) {
		c->db.seeds = volume[0].index;
		rc = put(&c->volume, volume, e->n_files * sizeof *volume, err);
	}
	if (e->n_files > 1) {
		c->db.beside = (kh_seed_volume *)c->volume.p + 1;
		c->db.n_beside = e->n_files - 1;
	}
	free(volume);
	free(dir);
	return rc;
}

/* And of the text. */
static int put_text(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_db *db = e->db;
	/* so that no pointer of a kernel is NULL */
	const kh_text_strains none = { 0, 0, 0, 0 };
	const size_t n = db->n_strains;
	kh_match_db *x = &c->db;
	int rc;

	if ((e->placement != KH_PLACE_REPLICATE && (rc = put_tiles(e, c, err))) ||
	    (rc = put(&c->stretch, db->stretch, db->n_kept * sizeof *db->stretch, err)) ||
	    (rc = put(&c->strains, n ? db->strains : &none, (n ? n : 1) * sizeof none, err)))
		return rc;
	kh_match_db_init(x, db, &e->rule);
	x->want = e->rule.want;
	x->stretch = c->stretch.p;
	x->strains = c->strains.p;
	if (e->placement == KH_PLACE_REPLICATE)
		x->text = in_image(e, c, e->file->text);
	x->shares = in_tiles(e, c, e->file->text);
	return put_indices(e, c, err);
}

/* Its bins and taxa. */
static int put_bins(const kh_db *db, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_taxonomy *t = db->tax;
	const size_t n = t->n * sizeof(uint32_t), m = db->bins.n_targets * sizeof(uint32_t);
	const size_t species = db->bins.n_species * sizeof(uint32_t);
	kh_match_db *x = &c->db;
	int rc;

	if ((rc = put(&c->first, db->bins.first, m + sizeof(uint32_t), err)) ||
	    (rc = put_guess(db, c, err)) ||
	    (rc = put(&c->taxon, db->bins.taxon, m + species, err)) ||
	    (rc = put(&c->species_row, db->bins.species_row, m, err)) ||
	    (rc = put(&c->parent, t->parent, n, err)) || (rc = put(&c->end, t->end, n, err)) ||
	    (rc = put(&c->species, t->species, n, err)) || (rc = put(&c->genus, t->genus, n, err)))
		return rc;
	x->bins = db->bins;
	x->bins.first = c->first.p;
	x->bins.taxon = c->taxon.p;
	x->bins.species_row = c->species_row.p;
	x->tree = (kh_tree) { .n = t->n,
			      .parent = c->parent.p,
			      .end = c->end.p,
			      .species = c->species.p,
			      .genus = c->genus.p };
	return KH_OK;
}

/* The translated seeds, and the stretches of the text that reads are compared with. */
static int put_translated(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_db *db = e->db;
	const kh_translated *t = &db->translated;
	kh_translated *x = &c->translated.seeds;
	int rc = KH_GPU(kh_gpu_query_translate_prepare(), err);

	if (!rc)
		rc = put(&c->seeds, t->head, db->h->section[KH_SEC_TRANSLATED].bytes, err);
	if (!rc)
		rc = put(&c->translated_stretch, t->stretch, t->n_stretches * sizeof *t->stretch,
			 err);
	if (rc)
		return rc;
	*x = *t;
	kh_translated_move(x, c->seeds.p);
	x->stretch = c->translated_stretch.p;
	x->text = c->db.text;
	c->translated.k = t->head->k;
	memcpy(c->translated.letter, kh_letter_of, sizeof kh_letter_of);
	return KH_OK;
}

static int put_small(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	int rc;

	if ((rc = kh_gpu_use(c->device, err)) || (rc = put_text(e, c, err)) ||
	    (rc = put_bins(e->db, c, err)) ||
	    (rc = kh_batches_open(&c->batches, kh_cuda_fetched(e), e->bytes, err)) ||
	    (e->translated > 0 && (rc = put_translated(e, c, err))))
		return rc;
	/* copies from pageable memory may be under way still, and queues' streams do not wait */
	return KH_GPU(cudaDeviceSynchronize(), err);
}

/* --- engine ------------------------------------------------------------------------- */
void kh_cuda_engine_close(kh_engine *e)
{
	if (!e)
		return;
	for (size_t i = 0; e->copy && i < e->n; i++) {
		cudaSetDevice(e->copy[i].device);
		kh_batches_close(e->copy[i].batches);
		KH_GPU_DROP(e->copy[i].all);
	}
	kh_cuda_unpin(e);
	free(e->copy);
	free(e->file);
	free(e);
}

int kh_cuda_engine_open(kh_engine **out, const kh_db *db, const kh_engine_options *o,
			kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	if (!e)
		return KH_ENOMEM;
	e->db = db;
	e->rule = *o->rule;
	e->input = o->input;
	e->features = o->features;
	e->n = o->on.choice.n;
	e->copy = kh_array(e->n, sizeof *e->copy, err);
	if (!e->copy) {
		kh_cuda_engine_close(e);
		return KH_ENOMEM;
	}
	for (size_t i = 0; i < e->n; i++)
		e->copy[i].device = o->on.choice.device[i];
	rc = kh_cuda_files(e, err);
	if (!rc)
		rc = kh_cuda_place(e, o, err);
	if (!rc && !e->by_host)
		rc = kh_cuda_load(e, o->on.threads, err);
	for (size_t i = 0; i < e->n && !rc && !e->by_host; i++)
		rc = put_small(e, &e->copy[i], err);
	/* the host checks what is mapped there */
	for (unsigned i = 0; i < e->n_files && !rc; i++)
		if (e->file[i].db->unchecked)
			rc = kh_db_check(e->file[i].db, o->on.threads ? o->on.threads : kh_cpus(),
					 err);
	if (rc) {
		kh_cuda_engine_close(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}
