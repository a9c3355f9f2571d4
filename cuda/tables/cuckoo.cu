/*
 * cuckoo.cu - cuckoo hashing (cs344 unit 6, after Alcantara et al. 2009)
 *
 * Several sub-tables, a hash function each, one item a slot.  An item goes to its slot of
 * the first sub-table by atomic exchange; what was there goes to its slot of the next,
 * and so on, for a bounded number of rounds.  If one still has no slot, new functions are
 * drawn and all starts over.  A look-up reads one slot a sub-table, no more.
 * Departures: a thread carries its item through the rounds by itself (Alcantara's
 * one-pass version) where the lecture starts a kernel a round; pairs wider than 64 bits
 * cannot be exchanged in one go, so there a slot holds the number of the pair; equal keys
 * that meet are reduced to one.  Static: one insert, which waits to learn whether it must
 * restart.
 */
#include "cuda/tables/cuckoo.cuh"
#include "cuda/tables/retrieve.cuh"

#define TABLES_MAX   4
#define RESTARTS_MAX 16

template <class K, class V>
static __global__ void insert_pairs(cuckoo_view<K, V> w, size_t n, unsigned rounds,
				    unsigned long long *note)
{
	typedef typename cuckoo_view<K, V>::slot_type slot_type;
	size_t i = kht_thread_id();

	if (i >= n)
		return;
	K key = w.keys[i];
	if (w.is_mark(key)) {
		w.side.put(0, w.values[i]);
		return;
	}
	slot_type mine =
		w.packed ? (slot_type)((uint64_t)w.values[i] << 32 | (uint32_t)key) : (slot_type)i;
	uint32_t j = 0;
	for (unsigned r = 0; r < rounds; r++) {
		slot_type old = atomicExch(w.slot + w.place(key, j), mine);

		if (old == w.NONE)
			return;
		K evicted = w.key_of(old);
		if (evicted == key)
			return;
		mine = old;
		key = evicted;
		j = j + 1 < w.tables ? j + 1 : 0;
	}
	atomicAdd(note + KHT_NOTE_A, 1ull);
}

template <class K, class V>
static __global__ void find_keys(cuckoo_view<K, V> w, kht_keys q, kht_found out)
{
	size_t i = kht_thread_id();

	if (i >= q.n)
		return;
	V v;
	bool hit = w.find(((const K *)q.keys)[i], v);
	((V *)out.values)[i] = hit ? v : (V)out.missing;
	if (out.found)
		out.found[i] = hit;
}

template <class K, class V> struct cuckoo : kht_table {
	typedef cuckoo_view<K, V> view_type;
	typename view_type::slot_type *slot;
	K *keys;
	V *values;
	kht_side<V> side;
	uint32_t size;
	uint64_t seed;

	view_type view() const
	{
		return { slot, keys, values, side, size, cfg.subtables, seed, 1 };
	}
	int open(kht_stream s, kh_err *err);
	int attempt(view_type w, size_t n_pairs, unsigned long long *lost, kht_stream s,
		    kh_err *err);
	int insert(const kht_kv *p, kht_stream s, kh_err *err);
	int find(const kht_keys *q, const kht_found *o, kht_stream s, kh_err *err)
	{
		find_keys<K, V><<<kht_blocks(q->n), KHT_BLOCK, 0, s>>>(view(), *q, *o);
		return kht_launched("find", err);
	}
};

/* Inserts all pairs with the hash functions of this seed; *lost: how many found no slot. */
template <class K, class V>
int cuckoo<K, V>::attempt(view_type w, size_t n_pairs, unsigned long long *lost, kht_stream s,
			  kh_err *err)
{
	int rc = kht_cuda(cudaMemsetAsync(slot, 0xff, slots * sizeof *slot, s), "cuckoo", err);

	if (!rc)
		rc = kht_cuda(cudaMemsetAsync(note + KHT_NOTE_A, 0, sizeof *note, s), "cuckoo",
			      err);
	if (rc)
		return rc;
	insert_pairs<K, V><<<kht_blocks(n_pairs), KHT_BLOCK, 0, s>>>(w, n_pairs, cfg.rounds, note);
	rc = kht_launched("cuckoo", err);
	return rc ? rc : kht_to_host(lost, note + KHT_NOTE_A, sizeof *lost, "cuckoo", s, err);
}

template <class K, class V> int cuckoo<K, V>::insert(const kht_kv *p, kht_stream s, kh_err *err)
{
	unsigned long long lost = 1;
	int rc = KH_OK;

	if (!view_type::packed &&
	    ((rc = kht_cuda(
		      cudaMemcpyAsync(keys, p->keys, p->n * sizeof(K), cudaMemcpyDeviceToDevice, s),
		      "cuckoo", err)) ||
	     (rc = kht_cuda(cudaMemcpyAsync(values, p->values, p->n * sizeof(V),
					    cudaMemcpyDeviceToDevice, s),
			    "cuckoo", err))))
		return rc;
	for (unsigned i = 0; lost && i <= RESTARTS_MAX; i++) {
		seed = kh_fmix64(cfg.seed + i);
		restarts = i;
		view_type w = view();
		if (view_type::packed) {
			w.keys = (const K *)p->keys;
			w.values = (const V *)p->values;
		}
		if ((rc = attempt(w, p->n, &lost, s, err)))
			return rc;
	}
	if (lost)
		return kh_fail(err, KH_ENOMEM,
			       "cuckoo: %llu pairs without a slot after %d restarts", lost,
			       RESTARTS_MAX);
	return KH_OK;
}

template <class K, class V> int cuckoo<K, V>::open(kht_stream s, kh_err *err)
{
	int rc;

	cfg.subtables = cfg.subtables ? cfg.subtables : TABLES_MAX;
	cfg.rounds = cfg.rounds ? cfg.rounds : 256;
	if (cfg.subtables < 2 || cfg.subtables > TABLES_MAX)
		return kh_fail(err, KH_EUSAGE, "%u sub-tables: 2 to %d are possible",
			       cfg.subtables, TABLES_MAX);
	size = (uint32_t)(cfg.capacity / cfg.load / cfg.subtables) + 1;
	slots = (uint64_t)size * cfg.subtables;
	if ((rc = kht_take(this, &slot, slots, 0xff, s, err)) ||
	    (rc = side.take(this, 1, s, err)) || view_type::packed)
		return rc;
	rc = kht_take(this, &keys, cfg.capacity, 0, s, err);
	return rc ? rc : kht_take(this, &values, cfg.capacity, 0, s, err);
}

int kht_cuckoo_open(const kht_table_config *c, kht_stream s, kht_table **t, kh_err *err)
{
	return kht_make_wide<cuckoo, KHT_CUCKOO_CAN, kht_by_view>(c, s, t, err);
}
