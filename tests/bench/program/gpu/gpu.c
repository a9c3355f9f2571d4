/* gpu.c - `kmerhash-bench pipeline` on a GPU: its limits, and the stages in their order */
#include <config.h>
#include "tests/bench/program/gpu/gpu_in.h"

#include <string.h>

static const kh_bench_limit none;

int kh_gpu_bench_start(kh_gpu_bench *g, kh_err *err)
{
	return KH_GPU(cudaEventRecord(g->from, g->stream), err);
}

int kh_gpu_bench_stop(kh_gpu_bench *g, kh_bench_pass *p, kh_err *err)
{
	float ms = 0;
	int rc = KH_GPU(cudaEventRecord(g->to, g->stream), err);

	if (!rc)
		rc = KH_GPU(cudaEventSynchronize(g->to), err);
	if (!rc)
		rc = KH_GPU(cudaEventElapsedTime(&ms, g->from, g->to), err);
	p->seconds = ms * 1e-3;
	return rc;
}

/* --- copies ------------------------------------------------------------------------- */
struct copy {
	kh_gpu_bench *g;
	size_t piece;
};

/* Copies the host's room to the device, piece by piece. */
static int to_device(void *arg, kh_bench_pass *p, kh_err *err)
{
	const struct copy *c = arg;
	kh_gpu_bench *g = c->g;
	int rc = kh_gpu_bench_start(g, err);

	for (size_t at = 0; at + c->piece <= KH_BENCH_ROOM && !rc; at += c->piece)
		rc = KH_GPU(cudaMemcpyAsync((char *)g->x.p + at, g->b->room + at, c->piece,
					    cudaMemcpyHostToDevice, g->stream),
			    err);
	return rc ? rc : kh_gpu_bench_stop(g, p, err);
}

static int on_device(void *arg, kh_bench_pass *p, kh_err *err)
{
	kh_gpu_bench *g = arg;
	int rc = kh_gpu_bench_start(g, err);

	if (!rc)
		rc = KH_GPU(cudaMemcpyAsync(g->y.p, g->x.p, KH_GPU_BENCH_ROOM,
					    cudaMemcpyDeviceToDevice, g->stream),
			    err);
	return rc ? rc : kh_gpu_bench_stop(g, p, err);
}

static int copies(kh_gpu_bench *g, kh_err *err)
{
	struct copy whole = { g, KH_BENCH_ROOM },
		    blocks = { g, kh_backend_cuda.block_size / 32 * 12 }; /* packed bases */
	const kh_bench_stage all = { "limit: copy to the GPU", &kh_unit_gb,
				     (double)KH_BENCH_ROOM,    none,
				     to_device,                &whole,
				     true };
	const kh_bench_stage memory = { "limit: GPU memory, both ways", &kh_unit_gb,
					2.0 * (double)KH_GPU_BENCH_ROOM, none,
					on_device,                       g,
					true };
	int rc = kh_bench_measure(g->b, &all, &g->copy.rate, err);
	const kh_bench_stage pieces = { "build: copy, by blocks",
					&kh_unit_gb,
					(double)(KH_BENCH_ROOM / blocks.piece * blocks.piece),
					{ g->copy.rate, "copy to the GPU" },
					to_device,
					&blocks,
					true };

	if (!rc)
		rc = kh_bench_measure(g->b, &memory, &g->memory.rate, err);
	g->copy.of = "copy to the GPU";
	g->memory.of = "GPU memory";
	return rc ? rc : kh_bench_measure(g->b, &pieces, NULL, err);
}

/* --- all ---------------------------------------------------------------------------- */
static int rooms(kh_gpu_bench *g, kh_err *err)
{
	int rc = kh_gpu_use(g->device, err);

	if (rc ||
	    (rc = KH_GPU(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&g->from), err)) ||
	    (rc = KH_GPU(cudaEventCreate(&g->to), err)) ||
	    (rc = kh_gpu_host_room(&g->host, KH_BENCH_ROOM + 4096, err)))
		return rc;
	memset(g->host.p, 1, KH_BENCH_ROOM);
	g->b->room = g->host.p;
	return KH_OK;
}

static int device_rooms(kh_gpu_bench *g, kh_err *err)
{
	int rc;

	if ((rc = kh_gpu_room_exact(&g->x, KH_GPU_BENCH_ROOM, err)) ||
	    (rc = kh_gpu_room_exact(&g->y, KH_GPU_BENCH_ROOM, err)) ||
	    (rc = kh_gpu_room_exact(&g->z, KH_GPU_BENCH_ROOM, err)))
		return rc;
	return KH_GPU(cudaMemset(g->x.p, 1, KH_GPU_BENCH_ROOM), err);
}

static void drop_device_rooms(kh_gpu_bench *g)
{
	kh_gpu_drop(&g->x);
	kh_gpu_drop(&g->y);
	kh_gpu_drop(&g->z);
}

static int stages(kh_gpu_bench *g, kh_err *err)
{
	kh_bench *b = g->b;
	int rc = rooms(g, err);

	if (rc || (rc = kh_bench_memory(b, err)) || (rc = kh_bench_one_file(b, err)) ||
	    (rc = kh_bench_read(b, b->refs, err)) ||
	    (rc = kh_bench_parse(b, b->refs, kh_backend_cuda.block_size, err)) ||
	    (rc = device_rooms(g, err)) || (rc = copies(g, err)) ||
	    (rc = kh_gpu_bench_kernels(g, err)))
		return rc;
	drop_device_rooms(g);
	rc = kh_gpu_bench_build(g, err);
	if (rc || !b->o->db)
		return rc;
	rc = device_rooms(g, err);
	return rc ? rc : kh_gpu_bench_classify(g, err);
}

int kh_bench_cuda(kh_bench *b, kh_err *err)
{
	kh_gpu_bench g = { .b = b, .device = b->choice->device[0] };
	int rc = stages(&g, err);

	drop_device_rooms(&g);
	kh_gpu_drop(&g.host);
	b->room = NULL;
	if (g.from)
		cudaEventDestroy(g.from);
	if (g.to)
		cudaEventDestroy(g.to);
	if (g.stream)
		cudaStreamDestroy(g.stream);
	return rc;
}
