/* dtable.c - one hash table over several GPUs: open, close */
#include <config.h>
#include "cuda/tables/dtable_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define SEED        UINT64_C(0x5bd1e9955bd1e995) /* so that owners and tables hash differently */
#define CHUNK_BYTES ((uint64_t)256 << 20)

const char *kht_dphase_name(enum kht_dphase p)
{
	static const char *const name[] = {
		"hash", "sum", "split", "order", "move", "table", "back"
	};

	return name[p];
}

/* --- sizes ------------------------------------------------------------------------ */
static unsigned log2_of(uint64_t n)
{
	unsigned l = 0;

	while (l < 63 && UINT64_C(1) << l < n)
		l++;
	return l;
}

/* Counted: about the root of the hash range (the paper's BINS_G), and enough that a bin is
 * little of a share.  Ordered by: as many bins as a block can build, which as
 * many radix passes of 8 bits give; within those, down to 4096 rows a bin. */
static void hashgraph_sizes(kht_dtable *d, uint32_t bin_memory)
{
	const uint64_t pairs = d->cfg.capacity * d->members;
	const uint64_t most =
		kht_hashgraph_bin_rows(d->cfg.key_bits, d->value_bytes * 8, bin_memory);
	double range = (double)pairs / (d->cfg.range > 0 ? d->cfg.range : 1);
	uint64_t rows = range > 1 ? (uint64_t)range : 1;
	unsigned need = 1, fine;

	if (range > 4e9) /* numbers of rows have 32 bits: as in the paper */
		rows = UINT64_C(1) << 31;
	d->count_log2 = (log2_of(rows) + 1) / 2;
	if (d->count_log2 < 12)
		d->count_log2 = 12;
	if (d->count_log2 > KHT_DBINS_MAX)
		d->count_log2 = KHT_DBINS_MAX;
	while (most << need < rows || most << need < pairs)
		need++;
	fine = log2_of((rows + 4095) / 4096);
	fine = fine > (need + 7) / 8 * 8 ? (need + 7) / 8 * 8 : fine;
	fine = fine > d->count_log2 ? fine : d->count_log2;
	if (d->cfg.bins)
		fine = log2_of(d->cfg.bins);
	d->bins_log2 = need > fine ? need : fine;
	if (d->count_log2 > d->bins_log2)
		d->count_log2 = d->bins_log2;
	d->rows = (uint32_t)((rows - 1) >> d->bins_log2) + 1;
}

static void sizes(kht_dtable *d, const kht_dtable_config *c, uint32_t bin_memory)
{
	uint64_t bytes = d->cfg.capacity * (d->key_bytes + d->value_bytes);

	d->count_log2 = d->bins_log2 = d->members <= 16 ? 8 : 12;
	if (d->hashgraph)
		hashgraph_sizes(d, bin_memory);
	d->chunks = (unsigned)(bytes / CHUNK_BYTES < 8 ? bytes / CHUNK_BYTES : 8);
	if (d->members == 1 || d->chunks == 0)
		d->chunks = 1;
	if (c->chunks)
		d->chunks = c->chunks;
	if (d->independent)
		d->chunks = 1;
	d->seed = d->cfg.seed ^ (d->hashgraph ? 0 : SEED);
}

/* --- open ------------------------------------------------------------------------- */
static int check(const kht_dtable_config *c, size_t n, kh_err *err)
{
	const bool hashgraph = strcmp(c->system, "hashgraph") == 0;
	const kht_table_system *s = kht_table_system_find(c->system);

	if (!hashgraph && !s)
		return kh_fail(err, KH_EUSAGE, "no table is called '%s'", c->system);
	if (!hashgraph && (!(s->can & KHT_TABLE_DYNAMIC) || s->can & KHT_TABLE_NO_VALUES))
		return kh_fail(err, KH_EUSAGE,
			       "table %s takes no batches of pairs: not for several GPUs",
			       c->system);
	if (hashgraph && c->independent)
		return kh_fail(err, KH_EUSAGE, "a hashgraph over several GPUs is one table");
	if (c->chunks > KHT_DCHUNKS)
		return kh_fail(err, KH_EUSAGE, "%u chunks: %u are possible", c->chunks,
			       KHT_DCHUNKS);
	if (n == 0 || n > KHT_DMEMBERS)
		return kh_fail(err, KH_EUSAGE, "a table over %zu GPUs: 1 to %d are possible", n,
			       KHT_DMEMBERS);
	if (c->table.group > 32 || c->table.group & (c->table.group - 1))
		return kh_fail(err, KH_EUSAGE, "a group of %u lanes: not 1, 2, 4 .. 32",
			       c->table.group);
	/* A GPU may get a little more than what it had before the exchange. */
	if (c->table.capacity == 0 || c->table.capacity > UINT32_MAX / 16 * 15)
		return kh_fail(err, KH_EUSAGE, "%llu pairs a GPU: 1 to 15 * 2^28 are possible",
			       (unsigned long long)c->table.capacity);
	if ((c->table.key_bits != 32 && c->table.key_bits != 64) ||
	    (c->table.value_bits != 32 && c->table.value_bits != 64 &&
	     !(hashgraph && c->table.value_bits == 0)))
		return kh_fail(err, KH_EUSAGE, "keys of %u and values of %u bits: not 32 or 64",
			       c->table.key_bits, c->table.value_bits);
	return KH_OK;
}

