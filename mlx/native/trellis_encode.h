#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Chooses the codes of rows [count, columns], float32, each divided by its scale, in blocks of T weights with k bits;
// words [count, columns*k/32]. errors [count] become the sums of the squared differences of the rows' weights. plain leaves
// the vector code out. The result is 0, 1 where memory is missing, 2 where k is none that is coded.
int gr_trellis_encode(const float *rows, int64_t count, int64_t columns, int k, int T, const float *scales, uint32_t *words, double *errors, int plain);

#ifdef __cplusplus
}
#endif
