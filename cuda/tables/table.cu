/* table.cu - the list of systems, and the front of the C interface (host code only) */
#include <pthread.h>
#include <string.h>
#include "host.cuh"
#include "systems.h"

#define DEVICES 64

const kh_table_system kh_table_systems[] = {
	{ "csr", "row 14: exact sorted CSR, DESIGN 4 generalised", KH_TABLE_MULTI, 0.70,
	  kh_csr_open },
	{ "sorted", "row 11: sort and binary search, cs344", KH_TABLE_MULTI, 1,
	  kh_sorted_open },
	{ "hashgraph1", "rows 1, 3: HashGraph V1, Green 2019, Alg. 1 and 3",
	  KH_TABLE_MULTI, 1, kh_hashgraph1_open },
	{ "hashgraph2", "rows 2, 3: HashGraph V2, Green 2019, Alg. 2 and 3",
	  KH_TABLE_MULTI, 1, kh_hashgraph2_open },
	{ "single", "row 5: WarpCore SingleValue, Juenger et al. 2020, IV-B",
	  KH_TABLE_DYNAMIC | KH_TABLE_ERASE | KH_TABLE_FIND, 0.8, kh_single_open },
	{ "bucket64", "row 5 improved: 64-byte buckets, partition before insert",
	  KH_TABLE_DYNAMIC | KH_TABLE_FIND, 0.8, kh_bucket64_open },
	{ "multi", "row 6: WarpCore MultiValue, IV-B",
	  KH_TABLE_MULTI | KH_TABLE_DYNAMIC | KH_TABLE_ERASE, 0.8, kh_multi_open },
	{ "bucketlist", "row 7: WarpCore BucketList, IV-C",
	  KH_TABLE_MULTI | KH_TABLE_DYNAMIC, 0.8, kh_bucketlist_open },
	{ "hashset", "row 8: WarpCore HashSet",
	  KH_TABLE_DYNAMIC | KH_TABLE_ERASE | KH_TABLE_NO_VALUES | KH_TABLE_FIND, 0.8,
	  kh_hashset_open },
	{ "counting", "row 8: WarpCore Counting",
	  KH_TABLE_DYNAMIC | KH_TABLE_NO_VALUES | KH_TABLE_FIND, 0.8, kh_counting_open },
	{ "bloom", "row 8: WarpCore Bloom filter, blocked",
	  KH_TABLE_DYNAMIC | KH_TABLE_NO_VALUES | KH_TABLE_FIND | KH_TABLE_INEXACT, 1,
	  kh_bloom_open },
	{ "cuckoo", "row 11: cuckoo hashing, cs344 unit 6", KH_TABLE_FIND, 0.8,
	  kh_cuckoo_open },
	{ "dachash", "row 12: DACHash, Zhou 2021",
	  KH_TABLE_DYNAMIC | KH_TABLE_ERASE | KH_TABLE_MIXED | KH_TABLE_FIND, 0.5,
	  kh_dachash_open },
	{ "index", "row 13: the index of kmerhash, DESIGN 4",
	  KH_TABLE_MULTI | KH_TABLE_INEXACT, 1, kh_index_open },
	{ nullptr, nullptr, 0, 0, nullptr }
};

const kh_table_system *kh_table_system_find(const char *name)
{
	const kh_table_system *s = kh_table_systems;

	while (s->name && strcmp(s->name, name) != 0)
		s++;
	return s->name ? s : nullptr;
}

static bool power_of_2(unsigned x, unsigned max)
{
	return x > 0 && x <= max && (x & (x - 1)) == 0;
}

