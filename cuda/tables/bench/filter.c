/*
 * filter.c - filters that are fed by sequence: rates, and false positives, of ours beside the
 * theory
 */
#include "cuda/tables/bench/bench_in.h"
#include "cuda/tables/bench/originals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS 16 /* of memory for a k-mer */

/* --- ours, as the others are ------------------------------------------------------ */

static int own_open(size_t bits, void **f, kh_err *err)
{
	kht_filter_config c = { .capacity = bits / BITS, .bits = BITS, .k = KHT_ORIGINAL_K };

	return kht_filter_open(&c, NULL, (kht_filter **)f, err);
}

static int own_insert(void *f, const kht_sequence *q, size_t n, kht_stream s, kh_err *err)
{
	(void)n;
	return kht_filter_insert(f, q, s, err);
}

static int own_query(void *f, const kht_sequence *q, size_t n, void *found, kht_stream s,
		     kh_err *err)
{
	(void)n;
	return kht_filter_query(f, q, found, s, err);
}

static size_t own_bytes(void *f) { return kht_filter_bytes(f); }
static void own_close(void *f) { kht_filter_close(f); }

static const kht_original_filter own = { "filter",  1,         own_open, own_insert,
					 own_query, own_bytes, own_close };

bool kht_bench_is_filter(const char *name)
{
	for (int i = 0; kht_bench_filters[i]; i++)
		if (strcmp(kht_bench_filters[i]->name, name) == 0)
			return true;
	return strcmp(own.name, name) == 0;
}

/* --- one filter ------------------------------------------------------------------- */

/* Ones among the answers to n k-mers. */
static int answer(kht_bench *b, size_t bits, uint64_t *ones)
{
	const size_t words = (bits + 31) / 32;
	uint32_t *h = malloc(words * sizeof *h);
	int rc = h ? kht_bench_check(cudaMemcpy(h, b->result, words * sizeof *h,
						cudaMemcpyDeviceToHost),
				     "answer", b->err)
		   : kh_fail_nomem(b->err);

	*ones = 0;
	for (size_t i = 0; !rc && i < words; i++)
		*ones += (uint64_t)__builtin_popcount(h[i]);
	free(h);
	return rc;
}

/* Times the filling; *f is the last filter. */
static int fill(kht_bench *b, const kht_original_filter *o, const kht_sequence *q, size_t n,
		kht_times *in, void **f)
{
	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		if (*f)
			o->close(*f);
		*f = NULL;
		TRY(o->open(q->words * 32 * BITS, f, b->err));
		CU(cudaDeviceSynchronize());
		TRY(kht_bench_start(b));
		TRY(o->insert(*f, q, n, b->stream, b->err));
		TRY(kht_bench_stop(b, in));
		in->n = i == 0 ? 0 : in->n;
	}
	return KH_OK;
}

/* Times asking for n k-mers; *ones: those that are said to be there. */
static int ask(kht_bench *b, const kht_original_filter *o, void *f, const kht_sequence *q, size_t n,
	       kht_times *out, uint64_t *ones)
{
	CU(cudaMemsetAsync(b->result, 0, n * o->answer / 8 + 8, b->stream));
	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		if (i == 0)
			TRY(kht_bench_watch(b, true));
		TRY(kht_bench_start(b));
		TRY(o->query(f, q, n, b->result, b->stream, b->err));
		TRY(kht_bench_stop(b, out));
		if (i == 0) {
			out->n = 0;
			TRY(kht_bench_watch(b, false));
		}
	}
	return answer(b, n * o->answer, ones);
}

/* Asks for all of q and prints the line: those that are there, or those that are not. */
static int query(kht_bench *b, const kht_original_filter *o, void *f, const kht_sequence *q,
		 size_t n, kht_times *in, bool there)
{
	const double theory = o == &own ? kht_filter_theory(f, (double)n) : 0;
	kht_times out = { 0 };
	uint64_t ones = 0;
	char note[64];

	TRY(ask(b, o, f, q, n, &out, &ones));
	const double rate = there ? 0 : (double)ones / (double)n;
	snprintf(note, sizeof note, "false positives %.5f", rate);
	if (theory > 0)
		snprintf(note, sizeof note, "false positives %.5f; theory %.5f", rate, theory);
	kht_case c = { .table = o->name,
		       .name = there ? "hits" : "misses",
		       .cfg = { .key_bits = 64, .value_bits = 32 },
		       .n = n,
		       .queries = n,
		       .r = 1,
		       .look = LOOK_FIND,
		       .note = note };
	kht_table_stats st = { .bytes = o->bytes(f) };
	bool good = there ? ones == n : theory > 0 ? fabs(rate / theory - 1) < 0.1 : rate < 0.1;
	kht_bench_line(b, &c, in, &out, &st, good ? "ok" : "WRONG");
	return KH_OK;
}

static int one(kht_bench *b, const kht_original_filter *o)
{
	const size_t words = (size_t)1 << (kht_bench_log2n(b, 28) - 5);
	const size_t n = words * 32 - KHT_ORIGINAL_K + 1;
	kht_sequence q = { b->keys, (const uint32_t *)b->op, words };
	kht_bench_gen g = { .n = words, .key_bits = 64 };
	kht_times in = { 0 };
	void *f = NULL;
	int rc;

	if (!kht_bench_wanted(b, o->name))
		return KH_OK;
	CU(kht_bench_keys(&g, b->keys, b->stream));
	CU(cudaMemsetAsync(b->op, 0, words * sizeof *q.masked, b->stream));
	rc = fill(b, o, &q, n, &in, &f);
	if (!rc)
		rc = query(b, o, f, &q, n, &in, true);
	g.first = words;
	if (!rc)
		rc = kht_bench_check(kht_bench_keys(&g, b->keys, b->stream), "keys", b->err);
	if (!rc)
		rc = query(b, o, f, &q, n, &in, false);
	if (f)
		o->close(f);
	return rc;
}

int kht_bench_filter(kht_bench *b)
{
	TRY(one(b, &own));
	for (int i = 0; kht_bench_filters[i]; i++)
		TRY(one(b, kht_bench_filters[i]));
	return KH_OK;
}
