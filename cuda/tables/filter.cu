/*
 * filter.cu - a blocked Bloom filter whose blocks are chosen by minimizers
 *
 * k-mers in a row mostly have the same minimizer (the least of their canonical m-mers, by a hash):
 * they are a super-k-mer, (k - m + 2) / 2 of them on the average.  All its k-mers have their bits
 * in one block of 128 bytes, a line of the cache, so memory is asked once for each super-k-mer.
 * Each k-mer has six bits there.
 *
 * A warp goes over a stretch of words, a lane for each start of a k-mer.  Inserting, it collects
 * the bits of a block in shared memory until the block changes, and then adds all 32 words of
 * it by one atomic instruction.
 *
 * The price are blocks of unequal load: for 16 bits a k-mer, k 31 and m 19, three times the false
 * positives of a filter without blocks (kht_filter_theory()).  Blocks are chosen by 32 bits of
 * hash: with more than 2^29 or so k-mers chance puts more together than that theory says.
 */
#include <math.h>
#include "cuda/tables/filter.h"
#include "cuda/tables/views.cuh"
#include "cuda/tables/hash.cuh"
#include "cuda/tables/host.cuh"

#define HASHES  6
#define BLOCK   1024 /* bits */
#define LINE    (BLOCK / 32)
#define STRETCH 32 /* words that a warp goes over */
#define WARPS   (KHT_BLOCK / 32)
#define SLOTS   33 /* blocks that a warp collects bits for: one begun earlier, and 32 */
#define NONE    (~0u)

/* What most filters have: kernels of their own. */
#define USUAL_K 31
#define USUAL_M 19

struct kht_filter {
	uint32_t *line;
	uint32_t blocks;
	unsigned k, m;
	uint64_t seed;
};

/* What a k-mer asks of the filter. */
struct kmer_bits {
	uint32_t block; /* NONE: it is masked */
	uint64_t bits;  /* 10 bits for each of its places */
};

static __device__ uint64_t reverse_bases(uint64_t x)
{
	x = __brevll(x);
	return (x >> 1 & UINT64_C(0x5555555555555555)) | (x & UINT64_C(0x5555555555555555)) << 1;
}

/* The lesser of the first n bases of x and their reverse complement; `rc`: that of all 32. */
static __device__ uint64_t canonical(uint64_t x, uint64_t rc, unsigned n)
{
	x &= kh_kmer_mask(n);
	rc >>= 64 - 2 * n;
	return x < rc ? x : rc;
}

/* The 32 bases from this lane's on, and the order of the m-mer there. */
struct place {
	uint64_t x, rc;
	uint32_t order;
};

/* Goes over the words of a stretch; all lanes of a warp.  K and M: the filter's, where the compiler
 * knows them, or else 0. */
template <unsigned K, unsigned M> struct walk {
	const kht_filter &f;
	const kht_sequence &q;
	size_t word, end;
	unsigned lane;
	uint64_t next; /* the bases of the next word */
	uint32_t masked_now, masked_next;
	place here, there; /* in this word; in the next one */

	__device__ walk(const kht_filter &filter, const kht_sequence &seq)
		: f(filter), q(seq), word(kht_thread_id() / 32 * STRETCH), lane(threadIdx.x & 31)
	{
		end = min(word + STRETCH, q.words);
		next = bases(word + 1);
		masked_now = masked(word);
		masked_next = masked(word + 1);
		here = at(bases(word), next);
	}
	__device__ unsigned k() const { return K ? K : f.k; }
	__device__ unsigned m() const { return M ? M : f.m; }
	__device__ uint64_t bases(size_t w) const { return w < q.words ? __ldg(q.bases + w) : 0; }
	__device__ uint32_t masked(size_t w) const
	{
		return w < q.words ? __ldg(q.masked + w) : ~0u;
	}
	/* 32 bases of the two words, from this lane's on: 2 * lane bits on, modulo 32 of a half. */
	__device__ uint64_t from_lane(uint64_t a, uint64_t b) const
	{
		bool low = lane < 16;
		uint32_t a1 = (uint32_t)(a >> 32), b0 = (uint32_t)b;
		uint32_t x = low ? (uint32_t)a : a1, y = low ? a1 : b0;
		uint32_t z = low ? b0 : (uint32_t)(b >> 32);

		return (uint64_t)__funnelshift_r(y, z, 2 * lane) << 32 |
		       __funnelshift_r(x, y, 2 * lane);
	}
	__device__ place at(uint64_t a, uint64_t b) const
	{
		place p;

		p.x = from_lane(a, b);
		p.rc = reverse_bases(~p.x);
		uint64_t h = canonical(p.x, p.rc, m()) * UINT64_C(0x9e3779b97f4a7c15);
		p.order = kht_mix((uint32_t)(h >> 32), f.seed);
		return p;
	}
	/* Each lane's value d lanes on, of this word and the next one. */
	__device__ uint32_t ahead(uint32_t a, uint32_t b, unsigned d) const
	{
		return __shfl_sync(KHT_FULL, lane >= d ? a : b, (lane + d) & 31);
	}
	/* The least order of the m-mers of this lane's k-mer. */
	__device__ uint32_t minimizer() const
	{
		const unsigned window = k() - m() + 1;
		uint32_t a = here.order, b = there.order;
		unsigned have = 1;

#pragma unroll
		for (; 2 * have <= window; have *= 2) {
			a = min(a, ahead(a, b, have));
			b = min(b, __shfl_down_sync(KHT_FULL, b, have));
		}
		return have < window ? min(a, ahead(a, b, window - have)) : a;
	}
	__device__ bool is_masked() const
	{
		uint64_t x = (uint64_t)masked_next << 32 | masked_now;

		return x != 0 && (x >> lane & ((UINT64_C(1) << k()) - 1)) != 0;
	}
	/* The k-mer that begins at this lane's base of the word, which this goes on from. */
	__device__ kmer_bits step()
	{
		uint64_t then = bases(word + 2);
		uint32_t masked_then = masked(word + 2);
		kmer_bits r;

		there = at(next, then);
		r.block = kht_reduce(minimizer() * UINT32_C(0x9e3779b1), f.blocks);
		r.block = is_masked() ? NONE : r.block;
		r.bits = kh_fmix64(canonical(here.x, here.rc, k()) ^ f.seed);
		here = there;
		next = then;
		masked_now = masked_next;
		masked_next = masked_then;
		word++;
		return r;
	}
};

