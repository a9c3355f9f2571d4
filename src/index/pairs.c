#include <config.h>
#include "index/pairs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/threads.h"
#include "io/spill.h"

enum { PAIR = 9 };              /* bytes: the 40 bits of a key that its range does not say, a bin */

/* The slices of one block: the low 32 bits of all keys, then all bins, then the bits of the keys
 * above these, each ordered by range. */
typedef struct batch {
	uint32_t from[KH_RANGES + 1];
	uint32_t *low;                  /* NULL: spilled */
	uint32_t *bin;
	uint8_t *high;
	uint64_t at;                    /* in the spill file */
} batch;

struct kh_store {
	pthread_mutex_t lock;           /* guards all below while batches are added */
	batch **batch;                  /* by ticket; NULL: none */
	size_t n, cap;
	uint64_t count[KH_RANGES];
	uint64_t memory, used;          /* bytes; memory 0: no limit */
	const char *beside;
	kh_spill file;
	uint64_t spilled;
};

int kh_store_new(kh_store **out, uint64_t memory, const char *beside, kh_err *err)
{
	kh_store *s = kh_array(1, sizeof *s, err);

	if (!s)
		return KH_ENOMEM;
	s->memory = memory;
	s->beside = beside;
	s->file = (kh_spill) { -1, "the build" };
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return KH_OK;
}

static void batch_free(batch *b)
{
	if (!b)
		return;
	free(b->low);
	free(b);
}

void kh_store_free(kh_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		batch_free(s->batch[i]);
	free(s->batch);
	kh_spill_close(&s->file);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* --- adding ----------------------------------------------------------------------- */
static int batch_new(batch **out, const uint64_t *key, const uint32_t *bin, size_t n, kh_err *err)
{
	batch *b = kh_array(1, sizeof *b, err);
	uint32_t next[KH_RANGES];

	if (!b)
		return KH_ENOMEM;
	b->low = malloc((n ? n : 1) * PAIR);
	if (!b->low || n > UINT32_MAX) {
		batch_free(b);
		return kh_fail_nomem(err);
	}
	b->bin = b->low + n;
	b->high = (uint8_t *)(b->bin + n);
	for (size_t i = 0; i < n; i++)
		b->from[kh_key_range(key[i]) + 1]++;
	for (int r = 0; r < KH_RANGES; r++)
		b->from[r + 1] += b->from[r];
	memcpy(next, b->from, sizeof next);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = next[kh_key_range(key[i])]++;

		b->low[at] = (uint32_t)key[i];
		b->high[at] = (uint8_t)(key[i] >> 32);
		b->bin[at] = bin[i];
	}
	*out = b;
	return KH_OK;
}

/* Finds a place for the batch, and decides where its bytes go. The caller holds the lock. */
static int admit(kh_store *s, uint64_t ticket, batch *b, bool *spill, kh_err *err)
{
	uint64_t bytes = (uint64_t)b->from[KH_RANGES] * PAIR;
	int rc = KH_GROW(s->batch, s->cap, ticket + 1, err);

	if (rc)
		return rc;
	while (s->n <= ticket)
		s->batch[s->n++] = NULL;
	*spill = s->memory > 0 && s->used + bytes > s->memory;
	if (*spill && s->file.fd < 0)
		rc = kh_spill_open(&s->file, s->beside, err);
	if (rc)
		return rc;
	if (*spill) {
		b->at = s->spilled;
		s->spilled += bytes;
	} else {
		s->used += bytes;
	}
	for (int r = 0; r < KH_RANGES; r++)
		s->count[r] += b->from[r + 1] - b->from[r];
	s->batch[ticket] = b;
	return KH_OK;
}

