/* dtable_insert.c - inserting into a table over several GPUs: at the owners, or each its own */
#include <config.h>
#include "cuda/tables/dtable_in.h"

/* One run a chunk and sender: those of others where they came in, the member's own where
 * they were brought into order. */
static void runs(const kht_dtable *d, size_t i, kht_run *run)
{
	const kht_dmember *m = &d->m[i];
	const unsigned me = d->first + (unsigned)i;

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
	const uint32_t *split = kht_dt_splits(d) + d->first + i;
	const unsigned finer = d->bins_log2 - d->count_log2;
	kht_dmember *m = &d->m[i];
	kht_hashgraph_part *p = &m->part;

	(void)arg;
	p->first = split[0] << finer;
	p->bins = (split[1] - split[0]) << finer;
	p->n = d->held[d->first + i];
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
	const unsigned all = d->members, me = d->first + (unsigned)i;
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
	for (size_t i = 0; i < d->n; i++)
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
