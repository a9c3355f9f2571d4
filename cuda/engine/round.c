/* round.c - a round of an exchange: puts the work of each step into the streams (rounds.h) */
#include <config.h>
#include "cuda/engine/rounds.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* --- numbers ---------------------------------------------------------------------- */
static struct kh_counts counts_at(void *p, unsigned n)
{
	uint64_t *x = p;

	return (struct kh_counts) { .sent = x,
				    .got = x + n,
				    .words = x + 2 * n,
				    .reply = x + 3 * n,
				    .features = (uint32_t *)(x + 4 * (size_t)n) };
}

static size_t counts_bytes(unsigned n)
{
	return 4 * (size_t)n * sizeof(uint64_t) + sizeof(uint32_t);
}

static uint64_t sum(const uint64_t *x, unsigned n)
{
	uint64_t s = 0;

	for (unsigned m = 0; m < n; m++)
		s += x[m];
	return s;
}

/* --- members ---------------------------------------------------------------------- */
int kh_members_open(struct kh_members *m, const kh_engine *e, kh_err *err)
{
	m->e = e;
	m->n = kh_gpu_comm_size(m->comm);
	if (m->n > KH_GPU_MEMBERS_MAX)
		return kh_fail(err, KH_EUSAGE, "%u devices are more than %d", m->n,
			       KH_GPU_MEMBERS_MAX);
	m->one = kh_array(m->n, sizeof *m->one, err);
	if (!m->one)
		return KH_ENOMEM;
	for (unsigned i = 0; i < m->n; i++)
		m->one[i] = 1;
	m->own = e->placement == KH_PLACE_HOST;
	m->features = kh_round_features(e);
	pthread_mutex_init(&m->memory, NULL);
	return KH_OK;
}

void kh_members_close(struct kh_members *m)
{
	kh_gpu_comm_close(m->comm);
	pthread_mutex_destroy(&m->memory);
	free(m->one);
}

/* --- open, close ------------------------------------------------------------------ */
static int side_open(kh_side *s, const struct kh_members *m, const struct kh_cuda_copy *c,
		     cudaStream_t *stream, kh_err *err)
{
	int rc = kh_gpu_use(c->device, err);

	s->c = c;
	s->extent = kh_array(8 * (size_t)m->n, sizeof *s->extent, err);
	if (!rc && !s->extent)
		rc = KH_ENOMEM;
	if (!rc)
		rc = KH_GPU(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), err);
	if (!rc)
		rc = kh_gpu_room_exact(&s->counts, counts_bytes(m->n), err);
	if (!rc)
		rc = kh_gpu_host_room(&s->host, counts_bytes(m->n), err);
	if (rc)
		return rc;
	s->dev = counts_at(s->counts.p, m->n);
	s->at = counts_at(s->host.p, m->n);
	return kh_cuda_scratch_open(&s->scratch, m->e, *stream, err);
}

int kh_round_open(kh_round *r, struct kh_members *m, kh_err *err)
{
	const size_t n = m->e->n;
	int rc;

	r->m = m;
	r->side = kh_array(n, sizeof *r->side, err);
	r->stream = kh_array(n, sizeof *r->stream, err);
	r->message = kh_array(2 * n, sizeof *r->message, err);
	rc = r->side && r->stream && r->message ? KH_OK : KH_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		rc = side_open(&r->side[i], m, &m->e->copy[i], &r->stream[i], err);
	return rc;
}

static void side_close(kh_side *s)
{
	KH_GPU_DROP(s->all);
	kh_cuda_scratch_close(&s->scratch);
	free(s->extent);
}

void kh_round_close(kh_round *r)
{
	for (size_t i = 0; r->side && r->stream && i < r->m->e->n; i++) {
		cudaSetDevice(r->m->e->copy[i].device);
		if (r->stream[i])
			cudaStreamSynchronize(r->stream[i]);
		side_close(&r->side[i]);
		if (r->stream[i])
			cudaStreamDestroy(r->stream[i]);
	}
	free(r->side);
	free(r->stream);
	free(r->message);
}

/* --- sending ---------------------------------------------------------------------- */
/* What a device sends and receives in an exchange: the number of elements for each member. */
struct load {
	const void *send;
	const uint64_t *give;
	void *recv;
	const uint64_t *take;
};

struct trip {
	struct load (*load)(const kh_round *r, const kh_side *s);
	size_t bytes;
};

static kh_gpu_message *pack(kh_round *r, size_t i, unsigned k, const struct trip *t)
{
	const struct load l = t->load(r, &r->side[i]);
	const unsigned n = r->m->n;
	size_t *at = r->side[i].extent + (size_t)k * 4 * n, *size = at + n, *from = size + n,
	       *got = from + n, to = 0, back = 0;
	kh_gpu_message *p = &r->message[k * r->m->e->n + i];

	for (unsigned m = 0; m < n; m++) {
		at[m] = to;
		from[m] = back;
		to += size[m] = (size_t)l.give[m] * t->bytes;
		back += got[m] = (size_t)l.take[m] * t->bytes;
	}
	*p = (kh_gpu_message) { .send = l.send,
				.at = at,
				.bytes = size,
				.recv = l.recv,
				.from = from,
				.got = got,
				.stream = r->stream[i] };
	return p;
}