/* Place i of a k-mer: the byte of its word in the block, and the bit there, modulo 32. */
static __device__ unsigned byte_of(uint64_t bits, int i) { return bits >> (i * 10 + 3) & 124; }
static __device__ unsigned bit_of(uint64_t bits, int i) { return (unsigned)(bits >> i * 10); }

/* What a warp collects: slot `open` is of the block that the next k-mers may go on with. */
struct collected {
	uint32_t bits[SLOTS][LINE];
	uint32_t block[SLOTS];
};

static __device__ void add_line(const kht_filter &f, collected &c, unsigned slot)
{
	unsigned lane = threadIdx.x & 31;
	uint32_t x = c.bits[slot][lane];

	if (x == 0)
		return;
	atomicOr(f.line + (size_t)c.block[slot] * LINE + lane, x);
	c.bits[slot][lane] = 0;
}

template <unsigned K, unsigned M>
static __global__ void __launch_bounds__(KHT_BLOCK)
	insert_kmers(kht_filter f, kht_sequence q)
{
	__shared__ collected all[WARPS];
	collected &c = all[threadIdx.x / 32];
	unsigned lane = threadIdx.x & 31, open = 0;
	uint32_t last = NONE;
	walk<K, M> w(f, q);

	for (unsigned i = 0; i < SLOTS; i++)
		c.bits[i][lane] = 0;
	__syncwarp();
	while (w.word < w.end) {
		kmer_bits b = w.step();
		uint32_t before = __shfl_up_sync(KHT_FULL, b.block, 1);
		bool head = b.block != (lane ? before : last);
		unsigned heads = __ballot_sync(KHT_FULL, head), blocks = __popc(heads);
		unsigned slot = open + __popc(heads & (2u << lane) - 1);

		slot = slot < SLOTS ? slot : slot - SLOTS;
		if (head)
			c.block[slot] = b.block;
		for (int i = 0; i < HASHES && b.block != NONE; i++)
			atomicOr(&c.bits[slot][byte_of(b.bits, i) / 4],
				 1u << (bit_of(b.bits, i) & 31));
		__syncwarp();
		for (unsigned i = 0; i < blocks; i++) {
			add_line(f, c, open);
			open = open + 1 < SLOTS ? open + 1 : 0;
		}
		__syncwarp();
		last = __shfl_sync(KHT_FULL, b.block, 31);
	}
	add_line(f, c, open);
}

template <unsigned K, unsigned M>
static __global__ void __launch_bounds__(KHT_BLOCK)
	query_kmers(kht_filter f, kht_sequence q, uint32_t *found)
{
	walk<K, M> w(f, q);

	while (w.word < w.end) {
		size_t word = w.word;
		kmer_bits b = w.step();
		bool is = b.block != NONE;
		const char *line = (const char *)(f.line + (size_t)(is ? b.block : 0) * LINE);
		uint32_t x[HASHES], all = is;

#pragma unroll
		for (int i = 0; i < HASHES; i++)
			x[i] = __ldg((const uint32_t *)(line + byte_of(b.bits, i)));
#pragma unroll
		for (int i = 0; i < HASHES; i++)
			all &= __funnelshift_r(x[i], 0, bit_of(b.bits, i));
		unsigned good = __ballot_sync(KHT_FULL, all != 0);
		if (w.lane == 0)
			found[word] = good;
	}
}

static bool usual(const kht_filter *f) { return f->k == USUAL_K && f->m == USUAL_M; }

