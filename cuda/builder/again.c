/*
 * again.c - references that are sampled again for each wave
 *
 * If it is known before the first block that a device does not have the memory for all pairs, the
 * host keeps the blocks, packed as kernels read them, and not the pairs: that is a fifth of the
 * bytes or less.  Each block is sampled when it comes, for the numbers of its pairs by range, and
 * again for each wave, which keeps only the pairs of its own ranges.  The
 * numbers say where the pairs of a block go, so any worker may take any blocks at any time.  It
 * takes several at once, because calls of the driver take longer than a small block.
 */
#include <config.h>
#include "cuda/builder/finish_in.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "base/mem.h"

enum {
	WORKERS = 12,           /* of a device, for a wave */
	GROUP = 1 << 18         /* words of blocks that are sampled at once */
};
#define ARENA ((size_t)64 << 20)        /* bytes of host memory that are taken at a time */

/* --- kept ----------------------------------------------------------------------------- */
/* Memory for so many bytes; the caller holds the lock.  It is taken in large pieces, of large
 * pages, because the operating system would need more time for many small ones than copying
 * takes. */
static char *arena_room(struct kh_cuda_kept_blocks *k, size_t bytes, kh_err *err)
{
	const size_t size = bytes > ARENA ? bytes : ARENA;
	char *p;

	if (bytes > k->arena_left) {
		if (kh_grow((void **)&k->arena, &k->cap_arenas, k->n_arenas + 1, sizeof *k->arena,
			    err) || !(p = kh_pages(size, err)))
			return NULL;
		k->arena[k->n_arenas++] = (struct kh_cuda_arena) { p, size };
		k->arena_at = p;
		k->arena_left = size;
	}
	p = k->arena_at;
	k->arena_at += bytes;
	k->arena_left -= bytes;
	return p;
}

/* Finds a place for the block, in memory or in the file; the caller holds the lock. */
static int admit(kh_builder *b, struct kh_cuda_kept *x, kh_err *err)
{
	struct kh_cuda_kept_blocks *k = &b->kept;
	int rc = kh_grow((void **)&k->block, &k->cap, k->n + 1, sizeof *k->block, err);

	if (rc)
		return rc;
	if (b->host.memory == 0 || k->used + x->bytes <= b->host.memory) {
		k->used += x->bytes;
		x->p = arena_room(k, (x->bytes + 63) / 64 * 64, err);
		rc = x->p ? KH_OK : KH_ENOMEM;
	} else {
		if (k->file.fd < 0)
			rc = kh_spill_open(&k->file, b->o.tmp, err);
		x->at = k->end;
		k->end += x->bytes;
	}
	if (!rc)
		k->block[k->n++] = x;
	return rc;
}

/* Copies with stores that go past the caches, where text that is about to be parsed should stay.
 * `to` is aligned to 16 bytes. */
static void copy(char *to, const char *from, size_t n)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; i + 16 <= n; i += 16)
		_mm_stream_si128((__m128i *)(void *)(to + i),
				 _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
	_mm_sfence();
#endif
	memcpy(to + i, from + i, n - i);
}

/* Whether all bases of the block are known. */
static bool is_plain(const struct kh_cuda_kept *x, const char *in)
{
	const uint32_t *amb = (const uint32_t *)(const void *)(in + kh_cuda_amb_at(x->n_words));
	uint32_t any = 0;

	for (uint32_t i = x->first; i < x->n_words; i++)
		any |= amb[i];
	return any == 0;
}

/* Stores the parts of an input: bases, masks unless it is plain, and pieces. */
static int put(const kh_builder *b, const struct kh_cuda_kept *x, const char *in, kh_err *err)
{
	const size_t bases = (size_t)x->n_words * 8, amb = x->plain ? 0 : (size_t)x->n_words * 4;
	const size_t from[] = { 0, kh_cuda_amb_at(x->n_words), kh_cuda_pieces_at(x->n_words) },
		     n[] = { bases, amb, x->bytes - bases - amb };
	size_t at = 0;
	int rc = KH_OK;

	for (int i = 0; i < 3 && !rc; at += n[i++])
		if (x->p && at % 16 == 0)
			copy(x->p + at, in + from[i], n[i]);
		else if (x->p)
			memcpy(x->p + at, in + from[i], n[i]);
		else
			rc = kh_spill_write(&b->kept.file, in + from[i], n[i], x->at + at, err);
	return rc;
}

