/* memory.c - what a build takes of the memory of its devices, as far as that is known (plan.h) */
#include <config.h>
#include "cuda/builder/builder_in.h"

#include <inttypes.h>

struct kh_cuda_sizes kh_cuda_usual_sizes(const kh_builder *b)
{
	const kh_sampling *s = &b->o.sampling;
	const size_t block = b->o.block_size;
	const kh_gpu_sample g = { .sampling = *s, .n_pieces = 256,
				  .n_words = (uint32_t)(block / 32 + 1024),
				  .n_windows = block / s->stride + 1024 };
	struct kh_cuda_sizes z = { .in = block / 32 * 13 + 65536, .sums = 8192 };

	z.scratch = kh_gpu_sample_scratch(&g);
	z.pairs = (size_t)kh_sampling_bound(s, block + 32768);
	z.split = b->n > 1 ? kh_gpu_split_scratch(z.pairs, b->n) : 0;
	return z;
}

size_t kh_cuda_slab_bytes(const kh_builder *b, unsigned workers)
{
	const struct kh_cuda_sizes z = kh_cuda_usual_sizes(b);
	const size_t copies = b->n > 1 ? 2 : 1;

	return workers * SLOTS * (kh_gpu_up(z.in) + kh_gpu_up(z.sums) + kh_gpu_up(z.scratch) +
				  copies * (kh_gpu_up(z.pairs * 8) + kh_gpu_up(z.pairs * 4)) +
				  kh_gpu_up(z.split)) + 1;
}

static uint64_t sort_scratch(uint64_t pairs)
{
	kh_gpu_sort s = { .n = pairs, .bits = KH_KEY_BITS + 1 };

	return kh_gpu_sort_run(&s, NULL) == cudaSuccess ? s.scratch_bytes : 0;
}

static uint64_t scan_scratch(uint64_t pairs)
{
	const uint64_t heads = kh_gpu_heads_scratch(pairs), seeds = kh_gpu_seeds_scratch(pairs);

	return heads > seeds ? heads : seeds;
}

int kh_cuda_owner_plan(kh_builder *b, struct kh_cuda_owner *o, unsigned workers, kh_err *err)
{
	kh_gpu_plan *p = &o->plan;
	uint64_t free_bytes = 0, times = 0;
	int rc = kh_gpu_use(o->device, err);

	if (!rc)
		rc = kh_gpu_free(&free_bytes, err);
	for (unsigned i = 0; i < b->n; i++)
		times += b->owner[i].device == o->device;
	*p = (kh_gpu_plan) { .sort_scratch = sort_scratch,
			     .scan_scratch = scan_scratch };
	p->limit = (free_bytes > 2 * SPARE ? free_bytes - SPARE : free_bytes / 2) / times;
	if (b->o.on.memory && b->o.on.memory < p->limit)
		p->limit = b->o.on.memory;
	/* an eighth more, for blocks that are larger than usual */
	p->slots = kh_plan_round(kh_cuda_slab_bytes(b, workers) / 8 * 9);
	/* as long as nobody knows how many sequences and taxa there are */
	p->tables = p->limit / 64 < UINT64_C(64) << 20 ? p->limit / 64 : UINT64_C(64) << 20;
	p->most = kh_plan_most(p);
	o->memory.limit = p->limit;
	o->slab.budget = &o->memory;
	o->pinned.budget = &b->pinned;
	if (rc || p->slots <= p->limit)
		return rc;
	return kh_fail(err, KH_ENOMEM, "%u workers with blocks of %zu bytes need %" PRIu64
		       " bytes of the memory of cuda:%d, of which %" PRIu64 " may be used "
		       "(--threads, --set block-size, --set gpu-memory)", workers, b->o.block_size,
		       p->slots, o->device, p->limit);
}

/* --- when it is known how many pairs there will be ------------------------------------- */
/* What the least device can take of as many pairs as the others. */
static uint64_t least_most(const kh_builder *b)
{
	uint64_t most = UINT64_MAX;

	for (unsigned i = 0; i < b->n; i++) {
		const uint64_t n = kh_plan_most(&b->owner[i].plan);

		most = n < most ? n : most;
	}
	return most;
}

/* About so many bytes of packed bases and masks have so many pairs. */
static uint64_t packed_bytes(const kh_sampling *s, uint64_t pairs)
{
	const uint64_t bases = s->scheme == KH_SYNCMER ? pairs * (s->k - s->s + 1)
							: pairs / s->s * s->stride;

	return bases / 32 * 12;
}

/* What is spilled at once is spilled by all workers while they read; but the number of pairs is a
 * guess from the sizes of files, so that a tenth too many is tried. */
static void decide(kh_builder *b, uint64_t pairs, kh_plan *p)
{
	struct kh_cuda_sizes z = kh_cuda_usual_sizes(b);

	if (pairs / b->n + 1 <= least_most(b) + least_most(b) / 10)
		return;
	b->spilling = true;
	b->again = true;
	p->to = "the host";
	p->spilled = packed_bytes(&b->o.sampling, pairs);
	z.split = kh_gpu_split_scratch(z.pairs, 1);
	for (unsigned i = 0; i < b->n; i++)
		b->owner[i].plan.again = kh_plan_round(SLOTS * kh_cuda_slot_bytes(&z) / 8 * 9);
}

int kh_cuda_builder_plan(kh_builder *b, uint64_t pairs, kh_plan *p, kh_err *err)
{
	const uint64_t each = pairs / b->n + 1;
	int rc = KH_OK;

	*p = (kh_plan) { .need = 0 };
	for (unsigned i = 0; i < b->n; i++) {
		p->need += kh_plan_sorting(&b->owner[i].plan, each);
		p->have += b->owner[i].plan.limit;
	}
	decide(b, pairs, p);
	for (unsigned i = 0; i < b->n && !rc; i++) {
		const struct kh_cuda_owner *o = &b->owner[i];
		const uint64_t least = kh_plan_least(&o->plan, pairs / KH_RANGES);

		if (least > o->plan.limit)
			rc = kh_fail(err, KH_ENOMEM, "one of 256 ranges of about %" PRIu64
				     " pairs needs %" PRIu64 " bytes of the memory of cuda:%d, of "
				     "which %" PRIu64 " may be used (--set gpu-memory)", pairs,
				     least, o->device, o->plan.limit);
	}
	if (rc || !b->spilling)
		return rc;
	return kh_host_plan_check(&b->host, p->spilled, "packed references", err);
}
