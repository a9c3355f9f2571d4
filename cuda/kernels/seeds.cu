/*
 * seeds.cu - sorted pairs to the lists and lines of a database
 *
 * All ranges of a wave are worked on at once: their sorted pairs lie one behind the other, and a
 * thread finds its range from the top 8 bits of the key.  The contract is in index/seeds.h; the
 * code that it must equal is kh_seeds_encode.  A slot is left to the next level if the one that
 * stands as many before it as a line has is of the same line: so each level is a selection, a sort
 * of what was selected, and a thread for each line that has a slot.
 */
#include "cuda/kernels/builder.h"
#include "cuda/kernels/cub.cuh"
#include "cuda/kernels/threads.cuh"
#include "index/seeds.h"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace {

/* --- lists -------------------------------------------------------------------------- */
constexpr uint32_t FEW = 8;             /* pairs of which a thread makes a list */
/* Places in a table of a list's species: each of these has a location that is kept, and no more of
 * them are added when too many are kept. */
constexpr unsigned SPECIES_ROOM = 512;
static_assert(KH_LIST_MAX + 32 < SPECIES_ROOM, "a free place ends every search");

struct species_table {
	uint32_t species[SPECIES_ROOM]; /* number + 1; 0: free */
	uint32_t in[SPECIES_ROOM];      /* locations that it has of the list */
	uint32_t size;                  /* places in use, a power of two */
};

__device__ bool is_first(const kh_gpu_encode &e, uint64_t from, uint64_t i)
{
	return i == from || e.bin[i] != e.bin[i - 1];
}

__device__ uint32_t species_slot(const species_table &t, uint32_t species)
{
	return species * UINT32_C(0x9e3779b1) >> 16 & (t.size - 1);
}

/* For a list of n pairs. */
__device__ void species_clear(species_table &t, uint32_t n)
{
	uint32_t size = 32;

	while (size < 2 * n && size < SPECIES_ROOM)
		size *= 2;
	__syncwarp();
	for (uint32_t i = lane_id(); i < size; i += 32)
		t.species[i] = t.in[i] = 0;
	if (lane_id() == 0)
		t.size = size;
	__syncwarp();
}

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

__device__ uint32_t end_of(const kh_gpu_encode &e, uint64_t seed)
{
	return seed + 1 < e.n_heads ? e.head[seed + 1] : (uint32_t)e.n;
}

/* Writes the list of a few pairs over their bins; returns how many are left. */
__device__ uint32_t few_places(const kh_gpu_encode &e, uint32_t from, uint32_t to)
{
	const uint32_t n = distinct_bins(e, from, to);
	uint32_t species[FEW], kept = 0;

	if (n <= KH_SPECIES_PLACES)
		return n;
#pragma unroll
	for (uint32_t i = 0; i < FEW; i++) {
		uint32_t before = 0, bin;

		if (i >= n)
			break;
		bin = e.bin[from + i];
		species[i] = e.bins.species[kh_bins_target(&e.bins, bin)];
#pragma unroll
		for (uint32_t j = 0; j < FEW; j++)
			before += j < i && species[j] == species[i];
		if (before < KH_SPECIES_PLACES)
			e.bin[from + kept++] = bin;
	}
	return kept;
}

/* How many places of the species of this lane are before its own; lanes without a place take part.
 * The lowest lane of a species adds those of all. */
__device__ uint32_t places_before(species_table &t, bool place, uint32_t species)
{
	const unsigned same = __match_any_sync(ALL, place ? species : UINT32_MAX);
	const int first = __ffs((int)same) - 1;
	uint32_t before = 0;

	if (place && (int)lane_id() == first) {
		uint32_t at = species_slot(t, species), old;

		while ((old = atomicCAS(&t.species[at], 0, species + 1)) != 0 &&
		       old != species + 1)
			at = (at + 1) & (t.size - 1);
		before = t.in[at];
		t.in[at] = before + __popc(same);
	}
	__syncwarp();
	return __shfl_sync(ALL, before, first) + __popc(same & lanes_below());
}