int kh_cuda_keep(kh_builder *b, struct kh_cuda_slot *s, const kh_gpu_sample *g, uint64_t bound,
		 uint64_t ticket, kh_err *err)
{
	struct kh_cuda_kept *x = kh_array(1, sizeof *x, err);
	const char *in = s->in.p;
	int rc;

	s->kept = NULL;
	if (!x)
		return KH_ENOMEM;
	*x = (struct kh_cuda_kept) { .ticket = ticket, .bound = bound,
				     .n_windows = g->n_windows, .n_words = g->n_words,
				     .n_pieces = g->n_pieces };
	x->first = (uint32_t)(((const kh_gpu_piece *)(const void *)
			       (in + kh_cuda_pieces_at(g->n_words)))->at / 32);
	x->plain = is_plain(x, in);
	x->bytes = (size_t)x->n_words * (x->plain ? 8 : 12) + x->n_pieces * sizeof(kh_gpu_piece);
	pthread_mutex_lock(&b->lock);
	rc = admit(b, x, err);
	pthread_mutex_unlock(&b->lock);
	if (rc) {
		free(x);
		return rc;
	}
	s->kept = x;
	return put(b, x, in, err);
}

void kh_cuda_kept_close(struct kh_cuda_kept_blocks *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->block[i]);
	for (size_t i = 0; i < k->n_arenas; i++)
		kh_pages_free(k->arena[i].p, k->arena[i].bytes);
	free(k->block);
	free(k->arena);
	free(k->group);
	kh_spill_close(&k->file);
}

/* --- the plan ------------------------------------------------------------------------- */
uint64_t kh_cuda_slot_bytes(const struct kh_cuda_sizes *z)
{
	return kh_plan_round(z->in) + kh_plan_round(z->sums) + kh_plan_round(z->scratch) +
	       kh_plan_pairs(z->pairs) + kh_plan_round(z->split);
}

static kh_gpu_sample sample_of(const kh_builder *b, const struct kh_cuda_group *g)
{
	return (kh_gpu_sample) { .sampling = b->o.sampling,
				 .n_pieces = g->n_pieces,
				 .n_words = (uint32_t)g->words,
				 .n_windows = g->windows };
}

/* Of the sums only the number of pairs is wanted. */
static struct kh_cuda_sizes sizes_of(const kh_builder *b, const struct kh_cuda_group *g)
{
	const kh_gpu_sample s = sample_of(b, g);

	return (struct kh_cuda_sizes) { .in = kh_cuda_pieces_at(g->words) +
					      g->n_pieces * sizeof(kh_gpu_piece),
					.sums = 8,
					.scratch = kh_gpu_sample_scratch(&s),
					.pairs = (size_t)g->bound,
					.split = kh_gpu_split_scratch(g->bound, 1) };
}

static int by_ticket(const void *a, const void *b)
{
	const uint64_t x = (*(struct kh_cuda_kept *const *)a)->ticket,
		       y = (*(struct kh_cuda_kept *const *)b)->ticket;

	return (x > y) - (x < y);
}

/* Groups blocks that follow one another, up to so many words; a larger block is a group of its
 * own. */
static void make_groups(struct kh_cuda_kept_blocks *k, uint64_t most)
{
	k->n_groups = 0;
	for (size_t i = 0; i < k->n; i++) {
		const struct kh_cuda_kept *x = k->block[i];
		struct kh_cuda_group *g = k->n_groups ? &k->group[k->n_groups - 1] : NULL;

		if (!g || g->words + x->n_words > most) {
			g = &k->group[k->n_groups++];
			*g = (struct kh_cuda_group) { .from = i };
		}
		g->to = i + 1;
		g->words += x->n_words;
		g->n_pieces += x->n_pieces;
		g->windows += x->n_windows;
		g->bound += x->bound;
	}
}

/* Bytes of a device for the slots of a worker. */
static uint64_t worker_bytes(const kh_builder *b)
{
	uint64_t most = 1;

	for (size_t i = 0; i < b->kept.n_groups; i++) {
		const struct kh_cuda_sizes z = sizes_of(b, &b->kept.group[i]);
		const uint64_t bytes = SLOTS * kh_cuda_slot_bytes(&z);

		most = bytes > most ? bytes : most;
	}
	return most;
}

/* How many workers of an owner fit into an eighth of its memory.  Groups are halved until two fit,
 * if that is possible. */
