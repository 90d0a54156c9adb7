// The C face of operators along a short axis. See along.go.

#pragma once
#include "native.h"

#ifdef __cplusplus
extern "C" {
#endif

grn_one grn_softmax(uintptr_t workers, uintptr_t stream, uintptr_t x);
grn_one grn_argpartition(uintptr_t workers, uintptr_t stream, uintptr_t x, int kth);
grn_one grn_take_along(uintptr_t workers, uintptr_t stream, uintptr_t x, uintptr_t indices);
grn_one grn_sum(uintptr_t workers, uintptr_t stream, uintptr_t x, int axis, bool keep); // axis: -1 or -2

#ifdef __cplusplus
}
#endif