/* Makes one exchange, or two at a time. */
static int swap(kh_round *r, const struct trip *t, unsigned n, kh_err *err)
{
	int rc;

	for (size_t i = 0; i < r->m->e->n; i++) {
		kh_gpu_message *p = pack(r, i, 0, t);

		if (n > 1)
			p->more = pack(r, i, 1, t + 1);
	}
	pthread_mutex_lock(&r->m->memory);
	rc = kh_gpu_comm_all_to_all(r->m->comm, r->message, err);
	pthread_mutex_unlock(&r->m->memory);
	return rc;
}

static struct load load_numbers(const kh_round *r, const kh_side *s)
{
	return (struct load) { s->dev.sent, r->m->one, s->dev.got, r->m->one };
}

static struct load load_features(const kh_round *r, const kh_side *s)
{
	(void)r;
	return (struct load) { s->out.p, s->at.sent, s->asked.p, s->at.got };
}

static struct load load_totals(const kh_round *r, const kh_side *s)
{
	return (struct load) { s->dev.words, r->m->one, s->dev.reply, r->m->one };
}

static struct load load_lengths(const kh_round *r, const kh_side *s)
{
	(void)r;
	return (struct load) { s->asked_len.p, s->at.got, s->len.p, s->at.sent };
}

static struct load load_words(const kh_round *r, const kh_side *s)
{
	(void)r;
	return (struct load) { s->answer.p, s->at.words, s->word.p, s->at.reply };
}

static const struct trip numbers = { load_numbers, sizeof(uint64_t) },
			 features = { load_features, sizeof(uint64_t) },
			 totals = { load_totals, sizeof(uint64_t) },
			 lists[] = { { load_lengths, 1 }, { load_words, sizeof(uint32_t) } };

/* Copies numbers [from, to) of each device to the host. */
static int fetch(kh_round *r, unsigned from, unsigned to, kh_err *err)
{
	const size_t n = r->m->n;
	int rc = KH_OK;

	for (size_t i = 0; i < r->m->e->n && !rc; i++) {
		kh_side *s = &r->side[i];

		if (!(rc = kh_gpu_use(s->c->device, err)))
			rc = KH_GPU(cudaMemcpyAsync(s->at.sent + from * n, s->dev.sent + from * n,
						    (to - from) * n * sizeof(uint64_t),
						    cudaMemcpyDeviceToHost, r->stream[i]),
				    err);
	}
	return rc;
}

/* --- start ------------------------------------------------------------------------ */
static int sample(const kh_side *s, const kh_rounds_task *t, cudaStream_t stream, kh_err *err)
{
	kh_gpu_query q = t->q;
	int rc;

	q.pass = KH_GPU_FEATURES;
	q.key = s->key.p;
	q.n_key = s->dev.features;
	q.scratch = s->scratch.list.p;
	q.n_scratch = s->scratch.n;
	if ((rc = KH_GPU(cudaStreamWaitEvent(stream, t->staged, 0), err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(q.counts, 0, KH_GPU_QUERY_COUNTS, stream), err)))
		return rc;
	return kh_gpu_check(kh_gpu_query_run(&q, stream), "feature kernels", err);
}

static int side_sample(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	int rc = kh_gpu_use(s->c->device, err);

	if (rc || (rc = kh_side_room(&s->key, s->features, 8, err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(s->counts.p, 0, counts_bytes(r->m->n), r->stream[i]),
			 err)))
		return rc;
	for (unsigned t = 0; t < s->n_tasks && !rc; t++)
		rc = sample(s, s->task[t], r->stream[i], err);
	return rc;
}

int kh_round_sample(kh_round *r, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = side_sample(r, i, err);
	return rc;
}

int kh_round_start(kh_round *r, kh_err *err)
{
	int rc = KH_OK;

	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = kh_side_route(r, i, err);
	if (!rc)
		rc = swap(r, &numbers, 1, err);
	if (!rc)
		rc = fetch(r, 0, 2, err);
	r->state = KH_ROUND_STARTED;
	return rc;
}

/* --- ask -------------------------------------------------------------------------- */
static int side_numbers(kh_round *r, kh_side *s, kh_err *err)
{
	const unsigned n = r->m->n;
	int rc;

	for (unsigned m = 0; m < n; m++) {
		r->all_last &= s->at.got[m] >= KH_ROUND_LAST;
		s->at.sent[m] &= KH_ROUND_LAST - 1;
		s->at.got[m] &= KH_ROUND_LAST - 1;
	}
	s->n_home = sum(s->at.sent, n);
	s->n_asked = sum(s->at.got, n);
	r->quiet &= s->n_home == 0 && s->n_asked == 0;
	if ((rc = kh_gpu_use(s->c->device, err)) ||
	    (rc = kh_side_room(&s->asked, s->n_asked, 8, err)) ||
	    (rc = kh_side_room(&s->loc, s->n_asked, 8, err)) ||
	    (rc = kh_side_room(&s->asked_len, s->n_asked, 1, err)))
		return rc;
	return kh_side_room(&s->asked_before, s->n_asked + 1, 8, err);
}