int kh_cuda_plan_again(kh_builder *b, kh_err *err)
{
	struct kh_cuda_kept_blocks *k = &b->kept;
	uint64_t limit = UINT64_MAX, each, most = GROUP;

	k->group = kh_array(k->n, sizeof *k->group, err);
	if (!k->group)
		return KH_ENOMEM;
	if (k->n)
		qsort(k->block, k->n, sizeof *k->block, by_ticket);
	for (unsigned i = 0; i < b->n; i++)
		limit = b->owner[i].plan.limit < limit ? b->owner[i].plan.limit : limit;
	for (; make_groups(k, most), (each = worker_bytes(b)) > limit / 16 && most > 0; most /= 2)
		;
	for (unsigned i = 0; i < b->n; i++) {
		struct kh_cuda_owner *o = &b->owner[i];
		const unsigned there = (b->o.on.threads + b->n - 1 - i) / b->n;
		const uint64_t fit = o->plan.limit / 8 / each;

		o->again = there < WORKERS ? there : WORKERS;
		o->again = o->again < fit ? o->again : fit ? (unsigned)fit : 1;
		o->plan.again = o->again * each;
	}
	return KH_OK;
}

void kh_cuda_count_again(const kh_builder *b, uint64_t count[KH_RANGES])
{
	memset(count, 0, KH_RANGES * sizeof *count);
	for (size_t i = 0; i < b->kept.n; i++)
		for (unsigned p = 0; p < KH_RANGES; p++)
			count[p] += b->kept.block[i]->count[p];
}

/* --- a wave --------------------------------------------------------------------------- */
struct again {
	struct kh_wave *w;
	uint64_t *at;                   /* where the pairs of each group begin */
	_Atomic size_t next;
};

static int rooms(struct kh_cuda_slot *s, const struct kh_cuda_sizes *z, kh_err *err)
{
	int rc;

	if ((rc = kh_gpu_host_room(&s->in, z->in, err)) ||
	    (rc = kh_gpu_room_exact(&s->din, z->in, err)) ||
	    (rc = kh_gpu_room_exact(&s->dsums, z->sums, err)) ||
	    (rc = kh_gpu_room_exact(&s->scratch, z->scratch, err)) ||
	    (rc = kh_gpu_room_exact(&s->key, z->pairs * 8, err)) ||
	    (rc = kh_gpu_room_exact(&s->bin, z->pairs * 4, err)))
		return rc;
	return kh_gpu_room_exact(&s->split, z->split, err);
}

/* Reads n bytes at `at` of what is kept of a block. */
static int get(const kh_builder *b, const struct kh_cuda_kept *x, size_t at, void *to, size_t n,
	       kh_err *err)
{
	if (!x->p)
		return kh_spill_read(&b->kept.file, to, n, x->at + at, err);
	memcpy(to, x->p + at, n);
	return KH_OK;
}

/* Appends a block to those before it in the same group. */
static int fetch_block(const kh_builder *b, const struct kh_cuda_kept *x, char *bases, char *amb,
		       kh_gpu_piece *piece, const struct kh_cuda_group *before, kh_err *err)
{
	const size_t n = x->n_words;
	char *mask = amb + before->words * 4;
	int rc = get(b, x, 0, bases + before->words * 8, n * 8, err);

	if (!rc && x->plain) {
		memset(mask, 0xff, (size_t)x->first * 4);
		memset(mask + (size_t)x->first * 4, 0, (n - x->first) * 4);
	} else if (!rc) {
		rc = get(b, x, n * 8, mask, n * 4, err);
	}
	piece += before->n_pieces;
	if (!rc)
		rc = get(b, x, n * (x->plain ? 8 : 12), piece, x->n_pieces * sizeof *piece, err);
	for (uint32_t i = 0; i < x->n_pieces && !rc; i++) {
		piece[i].at += before->words * 32;
		piece[i].window += before->windows;
	}
	return rc;
}

/* Puts the blocks of a group together in the slot's pinned memory. */
static int fetch(const kh_builder *b, const struct kh_cuda_group *g, char *in, kh_err *err)
{
	char *amb = in + kh_cuda_amb_at(g->words), *pieces = in + kh_cuda_pieces_at(g->words);
	struct kh_cuda_group before = { .words = 0 };
	int rc = KH_OK;

	for (size_t i = g->from; i < g->to && !rc; i++) {
		const struct kh_cuda_kept *x = b->kept.block[i];

		rc = fetch_block(b, x, in, amb, (kh_gpu_piece *)(void *)pieces, &before, err);
		before.words += x->n_words;
		before.windows += x->n_windows;
		before.n_pieces += x->n_pieces;
	}
	/* kernels may read a word behind the last */
	memset(in + g->words * 8, 0, kh_cuda_amb_at(g->words) - g->words * 8);
	memset(amb + g->words * 4, 0xff, (size_t)(pieces - amb) - g->words * 4);
	return rc;
}

