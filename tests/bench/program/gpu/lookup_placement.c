/*
 * lookup_placement.c - kmerhash-bench placement: look-ups by where the index lies
 *
 * Every device looks up its own keys, all devices at once.  The keys are those of
 * features, drawn from all buckets alike; `bucket` reads the bucket of each, `list` its
 * locations too.
 */
#include <config.h>
#include "tests/bench/program/measure.h"

#include <stdlib.h>
#include "cuda/engine/engine_in.h"
#include "cuda/engine/rounds.h"
#include "tests/bench/program/gpu/kernels.h"
#include "base/mem.h"
#include "base/threads.h"

enum { KEYS = 1 << 24, ROUNDS = 8, MAX_REPEAT = 31 };

/* What one device works on. */
struct seat {
	kh_gpu_buf key, sum;
	cudaStream_t stream;
	cudaEvent_t from, to;
};

struct bench {
	const kh_bench_placement_options *o;
	FILE *out;
	kh_db *db;
	kh_engine *e;
	kh_monitor *m;
	struct seat seat[KH_DEVICES_MAX];
	kh_gpu_buf host; /* KEYS for each device */
	double load[MAX_REPEAT], bucket[MAX_REPEAT], list[MAX_REPEAT];
};

static double median(double *x, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && x[j] < x[j - 1]; j--) {
			double y = x[j];

			x[j] = x[j - 1];
			x[j - 1] = y;
		}
	return x[n / 2];
}

/* --- keys --------------------------------------------------------------------------- */
/* The least key of range p that goes to this bucket and tag. */
static uint64_t key_of(const kh_range *r, unsigned p, uint64_t bucket, uint32_t tag)
{
	const uint64_t place = (bucket << 16 | tag) << 24;

	return (uint64_t)p << (KH_KEY_BITS - 8) | (place + r->buckets - 1) / r->buckets;
}

/* Draws the key of an entry of a random bucket; false if the bucket has no entries of its own. */
static bool draw(const kh_db *db, uint64_t x, uint64_t *key)
{
	const unsigned p = (unsigned)(x >> 56);
	const kh_range *r = &db->dir[p];
	const uint64_t bucket = (x >> 16 & 0xffffffff) * r->buckets >> 32;
	const kh_bucket *b = (const kh_bucket *)db->image + r->first_bucket + bucket;
	unsigned from = b->flags & KH_BUCKET_CARRIED, n = from;

	while (n < KH_BUCKET_SLOTS && b->len[n])
		n++;
	if (n == from)
		return false;
	*key = key_of(r, p, bucket, b->tag[from + (x & 0xffff) % (n - from)]);
	return true;
}

static int draw_worker(void *arg, unsigned worker, kh_err *err)
{
	struct bench *b = arg;
	const uint64_t all = KEYS * (uint64_t)b->o->choice->n;
	uint64_t *key = b->host.p;

	(void)err;
	for (uint64_t i = worker; i < all; i += b->o->threads)
		for (uint64_t x = kh_fmix64(i + 1); !draw(b->db, x, &key[i]);)
			x = kh_fmix64(x + 1);
	return KH_OK;
}

static int draw_keys(struct bench *b, kh_err *err)
{
	int rc = kh_gpu_host_room(&b->host, 8 * KEYS * b->o->choice->n, err);

	if (!rc)
		rc = kh_monitor_new(&b->m, err);
	if (!rc)
		rc = kh_threads_run(b->m, b->o->threads, draw_worker, b, err);
	kh_monitor_free(b->m);
	b->m = NULL;
	return rc;
}

static int seat_open(struct bench *b, size_t i, kh_err *err)
{
	struct seat *s = &b->seat[i];
	int rc = kh_gpu_use(b->o->choice->device[i], err);

	if (rc || (rc = kh_gpu_room_exact(&s->key, 8 * KEYS, err)) ||
	    (rc = kh_gpu_room_exact(&s->sum, 256, err)) ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking),
			 err)) ||
	    (rc = KH_GPU(cudaEventCreate(&s->from), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&s->to), err)))
		return rc;
	return KH_GPU(cudaMemcpy(s->key.p, (uint64_t *)b->host.p + KEYS * i, 8 * KEYS,
				 cudaMemcpyHostToDevice),
		      err);
}

static void seat_close(struct bench *b, size_t i)
{
	struct seat *s = &b->seat[i];

	cudaSetDevice(b->o->choice->device[i]);
	kh_gpu_drop(&s->key);
	kh_gpu_drop(&s->sum);
	if (s->from)
		cudaEventDestroy(s->from);
	if (s->to)
		cudaEventDestroy(s->to);
	if (s->stream)
		cudaStreamDestroy(s->stream);
}

