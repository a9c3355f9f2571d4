/* table.cu - the list of systems, and the front of the C interface (host code only) */
#include <pthread.h>
#include <string.h>
#include "cuda/tables/host.cuh"

#define DEVICES 64

const kht_table_system kht_table_systems[] = {
	{ "csr", "exact sorted CSR: the index of kmerhash for whole keys", KHT_CSR_CAN, 0.70,
	  kht_csr_open },
	{ "sorted", "sort and binary search, cs344", KHT_SORTED_CAN, 1, kht_sorted_open },
	{ "hashgraph1", "HashGraph V1, Green 2019, Alg. 1 and 3", KHT_HASHGRAPH_CAN, 1,
	  kht_hashgraph1_open },
	{ "hashgraph2", "HashGraph V2, Green 2019, Alg. 2 and 3", KHT_HASHGRAPH_CAN, 1,
	  kht_hashgraph2_open },
	{ "single", "WarpCore SingleValue, Juenger et al. 2020, IV-B", KHT_SINGLE_CAN, 0.8,
	  kht_single_open },
	{ "bucket64", "64-byte buckets, partition before insert", KHT_BUCKET64_CAN,
	  0.8, kht_bucket64_open },
	{ "window64", "64-byte buckets in windows, changed in shared memory", KHT_WINDOW64_CAN,
	  0.8, kht_window64_open },
	{ "multi", "WarpCore MultiValue, IV-B", KHT_MULTI_CAN, 0.8, kht_multi_open },
	{ "bucketlist", "WarpCore BucketList, IV-C", KHT_BUCKETLIST_CAN, 0.8,
	  kht_bucketlist_open },
	{ "runlist", "lists in pieces, by runs of a sorted batch", KHT_RUNLIST_CAN, 0.7,
	  kht_runlist_open },
	{ "hashset", "WarpCore HashSet", KHT_HASHSET_CAN, 0.8, kht_hashset_open },
	{ "counting", "WarpCore Counting", KHT_COUNTING_CAN, 0.8, kht_counting_open },
	{ "bloom", "WarpCore Bloom filter, blocked", KHT_BLOOM_CAN, 1, kht_bloom_open },
	{ "cuckoo", "cuckoo hashing, cs344 unit 6", KHT_CUCKOO_CAN, 0.8, kht_cuckoo_open },
	{ "dachash", "DACHash, Zhou 2021", KHT_DACHASH_CAN, 0.5, kht_dachash_open },
	{ nullptr, nullptr, 0, 0, nullptr }
};

const kht_table_system *kht_table_system_find(const char *name)
{
	const kht_table_system *s = kht_table_systems;

	while (s->name && strcmp(s->name, name) != 0)
		s++;
	return s->name ? s : nullptr;
}

static bool power_of_2(unsigned x, unsigned max) { return x > 0 && x <= max && (x & (x - 1)) == 0; }

static int check(const kht_table_system *s, kht_table_config *c, kh_err *err)
{
	c->distinct = c->distinct && c->distinct < c->capacity ? c->distinct : c->capacity;
	c->side = c->side ? c->side : 1024;
	c->load = c->load > 0 ? c->load : s->load;
	if (c->capacity == 0 || c->capacity >= UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "a table of %llu pairs: 1 to 2^32 - 2 are possible",
			       (unsigned long long)c->capacity);
	if ((c->key_bits != 32 && c->key_bits != 64) ||
	    (c->value_bits != 32 && c->value_bits != 64))
		return kh_fail(err, KH_EUSAGE, "keys of %u and values of %u bits: not 32 or 64",
			       c->key_bits, c->value_bits);
	if (c->group && !power_of_2(c->group, 32))
		return kh_fail(err, KH_EUSAGE, "a group of %u lanes: not 1, 2, 4 .. 32", c->group);
	if (c->load > 1 || !(c->load > 0.01))
		return kh_fail(err, KH_EUSAGE, "load %g: not 0.01 to 1", c->load);
	return KH_OK;
}

int kht_table_open(const char *name, const kht_table_config *config, kht_stream stream,
		   kht_table **table, kh_err *err)
{
	const kht_table_system *s = kht_table_system_find(name);

	return s ? kht_table_open_system(s, config, stream, table, err)
		 : kh_fail(err, KH_EUSAGE, "no table is called '%s'", name);
}

int kht_table_open_system(const kht_table_system *s, const kht_table_config *config,
			  kht_stream stream, kht_table **table, kh_err *err)
{
	kht_table_config c = *config;
	kht_table *t = nullptr;
	int rc = check(s, &c, err);

	if (!rc)
		rc = s->open(&c, stream, &t, err);
	if (rc) {
		kht_table_close(t);
		return rc;
	}
	t->system = s;
	*table = t;
	return KH_OK;
}

/* Scratch comes from one pool for each device, which all tables share and the last one closes:
 * what one call gives back, the next one gets at once. */
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
	int rc = kht_cuda(cudaMemPoolCreate(pool, &p), "pool for scratch", err);
	return rc ? rc
		  : kht_cuda(cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep),
			     "pool for scratch", err);
}

