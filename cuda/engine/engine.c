/*
 * engine.c - the engine: the database on each device, opened, checked, closed
 */
#include <config.h>
#include "cuda/engine/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/engine/engine_in.h"
#include "cuda/engine/rounds.h"
#include "base/mem.h"
#include "classify/match.h"

/* --- the structure of all ranges, each by the device that loaded it -------------------
 */
static int check_range(const kh_db *db, int p, uint32_t bad, uint32_t entries,
		       kh_err *err)
{
	kh_err why = { 0, "" };

	if (bad == UINT32_MAX && entries == db->dir[p].entries)
		return KH_OK;
	/* the check on the host finds the error again, and says what it is */
	if (!kh_index_check(db->image, &db->dir[p], (uint32_t)db->h->bins, db->h->n_taxa,
			    &why))
		kh_fail(&why, KH_EFORMAT, "bucket %" PRIu32 " is damaged", bad);
	return kh_fail(err, KH_EFORMAT, "%s: not a usable database: range %d, %s",
		       db->path, p, why.msg);
}

static int check_share(const kh_engine *e, size_t i, uint32_t *host, kh_err *err)
{
	const unsigned m = e->member + (unsigned)i;
	const unsigned from = e->shards.first[m], n = e->shards.first[m + 1] - from;
	kh_gpu_buf buf = { .p = NULL };
	uint32_t *bad;
	int rc = kh_gpu_use(e->copy[i].device, err);

	if (!rc)
		rc = kh_gpu_room(&buf, 2 * KH_RANGES * 4, err);
	bad = buf.p;
	if (rc || (rc = KH_GPU(cudaMemset(bad, 0xff, KH_RANGES * 4), err)) ||
	    (rc = KH_GPU(cudaMemset(bad + KH_RANGES, 0, KH_RANGES * 4), err)) ||
	    (rc = kh_gpu_check(kh_gpu_index_check(&e->copy[i].ix,
						  (uint32_t)e->db->h->bins, from, n, bad,
						  bad + KH_RANGES, NULL),
			       "check of the index", err)) ||
	    (rc = KH_GPU(cudaMemcpy(host, bad, 2 * KH_RANGES * 4, cudaMemcpyDeviceToHost),
			 err)))
		goto out;
	for (unsigned p = from; p < from + n && !rc; p++)
		rc = check_range(e->db, (int)p, host[p], host[KH_RANGES + p], err);
out:
	kh_gpu_drop(&buf);
	return rc;
}

/* The index of a database with text is checked on the host, where it is mapped. */
static int check(const kh_engine *e, unsigned threads, kh_err *err)
{
	if (e->db->text)
		return kh_db_check(e->db, 0, KH_RANGES, threads ? threads : kh_cpus(), err);

	uint32_t *host = kh_array(2 * KH_RANGES, sizeof *host, err);
	const double began = kh_seconds();
	int rc = host ? KH_OK : KH_ENOMEM;

	for (size_t i = 0; i < e->n && !rc; i++)
		rc = check_share(e, i, host, err);
	kh_log(KH_DEBUG, "index: %.3f s to check it", kh_seconds() - began);
	free(host);
	return rc;
}

/* --- what is small lies on every device ------------------------------------------------
 */
static int put(kh_gpu_buf *to, const void *p, size_t bytes, kh_err *err)
{
	int rc = kh_gpu_room_exact(to, bytes ? bytes : 1, err);

	return rc || !bytes
		       ? rc
		       : KH_GPU(cudaMemcpy(to->p, p, bytes, cudaMemcpyHostToDevice), err);
}

/* Fills in the addresses of the sections of an index on the host. An address of the host is valid
 * on devices, too. */
static void host_dir(const kh_engine *e, const struct kh_cuda_copy *c, kh_range *dir)
{
	for (unsigned p = 0; p < KH_RANGES; p++) {
		const struct kh_cuda_section *b = &e->section[p], *l = b + KH_RANGES;

		dir[p].first_bucket =
			((uintptr_t)(b->on_host ? e->host : c->image.p) + b->at) / 64;
		dir[p].first_loc = ((uintptr_t)(l->on_host ? e->host : c->image.p) + l->at) / 4;
	}
}

/* Puts the directory on the device. If the index does not lie there as in the file, its offsets
 * count from address 0, so that a device can read what others hold at the addresses there. */