/* --- look-ups ----------------------------------------------------------------------- */
static int start(struct bench *b, size_t i, bool lists, kh_err *err)
{
	const kh_gpu_index *ix = &b->e->copy[i].ix;
	struct seat *s = &b->seat[i];
	int rc = kh_gpu_use(b->e->copy[i].device, err);

	if (!rc)
		rc = KH_GPU(cudaEventRecord(s->from, s->stream), err);
	for (int k = 0; k < ROUNDS && !rc; k++)
		rc = kh_gpu_check(
			lists ? kh_gpu_bench_read_lists(ix, s->key.p, KEYS, s->sum.p, s->stream)
			      : kh_gpu_bench_look_up(ix, s->key.p, KEYS, NULL, s->stream),
			"look-up kernel", err);
	return rc ? rc : KH_GPU(cudaEventRecord(s->to, s->stream), err);
}

/* Keys a second of the slowest device. */
static int together(struct bench *b, bool lists, double *rate, kh_err *err)
{
	float ms, most = 0;
	int rc = KH_OK;

	for (size_t i = 0; i < b->e->n && !rc; i++)
		rc = start(b, i, lists, err);
	for (size_t i = 0; i < b->e->n && !rc; i++) {
		rc = kh_gpu_use(b->e->copy[i].device, err);
		if (!rc)
			rc = KH_GPU(cudaEventSynchronize(b->seat[i].to), err);
		if (!rc)
			rc = KH_GPU(
				cudaEventElapsedTime(&ms, b->seat[i].from, b->seat[i].to),
				err);
		most = !rc && ms > most ? ms : most;
	}
	*rate = (double)KEYS * ROUNDS / (most * 1e-3 + 1e-9);
	return rc;
}

/* Gives the round the keys of each device as if they were the features of its tasks. */
static int put_keys(struct bench *b, kh_round *r, kh_err *err)
{
	static const uint32_t n = KEYS;
	int rc = kh_round_sample(r, err);       /* without tasks: it only makes room */

	for (size_t i = 0; i < b->e->n && !rc; i++) {
		kh_side *s = &r->side[i];

		if ((rc = kh_gpu_use(s->c->device, err)) ||
		    (rc = KH_GPU(cudaMemcpyAsync(s->key.p, b->seat[i].key.p, 8 * KEYS,
						 cudaMemcpyDeviceToDevice, r->stream[i]), err)))
			break;
		rc = KH_GPU(cudaMemcpyAsync(s->dev.features, &n, sizeof n,
					    cudaMemcpyHostToDevice, r->stream[i]), err);
	}
	return rc ? rc : kh_gpu_comm_wait(r->m->comm, r->stream, err);
}

/* All steps of a round, one round after the other.  seconds: of each step. */
static int exchange_once(struct bench *b, kh_round *r, double seconds[4], kh_err *err)
{
	static int (*const step[])(kh_round *, kh_err *) = { kh_round_start, kh_round_ask,
							     kh_round_answer,
							     kh_round_finish };
	int rc;

	for (size_t i = 0; i < b->e->n; i++)
		r->side[i].features = KEYS;
	rc = put_keys(b, r, err);
	for (int s = 0; s < 4 && !rc; s++) {
		const double t = kh_seconds();

		rc = step[s](r, err);
		if (!rc)
			rc = kh_gpu_comm_wait(r->m->comm, r->stream, err);
		seconds[s] += kh_seconds() - t;
	}
	return rc;
}

static int exchange_rounds(struct bench *b, size_t n, kh_round *r, kh_err *err)
{
	double warm[4] = { 0 }, s[4] = { 0 };
	int rc = exchange_once(b, r, warm, err);

	for (int i = 0; i < ROUNDS && !rc; i++)
		rc = exchange_once(b, r, s, err);
	if (rc)
		return rc;
	fprintf(b->out, "%7zu  %-10s %11.2f %11s %11s %11.2f  ms: route %.1f, ask %.1f, "
			"answer %.1f\n", n, "exchanged",
		(double)(b->e->copy[0].image.bytes) * 1e-9, "", "",
		(double)KEYS * ROUNDS / (s[0] + s[1] + s[2] + s[3]) * 1e-9,
		s[0] * 1e3 / ROUNDS, s[1] * 1e3 / ROUNDS, s[2] * 1e3 / ROUNDS);
	fflush(b->out);
	return KH_OK;
}

