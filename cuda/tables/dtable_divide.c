/* dtable_divide.c - whose a key is: hash values, hash ranges of equal load, what goes where */
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
	for (size_t i = 0; i < d->n; i++)
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
	const size_t row = (size_t)(d->first + i) * d->members * d->chunks * 8;

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
	const size_t row = (size_t)(d->first + i) * d->members;
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

	for (size_t i = 0; i < d->n; i++)
		p[i] = d->m[i].room[KHT_DROOM_MATRIX].p;
	KHT_DTRY(kh_gpu_comm_sum(d->comm, p, matrix_bytes(d) / 8, d->work, err));
	KHT_DTRY(kh_gpu_use(d->m[0].device, err));
	KHT_DTRY(KH_GPU(cudaMemcpyAsync(kht_dt_matrix(d), p[0], matrix_bytes(d),
					cudaMemcpyDeviceToHost, d->work[0]),
			err));
	return kh_gpu_comm_wait(d->comm, d->work, err);
}