static int events(kht_dmember *m, kh_err *err)
{
	const unsigned order = cudaEventDisableTiming;

	KHT_DTRY(KH_GPU(cudaEventCreateWithFlags(&m->given, order), err));
	KHT_DTRY(KH_GPU(cudaEventCreate(&m->wire_from), err));
	KHT_DTRY(KH_GPU(cudaEventCreate(&m->wire_to), err));
	for (unsigned p = 0; p <= KHT_DPHASES; p++)
		KHT_DTRY(KH_GPU(cudaEventCreate(&m->phase[p]), err));
	for (unsigned c = 0; c < KHT_DCHUNKS; c++) {
		KHT_DTRY(KH_GPU(cudaEventCreateWithFlags(&m->ordered[c], order), err));
		KHT_DTRY(KH_GPU(cudaEventCreateWithFlags(&m->moved[c], order), err));
	}
	return KH_OK;
}

static int plan_room(const kht_dtable *d, kht_dplan *p, kh_err *err)
{
	const size_t n = (size_t)d->chunks * d->members + 1;
	size_t *x = kh_array(5 * n, sizeof *x, err);

	*p = (kht_dplan) { x, x + n, x + 2 * n, x + 3 * n, x + 4 * n };
	return x ? KH_OK : KH_ENOMEM;
}

/* Takes the memory that every insert needs, so that none has to wait for it if loads are even. */
static int reserve(kht_dtable *d, kht_dmember *m, kh_err *err)
{
	const uint64_t n = d->cfg.capacity, got = n + n / 16 + 1024;
	const uint64_t bins = UINT64_C(1) << d->bins_log2;
	const uint64_t vb = d->value_bytes > 4 ? d->value_bytes : 4;

	KHT_DTRY(kht_dt_room(m, KHT_DROOM_MATRIX, (size_t)d->members * d->members * d->chunks * 8,
			     err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_UP,
			     ((size_t)d->members * d->chunks + 1) * sizeof(kht_run), err));
	if (d->independent)
		return KH_OK;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_COUNT, ((size_t)d->chunks << d->count_log2) * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_SUM, (((size_t)1 << d->count_log2) + 1) * 8, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_SPLIT, (d->members + 1) * sizeof(uint32_t), err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_MIX, n * d->key_bytes, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_KEYS, n * d->key_bytes, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_VALUES, n * vb, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_GOT_KEYS, got * d->key_bytes, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_GOT_VALUES, got * d->value_bytes, err));
	if (!d->hashgraph)
		return KH_OK;
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_OFFSET,
			     ((bins / d->members * 17 / 16 + 64) * d->rows + 1) * 4, err));
	KHT_DTRY(kht_dt_room(m, KHT_DROOM_TABLE_KEYS, got * d->key_bytes, err));
	return kht_dt_room(m, KHT_DROOM_TABLE_VALUES, got * d->value_bytes, err);
}

/* About the pairs of a key. */
static unsigned group_of(const kht_table_config *c)
{
	unsigned group = c->group ? c->group : 1;

	while (!c->group && c->distinct && group < 32 && group * c->distinct * 2 <= c->capacity)
		group *= 2;
	return group;
}

static int open_member(kht_dtable *d, size_t i, void *arg, kh_err *err)
{
	const char *system = d->hashgraph ? "sorted" : arg;
	kht_dmember *m = &d->m[i];
	kht_table_config c = d->cfg;
	int low, high;

	if (!d->independent && d->members > 1) /* equal hash ranges do not have equal loads */
		c.capacity += c.capacity / 64 + 1024;
	if (d->hashgraph)
		c = (kht_table_config) { .capacity = 1, .key_bits = 32, .value_bits = 32 };
	KHT_DTRY(KH_GPU(cudaDeviceGetStreamPriorityRange(&low, &high), err));
	KHT_DTRY(
		KH_GPU(cudaStreamCreateWithPriority(&d->work[i], cudaStreamNonBlocking, low), err));
	/* What travels must not wait until a sort has run out of blocks. */
	KHT_DTRY(KH_GPU(cudaStreamCreateWithPriority(&d->wire[i], cudaStreamNonBlocking, high),
			err));
	KHT_DTRY(events(m, err));
	KHT_DTRY(plan_room(d, &m->keys, err));
	KHT_DTRY(plan_room(d, &m->lists, err));
	KHT_DTRY(reserve(d, m, err));
	KHT_DTRY(kht_table_open(system, &c, d->work[i], &m->t, err));
	m->part = (kht_hashgraph_part) { .key_bits = d->cfg.key_bits,
					 .value_bits = d->cfg.value_bits,
					 .bins_log2 = d->bins_log2,
					 .rows = d->rows,
					 .group = group_of(&d->cfg) };
	return KH_GPU(cudaStreamSynchronize(d->work[i]), err);
}