/* Measures the exchange between the parts of the index that is open. */
static int exchanged(struct bench *b, size_t n, kh_err *err)
{
	struct kh_members m = { .comm = NULL };
	kh_round r = { .m = NULL };
	int rc = kh_gpu_comm_open(&m.comm, NULL, b->o->choice->device, n, err);

	if (!rc)
		rc = kh_members_open(&m, b->e, err);
	if (!rc)
		rc = kh_round_open(&r, &m, err);
	if (!rc)
		rc = exchange_rounds(b, n, &r, err);
	if (r.m)
		kh_round_close(&r);
	kh_members_close(&m);
	return rc;
}

static int open_engine(struct bench *b, size_t n, enum kh_placement placement,
		       double *rate, kh_err *err)
{
	const kh_db_options o = { .later = true, .threads = b->o->threads };
	const double t = kh_seconds();
	kh_rule rule;
	kh_engine_options eo = { .rule = &rule,
				 .on = { .choice = *b->o->choice, .placement = placement } };
	int rc;

	eo.on.choice.n = n;
	kh_cuda_engine_close(b->e);
	kh_db_close(b->db);
	b->e = NULL;
	b->db = NULL;
	rc = kh_db_open(&b->db, b->o->db, &o, err);
	if (rc)
		return rc;
	kh_rule_init(&rule, b->db->h);
	rc = kh_cuda_engine_open(&kh_backend_cuda, &b->e, b->db, &eo, err);
	if (!rc)
		*rate = (double)b->db->h->section[KH_SEC_INDEX].bytes /
			(kh_seconds() - t);
	return rc;
}

static int line(struct bench *b, size_t n, enum kh_placement placement, kh_err *err)
{
	const int repeat = b->o->repeat;
	int rc = KH_OK;

	for (int i = 0; i < repeat && !rc; i++)
		rc = open_engine(b, n, placement, &b->load[i], err);
	for (int i = -1; i < repeat && !rc; i++) { /* the first one loads the kernels */
		rc = together(b, false, &b->bucket[i < 0 ? 0 : i], err);
		if (!rc)
			rc = together(b, true, &b->list[i < 0 ? 0 : i], err);
	}
	if (rc)
		return rc;
	fprintf(b->out, "%7zu  %-10s %11.2f %11.2f %11.2f %11.2f\n", n,
		n == 1                            ? "local"
		: placement == KH_PLACE_REPLICATE ? "replicated"
						  : "peers",
		(double)(b->e->copy[0].image.bytes) * 1e-9,
		median(b->load, repeat) * 1e-9, median(b->bucket, repeat) * 1e-9,
		median(b->list, repeat) * 1e-9);
	fflush(b->out);
	return KH_OK;
}

static int table(struct bench *b, kh_err *err)
{
	const size_t all = b->o->choice->n;
	int rc = KH_OK;

	fprintf(b->out, "# %s, %.2f GB of index; G/s are of each GPU\n", b->o->db,
		(double)b->db->h->section[KH_SEC_INDEX].bytes * 1e-9);
	fprintf(b->out, "%7s  %-10s %11s %11s %11s %11s\n", "devices", "placement",
		"GB on a GPU", "load GB/s", "bucket G/s", "list G/s");
	for (size_t n = 1; n <= all && !rc; n = n < all && 2 * n > all ? all : 2 * n) {
		rc = line(b, n, KH_PLACE_REPLICATE, err);
		if (!rc && n > 1)
			rc = line(b, n, KH_PLACE_SHARD_PEER, err);
		if (!rc && n > 1)
			rc = exchanged(b, n, err);
	}
	return rc;
}

int kh_bench_placement(const kh_bench_placement_options *o, FILE *out, kh_err *err)
{
	const kh_db_options no = { .no_verify = true, .threads = o->threads };
	struct bench b = { .o = o, .out = out };
	int rc = kh_db_open(&b.db, o->db, &no, err);

	if (!rc && b.db->h->entries == 0)
		rc = kh_fail(err, KH_EUSAGE, "%s has no features to look up", o->db);
	if (!rc)
		rc = draw_keys(&b, err);
	for (size_t i = 0; i < o->choice->n && !rc; i++)
		rc = seat_open(&b, i, err);
	if (!rc)
		rc = table(&b, err);
	for (size_t i = 0; i < o->choice->n; i++)
		seat_close(&b, i);
	kh_gpu_drop(&b.host);
	kh_cuda_engine_close(b.e);
	kh_db_close(b.db);
	return rc;
}
