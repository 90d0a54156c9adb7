//go:build cgo && mlx

// The processor's base line (SSE2 on x86-64, NEON without dot products on 64-bit ARM).

#include "kernels.h"

#define GR_ISA plain
#include "isa.h"
