/*
 * finish_exchange.c - the end of a build: sends pairs to the owners of their ranges
 *
 * The devices of a process got their pairs while blocks were sampled, by a guess that is good
 * unless some keys have very many pairs. What is left for the end: the cut into ranges of equal
 * weight, if the guess was bad, and the exchange between processes. The pairs of a member are put
 * into the order of ranges, stably, so that what it gives to another member is one stretch. Each
 * range comes from one member of each process, so the stretches, one behind the other in the
 * order of members, are in the order of processes and tickets.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

struct exchange {
	struct kh_wave *wave;
	unsigned n;                     /* waves */
	unsigned first, size;           /* the first member of this process; the number of all */
	kh_shards cut;
	uint64_t *count;                /* [from * size + to]: numbers of pairs */
	size_t *at;                     /* n * 4 * size: places and sizes in the messages */
	kh_gpu_message *message;
	cudaStream_t *stream;
};

/* --- weights ---------------------------------------------------------------------- */
/* Counts the pairs of the wave by range; the numbers are on their way to pairs.bound. */
static int weigh(struct kh_wave *w, kh_err *err)
{
	int rc = kh_gpu_use(w->owner->device, err);

	struct kh_wave_pairs *p = &w->pairs;

	if (!rc)
		rc = KH_GPU(cudaMemsetAsync(p->at.p, 0, KH_RANGES * 8, w->stream), err);
	if (!rc)
		rc = kh_gpu_check(kh_gpu_weigh(p->key[0].p, NULL, p->sort.n, p->at.p, w->stream),
				  "weighing kernel", err);
	return rc ? rc : KH_GPU(cudaMemcpyAsync(p->hat.p, p->at.p, KH_RANGES * 8,
						cudaMemcpyDeviceToHost, w->stream),
				err);
}

/* Pairs that member m gets by the cut. */
static uint64_t weight_of(const struct exchange *x, unsigned m, const uint64_t *weight)
{
	uint64_t sum = 0;

	for (unsigned p = x->cut.first[m]; p < x->cut.first[m + 1]; p++)
		sum += weight[p];
	return sum;
}

/* Whether the devices of all processes have room for what they get. */
static int find_fit(const struct exchange *x, const uint64_t *weight, bool *fits, kh_err *err)
{
	kh_comm *processes = x->wave->b->o.on.comm;
	uint64_t lack = 0;
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n; i++) {
		const struct kh_wave *w = &x->wave[i];

		lack += kh_plan_exchange(&w->owner->plan, w->pairs.sort.n,
					 weight_of(x, x->first + i, weight)) > w->owner->plan.limit;
	}
	if (processes)
		rc = kh_comm_sum(processes, &lack, 1, err);
	*fits = lack == 0;
	return rc;
}

/* Makes the cut; *far: it is much better than the one that the waves have. */
static int choose(struct exchange *x, bool *far, bool *fits, kh_err *err)
{
	uint64_t weight[KH_RANGES] = { 0 }, have = 0, would = 0;
	kh_comm *processes = x->wave->b->o.on.comm;
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++)
		rc = weigh(&x->wave[i], err);
	for (unsigned i = 0; i < x->n && !rc; i++) {
		uint64_t sum = 0;

		if ((rc = kh_gpu_use(x->wave[i].owner->device, err)) ||
		    (rc = kh_wave_wait(&x->wave[i], err)))
			break;
		for (unsigned p = 0; p < KH_RANGES; p++) {
			weight[p] += x->wave[i].pairs.bound[p];
			sum += x->wave[i].pairs.bound[p];
		}
		have = sum > have ? sum : have;
	}
	if (!rc && processes)
		rc = kh_comm_sum(processes, weight, KH_RANGES, err);
	if (rc)
		return rc;
	kh_shards_cut(&x->cut, weight, x->size);
	for (unsigned m = 0; m < x->size; m++) {
		const uint64_t sum = weight_of(x, m, weight);

		would = sum > would ? sum : would;
	}
	*far = would + would / 20 < have;
	return *far || processes ? find_fit(x, weight, fits, err) : KH_OK;
}

