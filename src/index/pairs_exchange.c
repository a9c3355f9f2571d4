#include <config.h>
#include "index/pairs_exchange.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* A message with pairs: this struct, n keys, n bins. A message that asks for pairs has this
 * struct alone; an empty one says that the process wants no more. */
typedef struct part {
	uint32_t range, worker;
	uint64_t n;
} part;

struct kh_pairs_exchange {
	kh_pairs_exchange_options o;
	kh_shards shards;
	unsigned size, self;
	part **got;                    /* of each worker: a part of each process */
	kh_queue **came;                /* of each worker: where in `got` something has come */
};

void kh_pairs_exchange_close(kh_pairs_exchange *x)
{
	if (!x)
		return;
	for (size_t i = 0; x->got && i < (size_t)x->o.workers * x->size; i++)
		free(x->got[i]);
	for (unsigned i = 0; x->came && i < x->o.workers; i++)
		kh_queue_free(x->came[i]);
	free(x->got);
	free(x->came);
	free(x);
}

int kh_pairs_exchange_open(kh_pairs_exchange **out, const kh_pairs_exchange_options *o, kh_err *err)
{
	kh_pairs_exchange *x = kh_array(1, sizeof *x, err);
	uint64_t count[KH_RANGES];
	int rc;

	if (!x)
		return KH_ENOMEM;
	x->o = *o;
	x->size = kh_comm_size(o->comm);
	x->self = kh_comm_self(o->comm);
	x->got = kh_array((size_t)o->workers * x->size, sizeof(part *), err);
	x->came = x->got ? kh_array(o->workers, sizeof(kh_queue *), err) : NULL;
	rc = x->came ? KH_OK : KH_ENOMEM;
	for (unsigned i = 0; i < o->workers && !rc; i++)
		rc = kh_queue_new(&x->came[i], o->m, x->size, err);
	for (unsigned p = 0; p < KH_RANGES; p++)
		count[p] = kh_store_count(o->store, p);
	if (!rc)
		rc = kh_comm_sum(o->comm, count, KH_RANGES, err);
	if (rc) {
		kh_pairs_exchange_close(x);
		return rc;
	}
	kh_shards_cut(&x->shards, count, x->size);
	*out = x;
	return KH_OK;
}

const kh_shards *kh_pairs_exchange_shards(const kh_pairs_exchange *x)
{
	return &x->shards;
}

/* --- serving ---------------------------------------------------------------------- */
static size_t part_bytes(uint64_t n)
{
	return sizeof(part) + (size_t)n * 12;
}

/* This process's part of a range, malloc'd. */
static int make_part(const kh_pairs_exchange *x, const part *asked, part **out, kh_err *err)
{
	const uint64_t most = kh_store_count(x->o.store, asked->range);
	part *s = malloc(part_bytes(most));
	kh_pairs p;
	int rc;

	if (!s)
		return kh_fail_nomem(err);
	p.key = (uint64_t *)(s + 1);
	p.loc = (uint32_t *)(p.key + most);
	rc = kh_store_mapped(x->o.store, asked->range, x->o.remap, &p, err);
	if (rc) {
		free(s);
		return rc;
	}
	memmove(p.key + p.n, p.loc, p.n * sizeof *p.loc);
	*s = (part) { asked->range, asked->worker, p.n };
	*out = s;
	return KH_OK;
}

static part **place_of(const kh_pairs_exchange *x, unsigned from, const part *s)
{
	return &x->got[(size_t)s->worker * x->size + from];
}

static void keep_part(kh_pairs_exchange *x, unsigned from, part *s)
{
	part **place = place_of(x, from, s);

	*place = s;
	kh_queue_push(x->came[s->worker], place);
}

