/*
 * dtable_insert.c - whose a key is: hash values, hash ranges of equal load, what goes where; and
 * inserting into a table over several GPUs, at the owners, or each its own
 */
#include <config.h>
#include "cuda/tables/dtable_in.h"

static kht_dcounts counts_of(const kht_dtable *d, const kht_dmember *m)
{
	return (kht_dcounts) { m->room[KHT_DROOM_COUNT].p, d->chunks, 1u << d->count_log2,
			       d->members };
}

static size_t matrix_bytes(const kht_dtable *d)
{
	return (size_t)d->members * d->members * d->chunks * 8;
}

static int clear_matrix(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	(void)arg;
	return KH_GPU(cudaMemsetAsync(kht_dt_at(&d->m[i], KHT_DROOM_MATRIX, 0), 0, matrix_bytes(d),
				      d->work[i]),
		      err);
}

static int hash(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dpart *part = (const kht_dpart *)arg + i;
	kht_dmember *m = &d->m[i];
	const size_t bins = (size_t)1 << d->count_log2;

	KHT_DTRY(kht_dt_room(m, KHT_DROOM_MIX, part->n * d->key_bytes, err));
	KHT_DTRY(KH_GPU(
		cudaMemsetAsync(m->room[KHT_DROOM_COUNT].p, 0, d->chunks * bins * 4, d->work[i]),
		err));
	for (unsigned c = 0; c < d->chunks; c++) {
		const size_t from = kht_dt_chunk(d, part->n, c);
		kht_dhash h = { .keys = (const char *)part->keys + from * d->key_bytes,
				.mixed = kht_dt_at(m, KHT_DROOM_MIX, from * d->key_bytes),
				.n = kht_dt_chunk(d, part->n, c + 1) - from,
				.key_bits = d->cfg.key_bits,
				.bins_log2 = d->count_log2,
				.seed = d->seed,
				.count = kht_dt_at(m, KHT_DROOM_COUNT, c * bins * 4) };
		KHT_DTRY(kht_dt_hash(&h, d->work[i], err));
	}
	return kht_dt_mark(d, i, KHT_DPHASE_HASH + 1, err);
}

static int sum(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dcounts c = counts_of(d, &d->m[i]);

	(void)arg;
	return kht_dt_sum(&c, kht_dt_at(&d->m[i], KHT_DROOM_SUM, 0), d->work[i], err);
}

/* Adds up the counts of bins over the chunks, and then over all members. */
static int sum_all(kht_dtable *d, kh_err *err)
{
	uint64_t *p[KHT_DMEMBERS];

	KHT_DTRY(kht_dt_each(d, sum, NULL, err));
	for (size_t i = 0; i < d->members; i++)
		p[i] = d->m[i].room[KHT_DROOM_SUM].p;
	return kh_gpu_comm_sum(d->comm, p, (size_t)1 << d->count_log2, d->work, err);
}

static int split(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dcounts c = counts_of(d, &d->m[i]);

	(void)arg;
	return kht_dt_split(&c, d->hashgraph ? kht_dt_at(&d->m[i], KHT_DROOM_SUM, 0) : NULL,
			    kht_dt_at(&d->m[i], KHT_DROOM_SPLIT, 0), d->work[i], err);
}

static int owners(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	kht_dmember *m = &d->m[i];
	const kht_dcounts c = counts_of(d, m);
	const size_t row = i * d->members * d->chunks * 8;

	(void)arg;
	return kht_dt_owners(&c, m->room[KHT_DROOM_SPLIT].p, kht_dt_at(m, KHT_DROOM_MATRIX, row),
			     d->work[i], err);
}

int kht_dt_divide(kht_dtable *d, const kht_dpart *part, bool first, kh_err *err)
{
	KHT_DTRY(kht_dt_each(d, clear_matrix, NULL, err));
	KHT_DTRY(kht_dt_each(d, hash, (void *)part, err));
	if (first && d->hashgraph)
		KHT_DTRY(sum_all(d, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_SUM + 1, err));
	if (first)
		KHT_DTRY(kht_dt_each(d, split, NULL, err));
	KHT_DTRY(kht_dt_each(d, owners, NULL, err));
	if (first) {
		KHT_DTRY(kh_gpu_use(d->m[0].device, err));
		KHT_DTRY(KH_GPU(cudaMemcpyAsync(kht_dt_splits(d), d->m[0].room[KHT_DROOM_SPLIT].p,
						(d->members + 1) * sizeof(uint32_t),
						cudaMemcpyDeviceToHost, d->work[0]),
				err));
	}
	return kht_dt_share(d, err);
}

