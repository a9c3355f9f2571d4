#include <config.h>
#include "classify/backend.h"

#include "cuda/engine/engine.h"
#include "cuda/engine/kraken2.h"
#include "cuda/kernels/gpu.h"
#include "cuda/inflate/inflater.h"

static const kh_backend kraken = {
	.name = "cuda",
	.kraken = &kraken,
	.block_size = KH_CUDA_BLOCK_SIZE,
	.n_devices = kh_gpu_count,
	.inflate = &kh_cuda_inflater,
	.inflater_open = kh_cuda_inflater_open,
	.inflater_close = kh_cuda_inflater_close,
	.engine_open = kh_cuda_k2_engine_open,
	.engine_close = kh_cuda_k2_engine_close,
	.queue_open = kh_cuda_k2_queue_open,
	.queue_close = kh_cuda_k2_queue_close,
	.depth = KH_CUDA_DEPTH,
	.submit = kh_cuda_k2_submit,
	.collect = kh_cuda_k2_collect,
	.takes_parsed = kh_cuda_k2_takes_parsed,
};

const kh_backend kh_backend_cuda = {
	.name = "cuda",
	.candidates = true,
	.block_size = KH_CUDA_BLOCK_SIZE,
	/* Text is compared by kernels one after the other, of which the last ones have few reads
	 * to do that take long; so more reads at a time.  With 16 threads and one H200, blocks of
	 * 2, 4 and 8 MiB made 73, 80 and 73 M reads/s, and 31, 29 and 24 M pairs/s. */
	.read_block_size = (size_t)4 << 20,
	.loads = true,
	.kraken = &kraken,
	.n_devices = kh_gpu_count,
	.inflate = &kh_cuda_inflater,
	.inflater_open = kh_cuda_inflater_open,
	.inflater_close = kh_cuda_inflater_close,
	.census.open = kh_cuda_census_open,
	.census.read = kh_cuda_census_read,
	.census.search = kh_cuda_census_search,
	.census.close = kh_cuda_census_close,
	.counters.open = kh_cuda_counters_open,
	.counters.read = kh_cuda_counters_read,
	.counters.close = kh_cuda_counters_close,
	.engine_open = kh_cuda_engine_open,
	.engine_close = kh_cuda_engine_close,
	.queue_open = kh_cuda_queue_open,
	.queue_close = kh_cuda_queue_close,
	.depth = KH_CUDA_DEPTH,
	.submit = kh_cuda_submit,
	.collect = kh_cuda_collect,
	.takes_parsed = kh_cuda_takes_parsed,
};