static int put_dir(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	kh_range dir[KH_RANGES];

	if (e->db->text)
		return put(&c->dir, e->db->seeds.dir, KH_RANGES * sizeof *e->db->seeds.dir, err);
	for (unsigned p = 0; p < KH_RANGES; p++)
		dir[p] = e->db->dir[p];
	if (e->placement == KH_PLACE_HOST)
		host_dir(e, c, dir);
	for (size_t i = 0; i < e->n && e->placement >= KH_PLACE_SHARD; i++) {
		const unsigned m = e->member + (unsigned)i;

		for (unsigned p = e->shards.first[m]; p < e->shards.first[m + 1]; p++) {
			kh_range *r = &dir[p];

			r->first_bucket = (uint64_t)(uintptr_t)kh_cuda_image(
						  e, &e->copy[i], r->first_bucket * 64) /
					  64;
			r->first_loc = (uint64_t)(uintptr_t)kh_cuda_image(
					       e, &e->copy[i], r->first_loc * 4) /
				       4;
		}
	}
	return put(&c->dir, dir, sizeof dir, err);
}

/* The targets where the search for that of a bin begins: some ten thousand places for all bins, in
 * which few targets begin. */
static int put_guess(const kh_db *db, struct kh_cuda_copy *c, uint32_t *shift, kh_err *err)
{
	enum { PLACES = 1 << 16 };
	const uint64_t bins = db->h->bins;
	uint32_t *guess;
	size_t n;
	int rc;

	for (*shift = 0; bins >> *shift >= PLACES;)
		++*shift;
	n = (size_t)(bins >> *shift) + 2;
	guess = kh_array(n, sizeof *guess, err);
	if (!guess)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const uint64_t bin = (uint64_t)i << *shift;

		guess[i] = kh_bins_target(&db->bins, bin < UINT32_MAX ? (uint32_t)bin : UINT32_MAX);
	}
	rc = put(&c->guess, guess, n * sizeof *guess, err);
	free(guess);
	return rc;
}

/* Of a database with text that is not replicated: where its tiles are. */
static int put_tiles(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const uint64_t n = kh_cuda_tiles(e);
	uint64_t tile[KH_SHARES_TILES];

	for (uint64_t i = 0; i < n; i++)
		tile[i] = kh_cuda_tile(e, c, i);
	return put(&c->tile, tile, n * sizeof *tile, err);
}

/* Of a database with text: what the kernels have of it. */
static int put_text(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_db *db = e->db;
	const uint64_t from = kh_cuda_extent(db).at;
	const uint64_t text = db->h->text.at - from, index = db->h->section[KH_SEC_INDEX].at - from;
	const char *image = c->image.p;
	kh_match_db *x = &c->text;
	int rc = put(&c->stretch, db->stretch, db->n_kept * sizeof *db->stretch, err);

	if (!rc)
		rc = put(&c->strains, db->strains, db->n_strains * sizeof *db->strains, err);

	kh_match_db_init(x, db, &e->rule);
	x->candidates = e->rule.candidates;
	if (e->placement == KH_PLACE_REPLICATE) {
		x->text = (const uint32_t *)(const void *)(image + text);
		x->seeds.image = image + index;
	} else if (!rc && !(rc = put_tiles(e, c, err))) {
		const uint32_t shift = kh_shares_shift(kh_cuda_extent(db).bytes);

		x->shares = (kh_shares) { c->tile.p, text, shift };
		x->seeds.shares = (kh_shares) { c->tile.p, index, shift };
	}
	x->seeds.dir = c->dir.p;
	x->bins = c->ix.bins;
	x->stretch = c->stretch.p;
	x->strains = c->strains.p;
	x->guess = c->ix.guess;
	x->guess_shift = c->ix.guess_shift;
	x->tree = c->ix.tree;
	return rc;
}

/* The translated seeds, and the parts of the text that reads are compared with. */
static int put_translated(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_db *db = e->db;
	const kh_translated *t = &db->translated;
	kh_translated *x = &c->translated.seeds;
	int rc = put(&c->seeds, t->head, db->h->translated.bytes, err);

	if (!rc)
		rc = put(&c->seed_part, t->part, t->parts * sizeof *t->part, err);
	if (rc)
		return rc;
	*x = *t;
	kh_translated_move(x, c->seeds.p);
	x->part = c->seed_part.p;
	if (db->text)
		x->text = c->text.text;
	c->translated.k = t->head->k;
	memcpy(c->translated.letter, kh_letter_of, sizeof kh_letter_of);
	return KH_OK;
}