static int open_all(kht_dtable *d, const kht_dtable_config *c, const int *device, kh_err *err)
{
	const size_t n = d->members;

	d->m = kh_array(n, sizeof *d->m, err);
	d->work = kh_array(n, sizeof *d->work, err);
	d->wire = kh_array(n, sizeof *d->wire, err);
	d->message = kh_array(2 * n, sizeof *d->message, err);
	d->bytes = kh_array(2 * n * 4 * d->members, sizeof *d->bytes, err);
	d->held = kh_array(d->members, sizeof *d->held, err);
	if (!d->m || !d->work || !d->wire || !d->message || !d->bytes || !d->held)
		return KH_ENOMEM;
	for (size_t i = 0; i < n; i++)
		d->m[i].device = device[i];
	KHT_DTRY(kh_gpu_use(device[0], err));
	KHT_DTRY(kh_gpu_host_room(&d->host, kht_dt_host_bytes(d), err));
	return kht_dt_each(d, open_member, (void *)c->system, err);
}

/* The least that any of these devices has. */
static int bin_memory_of(const int *device, size_t n, uint32_t *least, kh_err *err)
{
	*least = UINT32_MAX;
	for (size_t i = 0; i < n; i++) {
		uint32_t bytes;

		KHT_DTRY(kht_hashgraph_bin_memory(device[i], &bytes, err));
		*least = bytes < *least ? bytes : *least;
	}
	return KH_OK;
}

int kht_dtable_open(const kht_dtable_config *c, kh_gpu_comm *comm, const int *device, size_t n,
		    kht_dtable **out, kh_err *err)
{
	uint32_t bin_memory;
	kht_dtable *d;
	int rc = check(c, n, err);

	if (!rc)
		rc = bin_memory_of(device, n, &bin_memory, err);
	if (rc)
		return rc;
	if (!(d = kh_array(1, sizeof *d, err)))
		return KH_ENOMEM;
	d->cfg = c->table;
	d->comm = comm;
	d->hashgraph = strcmp(c->system, "hashgraph") == 0;
	d->independent = c->independent;
	d->members = (unsigned)n;
	d->key_bytes = c->table.key_bits / 8;
	d->value_bytes = c->table.value_bits / 8;
	sizes(d, c, bin_memory);
	rc = open_all(d, c, device, err);
	if (rc)
		kht_dtable_close(d);
	else
		*out = d;
	return rc;
}

static void close_event(cudaEvent_t e)
{
	if (e)
		cudaEventDestroy(e);
}

static void close_member(kht_dtable *d, size_t i)
{
	kht_dmember *m = &d->m[i];

	if (cudaSetDevice(m->device) != cudaSuccess)
		return;
	if (d->work[i])
		cudaStreamSynchronize(d->work[i]);
	kht_table_close(m->t);
	for (unsigned r = 0; r < KHT_DROOMS; r++)
		kh_gpu_drop(&m->room[r]);
	close_event(m->given);
	close_event(m->wire_from);
	close_event(m->wire_to);
	for (unsigned p = 0; p <= KHT_DPHASES; p++)
		close_event(m->phase[p]);
	for (unsigned c = 0; c < KHT_DCHUNKS; c++) {
		close_event(m->ordered[c]);
		close_event(m->moved[c]);
	}
	if (d->work[i])
		cudaStreamDestroy(d->work[i]);
	if (d->wire[i])
		cudaStreamDestroy(d->wire[i]);
	free(m->keys.at);
	free(m->lists.at);
}

void kht_dtable_close(kht_dtable *d)
{
	if (!d)
		return;
	if (d->m && d->work && d->wire)
		for (size_t i = 0; i < d->members; i++)
			close_member(d, i);
	kh_gpu_drop(&d->host);
	free(d->m);
	free(d->work);
	free(d->wire);
	free(d->message);
	free(d->bytes);
	free(d->held);
	free(d);
}
