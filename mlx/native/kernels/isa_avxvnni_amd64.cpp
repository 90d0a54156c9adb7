//go:build cgo && mlx

// AVX2 with AVX-VNNI: Intel from Alder Lake, AMD from Zen 5.

#include "kernels.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2,avxvnni"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,avxvnni")
#endif

#define GR_ISA avxvnni
#define GR_AVX2 1
#define GR_VNNI 1
#define GR_DPBUSD _mm256_dpbusd_avx_epi32
#define GR_DPWSSD _mm256_dpwssd_avx_epi32
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