/* The same as few_places by a warp.  Each species has a place that is kept, so the table has room
 * for those of a list that is not too long; if it is, the first KH_LIST_MAX + 1 are written at
 * least. */
__device__ uint32_t many_places(const kh_gpu_encode &e, species_table &t, uint32_t from,
				uint32_t to)
{
	uint32_t kept = 0;

	species_clear(t, to - from);
	for (uint64_t i = from; i < to && kept <= KH_LIST_MAX; i += 32) {
		const uint64_t mine = i + lane_id();
		const bool first = mine < to && is_first(e, from, mine);
		const uint32_t bin = first ? e.bin[mine] : 0;
		const uint32_t species = first ? e.bins.species[kh_bins_target(&e.bins, bin)] : 0;
		const bool keep = places_before(t, first, species) < KH_SPECIES_PLACES && first;
		const unsigned mask = __ballot_sync(ALL, keep);
		if (keep)
			e.bin[from + kept + __popc(mask & lanes_below())] = bin;
		kept += __popc(mask);
		__syncwarp();
	}
	return kept;
}

/* Behind a list its last word stands again, so that the same list is made if it is made again. */
__device__ void repeat_last(const kh_gpu_encode &e, uint32_t from, uint32_t n, uint32_t to,
			    uint32_t at, uint32_t step)
{
	if (n > KH_LIST_MAX)
		return;
	for (uint64_t i = (uint64_t)from + n + at; i < to; i += step)
		e.bin[i] = e.bin[from + n - 1];
}

/* The length of a list that has n words, and what its range has of such. */
__device__ void set_length(const kh_gpu_encode &e, uint64_t seed, uint32_t n)
{
	kh_gpu_range *r = &e.range[e.key[e.head[seed]] >> 40];

	e.len[seed] = n > KH_LIST_MAX ? KH_LIST_OVER : (uint8_t)n;
	if (n > KH_LIST_MAX)
		atomicAdd(&r->over, 1);
	else if (n > KH_SEED_SLOTS)
		atomicAdd(&r->lists, 1);
}

/* Each thread has a seed; of more pairs than a few, the whole warp makes the list. */
__global__ void __launch_bounds__(THREADS) places_kernel(kh_gpu_encode e)
{
	__shared__ species_table table[THREADS / 32];
	const uint64_t seed = thread_number();
	uint32_t from = 0, to = 0, n = 0;

	if (seed == e.n_heads)
		e.len[seed] = 0;
	if (seed < e.n_heads) {
		from = e.head[seed];
		to = end_of(e, seed);
	}
	n = to - from;
	if (n > 1 && n <= FEW) {
		n = few_places(e, from, to);
		repeat_last(e, from, n, to, 0, 1);
	}
	for (unsigned rest = __ballot_sync(ALL, n > FEW); rest; rest &= rest - 1) {
		const int lane = __ffs((int)rest) - 1;
		const uint32_t a = __shfl_sync(ALL, from, lane), b = __shfl_sync(ALL, to, lane);
		const uint32_t words = many_places(e, table[threadIdx.x / 32], a, b);

		repeat_last(e, a, words, b, lane_id(), 32);
		n = (int)lane_id() == lane ? words : n;
	}
	if (seed < e.n_heads)
		set_length(e, seed, n);
}

/* Slots of a seed, and above 32 bits the words of its list. */
struct room_of {
	const uint8_t *len;

	__device__ uint64_t operator()(uint64_t i) const
	{
		const uint64_t n = len[i];

		return n <= KH_SEED_SLOTS ? n : n == KH_LIST_OVER ? 1 : n << 32 | 1;
	}
};

__global__ void range_rooms_kernel(kh_gpu_encode e)
{
	if (threadIdx.x <= KH_RANGES) {
		kh_gpu_range *r = &e.range[threadIdx.x];

		r->entry = (uint32_t)e.lead[r->head];
		r->word = e.lead[r->head] >> 32;
	}
}

__device__ uint32_t word_of(const kh_gpu_encode &e, uint64_t seed, const kh_gpu_range &r)
{
	return (uint32_t)(e.lead[seed] >> 32) - (uint32_t)r.word;
}