static int pool_join(kht_table *t, kh_err *err)
{
	int d, rc = kht_cuda(cudaGetDevice(&d), "current device", err);

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

static void pool_leave(kht_table *t)
{
	pthread_mutex_lock(&shared.lock);
	if (--shared.users[t->device] == 0) {
		(void)cudaMemPoolDestroy(shared.pool[t->device]);
		shared.pool[t->device] = nullptr;
	}
	pthread_mutex_unlock(&shared.lock);
}

int kht_table_init(kht_table *t, const kht_table_fn *fn, const kht_table_config *cfg, kht_stream s,
		   kh_err *err)
{
	int rc;

	if (!t)
		return kh_fail_nomem(err);
	t->fn = fn;
	t->cfg = *cfg;
	rc = pool_join(t, err);
	return rc ? rc : kht_take(t, &t->note, KHT_NOTES, 0, s, err);
}

void kht_table_close(kht_table *t)
{
	if (!t)
		return;
	if (t->fn && t->fn->close)
		t->fn->close(t);
	for (unsigned i = 0; i < t->n_mem; i++)
		(void)cudaFree(t->mem[i]);
	if (t->pool)
		pool_leave(t);
	free(t);
}

unsigned kht_table_can(const kht_table *t) { return t->system->can; }

static int cannot(const kht_table *t, const char *what, kh_err *err)
{
	return kh_fail(err, KH_EUSAGE, "table %s has no %s", t->system->name, what);
}

int kht_table_insert(kht_table *t, const kht_kv *p, kht_stream s, kh_err *err)
{
	if (!(t->system->can & KHT_TABLE_DYNAMIC)) {
		if (p->n > t->cfg.capacity)
			return kh_fail(err, KH_EUSAGE, "%zu pairs for a table of %llu", p->n,
				       (unsigned long long)t->cfg.capacity);
		if (t->built)
			return kh_fail(err, KH_EUSAGE, "table %s is built by one insert",
				       t->system->name);
		t->built = p->n;
	}
	return p->n ? t->fn->insert(t, p, s, err) : KH_OK;
}

int kht_table_find(kht_table *t, const kht_keys *k, const kht_found *o, kht_stream s, kh_err *err)
{
	if (!t->fn->find)
		return cannot(t, "find", err);
	return k->n ? t->fn->find(t, k, o, s, err) : KH_OK;
}

int kht_table_count(kht_table *t, const kht_keys *k, uint32_t *counts, kht_stream s, kh_err *err)
{
	if (!t->fn->count)
		return cannot(t, "count", err);
	return k->n ? t->fn->count(t, k, counts, s, err) : KH_OK;
}

int kht_table_retrieve(kht_table *t, const kht_keys *k, const kht_lists *o, kht_stream s,
		       kh_err *err)
{
	if (!t->fn->retrieve)
		return cannot(t, "retrieve", err);
	if (k->n == 0)
		return kht_cuda(cudaMemsetAsync(o->offsets, 0, sizeof *o->offsets, s), "retrieve",
				err);
	return t->fn->retrieve(t, k, o, s, err);
}

int kht_table_fold(kht_table *t, const kht_keys *k, uint64_t *sums, kht_stream s, kh_err *err)
{
	if (!t->fn->fold)
		return cannot(t, "fold", err);
	return k->n ? t->fn->fold(t, k, sums, s, err) : KH_OK;
}

int kht_table_join(kht_table *t, const kht_keys *k, uint32_t *counts, kht_stream s, kh_err *err)
{
	if (!t->fn->join)
		return cannot(t, "join", err);
	return k->n ? t->fn->join(t, k, counts, s, err) : KH_OK;
}

int kht_table_erase(kht_table *t, const kht_keys *k, kht_stream s, kh_err *err)
{
	if (!t->fn->erase)
		return cannot(t, "erase", err);
	return k->n ? t->fn->erase(t, k, s, err) : KH_OK;
}

int kht_table_mixed(kht_table *t, const kht_ops *o, kht_stream s, kh_err *err)
{
	if (!t->fn->mixed)
		return cannot(t, "mixed batches", err);
	return o->n ? t->fn->mixed(t, o, s, err) : KH_OK;
}

int kht_table_clean(kht_table *t, kht_stream s, kh_err *err)
{
	return t->fn->clean ? t->fn->clean(t, s, err) : cannot(t, "clean", err);
}

int kht_table_view(const kht_table *t, void *view, kh_err *err)
{
	if (!t->fn->view)
		return cannot(t, "view", err);
	t->fn->view(t, view);
	return KH_OK;
}

int kht_table_status(kht_table *t, kht_stream s, kht_table_stats *stats, kh_err *err)
{
	unsigned long long note[KHT_NOTES], *used = t->note + KHT_NOTE_USED;
	kht_table_stats st = {};
	int rc = KH_OK;

	if (stats && t->fn->used) {
		rc = kht_cuda(cudaMemsetAsync(used, 0, sizeof *used, s), "stats", err);
		if (!rc)
			rc = t->fn->used(t, s, err);
	}
	if (!rc)
		rc = kht_to_host(note, t->note, sizeof note, "status of a table", s, err);
	if (rc)
		return rc;
	st.bytes = t->bytes;
	st.slots = t->slots;
	st.failed = note[KHT_NOTE_FAILED];
	st.truncated = note[KHT_NOTE_TRUNCATED];
	st.restarts = t->restarts;
	st.pool_used = note[KHT_NOTE_POOL];
	st.pool = t->cfg.pool;
	st.pairs = t->fn->used ? note[KHT_NOTE_USED] : t->built;
	if (t->fn->stats)
		t->fn->stats(t, note, &st);
	if (stats)
		*stats = st;
	if (st.failed)
		return kh_fail(err, KH_ENOMEM, "%llu pairs did not fit in table %s",
			       (unsigned long long)st.failed, t->system->name);
	if (st.truncated)
		return kh_fail(err, KH_ENOMEM, "%llu values of table %s did not fit in the lists",
			       (unsigned long long)st.truncated, t->system->name);
	return KH_OK;
}