static int sums_room(kh_side *s, uint64_t n, kh_err *err)
{
	return kh_side_scratch(s, kh_gpu_sums_scratch(n), n, err);
}

static kh_gpu_reply reply_of(const kh_round *r, const kh_side *s)
{
	kh_gpu_reply p = { .ix = s->c->ix,
			   .key = s->asked.p,
			   .n = s->n_asked,
			   .members = r->m->n,
			   .by_bus = r->m->e->on_host > 0,
			   .bit = s->loc.p,
			   .before = s->asked_before.p,
			   .len = s->asked_len.p,
			   .words = s->dev.words,
			   .word = s->answer.p,
			   .scratch = s->sorting.p,
			   .scratch_bytes = s->sorting.bytes };

	for (unsigned m = 0; m < r->m->n; m++)
		p.from[m + 1] = p.from[m] + s->at.got[m];
	return p;
}

static int side_look_up(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	int rc = kh_gpu_use(s->c->device, err);

	if (!rc)
		rc = sums_room(s, s->n_asked, err);
	if (rc)
		return rc;
	const kh_gpu_reply p = reply_of(r, s);
	return kh_gpu_check(kh_gpu_reply_find(&p, r->stream[i]), "look-ups", err);
}

int kh_round_ask(kh_round *r, kh_err *err)
{
	int rc = kh_gpu_comm_wait(r->m->comm, r->stream, err);

	r->all_last = r->quiet = true;
	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = side_numbers(r, &r->side[i], err);
	if (!rc)
		rc = swap(r, &features, 1, err);
	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = side_look_up(r, i, err);
	if (!rc)
		rc = swap(r, &totals, 1, err);
	if (!rc)
		rc = fetch(r, 2, 4, err);
	r->state = KH_ROUND_ASKED;
	return rc;
}

/* --- answer ----------------------------------------------------------------------- */
static int side_pack(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	const uint64_t words = sum(s->at.words, r->m->n), come = sum(s->at.reply, r->m->n);
	int rc = kh_gpu_use(s->c->device, err);

	if (rc || (rc = kh_side_room(&s->answer, words, 4, err)) ||
	    (rc = kh_side_room(&s->word, come, 4, err)) ||
	    (rc = kh_side_room(&s->len, s->n_home, 1, err)) ||
	    (rc = kh_side_room(&s->before, s->n_home + 1, 8, err)) ||
	    (rc = kh_side_room(&s->list, s->n_home, sizeof(kh_list), err)) ||
	    (rc = sums_room(s, s->n_home, err)))
		return rc;
	const kh_gpu_reply p = reply_of(r, s);
	return kh_gpu_check(kh_gpu_reply_pack(&p, r->stream[i]), "packing of lists", err);
}

static int decide(const kh_side *s, const kh_rounds_task *t, cudaStream_t stream,
		  kh_err *err)
{
	kh_gpu_query q = t->q;
	int rc;

	q.pass = KH_GPU_LISTS;
	q.ix.image = s->word.p;
	q.ix.bits = 32;
	q.key = s->key.p;
	q.list = s->list.p;
	q.scratch = s->scratch.list.p;
	q.n_scratch = s->scratch.n;
	if ((rc = KH_GPU(cudaMemsetAsync(q.counts, 0, KH_GPU_QUERY_COUNTS, stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_query_run(&q, stream), "classification kernels",
			       err)))
		return rc;
	return KH_GPU(cudaMemcpyAsync(t->results, q.counts, t->bytes,
				      cudaMemcpyDeviceToHost, stream),
		      err);
}

static int side_decide(kh_round *r, size_t i, kh_err *err)
{
	kh_side *s = &r->side[i];
	const kh_gpu_taken t = { .len = s->len.p,
				 .place = s->place.p,
				 .n = s->n_home,
				 .before = s->before.p,
				 .list = s->list.p,
				 .scratch = s->sorting.p,
				 .scratch_bytes = s->sorting.bytes };
	int rc = kh_gpu_use(s->c->device, err);

	if (!rc)
		rc = kh_gpu_check(kh_gpu_take_lists(&t, r->stream[i]), "lists", err);
	for (unsigned k = 0; k < s->n_tasks && !rc; k++)
		rc = decide(s, s->task[k], r->stream[i], err);
	return rc;
}

int kh_round_answer(kh_round *r, kh_err *err)
{
	int rc = kh_gpu_comm_wait(r->m->comm, r->stream, err);

	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = side_pack(r, i, err);
	if (!rc)
		rc = swap(r, lists, 2, err);
	for (size_t i = 0; i < r->m->e->n && !rc; i++)
		rc = side_decide(r, i, err);
	r->state = KH_ROUND_ANSWERED;
	return rc;
}

int kh_round_finish(kh_round *r, kh_err *err)
{
	r->state = KH_ROUND_IDLE;
	return kh_gpu_comm_wait(r->m->comm, r->stream, err);
}