__global__ void __launch_bounds__(THREADS)
	slots_kernel(kh_gpu_encode e, uint64_t *key, uint32_t *value)
{
	const uint64_t seed = thread_number();

	if (seed >= e.n_heads)
		return;
	const uint32_t from = e.head[seed], n = e.len[seed], at = (uint32_t)e.lead[seed];
	const uint64_t k = e.key[from];

	for (uint32_t j = 0; j < n && n <= KH_SEED_SLOTS; j++) {
		key[at + j] = k;
		value[at + j] = e.bin[from + j] + 1;
	}
	if (n <= KH_SEED_SLOTS)
		return;
	key[at] = k;
	value[at] = n == KH_LIST_OVER ? kh_seed_over(e.bins.bits)
				      : (UINT32_C(1) << e.bins.bits) + 1 +
						word_of(e, seed, e.range[k >> 40]);
}

/* The words of a list stand where its pairs' bins were. */
__global__ void __launch_bounds__(THREADS) words_kernel(kh_gpu_encode e)
{
	const uint64_t seed = thread_number();

	if (seed >= e.n_heads || e.len[seed] <= KH_SEED_SLOTS || e.len[seed] == KH_LIST_OVER)
		return;
	const uint32_t from = e.head[seed], n = e.len[seed];
	const kh_gpu_range &r = e.range[e.key[from] >> 40];
	uint32_t *to = (uint32_t *)e.image + r.loc + word_of(e, seed, r);

	for (uint32_t j = 0; j < n; j++)
		to[j] = e.bin[from + j] | (j + 1 < n ? KH_SEED_MORE : 0);
}

/* --- levels ------------------------------------------------------------------------- */
/* Home and tag of a slot: kh_seed_place. */
__device__ uint64_t place_of(const kh_gpu_level &x, uint64_t slot)
{
	const uint64_t key = x.key[slot];

	return kh_seed_place(kh_seed_first(key), x.part[key >> 40].lines);
}

/* Is a slot left to the next level? */
struct is_left {
	kh_gpu_level x;

	__device__ bool operator()(uint32_t i) const
	{
		const uint32_t slots = kh_seed_slots(x.bits);

		return i >= x.part[x.key[i] >> 40].slot + slots &&
		       place_of(x, i) >> 8 == place_of(x, i - slots) >> 8;
	}
};

__global__ void __launch_bounds__(THREADS) count_left_kernel(kh_gpu_level x, uint64_t *n)
{
	const uint64_t step = (uint64_t)gridDim.x * THREADS;
	const is_left left = { x };
	uint32_t mine = 0;

	for (uint64_t i = thread_number(); i < x.n; i += step)
		mine += left((uint32_t)i);
	mine = __reduce_add_sync(ALL, mine);
	if (lane_id() == 0 && mine)
		atomicAdd((unsigned long long *)n, (unsigned long long)mine);
}

__global__ void __launch_bounds__(THREADS)
	next_kernel(kh_gpu_level x, const uint32_t *left, uint64_t n, uint64_t *key,
		    uint32_t *value)
{
	const uint64_t i = thread_number();

	if (i >= n)
		return;
	const uint64_t k = x.key[left[i]];

	key[i] = k >> 40 << 40 | kh_seed_next(kh_seed_first(k));
	value[i] = x.value[left[i]];
}

/* The first slot of a line writes it. */
__global__ void __launch_bounds__(THREADS) lines_kernel(kh_gpu_level x, uint4 *image)
{
	const uint64_t i = thread_number();

	if (i >= x.n)
		return;
	const kh_gpu_level_range *part = &x.part[x.key[i] >> 40];
	const uint32_t slots = kh_seed_slots(x.bits);
	uint64_t place = place_of(x, i);
	const uint64_t home = place >> 8;
	uint32_t line[16] = { 0 };

	if (i > part->slot && place_of(x, i - 1) >> 8 == home)
		return;
	for (uint32_t j = 0; j < slots && place >> 8 == home; j++) {
		kh_seed_put(line, j, (uint32_t)place & 255, x.value[i + j], x.bits);
		if (i + j + 1 == part[1].slot)
			break;
		place = place_of(x, i + j + 1);
	}
	uint4 *out = image + 4 * (part->line + home);
	for (int j = 0; j < 4; j++)
		out[j] = make_uint4(line[4 * j], line[4 * j + 1], line[4 * j + 2],
				    line[4 * j + 3]);
}