static int check(const kh_table_system *s, kh_table_config *c, kh_err *err)
{
	c->distinct =
		c->distinct && c->distinct < c->capacity ? c->distinct : c->capacity;
	c->side = c->side ? c->side : 1024;
	c->load = c->load > 0 ? c->load : s->load;
	if (c->capacity == 0 || c->capacity >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE,
			       "a table of %llu pairs: 1 to 2^32 - 2 are possible",
			       (unsigned long long)c->capacity);
	if ((c->key_bits != 32 && c->key_bits != 64) ||
	    (c->value_bits != 32 && c->value_bits != 64))
		return kh_fail(err, KH_EUSAGE,
			       "keys of %u and values of %u bits: not 32 or 64",
			       c->key_bits, c->value_bits);
	if (c->group && !power_of_2(c->group, 32))
		return kh_fail(err, KH_EUSAGE, "a group of %u lanes: not 1, 2, 4 .. 32",
			       c->group);
	if (c->load > 1 || !(c->load > 0.01))
		return kh_fail(err, KH_EUSAGE, "load %g: not 0.01 to 1", c->load);
	return KH_OK;
}

int kh_table_open(const char *name, const kh_table_config *config, kh_stream stream,
		  kh_table **table, kh_err *err)
{
	const kh_table_system *s = kh_table_system_find(name);
	kh_table_config c = *config;
	kh_table *t = nullptr;
	int rc;

	if (!s)
		return kh_fail(err, KH_EUSAGE, "no table is called '%s'", name);
	rc = check(s, &c, err);
	if (!rc)
		rc = s->open(&c, stream, &t, err);
	if (rc) {
		kh_table_close(t);
		return rc;
	}
	t->system = s;
	*table = t;
	return KH_OK;
}

/* Scratch comes from one pool a device that all tables share and the last one closes:
 * what one call gave back the next one has at once. */
static struct {
	pthread_mutex_t lock;
	cudaMemPool_t pool[DEVICES];
	unsigned users[DEVICES];
} shared = { PTHREAD_MUTEX_INITIALIZER, {}, {} };

static int pool_new(int device, cudaMemPool_t *pool, kh_err *err)
{
	cudaMemPoolProps p = {};
	uint64_t keep = UINT64_MAX;

	p.allocType = cudaMemAllocationTypePinned;
	p.location.type = cudaMemLocationTypeDevice;
	p.location.id = device;
	int rc = kh_cuda(cudaMemPoolCreate(pool, &p), "pool for scratch", err);
	return rc ? rc
		  : kh_cuda(cudaMemPoolSetAttribute(
				    *pool, cudaMemPoolAttrReleaseThreshold, &keep),
			    "pool for scratch", err);
}

static int pool_join(kh_table *t, kh_err *err)
{
	int d, rc = kh_cuda(cudaGetDevice(&d), "current device", err);

	if (rc)
		return rc;
	if (d >= DEVICES)
		return kh_fail(err, KH_EUSAGE, "device %d: tables know %d", d, DEVICES);
	pthread_mutex_lock(&shared.lock);
	if (!shared.pool[d])
		rc = pool_new(d, &shared.pool[d], err);
	if (!rc) {
		shared.users[d]++;
		t->pool = shared.pool[d];
		t->device = d;
	}
	pthread_mutex_unlock(&shared.lock);
	return rc;
}

static void pool_leave(kh_table *t)
{
	pthread_mutex_lock(&shared.lock);
	if (--shared.users[t->device] == 0) {
		(void)cudaMemPoolDestroy(shared.pool[t->device]);
		shared.pool[t->device] = nullptr;
	}
	pthread_mutex_unlock(&shared.lock);
}

int kh_table_init(kh_table *t, const kh_table_fn *fn, const kh_table_config *cfg,
		  kh_stream s, kh_err *err)
{
	int rc;

	if (!t)
		return kh_fail_nomem(err);
	t->fn = fn;
	t->cfg = *cfg;
	rc = pool_join(t, err);
	return rc ? rc : kh_take(t, &t->note, KH_NOTES, 0, s, err);
}

void kh_table_close(kh_table *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->n_mem; i++)
		(void)cudaFree(t->mem[i]);
	if (t->pool)
		pool_leave(t);
	free(t);
}

unsigned kh_table_can(const kh_table *t) { return t->system->can; }

static int cannot(const kh_table *t, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EUSAGE, "table %s has no %s", t->system->name, what);
}

int kh_table_insert(kh_table *t, const kh_kv *p, kh_stream s, kh_err *err)
{
	if (p->n > t->cfg.capacity && !(t->system->can & KH_TABLE_DYNAMIC))
		return kh_fail(err, KH_EUSAGE, "%zu pairs for a table of %llu", p->n,
			       (unsigned long long)t->cfg.capacity);
	return t->fn->insert(t, p, s, err);
}