static int own_size(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const size_t row = i * d->members;
	uint64_t *up = kht_dt_up(d, i);

	for (unsigned m = 0; m < d->members; m++)
		up[m] = ((const kht_dpart *)arg)[i].n;
	return KH_GPU(cudaMemcpyAsync(kht_dt_at(&d->m[i], KHT_DROOM_MATRIX, row * 8), up,
				      d->members * sizeof *up, cudaMemcpyHostToDevice, d->work[i]),
		      err);
}

int kht_dt_broadcast(kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	KHT_DTRY(kht_dt_each(d, clear_matrix, NULL, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_HASH + 1, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_SUM + 1, err));
	KHT_DTRY(kht_dt_each(d, own_size, (void *)part, err));
	return kht_dt_share(d, err);
}

int kht_dt_share(kht_dtable *d, kh_err *err)
{
	uint64_t *p[KHT_DMEMBERS];

	for (size_t i = 0; i < d->members; i++)
		p[i] = d->m[i].room[KHT_DROOM_MATRIX].p;
	KHT_DTRY(kh_gpu_comm_sum(d->comm, p, matrix_bytes(d) / 8, d->work, err));
	KHT_DTRY(kh_gpu_use(d->m[0].device, err));
	KHT_DTRY(KH_GPU(cudaMemcpyAsync(kht_dt_matrix(d), p[0], matrix_bytes(d),
					cudaMemcpyDeviceToHost, d->work[0]),
			err));
	return kh_gpu_comm_wait(d->comm, d->work, err);
}

/* --- inserting -------------------------------------------------------------------- */

/* One run a chunk and sender: those of others where they came in, the member's own where
 * they were brought into order. */
static void runs(const kht_dtable *d, size_t i, kht_run *run)
{
	const kht_dmember *m = &d->m[i];
	const unsigned me = (unsigned)i;

	for (size_t k = 0; k < (size_t)d->chunks * d->members; k++) {
		const bool own = k % d->members == me;
		const size_t at = own ? m->keys.at[k] : m->keys.from[k];

		run[k].n = (uint32_t)(own ? m->keys.n : m->keys.got)[k];
		run[k].keys =
			kht_dt_at(m, own ? KHT_DROOM_KEYS : KHT_DROOM_GOT_KEYS, at * d->key_bytes);
		run[k].values = kht_dt_at(m, own ? KHT_DROOM_VALUES : KHT_DROOM_GOT_VALUES,
					  at * d->value_bytes);
	}
}

/* Makes the part's own arrays large enough before anything is under way. */
static int part_room(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const uint32_t *split = kht_dt_splits(d) + i;
	const unsigned finer = d->bins_log2 - d->count_log2;
	kht_dmember *m = &d->m[i];
	kht_hashgraph_part *p = &m->part;

	(void)arg;
	p->first = split[0] << finer;
	p->bins = (split[1] - split[0]) << finer;
	p->n = d->held[i];
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_OFFSET, ((uint64_t)p->bins * p->rows + 1) * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_TABLE_KEYS, p->n * d->key_bytes, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_TABLE_VALUES, p->n * d->value_bytes, err));
	p->offset = m->room[KHT_DROOM_OFFSET].p;
	p->keys = m->room[KHT_DROOM_TABLE_KEYS].p;
	p->values = m->room[KHT_DROOM_TABLE_VALUES].p;
	return KH_OK;
}

static int build(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned n = d->chunks * d->members;
	kht_dmember *m = &d->m[i];
	kht_run *up = kht_dt_up(d, i);

	(void)arg;
	runs(d, i, up);
	KHT_DTRY(KH_GPU(cudaMemcpyAsync(m->room[KHT_DROOM_UP].p, up, n * sizeof *up,
					cudaMemcpyHostToDevice, d->work[i]),
			err));
	KHT_DTRY(kht_dt_work_after(d, i, d->chunks - 1, err));
	KHT_DTRY(kht_dt_mark(d, i, KHT_DPHASE_MOVE + 1, err));
	return kht_hashgraph_part_build(m->t, &m->part, m->room[KHT_DROOM_UP].p, n, d->work[i],
					err);
}