int kh_store_add(kh_store *s, uint64_t ticket, const uint64_t *key, const uint32_t *bin, size_t n,
		 kh_err *err)
{
	batch *b;
	bool spill = false;
	int rc = batch_new(&b, key, bin, n, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	rc = admit(s, ticket, b, &spill, err);
	pthread_mutex_unlock(&s->lock);
	if (rc) {
		batch_free(b);
		return rc;
	}
	if (!spill)
		return KH_OK;
	rc = kh_spill_write(&s->file, b->low, n * PAIR, b->at, err);
	free(b->low);
	b->low = NULL;
	return rc;
}

/* --- gathering and sorting -------------------------------------------------------- */
void kh_pair_scratch_clear(kh_pair_scratch *r)
{
	free(r->key);
	free(r->key2);
	free(r->loc);
	free(r->loc2);
	*r = (kh_pair_scratch) { .key = NULL };
}

/* Reads the pairs of a range that a batch has behind the first `to` ones of the scratch. */
static int slice(const kh_store *s, const batch *b, unsigned range, kh_pair_scratch *scratch,
		 size_t to, kh_err *err)
{
	const size_t from = b->from[range], n = b->from[range + 1] - from, all = b->from[KH_RANGES];
	const uint32_t *low;
	const uint8_t *high;
	int rc = KH_OK;

	if (n == 0)                     /* the scratch may be empty */
		return KH_OK;
	if (b->low) {
		low = b->low + from;
		high = b->high + from;
		memcpy(scratch->loc + to, b->bin + from, n * sizeof *b->bin);
	} else {
		uint32_t *const room = (uint32_t *)scratch->key2;

		low = room;
		high = (uint8_t *)(room + n);
		if ((rc = kh_spill_read(&s->file, room, n * 4, b->at + from * 4, err)) ||
		    (rc = kh_spill_read(&s->file, room + n, n, b->at + all * 8 + from, err)))
			return rc;
		rc = kh_spill_read(&s->file, scratch->loc + to, n * 4,
				   b->at + all * 4 + from * 4, err);
	}
	for (size_t i = 0; i < n; i++)
		scratch->key[to + i] = (uint64_t)high[i] << 32 | low[i];
	return rc;
}

/* One stable pass by `bits` of the key above `shift`. */
static void radix_pass(const kh_pairs *in, const kh_pairs *out, unsigned shift, unsigned bits)
{
	uint32_t next[1 << 12] = { 0 }, sum = 0;
	const uint64_t mask = (UINT64_C(1) << bits) - 1;

	for (size_t i = 0; i < in->n; i++)
		next[in->key[i] >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		uint32_t n = next[d];

		next[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < in->n; i++) {
		uint32_t at = next[in->key[i] >> shift & mask]++;

		out->key[at] = in->key[i];
		out->loc[at] = in->loc[i];
	}
}

/* Stable, and quick where nearly all is in order. False: too much is not, so it was given up;
 * what has moved has moved stably. */
static bool insertion_sort(const kh_pairs *p)
{
	size_t moves = 16 * p->n + 1024;

	for (size_t i = 1; i < p->n; i++) {
		uint64_t key = p->key[i];
		uint32_t loc = p->loc[i];
		size_t j = i;

		for (; j > 0 && p->key[j - 1] > key; j--) {
			p->key[j] = p->key[j - 1];
			p->loc[j] = p->loc[j - 1];
		}
		p->key[j] = key;
		p->loc[j] = loc;
		if (i - j > moves)
			return false;
		moves -= i - j;
	}
	return true;
}

/* Radix passes over `bits` bits of the key above `shift`, from the lowest up. */
static void radix_sort(kh_pairs *a, kh_pairs *b, unsigned shift, unsigned bits)
{
	for (unsigned done = 0; done < bits;) {
		unsigned passes = (bits - done + 11) / 12,
			 now = (bits - done + passes - 1) / passes;
		kh_pairs swap = *a;

		b->n = a->n;
		radix_pass(a, b, shift + done, now);
		*a = *b;
		*b = swap;
		done += now;
	}
}

/* Stable sort by the 40 key bits. Keys are well mixed, so their upper log2 n bits nearly order
 * them, and insertion does the rest; if keys share those bits, further passes go over all bits. */
static void sort_pairs(kh_pairs *a, kh_pairs *b)
{
	unsigned top = 0;

	while (top < 40 && a->n >> top > 1)
		top++;
	radix_sort(a, b, 40 - top, top);
	if (!insertion_sort(a))
		radix_sort(a, b, 0, 40);
}

static int gather(const kh_store *s, unsigned range, kh_pair_scratch *scratch, kh_err *err)
{
	size_t n = 0;
	int rc = KH_OK;

	for (size_t t = 0; t < s->n && !rc; t++) {
		const batch *b = s->batch[t];

		if (!b)
			continue;
		rc = slice(s, b, range, scratch, n, err);
		n += b->from[range + 1] - b->from[range];
	}
	return rc;
}

int kh_pair_scratch_grow(kh_pair_scratch *scratch, uint64_t n, kh_err *err)
{
	int rc;

	if (n > UINT32_MAX)
		return kh_fail(err, KH_EUSAGE, "%llu pairs in one of 256 ranges are too many",
			       (unsigned long long)n);
	if ((rc = KH_GROW(scratch->key, scratch->cap[0], (size_t)n, err)) ||
	    (rc = KH_GROW(scratch->key2, scratch->cap[1], (size_t)n, err)) ||
	    (rc = KH_GROW(scratch->loc, scratch->cap[2], (size_t)n, err)) ||
	    (rc = KH_GROW(scratch->loc2, scratch->cap[3], (size_t)n, err)))
		return rc;
	return KH_OK;
}

void kh_pair_scratch_sort(kh_pair_scratch *scratch, size_t n, kh_pairs *out)
{
	kh_pairs b = { scratch->key2, scratch->loc2, n };

	*out = (kh_pairs) { scratch->key, scratch->loc, n };
	sort_pairs(out, &b);
}

int kh_store_range(const kh_store *s, unsigned range, kh_pair_scratch *scratch, kh_pairs *out,
		   kh_err *err)
{
	const size_t n = (size_t)s->count[range];
	int rc = kh_pair_scratch_grow(scratch, n, err);

	if (!rc)
		rc = gather(s, range, scratch, err);
	if (!rc)
		kh_pair_scratch_sort(scratch, n, out);
	return rc;
}
