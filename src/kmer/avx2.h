/*
 * avx2.h - the intrinsics of AVX2, for files that check KH_AVX2
 *
 * On AArch64 SIMDe, where configure has found it, says the same in NEON: syncmers take as many
 * instructions so as by NEON written by hand (4350 and 4280 for 133 starts, plain C 13000).
 */
#ifndef KH_KMER_AVX2_H
#define KH_KMER_AVX2_H

#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#define KH_AVX2 __attribute__((target("avx2")))
#define KH_HAS_AVX2 __builtin_cpu_supports("avx2")
#elif defined __AARCH64EL__ && defined HAVE_SIMDE_X86_AVX2_H
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx2.h>
#define KH_AVX2
#define KH_HAS_AVX2 1
#endif

#endif