/* --- pairs ------------------------------------------------------------------------ */
static int range_worker(void *arg, unsigned i, kh_err *err)
{
	struct exchange *x = arg;
	struct kh_wave *w = &x->wave[i];
	uint64_t *count = x->count + (size_t)(x->first + i) * x->size;
	int rc = kh_gpu_use(w->owner->device, err);

	if (!rc)
		rc = kh_wave_sort(w, true, err);
	for (unsigned m = 0; m < x->size && !rc; m++)
		count[m] = w->pairs.bound[x->cut.first[m + 1]] - w->pairs.bound[x->cut.first[m]];
	return rc;
}

static uint64_t taken(const struct exchange *x, unsigned i)
{
	uint64_t n = 0;

	for (unsigned m = 0; m < x->size; m++)
		n += x->count[(size_t)m * x->size + x->first + i];
	return n;
}

/* The side of the buffers that the pairs by range are in; the other side is for what comes. */
static int sorted_in(const struct kh_wave *w)
{
	return w->pairs.sort.key != w->pairs.key[0].p;
}

/* Describes what wave i sends and receives, in elements of `unit` bytes. */
static void fill_message(struct exchange *x, unsigned i, size_t unit)
{
	const struct kh_wave *w = &x->wave[i];
	const unsigned me = x->first + i;
	size_t *at = x->at + (size_t)i * 4 * x->size, *bytes = at + x->size,
	       *from = bytes + x->size, *got = from + x->size, sum = 0;
	const bool keys = unit == sizeof(uint64_t);
	const kh_gpu_buf *to = keys ? w->pairs.key : w->pairs.bin;

	for (unsigned m = 0; m < x->size; m++) {
		at[m] = (size_t)w->pairs.bound[x->cut.first[m]] * unit;
		bytes[m] = (size_t)x->count[(size_t)me * x->size + m] * unit;
		from[m] = sum;
		got[m] = (size_t)x->count[(size_t)m * x->size + me] * unit;
		sum += got[m];
	}
	x->message[i] = (kh_gpu_message) {
		.send = keys ? (void *)w->pairs.sort.key : (void *)w->pairs.sort.bin,
		.at = at,
		.bytes = bytes,
		.recv = to[!sorted_in(w)].p,
		.from = from,
		.got = got,
		.stream = w->stream
	};
}

/* Plain copies: all members are of this process, and their pairs are there. */
static int copy(struct exchange *x, kh_err *err)
{
	int rc = KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++) {
		const kh_gpu_message *p = &x->message[i];

		rc = kh_gpu_use(x->wave[i].owner->device, err);
		for (unsigned m = 0; m < x->n && !rc; m++)
			if (p->bytes[m] > 0)
				rc = kh_gpu_copy((char *)x->message[m].recv +
							 x->message[m].from[i],
						 x->wave[m].owner->device,
						 (const char *)p->send + p->at[m],
						 x->wave[i].owner->device, p->bytes[m],
						 p->stream, err);
	}
	return rc;
}

static int send(struct exchange *x, size_t unit, kh_err *err)
{
	kh_gpu_comm *c = x->wave->b->comm;

	for (unsigned i = 0; i < x->n; i++)
		fill_message(x, i, unit);
	return c ? kh_gpu_comm_all_to_all(c, x->message, err) : copy(x, err);
}

static int arrive(struct exchange *x, kh_err *err)
{
	kh_gpu_comm *c = x->wave->b->comm;
	int rc = c ? kh_gpu_comm_wait(c, x->stream, err) : KH_OK;

	for (unsigned i = 0; i < x->n && !rc; i++)
		if (!(rc = kh_gpu_use(x->wave[i].owner->device, err)))
			rc = kh_wave_wait(&x->wave[i], err);
	return rc;
}

/* Makes room for what comes, which is in key[0] and bin[0] in the end. */
static int take_room(struct exchange *x, unsigned i, kh_err *err)
{
	struct kh_wave *w = &x->wave[i];
	const uint64_t n = taken(x, i);
	int rc = kh_gpu_use(w->owner->device, err);

	if (rc)
		return rc;
	kh_wave_make_free(w, kh_plan_pairs(n), KH_WAVE_GATHERED);
	return kh_wave_room(w, n, !sorted_in(w), err);
}

