//go:build cgo && mlx

package ops

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/graphrun/graphrun/dtype"
	"github.com/graphrun/graphrun/mlx"
	"github.com/graphrun/graphrun/shape"
)

// BenchmarkGatedDelta is 32 heads of 128 by 128 in bfloat16, as one decode step and as a chunk. On the CPU compiling the step
// changes nothing: it was measured at the same CPU time, 2.1 ms a token.
func BenchmarkGatedDelta(b *testing.B) {
	for _, tokens := range []int{1, 64} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			r := newRig(b)
			small := func(a mlx.Array) mlx.Array { return r.scope.Multiply(a, r.floats(a.Dtype(), []int{1}, 0.1)) }
			q, v := small(r.filled(dtype.Bfloat16, 1, 1, tokens, 16, 128)), r.filled(dtype.Bfloat16, 2, 1, tokens, 32, 128)
			g, beta := small(r.filled(dtype.Float32, 3, 1, tokens, 32)), small(r.filled(dtype.Bfloat16, 4, 1, tokens, 32))
			require.NoError(b, mlx.Eval(q, v, g, beta))
			s := r.session("gated_delta_update", heldArray(dtype.Float32, shape.Of(1, 32, 128, 128)), nil, q, q, v, g, beta)
			s.tokens(0, tokens)
			b.ResetTimer()
			for range b.N {
				mark := r.call.Mark()
				s.tokens(0, tokens)
				r.call.ReleaseTo(mark)
			}
		})
	}
}