static int check_message(const kh_pairs_exchange *x, const kh_message *m, kh_err *err)
{
	const part *s = m->p;

	bool good = m->n >= sizeof *s && s->range < KH_RANGES;

	if (good && m->channel == KH_CHANNEL_PAIRS_ASK)
		good = m->n == sizeof *s;
	else if (good) /* each process has one part under way at a time, so as many are expected */
		good = s->worker < x->o.workers && s->n <= m->n / 12 &&
		       m->n == part_bytes(s->n) && !*place_of(x, m->from, s);
	if (good)
		return KH_OK;
	return kh_fail(err, KH_EIO, "process %u sent pairs in a way that is not this version's",
		       m->from);
}

int kh_pairs_exchange_serve(kh_pairs_exchange *x, kh_err *err)
{
	const unsigned channels = 1U << KH_CHANNEL_PAIRS_ASK | 1U << KH_CHANNEL_PAIRS;
	unsigned ended = 0;

	while (ended < x->size) {
		kh_message m;
		part *s = NULL;
		int rc = kh_comm_take(x->o.comm, channels, true, &m, err);

		if (rc)
			return rc;
		if (m.channel == KH_CHANNEL_PAIRS_ASK && m.n == 0) {
			ended++;
			free(m.p);
			continue;
		}
		rc = check_message(x, &m, err);
		if (!rc && m.channel == KH_CHANNEL_PAIRS) {
			keep_part(x, m.from, m.p);
			continue;
		}
		if (!rc)
			rc = make_part(x, m.p, &s, err);
		free(m.p);
		if (!rc)
			rc = kh_comm_post(x->o.comm, m.from, KH_CHANNEL_PAIRS, s, part_bytes(s->n),
					  err);
		if (rc)
			return rc;
	}
	return KH_OK;
}

/* --- asking ----------------------------------------------------------------------- */
static int ask_all(kh_pairs_exchange *x, const part *want, kh_err *err)
{
	int rc = KH_OK;

	/* starts with a different process each, so that not all ask process 0 first */
	for (unsigned i = 1; i < x->size && !rc; i++) {
		part *s = malloc(sizeof *s);

		if (!s)
			return kh_fail_nomem(err);
		*s = *want;
		rc = kh_comm_post(x->o.comm, (x->self + i) % x->size, KH_CHANNEL_PAIRS_ASK, s,
				  sizeof *s, err);
	}
	return rc;
}

/* Puts the parts one behind the other, and frees them. */
static int join(const kh_pairs_exchange *x, part **got, kh_pair_scratch *scratch, kh_pairs *out,
		kh_err *err)
{
	uint64_t n = 0;
	size_t at = 0;
	int rc;

	for (unsigned r = 0; r < x->size; r++)
		n += got[r]->n;
	rc = kh_pair_scratch_grow(scratch, n, err);
	for (unsigned r = 0; r < x->size && !rc; r++) {
		const uint64_t *key = (const uint64_t *)(got[r] + 1);
		size_t m = (size_t)got[r]->n;

		if (m > 0) {            /* the arrays may be NULL */
			memcpy(scratch->key + at, key, m * sizeof *key);
			memcpy(scratch->loc + at, key + m, m * sizeof *scratch->loc);
		}
		at += m;
		free(got[r]);
		got[r] = NULL;
	}
	if (!rc)
		kh_pair_scratch_sort(scratch, at, out);
	return rc;
}

int kh_pairs_exchange_range(kh_pairs_exchange *x, unsigned worker, unsigned range,
			    kh_pair_scratch *scratch, kh_pairs *out, kh_err *err)
{
	const part want = { range, worker, 0 };
	part **got = x->got + (size_t)worker * x->size;
	int rc = ask_all(x, &want, err);

	if (!rc)
		rc = make_part(x, &want, &got[x->self], err);
	for (unsigned i = 1; i < x->size && !rc; i++)
		if (!kh_queue_pop(x->came[worker]))
			rc = KH_ECANCEL;
	return rc ? rc : join(x, got, scratch, out, err);
}

int kh_pairs_exchange_end(kh_pairs_exchange *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned r = 0; r < x->size && !rc; r++)
		rc = kh_comm_post(x->o.comm, r, KH_CHANNEL_PAIRS_ASK, NULL, 0, err);
	return rc;
}