static void take(struct exchange *x, unsigned i)
{
	struct kh_wave *w = &x->wave[i];

	if (!sorted_in(w)) {
		const kh_gpu_buf key = w->pairs.key[0], bin = w->pairs.bin[0];

		w->pairs.key[0] = w->pairs.key[1];
		w->pairs.bin[0] = w->pairs.bin[1];
		w->pairs.key[1] = key;
		w->pairs.bin[1] = bin;
	}
	w->pairs.sort.n = taken(x, i);
	w->pairs.bits = KH_KEY_BITS;          /* dropped pairs are not sent */
	w->from = x->cut.first[x->first + i];
	w->to = x->cut.first[x->first + i + 1];
}

static int trade(struct exchange *x, kh_err *err)
{
	kh_builder *b = x->wave->b;
	double began;
	int rc = kh_side_by_side(x->n, range_worker, x, err);

	began = kh_seconds();
	if (!rc && b->o.on.comm)
		rc = kh_comm_sum(b->o.on.comm, x->count, (size_t)x->size * x->size, err);
	for (unsigned i = 0; i < x->n && !rc; i++)
		rc = take_room(x, i, err);
	if (!rc && !(rc = send(x, sizeof(uint64_t), err)) &&
	    !(rc = send(x, sizeof(uint32_t), err)))
		rc = arrive(x, err);
	for (unsigned i = 0; i < x->n && !rc; i++) {
		take(x, i);
		x->wave[i].owner->times.exchange += kh_seconds() - began;
	}
	return rc;
}

int kh_waves_exchange(struct kh_wave *wave, unsigned n, bool *fits, kh_err *err)
{
	kh_builder *b = wave->b;
	struct exchange x = { .wave = wave, .n = n, .size = n };
	bool far;
	int rc;

	*fits = true;
	if (b->comm) {
		x.size = kh_gpu_comm_size(b->comm);
		x.first = kh_gpu_comm_first(b->comm);
	}
	if (x.size == 1)
		return KH_OK;
	if (x.size > KH_MEMBERS_MAX)
		return kh_fail(err, KH_EUSAGE, "%u GPUs are more than the %d that an index "
			       "is built by", x.size, KH_MEMBERS_MAX);
	rc = choose(&x, &far, fits, err);
	if (rc || !*fits || (!far && !b->o.on.comm))
		return rc;
	x.count = kh_array((size_t)x.size * x.size, sizeof *x.count, err);
	x.at = kh_array((size_t)n * 4 * x.size, sizeof *x.at, err);
	x.message = kh_array(n, sizeof *x.message, err);
	x.stream = kh_array(n, sizeof(cudaStream_t), err);
	if (!rc && (!x.count || !x.at || !x.message || !x.stream))
		rc = KH_ENOMEM;
	for (unsigned i = 0; i < n && !rc; i++)
		x.stream[i] = wave[i].stream;
	if (!rc)
		rc = trade(&x, err);
	free(x.count);
	free(x.at);
	free(x.message);
	free(x.stream);
	return rc;
}

/* --- by way of the host ----------------------------------------------------------- */
struct post {
	unsigned processes;
	unsigned from[KH_MEMBERS_MAX + 1];      /* ranges of process r: up to those of the next */
	void **send, **recv;
	size_t *n, *got;
};

/* Cuts the ranges by equal weights; each process gets those of its members. */
static int cut_store(kh_builder *b, struct post *p, kh_err *err)
{
	uint64_t weight[KH_RANGES], n[KH_MEMBERS_MAX] = { 0 }, members = 0;
	kh_shards cut;
	int rc;

	n[kh_comm_self(b->o.on.comm)] = b->n;
	for (unsigned i = 0; i < KH_RANGES; i++)
		weight[i] = kh_store_count(b->store, i);
	if ((rc = kh_comm_sum(b->o.on.comm, n, p->processes, err)) ||
	    (rc = kh_comm_sum(b->o.on.comm, weight, KH_RANGES, err)))
		return rc;
	kh_shards_cut(&cut, weight, kh_gpu_comm_size(b->comm));
	for (unsigned r = 0; r < p->processes; r++) {
		p->from[r] = cut.first[members];
		members += n[r];
	}
	p->from[p->processes] = KH_RANGES;
	return KH_OK;
}

