//go:build cgo && mlx

// AVX-512 with VNNI: Intel from Ice Lake, AMD from Zen 4. Vectors stay at 256 bits but for products of many rows.

#include "kernels.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512vnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512vl,avx512vnni")
#endif

// GCC's own header is what it warns of (its bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#define GR_ISA avx512
#define GR_AVX2 1
#define GR_AVX512 1
#define GR_VNNI 1
#define GR_DPBUSD _mm256_dpbusd_epi32
#define GR_DPWSSD _mm256_dpwssd_epi32
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
