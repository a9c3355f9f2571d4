/*
 * trace.c - which kernels and copies a program had under way, and when: for CUDA_INJECTION64_PATH
 *
 * To the file that TRACE names: a line for each, kind, name, stream, begin and end in ns.
 */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int InitializeInjection(void);

static FILE *to;

static void put_kernel(const CUpti_ActivityKernel10 *k)
{
	fprintf(to, "kernel\t%s\t%u\t%llu\t%llu\n", k->name, k->streamId,
		(unsigned long long)k->start, (unsigned long long)k->end);
}

static void put_copy(const CUpti_ActivityMemcpy6 *m)
{
	fprintf(to, "copy\t%s\t%u\t%llu\t%llu\n",
		m->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD   ? "to_device"
		: m->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH ? "from_device" : "other",
		m->streamId, (unsigned long long)m->start, (unsigned long long)m->end);
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
	*size = 4 << 20;
	*records = 0;
	*buffer = aligned_alloc(8, *size);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t valid)
{
	CUpti_Activity *a = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS)
		if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			put_kernel((const CUpti_ActivityKernel10 *)(void *)a);
		else if (a->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
			put_copy((const CUpti_ActivityMemcpy6 *)(void *)a);
	free(buffer);
}

static void end(void)
{
	cuptiActivityFlushAll(1);
	fclose(to);
}

int InitializeInjection(void)
{
	const char *name = getenv("TRACE");

	to = name ? fopen(name, "w") : NULL;
	if (!to)
		return 0;
	cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	atexit(end);
	return 1;
}