/* The pairs of a range with their final bins: keys, then bins, malloc'd. */
static int share_of(const kh_builder *b, unsigned range, const kh_remap *remap, void **out,
		    size_t *bytes, kh_err *err)
{
	const uint64_t most = kh_store_count(b->store, range);
	kh_pairs p = { kh_array(most, PAIR, err), NULL, 0 };
	int rc;

	if (!p.key)
		return KH_ENOMEM;
	p.loc = (uint32_t *)(p.key + most);
	rc = kh_store_mapped(b->store, range, remap, &p, err);
	for (uint64_t i = 0; i < p.n && !rc; i++)
		p.key[i] |= (uint64_t)range << 40;
	memmove(p.key + p.n, p.loc, rc ? 0 : p.n * sizeof *p.loc);
	*out = p.key;
	*bytes = p.n * PAIR;
	return rc;
}

/* Fills the message to each process with its k-th range. */
static int fill_post(const kh_builder *b, const kh_remap *remap, struct post *p, unsigned k,
		     kh_err *err)
{
	int rc = KH_OK;

	for (unsigned r = 0; r < p->processes && !rc; r++) {
		const unsigned range = p->from[r] + k;

		p->n[r] = 0;
		if (range < p->from[r + 1])
			rc = share_of(b, range, remap, &p->send[r], &p->n[r], err);
	}
	return rc;
}

static void clear_post(struct post *p)
{
	for (unsigned r = 0; r < p->processes; r++) {
		free(p->send[r]);
		free(p->recv[r]);
		p->send[r] = p->recv[r] = NULL;
	}
}

static int trade_store(kh_builder *b, const kh_remap *remap, struct post *p, kh_store *to,
		       kh_err *err)
{
	unsigned most = 0;
	int rc = KH_OK;

	for (unsigned r = 0; r < p->processes; r++)
		if (p->from[r + 1] - p->from[r] > most)
			most = p->from[r + 1] - p->from[r];
	for (unsigned k = 0; k < most && !rc; k++) {
		rc = fill_post(b, remap, p, k, err);
		if (!rc)
			rc = kh_comm_all_to_all(b->o.on.comm, (const void *const *)p->send, p->n,
						p->recv, p->got, err);
		for (unsigned r = 0; r < p->processes && !rc; r++) {
			const size_t n = p->got[r] / PAIR;
			uint64_t *key = p->recv[r];

			if (n > 0)
				rc = kh_store_add(to, (uint64_t)k * p->processes + r, key,
						  (uint32_t *)(key + n), n, err);
		}
		clear_post(p);
	}
	return rc;
}

int kh_store_exchange(kh_builder *b, const kh_remap *remap, unsigned *from, unsigned *to,
		      kh_err *err)
{
	struct post p = { .processes = kh_comm_size(b->o.on.comm) };
	const unsigned me = kh_comm_self(b->o.on.comm);
	kh_store *got = NULL;
	int rc = KH_OK;

	if (kh_gpu_comm_size(b->comm) > KH_MEMBERS_MAX)
		return kh_fail(err, KH_EUSAGE, "%u GPUs are more than the %d that an index "
			       "is built by", kh_gpu_comm_size(b->comm), KH_MEMBERS_MAX);
	p.send = kh_array(p.processes, sizeof *p.send, err);
	p.recv = kh_array(p.processes, sizeof *p.recv, err);
	p.n = kh_array(p.processes, sizeof *p.n, err);
	p.got = kh_array(p.processes, sizeof *p.got, err);
	if (!p.send || !p.recv || !p.n || !p.got)
		rc = KH_ENOMEM;
	if (!rc && !(rc = cut_store(b, &p, err)) &&
	    !(rc = kh_store_new(&got, b->host.memory, b->o.tmp, err)))
		rc = trade_store(b, remap, &p, got, err);
	if (rc) {
		kh_store_free(got);
	} else {
		kh_store_free(b->store);
		b->store = got;
		*from = p.from[me];
		*to = p.from[me + 1];
	}
	free(p.send);
	free(p.recv);
	free(p.n);
	free(p.got);
	return rc;
}
