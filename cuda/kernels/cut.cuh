/*
 * cut.cuh - lists cut by species, by the threads of a warp or of a block (index/cut.c)
 *
 * A list that has locations in more species than KH_LIST_MAX is overpopulated, whatever it has
 * of each: so the table of a list's species is small, and no more of them are counted.
 */
#ifndef KH_CUDA_KERNELS_CUT_CUH
#define KH_CUDA_KERNELS_CUT_CUH

#include "cuda/kernels/builder.h"
#include "cuda/kernels/threads.cuh"

namespace {

/* Each thread looks at the number of species before it adds one, so as many more as a block has
 * threads may be added. */
constexpr unsigned SPECIES_ROOM = 512;
static_assert(KH_LIST_MAX + THREADS < SPECIES_ROOM, "a free place ends every search");

struct species_table {
	uint32_t species[SPECIES_ROOM]; /* number + 1; 0: free */
	uint32_t in[SPECIES_ROOM];      /* what it has of the list (bins.h) */
	uint32_t much[KH_LIST_MAX];     /* the species that have too much */
	uint32_t size;                  /* places in use, a power of two */
	uint32_t n, words, n_much;
};

/* The threads that work on a list together. */
struct by_warp {
	static __device__ unsigned index() { return threadIdx.x & 31; }
	static __device__ unsigned size() { return 32; }
	static __device__ void sync() { __syncwarp(); }
};

struct by_block {
	static __device__ unsigned index() { return threadIdx.x; }
	static __device__ unsigned size() { return blockDim.x; }
	static __device__ void sync() { __syncthreads(); }
};

/* If lists are not cut, all locations count as those of one species without a limit. */
__device__ uint32_t species_of(const kh_gpu_encode &e, uint32_t target)
{
	return e.bins.most ? e.bins.species[target] : 0;
}

/* A list of so many locations is not cut. */
__device__ uint32_t most_of(const kh_gpu_encode &e)
{
	return e.bins.most ? e.bins.most : UINT32_MAX;
}

__device__ bool is_first(const kh_gpu_encode &e, uint64_t from, uint64_t i)
{
	return i == from || e.bin[i] != e.bin[i - 1];
}

__device__ uint32_t species_slot(const species_table &t, uint32_t species)
{
	return species * UINT32_C(0x9e3779b1) >> 16 & (t.size - 1);
}

/* Counts a location, but no more than are too many in any case: the threads of a block, which may
 * each add one before they see the others', then do not make the number overflow. */
__device__ void species_add(species_table &t, uint32_t species, bool first_of_target)
{
	for (uint32_t at = species_slot(t, species);; at = (at + 1) & (t.size - 1)) {
		const uint32_t old = atomicCAS(&t.species[at], 0, species + 1);

		if (old == 0)
			atomicAdd(&t.n, 1);
		if (old == 0 || old == species + 1) {
			if (kh_in_locations(*(volatile uint32_t *)&t.in[at]) <= KH_LIST_MAX)
				atomicAdd(&t.in[at], 1 + first_of_target * KH_IN_TARGET);
			return;
		}
	}
}

__device__ uint32_t species_in(const species_table &t, uint32_t species)
{
	uint32_t at = species_slot(t, species);

	while (t.species[at] != species + 1)
		at = (at + 1) & (t.size - 1);
	return t.in[at];
}

template <class By>
__device__ void species_clear(species_table &t, uint32_t n)
{
	uint32_t size = 32;

	while (size < 2 * n && size < SPECIES_ROOM)
		size *= 2;
	By::sync();
	for (uint32_t i = By::index(); i < size; i += By::size())
		t.species[i] = t.in[i] = 0;
	if (By::index() == 0) {
		t.size = size;
		t.n = t.words = t.n_much = 0;
	}
	By::sync();
}

/* --- by a thread ---------------------------------------------------------------------- */
/* Moves the distinct bins of pairs from .. to - 1, which are in order, to the front; returns how
 * many there are. */
__device__ uint32_t distinct_bins(const kh_gpu_encode &e, uint32_t from, uint32_t to)
{
	uint32_t last = e.bin[from], n = 1;

	for (uint32_t j = from + 1; j < to; j++) {
		const uint32_t bin = e.bin[j];

		if (bin == last)
			continue;
		if (j > from + n)
			e.bin[from + n] = bin;
		last = bin;
		n++;
	}
	return n;
}

/* The target of a location that is not before target t: often one of the next. */
__device__ uint32_t target_from(const kh_gpu_encode &e, uint32_t t, uint32_t bin)
{
	for (int i = 0; i < 4; i++, t++)
		if (bin < e.bins.first[t + 1])  /* the species stand behind the last target */
			return t;
	return kh_bins_target(&e.bins, bin);
}

/* Cuts the list of pairs from .. to - 1, which are all in one species, and the first of which is in
 * target t, in place; returns how many words are left. */
__device__ uint32_t cut_to_species(const kh_gpu_encode &e, uint32_t t, uint32_t from, uint32_t to)
{
	const uint32_t vote = e.bins.first[e.bins.species[t]];
	uint32_t last = e.bin[from], in = 1 + KH_IN_TARGET;

	for (uint32_t j = from + 1; j < to; j++) {
		const uint32_t bin = e.bin[j];

		if (bin == last)
			continue;
		in += 1 + (bin >= e.bins.first[t + 1]) * KH_IN_TARGET;
		if (kh_bins_much(&e.bins, in)) {
			e.bin[from] = vote;
			return 1;
		}
		t = target_from(e, t, bin);
		e.bin[from + kh_in_locations(in) - 1] = bin;
		last = bin;
	}
	return kh_in_locations(in);
}

/* Cuts a list in place if its targets stand in a row of one species, as mostly where genomes are
 * given species by species: that takes one search for a target, and no look at most of the bins.
 * Returns how many words are left; 0: the list is another, and nothing was written. */
__device__ uint32_t cut_row(const kh_gpu_encode &e, uint32_t from, uint32_t to)
{
	const uint32_t t = kh_bins_target(&e.bins, e.bin[from]);

	return e.bin[to - 1] < e.row_end[t] ? cut_to_species(e, t, from, to) : 0;
}

/* --- by the threads of a warp or of a block --------------------------------------------- */
/* Cuts a list in place, by a warp, if all its targets are of one species, in any order.  Returns
 * how many words are left; 0: the list is another, and nothing was written. */
__device__ uint32_t cut_one_species(const kh_gpu_encode &e, uint32_t from, uint32_t to)
{
	uint32_t t = 0, n = 0;

	for (uint32_t i = from; i < to; i += 32) {
		const uint32_t mine = i + by_warp::index();
		const uint32_t its = mine < to ? kh_bins_target(&e.bins, e.bin[mine]) : t;

		if (i == from)
			t = __shfl_sync(ALL, its, 0);
		if (__any_sync(ALL, mine < to && e.bins.species[its] != e.bins.species[t]))
			return 0;
	}
	if (by_warp::index() == 0)
		n = cut_to_species(e, t, from, to);
	return __shfl_sync(ALL, n, 0);
}

/* Counts location i of the list of pairs from .. */
__device__ void count_location(const kh_gpu_encode &e, species_table &t, uint64_t from, uint64_t i)
{
	const uint32_t target = kh_bins_target(&e.bins, e.bin[i]);

	species_add(t, species_of(e, target), i == from || e.bin[i - 1] < e.bins.first[target]);
}

/* How many words are left of the list of pairs from .. to - 1.  If they are more than
 * KH_LIST_MAX, the list is overpopulated, and the table may be incomplete. */
template <class By>
__device__ uint32_t cut_words(const kh_gpu_encode &e, species_table &t, uint32_t from,
			      uint32_t to)
{
	species_clear<By>(t, to - from);
	for (uint64_t i = (uint64_t)from + By::index(); i < to; i += By::size())
		if (is_first(e, from, i) && *(volatile uint32_t *)&t.n <= KH_LIST_MAX)
			count_location(e, t, from, i);
	By::sync();
	if (t.n > KH_LIST_MAX)
		return t.n;
	for (uint32_t i = By::index(); i < t.size; i += By::size()) {
		const bool much = kh_bins_much(&e.bins, t.in[i]);

		if (much)
			t.much[atomicAdd(&t.n_much, 1)] = t.species[i] - 1;
		if (t.species[i])
			atomicAdd(&t.words, much ? 1 : kh_in_locations(t.in[i]));
	}
	By::sync();
	return t.words;
}

__device__ bool has_too_much(const kh_gpu_encode &e, const species_table &t, uint32_t bin)
{
	return kh_bins_much(&e.bins,
			    species_in(t, species_of(e, kh_bins_target(&e.bins, bin))));
}

/* Writes what is left of a list over the bins of its pairs, with a warp.  No word moves
 * backwards, so nothing is overwritten before it has been read. */
__device__ void cut_in_place(const kh_gpu_encode &e, const species_table &t, uint32_t from,
			     uint32_t to)
{
	const unsigned lane = by_warp::index();
	uint32_t *out = e.bin + from;

	for (uint64_t i = from; i < to; i += 32) {
		const uint64_t mine = i + lane;
		const bool first = mine < to && is_first(e, from, mine);
		const uint32_t bin = first ? e.bin[mine] : 0;
		const bool keep = first && (t.n_much == 0 || !has_too_much(e, t, bin));
		const unsigned kept = __ballot_sync(ALL, keep);

		if (keep)
			out[__popc(kept & ((1u << lane) - 1))] = bin;
		out += __popc(kept);
		__syncwarp();
	}
	for (uint32_t i = lane; i < t.n_much; i += 32) {
		uint32_t before = 0;

		for (uint32_t j = 0; j < t.n_much; j++)
			before += t.much[j] < t.much[i];
		out[before] = e.bins.first[t.much[i]];
	}
}

} /* namespace */

#endif