/* Samples a group whose input is in the slot, and writes the pairs of the wave's ranges to side
 * 0. */
static int launch(const struct again *x, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		  size_t i, size_t bytes, kh_err *err)
{
	const kh_builder *b = x->w->b;
	const struct kh_cuda_group *group = &b->kept.group[i];
	kh_gpu_sample g = sample_of(b, group);
	int rc;

	kh_cuda_slot_sample(s, &g);
	const kh_gpu_split some = { .key = s->key.p, .bin = s->bin.p, .count = g.count,
				    .bound = group->bound, .n = 1, .from = x->w->from,
				    .to = x->w->to,
				    .key2 = (uint64_t *)x->w->pairs.key[0].p + x->at[i],
				    .bin2 = (uint32_t *)x->w->pairs.bin[0].p + x->at[i],
				    .scratch = s->split.p };
	if ((rc = KH_GPU(cudaMemcpyAsync(s->din.p, s->in.p, bytes, cudaMemcpyHostToDevice,
					 w->stream), err)) ||
	    (rc = KH_GPU(cudaMemsetAsync(s->dsums.p, 0, 8, w->stream), err)) ||
	    (rc = kh_gpu_check(kh_gpu_sample_run(&g, w->stream), "sampling kernels", err)) ||
	    (rc = kh_gpu_check(kh_gpu_split_run(&some, w->stream), "split kernels", err)))
		return rc;
	s->busy = true;
	return KH_GPU(cudaEventRecord(s->done, w->stream), err);
}

static int one_group(const struct again *x, struct kh_cuda_worker *w, struct kh_cuda_slot *s,
		     size_t i, kh_err *err)
{
	const kh_builder *b = x->w->b;
	const struct kh_cuda_sizes z = sizes_of(b, &b->kept.group[i]);
	int rc = s->busy ? KH_GPU(cudaEventSynchronize(s->done), err) : KH_OK;

	s->busy = false;
	if (x->at[i + 1] == x->at[i])
		return rc;
	if (!rc)
		rc = rooms(s, &z, err);
	if (!rc)
		rc = fetch(b, &b->kept.group[i], s->in.p, err);
	return rc ? rc : launch(x, w, s, i, z.in, err);
}

static int again_worker(void *arg, unsigned worker, kh_err *err)
{
	struct again *x = arg;
	kh_builder *b = x->w->b;
	const unsigned owner = (unsigned)(x->w->owner - b->owner);
	struct kh_cuda_worker *w = &b->worker[owner + worker * b->n];
	int rc = kh_gpu_use(w->device, err), waited;

	for (unsigned j = 0; !rc; j = (j + 1) % SLOTS) {
		const size_t i = x->next++;

		if (i >= b->kept.n_groups)
			break;
		rc = one_group(x, w, &w->slot[j], i, err);
	}
	/* after a failure, too: kernels under way may still write to the wave's memory */
	waited = KH_GPU(cudaStreamSynchronize(w->stream), rc ? NULL : err);
	for (int j = 0; j < SLOTS; j++)
		w->slot[j].busy = false;
	return rc ? rc : waited;
}

int kh_wave_sample_again(struct kh_wave *w, kh_err *err)
{
	const struct kh_cuda_kept_blocks *k = &w->b->kept;
	struct again x = { .w = w, .at = kh_array(k->n_groups + 1, sizeof *x.at, err) };
	int rc = x.at ? KH_OK : KH_ENOMEM;

	for (size_t g = 0; g < k->n_groups && !rc; g++) {
		x.at[g + 1] = x.at[g];
		for (size_t i = k->group[g].from; i < k->group[g].to; i++)
			for (unsigned p = w->from; p < w->to; p++)
				x.at[g + 1] += k->block[i]->count[p];
	}
	w->pairs.sort.n = rc ? 0 : x.at[k->n_groups];
	if (!rc)
		rc = kh_wave_room(w, w->pairs.sort.n, 0, err);
	if (!rc)
		rc = kh_side_by_side(w->owner->again, again_worker, &x, err);
	free(x.at);
	return rc;
}
