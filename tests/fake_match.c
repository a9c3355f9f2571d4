/* fake_match.c - the launchers by which text is compared, on one thread, without a GPU: what a warp
 * of match_kernels.cuh does with its lanes is done here one after the other */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include "cuda/kernels/kraken2.h"
#include "cuda/kernels/match_short.h"
#include "fake_gpu.h"

int kh_gpu_query_match_prepare(uint64_t *bytes)
{
	*bytes = 0;
	return cudaSuccess;
}

/* Marks the features of a record; what is behind its last k-mer has any marks. */
static void mark(const kh_gpu_query *q, const kh_gpu_record *r)
{
	const kh_sampling *k = &q->rule.sampling;
	const uint64_t from = (uint64_t)r->word * 32, starts = kh_sampling_starts(k, r->len);
	const kh_sampling_span span = { q->bases, q->amb, from, from + starts };
	const size_t most = (size_t)kh_sampling_asked_bound(k, starts) + 1;
	uint64_t *key = malloc(most * sizeof *key);
	uint32_t *pos = malloc(most * sizeof *pos);
	size_t n = 0;

	if (!key || !pos)
		abort();
	for (uint32_t w = 0; 32 * w < r->len; w++)
		q->mark[r->word + w] = 32 * w >= starts	       ? ~0u
				       : starts - 32 * w < 32 ? ~0u << (starts - 32 * w)
							      : 0;
	if (starts > 0)
		n = kh_sampling_asked(k, &span, key, pos);
	for (size_t i = 0; i < n; i++)
		q->mark[r->word + pos[i] / 32] |= 1u << pos[i] % 32;
	free(key);
	free(pos);
}

static void mark_all(const kh_gpu_query *q)
{
	for (uint32_t i = 0; i < q->n; i++)
		for (int mate = 0; mate < 2; mate++) {
			const kh_gpu_record r = kh_gpu_mate(q, i, mate);

			mark(q, &r);
		}
	q->mark[q->n_words] = 0;
}

/* --- a fragment --------------------------------------------------------------------------- */
/* Finds the positions of a mate's seeds, all or those that begin behind the one before. */
static uint32_t choose(kh_small *x, const kh_small_segment *j, uint32_t mate, bool all)
{
	const uint32_t k = x->m.db->sampling.k;
	uint32_t n = 0, next = 0;

	for (uint32_t w = 0; 32 * w < j->s.mate[mate].len; w++)
		for (uint32_t m = kh_small_marks(j->mark, &j->s.mate[mate], k, w); m; m &= m - 1) {
			const uint32_t pos = 32 * w + kh_lowest_bit(m);

			if (pos < next)
				continue;
			next = all ? pos : pos + k;
			if (n < KH_MATCH_SEEDS)
				x->pos[mate][n] = pos;
			n++;
		}
	return n;
}

static kh_small_list look_up(const kh_small *x, const kh_small_segment *j, uint32_t mate,
			     uint32_t seed, uint64_t *to, uint32_t cap)
{
	const kh_match_db *db = x->m.db;
	const uint64_t key = kh_small_key(&j->s.mate[mate], x->pos[mate][seed], db->sampling.k);

	return kh_small_bins(db, seed, key, to, cap);
}

static void ask(kh_small *x, kh_small_segment *j, uint32_t mate, bool all)
{
	const uint32_t n = choose(x, j, mate, all);
	kh_found *f = &x->m.found[mate];

	j->s.mate[mate].asked = n;
	kh_found_begin(f, x->pos[mate], n);
	for (uint32_t i = 0; i < f->n; i++) {
		const kh_small_list l = look_up(x, j, mate, i, NULL, 0);

		x->length[i] = l.whole && l.n < KH_LIST_OVER ? (uint8_t)l.n : KH_LIST_OVER;
	}
	kh_lists_pass_over(x->length, f->n);
	for (uint32_t i = 0; i < f->n; i++) {
		if (x->length[i] == KH_LIST_OVER)
			continue;
		look_up(x, j, mate, i, f->anchor + f->n_anchors, x->length[i]);
		f->n_anchors += x->length[i];
		kh_seed_add(&f->known, i);
	}
}

/* Compares number i of all. */
static void compare(const kh_gpu_query *q, uint32_t i)
{
	uint8_t seed[2][KH_MATCH_ANCHORS];
	kh_small x;
	kh_matching *m = &x.m;
	kh_small_segment j = kh_gpu_item(q, i);
	const kh_kept kept = kh_gpu_kept(q, i);
	bool again = true;

	memset(&x, 0xa5, sizeof x);
	kh_small_init(&x, &q->db);
	for (uint32_t mate = 0; mate < 2; mate++) {
		kh_mate *a = &j.s.mate[mate];

		m->found[mate].seed = seed[mate];
		for (uint32_t w = 0; 32 * w < a->len; w++)
			a->seeds += kh_count_bits(kh_small_marks(j.mark, a, m->db->sampling.k, w));
	}
	for (int all = kh_match_asks_all(m->db, &j.s); all < 2 && again; all++) {
		kh_claims_forget(&m->here);
		for (uint32_t mate = 0; mate < 2; mate++)
			ask(&x, &j, mate, all != 0);
		kh_regions_make(m, &j.s);
		if (!j.s.whole && kh_regions_pass_over(m, &j.s, &kept))
			continue;
		kh_regions_raise_lone(m, &j.s);
		again = kh_match_segment(m, &j.s);
	}
	if (!again)
		kh_match_count_hits(m, &j.s);
	kh_gpu_give(q, &x, &j, i);
}

