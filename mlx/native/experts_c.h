// The C face of chosen experts.

#pragma once
#include "native.h"

#ifdef __cplusplus
extern "C" {
#endif

// A weight of mode affine of all experts, one matrix below the other: [count * outputs, ..]. Of each matrix the run numbered
// `run` of `runs` equal ones is taken. bias [count * outputs] may be 0.
typedef struct {
  uintptr_t codes, scales, biases, bias;
  int bits, group, run, runs;
} grn_stack;

// parts: gate, up, down of `count` experts, evaluated. Primitives hold on to them.
grn_one grn_experts_weights(uintptr_t workers, const grn_stack *parts, int count);
void grn_experts_weights_free(uintptr_t weights);

// x [.., inputs], indices [.., k] (uint32 or int32) -> [.., k, outputs of down].
grn_one grn_experts(uintptr_t weights, uintptr_t stream, uintptr_t x, uintptr_t indices);

#ifdef __cplusplus
}
#endif
