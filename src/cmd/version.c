#include <config.h>
#include "cmd/program.h"

#include <jansson.h>
#include <libdeflate.h>
#include <stdio.h>
#include <xxhash.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <isa-l.h>
#endif
#include "classify/backend.h"
#include "base/memory_left.h"
#include "base/size.h"
#include "base/threads.h"

#ifdef HAVE_CUDA
#define CUDA "with CUDA"
#else
#define CUDA "without CUDA"
#endif
#if defined __clang__
#define COMPILER "clang " __clang_version__
#elif defined __GNUC__
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "an unknown compiler"
#endif

static void print_libraries(void)
{
	const unsigned xxh = XXH_versionNumber();

	printf("libraries\tzlib %s, jansson %d.%d.%d, xxHash %u.%u.%u", zlibVersion(),
	       JANSSON_MAJOR_VERSION, JANSSON_MINOR_VERSION, JANSSON_MICRO_VERSION, xxh / 10000,
	       xxh / 100 % 100, xxh % 100);
	printf(", libdeflate %s", LIBDEFLATE_VERSION_STRING);
#ifdef HAVE_ISAL
	printf(", ISA-L %d.%d.%d", ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
#endif
	putchar('\n');
}

/* Prints which instruction sets are used, of those that have code of their own. */
static void print_cpu(void)
{
	printf("cpu\t%u thread%s may run at once; ", kh_cpus(), kh_plural(kh_cpus()));
#if defined __x86_64__ && defined __GNUC__
	printf("AVX2 %s, AVX-512BW %s\n", __builtin_cpu_supports("avx2") ? "yes" : "no",
	       __builtin_cpu_supports("avx512bw") ? "yes" : "no");
#elif defined __AARCH64EL__
#ifdef HAVE_SIMDE_X86_AVX2_H
	puts("NEON, by SIMDe");
#else
	puts("built without SIMDe, so no vector instructions are used");
#endif
#else
	printf("no vector instructions are used\n");
#endif
}

static void print_memory(void)
{
	const kh_memory_left left = kh_memory_left_now(0);

	if (left.bytes == UINT64_MAX)
		printf("memory\tnot known\n");
	else
		printf("memory\t%s left %s\n", kh_size_show(left.bytes).s, left.limit);
}

static void print_devices(void)
{
	kh_choice c;
	kh_err err = { 0, "" };

	if (kh_backend_choose(&c, "cuda", &err))
		printf("devices\tcpu; %s\n", err.msg);
	else if (c.n == 1)
		printf("devices\tcpu; 1 GPU, cuda:%d\n", c.device[0]);
	else
		printf("devices\tcpu; %zu GPUs, cuda:0 to cuda:%d\n", c.n, c.device[c.n - 1]);
}

void kh_version_details(void)
{
	printf("build\t%s, %s\n", COMPILER, CUDA);
	print_libraries();
	print_cpu();
	print_memory();
	print_devices();
}