/* --- scans and selections ----------------------------------------------------------- */
cudaError_t room_scan(const kh_gpu_encode *e, void *scratch, size_t *bytes, uint64_t n,
		      cudaStream_t stream)
{
	auto in = thrust::make_transform_iterator(
		thrust::make_counting_iterator<uint64_t>(0), room_of { e->len });

	return caught([&] {
		return cub::DeviceScan::ExclusiveSum(scratch, *bytes, in, e->lead, n, stream);
	});
}

cudaError_t select_left(const kh_gpu_level *x, void *scratch, size_t *bytes, uint64_t n,
			uint32_t *left, uint64_t *n_out, cudaStream_t stream)
{
	return caught([&] {
		return cub::DeviceSelect::If(scratch, *bytes,
					     thrust::make_counting_iterator<uint32_t>(0), left,
					     n_out, n, is_left { *x }, stream);
	});
}

} /* namespace */

extern "C" size_t kh_gpu_seeds_scratch(uint64_t n)
{
	kh_gpu_encode e = {};
	kh_gpu_level x = {};
	size_t a = 0, b = 0;

	room_scan(&e, nullptr, &a, n + 1, nullptr);
	select_left(&x, nullptr, &b, n, nullptr, nullptr, nullptr);
	return a > b ? a : b;
}

extern "C" int kh_gpu_seed_lists(const kh_gpu_encode *e, cudaStream_t stream)
{
	size_t bytes = e->scratch_bytes;

	places_kernel<<<blocks_for(e->n_heads + 1), THREADS, 0, stream>>>(*e);
	cudaError_t rc = room_scan(e, e->scratch, &bytes, e->n_heads + 1, stream);
	if (rc == cudaSuccess)
		range_rooms_kernel<<<1, 288, 0, stream>>>(*e);
	return rc != cudaSuccess ? rc : cudaGetLastError();
}

extern "C" int kh_gpu_seed_slots(const kh_gpu_encode *e, uint64_t *key, uint32_t *value,
				 cudaStream_t stream)
{
	if (e->n_heads > 0)
		slots_kernel<<<blocks_for(e->n_heads), THREADS, 0, stream>>>(*e, key, value);
	return cudaGetLastError();
}

extern "C" int kh_gpu_seed_count_left(const kh_gpu_level *x, uint64_t *n, cudaStream_t stream)
{
	if (x->n > 0)
		count_left_kernel<<<blocks_on_device(16), THREADS, 0, stream>>>(*x, n);
	return cudaGetLastError();
}

extern "C" int kh_gpu_seed_left(const kh_gpu_level *x, const kh_gpu_left *l, cudaStream_t stream)
{
	size_t bytes = l->scratch_bytes;
	const cudaError_t rc = select_left(x, l->scratch, &bytes, x->n, l->left, l->n_out, stream);

	if (rc == cudaSuccess && l->n > 0)
		next_kernel<<<blocks_for(l->n), THREADS, 0, stream>>>(*x, l->left, l->n, l->key,
								      l->value);
	return rc != cudaSuccess ? rc : cudaGetLastError();
}

extern "C" int kh_gpu_seed_lines(const kh_gpu_level *x, void *image, cudaStream_t stream)
{
	if (x->n > 0)
		lines_kernel<<<blocks_for(x->n), THREADS, 0, stream>>>(*x, (uint4 *)image);
	return cudaGetLastError();
}

extern "C" int kh_gpu_seed_words(const kh_gpu_encode *e, cudaStream_t stream)
{
	if (e->n_heads > 0)
		words_kernel<<<blocks_for(e->n_heads), THREADS, 0, stream>>>(*e);
	return cudaGetLastError();
}