enum { FEW_BLOCKS = 1000 };

/* Copies the blocks that are wanted, by the order of their buckets. */
static void fetch(const kh_gpu_fetch *f)
{
	const uint32_t n = *f->n < f->cap ? *f->n : f->cap;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < KH_GPU_BUCKETS; i++) {
		const uint32_t of = f->bucket[i];

		f->bucket[i] = sum;
		sum += of;
	}
	memset(f->order, 0xff, f->cap * sizeof *f->order);
	for (uint32_t i = *f->n_before; i < n; i++)
		if (f->from[i])
			f->order[f->bucket[f->from[i] >> f->shift & (KH_GPU_BUCKETS - 1)] +
				 f->rank[i]] = i;
	for (uint32_t k = 0; k < sum; k++) {
		const uint32_t i = f->order[k];

		memcpy(f->to + (size_t)i * KH_GPU_CHUNK, (const void *)(uintptr_t)f->from[i],
		       KH_GPU_CHUNK);
	}
	memset(f->bucket, 0, KH_GPU_BUCKETS * sizeof *f->bucket);
	*f->n_before = *f->n;
}

/* Compares fragments by some seeds, or by all. */
static void shorts(const kh_gpu_query *q, bool all)
{
	const uint32_t n = all ? q->counts[KH_GPU_AGAIN] : q->n;
	void (*const want[])(const kh_gpu_query *, const kh_match_db *, uint32_t, bool) = {
		kh_short_want_lines, kh_short_want_more_lines, kh_short_want_text
	};

	for (int i = 0; i < 3 && q->fetch.cap > 0; i++) {
		if (want[i] != kh_short_want_more_lines)
			memset(q->fetch.n, 0, KH_GPU_FETCH_COUNTS);
		for (uint32_t at = 0; at < n; at++)
			if (all || !kh_gpu_is_long(q, at))
				want[i](q, &q->db, all ? q->again[at] : at, all);
		fetch(&q->fetch);
	}
	for (uint32_t at = 0; at < n; at++) {
		const uint32_t i = all ? q->again[at] : at;
		const bool has = all || !kh_gpu_is_long(q, i);
		const kh_short_end end = kh_short_compare(q, &q->db, i, has, all, NULL);

		if (!has && q->found)
			kh_gpu_leave_to_host(q, i);
		if (has && end == KH_SHORT_AGAIN)
			q->again[q->counts[KH_GPU_AGAIN]++] = i;
		if (has && end == KH_SHORT_LEFT)
			q->rest[q->counts[KH_GPU_REST]++] = i;
	}
}

static void compare_all(const kh_gpu_query *q)
{
	if (q->n == 0)
		return;
	shorts(q, false);
	shorts(q, true);
	for (uint32_t i = 0; i < q->counts[KH_GPU_REST]; i++)
		compare(q, q->rest[i]);
}

/* The calls of long fragments: of parts that are compared first, and of the others. */
static void compare_parts(const kh_gpu_query *q, bool first_round)
{
	for (uint32_t i = 0; i < q->n_slices; i++)
		if (kh_gpu_wants_part(q, i, first_round))
			compare(q, q->n + i);
	for (uint32_t k = 0; k < q->n_longs; k++)
		kh_gpu_sum(q, &q->db, &q->longs[k], first_round);
}

static int run(const kh_gpu_query *q, cudaStream_t stream)
{
	mark_all(q);
	compare_all(q);
	for (int first = 1; first >= 0 && !q->found; first--)
		compare_parts(q, first != 0);
	const int e = kh_gpu_queries_translate(&q, 1, stream);

	kh_gpu_census_add(&q, 1, stream);
	kh_gpu_counters_add(&q, 1, stream);
	return e;
}

int kh_gpu_queries_run(const kh_gpu_query *const q[], uint32_t n, cudaStream_t stream)
{
	int e = cudaSuccess;

	fake.together = n;
	for (uint32_t i = 0; i < n && e == cudaSuccess; i++) {
		/* every other one has room for few blocks: the others are read where they lie */
		static _Atomic unsigned number;
		kh_gpu_query x = *q[i];

		if (number++ % 2 && x.fetch.cap > FEW_BLOCKS)
			x.fetch.cap = FEW_BLOCKS;
		e = run(&x, stream);
	}
	return e;
}

/* --- Kraken 2: a kernel without room for any taxon ------------------------------------------ */
int kh_gpu_kraken2_run(const kh_gpu_kraken2 *q, void *stream)
{
	(void)stream;
	for (uint32_t i = 0; i < q->n; i++)
		q->call[i].taxon = KH_GPU_K2_LEFT;
	q->counts[KH_GPU_K2_ODD] = q->n;
	return cudaSuccess;
}
