/*
 * fake_gpu.h - made-up GPUs, so that the host side of the CUDA engine is tested on any machine with
 * the headers of CUDA
 *
 * Device memory is the host's, of a size that the test sets, and counted as the driver takes it;
 * streams do all at once; the launchers of kernels do on one thread what their headers say.
 */
#ifndef KH_TEST_FAKE_GPU_H
#define KH_TEST_FAKE_GPU_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_DEVICES = 4 };

typedef struct fake_gpu {
	uint64_t memory[FAKE_DEVICES];          /* bytes that each has */
	uint64_t taken[FAKE_DEVICES], most[FAKE_DEVICES];
	/* The n-th call fails; if `lost`, so do all that follow. */
	long fails_at;
	bool lost;
	/* What was launched is under way until somebody waits for it. */
	bool busy;
	uint32_t together;                      /* queries of the last launch of several */
} fake_gpu;
extern fake_gpu fake;

/* Gives all devices so much memory, of which nothing is taken. */
void fake_reset(uint64_t memory);
/* How many calls that can fail there were since then. */
long fake_calls(void);

#endif