static int insert_run(kht_dtable *d, size_t i, const kht_run *r, kh_err *err)
{
	const kht_kv pairs = { r->keys, r->values, r->n };

	return r->n ? kht_table_insert(d->m[i].t, &pairs, d->work[i], err) : KH_OK;
}

/* What a table of its own gets: each chunk when it is there, while the next travels. */
static int insert(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const unsigned all = d->members, me = (unsigned)i;
	const kht_dplan *p = &d->m[i].keys;
	kht_run *run = kht_dt_up(d, i);

	(void)arg;
	runs(d, i, run);
	for (unsigned c = 0; c < d->chunks; c++) {
		kht_run *r = run + (size_t)c * all, came = r[me == 0 && all > 1];

		came.n = (uint32_t)(kht_dt_came(d, p, c + 1) - kht_dt_came(d, p, c));
		KHT_DTRY(kht_dt_work_after(d, i, c, err));
		if (c == 0)
			KHT_DTRY(kht_dt_mark(d, i, KHT_DPHASE_MOVE + 1, err));
		KHT_DTRY(insert_run(d, i, &r[me], err));
		if (all > 1)
			KHT_DTRY(insert_run(d, i, &came, err));
	}
	return KH_OK;
}

static int insert_own(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const kht_dpart *part = (const kht_dpart *)arg + i;
	const kht_run r = { part->keys, part->values, (uint32_t)part->n };

	return insert_run(d, i, &r, err);
}

static int independent(kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	const uint64_t *x = kht_dt_matrix(d);

	KHT_DTRY(kht_dt_broadcast(d, part, err));
	for (unsigned m = 0; m < d->members; m++)
		d->held[m] += x[(size_t)m * d->members + m];
	for (unsigned p = KHT_DPHASE_SPLIT; p <= KHT_DPHASE_MOVE; p++)
		KHT_DTRY(kht_dt_mark_all(d, p + 1, err));
	return kht_dt_each(d, insert_own, (void *)part, err);
}

static void hold(kht_dtable *d)
{
	const uint64_t *x = kht_dt_matrix(d);
	const size_t all = d->members, row = d->chunks;

	for (size_t k = 0; k < all * all * row; k++)
		d->held[k / row % all] += x[k];
}

static int distributed(kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	const kht_dorder o = { part, d->value_bytes, false };

	KHT_DTRY(kht_dt_divide(d, part, !d->built, err));
	hold(d);
	for (unsigned m = 0; m < d->members; m++)
		if (d->held[m] >= UINT32_MAX)
			return kh_fail(err, KH_EUSAGE,
				       "%llu pairs on GPU %u: below 2^32 are possible",
				       (unsigned long long)d->held[m], m);
	if (d->hashgraph)
		KHT_DTRY(kht_dt_each(d, part_room, NULL, err));
	d->built = true;
	KHT_DTRY(kht_dt_exchange(d, &o, 0, err));
	return kht_dt_each(d, d->hashgraph ? build : insert, NULL, err);
}

int kht_dtable_insert(kht_dtable *d, const kht_dpart *part, kh_err *err)
{
	if (d->hashgraph && d->built)
		return kh_fail(err, KH_EUSAGE, "a HashGraph is built by one insert");
	for (size_t i = 0; i < d->members; i++)
		if (part[i].n > d->cfg.capacity)
			return kh_fail(err, KH_EUSAGE,
				       "%zu pairs on cuda:%d, of a table of %llu a GPU", part[i].n,
				       d->m[i].device, (unsigned long long)d->cfg.capacity);
	KHT_DTRY(kht_dt_begin(d, part, err));
	KHT_DTRY((d->independent ? independent : distributed)(d, part, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_TABLE + 1, err));
	KHT_DTRY(kht_dt_mark_all(d, KHT_DPHASE_BACK + 1, err));
	return kht_dt_finish(d, err);
}