int kh_table_find(kh_table *t, const kh_keys *k, const kh_found *o, kh_stream s,
		  kh_err *err)
{
	if (!t->fn->find)
		return cannot(t, "find", err);
	return k->n ? t->fn->find(t, k, o, s, err) : KH_OK;
}

int kh_table_count(kh_table *t, const kh_keys *k, uint32_t *counts, kh_stream s,
		   kh_err *err)
{
	if (!t->fn->count)
		return cannot(t, "count", err);
	return k->n ? t->fn->count(t, k, counts, s, err) : KH_OK;
}

int kh_table_retrieve(kh_table *t, const kh_keys *k, const kh_lists *o, kh_stream s,
		      kh_err *err)
{
	if (!t->fn->retrieve)
		return cannot(t, "retrieve", err);
	if (k->n == 0)
		return kh_cuda(cudaMemsetAsync(o->offsets, 0, sizeof *o->offsets, s),
			       "retrieve", err);
	return t->fn->retrieve(t, k, o, s, err);
}

int kh_table_fold(kh_table *t, const kh_keys *k, uint64_t *sums, kh_stream s, kh_err *err)
{
	if (!t->fn->fold)
		return cannot(t, "fold", err);
	return k->n ? t->fn->fold(t, k, sums, s, err) : KH_OK;
}

int kh_table_join(kh_table *t, const kh_keys *k, uint32_t *counts, kh_stream s,
		  kh_err *err)
{
	if (!t->fn->join)
		return cannot(t, "join", err);
	return k->n ? t->fn->join(t, k, counts, s, err) : KH_OK;
}

int kh_table_erase(kh_table *t, const kh_keys *k, kh_stream s, kh_err *err)
{
	if (!t->fn->erase)
		return cannot(t, "erase", err);
	return k->n ? t->fn->erase(t, k, s, err) : KH_OK;
}

int kh_table_mixed(kh_table *t, const kh_ops *o, kh_stream s, kh_err *err)
{
	if (!t->fn->mixed)
		return cannot(t, "mixed batches", err);
	return o->n ? t->fn->mixed(t, o, s, err) : KH_OK;
}

int kh_table_clean(kh_table *t, kh_stream s, kh_err *err)
{
	return t->fn->clean ? t->fn->clean(t, s, err) : cannot(t, "clean", err);
}

int kh_table_view(const kh_table *t, void *view, kh_err *err)
{
	if (!t->fn->view)
		return cannot(t, "view", err);
	t->fn->view(t, view);
	return KH_OK;
}

int kh_table_status(kh_table *t, kh_stream s, kh_table_stats *stats, kh_err *err)
{
	unsigned long long note[KH_NOTES];
	kh_table_stats st = {};
	int rc = kh_cuda(
		cudaMemcpyAsync(note, t->note, sizeof note, cudaMemcpyDeviceToHost, s),
		"status of a table", err);

	if (!rc)
		rc = kh_cuda(cudaStreamSynchronize(s), "status of a table", err);
	if (rc)
		return rc;
	st.bytes = t->bytes;
	st.slots = t->slots;
	st.failed = note[KH_NOTE_FAILED];
	st.truncated = note[KH_NOTE_TRUNCATED];
	st.restarts = t->restarts;
	st.pool_used = note[KH_NOTE_POOL];
	st.pool = t->cfg.pool;
	st.pairs = note[KH_NOTE_USED];
	if (stats && t->fn->stats)
		rc = t->fn->stats(t, s, &st, err);
	if (stats)
		*stats = st;
	if (!rc && st.failed)
		return kh_fail(err, KH_ENOMEM, "%llu pairs did not fit in table %s",
			       (unsigned long long)st.failed, t->system->name);
	if (!rc && st.truncated)
		return kh_fail(err, KH_ENOMEM,
			       "%llu values of table %s did not fit in the lists",
			       (unsigned long long)st.truncated, t->system->name);
	return rc;
}
