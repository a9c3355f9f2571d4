/* filter.c - the filter that is fed by sequence: rates, and false positives beside the theory */
#include "tests/bench/program/tables/bench_in.h"

#include <math.h>
#include <stdlib.h>
#include "cuda/tables/filter.h"

#define K 31

/* Bits set in the answer to n words. */
static int answer(kht_bench *b, size_t words, uint64_t *bits)
{
	uint32_t *h = malloc(words * sizeof *h);
	int rc = h ? kht_bench_check(cudaMemcpy(h, b->result, words * sizeof *h,
						cudaMemcpyDeviceToHost),
				     "answer", b->err)
		   : kh_fail_nomem(b->err);

	*bits = 0;
	for (size_t i = 0; !rc && i < words; i++)
		*bits += (uint64_t)__builtin_popcount(h[i]);
	free(h);
	return rc;
}

/* Times the filling; *f is the last filter. */
static int fill(kht_bench *b, const kht_filter_config *c, const kht_sequence *q, kht_times *in,
		kht_filter **f)
{
	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		kht_filter_close(*f);
		*f = NULL;
		TRY(kht_filter_open(c, b->stream, f, b->err));
		CU(cudaStreamSynchronize(b->stream));
		TRY(kht_bench_start(b));
		TRY(kht_filter_insert(*f, q, b->stream, b->err));
		TRY(kht_bench_stop(b, in));
		in->n = i == 0 ? 0 : in->n;
	}
	return KH_OK;
}

/* Asks for all of q and prints the line: those that are there, or those that are not. */
static int query(kht_bench *b, kht_filter *f, const kht_sequence *q, kht_times *in,
		 bool there)
{
	const size_t n = q->words * 32 - K + 1;
	double theory = kht_filter_theory(f, (double)n), rate;
	kht_times out = { 0 };
	uint64_t bits;
	char note[64];

	for (int i = 0; i <= kht_bench_repeats(b); i++) {
		TRY(kht_bench_start(b));
		TRY(kht_filter_query(f, q, b->result, b->stream, b->err));
		TRY(kht_bench_stop(b, &out));
		out.n = i == 0 ? 0 : out.n;
	}
	TRY(answer(b, q->words, &bits));
	rate = (double)bits / (double)n;
	snprintf(note, sizeof note, "false positives %.5f; theory %.5f", there ? 0 : rate, theory);
	kht_case c = { .table = "filter",
		       .name = there ? "hits" : "misses",
		       .cfg = { .key_bits = 64, .value_bits = 32 },
		       .n = n,
		       .queries = n,
		       .r = 1,
		       .look = LOOK_FIND,
		       .note = note };
	kht_table_stats st = { .bytes = kht_filter_bytes(f) };
	bool good = there ? bits == n : fabs(rate / theory - 1) < 0.1;
	kht_bench_line(b, &c, in, &out, &st, good ? "ok" : "WRONG");
	return KH_OK;
}

int kht_bench_filter(kht_bench *b)
{
	const size_t words = (size_t)1 << (kht_bench_log2n(b, 28) - 5);
	kht_sequence q = { b->keys, (const uint32_t *)b->op, words };
	kht_bench_gen g = { .n = words, .key_bits = 64 };
	kht_filter_config c = { .capacity = words * 32, .k = K };
	kht_filter *f = NULL;
	kht_times in = { 0 };
	int rc;

	if (!kht_bench_wanted(b, "filter"))
		return KH_OK;
	CU(kht_bench_keys(&g, b->keys, b->stream));
	CU(cudaMemsetAsync(b->op, 0, words * sizeof *q.masked, b->stream));
	rc = fill(b, &c, &q, &in, &f);
	if (!rc)
		rc = query(b, f, &q, &in, true);
	g.first = words;
	if (!rc)
		rc = kht_bench_check(kht_bench_keys(&g, b->keys, b->stream), "keys", b->err);
	if (!rc)
		rc = query(b, f, &q, &in, false);
	kht_filter_close(f);
	return rc;
}