static int put_small(const kh_engine *e, struct kh_cuda_copy *c, kh_err *err)
{
	const kh_db *db = e->db;
	const kh_taxonomy *t = db->tax;
	size_t n = t->n * sizeof(uint32_t), m = db->bins.n * sizeof(uint32_t);
	uint32_t shift;
	int rc = kh_gpu_use(c->device, err);

	if (rc || (rc = put_dir(e, c, err)) ||
	    (rc = put(&c->first, db->bins.first, m, err)) ||
	    (rc = put_guess(db, c, &shift, err)) ||
	    (rc = put(&c->taxon, db->bins.taxon, m, err)) ||
	    (rc = put(&c->target_species, db->bins.species,
		      db->bins.n_targets * sizeof(uint32_t), err)) ||
	    (rc = put(&c->parent, t->parent, n, err)) ||
	    (rc = put(&c->end, t->end, n, err)) ||
	    (rc = put(&c->species, t->species, n, err)) ||
	    (rc = put(&c->genus, t->genus, n, err)))
		return rc;
	c->ix = (kh_gpu_index) {
		.image = e->placement == KH_PLACE_REPLICATE ? c->image.p : NULL,
		.dir = c->dir.p,
		.bins = db->bins,
		.guess = c->guess.p,
		.guess_shift = shift,
		.tree = { .n = t->n,
			  .parent = c->parent.p,
			  .end = c->end.p,
			  .species = c->species.p,
			  .genus = c->genus.p },
		.bits = db->bins.bits
	};
	c->ix.bins.first = c->first.p;
	c->ix.bins.taxon = c->taxon.p;
	c->ix.bins.species = c->target_species.p;
	if (db->text && ((rc = put_text(e, c, err)) || (rc = kh_batches_open(&c->batches, err))))
		return rc;
	if (e->translated > 0 && (rc = put_translated(e, c, err)))
		return rc;
	/* copies from pageable memory may be under way still, and queues' streams do not wait */
	return KH_GPU(cudaDeviceSynchronize(), err);
}

/* --- engine ------------------------------------------------------------------------- */
void kh_cuda_engine_close(kh_engine *e)
{
	if (!e)
		return;
	kh_rounds_close(e->rounds);
	for (size_t i = 0; e->copy && i < e->n; i++) {
		cudaSetDevice(e->copy[i].device);
		kh_batches_close(e->copy[i].batches);
		KH_GPU_DROP(e->copy[i].all);
	}
	kh_cuda_unpin(e);
	free(e->copy);
	free(e);
}

static int open_rounds(kh_engine *e, const kh_engine_options *o, kh_err *err)
{
	const bool alone = e->placement == KH_PLACE_HOST;
	const kh_choice *c = &o->on.choice;
	kh_comm *processes = alone ? NULL : o->on.comm;
	kh_gpu_comm *comm = NULL;
	int rc = alone ? kh_gpu_comm_open_here(&comm, c->device, c->n, err)
		       : kh_gpu_comm_open(&comm, processes, c->device, c->n, err);

	if (rc)
		return rc;
	assert(kh_gpu_comm_first(comm) == e->member && kh_gpu_comm_size(comm) == e->shards.n);
	return kh_rounds_open(&e->rounds, e, comm, processes, err);
}

int kh_cuda_engine_open(const kh_backend *be, kh_engine **out, const kh_db *db,
			const kh_engine_options *o, kh_err *err)
{
	kh_engine *e = kh_array(1, sizeof *e, err);
	int rc;

	(void)be;
	if (!e)
		return KH_ENOMEM;
	e->db = db;
	e->rule = *o->rule;
	e->n = o->on.choice.n;
	e->copy = kh_array(e->n, sizeof *e->copy, err);
	if (!e->copy) {
		kh_cuda_engine_close(e);
		return KH_ENOMEM;
	}
	for (size_t i = 0; i < e->n; i++)
		e->copy[i].device = o->on.choice.device[i];
	rc = kh_cuda_place(e, o, err);
	if (!rc && !e->by_host)
		rc = kh_cuda_load(e, o->on.threads, err);
	for (size_t i = 0; i < e->n && !rc && !e->by_host; i++)
		rc = put_small(e, &e->copy[i], err);
	if (!rc && db->unchecked)
		rc = check(e, o->on.threads, err);
	if (!rc && !db->text &&
	    (e->placement == KH_PLACE_SHARD_EXCHANGE || e->placement == KH_PLACE_HOST))
		rc = open_rounds(e, o, err);
	if (rc) {
		kh_cuda_engine_close(e);
		return rc;
	}
	*out = e;
	return KH_OK;
}
