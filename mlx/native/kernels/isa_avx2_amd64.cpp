//go:build cgo && mlx

// AVX2 with FMA, F16C and BMI2: Intel from Haswell, AMD from Zen (Zen 3 for a fast PDEP).

#include "kernels.h"

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#endif

#define GR_ISA avx2
#define GR_AVX2 1
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
