//go:build cgo && mlx

// 64-bit ARM with dot products (ARMv8.2): Apple from M1, Neoverse N1 and later.

#include "kernels.h"

#include <arm_neon.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

#define GR_ISA neon
#define GR_NEON 1
#include "isa.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