static unsigned stretches(const kht_sequence *q)
{
	return kht_blocks((q->words + STRETCH - 1) / STRETCH * 32);
}

int kht_filter_insert(kht_filter *f, const kht_sequence *q, kht_stream s, kh_err *err)
{
	if (q->words == 0)
		return KH_OK;
	if (usual(f))
		insert_kmers<USUAL_K, USUAL_M><<<stretches(q), KHT_BLOCK, 0, s>>>(*f, *q);
	else
		insert_kmers<0, 0><<<stretches(q), KHT_BLOCK, 0, s>>>(*f, *q);
	return kht_launched("insert", err);
}

int kht_filter_query(kht_filter *f, const kht_sequence *q, uint32_t *found, kht_stream s,
		     kh_err *err)
{
	if (q->words == 0)
		return KH_OK;
	if (usual(f))
		query_kmers<USUAL_K, USUAL_M><<<stretches(q), KHT_BLOCK, 0, s>>>(*f, *q, found);
	else
		query_kmers<0, 0><<<stretches(q), KHT_BLOCK, 0, s>>>(*f, *q, found);
	return kht_launched("query", err);
}

uint64_t kht_filter_bytes(const kht_filter *f) { return (uint64_t)f->blocks * (BLOCK / 8); }

static int open_filter(kht_filter *f, const kht_filter_config *c, kht_stream s, kh_err *err)
{
	const double bits = (double)c->capacity * (c->bits ? c->bits : 16);
	int rc;

	f->k = c->k;
	f->m = c->m ? c->m : c->k * 5 / 8;
	f->seed = c->seed;
	if (c->k < KH_K_MIN || c->k > KH_K_MAX || f->m < 4 || f->m > c->k)
		return kh_fail(err, KH_EUSAGE, "k %u and minimizers of %u: k is %d to %d, m 4 to k",
			       c->k, f->m, KH_K_MIN, KH_K_MAX);
	if (c->capacity == 0 || bits / BLOCK >= NONE)
		return kh_fail(err, KH_EUSAGE, "a filter of %.0f bits: 1 to 2^42 are possible",
			       bits);
	f->blocks = (uint32_t)(bits / BLOCK) + 1;
	rc = kht_cuda(cudaMalloc((void **)&f->line, kht_filter_bytes(f)), "memory for a filter",
		      err);
	return rc ? rc
		  : kht_cuda(cudaMemsetAsync(f->line, 0, kht_filter_bytes(f), s),
			     "clearing a filter", err);
}

int kht_filter_open(const kht_filter_config *c, kht_stream s, kht_filter **out, kh_err *err)
{
	kht_filter *f = (kht_filter *)calloc(1, sizeof *f);
	int rc = f ? open_filter(f, c, s, err) : kh_fail_nomem(err);

	if (rc) {
		kht_filter_close(f);
		return rc;
	}
	*out = f;
	return KH_OK;
}

void kht_filter_close(kht_filter *f)
{
	if (f && f->line)
		(void)cudaFree(f->line);
	free(f);
}

/* part[n]: of super-k-mers that have n k-mers, in random sequence.  The m-mer with hash u of [0, 1]
 * is the least of the windows between those less than it, to its left and to its right. */
static void super_sizes(unsigned window, double *part)
{
	const int steps = 500;
	double all = 0;

	for (unsigned n = 0; n <= window; n++)
		part[n] = 0;
	for (int i = 0; i < steps; i++) {
		const double u = (i + 0.5) / steps;

		for (unsigned a = 0; a < window; a++)
			for (unsigned b = window - 1 - a; b < window; b++)
				part[a + b + 2 - window] +=
					pow(1 - u, a + b) * (a < window - 1 ? u : 1) *
					(b < window - 1 ? u : 1);
	}
	for (unsigned n = 1; n <= window; n++)
		all += part[n];
	for (unsigned n = 1; n <= window; n++)
		part[n] /= all;
}

/* The k-mers of a block are those of a number of super-k-mers that is Poisson's (Panjer's
 * recursion). */
double kht_filter_theory(const kht_filter *f, double kmers)
{
	const double load = kmers / f->blocks;
	const unsigned window = f->k - f->m + 1, most = (unsigned)(load * 8) + 100;
	double part[KH_K_MAX + 1], mean = 0, rate = 0;
	double *p = (double *)calloc(most + 1, sizeof *p);

	if (!p)
		return -1;
	super_sizes(window, part);
	for (unsigned n = 1; n <= window; n++)
		mean += n * part[n];
	p[0] = exp(-load / mean);
	for (unsigned n = 1; n <= most; n++) {
		for (unsigned j = 1; j <= window && j <= n; j++)
			p[n] += load / mean / n * j * part[j] * p[n - j];
		rate += p[n] * pow(1 - pow(1 - 1.0 / BLOCK, HASHES * (double)n), HASHES);
	}
	free(p);
	return rate;
}
